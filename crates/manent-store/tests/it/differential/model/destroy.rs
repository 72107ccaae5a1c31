//! Purge and erase: the only changes that destroy.
//!
//! A store does them in steps. The model does everything in the first one and is told how many there were.

use super::super::question::ERASED;
use super::annotations::Fastened;
use super::*;

/// How thoroughly a conversation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// What other paths reach stays readable for them.
    Purge,
    /// The content goes everywhere.
    Erase,
}

impl Model {
    /// Destroys, and returns the first position and the last one of what was written down about it.
    pub fn destroy(&mut self, transaction: &Transaction) -> Result<(Position, Position)> {
        let mut data = self.data.clone();
        let mut tx = Tx::new(&mut data, transaction);
        let first = tx.first;
        tx.data.meet(transaction.actor.as_ref());
        match &transaction.changes[..] {
            [Change::Purge { conversation }] => tx.purge(*conversation)?,
            [Change::Erase { target: EraseTarget::Conversation(conversation) }] => {
                let thread = tx.data.any_thread(*conversation);
                let serial = thread.ok_or_else(|| not_found("conversation", conversation))?.serial;
                tx.destroy_thread(serial, Depth::Erase);
            }
            [Change::Erase { target: EraseTarget::Message(message) }] => tx.erase_message(*message)?,
            [Change::Erase { target: EraseTarget::Person(author) }] => tx.erase_author(author)?,
            changes => unreachable!("{changes:?} destroy nothing"),
        }
        tx.finish();
        self.data = data;
        Ok((first, self.data.next() - 1))
    }

    /// Writes down where the steps of an erasure ended: a row belongs to the step that it was written in.
    pub fn learn_steps(&mut self, steps: &[Committed]) {
        for step in steps {
            for row in &mut self.data.journal {
                if (step.first..=step.position).contains(&row.position) {
                    Arc::make_mut(row).first = step.first;
                }
            }
        }
    }

    /// Takes over a version that the model did not predict.
    pub fn learn_version(&mut self, conversation: ConversationId, version: i64) {
        let serial = self.data.seen(conversation).expect("the store has it").serial;
        self.data.thread_mut(serial).version = version;
    }
}

