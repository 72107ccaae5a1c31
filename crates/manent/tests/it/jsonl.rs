//! Our own format carries everything and loses nothing.

use crate::kit::*;
use manent::*;

#[tokio::test]
async fn export_import_export_is_equal_to_the_byte() {
    let first = open();
    fill(&first).await;
    assert_sound(&first).await;
    let text = export(&first).await;
    let second = open();
    let report = second.import_jsonl(text.as_bytes()).await.expect("readable");
    assert_eq!(report.problems, []);
    assert_sound(&second).await;
    let again = export(&second).await;
    for (number, (left, right)) in text.lines().zip(again.lines()).enumerate() {
        assert_eq!(left, right, "line {}", number + 1);
    }
    assert_eq!(text, again);
    for kind in [
        "project",
        "blob",
        "source",
        "quarantined",
        "conversation",
        "branch",
        "message",
        "chunk",
        "head",
        "note",
        "bookmark",
        "state",
        "fold",
        "call",
        "tool_call",
        "event",
        "input",
        "document",
        "memory",
        "origin",
        "scratch",
    ] {
        assert!(text.contains(&format!(r#"{{"type":"{kind}""#)), "the sample has no {kind}");
    }
}

#[tokio::test]
async fn importing_again_changes_nothing() {
    let first = open();
    fill(&first).await;
    let text = export(&first).await;
    let report = first.import_jsonl(text.as_bytes()).await.expect("readable");
    assert_eq!((report.conversations, report.unchanged, report.messages), (0, 4, 0));
    assert_eq!(report.problems, []);
    assert_eq!(export(&first).await, text);
}

#[tokio::test]
async fn a_broken_line_is_reported_with_its_place_and_the_rest_goes_on() {
    let first = open();
    let chat = conversation(&first, "a").await;
    say(&first, chat, &["one", "two"]).await;
    let text = export(&first).await;
    let mut lines: Vec<&str> = text.lines().collect();
    let place = lines.iter().position(|line| line.contains("\"one\"")).expect("a message line");
    lines[place] = "{\"type\":\"message\", rubbish";
    let second = open();
    let report = second.import_jsonl(lines.join("\n").as_bytes()).await.expect("readable");
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    assert_eq!(report.problems[0].line, place as u64 + 1);
    assert_eq!(texts(&second, chat).await, ["two"]);
}

#[tokio::test]
async fn a_cut_file_is_noticed_and_importing_the_whole_one_completes_it() {
    let first = open();
    let chat = conversation(&first, "a").await;
    for number in 0..20 {
        say(&first, chat, &[&format!("message {number}")]).await;
    }
    let text = export(&first).await;
    let second = open();
    let cut = &text[..text.len() / 2];
    let report = second.import_jsonl(cut.as_bytes()).await.expect("readable");
    assert!(report.problems.iter().any(|problem| problem.why.contains("cut")), "{:?}", report.problems);
    assert_eq!(second.conversation(chat).await.expect("begun").status, ConversationStatus::Importing);
    let report = second.import_jsonl(text.as_bytes()).await.expect("readable");
    assert_eq!((report.problems, report.messages), (Vec::new(), 20));
    assert_eq!(export(&second).await, text);
    assert_sound(&second).await;
}

#[tokio::test]
async fn a_fork_travels_without_its_parent() {
    let first = open();
    let parent = conversation(&first, "parent").await;
    let ids = say(&first, parent, &["one", "two", "three"]).await;
    let child = first.fork_to_new(parent, ids[1], ConversationDraft::default()).await.expect("forked");
    say(&first, child, &["four"]).await;
    let mut out = Vec::new();
    let selection = ExportSelection::Conversations(vec![child]);
    first.export_jsonl(&selection, &mut out).await.expect("written");
    let second = open();
    let report = second.import_jsonl(&out[..]).await.expect("readable");
    assert_eq!(report.problems, []);
    assert_eq!(texts(&second, child).await, ["one", "two", "four"]);
}

#[tokio::test]
async fn a_fork_is_written_after_its_parent_whatever_the_order_asked_for() {
    let first = open();
    let parent = conversation(&first, "parent").await;
    let ids = say(&first, parent, &["one", "two", "three"]).await;
    let child = first.fork_to_new(parent, ids[1], ConversationDraft::default()).await.expect("forked");
    let grandchild = first.fork_to_new(child, ids[0], ConversationDraft::default()).await.expect("forked");
    say(&first, grandchild, &["four"]).await;
    let mut out = Vec::new();
    let selection = ExportSelection::Conversations(vec![grandchild, child, parent, child]);
    first.export_jsonl(&selection, &mut out).await.expect("written");
    let second = open();
    let report = second.import_jsonl(&out[..]).await.expect("readable");
    assert_eq!((report.problems, report.conversations, report.messages), (Vec::new(), 3, 4));
    for id in [parent, child, grandchild] {
        assert_eq!(texts(&second, id).await, texts(&first, id).await);
    }
}

#[tokio::test]
async fn a_conversation_that_travels_alone_takes_its_blobs_and_sources_along() {
    let first = open();
    let chat = fill(&first).await;
    let mut out = Vec::new();
    first.export_jsonl(&ExportSelection::Conversations(vec![chat]), &mut out).await.expect("written");
    let second = open();
    let report = second.import_jsonl(&out[..]).await.expect("readable");
    assert_eq!(report.problems, []);
    assert_eq!(texts(&second, chat).await, texts(&first, chat).await);
    let mut again = Vec::new();
    second.export_jsonl(&ExportSelection::Conversations(vec![chat]), &mut again).await.expect("written");
    assert_eq!(String::from_utf8(out), String::from_utf8(again));
}

#[tokio::test]
async fn only_what_was_stored_is_counted() {
    let first = open();
    let parent = conversation(&first, "parent").await;
    let ids = say(&first, parent, &["one", "two"]).await;
    let child = first.fork_to_new(parent, ids[1], ConversationDraft::default()).await.expect("forked");
    let mut out = Vec::new();
    first.export_jsonl(&ExportSelection::Conversations(vec![child]), &mut out).await.expect("written");
    first.trash(child).await.expect("trashed");
    first.purge(child).await.expect("purged");
    // The messages that the child took along still belong to its parent here.
    let report = first.import_jsonl(&out[..]).await.expect("readable");
    assert_eq!(report.messages, 0);
    assert!(report.problems.iter().any(|problem| problem.why.contains("exists already")), "{:?}", report.problems);
}

#[tokio::test]
async fn rubbish_changes_nothing() {
    let database = open();
    for rubbish in
        ["", "\n\n", "[]", "{}", "\u{0}\u{1}", "{\"type\":\"message\",\"value\":{}}", "{\"type\":\"nonsense\"}"]
    {
        let report = database.import_jsonl(rubbish.as_bytes()).await.expect("readable");
        assert!(!report.problems.is_empty());
        assert_eq!(report.messages + report.conversations, 0);
    }
}
