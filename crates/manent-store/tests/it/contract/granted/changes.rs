//! Changes: whatever they name must be within, and what is not answers as what never was.

use super::*;

/// A change of the caller that references one object of another user.
type Naming = fn(&Things, &Things) -> Change;

fn after(conversation: ConversationId, at: MessageAt) -> Change {
    Change::AppendMessages {
        conversation,
        at,
        head: HeadMove::Follow,
        why: BranchReason::Fork,
        messages: vec![message("user", "more")],
        origins: Vec::new(),
    }
}

fn replying(conversation: ConversationId, to: MessageId) -> Vec<NewMessage> {
    let mut reply = message("user", &format!("in {conversation}"));
    reply.content.reply_to = Some(to);
    vec![reply]
}

fn open(own: &Things, base: Option<BranchBase>, pieces: Vec<MessageRange>, messages: Vec<NewMessage>) -> Change {
    let (conversation, branch) = (own.conversation, id(BranchId::new));
    Change::OpenBranch {
        conversation,
        branch,
        base,
        own: messages,
        pieces,
        why: BranchReason::Fork,
        origins: Vec::new(),
    }
}

fn fold(own: &Things, after: MessageId, covers: MessageRange, parent: Option<FoldId>) -> Change {
    let (id, kind, summary) = (id(FoldId::new), FoldKind::Drop, None);
    let fold = NewFold { id, after, kind, covers: vec![covers], summary, parent, made_by: None };
    Change::AddFold { conversation: own.conversation, fold }
}

fn call(conversation: ConversationId, after: Option<MessageId>, sent: Vec<MessageRange>) -> Change {
    let call = Call {
        id: id(CallId::new),
        after,
        model: None,
        outcome: CallOutcome::Answered,
        tokens_in: None,
        tokens_out: None,
        cost_micros: None,
        sent,
        manifest: None,
        at: at(1),
    };
    Change::RecordCall { conversation, call }
}

fn tool_call(message: MessageId) -> ToolCall {
    let (call_id, name) = ("c".to_owned(), "n".to_owned());
    ToolCall { message, part: 1, call_id, name, state: ToolState::Pending, record: json("1") }
}

fn remembered(conversation: Option<ConversationId>, message: Option<MessageId>, project: Option<ProjectId>) -> Change {
    let memory = Memory {
        id: id(MemoryId::new),
        collection: "c".to_owned(),
        project,
        conversation,
        message,
        external: None,
        text: "t".to_owned(),
        metadata: None,
    };
    Change::PutMemory { memory }
}

fn create(draft: ConversationDraft) -> Change {
    Change::CreateConversation { id: id(ConversationId::new), branch: id(BranchId::new), draft, importing: false }
}

fn scratch(conversation: ConversationId) -> Change {
    let (kind, id, actor) = ("draft".to_owned(), conversation.to_string(), String::new());
    Change::PutScratch { scratch: Scratch { kind, id, actor, body: json("1"), at: at(1) } }
}

fn edit(id: ConversationId, patch: ConversationPatch) -> Change {
    Change::EditConversation { id, patch }
}

fn stretch(things: &Things) -> MessageRange {
    MessageRange { first: things.first, last: things.second }
}

