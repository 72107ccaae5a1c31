//! Undo: every change that can be taken back is, whole, and comes again, whole.

use crate::kit::*;
use manent_model::*;
use manent_store::*;
use std::collections::BTreeMap;

/// Everything that people can see, but the versions, which only ever grow.
#[derive(Debug, PartialEq)]
struct Snapshot {
    conversations: Vec<Conversation>,
    paths: Vec<Vec<Message>>,
    annotations: Vec<Annotations>,
    events: Vec<Events>,
    states: Vec<Option<Json>>,
    stats: Stats,
    projects: Vec<Project>,
    documents: Documents,
    memories: Memories,
    sources: Vec<Source>,
    origins: Vec<Origin>,
    quarantined: Vec<Quarantined>,
}

async fn snapshot(store: &dyn Store, source: SourceId) -> Snapshot {
    use ConversationStatus::{Active, Archived, Importing, Trashed};
    let statuses = vec![Active, Archived, Trashed, Importing];
    let list = ListQuery { statuses, limit: 1_000, ..Default::default() };
    let mut conversations = store.conversations(list).await.expect("readable").conversations;
    let (mut paths, mut annotations, mut events, mut states) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for shown in &mut conversations {
        shown.version = 0;
        paths.push(path(store, shown.id, None).await);
        counts_hold(store, shown.id).await;
        annotations.push(store.annotations(shown.id.into()).await.expect("readable"));
        let query = EventsQuery { conversation: shown.id, channels: Vec::new(), after: 0, limit: 1_000 };
        events.push(store.events(query).await.expect("readable"));
        states.push(store.state(shown.id, "s".to_owned(), None).await.expect("readable"));
    }
    let mut projects = store.projects().await.expect("readable");
    projects.iter_mut().for_each(|project| project.version = 0);
    Snapshot {
        conversations,
        paths,
        annotations,
        events,
        states,
        stats: store.stats(StatsQuery::default()).await.expect("readable"),
        projects,
        documents: store.documents(DocumentsQuery::All).await.expect("readable"),
        memories: store.memories(MemoriesQuery { limit: 1_000, ..Default::default() }).await.expect("readable"),
        sources: store.sources().await.expect("readable"),
        origins: store.origins(OriginsQuery::Source(source)).await.expect("readable"),
        quarantined: store.quarantined(source).await.expect("readable"),
    }
}

/// A conversation with something of everything in it.
struct Furnished {
    conversation: ConversationId,
    branch: BranchId,
    messages: Vec<MessageId>,
    note: NoteId,
    fold: FoldId,
    input: InputId,
    project: Project,
    memory: Memory,
    source: Source,
}

async fn furnish(store: &dyn Store) -> Furnished {
    let conversation = conversation(store, "furnished").await;
    let messages = say(store, conversation, &["a", "b", "c", "d"]).await;
    let furnished = Furnished {
        conversation,
        branch: store.branches(conversation).await.expect("readable")[0].id,
        note: id(NoteId::new),
        fold: id(FoldId::new),
        input: id(InputId::new),
        project: project("old"),
        memory: memory("old"),
        source: source(),
        messages,
    };
    for change in [
        note(furnished.note, furnished.messages[0]),
        bookmark(conversation, "kept", Some(furnished.messages[0])),
        Change::AddFold { conversation, fold: fold(furnished.fold, furnished.messages[1]) },
        Change::PutInput { conversation, id: furnished.input, body: json("1") },
        Change::PutToolCall { call: tool_call(furnished.messages[0], 0), note: "first".to_owned() },
        Change::CreateProject { project: furnished.project.clone() },
        Change::PutMemory { memory: furnished.memory.clone() },
        Change::PutSource { source: furnished.source.clone() },
        document(Some("1")),
    ] {
        commit(store, change).await;
    }
    furnished
}

fn note(id: NoteId, message: MessageId) -> Change {
    Change::AddNote { id, message, kind: "k".to_owned(), value: json("1") }
}

fn bookmark(conversation: ConversationId, name: &str, head: Option<MessageId>) -> Change {
    Change::SetBookmark { conversation, name: name.to_owned(), head, metadata: Some(json("{}")) }
}

fn document(body: Option<&str>) -> Change {
    Change::PutDocument { kind: "k".to_owned(), id: "i".to_owned(), project: None, body: body.map(json) }
}

fn fold(id: FoldId, after: MessageId) -> NewFold {
    let covers = vec![MessageRange { first: after, last: after }];
    NewFold { id, after, kind: FoldKind::Drop, covers, summary: None, parent: None, made_by: None }
}

