//! Other programs' files: taken in, changed, and written back, on both engines.

mod comes_back;
mod changes;
mod grows;
mod lives;
mod touched;
mod unreadable;
mod reports;
mod pairs;
mod race;
mod cut;
mod disk;
mod large;
mod sources;
mod several;
mod diverged;
mod made_here;
mod links;
mod cancelled;
mod vectors;
mod pictures;

use crate::kit::*;
use expect_test::{Expect, expect};
use manent::formats::core::source_fs::{Folder, MemoryTree, SourceTree};
use manent::*;
use manent_testing::foreign::{difference, fixtures};
use manent_testing::scratch::Scratch;
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

/// Every real file and folder, with its format.
const REAL: &[(&str, &str)] = &[
    ("veloca/real-da1f742-veloca-storage.json", "veloca"),
    ("veloca/schema-veloca-storage.json", "veloca"),
    ("veloca/ts-head-written", "veloca"),
    ("veloca/rust-0.5.0-written", "veloca"),
    ("kode/store-level", "kode"),
    ("kode/full-2.7.0", "kode"),
    ("kode/interrupt", "kode"),
    ("kode/pool-shutdown", "kode"),
    ("kode/crash-approval/before", "kode"),
    ("kode/crash-approval/after-resume", "kode"),
    ("kode/crash-approval/after-next-turn", "kode"),
    ("kode/crash-executing/before", "kode"),
    ("kode/crash-executing/after-resume", "kode"),
    ("kode/crash-executing/after-next-turn", "kode"),
    ("kode/crash-event-dup/before", "kode"),
    ("kode/crash-event-dup/after-recovery", "kode"),
    ("personalab/v1-instance-layout", "personalab"),
    ("personalab/v2-conversation-layout", "personalab"),
    ("conversation-tables/d1-v0.0.4.sqlite", "conversation-tables"),
    ("obsidian-rag/migrated", "obsidian-rag"),
];

fn files(tree: &dyn SourceTree) -> Files {
    let read = |name: &str| tree.read(name, 1 << 30).expect("a file");
    tree.entries().iter().map(|entry| (entry.name.clone(), read(&entry.name))).collect()
}

fn memory(files: &Files) -> Box<dyn SourceTree + Send> {
    Box::new(MemoryTree::new("files", files.clone()))
}

async fn import(database: &Database, files: &Files) -> FileImportReport {
    let tree = memory(files);
    let format = formats::sniff(&*tree).expect("a known format");
    let report = database.import_tree(tree, format, ImportMode::Store, |_| {}).await.expect("imported");
    for (record, counts) in &report.records {
        assert_eq!(counts.read, counts.mapped + counts.unmapped + counts.reported, "{record}: {report:#?}");
    }
    report
}

/// A real folder or file, if it is here.
fn real(folder: &str) -> Option<Files> {
    fixtures(folder).map(|path| files(&Folder::open(&path).expect("a fixture")))
}

async fn written(database: &Database, format: &str) -> Files {
    let format = formats::format(format).expect("a known format");
    database.export_tree(&ExportPlan::everything(format), Files::new()).await.expect("written").out
}

fn assert_same(expected: &Files, found: &Files) {
    assert_eq!(difference(expected, found), "");
}

/// A SQLite file and, where there is a server, PostgreSQL: both say the same.
async fn on_each_engine<T: PartialEq + std::fmt::Debug>(check: impl AsyncFn(Database) -> T) -> T {
    let file = open();
    let said = check((*file).clone()).await;
    if let Some(scratch) = Scratch::make() {
        assert_eq!(check(Database::open(&scratch.url).expect("opens")).await, said);
    }
    said
}

const SESSIONS: &str = r#"{
  "sessions": [
    {
      "session_id": "s1",
      "name": "第一",
      "status": 0,
      "create_at": "2024-01-01T00:00:00.000Z"
    },
    {
      "session_id": "s2",
      "name": "second",
      "status": 0,
      "create_at": "2024-01-02T00:00:00.000Z",
      "color" : "red"
    }
  ],
  "entries": [
    {
      "entry_id": "e1",
      "session_id": "s1",
      "message": "你好",
      "role": "user",
      "token_consumption": 1.0,
      "status": 0,
      "tools": null,
      "create_at": "2024-01-01T00:00:00.000Z",
      "is_compaction": 1
    },
    {
      "entry_id": "e2",
      "session_id": "s2",
      "message": "hi",
      "role": "user",
      "token_consumption": 2,
      "status": 0,
      "tools": null,
      "create_at": "2024-01-02T00:00:00.000Z",
      "is_compaction": 1
    },
    {
      "entry_id": "e3",
      "session_id": "s1",
      "message": "再见",
      "role": "assistant",
      "token_consumption": 3,
      "status": 0,
      "tools": null,
      "create_at": "2024-01-01T00:00:05.000Z",
      "is_compaction": 1
    }
  ],
  "compacted_dialogues": []
}
"#;

fn sessions(text: &str) -> Files {
    Files::from([("veloca-storage.json".to_owned(), text.as_bytes().to_vec())])
}
