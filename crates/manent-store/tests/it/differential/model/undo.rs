//! Undo: puts back what was there, as a new commit. Redo is the undo of an undo.

use super::annotations::Marked;
use super::run::Tool;
use super::thread::About;
use super::*;

/// What was there before a change.
#[derive(Debug, Clone)]
pub enum Old {
    Head { thread: Serial, head: Place, active_at: Timestamp },
    Thread { thread: Serial, withdrawn: bool },
    About { thread: Serial, about: Box<About> },
    Flag { number: u64, withdrawn: bool },
    Bookmark { thread: Serial, name: String, mark: Option<Marked> },
    Tool { thread: Serial, message: MessageId, part: u32, tool: Option<Tool> },
    FoldActive { number: u64, active: bool },
    InputTaken { thread: Serial, number: u64, taken: bool },
    Project { number: u64, project: Box<Project> },
    Memory { number: u64, memory: Box<Memory>, writer: Option<Author> },
}

impl Data {
    /// Withdraws something or brings it back, and returns how it was; none if it is gone.
    pub fn flag(&mut self, number: u64, withdrawn: bool) -> Option<bool> {
        macro_rules! turn {
            ($all:expr) => {
                if let Some(one) = $all.iter_mut().find(|one| one.number == number) {
                    return Some(std::mem::replace(&mut one.withdrawn, withdrawn));
                }
            };
        }
        let holds = |thread: &Thread| {
            thread.notes.iter().map(|one| one.number).any(|one| one == number)
                || thread.states.iter().any(|one| one.number == number)
                || thread.folds.iter().any(|one| one.number == number)
                || thread.calls.iter().any(|one| one.number == number)
                || thread.steps.iter().any(|one| one.number == number)
                || thread.events.iter().any(|one| one.number == number)
                || thread.inputs.iter().any(|one| one.number == number)
        };
        if let Some(serial) = self.threads.iter().find(|thread| holds(thread)).map(|thread| thread.serial) {
            let thread = self.thread_mut(serial);
            turn!(thread.notes);
            turn!(thread.states);
            turn!(thread.folds);
            turn!(thread.calls);
            turn!(thread.steps);
            turn!(thread.events);
            turn!(thread.inputs);
        }
        let library = self.library_mut();
        turn!(library.projects);
        turn!(library.documents);
        turn!(library.memories);
        turn!(library.sources);
        turn!(library.origins);
        turn!(library.quarantined);
        None
    }

    /// Finds the commit that an undo or redo of a scope would undo now.
    ///
    /// Walks back from the newest. An undo cancels the commit that it names, and a redo the undo that it names. The
    /// first commit that is left and has something to put back is the target.
    pub fn target(&self, scope: ScopeOf, step: UndoDirection) -> Option<Position> {
        let mut cancelled = BTreeSet::new();
        let rows: Vec<&Row> = self.journal.iter().map(|row| &**row).filter(|row| scope.holds(row)).collect();
        for commit in rows.chunk_by(|one, next| one.first == next.first).rev() {
            let first = commit[0].first;
            let barrier = |row: &&Row| matches!(row.kind, JournalKind::Purged | JournalKind::Erased);
            if commit.iter().any(barrier) && scope != ScopeOf::Everything {
                return None;
            }
            if cancelled.remove(&first) {
                continue;
            }
            let last = commit[commit.len() - 1];
            let has_olds = commit.iter().any(|row| !row.olds.is_empty());
            match (last.kind, step) {
                (JournalKind::Undone, UndoDirection::Undo) | (JournalKind::Redone, UndoDirection::Redo) => {
                    cancelled.extend(last.undoes);
                }
                (JournalKind::Undone, UndoDirection::Redo) => return Some(first),
                (_, UndoDirection::Undo) if has_olds => return Some(first),
                (_, UndoDirection::Redo) if has_olds => return None,
                _ => {}
            }
        }
        None
    }

    /// Finds what a caller may undo or redo: inside a conversation never the commit that made it.
    pub fn target_for_caller(&self, scope: ScopeOf, step: UndoDirection) -> Option<Position> {
        let found = self.target(scope, step)?;
        let makes = |row: &&Arc<Row>| row.first == found && row.kind == JournalKind::ConversationCreated;
        let is_made = || self.journal.iter().filter(makes).any(|row| scope == ScopeOf::Rows(row.thread));
        (step == UndoDirection::Redo || !is_made()).then_some(found)
    }

    pub fn scope(&self, scope: &UndoScope) -> Result<ScopeOf> {
        Ok(match scope {
            UndoScope::Everything => ScopeOf::Everything,
            UndoScope::Workspace => ScopeOf::Rows(None),
            UndoScope::Conversation(id) => {
                let thread = self.any_thread(*id).ok_or_else(|| not_found("conversation", id))?;
                ScopeOf::Rows(Some(thread.serial))
            }
        })
    }

