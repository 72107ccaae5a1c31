//! Messages: appended, streamed, finished once.

use super::*;

/// A message that is kept.
#[derive(Debug, Clone)]
pub struct Kept {
    pub id: MessageId,
    pub branch: BranchId,
    /// Its place in the branch, counted from 1.
    pub slot: usize,
    pub arrival: Position,
    pub content: Content,
    /// What it said when it came: the same again is a retry.
    pub given: Content,
    pub erased: bool,
    /// What it adds to the counts of its path; an erasure leaves that.
    pub sums: Sums,
    pub chunks: Vec<String>,
    pub origin: Option<MessageOrigin>,
}

impl Kept {
    /// Returns it as a reader sees it; of its address only the slot.
    pub fn shown(&self) -> Message {
        Message {
            id: self.id,
            address: Address(self.slot as i64),
            arrival: self.arrival,
            erased: self.erased,
            content: Content { body: self.body(), ..self.content.clone() },
        }
    }

    /// Returns what it says now, with the chunks that have come.
    pub fn body(&self) -> Body {
        self.content.body.clone().with_text(&self.chunks.concat())
    }
}

impl Tx<'_> {
    /// The same messages again are a retry, mixed or different ones a conflict.
    pub(super) fn already_there(&self, serial: Serial, messages: &[NewMessage]) -> Result<bool> {
        let mut found = 0;
        for message in messages {
            let Ok((owner, kept)) = self.data.message(message.id) else { continue };
            let streamed = kept.given.status == MessageStatus::Streaming;
            let same = match streamed {
                true => message.content.status == MessageStatus::Streaming,
                false => message.content == kept.given,
            };
            if !same || owner.serial != serial {
                return Err(exists("message", message.id));
            }
            found += 1;
        }
        if found > 0 {
            return if found == messages.len() { Ok(true) } else { Err(Conflict::Key.into()) };
        }
        let mut ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
        ids.sort_unstable();
        match ids.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(exists("message", pair[0])),
            None => Ok(false),
        }
    }

    pub(super) fn append(
        &mut self,
        conversation: ConversationId,
        at: &MessageAt,
        head: HeadMove,
        why: BranchReason,
        messages: &[NewMessage],
        origins: &[MessageOrigin],
    ) -> Result<ChangeResult> {
        let Some(last) = messages.last() else { return invalid("an append has at least one message") };
        let thread = self.data.seen(conversation)?;
        let (serial, old) = (thread.serial, thread.old_head());
        if self.already_there(serial, messages)? {
            return Ok(ChangeResult::Messages(Some(last.id)));
        }
        let shown = thread.head;
        let fork = match at {
            MessageAt::Head { branch } => {
                let end = thread.branch(shown.branch).and_then(|branch| branch.path().last().copied());
                (shown.at != end).then_some((*branch, shown))
            }
            MessageAt::After { message: None, branch } => Some((*branch, Place { branch: shown.branch, at: None })),
            MessageAt::After { message: Some(message), branch } => {
                Some((*branch, self.data.place_at(thread, *message)?))
            }
            MessageAt::InsteadOf { message, branch } => {
                let place = self.data.place_at(thread, *message)?;
                let path = self.data.path(place);
                Some((*branch, Place { at: path.iter().nth_back(1).copied(), ..place }))
            }
            MessageAt::Branch { branch } => {
                thread.branch(*branch).ok_or_else(|| not_found("branch", branch))?;
                None
            }
        };
        let branch = match (fork, at) {
            (Some((id, from)), _) => {
                self.insert_fork(serial, id, from, why)?;
                id
            }
            (None, MessageAt::Branch { branch }) => *branch,
            (None, _) => shown.branch,
        };
        self.insert_messages(serial, branch, messages, origins)?;
        let mut olds = Vec::new();
        if head == HeadMove::Follow {
            let now = self.at;
            let thread = self.data.thread_mut(serial);
            thread.head = Place { branch, at: Some(last.id) };
            thread.about.active_at = thread.about.active_at.max(now);
            olds.push(old);
        }
        self.journal_many(Some(serial), JournalKind::MessagesAppended, messages.len(), olds);
        self.about(messages.iter().map(|message| message.id));
        Ok(ChangeResult::Messages(Some(last.id)))
    }

    /// Puts messages at the end of the own messages of a branch.
    pub(super) fn insert_messages(
        &mut self,
        serial: Serial,
        branch: BranchId,
        messages: &[NewMessage],
        origins: &[MessageOrigin],
    ) -> Result<()> {
        let next = self.data.next();
        for (place, message) in messages.iter().enumerate() {
            let origin = origins.iter().find(|origin| origin.message == message.id);
            if let Some(origin) = origin {
                self.data.library.source(origin.source)?;
            }
            self.data.meet(message.content.author.as_ref());
            self.use_blobs(message.id, &message.content.body);
            let thread = self.data.thread_mut(serial);
            thread.branch_mut(branch).own.push(message.id);
            let kept = Kept {
                id: message.id,
                branch,
                slot: thread.branch_mut(branch).own.len(),
                arrival: next + place as i64,
                content: message.content.clone(),
                given: message.content.clone(),
                erased: false,
                sums: message.content.sums(),
                chunks: Vec::new(),
                origin: origin.cloned(),
            };
            thread.messages.insert(message.id, Arc::new(kept));
        }
        Ok(())
    }

    /// Finds a message whose conversation is there to be changed.
    pub(super) fn owned(&self, id: MessageId) -> Result<(&Thread, &Kept)> {
        let (thread, kept) = self.data.message(id)?;
        match thread.is_seen() {
            true => Ok((thread, kept)),
            false => Err(not_found("message", id)),
        }
    }

    pub(super) fn append_chunk(&mut self, message: MessageId, delta: String) -> Result<ChangeResult> {
        let (thread, kept) = self.owned(message)?;
        let serial = thread.serial;
        if kept.content.status != MessageStatus::Streaming {
            return Err(Conflict::NotStreaming.into());
        }
        self.data.thread_mut(serial).message_mut(message).chunks.push(delta);
        self.journal(Some(serial), JournalKind::ChunkAppended, Vec::new());
        self.about([message]);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn finish_message(&mut self, message: MessageId, finish: &Finish) -> Result<ChangeResult> {
        if finish.status == MessageStatus::Streaming {
            return invalid("a message is finished as complete, incomplete or failed");
        }
        let (thread, kept) = self.owned(message)?;
        let serial = thread.serial;
        if kept.content.status != MessageStatus::Streaming {
            let same_body = finish.body.as_ref().is_none_or(|body| kept.content.body == *body);
            let same = same_body && kept.content.status == finish.status;
            return if same { Ok(ChangeResult::Applied) } else { Err(Conflict::NotStreaming.into()) };
        }
        let body = finish.body.clone().unwrap_or_else(|| kept.body());
        self.use_blobs(message, &body);
        let before = kept_sums(self.data, message);
        let kept = self.data.thread_mut(serial).message_mut(message);
        kept.content.status = finish.status;
        kept.content.body = body;
        kept.content.tokens = finish.tokens;
        kept.content.usage = finish.usage.clone();
        kept.sums = kept.content.sums();
        kept.chunks.clear();
        if kept_sums(self.data, message) != before {
            let counted_again = self.behind(message);
            self.changed.extend(counted_again);
        }
        self.journal(Some(serial), JournalKind::MessageFinished, Vec::new());
        self.about([message]);
        Ok(ChangeResult::Applied)
    }

    /// Returns the conversations whose shown branch is behind a message: their counts are recomputed.
    fn behind(&self, message: MessageId) -> BTreeSet<Serial> {
        let (_, kept) = self.data.message(message).expect("it was just finished");
        let (_, home) = self.data.branch(kept.branch).expect("a message lies on a branch");
        let later = &home.own[kept.slot - 1..];
        let branches = || self.data.threads.iter().flat_map(|thread| &thread.branches);
        let leaves = |branch: &&Branch| {
            branch.fork.is_some_and(|fork| later.contains(&fork))
                || branch
                    .pieces
                    .iter()
                    .any(|piece| home.own.contains(&piece[0]) && piece.last().is_some_and(|last| later.contains(last)))
        };
        let mut behind: BTreeSet<BranchId> = branches().filter(leaves).map(|branch| branch.id).collect();
        loop {
            let children = branches().filter(|branch| branch.parent.is_some_and(|parent| behind.contains(&parent)));
            let children: Vec<BranchId> = children.map(|branch| branch.id).collect();
            let before = behind.len();
            behind.extend(children);
            if behind.len() == before {
                break;
            }
        }
        let shown = self.data.threads.iter().filter(|thread| behind.contains(&thread.head.branch));
        shown.map(|thread| thread.serial).collect()
    }
}

fn kept_sums(data: &Data, message: MessageId) -> Sums {
    data.message(message).expect("it exists").1.sums
}
