//! An export whose future is dropped.

use super::*;
use manent::formats::FileSink;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Reports each file, then waits until the test continues it; reports its own drop by closing `created`.
struct PausingSink {
    created: tokio::sync::mpsc::UnboundedSender<String>,
    go: Receiver<()>,
}

impl FileSink for PausingSink {
    fn create<'a>(&'a mut self, name: &str) -> std::io::Result<Box<dyn std::io::Write + 'a>> {
        self.created.send(name.to_owned()).map_err(std::io::Error::other)?;
        self.go.recv().map_err(std::io::Error::other)?;
        Ok(Box::new(std::io::sink()))
    }
}

#[tokio::test]
async fn export_stops_when_its_future_is_dropped() {
    let database = open();
    for text in ["one", "two", "three", "four"] {
        let conversation = database.create(ConversationDraft::default()).await.expect("created");
        database.append(conversation.id, MessageDraft::user(text)).await.expect("appended");
    }
    let plan = ExportPlan::everything(formats::format("markdown").expect("a known format"));
    let (created, mut files) = tokio::sync::mpsc::unbounded_channel();
    let (go, waiting): (Sender<()>, _) = channel();
    tokio::select! {
        _ = database.export_tree(&plan, PausingSink { created, go: waiting }) => panic!("the sink waits"),
        first = files.recv() => assert!(first.is_some()),
    }
    // The sink may create every file, but the source answers no more reads.
    for _ in 0..4 {
        let _ = go.send(());
    }
    assert_eq!(files.recv().await, None, "the writer ends without another file");
}
