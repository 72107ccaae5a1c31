//! What is done next, chosen by chance from what the model knows.
//!
//! A new kind of change is one line in [`Generator::change`] and one function in the file of its noun. The ids it
//! names come from [`Generator::conversation`] and its like, which now and then answer with what is taken back, purged,
//! foreign or unknown.

mod thread;
mod message;
mod annotations;
mod library;
mod question;

use super::chance::Chance;
use super::model::{Model, Thread};
use super::question::Question;
use manent_model::*;
use manent_store::*;

/// One thing that happens to the store.
#[derive(Debug, Clone)]
pub enum Operation {
    /// A transaction, once.
    Commit(Transaction),
    /// A purge or an erasure, sent until it is finished.
    Destroy(Transaction),
    Ask(Question),
    /// One handle is closed and opened again.
    Reopen,
}

impl Operation {
    /// Says whether it changes something in a conversation, for tracing a failure.
    pub fn names(&self, conversation: ConversationId) -> bool {
        match self {
            Self::Commit(transaction) | Self::Destroy(transaction) => {
                format!("{transaction:?}").contains(&conversation.to_string())
            }
            Self::Ask(_) | Self::Reopen => false,
        }
    }

    /// Returns the conversation that it is about, if it is about one.
    pub fn conversation(&self) -> Option<ConversationId> {
        let (Self::Commit(transaction) | Self::Destroy(transaction)) = self else {
            let Self::Ask(question) = self else { return None };
            return question.conversation();
        };
        transaction.changes.iter().find_map(|change| match change {
            Change::CreateConversation { id, .. } | Change::EditConversation { id, .. } => Some(*id),
            Change::AppendMessages { conversation, .. }
            | Change::OpenBranch { conversation, .. }
            | Change::Splice { conversation, .. }
            | Change::MoveHead { conversation, .. }
            | Change::Purge { conversation } => Some(*conversation),
            Change::Step { scope: UndoScope::Conversation(id), .. } => Some(*id),
            _ => None,
        })
    }
}

/// What destroys is sent until it is finished; beside other changes it is refused.
fn sent(transaction: Transaction) -> Operation {
    match &transaction.changes[..] {
        [change @ (Change::Purge { .. } | Change::Erase { .. })] => {
            Operation::Destroy(Transaction::of(transaction.at, change.clone()))
        }
        _ => Operation::Commit(transaction),
    }
}

/// How many conversations there are before new ones become rare.
const CONVERSATIONS: usize = 24;
/// How many transactions are remembered, to be sent again.
const REMEMBERED: usize = 200;

