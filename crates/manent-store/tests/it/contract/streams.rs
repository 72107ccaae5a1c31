//! Messages that stream: chunks, one ending, and what others did behind them in the meantime.

use crate::kit::*;
use manent_model::*;
use manent_store::*;

fn stream() -> NewMessage {
    let mut message = message("assistant", "");
    message.content.status = MessageStatus::Streaming;
    message.content.body = Body::of(&[]);
    message
}

fn finish(message: MessageId, status: MessageStatus, text: &str) -> Change {
    let body = Body::of(&[Part::text(text)]);
    let finish = Finish { status, body, tokens: Some(9), usage: Some(json("{ \"out\":9}")) };
    Change::FinishMessage { message, finish }
}

pub async fn a_stream_grows_in_chunks_and_ends_once(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    say(store, conversation, &["tell me"]).await;
    let message = stream();
    let id_of = message.id;
    commit(store, append(conversation, vec![message.clone()])).await;
    for delta in ["Once ", "", "upon\0 ", "a 🙂"] {
        commit(store, Change::AppendChunk { message: id_of, delta: delta.to_owned() }).await;
    }
    let streams = store.attached(conversation).await.expect("readable").streams;
    assert_eq!(streams, [(id_of, "Once upon\0 a 🙂".to_owned())]);
    refused(store, finish(id_of, MessageStatus::Streaming, "x"), "invalid").await;
    sound(store).await;
    commit(store, finish(id_of, MessageStatus::Complete, "once upon a time")).await;
    assert_eq!(commit(store, finish(id_of, MessageStatus::Complete, "once upon a time")).await.done, [Done::Plain]);
    refused(store, finish(id_of, MessageStatus::Failed, "once upon a time"), "not_streaming").await;
    refused(store, finish(id_of, MessageStatus::Complete, "other"), "not_streaming").await;
    refused(store, Change::AppendChunk { message: id_of, delta: "late".to_owned() }, "not_streaming").await;
    refused(store, Change::AppendChunk { message: id(MessageId::new), delta: "x".to_owned() }, "not_found").await;
    refused(store, finish(id(MessageId::new), MessageStatus::Complete, "x"), "not_found").await;
    assert_eq!(store.attached(conversation).await.expect("readable").streams, []);
    let told = &path(store, conversation, None).await[1];
    assert_eq!(told.content.body.words(), "once upon a time");
    assert_eq!((told.content.status, told.content.tokens), (MessageStatus::Complete, Some(9)));
    assert_eq!(told.content.usage, Some(json("{ \"out\":9}")));
    assert!(commit(store, append(conversation, vec![message])).await.repeated, "the append of the stream again");
    counts_hold(store, conversation).await;
    sound(store).await;
}

pub async fn a_stream_that_fails_is_not_counted(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    say(store, conversation, &["one"]).await;
    let message = stream();
    commit(store, append(conversation, vec![message.clone()])).await;
    assert_eq!(shown(store, conversation).await.messages, 2);
    commit(store, finish(message.id, MessageStatus::Failed, "could not be sent")).await;
    let now = shown(store, conversation).await;
    assert_eq!((now.messages, now.words, now.tokens), (1, 1, 0));
    counts_hold(store, conversation).await;
    sound(store).await;
}

pub async fn counts_are_right_however_much_happened_behind_a_stream(store: &dyn Store) {
    let a = conversation(store, "a").await;
    let ids = say(store, a, &["zero", "one two"]).await;
    let message = stream();
    let streamed = message.id;
    commit(store, append(a, vec![message])).await;
    let behind = say(store, a, &["behind the stream", "more"]).await;
    let (plain, forked) = fork(store, a, Some(streamed), "forked behind").await;
    let (deeper, _) = fork(store, a, Some(forked), "and again").await;
    let first = store.branches(a).await.expect("readable")[0].id;
    commit(store, Change::MoveHead { conversation: a, to: HeadTo::End(first) }).await;
    let edited = id(BranchId::new);
    let change = Change::Splice {
        conversation: a,
        branch: edited,
        at: instead_of(ids[1], ids[1]),
        messages: vec![crate::kit::message("user", "edited before it")],
        origins: Vec::new(),
    };
    commit(store, change).await;
    say(store, a, &["open end"]).await;
    let b = conversation(store, "b").await;
    let other = id(BranchId::new);
    let open = Change::OpenBranch {
        conversation: b,
        branch: other,
        base: Some(BranchBase { parent: plain, fork: Some(forked) }),
        own: vec![crate::kit::message("user", "in another conversation")],
        pieces: Vec::new(),
        why: Why::Fork,
        origins: Vec::new(),
    };
    commit(store, open).await;
    commit(store, Change::MoveHead { conversation: b, to: HeadTo::End(other) }).await;
    counts_hold(store, a).await;
    counts_hold(store, b).await;
    commit(store, finish(streamed, MessageStatus::Complete, "five words and then some")).await;
    counts_hold(store, b).await;
    for branch in [edited, first, plain, deeper] {
        counts_hold(store, a).await;
        commit(store, Change::MoveHead { conversation: a, to: HeadTo::End(branch) }).await;
    }
    counts_hold(store, a).await;
    commit(store, head_to(a, behind[0])).await;
    counts_hold(store, a).await;
    sound(store).await;
}

pub async fn undo_behind_a_stream_counts_its_ending(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let message = stream();
    commit(store, append(conversation, vec![message.clone()])).await;
    say(store, conversation, &["behind"]).await;
    commit(store, finish(message.id, MessageStatus::Complete, "three words more")).await;
    counts_hold(store, conversation).await;
    undo(store, Scope::Conversation(conversation)).await;
    assert_eq!(texts(store, conversation).await, ["three words more"]);
    counts_hold(store, conversation).await;
    redo(store, Scope::Conversation(conversation)).await;
    counts_hold(store, conversation).await;
    sound(store).await;
}

pub async fn an_undone_stream_can_still_end(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    say(store, conversation, &["ask"]).await;
    let message = stream();
    commit(store, append(conversation, vec![message.clone()])).await;
    commit(store, Change::AppendChunk { message: message.id, delta: "x".to_owned() }).await;
    undo(store, Scope::Conversation(conversation)).await;
    assert_eq!(texts(store, conversation).await, ["ask"]);
    commit(store, finish(message.id, MessageStatus::Incomplete, "stopped early")).await;
    assert_eq!(texts(store, conversation).await, ["ask"]);
    counts_hold(store, conversation).await;
    redo(store, Scope::Conversation(conversation)).await;
    assert_eq!(texts(store, conversation).await, ["ask", "stopped early"]);
    counts_hold(store, conversation).await;
    sound(store).await;
}
