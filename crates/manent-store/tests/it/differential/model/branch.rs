//! Branches as whole copies of their paths.

use super::*;

/// What is given of a branch that comes from elsewhere.
pub struct Opened<'a> {
    pub id: BranchId,
    pub base: Option<&'a BranchBase>,
    pub own: &'a [NewMessage],
    pub pieces: &'a [MessageRange],
    pub why: BranchReason,
    pub origins: &'a [MessageOrigin],
}

/// A branch: everything it took when it was opened, and what it has itself.
#[derive(Debug, Clone)]
pub struct Branch {
    pub number: u64,
    pub id: BranchId,
    pub parent: Option<BranchId>,
    pub fork: Option<MessageId>,
    pub why: BranchReason,
    /// What it takes from its parent, in the runs in which that was written.
    pub base: Vec<Vec<MessageId>>,
    /// What it takes by reference behind that.
    pub pieces: Vec<Vec<MessageId>>,
    /// Its own messages by slot; the first `own_in_ranges` of them stand in the pieces.
    pub own: Vec<MessageId>,
    pub own_in_ranges: usize,
}

impl Branch {
    /// Returns its path as runs of neighbours.
    pub fn runs(&self) -> Vec<Vec<MessageId>> {
        let open = self.own[self.own_in_ranges..].to_vec();
        let runs = self.base.iter().chain(&self.pieces).cloned().chain([open]);
        runs.filter(|run| !run.is_empty()).collect()
    }

    pub fn path(&self) -> Vec<MessageId> {
        self.runs().concat()
    }

    /// Returns its path up to a message; none if it does not reach the message.
    pub fn runs_to(&self, at: Option<MessageId>) -> Option<Vec<Vec<MessageId>>> {
        let Some(at) = at else { return Some(Vec::new()) };
        let mut taken = Vec::new();
        for run in self.runs() {
            if let Some(place) = run.iter().position(|id| *id == at) {
                taken.push(run[..=place].to_vec());
                return Some(taken);
            }
            taken.push(run);
        }
        None
    }
}

/// The end of a path: a branch, and the last message of it that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub branch: BranchId,
    pub at: Option<MessageId>,
}

impl Data {
    pub fn runs(&self, place: Place) -> Vec<Vec<MessageId>> {
        let (_, branch) = self.branch(place.branch).expect("a head lies on a branch");
        branch.runs_to(place.at).expect("a head lies on its branch")
    }

    pub fn path(&self, place: Place) -> Vec<MessageId> {
        self.runs(place).concat()
    }

    /// Returns a position at this message: on the shown path if the message is on it, else on its own branch.
    pub fn place_at(&self, thread: &Thread, id: MessageId) -> Result<Place> {
        let (owner, kept) = self.message(id)?;
        if self.path(thread.head).contains(&id) {
            return Ok(Place { branch: thread.head.branch, at: Some(id) });
        }
        match owner.serial == thread.serial {
            true => Ok(Place { branch: kept.branch, at: Some(id) }),
            false => Err(not_found("message", id)),
        }
    }

    /// Returns the messages from one to another of a path; none if they do not lie on it in this order.
    pub fn stretch(&self, path: &[MessageId], stretch: &MessageRange) -> Result<Option<Vec<MessageId>>> {
        self.message(stretch.first)?;
        self.message(stretch.last)?;
        let place = |id| path.iter().position(|other| *other == id);
        Ok(match (place(stretch.first), place(stretch.last)) {
            (Some(first), Some(last)) if first <= last => Some(path[first..=last].to_vec()),
            _ => None,
        })
    }
}