fn tool_call(message: MessageId, part: u32) -> ToolCall {
    let (call_id, name, state) = ("c".to_owned(), "n".to_owned(), ToolState::Pending);
    ToolCall { message, part, call_id, name, state, record: json("1") }
}

fn project(name: &str) -> Project {
    Project {
        id: id(ProjectId::new),
        kind: "project".to_owned(),
        name: name.to_owned(),
        instructions: String::new(),
        facts: BTreeMap::new(),
        metadata: None,
        version: 1,
    }
}

fn source() -> Source {
    Source {
        id: id(SourceId::new),
        format: "f".to_owned(),
        generation: "1".to_owned(),
        path: "p".to_owned(),
        sha256: String::new(),
        style: json("{}"),
        at: at(1),
    }
}

fn appended(conversation: ConversationId, place: MessageAt, text: &str) -> Change {
    Change::AppendMessages {
        conversation,
        at: place,
        head: HeadMove::Follow,
        why: BranchReason::Fork,
        messages: vec![message("user", text)],
        origins: Vec::new(),
    }
}

fn patches(furnished: &Furnished) -> Vec<(&'static str, ConversationPatch)> {
    let none = ConversationPatch::default;
    let author = Author { id: "ann".to_owned(), name: String::new() };
    let times = ConversationTimes { created_at: at(-9), active_at: at(500), trashed_at: None };
    vec![
        ("title", ConversationPatch { title: Some("new".to_owned()), ..none() }),
        ("pin", ConversationPatch { pinned: Some(true), ..none() }),
        ("project", ConversationPatch { project: Some(Some(furnished.project.id)), ..none() }),
        ("members", ConversationPatch { members: Some(vec![author]), ..none() }),
        ("tags", ConversationPatch { add_tags: ["x".to_owned(), "y".to_owned()].into(), ..none() }),
        ("no tag", ConversationPatch { remove_tags: ["x".to_owned()].into(), ..none() }),
        ("metadata", ConversationPatch { metadata: Some(Some(json("{}"))), ..none() }),
        ("times", ConversationPatch { times: Some(times), ..none() }),
        ("archive", ConversationPatch { status: Some(ConversationStatus::Archived), ..none() }),
        ("trash", ConversationPatch { status: Some(ConversationStatus::Trashed), ..none() }),
        ("restore", ConversationPatch { status: Some(ConversationStatus::Active), ..none() }),
    ]
}