/// Every place where a change names something.
const NAMING: &[(&str, Naming)] = &[
    ("continued from", |_, named| {
        create(ConversationDraft { continued_from: Some(named.conversation), ..ConversationDraft::default() })
    }),
    ("forked from", |_, named| {
        create(ConversationDraft { forked_from: Some(named.conversation), ..ConversationDraft::default() })
    }),
    ("made in a project", |_, named| {
        create(ConversationDraft { project: Some(named.project), ..ConversationDraft::default() })
    }),
    ("edit", |_, named| edit(named.conversation, ConversationPatch { pinned: Some(false), ..Default::default() })),
    ("project", |own, named| {
        edit(own.conversation, ConversationPatch { project: Some(Some(named.project)), ..Default::default() })
    }),
    ("append", |_, named| append(named.conversation, vec![message("user", "more")])),
    ("append after", |own, named| {
        after(own.conversation, MessageAt::After { message: Some(named.first), branch: id(BranchId::new) })
    }),
    ("append instead", |own, named| {
        after(own.conversation, MessageAt::InsteadOf { message: named.first, branch: id(BranchId::new) })
    }),
    ("append to a branch", |own, named| after(own.conversation, MessageAt::Branch { branch: named.branch })),
    ("reply", |own, named| append(own.conversation, replying(own.conversation, named.first))),
    ("chunk", |_, named| Change::AppendChunk { message: named.stream, delta: "more".to_owned() }),
    ("finish", |_, named| {
        let body = Body::of(&[Part::text("done")]);
        let finish = Finish { status: MessageStatus::Complete, body: Some(body), tokens: None, usage: None };
        Change::FinishMessage { message: named.stream, finish }
    }),
    ("open", |_, named| open(named, None, Vec::new(), vec![message("user", "own")])),
    ("open from a parent", |own, named| {
        open(own, Some(BranchBase { parent: named.branch, fork: None }), Vec::new(), Vec::new())
    }),
    ("open at a fork", |own, named| {
        open(own, Some(BranchBase { parent: own.branch, fork: Some(named.first) }), Vec::new(), Vec::new())
    }),
    ("open with a piece", |own, named| open(own, None, vec![stretch(named)], Vec::new())),
    ("open with a reply", |own, named| open(own, None, Vec::new(), replying(own.conversation, named.first))),
    ("splice", |_, named| splice(named.conversation, SplicePosition::After(None), &["more"])),
    ("splice after", |own, named| splice(own.conversation, SplicePosition::After(Some(named.first)), &["more"])),
    ("splice instead", |own, named| splice(own.conversation, instead_of(named.first, named.second), &["more"])),
    ("splice a reply", |own, named| {
        let (conversation, branch) = (own.conversation, id(BranchId::new));
        let messages = replying(conversation, named.first);
        Change::Splice { conversation, branch, at: SplicePosition::After(None), messages, origins: Vec::new() }
    }),
    ("clear", |_, named| Change::MoveHead {
        conversation: named.conversation,
        to: HeadTarget::Empty(id(BranchId::new)),
    }),
    ("head to", |own, named| head_to(own.conversation, named.first)),
    ("head to an end", |own, named| Change::MoveHead {
        conversation: own.conversation,
        to: HeadTarget::End(named.branch),
    }),
    ("head on a branch", |own, named| {
        let to = HeadTarget::On { branch: named.branch, message: None };
        Change::MoveHead { conversation: own.conversation, to }
    }),
    ("head on a branch at", |own, named| {
        let to = HeadTarget::On { branch: own.branch, message: Some(named.first) };
        Change::MoveHead { conversation: own.conversation, to }
    }),
    ("note", |_, named| Change::AddNote {
        id: id(NoteId::new),
        message: named.first,
        kind: "k".to_owned(),
        value: json("1"),
    }),
    ("note removed", |_, named| Change::RemoveNote { id: named.note }),
    ("bookmark", |_, named| {
        let (conversation, name) = (named.conversation, "new".to_owned());
        Change::SetBookmark { conversation, name, head: None, metadata: None }
    }),
    ("bookmark at", |own, named| {
        let (conversation, name) = (own.conversation, "new".to_owned());
        Change::SetBookmark { conversation, name, head: Some(named.first), metadata: None }
    }),
    ("bookmark removed", |_, named| Change::RemoveBookmark {
        conversation: named.conversation,
        name: "place".to_owned(),
    }),
    ("state", |_, named| {
        let (conversation, name) = (named.conversation, "plot".to_owned());
        Change::SetState { conversation, name, after: None, value: None }
    }),
    ("state after", |own, named| {
        let (conversation, name) = (own.conversation, "plot".to_owned());
        Change::SetState { conversation, name, after: Some(named.first), value: None }
    }),
    ("fold", |_, named| fold(named, named.second, stretch(named), None)),
    ("fold in", |own, named| {
        let Change::AddFold { fold, .. } = fold(own, own.second, stretch(own), None) else { unreachable!("a fold") };
        Change::AddFold { conversation: named.conversation, fold }
    }),
    ("fold after", |own, named| fold(own, named.second, stretch(own), None)),
    ("fold over", |own, named| fold(own, own.third, stretch(named), None)),
    ("fold of a fold", |own, named| fold(own, own.third, stretch(own), Some(named.fold))),
    ("unfold", |_, named| Change::SetFoldActive { fold: named.fold, active: false }),
    ("tool call", |_, named| Change::PutToolCall { call: tool_call(named.first), note: String::new() }),
    ("tool trail", |_, named| Change::PutToolTrail {
        call: tool_call(named.first),
        steps: Vec::new(),
        instead_of: None,
    }),
    ("tool step", |_, named| {
        let (message, to, note) = (named.third, ToolState::Denied, String::new());
        Change::MoveToolCall { message, part: 0, to, record: None, note }
    }),
    ("events", |_, named| {
        let events = vec![NewEvent { channel: "c".to_owned(), at: at(1), body: json("1") }];
        Change::AppendEvents { conversation: named.conversation, events }
    }),
    ("input", |_, named| Change::PutInput { conversation: named.conversation, id: id(InputId::new), body: json("1") }),
    ("inputs taken", |_, named| Change::TakeInputs { conversation: named.conversation, ids: vec![named.input] }),
    ("input taken", |own, named| Change::TakeInputs { conversation: own.conversation, ids: vec![named.input] }),
    ("lease", |_, named| Change::TakeLease { conversation: named.conversation, owner: "o".to_owned(), until: at(9) }),
    ("call", |_, named| call(named.conversation, None, Vec::new())),
    ("call after", |own, named| call(own.conversation, Some(named.first), Vec::new())),
    ("call of", |own, named| call(own.conversation, Some(own.third), vec![stretch(named)])),
    ("memory of a conversation", |_, named| remembered(Some(named.conversation), None, None)),
    ("memory of a message", |own, named| remembered(Some(own.conversation), Some(named.first), None)),
    ("memory of a project", |own, named| remembered(Some(own.conversation), None, Some(named.project))),
    ("memory removed", |_, named| Change::RemoveMemory { id: named.memory }),
    ("scratch", |_, named| scratch(named.conversation)),
    ("scratch removed", |_, named| {
        let (kind, id, actor) = ("draft".to_owned(), named.conversation.to_string(), String::new());
        Change::RemoveScratch { kind, id, actor }
    }),
    ("undo", |_, named| Change::Undo { position: named.position }),
    ("step", |_, named| Change::Step { scope: UndoScope::Conversation(named.conversation), step: UndoDirection::Undo }),
    ("message erased", |_, named| Change::Erase { target: EraseTarget::Message(named.first) }),
    ("conversation erased", |_, named| Change::Erase { target: EraseTarget::Conversation(named.conversation) }),
];

