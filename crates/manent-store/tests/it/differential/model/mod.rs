//! What a store does, said with vectors and maps: slow, small, and written without a look at any table.
//!
//! A transaction works on a copy of everything; a refusal throws the copy away. A new kind of change is one arm of
//! [`Tx::apply`] and one function in the file of its noun; a new question is one arm of `answer` in `answers.rs`.

mod branch;
mod message;
mod thread;
mod annotations;
mod run;
mod library;
mod project;
mod undo;
mod destroy;
mod answers;
mod lists;
mod messages;

use manent_model::*;
use manent_store::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use branch::{Branch, Place};
pub use library::Library;
pub use message::Kept;
pub use thread::{Life, Thread};
pub use undo::Old;

/// Tells conversations apart, also those that had the same id one after the other.
pub type Serial = u64;

/// A row of the journal.
#[derive(Debug, Clone)]
pub struct Row {
    pub position: Position,
    pub count: i64,
    pub first: Position,
    pub at: Timestamp,
    pub kind: JournalKind,
    /// The conversation it is about; none for what belongs to no conversation.
    pub thread: Option<Serial>,
    pub actor: Option<Author>,
    pub undoes: Option<Position>,
    /// What was there before, in the order in which it was changed.
    pub olds: Vec<Old>,
    /// The messages it is about.
    pub messages: Vec<MessageId>,
}

/// Everything that a transaction may change.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// In the order they were made.
    pub threads: Vec<Arc<Thread>>,
    pub library: Arc<Library>,
    pub journal: Vec<Arc<Row>>,
    /// Tags by number: a tag that was forgotten and is said again is another one.
    pub tags: Vec<String>,
    /// Names of states and collections that were ever said and not forgotten.
    pub state_names: BTreeSet<String>,
    pub collections: BTreeSet<String>,
    /// All authors that were ever recorded, in order.
    pub authors: Vec<Author>,
    /// Counts up whenever something needs a number.
    pub last_number: u64,
}

/// A store as it should be.
#[derive(Debug, Default)]
pub struct Model {
    pub data: Data,
    /// What each idempotency key asked for, and what was answered.
    requests: BTreeMap<Vec<u8>, (String, Committed)>,
}

impl Model {
    /// Does everything in the transaction, or nothing.
    pub fn commit(&mut self, transaction: &Transaction) -> Result<Committed> {
        check_shape(transaction)?;
        let asked = serde_json::to_string(transaction).expect("a transaction is JSON");
        if let Some((earlier, answer)) = transaction.key.as_ref().and_then(|key| self.requests.get(key)) {
            return match *earlier == asked {
                true => Ok(Committed { is_replay: true, ..answer.clone() }),
                false => Err(Conflict::Key.into()),
            };
        }
        let mut data = self.data.clone();
        let committed = Tx::new(&mut data, transaction).run(transaction)?;
        self.data = data;
        if let Some(key) = &transaction.key {
            self.requests.insert(key.clone(), (asked, committed.clone()));
        }
        Ok(committed)
    }

    /// Returns the time of the transaction that used a key first.
    pub fn request_at(&self, key: &[u8]) -> Option<Timestamp> {
        self.requests.get(key).map(|(_, answer)| answer.at)
    }
}

/// Refuses what can be refused without a look at the store.
fn check_shape(transaction: &Transaction) -> Result<()> {
    let alone = |change: &Change| {
        matches!(change, Change::Undo { .. } | Change::Step { .. } | Change::Purge { .. } | Change::Erase { .. })
    };
    if transaction.changes.is_empty() {
        return invalid("a transaction has at least one change");
    }
    if transaction.changes.len() > 1 && transaction.changes.iter().any(alone) {
        return invalid("an undo, a purge or an erasure is the only change of its transaction");
    }
    for change in &transaction.changes {
        for message in messages_of(change) {
            named("a role", &message.content.role)?;
        }
        match change {
            Change::CreateConversation { draft, .. } => short("a title", &draft.title)?,
            Change::EditConversation { patch, .. } => short("a title", patch.title.as_deref().unwrap_or_default())?,
            Change::SetBookmark { name, .. } => named("a name", name)?,
            _ => {}
        }
    }
    match &transaction.key {
        Some(key) if key.is_empty() || key.len() > 255 => invalid("an idempotency key has 1 to 255 bytes"),
        _ => Ok(()),
    }
}

fn short(what: &'static str, text: &str) -> Result<()> {
    match text.len() <= 65_536 {
        true => Ok(()),
        false => Err(StoreError::TooLarge { what, limit: "64 KiB" }),
    }
}

fn named(what: &'static str, text: &str) -> Result<()> {
    match text.len() <= 1_024 {
        true => Ok(()),
        false => Err(StoreError::TooLarge { what, limit: "1 KiB" }),
    }
}

/// The messages that a change adds.
pub fn messages_of(change: &Change) -> &[NewMessage] {
    match change {
        Change::AppendMessages { messages, .. } | Change::Splice { messages, .. } => messages,
        Change::OpenBranch { own, .. } => own,
        _ => &[],
    }
}