/// Every kind of change that can be undone, in an order in which each of them is possible.
fn table(furnished: &Furnished) -> Vec<(&'static str, Vec<Change>)> {
    let Furnished { conversation, branch, messages, note: a_note, fold: a_fold, input, project: a_project, .. } =
        furnished;
    let conversation = *conversation;
    let new = || id(BranchId::new);
    let state = |after: Option<MessageId>, value: Option<&str>| Change::SetState {
        conversation,
        name: "s".to_owned(),
        after,
        value: value.map(json),
    };
    let created = id(ConversationId::new);
    let create = Change::CreateConversation {
        id: created,
        branch: new(),
        draft: ConversationDraft::default(),
        importing: false,
    };
    let opened = id(BranchId::new);
    let open = Change::OpenBranch {
        conversation,
        branch: opened,
        base: Some(BranchBase { parent: *branch, fork: Some(messages[1]) }),
        own: vec![message("user", "opened")],
        pieces: Vec::new(),
        why: BranchReason::Import,
        origins: Vec::new(),
    };
    let move_to = |to: HeadTarget| Change::MoveHead { conversation, to };
    let step = |to: ToolState| Change::MoveToolCall {
        message: messages[0],
        part: 0,
        to,
        record: Some(json("2")),
        note: "moved".to_owned(),
    };
    let trail = ToolStep { state: ToolState::Failed, at: at(1), actor: None, note: String::new() };
    let event = NewEvent { channel: "progress".to_owned(), at: at(1), body: json("1") };
    let call = Call {
        id: id(CallId::new),
        after: Some(messages[0]),
        model: Some("m".to_owned()),
        outcome: CallOutcome::Answered,
        tokens_in: None,
        tokens_out: None,
        cost_micros: None,
        sent: Vec::new(),
        manifest: None,
        at: at(1),
    };
    let facts = BTreeMap::from([("sky".to_owned(), Some("blue".to_owned()))]);
    let edit = ProjectPatch { name: Some("new".to_owned()), facts, ..Default::default() };
    let replaced = Memory { text: "new".to_owned(), collection: "d".to_owned(), ..furnished.memory.clone() };
    let object = OriginObject::Conversation(conversation);
    let origin = Origin { object, source: furnished.source.id, ordinal: 1, external: None, raw: Some("r".to_owned()) };
    let quarantined = Quarantined { source: furnished.source.id, at_byte: 0, why: "w".to_owned(), bytes: vec![255] };
    let mut table: Vec<(&'static str, Vec<Change>)> = vec![
        ("append", vec![append(conversation, vec![message("user", "e"), message("user", "f")])]),
        ("fork", vec![appended(conversation, MessageAt::After { message: Some(messages[1]), branch: new() }, "x")]),
        ("instead", vec![appended(conversation, MessageAt::InsteadOf { message: messages[0], branch: new() }, "A")]),
        ("on a branch", vec![appended(conversation, MessageAt::Branch { branch: *branch }, "g")]),
        ("rewind", vec![move_to(HeadTarget::Message(messages[2]))]),
        ("switch", vec![move_to(HeadTarget::End(*branch))]),
        ("edit", vec![splice(conversation, instead_of(messages[1], messages[1]), &["B B"])]),
        ("insert", vec![splice(conversation, SplicePosition::After(None), &["first"])]),
        ("remove", vec![splice(conversation, instead_of(messages[2], messages[3]), &[])]),
        ("clear", vec![move_to(HeadTarget::Empty(new()))]),
        ("open", vec![open, move_to(HeadTarget::End(opened))]),
        ("note", vec![note(id(NoteId::new), messages[1])]),
        ("remove note", vec![Change::RemoveNote { id: *a_note }]),
        ("bookmark", vec![bookmark(conversation, "new", None)]),
        ("move bookmark", vec![bookmark(conversation, "kept", Some(messages[1]))]),
        ("remove bookmark", vec![Change::RemoveBookmark { conversation, name: "kept".to_owned() }]),
        ("start state", vec![state(None, Some("0"))]),
        ("state", vec![state(Some(messages[1]), Some("1"))]),
        ("unset state", vec![state(Some(messages[1]), None)]),
        ("fold", vec![Change::AddFold { conversation, fold: fold(id(FoldId::new), messages[0]) }]),
        ("unfold", vec![Change::SetFoldActive { fold: *a_fold, active: false }]),
        ("tool call", vec![Change::PutToolCall { call: tool_call(messages[1], 3), note: "put".to_owned() }]),
        (
            "tool trail",
            vec![Change::PutToolTrail { call: tool_call(messages[1], 4), steps: vec![trail], instead_of: None }],
        ),
        ("approve", vec![step(ToolState::Approved)]),
        ("execute", vec![step(ToolState::Executing)]),
        ("complete", vec![step(ToolState::Completed)]),
        ("events", vec![Change::AppendEvents { conversation, events: vec![event.clone(), event] }]),
        ("input", vec![Change::PutInput { conversation, id: id(InputId::new), body: json("2") }]),
        ("take input", vec![Change::TakeInputs { conversation, ids: vec![*input] }]),
        ("call", vec![Change::RecordCall { conversation, call }]),
        ("document", vec![document(Some("2"))]),
        ("delete document", vec![document(None)]),
        ("source", vec![Change::PutSource { source: source() }]),
        ("origin", vec![Change::PutOrigin { origin }]),
        ("quarantine", vec![Change::Quarantine { quarantined }]),
        ("memory", vec![Change::PutMemory { memory: memory("more") }]),
        ("replace memory", vec![Change::PutMemory { memory: replaced.clone() }]),
        ("remove memory", vec![Change::RemoveMemory { id: furnished.memory.id }]),
        ("memory again", vec![Change::PutMemory { memory: replaced }]),
        ("project", vec![Change::CreateProject { project: project("p") }]),
        ("edit project", vec![Change::EditProject { id: a_project.id, patch: edit }]),
    ];
    let patches = patches(furnished).into_iter();
    table.extend(patches.map(|(name, patch)| (name, vec![Change::EditConversation { id: conversation, patch }])));
    let mixed = vec![
        append(conversation, vec![message("user", "mixed")]),
        state(None, Some("9")),
        append(created, vec![message("user", "there")]),
        document(Some("9")),
    ];
    table.extend([
        ("remove project", vec![Change::RemoveProject { id: a_project.id }]),
        ("create", vec![create]),
        ("everything at once", mixed),
    ]);
    table
}