/// Every place where an expectation names something.
const EXPECTING: &[(&str, fn(&Things, &Things) -> Expect)] = &[
    ("version", |_, named| Expect::Version { conversation: named.conversation, version: 2 }),
    ("head", |own, named| Expect::Head { conversation: own.conversation, head: Some(named.stream) }),
    ("head of", |_, named| Expect::Head { conversation: named.conversation, head: Some(named.stream) }),
    ("an empty path", |_, named| Expect::Head { conversation: named.conversation, head: None }),
    ("project", |_, named| Expect::Project { id: named.project, version: 1 }),
    ("lease", |_, named| Expect::Lease { conversation: named.conversation, token: 1 }),
];

pub async fn what_a_user_names_outside_answers_as_what_never_was(whole: &Whole) {
    named_outside(whole, |_| user("ann")).await;
}

pub async fn what_a_project_key_names_outside_answers_as_what_never_was(whole: &Whole) {
    named_outside(whole, |project| AccessScope { projects: projects(&[project]).projects, user: None }).await;
}

async fn named_outside(whole: &Whole, access: fn(ProjectId) -> AccessScope) {
    let (own_project, other_project) = (project(whole, "own").await, project(whole, "other").await);
    let store = granted(whole, access(own_project));
    let other = Things::of(whole, "bob", other_project).await;
    let never = Things::unknown();
    let mut own = Things::of(whole, "ann", own_project).await;
    let before = *whole.watch_position().borrow();
    for (what, naming) in NAMING {
        let outside = other.refusal(what, try_commit(&*store, naming(&own, &other)).await);
        let unknown = never.refusal(what, try_commit(&*store, naming(&own, &never)).await);
        // What is made anew has other ids of its own; none of these is told.
        assert_eq!(outside, unknown, "{what}");
        assert!(outside.starts_with("not_found") || *what == "undo", "{what}: {outside}");
    }
    for (what, expecting) in EXPECTING {
        let expecting = async |named: &Things| {
            let expect = vec![expecting(&own, named)];
            let change = append(own.conversation, vec![message("user", "expected")]);
            store.commit(Transaction { expect, ..Transaction::of(at(1), change) }).await
        };
        let outside = other.refusal(what, expecting(&other).await);
        assert_eq!(outside, never.refusal(what, expecting(&never).await), "{what}");
        assert!(outside.starts_with("not_found"), "{what}: {outside}");
    }
    assert_eq!(*whole.watch_position().borrow(), before, "nothing came of any of it");
    for (what, naming) in NAMING {
        own = Things::of(whole, "ann", own_project).await;
        let outcome = try_commit(&*store, naming(&own, &own)).await;
        assert!(outcome.is_ok(), "{what} of one's own: {outcome:?}");
    }
    sound(&**whole).await;
}

