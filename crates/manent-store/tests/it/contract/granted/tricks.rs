//! Tricks: ways around a check that others have left open.

use super::*;

fn both(first: Change, second: Change) -> Transaction {
    Transaction { changes: vec![first.clone(), second], ..Transaction::of(at(1), first) }
}

fn edit(id: ConversationId) -> Change {
    let patch = ConversationPatch { title: Some("taken over".to_owned()), ..ConversationPatch::default() };
    Change::EditConversation { id, patch }
}

/// What is expected is not asked again where a retry finds its messages stored; what is claimed is.
pub async fn a_retry_does_not_open_the_door(whole: &Whole) {
    let world = World::new(whole).await;
    let ann = granted(whole, user("ann"));
    let said = append(world.own.conversation, vec![message("user", "said")]);
    commit(&*ann, said.clone()).await;
    commit(&*ann, said.clone()).await;
    refused_as(ann.commit(both(said, edit(world.other.conversation))).await, "not_found");
    assert_ne!(shown(&**whole, world.other.conversation).await.title, "taken over");
}

/// To make a conversation that is there is a retry; that does not make it one's own.
pub async fn making_what_is_there_does_not_make_it_ones_own(whole: &Whole) {
    let world = World::new(whole).await;
    let ann = granted(whole, user("ann"));
    for outside in [world.other.conversation, world.loose] {
        let external_id = shown(&**whole, outside).await.external_id;
        let draft = ConversationDraft { external_id, ..ConversationDraft::default() };
        let make = Change::CreateConversation { id: outside, branch: id(BranchId::new), draft, importing: false };
        refused_as(ann.commit(both(make, edit(outside))).await, "exists");
        assert_ne!(shown(&**whole, outside).await.title, "taken over");
    }
}

/// The id of a branch that is to be opened is given where none may be opened in the end.
pub async fn naming_a_branch_does_not_make_it_ones_own(whole: &Whole) {
    let world = World::new(whole).await;
    let ann = granted(whole, user("ann"));
    let (own, branch) = (world.own.conversation, world.other.branch);
    let take = |fork: Option<MessageId>| Change::OpenBranch {
        conversation: own,
        branch: id(BranchId::new),
        base: Some(BranchBase { parent: branch, fork }),
        own: Vec::new(),
        pieces: Vec::new(),
        why: BranchReason::Fork,
        origins: Vec::new(),
    };
    let at_place = |at: MessageAt, messages: Vec<NewMessage>| Change::AppendMessages {
        conversation: own,
        at,
        head: HeadMove::Stay,
        why: BranchReason::Fork,
        messages,
        origins: Vec::new(),
    };
    let said = vec![message("user", "said")];
    // The head is at an end, so an append there opens no branch, whatever id is given for one.
    commit(&*ann, append(own, said.clone())).await;
    let draft = ConversationDraft { external_id: Some(format!("external {own}")), ..ConversationDraft::default() };
    let openings = [
        at_place(MessageAt::Head { branch }, vec![message("user", "new")]),
        at_place(MessageAt::After { message: Some(world.own.first), branch }, said.clone()),
        at_place(MessageAt::InsteadOf { message: world.own.first, branch }, said.clone()),
        Change::OpenBranch {
            conversation: own,
            branch,
            base: None,
            own: said.clone(),
            pieces: Vec::new(),
            why: BranchReason::Fork,
            origins: Vec::new(),
        },
        Change::Splice {
            conversation: own,
            branch,
            at: SplicePosition::After(None),
            messages: said,
            origins: Vec::new(),
        },
        Change::CreateConversation { id: own, branch, draft, importing: false },
        Change::MoveHead { conversation: own, to: HeadTarget::Empty(branch) },
    ];
    for opening in openings {
        for fork in [None, Some(world.other.first)] {
            let outcome = ann.commit(both(opening.clone(), take(fork))).await;
            let error = outcome.expect_err("it must be refused");
            assert!(matches!(error.code(), "exists" | "not_found"), "{opening:?}: {error}");
        }
        refused_as(try_commit(&*ann, opening).await, "exists");
    }
    assert_eq!(ann.branches(own).await.expect("readable").len(), 1);
}