impl Tx<'_> {
    fn purge(&mut self, conversation: ConversationId) -> Result<()> {
        let Some(thread) = self.data.any_thread(conversation) else { return Ok(()) };
        match thread.about.life {
            Life::Purged | Life::Is(ConversationStatus::Trashed) => {}
            Life::Is(_) => return Err(Conflict::NotTrashed.into()),
        }
        let serial = thread.serial;
        self.destroy_thread(serial, Depth::Purge);
        Ok(())
    }

    fn destroy_thread(&mut self, serial: Serial, depth: Depth) {
        if self.data.thread(serial).about.life != Life::Purged {
            self.hide(serial, depth);
        }
        let needed = self.data.needed_elsewhere(serial);
        let left_from = self.data.is_left_from(serial);
        let thread = self.data.thread_mut(serial);
        thread.notes.clear();
        thread.states.clear();
        thread.folds.clear();
        thread.calls.clear();
        thread.inputs.clear();
        thread.tools.clear();
        thread.steps.clear();
        thread.events.clear();
        let id = thread.id;
        let messages: Vec<MessageId> = thread.messages.keys().copied().collect();
        self.data.library_mut().scratch.retain(|(_, about, _), _| *about != id.to_string());
        if depth == Depth::Erase {
            self.forget_memories(|memory| memory.value.conversation == Some(id));
            let library = self.data.library_mut();
            library.origins.retain(|origin| origin.value.object != OriginObject::Conversation(id));
        }
        let before_runs = self.data.before_runs(serial);
        for message in messages {
            match (needed.contains(&message), depth) {
                (false, _) if before_runs.contains(&message) => self.empty_message(message),
                (false, _) => self.delete_message(serial, message, depth),
                (true, Depth::Erase) => self.empty_message(message),
                (true, Depth::Purge) => {}
            }
        }
        self.forget_olds_of_gone();
        if depth == Depth::Erase {
            self.forget_words();
        }
        if needed.is_empty() && !left_from {
            self.remove_thread(serial);
        }
    }

    /// Takes a conversation out of every list and forgets what it was before.
    fn hide(&mut self, serial: Serial, depth: Depth) {
        self.forget_olds(Some(serial));
        let kind = if depth == Depth::Erase { JournalKind::Erased } else { JournalKind::Purged };
        self.journal(Some(serial), kind, Vec::new());
        let thread = self.data.thread_mut(serial);
        thread.about.life = Life::Purged;
        let tags = std::mem::take(&mut thread.about.tags);
        thread.about.title.clear();
        thread.about.members.clear();
        (thread.about.metadata, thread.about.project) = (None, None);
        (thread.external_id, thread.creator) = (None, None);
        thread.bookmarks.clear();
        thread.lease = None;
        self.forget_tags(&tags);
    }

    /// Forgets the old values of a conversation, and the tags in them.
    fn forget_olds(&mut self, scope: Option<Serial>) {
        let mut tags = BTreeSet::new();
        for row in self.data.journal.iter_mut().filter(|row| row.thread == scope && !row.olds.is_empty()) {
            for old in std::mem::take(&mut Arc::make_mut(row).olds) {
                if let Old::About { about, .. } = old {
                    tags.extend(about.tags);
                }
            }
        }
        self.forget_tags(&tags);
    }

    fn forget_tags(&mut self, tags: &BTreeSet<usize>) {
        for tag in tags {
            if !self.data.threads.iter().any(|thread| thread.about.tags.contains(tag)) {
                self.data.tags[*tag] = ERASED.to_owned();
            }
        }
    }

    /// Forgets rows of old values of which one names what is gone.
    fn forget_olds_of_gone(&mut self) {
        let kept: BTreeSet<u64> = self.data.numbers();
        let gone = |old: &Old| match old {
            Old::Flag { number, .. }
            | Old::FoldActive { number, .. }
            | Old::InputTaken { number, .. }
            | Old::Memory { number, .. } => !kept.contains(number),
            _ => false,
        };
        for row in &mut self.data.journal {
            if row.olds.iter().any(gone) {
                Arc::make_mut(row).olds.clear();
            }
        }
    }

    /// Forgets names of states and collections that nothing has any more.
    fn forget_words(&mut self) {
        let states = self.data.threads.iter().flat_map(|thread| &thread.states);
        let used: BTreeSet<String> = states.map(|state| state.value.name.clone()).collect();
        self.data.state_names.retain(|name| used.contains(name));
        let memories = self.data.library.memories.iter();
        let used: BTreeSet<String> = memories.map(|memory| memory.value.collection.clone()).collect();
        self.data.collections.retain(|name| used.contains(name));
        self.change_old_memories(|memory| {
            if !used.contains(&memory.collection) {
                memory.collection = ERASED.to_owned();
            }
        });
    }

    /// Changes every memory that an undo could bring back.
    fn change_old_memories(&mut self, change: impl Fn(&mut Memory)) {
        let has_memory = |old: &Old| matches!(old, Old::Memory { .. });
        for row in self.data.journal.iter_mut().filter(|row| row.olds.iter().any(has_memory)) {
            for old in &mut Arc::make_mut(row).olds {
                if let Old::Memory { memory, .. } = old {
                    change(memory);
                }
            }
        }
    }

    fn change_memories(&mut self, change: impl Fn(&mut Memory)) {
        self.data.library_mut().memories.iter_mut().for_each(|memory| change(&mut memory.value));
        self.change_old_memories(change);
    }

    /// Deletes a message that no path reaches; its place stays.
    fn delete_message(&mut self, serial: Serial, id: MessageId, depth: Depth) {
        if depth == Depth::Erase {
            self.forget_named(id);
        }
        let number = self.data.number();
        let unknown = MessageId::new(0, [&[0xFF, 0xFF][..], &number.to_be_bytes()].concat().try_into().expect("ten"));
        let thread = self.data.thread_mut(serial);
        thread.messages.remove(&id);
        // Its position keeps a placeholder id that no operation names: the id may be used again elsewhere.
        for branch in &mut thread.branches {
            let lists = branch.base.iter_mut().chain(&mut branch.pieces).chain([&mut branch.own]);
            lists.flatten().filter(|other| **other == id).for_each(|other| *other = unknown);
            branch.fork = branch.fork.map(|fork| if fork == id { unknown } else { fork });
        }
        thread.head.at = thread.head.at.map(|at| if at == id { unknown } else { at });
        self.forget_uses(id);
        self.change_memories(|memory| {
            if memory.message == Some(id) {
                memory.message = None;
            }
        });
    }

    /// Forgets blobs that nothing shows any more.
    fn forget_uses(&mut self, id: MessageId) {
        self.data.library_mut().blobs.retain_mut(|blob| !blob.used_by.remove(&id) || !blob.used_by.is_empty());
    }

    /// Forgets what is tied to a message alone.
    fn forget_named(&mut self, id: MessageId) {
        self.forget_memories(|memory| memory.value.message == Some(id));
        self.data.library_mut().origins.retain(|origin| origin.value.object != OriginObject::Message(id));
    }

    /// Forgets memories, and what they were in their own program.
    fn forget_memories(&mut self, goes: impl Fn(&Fastened<Memory>) -> bool) {
        let library = self.data.library_mut();
        let gone: BTreeSet<MemoryId> =
            library.memories.iter().filter(|one| goes(one)).map(|memory| memory.value.id).collect();
        library.memories.retain(|memory| !gone.contains(&memory.value.id));
        let of_gone = |object: &OriginObject| matches!(object, OriginObject::Memory(id) if gone.contains(id));
        library.origins.retain(|origin| !of_gone(&origin.value.object));
    }

    /// Removes the content of a message and its attachments; its position stays.
    fn empty_message(&mut self, id: MessageId) {
        let (thread, kept) = self.data.message(id).expect("it exists");
        let serial = thread.serial;
        if kept.erased {
            return;
        }
        self.forget_named(id);
        self.forget_uses(id);
        let kept = self.data.thread_mut(serial).message_mut(id);
        kept.erased = true;
        kept.origin = None;
        kept.chunks.clear();
        let content = &mut kept.content;
        if content.status == MessageStatus::Streaming {
            content.status = MessageStatus::Incomplete;
        }
        (content.author, content.usage, content.metadata) = (None, None, None);
        content.body = Body::of(&[]);
        let mut derived = BTreeSet::new();
        for serial in self.data.threads.iter().map(|thread| thread.serial).collect::<Vec<_>>() {
            let thread = self.data.thread_mut(serial);
            thread.notes.retain(|note| note.value.message != id);
            thread.states.retain(|state| state.value.after != Some(id));
            thread.tools.retain(|(message, _), _| *message != id);
            thread.steps.retain(|step| step.message != id);
            let covered = thread.folds.iter().filter(|fold| fold.covers.contains(&id));
            derived.extend(covered.map(|fold| fold.value.id));
            thread.folds.retain(|fold| !fold.covers.contains(&id));
            thread.calls.retain(|call| !call.covers.contains(&id));
        }
        let of_derived = |object: &OriginObject| matches!(object, OriginObject::Fold(fold) if derived.contains(fold));
        self.data.library_mut().origins.retain(|origin| !of_derived(&origin.value.object));
    }

    fn erase_message(&mut self, id: MessageId) -> Result<()> {
        let (thread, kept) = self.data.message(id)?;
        let serial = thread.serial;
        if !kept.erased {
            self.empty_message(id);
            self.forget_olds(Some(serial));
            self.journal(Some(serial), JournalKind::Erased, Vec::new());
            self.about([id]);
            self.forget_olds_of_gone();
        }
        Ok(())
    }

    fn erase_author(&mut self, external_id: &str) -> Result<()> {
        let authors: Vec<Author> = self.data.authors.iter().filter(|one| one.id == external_id).cloned().collect();
        if authors.is_empty() && !self.data.knows(external_id) {
            return Err(not_found("author", external_id));
        }
        for serial in self.data.taken_back_by(external_id) {
            self.destroy_thread(serial, Depth::Erase);
        }
        for author in &authors {
            for id in self.data.written_by(author) {
                self.erase_message(id)?;
            }
        }
        let by = |author: &Option<Author>| author.as_ref().is_some_and(|author| author.id == external_id);
        self.data.library_mut().scratch.retain(|(_, _, actor), _| *actor != external_id);
        for serial in self.data.threads.iter().map(|thread| thread.serial).collect::<Vec<_>>() {
            let thread = self.data.thread_mut(serial);
            thread.notes.retain(|note| !by(&note.value.actor));
            thread.states.retain(|state| !by(&state.writer));
            thread.inputs.retain(|input| !by(&input.writer));
            thread.steps.iter_mut().filter(|step| by(&step.step.actor)).for_each(|step| step.step.note.clear());
            let members = &mut self.data.thread_mut(serial).about.members;
            let before = members.len();
            members.retain(|member| member.id != external_id);
            if members.len() < before {
                self.changed.insert(serial);
                self.forget_olds(Some(serial));
            }
        }
        self.forget_memories(|memory| by(&memory.writer));
        let is_theirs =
            |old: &Old| matches!(old, Old::Memory { writer, .. } if by(writer)) || old.has_member(external_id);
        for row in &mut self.data.journal {
            if row.olds.iter().any(is_theirs) {
                Arc::make_mut(row).olds.clear();
            }
        }
        self.forget_olds_of_gone();
        self.forget_words();
        self.data.forget_author(external_id);
        if self.actor.as_ref().is_some_and(|actor| actor.id == external_id) {
            self.actor = Some(Author { id: ERASED.to_owned(), name: String::new() });
        }
        self.journal(None, JournalKind::Erased, Vec::new());
        Ok(())
    }

    /// Nothing reaches this conversation any more.
    fn remove_thread(&mut self, serial: Serial) {
        let thread = self.data.thread(serial);
        let id = thread.id;
        let own: BTreeSet<BranchId> = thread.branches.iter().map(|branch| branch.id).collect();
        self.data.threads.retain(|thread| thread.serial != serial);
        for other in self.data.threads.iter().map(|thread| thread.serial).collect::<Vec<_>>() {
            for branch in &mut self.data.thread_mut(other).branches {
                branch.parent = branch.parent.filter(|parent| !own.contains(parent));
            }
        }
        self.change_memories(|memory| {
            if memory.conversation == Some(id) {
                memory.conversation = None;
            }
        });
    }
}

