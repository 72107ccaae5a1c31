//! Purge: a conversation in the trash goes for good, and nothing of the others goes with it.

use crate::kit::*;
use manent_model::*;
use manent_store::*;
use sha2::{Digest as _, Sha256};

async fn trash(store: &dyn Store, conversation: ConversationId) {
    let status = Some(ConversationStatus::Trashed);
    patch(store, conversation, ConversationPatch { status, ..Default::default() }).await;
}

/// Purges step by step and says how many steps it took.
async fn purge(store: &dyn Store, conversation: ConversationId) -> usize {
    for step in 1..100 {
        match commit(store, Change::Purge { conversation }).await.results[..] {
            [ChangeResult::Purged(true)] => return step,
            [ChangeResult::Purged(false)] => sound(store).await,
            ref other => panic!("{other:?}"),
        };
    }
    panic!("a purge ends");
}

/// Opens a conversation that goes on from a message of another one.
async fn forked(store: &dyn Store, parent: BranchId, fork: MessageId, text: &str) -> (ConversationId, BranchId) {
    let (conversation, branch) = (conversation(store, text).await, id(BranchId::new));
    let open = Change::OpenBranch {
        conversation,
        branch,
        base: Some(BranchBase { parent, fork: Some(fork) }),
        own: vec![message("user", text)],
        pieces: Vec::new(),
        why: BranchReason::Fork,
        origins: Vec::new(),
    };
    commit(store, open).await;
    commit(store, Change::MoveHead { conversation, to: HeadTarget::End(branch) }).await;
    (conversation, branch)
}

async fn first_branch(store: &dyn Store, conversation: ConversationId) -> BranchId {
    store.branches(conversation).await.expect("readable")[0].id
}

async fn gone(store: &dyn Store, conversation: ConversationId, message: MessageId) {
    assert_eq!(store.conversation(ConversationRef::Id(conversation)).await.expect("readable"), None);
    assert!(!store.conversation_ids(None, 1_000).await.expect("readable").contains(&conversation));
    let statuses = vec![ConversationStatus::Active, ConversationStatus::Archived, ConversationStatus::Trashed];
    let list = store.conversations(ListQuery { statuses, limit: 1_000, ..Default::default() }).await.expect("readable");
    assert!(list.conversations.iter().all(|listed| listed.id != conversation));
    assert_eq!(store.annotations(conversation.into()).await.expect_err("gone").code(), "not_found");
    assert_eq!(store.messages(MessagesQuery::Ids(vec![message])).await.expect("readable"), []);
    let query = MessagePageQuery { conversation, branch: None, from: None, direction: Direction::Forward, limit: 9 };
    assert_eq!(store.message_page(query).await.expect_err("gone").code(), "not_found");
    refused(store, append(conversation, vec![crate::kit::message("user", "x")]), "not_found").await;
}

pub async fn only_what_lies_in_the_trash_is_purged(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let one = say(store, conversation, &["one"]).await[0];
    refused(store, Change::Purge { conversation }, "not_trashed").await;
    assert_eq!(texts(store, conversation).await, ["one"]);
    trash(store, conversation).await;
    assert_eq!(purge(store, conversation).await, 1);
    gone(store, conversation, one).await;
    assert_eq!(
        commit(store, Change::Purge { conversation }).await.results,
        [ChangeResult::Purged(true)],
        "again is a retry"
    );
    sound(store).await;
}

pub async fn a_large_conversation_is_purged_in_steps(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let kept = crate::kit::conversation(store, "kept").await;
    say(store, kept, &["stays"]).await;
    let mut first = None;
    for _ in 0..3 {
        let messages: Vec<NewMessage> = (0..400).map(|_| message("user", "x")).collect();
        first = first.or(Some(messages[0].id));
        commit(store, append(conversation, messages)).await;
    }
    trash(store, conversation).await;
    assert_eq!(commit(store, Change::Purge { conversation }).await.results, [ChangeResult::Purged(false)]);
    gone(store, conversation, first.expect("there are some")).await;
    assert!(purge(store, conversation).await >= 2);
    assert_eq!(sound(store).await.messages, 1);
    assert_eq!(texts(store, kept).await, ["stays"]);
}

