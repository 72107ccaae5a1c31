//! Participant rows, in a file of an older version, and in a file that another program has altered.

use super::runtime;
use super::writers::WITHOUT_WRITERS;
use crate::kit::*;
use manent_model::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use std::path::Path;
use std::sync::Arc;

const NAMES: [&str; 4] = ["ann", "bob", "cleo\0\u{1}", "erased"];

/// The conversations that a user can see, in order.
pub(super) async fn reached(store: &Arc<dyn Store>, name: &str) -> Vec<ConversationId> {
    let realm = AccessScope { user: Some(name.to_owned()), projects: None };
    store.clone().restricted_to(realm).conversation_ids(None, 1_000).await.expect("readable")
}

/// Creates conversations of several users, changes their members, undoes some and destroys some; returns what each user
/// can see then.
pub(super) async fn people(store: &Arc<dyn Store>) -> Vec<(String, Vec<ConversationId>)> {
    let author = |name: &str| Author { id: name.to_owned(), name: name.to_uppercase() };
    for n in 0..1_100 {
        let (id_, branch) = (id(ConversationId::new), id(BranchId::new));
        // Most have no creator, so that more than one page of them is scanned.
        let creator = (n % 50 == 0).then(|| author(NAMES[n / 50 % NAMES.len()]));
        let members = match n % 50 {
            0..3 => (0..n % 3).map(|m| author(NAMES[(n + m) % NAMES.len()])).collect(),
            _ => Vec::new(),
        };
        let metadata = (n % 2 == 0).then(|| json(r#"{"members":[{"id":"ann"}]}"#));
        let draft = ConversationDraft { creator, members, metadata, ..ConversationDraft::default() };
        commit(&**store, Change::CreateConversation { id: id_, branch, draft, importing: false }).await;
        if n % 100 == 1 {
            let members = Some(vec![author("bob"), author("ann")]);
            patch(&**store, id_, ConversationPatch { members, ..ConversationPatch::default() }).await;
        }
        if n % 200 == 1 {
            undo(&**store, UndoScope::Conversation(id_)).await;
        }
        if n % 300 == 0 {
            undo(&**store, UndoScope::Conversation(id_)).await;
        }
        if n % 250 == 1 {
            commit(&**store, Change::Erase { target: EraseTarget::Conversation(id_) }).await;
        }
    }
    commit(&**store, Change::Erase { target: EraseTarget::Person("erased".to_owned()) }).await;
    let mut all = Vec::new();
    for name in NAMES {
        all.push((name.to_owned(), reached(store, name).await));
    }
    assert!(all[..3].iter().all(|(_, reached)| reached.len() > 2), "there must be something to reach: {all:?}");
    all
}

/// Checks that everybody reaches what he did.
pub(super) async fn as_before(store: &Arc<dyn Store>, before: &[(String, Vec<ConversationId>)]) {
    for (name, expected) in before {
        assert_eq!(reached(store, name).await, *expected, "{name}");
    }
}

fn opened(path: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(SqliteOptions::new(path)).expect("opens"))
}

#[test]
fn a_file_of_an_older_schema_knows_who_takes_part() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let runtime = runtime();
    let before = runtime.block_on(async {
        let store = opened(&path);
        let before = people(&store).await;
        store.close().await.expect("closes");
        before
    });
    // As a program wrote it that did not keep these rows.
    let connection = rusqlite::Connection::open(&path).expect("opens");
    connection.execute_batch(WITHOUT_WRITERS).expect("an older file");
    connection.execute_batch("drop table participant; pragma user_version = 6;").expect("an older file");
    drop(connection);
    runtime.block_on(async {
        let store = opened(&path);
        as_before(&store, &before).await;
        sound(&*store).await;
        store.close().await.expect("closes");
    });
    assert!(path.with_extension("db.before-7").exists(), "the file as it was is kept");
}

/// One unreadable conversation does not hide the others.
#[test]
fn an_older_file_opens_although_a_conversation_was_altered() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let runtime = runtime();
    let (own, other) = runtime.block_on(async {
        let store = opened(&path);
        let made = [talk(&*store, &["ann"]).await, talk(&*store, &["bob"]).await];
        store.close().await.expect("closes");
        (made[0], made[1])
    });
    let connection = rusqlite::Connection::open(&path).expect("opens");
    connection.execute("update conversation set body = x'00' where id = ?1", [&other.as_bytes()[..]]).expect("altered");
    connection.execute_batch(WITHOUT_WRITERS).expect("an older file");
    connection.execute_batch("drop table participant; pragma user_version = 6;").expect("an older file");
    drop(connection);
    runtime.block_on(async {
        let store = opened(&path);
        assert_eq!(reached(&store, "ann").await, [own]);
        assert_eq!(reached(&store, "bob").await, []);
        assert!(!store.verify().await.expect("verify runs").is_sound());
    });
}

async fn talk(store: &dyn Store, members: &[&str]) -> ConversationId {
    let author = |name: &&str| Author { id: (*name).to_owned(), name: String::new() };
    let draft = ConversationDraft {
        creator: Some(author(&"maker")),
        members: members.iter().map(author).collect(),
        ..ConversationDraft::default()
    };
    let conversation = id(ConversationId::new);
    let branch = id(BranchId::new);
    commit(store, Change::CreateConversation { id: conversation, branch, draft, importing: false }).await;
    conversation
}

/// Alterations of these rows by another program.
pub(super) const DAMAGE: [(&str, &str); 5] = [
    ("a member is missing", "delete from participant where person = 'ann'"),
    ("the maker is missing", "delete from participant where person = 'maker'"),
    ("another person", "update participant set person = 'zoe' where person = 'ann'"),
    ("a member is the maker", "update participant set made = 1 where person = 'ann'"),
    ("the maker takes part", "update participant set takes_part = 1 where person = 'maker'"),
];

/// Checks that the participants of this conversation, and nothing else, are found to be wrong.
pub(super) async fn found_wrong(store: &dyn Store, conversation: ConversationId, what: &str) {
    let report = store.verify().await.expect("verify runs");
    let expected = VerifyProblem::Beside { what: format!("the participants of {conversation}") };
    assert_eq!(report.problems, [expected], "{what}");
}

/// A conversation to be damaged, and one to stay as it is.
pub(super) async fn to_be_damaged(store: &dyn Store) -> ConversationId {
    let conversation = talk(store, &["ann"]).await;
    let draft = ConversationDraft {
        creator: Some(Author { id: "other".to_owned(), name: String::new() }),
        ..Default::default()
    };
    let (other, branch) = (id(ConversationId::new), id(BranchId::new));
    commit(store, Change::CreateConversation { id: other, branch, draft, importing: false }).await;
    conversation
}

#[test]
fn a_missing_or_surplus_participant_is_found() {
    for (what, sql) in DAMAGE.into_iter().chain([(
        "one too many",
        "insert into participant (person, conversation_no, made, takes_part) select 'zoe', min(no), 0, 1 from conversation",
    )]) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("store.db");
        let runtime = runtime();
        let conversation = runtime.block_on(async {
            let store = opened(&path);
            let conversation = to_be_damaged(&*store).await;
            sound(&*store).await;
            store.close().await.expect("closes");
            conversation
        });
        let connection = rusqlite::Connection::open(&path).expect("opens");
        assert_eq!(connection.execute(sql, []).expect("damaged"), 1, "{what}");
        drop(connection);
        runtime.block_on(async { found_wrong(&*opened(&path), conversation, what).await });
    }
}
