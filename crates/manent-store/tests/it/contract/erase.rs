//! Erase: content goes everywhere, a receipt says what went, and nothing brings it back.

use crate::kit::*;
use manent_model::*;
use manent_store::*;

/// Erases step by step and adds the receipts up.
pub async fn erase(store: &dyn Store, target: EraseTarget) -> Receipt {
    let mut sum = Receipt::default();
    for _ in 0..100 {
        let done = commit(store, Change::Erase { target: target.clone() }).await.results.remove(0);
        let ChangeResult::Erased(receipt) = done else { panic!("an erasure answers with a receipt: {done:?}") };
        sum.messages += receipt.messages;
        sum.conversations += receipt.conversations;
        sum.annotations += receipt.annotations;
        sum.scratch += receipt.scratch;
        sum.journal += receipt.journal;
        sum.at = receipt.at;
        if receipt.finished {
            return Receipt { finished: true, ..sum };
        }
        sound(store).await;
    }
    panic!("an erasure ends");
}

async fn rename(store: &dyn Store, conversation: ConversationId, title: &str) {
    patch(store, conversation, ConversationPatch { title: Some(title.to_owned()), ..Default::default() }).await;
}

pub async fn an_erased_message_leaves_only_its_place(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "secret", "c"]).await;
    let note =
        |message: MessageId| Change::AddNote { id: id(NoteId::new), message, kind: "k".to_owned(), value: json("1") };
    commit(store, note(ids[1])).await;
    commit(store, note(ids[2])).await;
    let fold = |first: MessageId, last: MessageId| NewFold {
        id: id(FoldId::new),
        after: ids[2],
        kind: FoldKind::Summary,
        covers: vec![MessageRange { first, last }],
        summary: Some("about the secret".to_owned()),
        parent: None,
        made_by: None,
    };
    commit(store, Change::AddFold { conversation, fold: fold(ids[0], ids[1]) }).await;
    let kept = fold(ids[2], ids[2]);
    commit(store, Change::AddFold { conversation, fold: kept.clone() }).await;
    commit(store, splice(conversation, instead_of(ids[0], ids[0]), &["A"])).await;
    let receipt = erase(store, EraseTarget::Message(ids[1])).await;
    assert_eq!((receipt.messages, receipt.conversations, receipt.annotations, receipt.at), (1, 0, 2, at(1)));
    assert_eq!(texts(store, conversation).await, ["A", "", "c"]);
    let erased = &path(store, conversation, None).await[1];
    assert!(erased.erased && erased.id == ids[1]);
    let left = store.annotations(conversation.into()).await.expect("readable");
    assert_eq!((left.notes.len(), left.notes[0].message), (1, ids[2]));
    assert_eq!(left.folds.iter().map(|fold| fold.id).collect::<Vec<_>>(), [kept.id]);
    let report = sound(store).await;
    assert_eq!((report.erased, report.messages), (1, 3));
    assert_eq!(erase(store, EraseTarget::Message(ids[1])).await.messages, 0, "again is a retry");
    refused(store, Change::Erase { target: EraseTarget::Message(id(MessageId::new)) }, "not_found").await;
}

pub async fn nothing_before_an_erasure_can_be_undone(store: &dyn Store) {
    let conversation = conversation(store, "old secret").await;
    let ids = say(store, conversation, &["a", "secret"]).await;
    let patched = ConversationPatch { title: Some("new".to_owned()), ..Default::default() };
    let renamed = commit(store, Change::EditConversation { id: conversation, patch: patched }).await;
    let receipt = erase(store, EraseTarget::Message(ids[1])).await;
    assert_eq!(receipt.journal, 3, "what the journal kept of the conversation goes as well");
    let scope = UndoScope::Conversation(conversation);
    assert_eq!(store.undo_target(scope.clone(), UndoDirection::Undo).await.expect("readable"), None);
    assert_eq!(store.undo_target(UndoScope::Everything, UndoDirection::Undo).await.expect("readable"), None);
    refused(store, Change::Undo { position: renamed.first }, "cannot_undo").await;
    say(store, conversation, &["after"]).await;
    undo(store, scope).await;
    assert_eq!(texts(store, conversation).await, ["a", ""]);
    sound(store).await;
}

