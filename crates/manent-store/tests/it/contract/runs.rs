//! Runs: tool calls, events, inputs, leases.

use crate::kit::*;
use manent_model::*;
use manent_store::*;

fn call(message: MessageId, part: u32, state: ToolState) -> ToolCall {
    let record = json("{\"input\" : {\"q\":1.0}}");
    ToolCall { message, part, call_id: "same".to_owned(), name: "search".to_owned(), state, record }
}

fn put(call: &ToolCall) -> Change {
    Change::PutToolCall { call: call.clone(), note: "asked".to_owned() }
}

fn step(message: MessageId, part: u32, to: ToolState) -> Change {
    Change::MoveToolCall { message, part, to, record: None, note: format!("{to:?}") }
}

pub async fn a_tool_call_moves_only_as_it_may(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let message = say(store, conversation, &["run"]).await[0];
    let mut part = 0;
    for from in ToolState::ALL {
        for to in ToolState::ALL {
            commit(store, put(&call(message, part, from))).await;
            match from.may_become(to) {
                true => drop(commit(store, step(message, part, to)).await),
                false => refused(store, step(message, part, to), "tool_state").await,
            }
            part += 1;
        }
    }
    let trails = store.annotations(conversation.into()).await.expect("readable").tool_calls;
    assert_eq!(trails.len(), 64);
    for (place, trail) in trails.iter().enumerate() {
        let (from, to) = (ToolState::ALL[place / 8], ToolState::ALL[place % 8]);
        let states: Vec<ToolState> = trail.steps.iter().map(|step| step.state).collect();
        let moved = from.may_become(to);
        assert_eq!(trail.call.state, if moved { to } else { from });
        assert_eq!(states, if moved { vec![from, to] } else { vec![from] });
    }
    let open = store.open_tool_calls(1_000).await.expect("readable");
    assert_eq!(open.len(), trails.iter().filter(|trail| !trail.call.state.is_final()).count());
    assert!(open.iter().all(|(owner, trail)| *owner == conversation && !trail.call.state.is_final()));
    assert_eq!(store.open_tool_calls(3).await.expect("readable").len(), 3);
    sound(store).await;
}

pub async fn a_tool_call_keeps_its_record_and_its_trail(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let message = say(store, conversation, &["run"]).await[0];
    let first = call(message, 2, ToolState::Pending);
    commit(store, put(&first)).await;
    refused(store, put(&first), "exists").await;
    refused(store, put(&call(id(MessageId::new), 0, ToolState::Pending)), "not_found").await;
    refused(store, step(message, 3, ToolState::Approved), "not_found").await;
    let record = json("{\"result\":\"\\ud800\"}");
    let actor = Author { id: "boss".to_owned(), name: "B".to_owned() };
    let note = "fine\0".to_owned();
    let change =
        Change::MoveToolCall { message, part: 2, to: ToolState::Completed, record: Some(record.clone()), note };
    let transaction = Transaction { actor: Some(actor.clone()), ..Transaction::of(at(9), change) };
    store.commit(transaction).await.expect("it may");
    let trail = store.annotations(conversation.into()).await.expect("readable").tool_calls.remove(0);
    assert_eq!(trail.call, ToolCall { state: ToolState::Completed, record, ..first });
    let step = ToolStep { state: ToolState::Completed, at: at(9), actor: Some(actor), note: "fine\0".to_owned() };
    assert_eq!((trail.steps.len(), &trail.steps[1]), (2, &step));
    assert_eq!(store.open_tool_calls(9).await.expect("readable"), []);
    sound(store).await;
}

fn event(channel: &str, n: i64) -> NewEvent {
    NewEvent { channel: channel.to_owned(), at: at(n), body: json(&format!("{{\"n\" : {n}}}")) }
}