pub async fn a_purge_takes_everything_that_was_attached(store: &dyn Store) {
    let bytes = b"picture".to_vec();
    let sha256: [u8; 32] = Sha256::digest(&bytes).into();
    commit(store, Change::PutBlobPiece { sha256, size: 7, n: 0, last: true, bytes }).await;
    let picture = Part::Media { mime: "image/png".to_owned(), blob: Some(hex::encode(&sha256)), extra: Vec::new() };
    let draft = ConversationDraft { external_id: Some("e".to_owned()), ..Default::default() };
    let conversation = id(ConversationId::new);
    let create = |id_of: ConversationId| Change::CreateConversation {
        id: id_of,
        branch: id(BranchId::new),
        draft: draft.clone(),
        importing: false,
    };
    commit(store, create(conversation)).await;
    let mut new = message("user", "x");
    new.content.body = Body::of(&[picture]);
    let message_id = new.id;
    commit(store, append(conversation, vec![new])).await;
    let note = Change::AddNote { id: id(NoteId::new), message: message_id, kind: "k".to_owned(), value: json("1") };
    commit(store, note).await;
    let name = "s".to_owned();
    commit(store, Change::SetState { conversation, name, after: None, value: Some(json("1")) }).await;
    let name = "b".to_owned();
    commit(store, Change::SetBookmark { conversation, name, head: Some(message_id), metadata: None }).await;
    let event = NewEvent { channel: "c".to_owned(), at: at(1), body: json("1") };
    commit(store, Change::AppendEvents { conversation, events: vec![event] }).await;
    commit(store, Change::PutInput { conversation, id: id(InputId::new), body: json("1") }).await;
    commit(store, Change::TakeLease { conversation, owner: "o".to_owned(), until: at(99) }).await;
    let call = ToolCall {
        message: message_id,
        part: 0,
        call_id: String::new(),
        name: String::new(),
        state: ToolState::Pending,
        record: json("1"),
    };
    commit(store, Change::PutToolCall { call, note: String::new() }).await;
    let memory = Memory {
        id: id(MemoryId::new),
        collection: "c".to_owned(),
        project: None,
        conversation: Some(conversation),
        message: Some(message_id),
        external: None,
        text: "remembered".to_owned(),
        metadata: None,
    };
    commit(store, Change::PutMemory { memory: memory.clone() }).await;
    let (kind, actor) = ("draft".to_owned(), String::new());
    let draft = Scratch { kind, id: conversation.to_string(), actor, body: json("\"typed\""), at: at(1) };
    commit(store, Change::PutScratch { scratch: draft }).await;
    trash(store, conversation).await;
    purge(store, conversation).await;
    gone(store, conversation, message_id).await;
    assert_eq!(store.open_tool_calls(9).await.expect("readable"), []);
    assert_eq!(store.scratch(ScratchQuery::default()).await.expect("readable"), [], "its draft is gone");
    assert_eq!(store.blob(sha256).await.expect("readable"), None, "nothing shows it any more");
    let memories = store.memories(MemoriesQuery { limit: 9, ..Default::default() }).await.expect("readable");
    assert_eq!(memories, [Memory { conversation: None, message: None, ..memory }], "a memory outlives its source");
    let again = id(ConversationId::new);
    assert_eq!(
        commit(store, create(again)).await.results,
        [ChangeResult::Conversation(again)],
        "its external id is free"
    );
    sound(store).await;
}

