//! Handles: expectations on every commit, and requests that may be sent again.

use crate::kit::*;
use manent::*;

async fn position(database: &Database) -> Position {
    *database.store().position().borrow()
}

#[tokio::test]
async fn a_handle_that_expects_changes_nothing_once_it_is_false() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let version = database.conversation(chat).await.expect("there").version;
    let careful = database.expecting(Expect::Version { conversation: chat, version });
    careful.rename(chat, "b").await.expect("still that version");
    assert_eq!(careful.rename(chat, "c").await.expect_err("changed").code(), "version_conflict");
    let refused = careful.append(chat, MessageDraft::user("one")).await.expect_err("changed");
    assert_eq!(refused.code(), "version_conflict");
    assert_eq!(careful.conversation(chat).await.expect("reads do not ask").title, "b");
    assert_eq!(careful.purge(chat).await.expect_err("changed").code(), "version_conflict");
    let blob = careful.put_blob(b"x").await.expect_err("changed");
    assert_eq!(blob.code(), "version_conflict");
    database.rename(chat, "d").await.expect("the other handle expects nothing");
}

#[tokio::test]
async fn a_project_and_a_document_are_not_written_over() {
    let database = open();
    let project = database.create_project("p", "").await.expect("made").id;
    let patch = || ProjectPatch { name: Some("q".to_owned()), ..ProjectPatch::default() };
    database.edit_project(project, patch(), Some(1)).await.expect("as it was read");
    let refused = database.edit_project(project, patch(), Some(1)).await.expect_err("changed");
    assert_eq!(refused.code(), "version_conflict");
    let (kind, id) = ("k".to_owned(), "i".to_owned());
    let careful = database.expecting(Expect::Document { kind, id, version: 0 });
    careful.put_document("k", "i", None, json("1")).await.expect("there is none");
    let refused = careful.put_document("k", "i", None, json("2")).await.expect_err("there is one");
    assert_eq!(refused.code(), "version_conflict");
}

#[tokio::test]
async fn a_purge_expects_only_at_its_first_step() {
    let database = open();
    let chat = conversation(&database, "a").await;
    for _ in 0..3 {
        let many: Vec<MessageDraft> = (0..1_500).map(|number| MessageDraft::user(format!("{number}"))).collect();
        database.append_many(chat, many).await.expect("added");
    }
    database.trash(chat).await.expect("trashed");
    let version = database.conversation(chat).await.expect("there").version;
    let careful = database.expecting(Expect::Version { conversation: chat, version });
    careful.purge(chat).await.expect("purged");
    assert_eq!(database.conversation(chat).await.expect_err("gone").code(), "not_found");
}

/// Sends every kind of request with a key of its own and returns what was answered.
async fn requests(database: &Database, chat: ConversationId, fork_at: MessageId) -> Vec<String> {
    let once = |key: &'static str| async move { database.once(key).await.expect("readable") };
    let draft = ConversationDraft { title: "made".to_owned(), ..ConversationDraft::default() };
    let texts = vec![MessageDraft::user("one"), MessageDraft::assistant("two")];
    let project = once("project").await.create_project("p", "").await.expect("made");
    vec![
        once("create").await.create(draft.clone()).await.expect("made").id.to_string(),
        format!("{:?}", once("append").await.append_many(chat, texts).await.expect("added")),
        format!("{:?}", once("rename").await.rename(chat, "renamed").await.expect("renamed")),
        once("fork").await.fork_to_new(chat, fork_at, draft).await.expect("forked").to_string(),
        format!("{:?}", once("undo").await.undo(Scope::Conversation(chat)).await.expect("undone").first),
        once("note").await.add_note(fork_at, "pin", json("1")).await.expect("noted").to_string(),
        project.id.to_string(),
        once("document").await.put_document("k", "i", None, json("1")).await.expect("put").to_string(),
        format!("{:?}", once("remove").await.remove_document("k", "i").await.expect("removed")),
        once("log").await.log(chat, "progress", vec![json("1")]).await.expect("logged").to_string(),
        once("blob").await.put_blob(&vec![1; 3 << 20]).await.expect("put"),
    ]
}

#[tokio::test]
async fn a_request_sent_twice_answers_the_same_and_happens_once() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let first = say(&database, chat, &["zero"]).await[0];
    let answers = requests(&database, chat, first).await;
    let (at, text) = (position(&database).await, export(&database).await);
    assert_eq!(requests(&database, chat, first).await, answers);
    assert_eq!((position(&database).await, export(&database).await), (at, text));
    database.close().await.expect("closed");
    let again = Database::open(database.folder.path().join("test.db")).expect("opened again");
    assert_eq!(requests(&again, chat, first).await, answers);
    assert_eq!(position(&again).await, at);
}

#[tokio::test]
async fn the_same_key_with_another_request_is_a_conflict() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let once = || async { database.once("key").await.expect("readable") };
    once().await.append(chat, MessageDraft::user("one")).await.expect("added");
    let other = once().await.append(chat, MessageDraft::user("two")).await.expect_err("another");
    assert_eq!(other.code(), "key_conflict");
    assert_eq!(once().await.rename(chat, "b").await.expect_err("another").code(), "key_conflict");
    assert_eq!(texts(&database, chat).await, ["one"]);
}

#[tokio::test]
async fn a_refused_request_can_be_made_again_with_its_key() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let nothing = database.once("key").await.expect("readable").redo(Scope::Conversation(chat)).await;
    assert_eq!(nothing.expect_err("nothing").code(), "nothing_to_redo");
    say(&database, chat, &["one"]).await;
    database.undo(Scope::Conversation(chat)).await.expect("undone");
    database.once("key").await.expect("readable").redo(Scope::Conversation(chat)).await.expect("redone");
    assert_eq!(texts(&database, chat).await, ["one"]);
}

#[tokio::test]
async fn a_key_of_our_own_works_like_any_other() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let key = manent::request_key();
    let first = database.once(&key).await.expect("a handle").append(chat, MessageDraft::user("one")).await;
    let again = database.once(&key).await.expect("a handle").append(chat, MessageDraft::user("one")).await;
    assert_eq!(again.expect("the same"), first.expect("added"));
    let other = database.once(&key).await.expect("a handle").append(chat, MessageDraft::user("two")).await;
    assert_eq!(other.expect_err("another request").code(), "exists");
    assert_eq!(texts(&database, chat).await, ["one"]);
    // What is not its own key is remembered.
    let key = manent::request_key();
    for _ in 0..2 {
        database.once(&key).await.expect("a handle").undo(Scope::Conversation(chat)).await.expect("undone once");
    }
    assert!(texts(&database, chat).await.is_empty());
}
