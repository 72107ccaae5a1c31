//! Collects the ids that a transaction references, as access checks. Every field of a change is destructured, so that a
//! new one does not compile until its check has been decided.
//!
//! Some ids are looked up only within the checked conversation when the change is applied, and would be refused there
//! as well. They are checked anyway, so that no rule depends on which those are.

use crate::api::query::UndoScope;
use crate::api::transaction::{
    BranchBase, Change, EraseTarget, Expect, Finish, HeadTarget, MessageAt, NewFold, SplicePosition, Transaction,
};
use crate::engine::access::access_check::{AccessCheck, PathOf};
use crate::engine::commit::prepare::{blobs_of, blobs_of_message};
use manent_model::{
    AccessScope, BranchId, Call, Content, ConversationDraft, ConversationId, ConversationPatch, FoldId, Memory,
    MemoryId, MessageId, MessageRange, NewMessage, NoteId, ProjectId, Scratch, ToolCall,
};
use std::collections::HashSet;

/// Returns the access checks of a transaction: preconditions before changes, in the order in which both are evaluated.
pub(super) fn required_checks(access: &AccessScope, transaction: &Transaction) -> Vec<AccessCheck> {
    let mut references =
        ReferenceCollector { access, checks: Vec::new(), known: HashSet::new(), created: CreatedIds::default() };
    transaction.expect.iter().for_each(|expect| references.expect(expect));
    transaction.changes.iter().for_each(|change| references.change(change));
    references.checks
}

/// Ids that the transaction itself creates may be referenced by later changes. The create refuses an id that is taken,
/// or has it checked, so a reference alone gives no access to another user's objects.
#[derive(Default)]
struct CreatedIds {
    conversations: HashSet<ConversationId>,
    messages: HashSet<MessageId>,
    branches: HashSet<BranchId>,
    notes: HashSet<NoteId>,
    folds: HashSet<FoldId>,
    memories: HashSet<MemoryId>,
}

struct ReferenceCollector<'a> {
    access: &'a AccessScope,
    checks: Vec<AccessCheck>,
    known: HashSet<AccessCheck>,
    created: CreatedIds,
}