/// Ids that are already taken make nothing one's own, whatever is named behind them.
pub async fn an_id_that_is_taken_makes_nothing_ones_own(whole: &Whole) {
    let world = World::new(whole).await;
    let ann = granted(whole, user("ann"));
    let (own, other) = (&world.own, &world.other);
    let conversation = own.conversation;
    let fold = NewFold {
        id: other.fold,
        after: own.second,
        kind: FoldKind::Drop,
        covers: vec![],
        summary: None,
        parent: None,
        made_by: None,
    };
    let stolen = NewMessage { id: other.first, ..message("user", "mine now") };
    let note = |id, message| Change::AddNote { id, message, kind: "k".to_owned(), value: json("1") };
    let pairs = [
        (note(other.note, own.first), Change::RemoveNote { id: other.note }),
        (Change::AddFold { conversation, fold }, Change::SetFoldActive { fold: other.fold, active: false }),
        (
            Change::PutInput { conversation, id: other.input, body: json("1") },
            Change::TakeInputs { conversation, ids: vec![other.input] },
        ),
        (append(conversation, vec![stolen.clone()]), note(id(NoteId::new), other.first)),
        (
            append(conversation, vec![stolen]),
            Change::FinishMessage {
                message: other.first,
                finish: Finish {
                    status: MessageStatus::Complete,
                    body: Some(Body::of(&[])),
                    tokens: None,
                    usage: None,
                },
            },
        ),
    ];
    let before = whole.annotations(other.conversation.into()).await.expect("readable");
    for (first, second) in pairs {
        refused_as(ann.commit(both(first, second)).await, "exists");
    }
    assert_eq!(whole.annotations(other.conversation.into()).await.expect("readable"), before);
}

/// One commit may touch several conversations; a key that can see only some of them cannot undo it.
pub async fn a_commit_is_taken_back_only_by_those_who_reach_all_of_it(whole: &Whole) {
    let world = World::new(whole).await;
    let ann = granted(whole, user("ann"));
    let together = both(edit(world.own.conversation), edit(world.other.conversation));
    let committed = whole.commit(together).await.expect("allowed");
    let step = |step| Change::Step { scope: UndoScope::Conversation(world.own.conversation), step };
    refused(&*ann, Change::Undo { position: committed.first }, "cannot_undo").await;
    refused(&*ann, step(UndoDirection::Undo), "cannot_undo").await;
    assert_eq!(shown(&**whole, world.other.conversation).await.title, "taken over");
    commit(&**whole, Change::Undo { position: committed.first }).await;
    refused(&*ann, step(UndoDirection::Redo), "cannot_undo").await;
    // With what belongs to no conversation it is the same.
    let memory = Memory {
        id: id(MemoryId::new),
        collection: "c".to_owned(),
        project: None,
        conversation: Some(world.own.conversation),
        message: None,
        external: None,
        text: "t".to_owned(),
        metadata: None,
    };
    let beside = both(edit(world.own.conversation), Change::PutMemory { memory });
    ann.commit(beside).await.expect("allowed");
    refused(&*ann, step(UndoDirection::Undo), "cannot_undo").await;
}