async fn commit_all(store: &dyn Store, changes: Vec<Change>, seconds: i64) -> Committed {
    let mut transaction = Transaction::of(at(seconds), changes[0].clone());
    transaction.changes = changes;
    store.commit(transaction).await.expect("it may")
}

pub async fn each_change_is_undone_and_redone_whole(store: &dyn Store) {
    let furnished = furnish(store).await;
    let source = furnished.source.id;
    for (seconds, (name, changes)) in table(&furnished).into_iter().enumerate() {
        let before = snapshot(store, source).await;
        let committed = commit_all(store, changes, 10 + seconds as i64).await;
        let after = snapshot(store, source).await;
        assert_ne!(before, after, "{name} changes something");
        for _ in 0..2 {
            let undone = commit(store, Change::Undo { position: target(store, UndoDirection::Undo).await }).await;
            assert_eq!(snapshot(store, source).await, before, "{name} is undone");
            assert_eq!(target(store, UndoDirection::Redo).await, undone.first);
            refused(store, Change::Undo { position: committed.first }, "cannot_undo").await;
            commit(store, Change::Undo { position: undone.first }).await;
            assert_eq!(snapshot(store, source).await, after, "{name} is redone");
        }
    }
    sound(store).await;
}

async fn target(store: &dyn Store, step: UndoDirection) -> Position {
    store.undo_target(UndoScope::Everything, step).await.expect("readable").expect("there is one")
}

pub async fn all_changes_are_undone_one_after_the_other(store: &dyn Store) {
    let furnished = furnish(store).await;
    let source = furnished.source.id;
    let mut snapshots = vec![snapshot(store, source).await];
    let table = table(&furnished);
    for (seconds, (_, changes)) in table.iter().enumerate() {
        commit_all(store, changes.clone(), 10 + seconds as i64).await;
        snapshots.push(snapshot(store, source).await);
    }
    for round in 0..2 {
        for (place, (name, _)) in table.iter().enumerate().rev() {
            undo(store, UndoScope::Everything).await;
            assert_eq!(snapshot(store, source).await, snapshots[place], "{name} is undone, round {round}");
        }
        for (place, (name, _)) in table.iter().enumerate() {
            redo(store, UndoScope::Everything).await;
            assert_eq!(snapshot(store, source).await, snapshots[place + 1], "{name} is redone, round {round}");
        }
        assert_eq!(store.undo_target(UndoScope::Everything, UndoDirection::Redo).await.expect("readable"), None);
    }
    sound(store).await;
}

pub async fn a_new_change_after_an_undo_clears_redo(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let scope = UndoScope::Conversation(conversation);
    for text in ["a", "b", "c"] {
        say(store, conversation, &[text]).await;
    }
    undo(store, scope.clone()).await;
    undo(store, scope.clone()).await;
    say(store, conversation, &["x"]).await;
    assert_eq!(store.undo_target(scope.clone(), UndoDirection::Redo).await.expect("readable"), None);
    assert_eq!(texts(store, conversation).await, ["a", "x"]);
    undo(store, scope.clone()).await;
    assert_eq!(texts(store, conversation).await, ["a"]);
    undo(store, scope.clone()).await;
    assert_eq!(texts(store, conversation).await, [""; 0], "what was undone before is not undone again");
    redo(store, scope.clone()).await;
    redo(store, scope.clone()).await;
    assert_eq!(texts(store, conversation).await, ["a", "x"]);
    assert_eq!(store.undo_target(scope, UndoDirection::Redo).await.expect("readable"), None);
    sound(store).await;
}

pub async fn undo_looks_only_at_its_scope(store: &dyn Store) {
    let (a, b) = (conversation(store, "a").await, conversation(store, "b").await);
    commit(store, document(Some("1"))).await;
    say(store, a, &["one"]).await;
    let second = commit(store, append(a, vec![message("user", "two")])).await;
    say(store, b, &["three"]).await;
    undo(store, UndoScope::Conversation(a)).await;
    assert_eq!((texts(store, a).await, texts(store, b).await), (vec!["one".to_owned()], vec!["three".to_owned()]));
    undo(store, UndoScope::Workspace).await;
    assert_eq!(store.documents(DocumentsQuery::All).await.expect("readable"), []);
    undo(store, UndoScope::Everything).await;
    assert_eq!(texts(store, b).await, [""; 0], "the newest that still holds");
    redo(store, UndoScope::Workspace).await;
    redo(store, UndoScope::Conversation(a)).await;
    redo(store, UndoScope::Conversation(b)).await;
    assert_eq!((texts(store, a).await.len(), texts(store, b).await.len()), (2, 1));
    refused(store, Change::Undo { position: second.first }, "cannot_undo").await;
    let unknown = store.undo_target(UndoScope::Conversation(id(ConversationId::new)), UndoDirection::Undo).await;
    assert_eq!(unknown.expect_err("unknown").code(), "not_found");
    sound(store).await;
}