    /// Puts something back and returns what was there.
    fn swap(&mut self, old: &Old) -> Old {
        match old.clone() {
            Old::Head { thread, head, active_at } => {
                let kept = self.thread_mut(thread);
                let now = kept.old_head();
                (kept.head, kept.about.active_at) = (head, active_at);
                now
            }
            Old::Thread { thread, withdrawn } => {
                let withdrawn = std::mem::replace(&mut self.thread_mut(thread).withdrawn, withdrawn);
                Old::Thread { thread, withdrawn }
            }
            Old::About { thread, about } => {
                let about = std::mem::replace(&mut self.thread_mut(thread).about, *about);
                Old::About { thread, about: Box::new(about) }
            }
            Old::Flag { number, withdrawn } => {
                Old::Flag { number, withdrawn: self.flag(number, withdrawn).unwrap_or(withdrawn) }
            }
            Old::Bookmark { thread, name, mark } => {
                let marks = &mut self.thread_mut(thread).bookmarks;
                let now = match mark {
                    Some(mark) => marks.insert(name.clone(), mark),
                    None => marks.remove(&name),
                };
                Old::Bookmark { thread, name, mark: now }
            }
            Old::Tool { thread, message, part, tool } => {
                let tools = &mut self.thread_mut(thread).tools;
                let now = match tool {
                    Some(tool) => tools.insert((message, part), tool),
                    None => tools.remove(&(message, part)),
                };
                Old::Tool { thread, message, part, tool: now }
            }
            Old::FoldActive { number, active } => {
                Old::FoldActive { number, active: self.set_active(number, active).unwrap_or(active) }
            }
            Old::InputTaken { thread, number, taken } => {
                let mut inputs = self.thread_mut(thread).inputs.iter_mut();
                let input = inputs.find(|input| input.number == number).expect("inputs go with their conversation");
                let taken = std::mem::replace(&mut input.value.taken, taken);
                Old::InputTaken { thread, number, taken }
            }
            Old::Project { number, project } => {
                let kept = self.library_mut().project_mut(number);
                let version = kept.version + 1;
                let now = std::mem::replace(kept, Project { version, ..*project });
                Old::Project { number, project: Box::new(now) }
            }
            Old::Memory { number, memory, writer } => {
                let mut memories = self.library_mut().memories.iter_mut();
                let kept = memories.find(|kept| kept.number == number).expect("old values go with their memory");
                let now = std::mem::replace(&mut kept.value, *memory);
                let writer = std::mem::replace(&mut kept.writer, writer);
                Old::Memory { number, memory: Box::new(now), writer }
            }
        }
    }
}

/// What an undo is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeOf {
    Everything,
    /// What a conversation went through, or what belongs to none.
    Rows(Option<Serial>),
}

impl ScopeOf {
    pub fn holds(self, row: &Row) -> bool {
        self == Self::Everything || self == Self::Rows(row.thread)
    }
}

impl Tx<'_> {
    pub(super) fn step(&mut self, scope: &UndoScope, step: UndoDirection) -> Result<ChangeResult> {
        let target = self.data.target_for_caller(self.data.scope(scope)?, step);
        let nothing = match step {
            UndoDirection::Undo => Conflict::NothingToUndo,
            UndoDirection::Redo => Conflict::NothingToRedo,
        };
        self.undo(target.ok_or(nothing)?)
    }

    pub(super) fn undo(&mut self, position: Position) -> Result<ChangeResult> {
        let of_commit = self.data.journal.iter().filter(|row| row.first == position);
        let rows: Vec<Arc<Row>> = of_commit.cloned().collect();
        let is_undo = rows.iter().any(|row| row.kind == JournalKind::Undone);
        let (step, kind) = match is_undo {
            true => (UndoDirection::Redo, JournalKind::Redone),
            false => (UndoDirection::Undo, JournalKind::Undone),
        };
        // What belongs to no conversation comes first, then the conversations in the order they were made.
        let scopes: BTreeSet<Option<Serial>> = rows.iter().map(|row| row.thread).collect();
        let is_last = |scope: &Option<Serial>| self.data.target(ScopeOf::Rows(*scope), step) == Some(position);
        if scopes.is_empty() || !scopes.iter().all(is_last) {
            return Err(Conflict::Undo.into());
        }
        for scope in scopes {
            let of_scope = rows.iter().rev().filter(|row| row.thread == scope);
            let olds: Vec<Old> =
                of_scope.flat_map(|row| row.olds.iter().rev()).map(|old| self.data.swap(old)).collect();
            self.journal(scope, kind, olds);
            let row = self.data.journal.last_mut().expect("it was just written");
            Arc::make_mut(row).undoes = Some(position);
        }
        Ok(ChangeResult::Applied)
    }
}
