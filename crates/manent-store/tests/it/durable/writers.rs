//! Authors of rows other than messages, in a file of an older version.

use super::runtime;
use crate::kit::*;
use manent_model::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;

/// Brings a file to the schema of a version that did not record authors.
pub(super) const WITHOUT_WRITERS: &str = "drop index state_actor; alter table state drop column actor_no;
     drop index input_actor; alter table input drop column actor_no;
     drop index memory_actor; alter table memory drop column actor_no; drop table stream;
     drop table if exists stat_conversation; drop table if exists stat_member;
     drop table if exists stat_cell; drop table if exists stat_total; drop table if exists stat_active;
     alter table conversation drop column head_mac;
     alter table name drop column mac;
     alter table author drop column mac;
     alter table project drop column mac;
     alter table conversation drop column mac;
     alter table branch drop column mac;
     alter table message drop column mac;
     alter table note drop column mac;
     alter table state drop column mac;
     alter table fold drop column mac;
     alter table model_call drop column mac;
     alter table tool_call drop column mac;
     alter table tool_step drop column mac;
     alter table event drop column mac;
     alter table input drop column mac;
     alter table document drop column mac;
     alter table memory drop column mac;
     alter table blob drop column mac;
     alter table source drop column mac;
     alter table origin drop column mac;
     alter table quarantine drop column mac;";

/// Two people set, ask and remember, more often than is looked at in one read.
pub(super) async fn written(store: &dyn Store) -> ConversationId {
    let shared = conversation(store, "shared").await;
    for n in 0..400 {
        let who = if n % 2 == 0 { "ann" } else { "bob" };
        let text = json(&format!("\"{who}\""));
        let (name, value) = ("mood".to_owned(), Some(text.clone()));
        let memory = memory(who);
        let again = Memory { text: format!("{who} again"), ..memory.clone() };
        let changes = vec![
            Change::SetState { conversation: shared, name, after: None, value },
            Change::PutInput { conversation: shared, id: id(InputId::new), body: text },
            Change::PutMemory { memory },
            Change::PutMemory { memory: again },
        ];
        let actor = Some(Author { id: who.to_owned(), name: String::new() });
        let transaction =
            Transaction { actor, changes, ..Transaction::of(at(n), Change::Purge { conversation: shared }) };
        store.commit(transaction).await.expect("it may");
    }
    shared
}

/// Erases one of them, and looks at what is left.
pub(super) async fn only_one_is_left(store: &dyn Store, shared: ConversationId) {
    let erase = Change::Erase { target: EraseTarget::Person("ann".to_owned()) };
    while !matches!(&commit(store, erase.clone()).await.results[..], [ChangeResult::Erased(receipt)] if receipt.finished)
    {
    }
    let left = store.annotations(shared.into()).await.expect("readable");
    assert_eq!((left.states.len(), left.inputs.len()), (200, 200));
    assert!(left.states.iter().all(|state| state.value == Some(json("\"bob\""))));
    assert!(left.inputs.iter().all(|input| input.body == json("\"bob\"")));
    let query = MemoriesQuery { limit: 1_000, ..MemoriesQuery::default() };
    let memories = store.memories(query).await.expect("readable");
    assert!(memories.len() == 200 && memories.iter().all(|memory| memory.text == "bob again"));
    sound(store).await;
}

#[test]
fn a_file_of_an_older_schema_knows_who_wrote_what() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let opened = || SqliteStore::open(SqliteOptions::new(&path)).expect("opens");
    let runtime = runtime();
    let store = opened();
    let shared = runtime.block_on(written(&store));
    runtime.block_on(store.close()).expect("closes");
    let connection = rusqlite::Connection::open(&path).expect("opens");
    connection.execute_batch(WITHOUT_WRITERS).expect("an older file");
    connection.execute_batch("pragma user_version = 7").expect("an older file");
    drop(connection);
    runtime.block_on(only_one_is_left(&opened(), shared));
}
