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
        r#"{{"type":"conversation","conversation":"{conversation}","value":{{"id":"{conversation}","branch":"{branch}","draft":{{"title":"x"}},"status":"active","times":{{"created_at":1,"active_at":1,"trashed_at":null}}}}}}"#
    )
}

#[tokio::test]
async fn the_ends_of_time_can_be_imported_listed_and_counted() {
    let database = open();
    let (chat, branch) = (id(ConversationId::new), id(model::BranchId::new));
    let text = beginning(chat, branch).replace(r#""active_at":1"#, &format!(r#""active_at":{}"#, i64::MIN));
    database.import_jsonl(text.as_bytes()).await.expect("readable");
    let list = database.list(ListQuery { limit: 10, ..ListQuery::default() }).await.expect("listed");
    assert_eq!(list.conversations.len(), 1);
    for (role, at) in [("user", i64::MIN), ("assistant", i64::MAX), ("user", 0), ("assistant", 1)] {
        let message = MessageDraft::new(role, &[]).at(Time::exact(at));
        database.append(chat, message).await.expect("added");
    }
    let stats = database.stats(StatsQuery::Everything).await.expect("counted");
    assert_eq!((stats.total.timed, stats.total.response_micros), (2, i64::MAX));
    assert_sound(&database).await;
}