pub async fn only_the_last_change_of_all_it_touched_is_undone(store: &dyn Store) {
    let (a, b) = (conversation(store, "a").await, conversation(store, "b").await);
    let both = vec![append(a, vec![message("user", "1")]), append(b, vec![message("user", "1")])];
    let both = commit_all(store, both, 1).await;
    let later = commit(store, append(b, vec![message("user", "2")])).await;
    for position in [both.first, later.first + 100, 0, -1] {
        refused(store, Change::Undo { position }, "cannot_undo").await;
    }
    commit(store, Change::Undo { position: later.first }).await;
    refused(store, Change::Undo { position: later.first }, "cannot_undo").await;
    commit(store, Change::Undo { position: both.first }).await;
    assert_eq!((texts(store, a).await.len(), texts(store, b).await.len()), (0, 0));
    redo(store, UndoScope::Conversation(a)).await;
    assert_eq!((texts(store, a).await.len(), texts(store, b).await.len()), (1, 1), "together again");
    sound(store).await;
}

pub async fn what_leaves_no_old_value_is_stepped_over(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let scope = UndoScope::Conversation(conversation);
    let mut stream = message("assistant", "");
    stream.content.status = MessageStatus::Streaming;
    let message = stream.id;
    let appended = commit(store, append(conversation, vec![stream])).await;
    commit(store, Change::AppendChunk { message, delta: "x".to_owned() }).await;
    commit(store, Change::TakeLease { conversation, owner: "o".to_owned(), until: at(9) }).await;
    let finish =
        Finish { status: MessageStatus::Complete, body: Some(Body::of(&[Part::text("x")])), tokens: None, usage: None };
    let finished = commit(store, Change::FinishMessage { message, finish }).await;
    refused(store, Change::Undo { position: finished.first }, "cannot_undo").await;
    assert_eq!(store.undo_target(scope.clone(), UndoDirection::Undo).await.expect("readable"), Some(appended.first));
    undo(store, scope.clone()).await;
    assert_eq!(texts(store, conversation).await, [""; 0]);
    commit(store, Change::ReleaseLease { conversation, token: 1 }).await;
    redo(store, scope).await;
    assert_eq!(texts(store, conversation).await, ["x"]);
    sound(store).await;
}

pub async fn what_takes_back_or_destroys_stands_alone(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let position = store.undo_target(UndoScope::Everything, UndoDirection::Undo).await.expect("readable");
    let position = position.expect("something to undo");
    for first in [
        Change::Undo { position },
        Change::Step { scope: UndoScope::Conversation(conversation), step: UndoDirection::Undo },
        Change::Purge { conversation },
        Change::Erase { target: EraseTarget::Conversation(conversation) },
    ] {
        let changes = vec![first, append(conversation, vec![message("user", "to nobody")])];
        let transaction = Transaction { changes, ..Transaction::of(at(1), Change::Undo { position }) };
        refused_as(store.commit(transaction).await, "invalid");
    }
    sound(store).await;
}

pub async fn a_step_takes_the_last_change_of_its_scope_whichever_that_is(store: &dyn Store) {
    let (a, b) = (conversation(store, "a").await, conversation(store, "b").await);
    let step = |scope: &UndoScope, step| Change::Step { scope: scope.clone(), step };
    let scope = UndoScope::Conversation(a);
    say(store, a, &["one"]).await;
    say(store, a, &["two"]).await;
    say(store, b, &["three"]).await;
    commit(store, step(&scope, UndoDirection::Undo)).await;
    assert_eq!((texts(store, a).await, texts(store, b).await.len()), (vec!["one".to_owned()], 1));
    commit(store, step(&scope, UndoDirection::Redo)).await;
    assert_eq!(texts(store, a).await, ["one", "two"]);
    refused(store, step(&scope, UndoDirection::Redo), "nothing_to_redo").await;
    refused(store, step(&UndoScope::Workspace, UndoDirection::Undo), "nothing_to_undo").await;
    refused(store, step(&UndoScope::Conversation(id(ConversationId::new)), UndoDirection::Undo), "not_found").await;
    sound(store).await;
}