pub async fn a_purge_takes_what_was_taken_out_of_a_message(store: &dyn Store) {
    let marks = ["source", "metadata", "body"].map(|whole| {
        let sha256: [u8; 32] = Sha256::digest(whole).into();
        let bytes = whole.as_bytes().to_vec();
        let put = Change::PutBlobPiece { sha256, size: whole.len() as i64, n: 0, last: true, bytes };
        (put, blob_placeholder::BlobPlaceholder { form: b'a', sha256 })
    });
    for (put, _) in &marks {
        commit(store, put.clone()).await;
    }
    let texts = marks.each_ref().map(|(_, mark)| format!("[\"{}\"]", mark.text()));
    let source = super::library::source("a");
    commit(store, Change::PutSource { source: source.clone() }).await;
    let conversation = conversation(store, "a").await;
    let mut new = message("user", &texts[2]);
    new.content.metadata = Some(json(&texts[1]));
    let (message, raw) = (new.id, Some(texts[0].clone()));
    let origin = MessageOrigin { message, source: source.id, ordinal: 0, external: None, raw };
    let Change::AppendMessages { conversation, at, head, why, messages, .. } = append(conversation, vec![new]) else {
        unreachable!("it appends")
    };
    commit(store, Change::AppendMessages { conversation, at, head, why, messages, origins: vec![origin] }).await;
    assert_eq!(store.blobs().await.expect("readable").len(), 3);
    trash(store, conversation).await;
    purge(store, conversation).await;
    assert_eq!(store.blobs().await.expect("readable"), [], "nothing refers to them any more");
    sound(store).await;
}

pub async fn what_forked_from_a_purged_conversation_stays_whole(store: &dyn Store) {
    let a = conversation(store, "a").await;
    let ids = say(store, a, &["a", "b", "c"]).await;
    let (b, _) = forked(store, first_branch(store, a).await, ids[1], "x").await;
    commit(store, splice(b, instead_of(ids[0], ids[0]), &["A"])).await;
    trash(store, a).await;
    purge(store, a).await;
    gone(store, a, ids[2]).await;
    assert_eq!(texts(store, b).await, ["A", "b", "x"]);
    counts_hold(store, b).await;
    undo(store, UndoScope::Conversation(b)).await;
    assert_eq!(texts(store, b).await, ["a", "b", "x"]);
    counts_hold(store, b).await;
    say(store, b, &["y"]).await;
    commit(store, head_to(b, ids[0])).await;
    say(store, b, &["z"]).await;
    assert_eq!(texts(store, b).await, ["a", "z"]);
    counts_hold(store, b).await;
    sound(store).await;
    trash(store, b).await;
    purge(store, b).await;
    sound(store).await;
}

pub async fn a_fork_of_a_fork_outlives_the_one_between(store: &dyn Store) {
    let a = conversation(store, "a").await;
    let ids = say(store, a, &["a", "b"]).await;
    let (b, b_branch) = forked(store, first_branch(store, a).await, ids[1], "x").await;
    // The third leaves the second at a message that belongs to the first.
    let (c, _) = forked(store, b_branch, ids[0], "y").await;
    trash(store, b).await;
    purge(store, b).await;
    assert_eq!(texts(store, c).await, ["a", "y"]);
    trash(store, a).await;
    purge(store, a).await;
    assert_eq!(texts(store, c).await, ["a", "y"]);
    counts_hold(store, c).await;
    sound(store).await;
}

pub async fn nothing_before_a_purge_can_be_undone(store: &dyn Store) {
    let kept = conversation(store, "kept").await;
    let last = say(store, kept, &["one"]).await[0];
    let conversation = conversation(store, "a").await;
    let committed = commit(store, append(conversation, vec![message("user", "x")])).await;
    trash(store, conversation).await;
    purge(store, conversation).await;
    refused(store, Change::Undo { position: committed.first }, "cannot_undo").await;
    undo(store, UndoScope::Everything).await;
    assert_eq!(texts(store, kept).await, [""; 0], "the last change that can be undone is elsewhere");
    redo(store, UndoScope::Everything).await;
    assert_eq!(shown(store, kept).await.head, Some(last));
    sound(store).await;
}

