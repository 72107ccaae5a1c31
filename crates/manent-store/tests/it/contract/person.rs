//! Erasure of a person: their content is deleted everywhere, content of others stays.

use super::erase::{by, erase};
use crate::kit::*;
use manent_model::*;
use manent_store::*;

fn person(id: &str) -> Author {
    Author { id: id.to_owned(), name: id.to_uppercase() }
}

/// Commits a change as a user.
async fn does(store: &dyn Store, who: &str, change: Change) {
    let transaction = Transaction { actor: Some(person(who)), ..Transaction::of(at(1), change) };
    store.commit(transaction).await.expect("it may");
}

async fn made_by(store: &dyn Store, who: &str, members: &[&str]) -> ConversationId {
    let members = members.iter().map(|id| person(id)).collect();
    let draft = ConversationDraft { creator: Some(person(who)), members, ..ConversationDraft::default() };
    let conversation = id(ConversationId::new);
    commit(store, Change::CreateConversation { id: conversation, branch: id(BranchId::new), draft, importing: false })
        .await;
    conversation
}

fn put(id: MemoryId, text: &str) -> Change {
    Change::PutMemory { memory: Memory { id, ..memory(text) } }
}

pub async fn what_a_person_set_asked_and_explained_goes(store: &dyn Store) {
    let shared = conversation(store, "shared").await;
    let message = say(store, shared, &["run it"]).await[0];
    let state = |name: &str, value: &str| Change::SetState {
        conversation: shared,
        name: name.to_owned(),
        after: Some(message),
        value: Some(json(value)),
    };
    does(store, "bob", state("mood", "\"bob's\"")).await;
    does(store, "ann", state("mood", "\"ann's\"")).await;
    does(store, "ann", state("ann only", "1")).await;
    for who in ["ann", "bob"] {
        let (input, body) = (id(InputId::new), json("\"please\""));
        does(store, who, Change::PutInput { conversation: shared, id: input, body }).await;
        commit(store, Change::TakeInputs { conversation: shared, ids: vec![input] }).await;
    }
    let (call_id, name, state) = ("c".to_owned(), "t".to_owned(), ToolState::ApprovalRequired);
    let call = ToolCall { message, part: 0, call_id, name, state, record: json("{}") };
    does(store, "bob", Change::PutToolCall { call, note: "bob asks".to_owned() }).await;
    let note = "ann agrees".to_owned();
    does(store, "ann", Change::MoveToolCall { message, part: 0, to: ToolState::Approved, record: None, note }).await;
    let receipt = erase(store, EraseTarget::Person("ann".to_owned())).await;
    assert_eq!(receipt.annotations, 4, "two states, an input and a word");
    let left = store.annotations(shared.into()).await.expect("readable");
    let states: Vec<(&str, &str)> =
        left.states.iter().map(|state| (state.name.as_str(), state.value.as_ref().expect("set").text())).collect();
    assert_eq!(states, [("mood", "\"bob's\"")]);
    assert_eq!(left.inputs.len(), 1);
    let notes: Vec<&str> = left.tool_calls[0].steps.iter().map(|step| step.note.as_str()).collect();
    assert_eq!(notes, ["bob asks", ""]);
    while let Some(position) =
        store.undo_target(UndoScope::Conversation(shared), UndoDirection::Undo).await.expect("readable")
    {
        commit(store, Change::Undo { position }).await;
    }
    sound(store).await;
}

pub async fn what_a_person_remembered_goes(store: &dyn Store) {
    let ids: Vec<MemoryId> = (0..5).map(|_| id(MemoryId::new)).collect();
    let [hers, over_his, anew, taken_back, removed] = ids[..] else { unreachable!("five") };
    does(store, "ann", put(hers, "ann's")).await;
    does(store, "bob", put(over_his, "bob's")).await;
    does(store, "ann", put(over_his, "ann's over bob's")).await;
    does(store, "ann", put(anew, "ann's")).await;
    does(store, "bob", put(anew, "bob's anew")).await;
    does(store, "bob", put(taken_back, "bob's for long")).await;
    does(store, "ann", put(taken_back, "ann's for a while")).await;
    undo(store, UndoScope::Workspace).await;
    does(store, "ann", put(removed, "ann's")).await;
    commit(store, Change::RemoveMemory { id: removed }).await;
    let receipt = erase(store, EraseTarget::Person("ann".to_owned())).await;
    assert_eq!(receipt.annotations, 3, "hers, the one over his, and the removed one");
    let query = MemoriesQuery { limit: 10, ..MemoriesQuery::default() };
    let mut left: Vec<String> =
        store.memories(query).await.expect("readable").into_iter().map(|memory| memory.text).collect();
    left.sort();
    assert_eq!(left, ["bob's anew", "bob's for long"]);
    assert_eq!(store.undo_target(UndoScope::Workspace, UndoDirection::Undo).await.expect("readable"), None);
    assert_eq!(store.undo_target(UndoScope::Workspace, UndoDirection::Redo).await.expect("readable"), None);
    sound(store).await;
}

