//! Conversations: made, edited. A thread is a conversation with everything in it.

use super::annotations::{Fastened, Marked};
use super::run::{Held, Tool, Trailed};
use super::*;

/// Where a conversation is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Is(ConversationStatus),
    /// Hidden for ever; some of its messages may still be reached from elsewhere.
    Purged,
}

/// What is said about a conversation; an edit changes it and an undo brings it back, whole.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    pub project: Option<ProjectId>,
    pub life: Life,
    pub title: String,
    pub pinned: bool,
    pub created_at: Timestamp,
    pub active_at: Timestamp,
    pub trashed_at: Option<Timestamp>,
    pub members: Vec<Author>,
    pub metadata: Option<Json>,
    /// By number.
    pub tags: BTreeSet<usize>,
}

#[derive(Debug, Clone)]
pub struct Thread {
    pub serial: Serial,
    pub id: ConversationId,
    pub external_id: Option<String>,
    pub kind: ConversationKind,
    pub creator: Option<Author>,
    pub continued_from: Option<ConversationId>,
    pub forked_from: Option<ConversationId>,
    pub about: About,
    pub withdrawn: bool,
    pub version: i64,
    pub head: Place,
    pub branches: Vec<Branch>,
    pub messages: BTreeMap<MessageId, Arc<Kept>>,
    pub notes: Vec<Fastened<Note>>,
    pub bookmarks: BTreeMap<String, Marked>,
    pub states: Vec<Fastened<State>>,
    pub folds: Vec<Fastened<Fold>>,
    pub calls: Vec<Fastened<Call>>,
    pub tools: BTreeMap<(MessageId, u32), Tool>,
    pub steps: Vec<Trailed>,
    pub events: Vec<Fastened<Event>>,
    pub last_event: i64,
    pub inputs: Vec<Fastened<Input>>,
    pub lease: Option<Held>,
}

impl Thread {
    pub fn is_seen(&self) -> bool {
        !self.withdrawn && self.about.life != Life::Purged
    }

    pub fn branch(&self, id: BranchId) -> Option<&Branch> {
        self.branches.iter().find(|branch| branch.id == id)
    }

    pub fn branch_mut(&mut self, id: BranchId) -> &mut Branch {
        self.branches.iter_mut().find(|branch| branch.id == id).expect("a branch of this conversation")
    }

    pub fn message_mut(&mut self, id: MessageId) -> &mut Kept {
        Arc::make_mut(self.messages.get_mut(&id).expect("a message of this conversation"))
    }

    pub fn old_head(&self) -> Old {
        Old::Head { thread: self.serial, head: self.head, active_at: self.about.active_at }
    }
}

impl Tx<'_> {
    pub(super) fn create(
        &mut self,
        id: ConversationId,
        branch: BranchId,
        draft: ConversationDraft,
        importing: bool,
    ) -> Result<ChangeResult> {
        if let Some(existing) = self.existing(id, &draft)? {
            return Ok(ChangeResult::Conversation(existing));
        }
        if let Some(project) = draft.project {
            self.data.library.seen_project(project)?;
        }
        self.data.meet(draft.creator.as_ref());
        let status = if importing { ConversationStatus::Importing } else { ConversationStatus::Active };
        let tags = draft.tags.iter().map(|tag| self.tag(tag)).collect();
        let serial = self.data.number();
        let thread = Thread {
            serial,
            id,
            external_id: draft.external_id,
            kind: draft.kind,
            creator: draft.creator,
            continued_from: draft.continued_from,
            forked_from: draft.forked_from,
            about: About {
                project: draft.project,
                life: Life::Is(status),
                title: draft.title,
                pinned: false,
                created_at: self.at,
                active_at: self.at,
                trashed_at: None,
                members: draft.members,
                metadata: draft.metadata,
                tags,
            },
            withdrawn: false,
            version: 0,
            head: Place { branch, at: None },
            branches: Vec::new(),
            messages: BTreeMap::new(),
            notes: Vec::new(),
            bookmarks: BTreeMap::new(),
            states: Vec::new(),
            folds: Vec::new(),
            calls: Vec::new(),
            tools: BTreeMap::new(),
            steps: Vec::new(),
            events: Vec::new(),
            last_event: 0,
            inputs: Vec::new(),
            lease: None,
        };
        self.data.threads.push(Arc::new(thread));
        let first = Branch {
            number: 0,
            id: branch,
            parent: None,
            fork: None,
            why: BranchReason::Start,
            base: Vec::new(),
            pieces: Vec::new(),
            own: Vec::new(),
            own_in_ranges: 0,
        };
        self.insert_branch(serial, first)?;
        let olds = vec![Old::Thread { thread: serial, withdrawn: true }];
        self.journal(Some(serial), JournalKind::ConversationCreated, olds);
        Ok(ChangeResult::Conversation(id))
    }

    /// The same id or the same external id again is a retry; both at once must name the same conversation.
    fn existing(&self, id: ConversationId, draft: &ConversationDraft) -> Result<Option<ConversationId>> {
        if let Some(thread) = self.data.any_thread(id) {
            let same = thread.external_id == draft.external_id && thread.is_seen();
            return if same { Ok(Some(id)) } else { Err(exists("conversation", id)) };
        }
        let Some(external) = &draft.external_id else { return Ok(None) };
        match self.data.threads.iter().find(|thread| thread.external_id.as_ref() == Some(external)) {
            Some(thread) if thread.withdrawn => Err(exists("conversation", id)),
            Some(thread) => Ok(Some(thread.id)),
            None => Ok(None),
        }
    }

    /// Returns the number of a tag.
    fn tag(&mut self, word: &str) -> usize {
        let found = self.data.tags.iter().position(|tag| tag == word);
        found.unwrap_or_else(|| {
            self.data.tags.push(word.to_owned());
            self.data.tags.len() - 1
        })
    }

    pub(super) fn edit(&mut self, id: ConversationId, patch: &ConversationPatch) -> Result<ChangeResult> {
        let thread = self.data.seen(id)?;
        let (serial, before) = (thread.serial, thread.about.clone());
        if let Some(Some(project)) = patch.project {
            self.data.library.seen_project(project)?;
        }
        let mut about = before.clone();
        if let Some(title) = &patch.title {
            about.title.clone_from(title);
        }
        if let Some(status) = patch.status {
            if status == ConversationStatus::Importing {
                return invalid("a conversation is importing only from its start");
            }
            let was_trashed = about.life == Life::Is(ConversationStatus::Trashed);
            match status {
                ConversationStatus::Trashed if was_trashed => {}
                ConversationStatus::Trashed => about.trashed_at = Some(self.at),
                _ => about.trashed_at = None,
            }
            about.life = Life::Is(status);
        }
        about.pinned = patch.pinned.unwrap_or(about.pinned);
        about.project = patch.project.unwrap_or(about.project);
        about.members = patch.members.clone().unwrap_or(about.members);
        about.metadata = patch.metadata.clone().unwrap_or(about.metadata);
        if let Some(times) = patch.times {
            about.created_at = times.created_at;
            about.active_at = times.active_at;
            about.trashed_at = times.trashed_at;
        }
        for tag in &patch.add_tags {
            about.tags.insert(self.tag(tag));
        }
        for tag in &patch.remove_tags {
            about.tags.retain(|number| self.data.tags[*number] != *tag);
        }
        let olds = match about == before {
            true => Vec::new(),
            false => vec![Old::About { thread: serial, about: Box::new(before) }],
        };
        self.data.thread_mut(serial).about = about;
        self.journal(Some(serial), JournalKind::ConversationEdited, olds);
        Ok(ChangeResult::Applied)
    }
}
