//! Handles: expectations on every commit, and requests that may be sent again.

use crate::kit::*;
use manent::*;

async fn position(database: &Database) -> Position {
    *database.store().watch_position().borrow()
}

#[tokio::test]
async fn a_handle_that_expects_changes_nothing_once_it_is_false() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let version = database.conversation(chat).await.expect("there").version;
    let careful = database.with_precondition(Expect::Version { conversation: chat, version });
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
    let careful = database.with_precondition(Expect::Document { kind, id, version: 0 });
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
    let careful = database.with_precondition(Expect::Version { conversation: chat, version });
    careful.purge(chat).await.expect("purged");
    assert_eq!(database.conversation(chat).await.expect_err("gone").code(), "not_found");
}

/// Sends every kind of request with a key of its own and returns what was answered.
async fn requests(database: &Database, chat: ConversationId, fork_at: MessageId) -> Vec<String> {
    let once = |key: &'static str| async move { database.idempotent(key).await.expect("readable") };
    let draft = ConversationDraft { title: "made".to_owned(), ..ConversationDraft::default() };
    let texts = vec![MessageDraft::user("one"), MessageDraft::assistant("two")];
    let project = once("project").await.create_project("p", "").await.expect("made");
    vec![
        once("create").await.create(draft.clone()).await.expect("made").id.to_string(),
        format!("{:?}", once("append").await.append_many(chat, texts).await.expect("added")),
        format!("{:?}", once("rename").await.rename(chat, "renamed").await.expect("renamed")),
        once("fork").await.fork_to_new(chat, fork_at, draft).await.expect("forked").to_string(),
        format!("{:?}", once("undo").await.undo(UndoScope::Conversation(chat)).await.expect("undone").first),
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
    let once = || async { database.idempotent("key").await.expect("readable") };
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
    let nothing = database.idempotent("key").await.expect("readable").redo(UndoScope::Conversation(chat)).await;
    assert_eq!(nothing.expect_err("nothing").code(), "nothing_to_redo");
    say(&database, chat, &["one"]).await;
    database.undo(UndoScope::Conversation(chat)).await.expect("undone");
    database.idempotent("key").await.expect("readable").redo(UndoScope::Conversation(chat)).await.expect("redone");
    assert_eq!(texts(&database, chat).await, ["one"]);
}

#[tokio::test]
async fn a_key_of_our_own_works_like_any_other() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let key = manent::request_key();
    let first = database.idempotent(&key).await.expect("a handle").append(chat, MessageDraft::user("one")).await;
    let again = database.idempotent(&key).await.expect("a handle").append(chat, MessageDraft::user("one")).await;
    assert_eq!(again.expect("the same"), first.expect("added"));
    let other = database.idempotent(&key).await.expect("a handle").append(chat, MessageDraft::user("two")).await;
    assert_eq!(other.expect_err("another request").code(), "exists");
    assert_eq!(texts(&database, chat).await, ["one"]);
    // What is not its own key is remembered.
    let key = manent::request_key();
    for _ in 0..2 {
        database
            .idempotent(&key)
            .await
            .expect("a handle")
            .undo(UndoScope::Conversation(chat))
            .await
            .expect("undone once");
    }
    assert!(texts(&database, chat).await.is_empty());
}

fn key_of(id: &str, user: &str) -> store::Permissions {
    let access = model::AccessScope { user: Some(user.to_owned()), projects: None };
    let scopes = [model::KeyScope::Admin].into_iter().collect();
    let actor = Some(Author { id: user.to_owned(), name: user.to_uppercase() });
    store::Permissions { id: id.to_owned(), scopes, access, actor }
}

#[tokio::test]
async fn the_same_request_of_two_keys_is_two_requests() {
    let database = open();
    let [one, two] = ["one", "two"].map(|id| database.granted(key_of(id, "ann")));
    let chat = one.create(ConversationDraft::default()).await.expect("made").id;
    for key in ["key".to_owned(), manent::request_key()] {
        let say = async |handle: &Database, text: &str| {
            handle.idempotent(&key).await.expect("a handle").append(chat, MessageDraft::user(text)).await
        };
        let first = say(&one, "of one").await.expect("added");
        let second = say(&two, "of two").await.expect("another key, another request");
        assert_ne!(first, second);
        assert_eq!(say(&one, "of one").await.expect("the same request"), first);
        assert!(say(&one, "of another").await.is_err(), "its own key is used up");
        let third = say(&database, "of none").await.expect("no key at all");
        assert!(![first, second].contains(&third));
    }
    assert_eq!(texts(&database, chat).await.len(), 6);
}

#[tokio::test]
async fn a_handle_of_a_key_does_what_the_key_allows() {
    let database = open();
    let [ann, bob] = ["ann", "bob"].map(|user| database.granted(key_of(&format!("key of {user}"), user)));
    let chat = ann.create(ConversationDraft::default()).await.expect("made");
    assert_eq!(chat.creator.expect("hers").name, "ANN");
    let chat = chat.id;
    let first = ann.append(chat, MessageDraft::user("one")).await.expect("added");
    ann.edit(chat, first, MessageDraft::user("two"), FollowUps::Detach).await.expect("edited");
    let fork = ann.fork_to_new(chat, first, ConversationDraft::default()).await.expect("forked");
    assert_eq!(texts(&ann, fork).await, ["one"]);
    ann.save_draft(chat, "", "typed").await.expect("kept");
    assert_eq!(ann.draft(chat, "").await.expect("readable").as_deref(), Some("typed"));
    let picture = vec![7; 3 << 20];
    let blob = ann.put_blob(&picture).await.expect("brought");
    assert_eq!(ann.blob(&blob).await.expect("hers"), picture);
    assert_eq!(bob.blob(&blob).await.expect_err("not his").code(), "not_found");
    ann.undo(UndoScope::Conversation(chat)).await.expect("undone");
    assert_eq!(bob.conversation(chat).await.expect_err("not his").code(), "not_found");
    assert_eq!(bob.append(chat, MessageDraft::user("x")).await.expect_err("not his").code(), "not_found");
    assert_eq!(bob.purge(chat).await.expect_err("not his").code(), "not_found");
    assert_eq!(bob.list(ListQuery::default()).await.expect("readable").conversations, []);
    assert_eq!(ann.list(ListQuery::default()).await.expect("readable").conversations.len(), 2);
    assert_eq!(ann.search(&SearchQuery::new("one")).await.expect("searchable").hits.len(), 1);
    assert_eq!(bob.search(&SearchQuery::new("one")).await.expect("searchable").hits.len(), 0);
    ann.trash(chat).await.expect("trashed");
    ann.purge(chat).await.expect("purged");
    assert_eq!(texts(&ann, fork).await, ["one"], "what forked from it stays whole");
    let receipt = ann.erase(EraseTarget::Conversation(fork)).await.expect("erased");
    assert!(receipt.finished);
    assert_eq!(ann.close().await.expect_err("others use it").code(), "forbidden");
}