pub async fn an_erased_conversation_is_gone_with_what_came_from_it(store: &dyn Store) {
    let a = conversation(store, "a").await;
    let ids = say(store, a, &["a", "b"]).await;
    let b = conversation(store, "b").await;
    let branch = id(BranchId::new);
    let parent = store.branches(a).await.expect("readable")[0].id;
    let open = Change::OpenBranch {
        conversation: b,
        branch,
        base: Some(BranchBase { parent, fork: Some(ids[0]) }),
        own: vec![message("user", "x")],
        pieces: Vec::new(),
        why: BranchReason::Fork,
        origins: Vec::new(),
    };
    commit(store, open).await;
    commit(store, Change::MoveHead { conversation: b, to: HeadTarget::End(branch) }).await;
    let memory = |conversation: ConversationId| Memory {
        id: id(MemoryId::new),
        collection: "c".to_owned(),
        project: None,
        conversation: Some(conversation),
        message: None,
        external: None,
        text: "t".to_owned(),
        metadata: None,
    };
    let kept = memory(b);
    commit(store, Change::PutMemory { memory: memory(a) }).await;
    commit(store, Change::PutMemory { memory: kept.clone() }).await;
    let draft = |about: ConversationId| Scratch {
        kind: "draft".to_owned(),
        id: about.to_string(),
        actor: String::new(),
        body: json("\"typed\""),
        at: at(1),
    };
    commit(store, Change::PutScratch { scratch: draft(a) }).await;
    commit(store, Change::PutScratch { scratch: draft(b) }).await;
    rename(store, a, "never mind").await;
    let receipt = erase(store, EraseTarget::Conversation(a)).await;
    assert_eq!((receipt.messages, receipt.conversations, receipt.annotations, receipt.scratch), (2, 1, 1, 1));
    assert_eq!(store.conversation(ConversationRef::Id(a)).await.expect("readable"), None);
    assert_eq!(texts(store, b).await, ["", "x"], "the content goes on every path");
    let memories = store.memories(MemoriesQuery { limit: 9, ..Default::default() }).await.expect("readable");
    assert_eq!(memories, [kept]);
    assert_eq!(store.scratch(ScratchQuery::default()).await.expect("readable"), [draft(b)]);
    assert_eq!(sound(store).await.erased, 1);
    refused(store, Change::Erase { target: EraseTarget::Conversation(id(ConversationId::new)) }, "not_found").await;
}

pub async fn everything_an_author_wrote_is_erased(store: &dyn Store) {
    let author = |id: &str, name: &str| Author { id: id.to_owned(), name: name.to_owned() };
    let draft = ConversationDraft {
        creator: Some(author("ann", "Ann")),
        members: vec![author("ann", "Ann"), author("bob", "Bob")],
        ..Default::default()
    };
    let conversation = id(ConversationId::new);
    let create = Change::CreateConversation { id: conversation, branch: id(BranchId::new), draft, importing: false };
    commit(store, create).await;
    let by = |who: &Author, text: &str| {
        let mut message = message("user", text);
        message.content.author = Some(who.clone());
        message
    };
    let bob = author("bob", "Bob");
    let messages = vec![by(&author("ann", "Ann"), "a"), by(&bob, "b"), by(&author("ann", "Annie"), "c")];
    let about = messages[1].id;
    commit(store, append(conversation, messages)).await;
    let many: Vec<NewMessage> = (0..700).map(|_| by(&author("ann", "Ann"), "x")).collect();
    commit(store, append(conversation, many)).await;
    let note = Change::AddNote { id: id(NoteId::new), message: about, kind: "k".to_owned(), value: json("1") };
    let transaction = Transaction { actor: Some(author("ann", "Ann")), ..Transaction::of(at(1), note) };
    store.commit(transaction).await.expect("it may");
    let receipt = erase(store, EraseTarget::Person("ann".to_owned())).await;
    assert_eq!((receipt.messages, receipt.annotations), (702, 2), "a note and a membership");
    let left: Vec<String> = texts(store, conversation).await.into_iter().filter(|text| !text.is_empty()).collect();
    assert_eq!(left, ["b"]);
    let now = shown(store, conversation).await;
    assert_eq!(now.members, std::slice::from_ref(&bob));
    assert!(now.creator.is_none_or(|creator| creator.id != "ann" && creator.name.is_empty()));
    assert_eq!(store.annotations(conversation.into()).await.expect("readable").notes, []);
    let creator = Some("ann".to_owned());
    let list = store.conversations(ListQuery { creator, limit: 9, ..Default::default() }).await.expect("readable");
    assert_eq!(list.conversations, []);
    assert_eq!(path(store, conversation, None).await[1].content.author, Some(bob));
    let report = sound(store).await;
    assert_eq!((report.erased, report.messages), (702, 1));
    refused(store, Change::Erase { target: EraseTarget::Person("nobody".to_owned()) }, "not_found").await;
}