impl Tx<'_> {
    /// Opens a branch of a conversation.
    pub(super) fn insert_branch(&mut self, serial: Serial, branch: Branch) -> Result<()> {
        if self.data.branch(branch.id).is_ok() {
            return Err(exists("branch", branch.id));
        }
        let number = self.data.number();
        self.data.thread_mut(serial).branches.push(Branch { number, ..branch });
        Ok(())
    }

    /// Opens a branch that leaves a path behind a message and takes nothing else.
    pub(super) fn insert_fork(&mut self, serial: Serial, id: BranchId, from: Place, why: BranchReason) -> Result<()> {
        let branch = Branch {
            number: 0,
            id,
            parent: Some(from.branch),
            fork: from.at,
            why,
            base: self.data.runs(from),
            pieces: Vec::new(),
            own: Vec::new(),
            own_in_ranges: 0,
        };
        self.insert_branch(serial, branch)
    }

    pub(super) fn open_branch(&mut self, conversation: ConversationId, opened: &Opened<'_>) -> Result<ChangeResult> {
        let Opened { id, base, own, pieces, why, origins } = *opened;
        let serial = self.data.seen(conversation)?.serial;
        let done = ChangeResult::Messages(own.last().map(|message| message.id));
        if !own.is_empty() && self.already_there(serial, own)? {
            return Ok(done);
        }
        let mut taken = Vec::new();
        if let Some(base) = base {
            let (owner, parent) = self.data.branch(base.parent)?;
            if owner.about.life == Life::Purged {
                return Err(not_found("branch", base.parent));
            }
            if let Some(fork) = base.fork {
                self.data.message(fork)?;
            }
            let reached = parent.runs_to(base.fork);
            taken = reached
                .ok_or_else(|| StoreError::Invalid(format!("branch {} does not reach its fork", base.parent)))?;
        }
        let own_in_ranges = if pieces.is_empty() { 0 } else { own.len() };
        let branch = Branch {
            number: 0,
            id,
            parent: base.map(|base| base.parent),
            fork: base.and_then(|base| base.fork),
            why,
            base: taken.clone(),
            pieces: Vec::new(),
            own: Vec::new(),
            own_in_ranges,
        };
        // Its own messages come first: pieces may name them.
        let empty = Branch { own_in_ranges: 0, ..branch };
        self.insert_branch(serial, empty)?;
        self.insert_messages(serial, id, own, origins)?;
        let runs = pieces.iter().map(|piece| self.run_of(piece)).collect::<Result<Vec<_>>>()?;
        let mut all: Vec<MessageId> = taken.iter().chain(&runs).flatten().copied().collect();
        let length = all.len();
        all.sort_unstable();
        all.dedup();
        if !runs.is_empty() && all.len() < length {
            return invalid("a path holds a message once");
        }
        if !runs.is_empty() && own.iter().any(|message| !all.contains(&message.id)) {
            return invalid("the pieces of a branch hold its own messages");
        }
        let opened = self.data.thread_mut(serial).branch_mut(id);
        (opened.pieces, opened.own_in_ranges) = (runs, own_in_ranges);
        self.journal_opened(serial, own.len(), Vec::new());
        self.about(own.iter().map(|message| message.id));
        Ok(done)
    }

    /// Returns the own messages of one branch between two of them.
    fn run_of(&self, piece: &MessageRange) -> Result<Vec<MessageId>> {
        let (_, first) = self.data.message(piece.first)?;
        let (_, last) = self.data.message(piece.last)?;
        if first.branch != last.branch || first.slot > last.slot {
            return invalid("a piece lies inside one branch");
        }
        let (_, branch) = self.data.branch(first.branch)?;
        Ok(branch.own[first.slot - 1..last.slot].to_vec())
    }

    fn journal_opened(&mut self, serial: Serial, own: usize, olds: Vec<Old>) {
        match own {
            0 => self.journal(Some(serial), JournalKind::HeadMoved, olds),
            own => self.journal_many(Some(serial), JournalKind::BranchOpened, own, olds),
        }
    }

    pub(super) fn splice(
        &mut self,
        conversation: ConversationId,
        id: BranchId,
        at: &SplicePosition,
        messages: &[NewMessage],
        origins: &[MessageOrigin],
    ) -> Result<ChangeResult> {
        let thread = self.data.seen(conversation)?;
        let (serial, head, old) = (thread.serial, thread.head, thread.old_head());
        let done = ChangeResult::Messages(messages.last().map(|message| message.id));
        if !messages.is_empty() && self.already_there(serial, messages)? {
            return Ok(done);
        }
        let (start, end) = self.cut(head, at)?;
        let path = self.data.path(head);
        let fork = start.checked_sub(1).map(|last| path[last]);
        let inserted: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
        let tail = cut_front(self.data.runs(head), end);
        let pieces: Vec<Vec<MessageId>> = [inserted].into_iter().chain(tail).filter(|run| !run.is_empty()).collect();
        self.insert_fork(serial, id, Place { branch: head.branch, at: fork }, BranchReason::Edit)?;
        self.insert_messages(serial, id, messages, origins)?;
        let thread = self.data.thread_mut(serial);
        let branch = thread.branch_mut(id);
        (branch.pieces, branch.own_in_ranges) = (pieces, messages.len());
        let at = branch.path().last().copied();
        thread.head = Place { branch: id, at };
        self.journal_opened(serial, messages.len(), vec![old]);
        match messages {
            [] => self.about(at),
            messages => self.about(messages.iter().map(|message| message.id)),
        }
        Ok(done)
    }

    /// Returns the length of the shown path before the cut, and where the kept tail begins.
    fn cut(&self, head: Place, at: &SplicePosition) -> Result<(usize, usize)> {
        let path = self.data.path(head);
        let place = |id: MessageId| path.iter().position(|other| *other == id);
        let off_path = || StoreError::Invalid("the splice does not lie on the path".to_owned());
        match at {
            SplicePosition::After(None) => Ok((0, 0)),
            SplicePosition::After(Some(message)) => {
                self.data.message(*message)?;
                let after = place(*message).ok_or_else(off_path)? + 1;
                Ok((after, after))
            }
            SplicePosition::Replace(stretch) => {
                let taken = self.data.stretch(&path, stretch)?.ok_or_else(off_path)?;
                let start = place(stretch.first).ok_or_else(off_path)?;
                Ok((start, start + taken.len()))
            }
        }
    }

    pub(super) fn move_head(&mut self, conversation: ConversationId, to: &HeadTarget) -> Result<ChangeResult> {
        let thread = self.data.seen(conversation)?;
        let (serial, was, old) = (thread.serial, thread.head, thread.old_head());
        let own = |id: BranchId| thread.branch(id).ok_or_else(|| not_found("branch", id));
        let head = match to {
            HeadTarget::Message(message) => self.data.place_at(thread, *message)?,
            HeadTarget::End(branch) => Place { branch: *branch, at: own(*branch)?.path().last().copied() },
            HeadTarget::On { branch, message } => {
                let path = own(*branch)?.path();
                if let Some(message) = message {
                    self.data.message(*message)?;
                    if !path.contains(message) {
                        return invalid("the branch does not reach the message");
                    }
                }
                Place { branch: *branch, at: *message }
            }
            HeadTarget::Empty(id) => {
                let from = Place { branch: thread.head.branch, at: None };
                self.insert_fork(serial, *id, from, BranchReason::Clear)?;
                Place { branch: *id, at: None }
            }
        };
        let moved = was != head;
        self.data.thread_mut(serial).head = head;
        let olds = if moved { vec![old] } else { Vec::new() };
        self.journal(Some(serial), JournalKind::HeadMoved, olds);
        self.about(head.at);
        Ok(ChangeResult::Applied)
    }
}

/// Leaves out the first messages of runs.
fn cut_front(runs: Vec<Vec<MessageId>>, mut count: usize) -> Vec<Vec<MessageId>> {
    let mut left = Vec::new();
    for mut run in runs {
        let gone = count.min(run.len());
        count -= gone;
        left.push(run.split_off(gone));
    }
    left
}