impl Old {
    fn has_member(&self, external_id: &str) -> bool {
        match self {
            Self::About { about, .. } => about.members.iter().any(|member| member.id == external_id),
            _ => false,
        }
    }
}

impl Data {
    /// Returns the messages of a conversation that paths of others reach.
    fn needed_elsewhere(&self, serial: Serial) -> BTreeSet<MessageId> {
        let others = self.threads.iter().filter(|thread| thread.serial != serial);
        let branches = others.flat_map(|thread| &thread.branches);
        branches
            .flat_map(|branch| branch.base.iter().chain(&branch.pieces))
            .flatten()
            .copied()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .filter(|id| self.thread(serial).messages.contains_key(id))
            .collect()
    }

    /// Returns the messages of a conversation that stand right before a run that others reach: they are emptied, but
    /// their places stay for counting.
    fn before_runs(&self, serial: Serial) -> BTreeSet<MessageId> {
        let others = self.threads.iter().filter(|thread| thread.serial != serial);
        let branches = others.flat_map(|thread| &thread.branches);
        let runs = branches.flat_map(|branch| branch.base.iter().chain(&branch.pieces));
        let starts: BTreeSet<MessageId> = runs.filter_map(|run| run.first().copied()).collect();
        let own = self.thread(serial).branches.iter().flat_map(|branch| branch.own.windows(2));
        own.filter(|pair| starts.contains(&pair[1])).map(|pair| pair[0]).collect()
    }

