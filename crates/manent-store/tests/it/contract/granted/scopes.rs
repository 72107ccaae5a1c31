//! Scopes: which key may do which change at all.

use super::*;
use KeyScope::{Admin, Append, Manage, Read};

/// One change of each kind, with the scope that it takes; what they name need not be there.
fn changes() -> Vec<(KeyScope, Change)> {
    let never = Things::unknown();
    let Things { conversation, branch, first, note, fold, input, memory, project, .. } = never;
    let text = || "t".to_owned();
    let call = ToolCall {
        message: first,
        part: 0,
        call_id: text(),
        name: text(),
        state: ToolState::Pending,
        record: json("1"),
    };
    let model_call = Call {
        id: id(CallId::new),
        after: None,
        model: None,
        outcome: CallOutcome::Answered,
        tokens_in: None,
        tokens_out: None,
        cost_micros: None,
        sent: Vec::new(),
        manifest: None,
        at: at(1),
    };
    let new_fold = NewFold {
        id: fold,
        after: first,
        kind: FoldKind::Drop,
        covers: Vec::new(),
        summary: None,
        parent: None,
        made_by: None,
    };
    let source = Source {
        id: id(SourceId::new),
        format: text(),
        generation: text(),
        path: text(),
        sha256: text(),
        style: json("1"),
        at: at(1),
    };
    let origin = Origin {
        object: OriginObject::Conversation(conversation),
        source: source.id,
        ordinal: 0,
        external: None,
        raw: None,
    };
    let quarantined = Quarantined { source: source.id, at_byte: 0, why: text(), bytes: Vec::new() };
    let remembered = Memory {
        id: memory,
        collection: text(),
        project: None,
        conversation: None,
        message: None,
        external: None,
        text: text(),
        metadata: None,
    };
    let made = Project {
        id: project,
        kind: text(),
        name: text(),
        instructions: text(),
        facts: Default::default(),
        metadata: None,
        version: 1,
    };
    let scratch = Scratch { kind: text(), id: text(), actor: text(), body: json("1"), at: at(1) };
    let finish = Finish { status: MessageStatus::Complete, body: Some(Body::of(&[])), tokens: None, usage: None };
    let mut from_elsewhere = append(conversation, vec![message("user", "x")]);
    if let Change::AppendMessages { origins, messages, .. } = &mut from_elsewhere {
        let message = messages[0].id;
        origins.push(MessageOrigin { message, source: source.id, ordinal: 0, external: None, raw: None });
    }
    let draft = ConversationDraft::default();
    let event = NewEvent { channel: text(), at: at(1), body: json("1") };
    vec![
        (Append, Change::CreateConversation { id: conversation, branch, draft, importing: false }),
        (Append, append(conversation, vec![message("user", "x")])),
        (Append, Change::AppendChunk { message: first, delta: text() }),
        (Append, Change::FinishMessage { message: first, finish }),
        (Append, Change::AddNote { id: note, message: first, kind: text(), value: json("1") }),
        (Append, Change::SetBookmark { conversation, name: text(), head: None, metadata: None }),
        (Append, Change::SetState { conversation, name: text(), after: None, value: None }),
        (Append, Change::PutToolCall { call: call.clone(), note: text() }),
        (Append, Change::PutToolTrail { call, steps: Vec::new(), instead_of: None }),
        (Append, Change::MoveToolCall { message: first, part: 0, to: ToolState::Denied, record: None, note: text() }),
        (Append, Change::AppendEvents { conversation, events: vec![event] }),
        (Append, Change::PutInput { conversation, id: input, body: json("1") }),
        (Append, Change::TakeInputs { conversation, ids: vec![input] }),
        (Append, Change::TakeLease { conversation, owner: text(), until: at(1) }),
        (Append, Change::RenewLease { conversation, token: 1, until: at(1) }),
        (Append, Change::ReleaseLease { conversation, token: 1 }),
        (Append, Change::RecordCall { conversation, call: model_call }),
        (Append, Change::PutBlobPiece { sha256: [0; 32], size: 1, n: 0, last: true, bytes: vec![0] }),
        (Append, Change::PutMemory { memory: remembered }),
        (Append, Change::PutScratch { scratch }),
        (Append, Change::RemoveScratch { kind: text(), id: text(), actor: text() }),
        (Manage, from_elsewhere),
        (Manage, Change::EditConversation { id: conversation, patch: ConversationPatch::default() }),
        (
            Manage,
            Change::OpenBranch {
                conversation,
                branch,
                base: None,
                own: Vec::new(),
                pieces: Vec::new(),
                why: BranchReason::Fork,
                origins: Vec::new(),
            },
        ),
        (Manage, splice(conversation, SplicePosition::After(None), &["x"])),
        (Manage, head_to(conversation, first)),
        (Manage, Change::RemoveNote { id: note }),
        (Manage, Change::RemoveBookmark { conversation, name: text() }),
        (Manage, Change::AddFold { conversation, fold: new_fold }),
        (Manage, Change::SetFoldActive { fold, active: true }),
        (Manage, Change::PutDocument { kind: text(), id: text(), project: None, body: None }),
        (Manage, Change::PutSource { source }),
        (Manage, Change::PutOrigin { origin }),
        (Manage, Change::Quarantine { quarantined }),
        (Manage, Change::RemoveMemory { id: memory }),
        (Manage, Change::CreateProject { project: made }),
        (Manage, Change::EditProject { id: project, patch: ProjectPatch::default() }),
        (Manage, Change::RemoveProject { id: project }),
        (Manage, Change::Undo { position: 1 }),
        (Manage, Change::Step { scope: UndoScope::Conversation(conversation), step: UndoDirection::Undo }),
        (Admin, Change::Purge { conversation }),
        (Admin, Change::Erase { target: EraseTarget::Conversation(conversation) }),
    ]
}