pub async fn an_erased_stream_is_over(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let mut message = message("assistant", "");
    message.content.status = MessageStatus::Streaming;
    let message_id = message.id;
    commit(store, append(conversation, vec![message])).await;
    commit(store, Change::AppendChunk { message: message_id, delta: "secret".to_owned() }).await;
    erase(store, EraseTarget::Message(message_id)).await;
    assert_eq!(store.annotations(conversation.into()).await.expect("readable").streams, []);
    refused(store, Change::AppendChunk { message: message_id, delta: "more".to_owned() }, "not_streaming").await;
    let finish = Finish {
        status: MessageStatus::Complete,
        body: Some(Body::of(&[Part::text("secret")])),
        tokens: None,
        usage: None,
    };
    refused(store, Change::FinishMessage { message: message_id, finish }, "not_streaming").await;
    assert_eq!(texts(store, conversation).await, [""]);
    assert_eq!(sound(store).await.erased, 1);
}

fn memory_of(message: MessageId) -> Memory {
    Memory { message: Some(message), ..memory("about the secret") }
}

pub fn by(author: &Author, text: &str) -> NewMessage {
    let mut said = message("user", text);
    said.content.author = Some(author.clone());
    said
}

pub async fn words_that_look_erased_do_not_stand_in_the_way(store: &dyn Store) {
    let tagged = |tags: Vec<String>| {
        let draft = ConversationDraft { tags: tags.into_iter().collect(), ..ConversationDraft::default() };
        Change::CreateConversation { id: id(ConversationId::new), branch: id(BranchId::new), draft, importing: false }
    };
    let ChangeResult::Conversation(secret) = commit(store, tagged(vec!["secret".to_owned()])).await.results.remove(0)
    else {
        panic!("a conversation is made")
    };
    commit(store, tagged((0..20).map(|number| format!("erased:{number}")).collect())).await;
    erase(store, EraseTarget::Conversation(secret)).await;
    let other = conversation(store, "a").await;
    let author = Author { id: "alice".to_owned(), name: "Alice".to_owned() };
    commit(store, append(other, vec![by(&author, "hers")])).await;
    for number in 0..20 {
        let author = Author { id: format!("erased:{number}"), name: String::new() };
        commit(store, append(other, vec![by(&author, "theirs")])).await;
    }
    assert_eq!(erase(store, EraseTarget::Person("alice".to_owned())).await.messages, 1);
}

pub async fn an_erased_author_is_no_member_and_was_none(store: &dyn Store) {
    let author = Author { id: "domain\\\"alice".to_owned(), name: "Alice".to_owned() };
    let (now, once) = (conversation(store, "now").await, conversation(store, "once").await);
    commit(store, append(now, vec![by(&author, "hers")])).await;
    let members = |members: Vec<Author>| ConversationPatch { members: Some(members), ..ConversationPatch::default() };
    patch(store, now, members(vec![author.clone()])).await;
    patch(store, once, members(vec![author.clone()])).await;
    patch(store, once, members(Vec::new())).await;
    rename(store, once, "renamed").await;
    erase(store, EraseTarget::Person(author.id.clone())).await;
    assert_eq!(shown(store, now).await.members, []);
    undo(store, UndoScope::Conversation(once)).await;
    assert_eq!(shown(store, once).await.title, "once");
    while let Some(position) =
        store.undo_target(UndoScope::Conversation(once), UndoDirection::Undo).await.expect("readable")
    {
        commit(store, Change::Undo { position }).await;
        if let Some(once) = store.conversation(ConversationRef::Id(once)).await.expect("readable") {
            assert_eq!(once.members, []);
        }
    }
    sound(store).await;
}

pub async fn an_author_without_messages_can_be_erased(store: &dyn Store) {
    let author = |id: &str| Author { id: id.to_owned(), name: "Alice".to_owned() };
    let members = |members: Vec<Author>| ConversationPatch { members: Some(members), ..ConversationPatch::default() };
    // More conversations that have the letter in them than one step looks at, and a member behind all of them.
    for number in 0..520 {
        let people = if number >= 515 { vec![author("a"), author("bob")] } else { vec![author("bob"), author("eva")] };
        let draft = ConversationDraft { members: people, ..ConversationDraft::default() };
        let (id, branch) = (id(ConversationId::new), id(BranchId::new));
        commit(store, Change::CreateConversation { id, branch, draft, importing: false }).await;
    }
    let receipt = erase(store, EraseTarget::Person("a".to_owned())).await;
    assert_eq!((receipt.finished, receipt.annotations), (true, 5));
    let page = store.conversations(ListQuery { limit: 500, ..Default::default() }).await.expect("readable");
    assert!(page.conversations.iter().all(|found| found.members.iter().all(|member| member.id != "a")));
    refused(store, Change::Erase { target: EraseTarget::Person("a".to_owned()) }, "not_found").await;
    // One step is not enough for her, and nothing but her memberships is known of her.
    assert_eq!(erase(store, EraseTarget::Person("eva".to_owned())).await.annotations, 515);
    // One person was a member once, and one left only a draft.
    let many = conversation(store, "many").await;
    patch(store, many, members(vec![author("once")])).await;
    patch(store, many, members(Vec::new())).await;
    let receipt = erase(store, EraseTarget::Person("once".to_owned())).await;
    assert_eq!((receipt.annotations, receipt.journal), (0, 1));
    let (kind, actor) = ("draft".to_owned(), "drafts".to_owned());
    let scratch = Scratch { kind, id: many.to_string(), actor, body: json("\"typed\""), at: at(1) };
    commit(store, Change::PutScratch { scratch }).await;
    assert_eq!(erase(store, EraseTarget::Person("drafts".to_owned())).await.scratch, 1);
    sound(store).await;
}

