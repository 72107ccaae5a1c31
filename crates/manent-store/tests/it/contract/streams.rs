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
    let finish = Finish { status, body: Some(body), tokens: Some(9), usage: Some(json("{ \"out\":9}")) };
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
    let streams = store.annotations(conversation.into()).await.expect("readable").streams;
    assert_eq!(streams, [(id_of, "Once upon\0 a 🙂".to_owned())]);
    refused(store, finish(id_of, MessageStatus::Streaming, "x"), "invalid").await;
    sound(store).await;
    commit(store, finish(id_of, MessageStatus::Complete, "once upon a time")).await;
    assert_eq!(
        commit(store, finish(id_of, MessageStatus::Complete, "once upon a time")).await.results,
        [ChangeResult::Applied]
    );
    refused(store, finish(id_of, MessageStatus::Failed, "once upon a time"), "not_streaming").await;
    refused(store, finish(id_of, MessageStatus::Complete, "other"), "not_streaming").await;
    refused(store, Change::AppendChunk { message: id_of, delta: "late".to_owned() }, "not_streaming").await;
    refused(store, Change::AppendChunk { message: id(MessageId::new), delta: "x".to_owned() }, "not_found").await;
    refused(store, finish(id(MessageId::new), MessageStatus::Complete, "x"), "not_found").await;
    assert_eq!(store.annotations(conversation.into()).await.expect("readable").streams, []);
    let told = &path(store, conversation, None).await[1];
    assert_eq!(told.content.body.words(), "once upon a time");
    assert_eq!((told.content.status, told.content.tokens), (MessageStatus::Complete, Some(9)));
    assert_eq!(told.content.usage, Some(json("{ \"out\":9}")));
    assert!(commit(store, append(conversation, vec![message])).await.is_replay, "the append of the stream again");
    counts_hold(store, conversation).await;
    sound(store).await;
}

fn chunk(message: MessageId, delta: &str) -> Change {
    Change::AppendChunk { message, delta: delta.to_owned() }
}

fn finish_as_it_is(message: MessageId, status: MessageStatus) -> Change {
    Change::FinishMessage { message, finish: Finish { status, body: None, tokens: None, usage: None } }
}

pub async fn a_stream_finished_without_a_body_keeps_its_chunks(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let (empty, mut begun, mut thinking) = (stream(), stream(), stream());
    begun.content.body = Body::of(&[Part::text("It was ")]);
    thinking.content.body = Body::of(&[Part::Reasoning { text: "hm".to_owned(), extra: Vec::new() }]);
    for message in [&empty, &begun, &thinking] {
        commit(store, append(conversation, vec![message.clone()])).await;
        commit(store, chunk(message.id, "从前有座山，")).await;
        commit(store, chunk(message.id, "long ago")).await;
        commit(store, finish_as_it_is(message.id, MessageStatus::Complete)).await;
        assert_eq!(
            commit(store, finish_as_it_is(message.id, MessageStatus::Complete)).await.results,
            [ChangeResult::Applied]
        );
        refused(store, finish_as_it_is(message.id, MessageStatus::Failed), "not_streaming").await;
    }
    let told = "从前有座山，long ago";
    assert_eq!(texts(store, conversation).await, [told, &format!("It was {told}"), told]);
    assert_eq!(path(store, conversation, None).await[2].content.body.parts().len(), 2);
    counts_hold(store, conversation).await;
    sound(store).await;
}

pub async fn the_words_of_a_running_stream_are_read(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    say(store, conversation, &["tell me"]).await;
    let message = stream();
    commit(store, append(conversation, vec![message.clone()])).await;
    assert_eq!(texts(store, conversation).await, ["tell me", ""]);
    for (delta, so_far) in [("Once ", "Once "), ("", "Once "), ("upon", "Once upon")] {
        commit(store, chunk(message.id, delta)).await;
        assert_eq!(texts(store, conversation).await, ["tell me", so_far]);
        let alone = store.messages(MessagesQuery::Ids(vec![message.id])).await.expect("readable");
        assert_eq!(alone[0].message.content.body.words(), so_far);
        assert_eq!(alone[0].message.content.status, MessageStatus::Streaming);
        counts_hold(store, conversation).await;
    }
    sound(store).await;
}