pub struct Generator {
    pub chance: Chance,
    sent: Vec<Transaction>,
    /// The blobs that messages show, by their bytes.
    blobs: Vec<Vec<u8>>,
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let blobs =
            (0..8).map(|_| chance.text().into_bytes().into_iter().chain(chance.bytes::<4>()).collect()).collect();
        Self { chance, sent: Vec::new(), blobs }
    }

    /// Chooses what happens next.
    pub fn operation(&mut self, model: &Model) -> Operation {
        match self.chance.number(..1_000) {
            0 => Operation::Reopen,
            1..6 => Operation::Destroy(self.destruction(model)),
            6..60 => sent(self.again(model)),
            60..600 => sent(self.transaction(model)),
            _ => Operation::Ask(self.question(model)),
        }
    }

    fn transaction(&mut self, model: &Model) -> Transaction {
        let count = if self.chance.once_in(8) { self.chance.number(..5) } else { 1 };
        let changes: Vec<Change> = (0..count).map(|_| self.change(model)).collect();
        let expects = if self.chance.once_in(6) { self.chance.number(1..3) } else { 0 };
        let key = match self.chance.number(..100) {
            0 => Some(Vec::new()),
            1 => Some(vec![7; 256]),
            2..30 => Some(self.chance.bytes::<8>().to_vec()),
            _ => None,
        };
        let transaction = Transaction {
            key,
            at: self.chance.time(),
            actor: if self.chance.once_in(3) { Some(self.chance.author()) } else { None },
            expect: (0..expects).map(|_| self.expect(model)).collect(),
            changes,
            priority: self.chance.of([Priority::Normal, Priority::Background]),
        };
        if self.sent.len() == REMEMBERED {
            self.sent.remove(0);
        }
        self.sent.push(transaction.clone());
        transaction
    }

    /// Sends something again: the same, or under the same key something else.
    fn again(&mut self, model: &Model) -> Transaction {
        let Some(mut transaction) = self.chance.pick(&self.sent) else { return self.transaction(model) };
        match self.chance.number(..6) {
            0 => transaction.changes.push(self.change(model)),
            1 => transaction.actor = Some(self.chance.author()),
            2 => transaction.at = self.chance.time(),
            3 => transaction.expect = vec![self.expect(model)],
            _ => {}
        }
        transaction
    }

    fn expect(&mut self, model: &Model) -> Expect {
        let conversation = self.conversation(model);
        let seen = model.data.seen(conversation).ok();
        let right = !self.chance.once_in(4);
        match self.chance.number(..7) {
            0..2 => {
                let version = seen.filter(|_| right).map_or(3, |thread| thread.version);
                Expect::Version { conversation, version }
            }
            2..4 => match seen.filter(|_| right) {
                Some(thread) => Expect::Head { conversation, head: thread.head.at },
                None => Expect::Head { conversation, head: self.chance.once_in(2).then(|| self.message(model)) },
            },
            4 => {
                let id = self.project(model);
                let version = if right { model.data.library.project_version(id) } else { 9 };
                Expect::Project { id, version }
            }
            5 => {
                let (kind, id) = self.document();
                let version = if right { model.data.library.document_version(&kind, &id) } else { 9 };
                Expect::Document { kind, id, version }
            }
            _ => {
                let lease = seen.and_then(|thread| thread.lease.as_ref()).filter(|_| right);
                Expect::Lease { conversation, token: lease.map_or(2, |lease| lease.token) }
            }
        }
    }

    /// Chooses a change of any kind but those that destroy.
    fn change(&mut self, model: &Model) -> Change {
        match self.chance.number(..100) {
            0..3 => self.create(model),
            3..9 => self.edit(model),
            9..33 => self.append(model),
            33..36 => self.append_chunk(model),
            36..39 => self.finish(model),
            39..41 => self.open_branch(model),
            41..45 => self.splice(model),
            45..50 => self.move_head(model),
            50..53 => self.note(model),
            53..56 => self.bookmark(model),
            56..59 => self.set_state(model),
            59..62 => self.fold(model),
            62..64 => self.record_call(model),
            64..69 => self.tool_call(model),
            69..71 => self.append_events(model),
            71..73 => self.input(model),
            73..76 => self.lease(model),
            76..79 => self.put_document(model),
            79..81 => self.put_blob_piece(),
            81..84 => self.imported(model),
            84..87 => self.memory(model),
            87..89 => self.scratch(model),
            89..91 => self.change_project(model),
            91 if self.chance.once_in(3) => self.destruction(model).changes.remove(0),
            _ => self.undo(model),
        }
    }

    /// Chooses a purge or an erasure.
    fn destruction(&mut self, model: &Model) -> Transaction {
        let trashed = model.data.threads.iter().filter(|thread| thread.about.trashed_at.is_some() || !thread.is_seen());
        let trashed: Vec<ConversationId> = trashed.map(|thread| thread.id).collect();
        let change = match self.chance.number(..20) {
            0..9 => {
                Change::Purge { conversation: self.chance.pick(&trashed).unwrap_or_else(|| self.conversation(model)) }
            }
            9..12 => Change::Erase { target: EraseTarget::Conversation(self.conversation(model)) },
            12..17 => Change::Erase { target: EraseTarget::Message(self.message(model)) },
            _ => Change::Erase { target: EraseTarget::Person(self.chance.author().id) },
        };
        Transaction::of(self.chance.time(), change)
    }

    fn undo(&mut self, model: &Model) -> Change {
        let scope = self.scope(model);
        let step = self.chance.of([UndoDirection::Undo, UndoDirection::Undo, UndoDirection::Redo]);
        if self.chance.once_in(2) {
            return Change::Step { scope, step };
        }
        let target = model.data.scope(&scope).ok().and_then(|scope| model.data.target(scope, step));
        let last = model.data.next() as usize;
        match target {
            Some(position) if !self.chance.once_in(4) => Change::Undo { position },
            _ => Change::Undo { position: self.chance.number(..last + 2) as i64 },
        }
    }

    fn scope(&mut self, model: &Model) -> UndoScope {
        match self.chance.number(..8) {
            0 => UndoScope::Everything,
            1 => UndoScope::Workspace,
            _ => UndoScope::Conversation(self.conversation(model)),
        }
    }

    /// Chooses a conversation: mostly one that is there.
    pub fn conversation(&mut self, model: &Model) -> ConversationId {
        let unknown = self.chance.id(ConversationId::new);
        let all = model.data.threads.iter();
        let ids: Vec<ConversationId> = match self.chance.once_in(12) {
            true => all.map(|thread| thread.id).collect(),
            false => all.filter(|thread| thread.is_seen()).map(|thread| thread.id).collect(),
        };
        if self.chance.once_in(60) {
            return unknown;
        }
        self.chance.pick(&ids).unwrap_or(unknown)
    }

    /// Chooses a conversation that is there, if there is any.
    fn thread<'m>(&mut self, model: &'m Model) -> Option<&'m Thread> {
        let id = self.conversation(model);
        model.data.any_thread(id)
    }

    /// Chooses a message of any conversation.
    pub fn message(&mut self, model: &Model) -> MessageId {
        let conversation = self.conversation(model);
        self.message_of(model, conversation)
    }

    /// Chooses a message for a conversation: mostly of its path, else one of its own, or any, or none at all.
    pub fn message_of(&mut self, model: &Model, conversation: ConversationId) -> MessageId {
        let unknown = self.chance.id(MessageId::new);
        let Some(thread) = model.data.any_thread(conversation) else { return unknown };
        let ids: Vec<MessageId> = match self.chance.number(..40) {
            0 => return unknown,
            1..3 => return self.foreign(model).unwrap_or(unknown),
            3..14 => thread.messages.keys().copied().collect(),
            _ => model.data.path(thread.head),
        };
        self.chance.pick(&ids).unwrap_or(unknown)
    }

    fn foreign(&mut self, model: &Model) -> Option<MessageId> {
        let thread = self.chance.pick(&model.data.threads)?;
        self.chance.pick(&thread.messages.keys().copied().collect::<Vec<_>>())
    }

    pub fn maybe_message_of(&mut self, model: &Model, conversation: ConversationId) -> Option<MessageId> {
        (!self.chance.once_in(8)).then(|| self.message_of(model, conversation))
    }

    /// Chooses a branch of a conversation, or one of another.
    pub fn branch_of(&mut self, model: &Model, conversation: ConversationId) -> BranchId {
        let unknown = self.chance.id(BranchId::new);
        let thread = match self.chance.once_in(25) {
            true => self.chance.pick(&model.data.threads),
            false => model.data.threads.iter().find(|thread| thread.id == conversation).cloned(),
        };
        let branches = thread.map(|thread| thread.branches.iter().map(|branch| branch.id).collect::<Vec<_>>());
        self.chance.pick(&branches.unwrap_or_default()).filter(|_| !self.chance.once_in(50)).unwrap_or(unknown)
    }

    /// A new id for a branch; now and then one that is taken.
    pub fn new_branch(&mut self, model: &Model, conversation: ConversationId) -> BranchId {
        match self.chance.once_in(50) {
            true => self.branch_of(model, conversation),
            false => self.chance.id(BranchId::new),
        }
    }

    pub fn project(&mut self, model: &Model) -> ProjectId {
        let ids: Vec<ProjectId> = model.data.library.projects.iter().map(|plan| plan.project.id).collect();
        let unknown = self.chance.id(ProjectId::new);
        self.chance.pick(&ids).filter(|_| !self.chance.once_in(20)).unwrap_or(unknown)
    }

    /// Chooses among the ids of things that are there, or were; sometimes a new one.
    fn known_or_new<T: Clone>(&mut self, known: Vec<T>, make: fn(u64, [u8; 10]) -> T) -> T {
        let new = self.chance.id(make);
        self.chance.pick(&known).filter(|_| !self.chance.once_in(12)).unwrap_or(new)
    }

    /// A new id; now and then one that is taken.
    fn new_or_known<T: Clone>(&mut self, known: Vec<T>, make: fn(u64, [u8; 10]) -> T) -> T {
        let new = self.chance.id(make);
        self.chance.pick(&known).filter(|_| self.chance.once_in(20)).unwrap_or(new)
    }
}