pub async fn an_erasure_reaches_what_forks_made_of_a_message(store: &dyn Store) {
    let parent = conversation(store, "parent").await;
    let ids = say(store, parent, &["a", "secret"]).await;
    let base = store.branches(parent).await.expect("readable")[0].id;
    let (child, branch) = (conversation(store, "child").await, id(BranchId::new));
    let open = Change::OpenBranch {
        conversation: child,
        branch,
        base: Some(BranchBase { parent: base, fork: Some(ids[1]) }),
        own: Vec::new(),
        pieces: Vec::new(),
        why: BranchReason::Fork,
        origins: Vec::new(),
    };
    commit(store, open).await;
    commit(store, Change::MoveHead { conversation: child, to: HeadTarget::End(branch) }).await;
    say(store, child, &["b"]).await;
    let fold = NewFold {
        id: id(FoldId::new),
        after: ids[1],
        kind: FoldKind::Summary,
        covers: vec![MessageRange { first: ids[0], last: ids[1] }],
        summary: Some("about the secret".to_owned()),
        parent: None,
        made_by: None,
    };
    commit(store, Change::AddFold { conversation: child, fold }).await;
    let state = |name: &str, after| Change::SetState {
        conversation: child,
        name: name.to_owned(),
        after: Some(after),
        value: Some(json("1")),
    };
    commit(store, state("s", ids[1])).await;
    erase(store, EraseTarget::Message(ids[1])).await;
    let left = store.annotations(child.into()).await.expect("readable");
    assert_eq!((left.folds.len(), left.states.len()), (0, 0));
    // What comes next may get the numbers of what went; undo must not take the one for the other.
    commit(store, state("t", ids[0])).await;
    undo(store, UndoScope::Conversation(child)).await;
    redo(store, UndoScope::Conversation(child)).await;
    undo(store, UndoScope::Conversation(child)).await;
    undo(store, UndoScope::Conversation(child)).await;
    assert_eq!(texts(store, child).await, ["a", ""]);
    sound(store).await;
}

pub async fn undo_goes_on_beside_what_was_erased(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["secret"]).await;
    let document = |id: &str| Change::PutDocument {
        kind: "k".to_owned(),
        id: id.to_owned(),
        project: None,
        body: Some(json("1")),
    };
    commit(store, document("a")).await;
    commit(store, Change::PutMemory { memory: memory_of(ids[0]) }).await;
    erase(store, EraseTarget::Message(ids[0])).await;
    undo(store, UndoScope::Workspace).await;
    assert_eq!(store.documents(DocumentsQuery::All).await.expect("readable"), []);
    sound(store).await;
}

pub async fn an_erased_conversation_takes_along_what_only_its_messages_are_named_by(store: &dyn Store) {
    let erased = conversation(store, "a").await;
    let ids = say(store, erased, &["secret"]).await;
    commit(store, Change::PutMemory { memory: memory_of(ids[0]) }).await;
    let source = Source {
        id: id(SourceId::new),
        format: "f".to_owned(),
        generation: "1".to_owned(),
        path: "p".to_owned(),
        sha256: String::new(),
        style: json("1"),
        at: at(0),
    };
    commit(store, Change::PutSource { source: source.clone() }).await;
    let origin = Origin {
        object: OriginObject::Message(ids[0]),
        source: source.id,
        ordinal: 0,
        external: None,
        raw: Some("secret".to_owned()),
    };
    commit(store, Change::PutOrigin { origin }).await;
    erase(store, EraseTarget::Conversation(erased)).await;
    let memories = MemoriesQuery { limit: 10, ..MemoriesQuery::default() };
    assert_eq!(store.memories(memories).await.expect("readable"), []);
    assert_eq!(store.origins(OriginsQuery::Source(source.id)).await.expect("readable"), []);
}

pub async fn what_was_taken_back_can_be_erased(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let message = say(store, conversation, &["secret"]).await[0];
    undo(store, UndoScope::Conversation(conversation)).await;
    undo(store, UndoScope::Conversation(conversation)).await;
    commit(store, Change::Erase { target: EraseTarget::Message(message) }).await;
    sound(store).await;
}