pub async fn events_are_read_after_a_cursor_by_channel(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let log = |events: Vec<NewEvent>| Change::AppendEvents { conversation, events };
    let done = commit(store, log((0..5).map(|n| event(["progress", "control"][n as usize % 2], n)).collect())).await;
    assert_eq!(done.results, [ChangeResult::Events(5)]);
    assert_eq!(commit(store, log(vec![event("mönitor\0", 5)])).await.results, [ChangeResult::Events(6)]);
    let other = crate::kit::conversation(store, "b").await;
    commit(store, Change::AppendEvents { conversation: other, events: vec![event("progress", 99)] }).await;
    let read = async |channels: &[&str], after: i64, limit: u32| {
        let channels = channels.iter().map(|channel| (*channel).to_owned()).collect();
        let found = store.events(EventsQuery { conversation, channels, after, limit }).await.expect("readable");
        found.iter().map(|event| event.cursor).collect::<Vec<_>>()
    };
    assert_eq!(read(&[], 0, 100).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(read(&[], 2, 2).await, [3, 4]);
    assert_eq!(read(&["control"], 0, 1).await, [2]);
    assert_eq!(read(&["control"], 2, 9).await, [4]);
    assert_eq!(read(&["control", "mönitor\0"], 0, 9).await, [2, 4, 6]);
    assert_eq!(read(&["nobody"], 0, 9).await, [0; 0]);
    assert_eq!(read(&[], 6, 9).await, [0; 0]);
    let query = EventsQuery { conversation, channels: Vec::new(), after: 5, limit: 9 };
    let last = store.events(query).await.expect("readable").remove(0);
    let expected = Event { cursor: 6, channel: "mönitor\0".to_owned(), at: at(5), body: json("{\"n\" : 5}") };
    assert_eq!(last, expected);
    refused(store, log(Vec::new()), "invalid").await;
    let unknown = Change::AppendEvents { conversation: id(ConversationId::new), events: vec![event("x", 0)] };
    refused(store, unknown, "not_found").await;
    sound(store).await;
}

pub async fn an_input_is_taken_once(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids: Vec<InputId> = (0..3).map(|_| id(InputId::new)).collect();
    let put = |id: InputId| Change::PutInput { conversation, id, body: json("{\"say\" : 1}") };
    let take = |ids: &[InputId]| Change::TakeInputs { conversation, ids: ids.to_vec() };
    for id in &ids {
        commit(store, put(*id)).await;
    }
    refused(store, put(ids[0]), "exists").await;
    let mut transaction = Transaction::of(at(1), take(&ids[..1]));
    transaction.changes.push(append(conversation, vec![message("user", "one")]));
    store.commit(transaction).await.expect("taken in the commit that uses it");
    refused(store, take(&ids[..2]), "input_taken").await;
    refused(store, take(&[ids[1], id(InputId::new)]), "not_found").await;
    let other = crate::kit::conversation(store, "b").await;
    refused(store, Change::TakeInputs { conversation: other, ids: vec![ids[1]] }, "not_found").await;
    let inputs = store.annotations(conversation.into()).await.expect("readable").inputs;
    assert_eq!(inputs.iter().map(|input| input.taken).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(inputs.iter().map(|input| input.id).collect::<Vec<_>>(), ids);
    assert_eq!(inputs[2].body, json("{\"say\" : 1}"));
    commit(store, take(&ids[1..])).await;
    sound(store).await;
}

pub async fn a_lease_fences_off_the_owner_before(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let take = |owner: &str, until: i64| Change::TakeLease { conversation, owner: owner.to_owned(), until: at(until) };
    let renew = |token: i64, until: i64| Change::RenewLease { conversation, token, until: at(until) };
    let release = |token: i64| Change::ReleaseLease { conversation, token };
    let when = async |seconds: i64, change: Change| store.commit(Transaction::of(at(seconds), change)).await;
    let lease = async || store.annotations(conversation.into()).await.expect("readable").lease;
    assert_eq!(when(0, take("ann", 10)).await.expect("free").results, [ChangeResult::Lease(1)]);
    refused_as(when(5, take("bob", 20)).await, "lease_held");
    when(5, renew(1, 15)).await.expect("held");
    assert_eq!(lease().await, Some(Lease { owner: "ann".to_owned(), token: 1, until: at(15) }));
    refused_as(when(12, take("bob", 20)).await, "lease_held");
    assert_eq!(when(15, take("bob", 30)).await.expect("it has run out").results, [ChangeResult::Lease(2)]);
    refused_as(when(16, renew(1, 40)).await, "lease_held");
    refused_as(when(16, release(1)).await, "lease_held");
    when(17, release(2)).await.expect("held");
    assert_eq!(lease().await, None);
    refused_as(when(17, renew(2, 40)).await, "lease_held");
    refused_as(when(17, take("", 40)).await, "invalid");
    assert_eq!(when(18, take("ann", 30)).await.expect("free").results, [ChangeResult::Lease(3)]);
    let unknown = Change::TakeLease { conversation: id(ConversationId::new), owner: "x".to_owned(), until: at(1) };
    refused(store, unknown, "not_found").await;
    sound(store).await;
}

pub async fn a_commit_that_expects_a_lease_happens_only_while_it_is_held(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let take = |owner: &str, until: i64| Change::TakeLease { conversation, owner: owner.to_owned(), until: at(until) };
    let say = async |seconds: i64, token: i64, text: &str| {
        let change = append(conversation, vec![message("assistant", text)]);
        let expect = vec![Expect::Lease { conversation, token }];
        store.commit(Transaction { expect, ..Transaction::of(at(seconds), change) }).await
    };
    refused_as(say(0, 1, "before anybody took it").await, "lease_held");
    store.commit(Transaction::of(at(0), take("ann", 10))).await.expect("free");
    say(5, 1, "held").await.expect("held");
    say(12, 1, "run out").await.expect("no other worker took it");
    store.commit(Transaction::of(at(15), take("bob", 30))).await.expect("it has run out");
    refused_as(say(16, 1, "from the owner before").await, "lease_held");
    say(17, 2, "from the new one").await.expect("held");
    commit(store, Change::ReleaseLease { conversation, token: 2 }).await;
    refused_as(say(18, 2, "given back").await, "lease_held");
    assert_eq!(texts(store, conversation).await, ["held", "run out", "from the new one"]);
    sound(store).await;
}

pub async fn a_trail_that_another_program_kept_is_taken_as_it_was(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let message = say(store, conversation, &["run"]).await[0];
    let judge = Author { id: "judge".to_owned(), name: String::new() };
    let step = |state, seconds, note: &str, actor| ToolStep { state, at: at(seconds), actor, note: note.to_owned() };
    // Denied twice, later before earlier: no transition of ours, but another program wrote it.
    let steps = vec![
        step(ToolState::Pending, 1, "", None),
        step(ToolState::Denied, 2, "policy deny", Some(judge.clone())),
        step(ToolState::Denied, -3, "approval denied", Some(judge)),
    ];
    let call = call(message, 0, ToolState::Denied);
    commit(store, Change::PutToolTrail { call: call.clone(), steps: steps.clone(), instead_of: None }).await;
    let trails = store.annotations(conversation.into()).await.expect("readable").tool_calls;
    assert_eq!(trails, [ToolCallTrail { call: call.clone(), steps: steps.clone() }]);
    refused(store, Change::PutToolTrail { call: call.clone(), steps: steps.clone(), instead_of: None }, "exists").await;
    let other = ToolCall { state: ToolState::Completed, part: 3, ..call.clone() };
    let longer = vec![steps[0].clone(), step(ToolState::Completed, 9, "", None)];
    commit(
        store,
        Change::PutToolTrail {
            call: other.clone(),
            steps: longer.clone(),
            instead_of: Some(ToolPart { message, part: 0 }),
        },
    )
    .await;
    let trails = store.annotations(conversation.into()).await.expect("readable").tool_calls;
    assert_eq!(
        trails,
        [ToolCallTrail { call: other, steps: longer }],
        "it stands for another part, with another trail"
    );
    let position =
        store.undo_target(UndoScope::Conversation(conversation), UndoDirection::Undo).await.expect("readable");
    commit(store, Change::Undo { position: position.expect("something to undo") }).await;
    let trails = store.annotations(conversation.into()).await.expect("readable").tool_calls;
    assert_eq!(trails, [ToolCallTrail { call: call.clone(), steps: steps.clone() }], "and comes back");
    let unknown = ToolCall { message: id(MessageId::new), ..call };
    refused(store, Change::PutToolTrail { call: unknown, steps, instead_of: None }, "not_found").await;
    let position =
        store.undo_target(UndoScope::Conversation(conversation), UndoDirection::Undo).await.expect("readable");
    commit(store, Change::Undo { position: position.expect("something to undo") }).await;
    assert!(store.annotations(conversation.into()).await.expect("readable").tool_calls.is_empty());
    sound(store).await;
}

pub async fn a_lease_that_was_given_back_is_free_at_any_time(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let take = |owner: &str| Change::TakeLease { conversation, owner: owner.to_owned(), until: Timestamp(-1) };
    let long_ago =
        async |change: Change| store.commit(Transaction::of(Timestamp(-10), change)).await.expect("free").results;
    assert_eq!(long_ago(take("ann")).await, [ChangeResult::Lease(1)]);
    long_ago(Change::ReleaseLease { conversation, token: 1 }).await;
    assert_eq!(long_ago(take("bob")).await, [ChangeResult::Lease(2)]);
}

pub async fn one_import_has_its_turn_at_a_time(store: &dyn Store) {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let (inside, turns) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let again_and_again = async || {
        for _ in 0..5 {
            let turn = store.acquire_import_lock().await.expect("a turn");
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "another import holds the lock");
            tokio::task::yield_now().await;
            commit(store, Change::RemoveScratch { kind: "x".to_owned(), id: String::new(), actor: String::new() })
                .await;
            inside.fetch_sub(1, Ordering::SeqCst);
            turns.fetch_add(1, Ordering::SeqCst);
            drop(turn);
        }
    };
    tokio::join!(again_and_again(), again_and_again(), again_and_again(), again_and_again());
    assert_eq!(turns.into_inner(), 20);
}