pub async fn an_idle_stream_is_listed_until_it_is_renewed_or_ends(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let (first, second) = (stream(), stream());
    let idle = |before: i64| async move {
        let idle = store.idle_streams(at(before), 10).await.expect("readable");
        idle.into_iter().map(|stream| (stream.conversation, stream.message, stream.renewed_at)).collect::<Vec<_>>()
    };
    for (time, message) in [(10, &first), (20, &second)] {
        let transaction = Transaction::of(at(time), append(conversation, vec![message.clone()]));
        store.commit(transaction).await.expect("appended");
    }
    assert_eq!(idle(10).await, []);
    assert_eq!(idle(11).await, [(conversation, first.id, at(10))]);
    assert_eq!(idle(99).await, [(conversation, first.id, at(10)), (conversation, second.id, at(20))]);
    store.commit(Transaction::of(at(30), chunk(first.id, ""))).await.expect("renewed");
    assert_eq!(idle(30).await, [(conversation, second.id, at(20))]);
    let found = store.idle_streams(at(30), 10).await.expect("readable").remove(0);
    assert_eq!(found.version, shown(store, conversation).await.version);
    commit(store, finish_as_it_is(second.id, MessageStatus::Incomplete)).await;
    assert_eq!(idle(99).await, [(conversation, first.id, at(30))]);
    commit(store, Change::Erase { target: EraseTarget::Message(first.id) }).await;
    assert_eq!(idle(99).await, []);
}

pub async fn a_stream_larger_than_a_commit_is_refused(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let message = stream();
    commit(store, append(conversation, vec![message.clone()])).await;
    let quotes = "\"".repeat(1 << 20);
    commit(store, chunk(message.id, &quotes)).await;
    refused(store, chunk(message.id, &quotes), "too_large").await;
    commit(store, chunk(message.id, "end")).await;
    commit(store, finish_as_it_is(message.id, MessageStatus::Complete)).await;
    assert_eq!(texts(store, conversation).await, [format!("{quotes}end")]);
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
    commit(store, Change::MoveHead { conversation: a, to: HeadTarget::End(first) }).await;
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
        why: BranchReason::Fork,
        origins: Vec::new(),
    };
    commit(store, open).await;
    commit(store, Change::MoveHead { conversation: b, to: HeadTarget::End(other) }).await;
    counts_hold(store, a).await;
    counts_hold(store, b).await;
    commit(store, finish(streamed, MessageStatus::Complete, "five words and then some")).await;
    counts_hold(store, b).await;
    for branch in [edited, first, plain, deeper] {
        counts_hold(store, a).await;
        commit(store, Change::MoveHead { conversation: a, to: HeadTarget::End(branch) }).await;
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
    undo(store, UndoScope::Conversation(conversation)).await;
    assert_eq!(texts(store, conversation).await, ["three words more"]);
    counts_hold(store, conversation).await;
    redo(store, UndoScope::Conversation(conversation)).await;
    counts_hold(store, conversation).await;
    sound(store).await;
}

pub async fn an_undone_stream_can_still_end(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    say(store, conversation, &["ask"]).await;
    let message = stream();
    commit(store, append(conversation, vec![message.clone()])).await;
    commit(store, Change::AppendChunk { message: message.id, delta: "x".to_owned() }).await;
    undo(store, UndoScope::Conversation(conversation)).await;
    assert_eq!(texts(store, conversation).await, ["ask"]);
    commit(store, finish(message.id, MessageStatus::Incomplete, "stopped early")).await;
    assert_eq!(texts(store, conversation).await, ["ask"]);
    counts_hold(store, conversation).await;
    redo(store, UndoScope::Conversation(conversation)).await;
    assert_eq!(texts(store, conversation).await, ["ask", "stopped early"]);
    counts_hold(store, conversation).await;
    sound(store).await;
}

pub async fn page_with_open_streams_is_cut_by_their_bytes(store: &dyn Store) {
    let chat = conversation(store, "a").await;
    let mut ids = say(store, chat, &["question"]).await;
    for n in 0..4 {
        let mut open = message("assistant", "");
        open.content.status = MessageStatus::Streaming;
        let stream = open.id;
        ids.push(stream);
        commit(store, append(chat, vec![open])).await;
        for part in 0..2 {
            let delta = format!("{n}{part}{}", "x".repeat(750 << 10));
            commit(store, Change::AppendChunk { message: stream, delta }).await;
        }
    }
    for direction in [Direction::Forward, Direction::Backward] {
        let mut query = MessagePageQuery { conversation: chat, branch: None, from: None, direction, limit: 10 };
        let mut read = Vec::new();
        loop {
            let page = store.message_page(query.clone()).await.expect("readable");
            let bytes: usize = page.messages.iter().map(|message| message.content.body.text().len()).sum();
            assert!(bytes <= PAGE_BYTES, "{direction:?}: a page of {bytes} bytes");
            let page_ids = page.messages.iter().map(|message| message.id);
            match direction {
                Direction::Forward => read.extend(page_ids),
                Direction::Backward => read.splice(..0, page_ids).for_each(drop),
            }
            for message in page.messages.iter().filter(|message| message.content.status == MessageStatus::Streaming) {
                let n = ids.iter().position(|id| *id == message.id).expect("one of them") - 1;
                let words = message.content.body.words();
                assert!(words.starts_with(&format!("{n}0")) && words.contains(&format!("{n}1")), "its own chunks");
            }
            if !page.more {
                break;
            }
            query.from = if direction == Direction::Forward { read.last() } else { read.first() }.copied();
        }
        assert_eq!(read, ids, "{direction:?}");
    }
}
