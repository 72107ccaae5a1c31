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
async fn json_that_was_written_over_several_lines_travels_on_one() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let result = json("{\r\n  \"temp\": 3\n}");
    let part = Part::ToolResult { call: "c".to_owned(), content: result.clone(), extra: Vec::new() };
    database.append(chat, MessageDraft::new("tool", &[part])).await.expect("added");
    let change =
        Change::SetState { conversation: chat, name: "s".to_owned(), after: None, value: Some(result.clone()) };
    database.change(change).await.expect("set");
    let lines = export(&database).await;
    let other = open();
    let report = other.import_jsonl(lines.as_bytes()).await.expect("imported");
    assert_eq!(report.problems, []);
    assert_eq!(export(&other).await, lines);
    assert_eq!(other.store().state(chat, "s".to_owned(), None).await.expect("readable"), Some(result));
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
    // The messages that the child took along still belong to its parent here, and the child begins with them again.
    let report = first.import_jsonl(&out[..]).await.expect("readable");
    assert_eq!((report.messages, &report.problems[..]), (0, &[][..]));
    assert_eq!(texts(&first, child).await, ["one", "two"]);
}

#[tokio::test]
async fn a_fork_that_comes_back_alone_goes_on_behind_its_parent() {
    let first = open();
    let parent = conversation(&first, "parent").await;
    let long: Vec<String> = (0..450).map(|number| number.to_string()).collect();
    let ids = say(&first, parent, &long.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let child = first.fork_to_new(parent, ids[420], ConversationDraft::default()).await.expect("forked");
    say(&first, child, &["a", "b"]).await;
    first.edit(child, ids[3], MessageDraft::user("three"), FollowUps::Keep).await.expect("edited");
    let shown = texts(&first, child).await;
    let mut out = Vec::new();
    first.export_jsonl(&ExportSelection::Conversations(vec![child]), &mut out).await.expect("written");
    first.trash(child).await.expect("trashed");
    first.purge(child).await.expect("purged");
    let report = first.import_jsonl(&out[..]).await.expect("readable");
    assert_eq!((report.messages, &report.problems[..]), (3, &[][..]));
    assert_eq!(texts(&first, child).await, shown);
    assert_eq!(texts(&first, parent).await, long);
    assert_sound(&first).await;
}

#[tokio::test]
async fn what_this_program_cannot_read_is_not_begun() {
    let first = open();
    let chat = conversation(&first, "a").await;
    say(&first, chat, &["one"]).await;
    let text = export(&first).await;
    let newer = text.replacen("\"format\":1", "\"format\":2", 1);
    let headless = text.split_once('\n').expect("lines").1;
    for (text, why) in [(newer.as_str(), "newer"), (headless, "no file of ours"), ("rubbish\n", "no file of ours")] {
        let second = open();
        let report = second.import_jsonl(text.as_bytes()).await.expect("readable");
        assert_eq!((report.lines, report.conversations, report.problems.len()), (1, 0, 1), "{:?}", report.problems);
        assert!(report.problems[0].why.contains(why), "{:?}", report.problems);
        assert!(second.conversation(chat).await.is_err());
    }
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

/// The lines that begin a conversation, as a hostile file would write them.
fn beginning(conversation: ConversationId, branch: model::BranchId) -> String {
    format!(
        r#"{{"type":"manent","value":{{"format":1}}}}
{{"type":"conversation","conversation":"{conversation}","value":{{"id":"{conversation}","branch":"{branch}","draft":{{"title":"x"}},"status":"active","times":{{"created_at":1,"active_at":1,"trashed_at":null}}}}}}"#
    )
}

fn message_line(conversation: ConversationId, branch: model::BranchId, message: MessageId, more: &str) -> String {
    format!(
        r#"{{"type":"message","conversation":"{conversation}","value":{{"branch":"{branch}","id":"{message}","content":{{"role":"user","time":{{"at":1}},"body":[]}}{more}}}}}"#
    )
}

#[tokio::test]
async fn an_erased_line_erases_nothing_that_was_here_before() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let ids = say(&database, chat, &["precious"]).await;
    let (other, branch) = (id(ConversationId::new), id(model::BranchId::new));
    let text = format!("{}\n{}\n", beginning(other, branch), message_line(other, branch, ids[0], r#","erased":true"#));
    let report = database.import_jsonl(text.as_bytes()).await.expect("readable");
    assert_eq!((report.messages, report.problems.len()), (0, 2), "{:?}", report.problems);
    assert_eq!(texts(&database, chat).await, ["precious"]);
}

#[tokio::test]
async fn an_import_leaves_existing_conversations_as_they_are() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let ids = say(&database, chat, &["one"]).await;
    let fold = database.hide(chat, MessageRange { first: ids[0], last: ids[0] }).await.expect("hidden");
    let stream = database.begin_stream(chat, MessageDraft::new("assistant", &[])).await.expect("begun");
    database.stream(stream, "mine").await.expect("streamed");
    let before = export(&database).await;
    let (other, branch, note) = (id(ConversationId::new), id(model::BranchId::new), id(model::NoteId::new));
    let lines = [
        beginning(other, branch),
        format!(
            r#"{{"type":"note","conversation":"{other}","value":{{"id":"{note}","message":"{}","kind":"k","value":1,"at":1}}}}"#,
            ids[0]
        ),
        format!(
            r#"{{"type":"tool_call","conversation":"{other}","value":{{"call":{{"message":"{}","part":0,"call_id":"c","name":"n","state":"PENDING","record":1}},"steps":[]}}}}"#,
            ids[0]
        ),
        format!(
            r#"{{"type":"fold","conversation":"{other}","value":{{"id":"{fold}","after":"{}","kind":"drop","covers":[],"active":false,"at":1}}}}"#,
            ids[0]
        ),
    ];
    let report = database.import_jsonl(lines.join("\n").as_bytes()).await.expect("readable");
    assert_eq!(report.problems.len(), 4, "{:?}", report.problems);
    database.trash(other).await.expect("trashed");
    database.purge(other).await.expect("purged");
    assert_eq!(export(&database).await, before);
}

#[tokio::test]
async fn whatever_fits_one_commit_each_is_imported_together() {
    let first = open();
    let chat = conversation(&first, "a").await;
    let large = json(&format!("\"{}\"", "x".repeat(100_000)));
    for number in 0..60 {
        let message = MessageDraft::user(format!("message {number}")).with_metadata(large.clone());
        first.append(chat, message).await.expect("added");
    }
    first.append(chat, MessageDraft::user("b".repeat(1_000_000))).await.expect("added");
    first.append(chat, MessageDraft::user("c".repeat(3_500_000))).await.expect("added");
    for _ in 0..2 {
        first.log(chat, "progress", vec![large.clone(); 30]).await.expect("logged");
    }
    let stream = first.begin_stream(chat, MessageDraft::new("assistant", &[])).await.expect("begun");
    for _ in 0..4 {
        first.stream(stream, "流".repeat(300_000)).await.expect("streamed");
    }
    let text = export(&first).await;
    let second = open();
    let report = second.import_jsonl(text.as_bytes()).await.expect("readable");
    assert_eq!(report.problems, []);
    assert_eq!(export(&second).await, text);
}

#[tokio::test]
async fn one_message_that_is_refused_does_not_take_its_neighbours_along() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let taken = say(&database, chat, &["precious"]).await[0];
    let (other, branch) = (id(ConversationId::new), id(model::BranchId::new));
    let (before, behind) = (id(MessageId::new), id(MessageId::new));
    let lines = [
        beginning(other, branch),
        message_line(other, branch, before, ""),
        message_line(other, branch, taken, ""),
        message_line(other, branch, behind, ""),
    ];
    let report = database.import_jsonl(lines.join("\n").as_bytes()).await.expect("readable");
    assert_eq!((report.messages, report.problems[0].line), (2, 4), "{:?}", report.problems);
    database.message(before).await.expect("imported");
    database.message(behind).await.expect("imported");
}

#[tokio::test]
async fn what_may_be_stored_may_be_imported_however_deep_it_is() {
    let first = open();
    let chat = conversation(&first, "a").await;
    let deep = format!(r#"[{{"type":"x","d":{}1{}}}]"#, "[".repeat(126), "]".repeat(126));
    first.append(chat, MessageDraft::from_json("user", &deep).expect("parts")).await.expect("added");
    let text = export(&first).await;
    let second = open();
    assert_eq!(second.import_jsonl(text.as_bytes()).await.expect("readable").problems, []);
    assert_eq!(export(&second).await, text);
}

#[tokio::test]
async fn the_ends_of_time_can_be_imported_listed_and_counted() {
    let database = open();
    let (chat, branch) = (id(ConversationId::new), id(model::BranchId::new));
    let text = beginning(chat, branch).replace(r#""active_at":1"#, &format!(r#""active_at":{}"#, i64::MIN));
    let text = format!("{text}\n{{\"type\":\"end\",\"value\":{{\"lines\":3}}}}\n");
    assert_eq!(database.import_jsonl(text.as_bytes()).await.expect("readable").problems, []);
    let list = database.list(ListQuery::default()).await.expect("listed");
    assert_eq!(list.conversations.len(), 1);
    for (role, at) in [("user", i64::MIN), ("assistant", i64::MAX), ("user", 0), ("assistant", 1)] {
        let message = MessageDraft::new(role, &[Part::text("said")]).at(Time::exact(at));
        database.append(chat, message).await.expect("added");
    }
    let stats = database.stats(StatsQuery::default()).await.expect("counted");
    assert_eq!((stats.total.timed, stats.total.response_micros), (1, 1));
    assert_sound(&database).await;
}

#[tokio::test]
async fn export_leaves_out_a_damaged_message_and_names_it() {
    let first = open();
    let chat = conversation(&first, "damaged").await;
    let said: Vec<String> = (0..40).map(|number| format!("message number {number:02}")).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let ids = say(&first, chat, &said).await;
    let other = conversation(&first, "sound").await;
    say(&first, other, &["untouched"]).await;
    first.close().await.expect("closes");
    let path = first.folder.path().join("test.db");
    let mut bytes = std::fs::read(&path).expect("a file");
    let damaged = b"message number 17";
    let place = bytes.windows(damaged.len()).position(|window| window == damaged).expect("the text is in the file");
    bytes[place] = b'M';
    std::fs::write(&path, bytes).expect("written");

    let again = Database::open(&path).expect("opens");
    let mut out = Vec::new();
    let report = again.export_jsonl(&ExportSelection::Everything, &mut out).await.expect("written");
    let named = DamagedRecord { conversation: Some(chat), what: "message".to_owned(), id: ids[17].to_string() };
    assert_eq!(report.damaged, [named]);
    let second = open();
    let report = second.import_jsonl(&out[..]).await.expect("readable");
    let problems: Vec<&str> = report.problems.iter().map(|problem| problem.why.as_str()).collect();
    let expected = format!("message {} was damaged when the file was written, and is not in it", ids[17]);
    assert_eq!(problems, [expected]);
    let mut left = said.clone();
    left.remove(17);
    assert_eq!(texts(&second, chat).await, left);
    assert_eq!(texts(&second, other).await, ["untouched"]);
}