    /// Says whether a branch of another conversation leaves from a message on a branch of this one.
    fn is_left_from(&self, serial: Serial) -> bool {
        let own = |id: BranchId| self.thread(serial).branch(id).is_some();
        let others = self.threads.iter().filter(|thread| thread.serial != serial);
        let mut branches = others.flat_map(|thread| &thread.branches);
        branches.any(|branch| branch.fork.is_some() && branch.parent.is_some_and(own))
    }

    /// Returns the numbers of everything that can be withdrawn.
    fn numbers(&self) -> BTreeSet<u64> {
        let mut numbers = BTreeSet::new();
        for thread in &self.threads {
            numbers.extend(thread.notes.iter().map(|one| one.number));
            numbers.extend(thread.states.iter().map(|one| one.number));
            numbers.extend(thread.folds.iter().map(|one| one.number));
            numbers.extend(thread.calls.iter().map(|one| one.number));
            numbers.extend(thread.steps.iter().map(|one| one.number));
            numbers.extend(thread.events.iter().map(|one| one.number));
            numbers.extend(thread.inputs.iter().map(|one| one.number));
        }
        let library = &self.library;
        numbers.extend(library.projects.iter().map(|one| one.number));
        numbers.extend(library.documents.iter().map(|one| one.number));
        numbers.extend(library.memories.iter().map(|one| one.number));
        numbers.extend(library.sources.iter().map(|one| one.number));
        numbers.extend(library.origins.iter().map(|one| one.number));
        numbers.extend(library.quarantined.iter().map(|one| one.number));
        numbers
    }