/// Several names at once: which of them is told does not depend on which of them is there.
pub async fn the_first_name_is_told_whichever_is_there(whole: &Whole) {
    let world = World::new(whole).await;
    let store = granted(whole, user("ann"));
    let never = Things::unknown();
    let both = |first: &Things, second: &Things| {
        let notes = [first.first, second.second].map(|message| Change::AddNote {
            id: id(NoteId::new),
            message,
            kind: "k".to_owned(),
            value: json("1"),
        });
        Transaction { changes: notes.to_vec(), ..Transaction::of(at(1), append(first.conversation, Vec::new())) }
    };
    for second in [&world.other, &never, &world.own] {
        let outside = world.other.refusal("outside", store.commit(both(&world.other, second)).await);
        let unknown = never.refusal("unknown", store.commit(both(&never, second)).await);
        assert_eq!(
            (outside.as_str(), unknown.as_str()),
            ("not_found: no message FIRST", "not_found: no message FIRST")
        );
    }
}

pub async fn what_a_transaction_makes_may_be_named_behind_it(whole: &Whole) {
    let world = World::new(whole).await;
    let store = granted(whole, user("ann"));
    let (conversation, first, branch) = (id(ConversationId::new), id(BranchId::new), id(BranchId::new));
    let (said, note, fold, input, memory) =
        (message("user", "said"), id(NoteId::new), id(FoldId::new), id(InputId::new), id(MemoryId::new));
    let message = said.id;
    let draft = ConversationDraft { forked_from: Some(world.own.conversation), ..ConversationDraft::default() };
    let covers = vec![MessageRange { first: message, last: message }];
    let (summary, parent, made_by) = (None, None, None);
    let new_fold = NewFold { id: fold, after: message, kind: FoldKind::Drop, covers, summary, parent, made_by };
    let remembered = Memory {
        id: memory,
        collection: "c".to_owned(),
        project: None,
        conversation: Some(conversation),
        message: Some(message),
        external: None,
        text: "t".to_owned(),
        metadata: None,
    };
    let changes = vec![
        Change::CreateConversation { id: conversation, branch: first, draft, importing: false },
        Change::OpenBranch {
            conversation,
            branch,
            base: Some(BranchBase { parent: world.own.branch, fork: Some(world.own.second) }),
            own: Vec::new(),
            pieces: Vec::new(),
            why: BranchReason::Fork,
            origins: Vec::new(),
        },
        Change::MoveHead { conversation, to: HeadTarget::End(branch) },
        append(conversation, vec![said]),
        Change::AddNote { id: note, message, kind: "k".to_owned(), value: json("1") },
        Change::RemoveNote { id: note },
        Change::AddFold { conversation, fold: new_fold },
        Change::SetFoldActive { fold, active: false },
        Change::PutInput { conversation, id: input, body: json("1") },
        Change::TakeInputs { conversation, ids: vec![input] },
        Change::PutMemory { memory: remembered },
        Change::RemoveMemory { id: memory },
    ];
    let made = Transaction { changes, ..Transaction::of(at(1), append(conversation, Vec::new())) };
    store.commit(made).await.expect("all of it is one's own");
    assert_eq!(texts(&*store, conversation).await, ["the first word", "the second word", "said"]);
}