pub async fn one_takes_back_and_does_again_what_is_ones_own(whole: &Whole) {
    let world = World::new(whole).await;
    let ann = granted(whole, user("ann"));
    let conversation = talk(whole, "ann", &[], None).await;
    let step = |step| Change::Step { scope: UndoScope::Conversation(conversation), step };
    let edited = commit(&*ann, edit(conversation)).await;
    commit(&*ann, Change::Undo { position: edited.first }).await;
    assert_eq!(shown(&*ann, conversation).await.title, "of ann");
    // The conversation itself is taken back only by its position, and comes again.
    refused(&*ann, step(UndoDirection::Undo), "nothing_to_undo").await;
    uncreate(&*ann, conversation).await;
    assert_eq!(ann.conversation(ConversationRef::Id(conversation)).await.expect("readable"), None);
    refused(&*ann, step(UndoDirection::Undo), "nothing_to_undo").await;
    let scope = UndoScope::Conversation(conversation);
    assert!(ann.undo_target(scope, UndoDirection::Redo).await.expect("it was hers").is_some());
    refused(&*granted(whole, user("bob")), step(UndoDirection::Redo), "not_found").await;
    commit(&*ann, step(UndoDirection::Redo)).await;
    commit(&*ann, step(UndoDirection::Redo)).await;
    assert_eq!(shown(&*ann, conversation).await.title, "taken over");
    refused(&*ann, Change::Undo { position: world.other.position }, "cannot_undo").await;
    refused(&*ann, Change::Undo { position: 1_000_000_000 }, "cannot_undo").await;
}

/// A fork shows the messages before it; state that is set there afterwards is visible only to keys that see the first
/// conversation.
pub async fn state_that_is_set_after_a_fork_does_not_cross_it(whole: &Whole) {
    let (private, fork) = (talk(whole, "bob", &[], None).await, talk(whole, "bob", &["ann"], None).await);
    let ids = say(&**whole, private, &["one", "two"]).await;
    let parent = whole.branches(private).await.expect("readable")[0].id;
    let branch = id(BranchId::new);
    let open = Change::OpenBranch {
        conversation: fork,
        branch,
        base: Some(BranchBase { parent, fork: Some(ids[1]) }),
        own: Vec::new(),
        pieces: Vec::new(),
        why: BranchReason::Fork,
        origins: Vec::new(),
    };
    commit(&**whole, open).await;
    commit(&**whole, Change::MoveHead { conversation: fork, to: HeadTarget::End(branch) }).await;
    let set = async |conversation, name: &str, after, value: &str| {
        let (name, value) = (name.to_owned(), Some(json(value)));
        commit(&**whole, Change::SetState { conversation, name, after, value }).await;
    };
    set(private, "later", Some(ids[0]), "\"secret\"").await;
    set(private, "start", None, "\"secret\"").await;
    set(fork, "own", Some(ids[0]), "\"shown\"").await;
    let ann = granted(whole, user("ann"));
    let read = async |store: &dyn Store, name: &str| {
        store.state(fork, name.to_owned(), None).await.expect("readable").map(|value| value.text().to_owned())
    };
    assert_eq!(read(&*ann, "own").await.as_deref(), Some("\"shown\""));
    for name in ["later", "start"] {
        assert_eq!(read(&*ann, name).await, None, "{name}");
        assert_eq!(read(&*granted(whole, user("bob")), name).await.as_deref(), Some("\"secret\""), "{name}");
    }
}

/// Messages of a key are by its user: erasing the user erases them, and no other author is possible.
pub async fn what_a_key_says_is_said_by_its_user(whole: &Whole) {
    let shared = talk(whole, "bob", &["ann"], None).await;
    let ann = granted(whole, user("ann"));
    commit(&*ann, append(shared, vec![message("user", "hers"), message("assistant", "its")])).await;
    let mut as_bob = message("user", "his?");
    as_bob.content.author = Some(author("bob"));
    for role in ["user", "User", "human", "guest"] {
        let mut as_bob = message(role, "his?");
        as_bob.content.author = Some(author("bob"));
        refused_as(ann.commit(Transaction::of(at(1), append(shared, vec![as_bob]))).await, "forbidden");
    }
    commit(&*granted(whole, user("bob")), append(shared, vec![as_bob])).await;
    let authors: Vec<Option<String>> = path(&**whole, shared, None)
        .await
        .into_iter()
        .map(|said| said.content.author.map(|author| author.id))
        .collect();
    assert_eq!(authors, [Some("ann".to_owned()), None, Some("bob".to_owned())]);
}