impl ReferenceCollector<'_> {
    fn require(&mut self, check: AccessCheck) {
        if self.known.insert(check.clone()) {
            self.checks.push(check);
        }
    }

    fn conversation(&mut self, id: ConversationId) {
        if !self.created.conversations.contains(&id) {
            self.require(AccessCheck::Conversation(id));
        }
    }

    fn message(&mut self, id: MessageId, on: PathOf) {
        if !self.created.messages.contains(&id) {
            self.require(AccessCheck::Message { id, on });
        }
    }

    fn messages(&mut self, ids: impl IntoIterator<Item = MessageId>, on: PathOf) {
        ids.into_iter().for_each(|id| self.message(id, on));
    }

    fn range(&mut self, stretch: &MessageRange, on: PathOf) {
        let MessageRange { first, last } = stretch;
        self.messages([*first, *last], on);
    }

    fn branch(&mut self, id: BranchId) {
        if !self.created.branches.contains(&id) {
            self.require(AccessCheck::Branch(id));
        }
    }

    /// A branch is not always opened where its id is given, so an id that belongs to another user must not count as
    /// created here.
    fn new_branch(&mut self, id: BranchId) {
        self.require(AccessCheck::NewBranch(id));
        self.created.branches.insert(id);
    }

    fn fold(&mut self, id: FoldId) {
        if !self.created.folds.contains(&id) {
            self.require(AccessCheck::Fold(id));
        }
    }

    /// A project that the access scope lists is within it, whether or not it exists.
    fn project(&mut self, id: ProjectId) {
        if !self.access.lists(id) {
            self.require(AccessCheck::Project(id));
        }
    }

    /// Messages that are added to a conversation. A message whose id is taken is refused, unless it is the stored one.
    fn new_messages(&mut self, conversation: ConversationId, messages: &[NewMessage]) {
        for message in messages {
            let NewMessage { id, content } = message;
            let Content {
                role: _,
                author: _,
                time: _,
                status: _,
                seen: _,
                turn: _,
                model: _,
                tokens: _,
                usage: _,
                metadata: _,
                reply_to,
                body: _,
            } = content;
            self.messages(*reply_to, PathOf::Path(conversation));
            for blob in blobs_of_message(message) {
                self.require(AccessCheck::Blob(blob));
            }
            self.created.messages.insert(*id);
        }
    }

    fn draft(&mut self, draft: &ConversationDraft) {
        let ConversationDraft {
            external_id: _,
            title: _,
            kind: _,
            project,
            creator: _,
            members: _,
            tags: _,
            metadata: _,
            continued_from,
            forked_from,
        } = draft;
        project.iter().for_each(|project| self.project(*project));
        continued_from.iter().chain(forked_from).for_each(|other| self.conversation(*other));
    }

    fn patch(&mut self, patch: &ConversationPatch) {
        let ConversationPatch {
            title: _,
            status: _,
            pinned: _,
            project,
            members: _,
            add_tags: _,
            remove_tags: _,
            metadata: _,
            times: _,
        } = patch;
        project.iter().flatten().for_each(|project| self.project(*project));
    }

    fn at(&mut self, conversation: ConversationId, at: &MessageAt) {
        match at {
            MessageAt::Head { branch } => self.new_branch(*branch),
            MessageAt::After { message, branch } => {
                self.messages(*message, PathOf::Path(conversation));
                self.new_branch(*branch);
            }
            MessageAt::InsteadOf { message, branch } => {
                self.message(*message, PathOf::Path(conversation));
                self.new_branch(*branch);
            }
            MessageAt::Branch { branch } => self.branch(*branch),
        }
    }

    fn head_to(&mut self, conversation: ConversationId, to: &HeadTarget) {
        match to {
            HeadTarget::Message(message) => self.message(*message, PathOf::Path(conversation)),
            HeadTarget::End(branch) => self.branch(*branch),
            HeadTarget::On { branch, message } => {
                self.branch(*branch);
                self.messages(*message, PathOf::Branch(*branch));
            }
            HeadTarget::Empty(branch) => self.new_branch(*branch),
        }
    }

    fn new_fold(&mut self, conversation: ConversationId, fold: &NewFold) {
        let NewFold { id, after, kind: _, covers, summary: _, parent, made_by: _ } = fold;
        self.message(*after, PathOf::Path(conversation));
        covers.iter().for_each(|stretch| self.range(stretch, PathOf::Path(conversation)));
        parent.iter().for_each(|parent| self.fold(*parent));
        self.created.folds.insert(*id);
    }

    fn call(&mut self, conversation: ConversationId, call: &Call) {
        let Call {
            id: _,
            after,
            model: _,
            outcome: _,
            tokens_in: _,
            tokens_out: _,
            cost_micros: _,
            sent,
            manifest: _,
            at: _,
        } = call;
        self.messages(*after, PathOf::Path(conversation));
        sent.iter().for_each(|stretch| self.range(stretch, PathOf::Path(conversation)));
    }

    fn tool_call(&mut self, call: &ToolCall) {
        let ToolCall { message, part: _, call_id: _, name: _, state: _, record: _ } = call;
        self.message(*message, PathOf::Owner);
    }

    fn memory(&mut self, memory: &Memory) {
        let Memory { id, collection: _, project, conversation, message, external: _, text: _, metadata: _ } = memory;
        if !self.created.memories.contains(id) {
            self.require(AccessCheck::NewMemory(*id));
        }
        project.iter().for_each(|project| self.project(*project));
        conversation.iter().for_each(|conversation| self.conversation(*conversation));
        let on = conversation.map_or(PathOf::Owner, PathOf::Path);
        self.messages(*message, on);
        self.created.memories.insert(*id);
    }

    /// Scratch about a conversation names it.
    fn scratch(&mut self, id: &str) {
        if let Ok(conversation) = id.parse() {
            self.conversation(conversation);
        }
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::CreateConversation { id, branch, draft, importing: _ } => {
                self.draft(draft);
                self.require(AccessCheck::NewConversation { id: *id, external: draft.external_id.clone() });
                self.created.conversations.insert(*id);
                self.new_branch(*branch);
            }
            Change::EditConversation { id, patch } => {
                self.conversation(*id);
                self.patch(patch);
            }
            Change::AppendMessages { conversation, at, head: _, why: _, messages, origins: _ } => {
                self.conversation(*conversation);
                self.at(*conversation, at);
                self.new_messages(*conversation, messages);
            }
            Change::AppendChunk { message, delta: _ } => self.message(*message, PathOf::Owner),
            Change::FinishMessage { message, finish } => {
                self.message(*message, PathOf::Owner);
                let Finish { status: _, body, tokens: _, usage: _ } = finish;
                body.iter().flat_map(blobs_of).for_each(|blob| self.require(AccessCheck::Blob(blob)));
            }
            Change::OpenBranch { conversation, branch, base, own, pieces, why: _, origins: _ } => {
                self.conversation(*conversation);
                if let Some(BranchBase { parent, fork }) = base {
                    self.branch(*parent);
                    self.messages(*fork, PathOf::Branch(*parent));
                }
                self.new_branch(*branch);
                self.new_messages(*conversation, own);
                pieces.iter().for_each(|piece| self.range(piece, PathOf::Owner));
            }
            Change::Splice { conversation, branch, at, messages, origins: _ } => {
                self.conversation(*conversation);
                match at {
                    SplicePosition::After(message) => self.messages(*message, PathOf::Path(*conversation)),
                    SplicePosition::Replace(stretch) => self.range(stretch, PathOf::Path(*conversation)),
                }
                self.new_branch(*branch);
                self.new_messages(*conversation, messages);
            }
            Change::MoveHead { conversation, to } => {
                self.conversation(*conversation);
                self.head_to(*conversation, to);
            }
            Change::AddNote { id, message, kind: _, value: _ } => {
                self.message(*message, PathOf::Owner);
                self.created.notes.insert(*id);
            }
            Change::RemoveNote { id } => {
                if !self.created.notes.contains(id) {
                    self.require(AccessCheck::Note(*id));
                }
            }
            Change::SetBookmark { conversation, name: _, head, metadata: _ } => {
                self.conversation(*conversation);
                self.messages(*head, PathOf::Path(*conversation));
            }
            Change::RemoveBookmark { conversation, name: _ } => self.conversation(*conversation),
            Change::SetState { conversation, name: _, after, value: _ } => {
                self.conversation(*conversation);
                self.messages(*after, PathOf::Path(*conversation));
            }
            Change::AddFold { conversation, fold } => {
                self.conversation(*conversation);
                self.new_fold(*conversation, fold);
            }
            Change::SetFoldActive { fold, active: _ } => self.fold(*fold),
            Change::PutToolCall { call, note: _ } => self.tool_call(call),
            Change::PutToolTrail { call, steps: _, instead_of } => {
                self.tool_call(call);
                if let Some(at) = instead_of {
                    self.message(at.message, PathOf::Owner);
                }
            }
            Change::MoveToolCall { message, part: _, to: _, record: _, note: _ } => {
                self.message(*message, PathOf::Owner)
            }
            Change::AppendEvents { conversation, events: _ } => self.conversation(*conversation),
            Change::PutInput { conversation, id: _, body: _ } => self.conversation(*conversation),
            // Inputs are looked up only within this conversation.
            Change::TakeInputs { conversation, ids: _ } => self.conversation(*conversation),
            Change::TakeLease { conversation, owner: _, until: _ }
            | Change::RenewLease { conversation, token: _, until: _ }
            | Change::ReleaseLease { conversation, token: _ } => self.conversation(*conversation),
            Change::PutDocument { kind, id, project, body: _ } => {
                project.iter().for_each(|project| self.project(*project));
                self.require(AccessCheck::Document { kind: kind.clone(), id: id.clone(), project: *project });
            }
            Change::RecordCall { conversation, call } => {
                self.conversation(*conversation);
                self.call(*conversation, call);
            }
            Change::PutMemory { memory } => self.memory(memory),
            Change::RemoveMemory { id } => {
                if !self.created.memories.contains(id) {
                    self.require(AccessCheck::Memory(*id));
                }
            }
            Change::PutScratch { scratch } => {
                let Scratch { kind: _, id, actor: _, body: _, at: _ } = scratch;
                self.scratch(id);
            }
            Change::RemoveScratch { kind: _, id, actor: _ } => self.scratch(id),
            Change::EditProject { id, patch: _ } | Change::RemoveProject { id } => self.project(*id),
            Change::Undo { position } => self.require(AccessCheck::Commit(*position)),
            Change::Step { scope, step } => match scope {
                UndoScope::Conversation(conversation) => {
                    self.require(AccessCheck::Step { conversation: *conversation, step: *step });
                }
                // Refused before.
                UndoScope::Everything | UndoScope::Workspace => {}
            },
            Change::Purge { conversation } => self.require(AccessCheck::Known(*conversation)),
            Change::Erase { target } => match target {
                EraseTarget::Message(message) => self.message(*message, PathOf::Owner),
                EraseTarget::Conversation(conversation) => self.require(AccessCheck::Known(*conversation)),
                // Refused before.
                EraseTarget::Person(_) => {}
            },
            // The upload proves its bytes; a project is created only where it is listed; the others are refused.
            Change::PutBlobPiece { sha256: _, size: _, n: _, last: _, bytes: _ }
            | Change::CreateProject { project: _ }
            | Change::PutSource { source: _ }
            | Change::PutOrigin { origin: _ }
            | Change::Quarantine { quarantined: _ } => {}
        }
    }

    fn expect(&mut self, expect: &Expect) {
        match expect {
            Expect::Version { conversation, version: _ } | Expect::Lease { conversation, token: _ } => {
                self.conversation(*conversation);
            }
            Expect::Head { conversation, head } => {
                self.conversation(*conversation);
                self.messages(*head, PathOf::Path(*conversation));
            }
            Expect::Project { id, version: _ } => self.project(*id),
            Expect::Document { kind, id, version: _ } => {
                self.require(AccessCheck::Document { kind: kind.clone(), id: id.clone(), project: None });
            }
        }
    }
}