fn invalid<T>(why: &str) -> Result<T> {
    Err(StoreError::Invalid(why.to_owned()))
}

fn not_found(what: &'static str, id: impl ToString) -> StoreError {
    StoreError::NotFound { what, id: id.to_string() }
}

fn exists(what: &'static str, id: impl ToString) -> StoreError {
    Conflict::Exists { what, id: id.to_string() }.into()
}

impl Data {
    /// Returns the next free position.
    pub fn next(&self) -> Position {
        self.journal.last().map_or(1, |row| row.position + row.count)
    }

    /// Finds a conversation that can be seen.
    pub fn seen(&self, id: ConversationId) -> Result<&Thread> {
        let found = self.threads.iter().find(|thread| thread.id == id && thread.is_seen());
        found.map(|thread| &**thread).ok_or_else(|| not_found("conversation", id))
    }

    /// Finds a conversation, wherever it is in its life.
    pub fn any_thread(&self, id: ConversationId) -> Option<&Thread> {
        self.threads.iter().find(|thread| thread.id == id).map(|thread| &**thread)
    }

    pub fn thread(&self, serial: Serial) -> &Thread {
        self.threads.iter().find(|thread| thread.serial == serial).expect("a serial in use")
    }

    pub fn thread_mut(&mut self, serial: Serial) -> &mut Thread {
        let found = self.threads.iter_mut().find(|thread| thread.serial == serial);
        Arc::make_mut(found.expect("a serial in use"))
    }

    pub fn library_mut(&mut self) -> &mut Library {
        Arc::make_mut(&mut self.library)
    }

    /// Finds a message and the conversation that owns it.
    pub fn message(&self, id: MessageId) -> Result<(&Thread, &Kept)> {
        let found = self.threads.iter().find_map(|thread| Some((&**thread, &**thread.messages.get(&id)?)));
        found.ok_or_else(|| not_found("message", id))
    }

    /// Finds a branch and the conversation that owns it.
    pub fn branch(&self, id: BranchId) -> Result<(&Thread, &Branch)> {
        let found = self.threads.iter().find_map(|thread| Some((&**thread, thread.branch(id)?)));
        found.ok_or_else(|| not_found("branch", id))
    }

    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn meet(&mut self, author: Option<&Author>) {
        if let Some(author) = author.filter(|author| !self.authors.contains(author)) {
            self.authors.push(author.clone());
        }
    }
}

/// A transaction at work.
pub struct Tx<'a> {
    pub data: &'a mut Data,
    pub at: Timestamp,
    pub actor: Option<Author>,
    first: Position,
    /// Conversations that get a new version when the transaction ends.
    changed: BTreeSet<Serial>,
}

impl<'a> Tx<'a> {
    fn new(data: &'a mut Data, transaction: &Transaction) -> Self {
        let first = data.next();
        Self { data, at: transaction.at, actor: transaction.actor.clone(), first, changed: BTreeSet::new() }
    }

    fn run(mut self, transaction: &Transaction) -> Result<Committed> {
        let first_message = transaction.changes.iter().flat_map(messages_of).next().map(|message| message.id);
        let arrival = |data: &Data| data.message(first_message?).ok().map(|(_, kept)| kept.arrival);
        if arrival(self.data).is_none() {
            transaction.expect.iter().try_for_each(|expect| self.check(expect))?;
        }
        self.data.meet(transaction.actor.as_ref());
        let done =
            transaction.changes.iter().map(|change| self.apply(change)).collect::<Result<Vec<ChangeResult>>>()?;
        self.finish();
        let (next, at) = (self.data.next(), self.at);
        if next == self.first
            && let Some(arrival) = arrival(self.data)
        {
            let row = self.data.journal.iter().rfind(|row| row.position <= arrival).expect("it arrived with a row");
            let of_commit = self.data.journal.iter().filter(|other| other.first == row.first);
            let position = of_commit.map(|row| row.position + row.count - 1).max().expect("the row itself");
            return Ok(Committed { first: row.first, position, at, results: done, is_replay: true });
        }
        Ok(Committed { first: self.first, position: next - 1, at, results: done, is_replay: false })
    }

    /// Gives every conversation that was changed one new version.
    fn finish(&mut self) {
        for serial in std::mem::take(&mut self.changed) {
            if self.data.threads.iter().any(|thread| thread.serial == serial) {
                self.data.thread_mut(serial).version += 1;
            }
        }
    }

    fn check(&self, expect: &Expect) -> Result<()> {
        let same = |expected: i64, actual: i64| match expected == actual {
            true => Ok(()),
            false => Err(Conflict::Version { expected, actual }.into()),
        };
        match expect {
            Expect::Version { conversation, version } => same(*version, self.data.seen(*conversation)?.version),
            Expect::Project { id, version } => same(*version, self.data.library.project_version(*id)),
            Expect::Document { kind, id, version } => same(*version, self.data.library.document_version(kind, id)),
            Expect::Head { conversation, head } => {
                let thread = self.data.seen(*conversation)?;
                if let Some(head) = head {
                    self.data.message(*head)?;
                }
                if thread.head.at == *head { Ok(()) } else { Err(Conflict::Head.into()) }
            }
            Expect::Lease { conversation, token } => self.data.seen(*conversation)?.held_lease(*token).map(drop),
            // Only a grant says it, and the model has none.
        }
    }