    /// Returns the messages of an author, in the order of branches and slots.
    fn written_by(&self, author: &Author) -> Vec<MessageId> {
        let kept = self.threads.iter().flat_map(|thread| thread.in_order());
        let mut found: Vec<&Kept> = kept.filter(|kept| kept.content.author.as_ref() == Some(author)).collect();
        found.sort_by_key(|kept| (self.branch(kept.branch).map_or(0, |(_, branch)| branch.number), kept.slot));
        found.iter().map(|kept| kept.id).collect()
    }

    /// Says whether a person without messages is or was a member, or left a draft.
    fn knows(&self, external_id: &str) -> bool {
        let is_member = |member: &Author| member.id == external_id;
        self.library.scratch.keys().any(|(_, _, actor)| actor == external_id)
            || self.threads.iter().any(|thread| thread.about.members.iter().any(is_member))
            || self.journal.iter().any(|row| row.olds.iter().any(|old| old.has_member(external_id)))
    }

    /// Returns the conversations whose creation a person undid.
    fn taken_back_by(&self, external_id: &str) -> Vec<Serial> {
        let is_theirs = |author: &Author| author.id == external_id;
        let of = |thread: &&Arc<Thread>| {
            thread.withdrawn && thread.about.life != Life::Purged && thread.creator.as_ref().is_some_and(is_theirs)
        };
        self.threads.iter().filter(of).map(|thread| thread.serial).collect()
    }

    /// The external id no longer names an author; their remaining records have no name.
    fn forget_author(&mut self, external_id: &str) {
        self.authors.retain(|author| author.id != external_id);
        let nameless = |author: &mut Option<Author>| {
            if author.as_ref().is_some_and(|author| author.id == external_id) {
                *author = Some(Author { id: ERASED.to_owned(), name: String::new() });
            }
        };
        for thread in &mut self.threads {
            let thread = Arc::make_mut(thread);
            nameless(&mut thread.creator);
            thread.steps.iter_mut().for_each(|step| nameless(&mut step.step.actor));
        }
        for row in &mut self.journal {
            if row.actor.as_ref().is_some_and(|actor| actor.id == external_id) {
                nameless(&mut Arc::make_mut(row).actor);
            }
        }
    }
}
