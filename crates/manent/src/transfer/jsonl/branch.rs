//! Import of branches and their messages from JSON lines.

use crate::error::Result;
use crate::transfer::jsonl::group::*;
use crate::transfer::jsonl::import::Importer;
use crate::transfer::jsonl::record::*;
use manent_model::MessageId;
use manent_store::{
    BranchBase, Change, Direction, EraseTarget, LocatedMessage, MessagePageQuery, MessagesQuery, PAGE_MAX,
};
use std::collections::HashMap;

/// A branch that is opened when its first messages are known.
pub(crate) struct Waiting {
    pub record: BranchRecord,
    /// Its first messages, if another stored conversation owns them: a fork that was exported without its parent
    /// contains copies of them.
    here: Vec<LocatedMessage>,
}

impl Importer<'_> {
    pub(crate) async fn branch(&mut self, line: &Line) -> Result<()> {
        self.store_messages().await?;
        let Some(record) = self.read::<BranchRecord>(line) else { return Ok(()) };
        if record.own_in_ranges > OWN_IN_RANGES_MAX {
            self.problem(format!("a branch has at most {OWN_IN_RANGES_MAX} messages of its own in its ranges"));
            return Ok(());
        }
        let waits = record.own_in_ranges > 0 || (record.parent.is_none() && record.ranges.is_empty());
        if let Some(open) = &mut self.open {
            open.branch = Some(Waiting { record, here: Vec::new() });
        }
        if waits { Ok(()) } else { self.open_branch(None).await }
    }

    /// Opens the pending branch, with the messages inside its pieces.
    async fn open_branch(&mut self, base: Option<BranchBase>) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let Some(Waiting { record: branch, .. }) = open.branch.take() else { return Ok(()) };
        let own = match branch.own_in_ranges > 0 {
            true => std::mem::take(&mut open.waiting),
            false => Vec::new(),
        };
        let change = Change::OpenBranch {
            conversation: open.record.id,
            branch: branch.id,
            base: base.or(branch.parent.map(|parent| BranchBase { parent, fork: branch.fork })),
            own: own.iter().map(|(_, record)| new_message(record)).collect(),
            pieces: branch.ranges,
            why: branch.reason,
            origins: own.iter().filter_map(|(_, record)| record.origin.clone()).collect(),
        };
        match self.attempt(manent_store::now(), None, change).await? {
            None => self.stored(&own).await,
            Some(error) => {
                self.problem(error);
                Ok(())
            }
        }
    }

    pub(crate) async fn message(&mut self, line: &Line) -> Result<()> {
        let Some(record) = self.read::<MessageRecord>(line) else { return Ok(()) };
        let Some(open) = &mut self.open else { return Ok(()) };
        let other_branch = open.waiting.last().is_some_and(|(_, last)| last.branch != record.branch);
        if let Some(branch) = open.branch.as_ref().filter(|branch| branch.record.own_in_ranges > 0) {
            let complete = open.waiting.len() as i64 + 1 == branch.record.own_in_ranges;
            open.waiting.push((self.line, record));
            return if complete { self.open_branch(None).await } else { Ok(()) };
        }
        let size = size_of(&record);
        if other_branch {
            self.store_messages().await?;
        } else if open.waiting.len() >= GROUP || open.bytes + size > GROUP_BYTES {
            self.store_group().await?;
        }
        if let Some(open) = &mut self.open {
            open.bytes += size;
            open.waiting.push((self.line, record));
        }
        Ok(())
    }

    /// Stores the pending messages, and first opens the pending branch.
    pub(crate) async fn store_messages(&mut self) -> Result<()> {
        self.store_group().await?;
        match self.open.as_ref().is_some_and(|open| open.branch.is_some()) {
            true => self.open_where_it_begins().await,
            false => Ok(()),
        }
    }

    /// Appends the pending messages to their branch; a refused one does not affect the others.
    async fn store_group(&mut self) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let mut waiting = std::mem::take(&mut open.waiting);
        open.bytes = 0;
        let conversation = open.record.id;
        if open.branch.as_ref().is_some_and(|branch| branch.record.own_in_ranges == 0) {
            let here = self.how_many_are_here(&waiting).await?;
            waiting.drain(..here);
            if !waiting.is_empty() {
                self.open_where_it_begins().await?;
            }
        }
        if waiting.is_empty() {
            return Ok(());
        }
        if self.attempt(manent_store::now(), None, appending(conversation, &waiting)).await?.is_none() {
            return self.stored(&waiting).await;
        }
        for alone in waiting.chunks(1) {
            match self.attempt(manent_store::now(), None, appending(conversation, alone)).await? {
                None => self.stored(alone).await?,
                Some(error) => self.problem_at(alone[0].0, error),
            }
        }
        Ok(())
    }

    /// Counts the first messages of the pending branch that are stored already, on one path of another conversation.
    async fn how_many_are_here(&mut self, records: &[(u64, MessageRecord)]) -> Result<usize> {
        let ids = records.iter().map(|(_, record)| record.id).collect();
        let found = self.database.store.messages(MessagesQuery::Ids(ids)).await?;
        let mut found: HashMap<MessageId, LocatedMessage> =
            found.into_iter().map(|one| (one.message.id, one)).collect();
        let Some(open) = &mut self.open else { return Ok(0) };
        let Some(branch) = &mut open.branch else { return Ok(0) };
        let before = branch.here.len();
        for (_, record) in records {
            let Some(placed) = found.remove(&record.id).filter(|placed| placed.conversation != open.record.id) else {
                break;
            };
            // An erased message is still the same message. Otherwise the content must match, so that a file with a
            // guessed id does not gain access to another conversation's message.
            if !placed.message.erased && placed.message.content != new_message(record).content {
                break;
            }
            branch.here.push(placed);
        }
        let count = branch.here.len() - before;
        // A stored message that does not follow the ones before it cannot start this branch.
        match count > 0 && !self.is_a_path().await? {
            true => {
                if let Some(branch) = self.open.as_mut().and_then(|open| open.branch.as_mut()) {
                    branch.here.truncate(before);
                }
                Ok(0)
            }
            false => Ok(count),
        }
    }

    /// Returns whether the stored messages are a prefix of the path that ends with the last of them.
    async fn is_a_path(&self) -> Result<bool> {
        let Some(branch) = self.open.as_ref().and_then(|open| open.branch.as_ref()) else { return Ok(false) };
        let Some(last) = branch.here.last() else { return Ok(false) };
        let (mut from, mut rest) = (None, branch.here.as_slice());
        while !rest.is_empty() {
            let query = MessagePageQuery {
                conversation: last.conversation,
                branch: Some(last.branch),
                from,
                direction: Direction::Forward,
                limit: rest.len().min(PAGE_MAX as usize) as u32,
            };
            // A page is also limited in bytes, so it may be shorter than requested.
            let page = self.database.store.message_page(query).await?.messages;
            let (part, behind) = rest.split_at(page.len().min(rest.len()));
            if page.is_empty() || !page.iter().map(|message| message.id).eq(part.iter().map(|one| one.message.id)) {
                return Ok(false);
            }
            from = page.last().map(|message| message.id);
            rest = behind;
        }
        Ok(true)
    }

    /// Opens the pending branch by reference after the messages that are stored already.
    async fn open_where_it_begins(&mut self) -> Result<()> {
        let last = self.open.as_ref().and_then(|open| open.branch.as_ref()).and_then(|branch| branch.here.last());
        let base = last.map(|last| BranchBase { parent: last.branch, fork: Some(last.message.id) });
        self.open_branch(base).await
    }

    /// Counts stored messages. Messages erased in the source store are erased here too: only their address is
    /// imported.
    ///
    /// Not called for refused messages: their ids may belong to unrelated messages.
    async fn stored(&mut self, records: &[(u64, MessageRecord)]) -> Result<()> {
        self.report.messages += records.len() as u64;
        for (_, record) in records.iter().filter(|(_, record)| record.erased) {
            self.database.erase(EraseTarget::Message(record.id)).await?;
        }
        Ok(())
    }
}
