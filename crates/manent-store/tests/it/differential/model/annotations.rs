//! What is attached to conversations: notes, bookmarks, state, folds, model calls.

use super::*;

/// Something that can be withdrawn and brought back; no two things have the same number.
#[derive(Debug, Clone)]
pub struct Fastened<T> {
    pub number: u64,
    pub withdrawn: bool,
    pub value: T,
    /// The messages that it was made from.
    pub covers: Vec<MessageId>,
    /// Its author.
    pub writer: Option<Author>,
}

impl<T: Clone> Fastened<T> {
    /// Returns what can be seen of many, in order.
    pub fn seen(all: &[Self]) -> Vec<T> {
        all.iter().filter(|one| !one.withdrawn).map(|one| one.value.clone()).collect()
    }
}

/// A named place.
#[derive(Debug, Clone)]
pub struct Marked {
    pub place: Place,
    pub metadata: Option<Json>,
    pub at: Timestamp,
}

const OFF_PATH: &str = "a range must be on the path before its place";

impl Tx<'_> {
    /// Numbers something new, and says what an undo does to it.
    pub(super) fn fasten<T>(&mut self, value: T, covers: Vec<MessageId>) -> (Fastened<T>, Old) {
        let number = self.data.number();
        let writer = self.actor.clone();
        (Fastened { number, withdrawn: false, value, covers, writer }, Old::Flag { number, withdrawn: true })
    }

    pub(super) fn add_note(
        &mut self,
        id: NoteId,
        message: MessageId,
        kind: String,
        value: Json,
    ) -> Result<ChangeResult> {
        let serial = self.owned(message)?.0.serial;
        if self.data.threads.iter().flat_map(|thread| &thread.notes).any(|note| note.value.id == id) {
            return Err(exists("note", id));
        }
        let note = Note { id, message, kind, actor: self.actor.clone(), value, at: self.at };
        let (note, old) = self.fasten(note, Vec::new());
        self.data.thread_mut(serial).notes.push(note);
        self.journal(Some(serial), JournalKind::NoteAdded, vec![old]);
        self.about([message]);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn remove_note(&mut self, id: NoteId) -> Result<ChangeResult> {
        let found = self.data.threads.iter().filter(|thread| thread.is_seen()).find_map(|thread| {
            let note = thread.notes.iter().find(|note| note.value.id == id && !note.withdrawn)?;
            Some((thread.serial, note.number, note.value.message))
        });
        let (serial, number, message) = found.ok_or_else(|| not_found("note", id))?;
        self.data.flag(number, true);
        self.journal(Some(serial), JournalKind::NoteRemoved, vec![Old::Flag { number, withdrawn: false }]);
        self.about([message]);
        Ok(ChangeResult::Applied)
    }

    fn mark(&mut self, serial: Serial, kind: JournalKind, name: &str, mark: Option<Marked>) -> Result<ChangeResult> {
        let set = mark.as_ref().map(|mark| mark.place.at);
        let marks = &mut self.data.thread_mut(serial).bookmarks;
        let earlier = match mark {
            Some(mark) => marks.insert(name.to_owned(), mark),
            None => marks.remove(name),
        };
        let removed = earlier.as_ref().and_then(|mark| mark.place.at);
        let old = Old::Bookmark { thread: serial, name: name.to_owned(), mark: earlier };
        self.journal(Some(serial), kind, vec![old]);
        self.about(set.unwrap_or(removed));
        Ok(ChangeResult::Applied)
    }

    pub(super) fn set_bookmark(
        &mut self,
        conversation: ConversationId,
        name: &str,
        head: Option<MessageId>,
        metadata: Option<Json>,
    ) -> Result<ChangeResult> {
        let thread = self.data.seen(conversation)?;
        let place = self.place_for(thread, head)?;
        let (serial, at) = (thread.serial, self.at);
        self.mark(serial, JournalKind::BookmarkSet, name, Some(Marked { place, metadata, at }))
    }

    pub(super) fn remove_bookmark(&mut self, conversation: ConversationId, name: &str) -> Result<ChangeResult> {
        let thread = self.data.seen(conversation)?;
        let serial = thread.serial;
        if !thread.bookmarks.contains_key(name) {
            return Err(not_found("bookmark", name));
        }
        self.mark(serial, JournalKind::BookmarkRemoved, name, None)
    }

    fn place_for(&self, thread: &Thread, after: Option<MessageId>) -> Result<Place> {
        match after {
            Some(message) => self.data.place_at(thread, message),
            None => Ok(Place { branch: thread.head.branch, at: None }),
        }
    }

    pub(super) fn set_state(
        &mut self,
        conversation: ConversationId,
        name: String,
        after: Option<MessageId>,
        value: Option<Json>,
    ) -> Result<ChangeResult> {
        let thread = self.data.seen(conversation)?;
        let serial = thread.serial;
        self.place_for(thread, after)?;
        self.data.state_names.insert(name.clone());
        let (state, old) = self.fasten(State { name, after, value, at: self.at }, Vec::new());
        self.data.thread_mut(serial).states.push(state);
        self.journal(Some(serial), JournalKind::StateSet, vec![old]);
        self.about(after);
        Ok(ChangeResult::Applied)
    }

    /// Returns the messages of stretches; all must lie on the path that ends at a place.
    fn covered(&self, place: Place, stretches: &[MessageRange]) -> Result<Vec<MessageId>> {
        let path = self.data.path(place);
        let mut covered = Vec::new();
        for stretch in stretches {
            match self.data.stretch(&path, stretch)? {
                Some(messages) => covered.extend(messages),
                None => return invalid(OFF_PATH),
            }
        }
        Ok(covered)
    }

    pub(super) fn add_fold(&mut self, conversation: ConversationId, fold: NewFold) -> Result<ChangeResult> {
        let thread = self.data.seen(conversation)?;
        let serial = thread.serial;
        let place = self.place_for(thread, Some(fold.after))?;
        let covers = self.covered(place, &fold.covers)?;
        if self.data.threads.iter().flat_map(|thread| &thread.folds).any(|other| other.value.id == fold.id) {
            return Err(exists("fold", fold.id));
        }
        let NewFold { id, after, kind, covers: stretches, summary, parent, made_by } = fold;
        let at = self.at;
        let fold = Fold { id, after, kind, covers: stretches, summary, parent, made_by, active: true, at };
        let (fold, old) = self.fasten(fold, covers);
        self.data.thread_mut(serial).folds.push(fold);
        self.journal(Some(serial), JournalKind::FoldAdded, vec![old]);
        self.about([after]);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn set_fold_active(&mut self, id: FoldId, active: bool) -> Result<ChangeResult> {
        let found = self.data.threads.iter().filter(|thread| thread.is_seen()).find_map(|thread| {
            let fold = thread.folds.iter().find(|fold| fold.value.id == id && !fold.withdrawn)?;
            Some((thread.serial, fold.number, fold.value.after))
        });
        let (serial, number, after) = found.ok_or_else(|| not_found("fold", id))?;
        let earlier = self.data.set_active(number, active);
        let old = Old::FoldActive { number, active: earlier.expect("it was found") };
        self.journal(Some(serial), JournalKind::FoldSwitched, vec![old]);
        self.about([after]);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn record_call(&mut self, conversation: ConversationId, call: Call) -> Result<ChangeResult> {
        let thread = self.data.seen(conversation)?;
        let serial = thread.serial;
        let place = self.place_for(thread, call.after)?;
        let covers = self.covered(place, &call.sent)?;
        if self.data.threads.iter().flat_map(|thread| &thread.calls).any(|other| other.value.id == call.id) {
            return Err(exists("call", call.id));
        }
        let after = call.after;
        let (call, old) = self.fasten(call, covers);
        self.data.thread_mut(serial).calls.push(call);
        self.journal(Some(serial), JournalKind::CallRecorded, vec![old]);
        self.about(after);
        Ok(ChangeResult::Applied)
    }
}

impl Data {
    /// Puts a fold in or out of force and returns how it was.
    pub fn set_active(&mut self, number: u64, active: bool) -> Option<bool> {
        let has = |thread: &Thread| thread.folds.iter().any(|fold| fold.number == number);
        let serial = self.threads.iter().find(|thread| has(thread))?.serial;
        let fold = self.thread_mut(serial).folds.iter_mut().find(|fold| fold.number == number)?;
        Some(std::mem::replace(&mut fold.value.active, active))
    }
}