pub async fn every_change_takes_its_scope(whole: &Whole) {
    for access in [AccessScope::default(), user("ann")] {
        for given in [Read, Append, Manage, Admin] {
            let scopes: KeyScopes = [given].into_iter().collect();
            let store =
                whole.clone().authorized(Permissions { scopes: scopes.clone(), ..grant("key", access.clone()) });
            for (takes, change) in changes() {
                assert_eq!(change.required_scope(), takes, "{change:?}");
                let outcome = try_commit(&*store, change.clone()).await;
                let missing = format!("insufficient permissions: the scope {} is required", takes.word());
                let is_refused = outcome.as_ref().is_err_and(|error| error.to_string() == missing);
                assert_eq!(is_refused, !scopes.holds(takes), "{given:?} {change:?} {outcome:?}");
            }
            // One that is missing refuses the whole transaction.
            let draft = ConversationDraft { external_id: Some("together".to_owned()), ..Default::default() };
            let (conversation, branch) = (id(ConversationId::new), id(BranchId::new));
            let make = Change::CreateConversation { id: conversation, branch, draft, importing: false };
            let clear = Change::MoveHead { conversation, to: HeadTarget::Empty(id(BranchId::new)) };
            let both =
                Transaction { changes: vec![make, clear], ..Transaction::of(at(1), append(conversation, vec![])) };
            if matches!(given, Read | Append) {
                refused_as(store.commit(both).await, "forbidden");
                let made = whole.conversation(ConversationRef::External("together".to_owned())).await;
                assert!(made.expect("readable").is_none());
            }
        }
    }
}

/// Appending where the head is not at an end opens a branch, and is still an append.
pub async fn an_append_that_forks_is_an_append(whole: &Whole) {
    let world = World::new(whole).await;
    commit(&**whole, head_to(world.own.conversation, world.own.first)).await;
    let scopes: KeyScopes = [Append].into_iter().collect();
    let store = whole.clone().authorized(Permissions { scopes, ..grant("key", user("ann")) });
    say(&*store, world.own.conversation, &["another way"]).await;
    assert_eq!(texts(&**whole, world.own.conversation).await, ["the first word", "another way"]);
}

pub async fn changes_are_recorded_as_those_of_the_key(whole: &Whole) {
    let world = World::new(whole).await;
    let actor = Some(Author { id: "robot".to_owned(), name: "R".to_owned() });
    let last = async || journal(&**whole, 0, 1_000).await.pop().expect("a row").actor;
    for access in [AccessScope::default(), user("ann")] {
        let store = whole.clone().authorized(Permissions { actor: actor.clone(), ..grant("key", access.clone()) });
        for claimed in [None, Some(author("bob"))] {
            let change = append(world.own.conversation, vec![message("user", "x")]);
            let transaction = Transaction { actor: claimed, ..Transaction::of(at(1), change) };
            store.commit(transaction).await.expect("allowed");
            assert_eq!(last().await, actor);
        }
        let plain = whole.clone().authorized(grant("key", access));
        let change = append(world.own.conversation, vec![message("user", "x")]);
        plain
            .commit(Transaction { actor: Some(author("bob")), ..Transaction::of(at(1), change) })
            .await
            .expect("allowed");
        assert_eq!(last().await, Some(author("bob")), "a key without a user names the actor");
    }
}