    /// Writes a row of the journal.
    fn journal(&mut self, thread: Option<Serial>, kind: JournalKind, olds: Vec<Old>) {
        self.journal_many(thread, kind, 1, olds);
    }

    fn journal_many(&mut self, thread: Option<Serial>, kind: JournalKind, count: usize, olds: Vec<Old>) {
        let row = Row {
            position: self.data.next(),
            count: count as i64,
            first: self.first,
            at: self.at,
            kind,
            thread,
            actor: self.actor.clone(),
            undoes: None,
            olds,
            messages: Vec::new(),
        };
        self.data.journal.push(Arc::new(row));
        self.changed.extend(thread);
    }

    /// Says which messages the row that was just written is about.
    fn about(&mut self, messages: impl IntoIterator<Item = MessageId>) {
        let row = self.data.journal.last_mut().expect("a row was written");
        Arc::make_mut(row).messages = messages.into_iter().collect();
    }

    fn apply(&mut self, change: &Change) -> Result<ChangeResult> {
        match change.clone() {
            Change::CreateConversation { id, branch, draft, importing } => self.create(id, branch, draft, importing),
            Change::EditConversation { id, patch } => self.edit(id, &patch),
            Change::AppendMessages { conversation, at, head, why, messages, origins } => {
                self.append(conversation, &at, head, why, &messages, &origins)
            }
            Change::AppendChunk { message, delta } => self.append_chunk(message, delta),
            Change::FinishMessage { message, finish } => self.finish_message(message, &finish),
            Change::OpenBranch { conversation, branch, base, own, pieces, why, origins } => {
                let opened = branch::Opened {
                    id: branch,
                    base: base.as_ref(),
                    own: &own,
                    pieces: &pieces,
                    why,
                    origins: &origins,
                };
                self.open_branch(conversation, &opened)
            }
            Change::Splice { conversation, branch, at, messages, origins } => {
                self.splice(conversation, branch, &at, &messages, &origins)
            }
            Change::MoveHead { conversation, to } => self.move_head(conversation, &to),
            Change::AddNote { id, message, kind, value } => self.add_note(id, message, kind, value),
            Change::RemoveNote { id } => self.remove_note(id),
            Change::SetBookmark { conversation, name, head, metadata } => {
                self.set_bookmark(conversation, &name, head, metadata)
            }
            Change::RemoveBookmark { conversation, name } => self.remove_bookmark(conversation, &name),
            Change::SetState { conversation, name, after, value } => self.set_state(conversation, name, after, value),
            Change::AddFold { conversation, fold } => self.add_fold(conversation, fold),
            Change::SetFoldActive { fold, active } => self.set_fold_active(fold, active),
            Change::RecordCall { conversation, call } => self.record_call(conversation, call),
            Change::PutToolCall { call, note } => {
                let step = ToolStep { state: call.state, at: self.at, actor: self.actor.clone(), note };
                self.put_tool_call(call, vec![step], None)
            }
            Change::PutToolTrail { call, steps, instead_of } => self.put_tool_call(call, steps, instead_of),
            Change::MoveToolCall { message, part, to, record, note } => {
                self.move_tool_call(message, part, to, record, note)
            }
            Change::AppendEvents { conversation, events } => self.append_events(conversation, events),
            Change::PutInput { conversation, id, body } => self.put_input(conversation, id, body),
            Change::TakeInputs { conversation, ids } => self.take_inputs(conversation, &ids),
            Change::TakeLease { conversation, owner, until } => self.take_lease(conversation, owner, until),
            Change::RenewLease { conversation, token, until } => self.renew_lease(conversation, token, until),
            Change::ReleaseLease { conversation, token } => self.release_lease(conversation, token),
            Change::PutDocument { kind, id, project, body } => self.put_document(kind, id, project, body),
            Change::PutBlobPiece { sha256, size, n, last, bytes } => self.put_blob_piece(sha256, size, n, last, bytes),
            Change::PutSource { source } => self.put_source(source),
            Change::PutOrigin { origin } => self.put_origin(origin),
            Change::Quarantine { quarantined } => self.quarantine(quarantined),
            Change::PutMemory { memory } => self.put_memory(memory),
            Change::RemoveMemory { id } => self.remove_memory(id),
            Change::PutScratch { scratch } => self.put_scratch(scratch),
            Change::RemoveScratch { kind, id, actor } => self.remove_scratch(kind, id, actor),
            Change::CreateProject { project } => self.create_project(project),
            Change::EditProject { id, patch } => self.edit_project(id, &patch),
            Change::RemoveProject { id } => self.remove_project(id),
            Change::Undo { position } => self.undo(position),
            Change::Step { scope, step } => self.step(&scope, step),
            Change::Purge { .. } | Change::Erase { .. } => unreachable!("these go through `destroy`"),
        }
    }
}