pub async fn what_a_person_made_and_took_back_goes_as_a_whole(store: &dyn Store) {
    let (hers, his) = (made_by(store, "ann", &["bob"]).await, made_by(store, "bob", &[]).await);
    for conversation in [hers, his] {
        // More than one step destroys.
        let answers: Vec<NewMessage> = (0..700).map(|_| message("assistant", "an answer")).collect();
        commit(store, append(conversation, answers)).await;
        undo(store, UndoScope::Conversation(conversation)).await;
        undo(store, UndoScope::Conversation(conversation)).await;
    }
    let receipt = erase(store, EraseTarget::Person("ann".to_owned())).await;
    assert_eq!((receipt.conversations, receipt.messages), (1, 700));
    let gone = store.undo_target(UndoScope::Conversation(hers), UndoDirection::Redo).await;
    assert_eq!(gone.expect_err("it is not there").code(), "not_found");
    redo(store, UndoScope::Conversation(his)).await;
    redo(store, UndoScope::Conversation(his)).await;
    assert_eq!(shown(store, his).await.messages, 700);
    sound(store).await;
}

pub async fn the_next_erasure_resumes_an_interrupted_one(store: &dyn Store) {
    let [begun, purged, other] =
        [conversation(store, "a").await, conversation(store, "b").await, conversation(store, "c").await];
    for conversation in [begun, purged] {
        let many: Vec<NewMessage> = (0..600).map(|_| message("assistant", "x")).collect();
        commit(store, append(conversation, many)).await;
    }
    let said = say(store, other, &["hers", "stays"]).await;
    let status = Some(ConversationStatus::Trashed);
    patch(store, purged, ConversationPatch { status, ..ConversationPatch::default() }).await;
    // The first step of each deletion; its caller does not return.
    commit(store, Change::Erase { target: EraseTarget::Conversation(begun) }).await;
    commit(store, Change::Purge { conversation: purged }).await;
    assert!(sound(store).await.messages > 2);
    erase(store, EraseTarget::Message(said[0])).await;
    let report = sound(store).await;
    assert_eq!((report.messages, report.erased, report.conversations), (1, 1, 1));
}

pub async fn ten_thousand_messages_of_a_person_go(store: &dyn Store) {
    let shared = conversation(store, "shared").await;
    for _ in 0..10 {
        let many: Vec<NewMessage> = (0..1_000).map(|_| by(&person("ann"), "hers")).collect();
        commit(store, append(shared, many)).await;
    }
    commit(store, append(shared, vec![by(&person("bob"), "his")])).await;
    let (mut messages, mut steps) = (0, 0);
    loop {
        let erase = Change::Erase { target: EraseTarget::Person("ann".to_owned()) };
        let ChangeResult::Erased(receipt) = commit(store, erase).await.results.remove(0) else { panic!("a receipt") };
        (messages, steps) = (messages + receipt.messages, steps + 1);
        if receipt.finished {
            break;
        }
    }
    // Each step is small enough that no other write waits for long.
    assert!(messages == 10_000 && steps >= 20, "{messages} {steps}");
    let left: Vec<String> = texts(store, shared).await.into_iter().filter(|text| !text.is_empty()).collect();
    assert_eq!(left, ["his"]);
    assert_eq!(sound(store).await.erased, 10_000);
}

/// Erases a person step by step; returns the number of scrubbed before-images, and of steps.
async fn steps_of(store: &dyn Store, who: &str) -> Result<(i64, usize)> {
    let (mut journal, mut steps) = (0, 0);
    loop {
        let erase = Change::Erase { target: EraseTarget::Person(who.to_owned()) };
        let mut committed = store.commit(Transaction::of(at(1), erase)).await?;
        let ChangeResult::Erased(receipt) = committed.results.remove(0) else { panic!("a receipt") };
        (journal, steps) = (journal + receipt.journal, steps + 1);
        if receipt.finished {
            return Ok((journal, steps));
        }
    }
}

pub async fn a_long_journal_is_walked_in_steps(store: &dyn Store) {
    let memory = id(MemoryId::new);
    let change_of_mind = async |round: usize| {
        does(store, "ann", put(memory, &format!("ann's {round}"))).await;
        does(store, "bob", put(memory, &format!("bob's {round}"))).await;
        let left = made_by(store, "bob", &["ann"]).await;
        let members = Some(vec![person("bob")]);
        patch(store, left, ConversationPatch { members, ..ConversationPatch::default() }).await;
    };
    let long = conversation(store, "long").await;
    change_of_mind(0).await;
    for _ in 0..60 {
        let many: Vec<NewMessage> = (0..1_000).map(|_| message("assistant", "x")).collect();
        commit(store, append(long, many)).await;
    }
    change_of_mind(1).await;
    let (journal, steps) = steps_of(store, "ann").await.expect("erased");
    assert_eq!(journal, 4, "a memory and a member at either end");
    assert!(steps >= 2, "one step walked through all of it");
    let unknown = steps_of(store, "nobody").await.expect_err("there is no such person");
    assert_eq!(unknown.code(), "not_found");
    sound(store).await;
}