pub async fn a_tag_is_found_again_after_its_last_conversation_went(store: &dyn Store) {
    let tagged = || {
        let draft = ConversationDraft { tags: ["x".to_owned()].into(), ..ConversationDraft::default() };
        Change::CreateConversation { id: id(ConversationId::new), branch: id(BranchId::new), draft, importing: false }
    };
    let list = || store.conversations(ListQuery { tag: Some("x".to_owned()), limit: 10, ..ListQuery::default() });
    let ChangeResult::Conversation(first) = commit(store, tagged()).await.results.remove(0) else {
        panic!("a conversation is made")
    };
    for _ in 0..20 {
        assert_eq!(list().await.expect("readable").conversations.len(), 1);
    }
    let trashed = ConversationPatch { status: Some(ConversationStatus::Trashed), ..ConversationPatch::default() };
    patch(store, first, trashed).await;
    commit(store, Change::Purge { conversation: first }).await;
    commit(store, tagged()).await;
    for _ in 0..20 {
        assert_eq!(list().await.expect("readable").conversations.len(), 1);
    }
}

pub async fn an_undo_leaves_a_memory_without_its_purged_conversation(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let memory = |conversation, text: &str| Memory {
        id: MemoryId::from_bytes([7; 16]),
        collection: "c".to_owned(),
        project: None,
        conversation,
        message: None,
        external: None,
        text: text.to_owned(),
        metadata: None,
    };
    commit(store, Change::PutMemory { memory: memory(Some(conversation), "old") }).await;
    commit(store, Change::PutMemory { memory: memory(None, "new") }).await;
    trash(store, conversation).await;
    purge(store, conversation).await;
    undo(store, UndoScope::Workspace).await;
    assert_eq!(store.memories(MemoriesQuery::default()).await.expect("readable"), [memory(None, "old")]);
    sound(store).await;
}

pub async fn what_was_taken_from_a_purged_conversation_is_still_counted(store: &dyn Store) {
    let old = conversation(store, "old").await;
    let ids = say(store, old, &["one", "two words", "and three words"]).await;
    let (new, branch) = (conversation(store, "new").await, id(BranchId::new));
    let open = Change::OpenBranch {
        conversation: new,
        branch,
        base: None,
        own: Vec::new(),
        pieces: vec![MessageRange { first: ids[1], last: ids[2] }],
        why: BranchReason::Import,
        origins: Vec::new(),
    };
    commit(store, open).await;
    trash(store, old).await;
    purge(store, old).await;
    commit(store, Change::MoveHead { conversation: new, to: HeadTarget::End(branch) }).await;
    counts_hold(store, new).await;
    let found = store.messages(MessagesQuery::Ids(ids)).await.expect("readable");
    assert!(found.is_empty(), "nothing shows what was purged");
    sound(store).await;
}

pub async fn a_stream_ends_where_a_purged_conversation_forked_behind_it(store: &dyn Store) {
    let (a, mut stream) = (conversation(store, "a").await, message("assistant", ""));
    stream.content.status = MessageStatus::Streaming;
    let told = stream.id;
    commit(store, append(a, vec![stream])).await;
    let (b, between) = forked(store, first_branch(store, a).await, told, "x").await;
    let taken = path(store, b, None).await[1].id;
    say(store, b, &["that nobody took"]).await;
    commit(store, splice(b, instead_of(taken, taken), &["instead"])).await;
    let (c, _) = forked(store, between, taken, "y").await;
    trash(store, b).await;
    purge(store, b).await;
    let finish = Finish {
        status: MessageStatus::Complete,
        body: Some(Body::of(&[Part::text("told")])),
        tokens: Some(9),
        usage: None,
    };
    commit(store, Change::FinishMessage { message: told, finish }).await;
    assert_eq!(texts(store, c).await, ["told", "x", "y"]);
    for conversation in [a, c] {
        counts_hold(store, conversation).await;
    }
    let open = Change::OpenBranch {
        conversation: a,
        branch: id(BranchId::new),
        base: Some(BranchBase { parent: between, fork: Some(taken) }),
        own: Vec::new(),
        pieces: Vec::new(),
        why: BranchReason::Fork,
        origins: Vec::new(),
    };
    refused(store, open, "not_found").await;
    sound(store).await;
}
