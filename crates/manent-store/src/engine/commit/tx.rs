//! Unit of work of a transaction: the rows that it has read, and the journal rows that it writes.

use crate::api::error::StoreError;
use crate::api::transaction::Position;
use crate::engine::codec::before_image::BeforeImage;
use crate::engine::codec::disk_codes::{Kind, NameKind, STATUS_PURGED};
use crate::engine::codec::{before_image, row_mac};
use crate::engine::commit::row_cache::RowCache;
use crate::engine::search::Doc;
use crate::engine::sql::connection::{
    Connection, DbResult, Row, execute, execute_batched, insert_numbered, query_all, query_one, query_optional,
};
use crate::engine::sql::tx_error::TxResult;
use manent_model::path::Branches;
use manent_model::{
    Address, Author, Branch, BranchId, BranchNo, ConversationId, Digest, DigestKey, Head, MessageId, Sums, Timestamp,
};
use std::sync::Arc;

/// A conversation by its id. A flipped bit in the index leads to another one; the row itself knows its id.
pub(crate) const CONVERSATION: &str =
    "select no, status, version, head_branch_no, head_key, active_at, messages, words,
        tokens, event_cursor, last_pos, digest, listed_at, id
     from conversation
     where no = (select i.no from conversation i where i.id = $1) and withdrawn = 0";

/// The last message between two addresses.
pub(crate) const LAST_OWN: &str = "select key, visible_sum, words_sum, tokens_sum
     from message
     where key between $1 and $2
     order by key desc
     limit 1";

/// An author by id and name.
pub(crate) const AUTHOR: &str = "select no from author where external_id = $1 and name = $2";

/// Returns the first and the last address that a branch may have.
pub(crate) fn own_slots(no: BranchNo) -> (i64, i64) {
    (no.slot(1).0, no.end().0)
}

/// The part of a conversation that most changes touch.
#[derive(Debug, Clone)]
pub(crate) struct ConversationRow {
    pub no: i64,
    pub id: ConversationId,
    pub status: i64,
    pub version: i64,
    pub head: Head,
    pub active_at: i64,
    pub listed_at: i64,
    pub messages: i64,
    pub words: i64,
    pub tokens: i64,
    pub event_cursor: i64,
    pub last_pos: Position,
    pub digest: Digest,
}

impl ConversationRow {
    /// Returns the MAC over the columns that [`Tx::finish`] writes.
    pub(crate) fn head_mac(&self, key: &DigestKey) -> row_mac::Mac {
        let values = (
            self.no,
            self.version,
            self.head.branch.0,
            self.head.at.0,
            self.active_at,
            self.messages,
            self.words,
            self.tokens,
            self.event_cursor,
            self.last_pos,
            &self.digest.0[..],
        );
        row_mac::of(key, "head", &values)
    }

    pub(crate) fn head_image(&self) -> BeforeImage {
        BeforeImage::Head {
            conversation_no: self.no,
            branch_no: self.head.branch.0,
            key: self.head.at.0,
            active_at: self.active_at,
        }
    }
}

/// The location of a message and the conversation that owns it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageLocation {
    pub address: Address,
    pub conversation_no: i64,
}

/// A row of the journal that is about to be written.
pub(crate) struct JournalDraft<'a> {
    pub kind: Kind,
    pub key: Option<i64>,
    pub count: i64,
    /// Digest of the added content for the chain; otherwise the before-images are used.
    pub added: Option<Digest>,
    pub images: &'a [BeforeImage],
    pub undoes: Option<Position>,
}

impl<'a> JournalDraft<'a> {
    pub(crate) fn of(kind: Kind, images: &'a [BeforeImage]) -> Self {
        Self { kind, key: None, count: 1, added: None, images, undoes: None }
    }
}

/// Entries to remove from the index.
#[derive(Debug, Default)]
pub(crate) struct PendingIndexDeletes {
    /// Entries to remove from the index of a file; on a server they are removed at once.
    pub docs: Vec<Doc>,
    /// The transaction deletes content that cannot be read: the whole index of a file is dropped with it.
    pub all: bool,
    /// The cursor row of the index on a server is locked, so that the indexer does not restore what is deleted.
    pub is_held: bool,
}

impl PendingIndexDeletes {
    pub(crate) fn is_empty(&self) -> bool {
        self.docs.is_empty() && !self.all
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.docs.extend(other.docs);
        self.all |= other.all;
    }
}

pub(crate) struct Tx<'a> {
    pub connection: Connection<'a>,
    pub caches: &'a mut RowCache,
    pub key: &'a DigestKey,
    pub at: Timestamp,
    pub actor_no: Option<i64>,
    /// The position of the first row of this commit.
    pub first: Position,
    /// The next free position.
    pub next: Position,
    /// The rows of the journal that were written.
    pub written: Vec<(Position, Digest)>,
    /// Whether the next transaction may build upon the rows that this one leaves.
    pub appends_only: bool,
    /// Entries to remove from the index of a file before the commit.
    pub index_deletes: PendingIndexDeletes,
    /// Documents that a limited key names, by kind and name, with the names that they are stored under.
    pub document_names: Vec<(String, String, String)>,
    /// Conversations that were read and perhaps changed; written when the transaction ends.
    tracked: Vec<(ConversationRow, TrackedState)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrackedState {
    Read,
    Changed,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(
        connection: Connection<'a>,
        caches: &'a mut RowCache,
        key: &'a DigestKey,
        at: Timestamp,
        next: Position,
    ) -> Self {
        Self {
            connection,
            caches,
            key,
            at,
            actor_no: None,
            first: next,
            next,
            written: Vec::new(),
            appends_only: false,
            index_deletes: PendingIndexDeletes::default(),
            document_names: Vec::new(),
            tracked: Vec::new(),
        }
    }

    /// Returns the name under which a document is stored.
    pub(crate) fn document_name(&self, kind: &str, name: &str) -> String {
        let found = self.document_names.iter().rfind(|(of_kind, given, _)| of_kind == kind && given == name);
        found.map_or(name, |(_, _, stored)| stored).to_owned()
    }

    /// Returns a conversation that can be changed.
    pub(crate) fn conversation(&mut self, id: ConversationId) -> TxResult<ConversationRow> {
        if let Some((row, _)) = self.tracked.iter().find(|(row, _)| row.id == id) {
            return Ok(row.clone());
        }
        if let Some(row) = self.caches.recent.conversation(id) {
            self.tracked.push((row.clone(), TrackedState::Read));
            return Ok(row.clone());
        }
        let row = query_optional(self.connection, CONVERSATION, [id.as_bytes()], read_row)?;
        match row {
            Some(row) if row.id != id => Err(StoreError::altered("conversation", id).into()),
            Some(row) if row.status != STATUS_PURGED => {
                self.tracked.push((row.clone(), TrackedState::Read));
                Ok(row)
            }
            _ => Err(StoreError::not_found("conversation", id).into()),
        }
    }

    /// Returns a conversation by its number, even one that was withdrawn: undo brings those back.
    pub(crate) fn conversation_by_no(&mut self, no: i64) -> TxResult<ConversationRow> {
        if let Some((row, _)) = self.tracked.iter().find(|(row, _)| row.no == no) {
            return Ok(row.clone());
        }
        let sql = "select no, status, version, head_branch_no, head_key, active_at, messages, words, tokens,
                event_cursor, last_pos, digest, listed_at, id
             from conversation
             where no = $1";
        let row = query_optional(self.connection, sql, [no], read_row)?;
        let row = row.ok_or_else(|| StoreError::not_found("conversation", no))?;
        self.tracked.push((row.clone(), TrackedState::Read));
        Ok(row)
    }

    /// Caches a conversation that was just inserted.
    pub(crate) fn track(&mut self, row: ConversationRow) {
        self.tracked.push((row, TrackedState::Read));
    }

    /// Keeps a changed conversation until the transaction ends.
    pub(crate) fn mark_changed(&mut self, changed: &ConversationRow) {
        let place = self.tracked.iter_mut().find(|(row, _)| row.no == changed.no);
        let (row, touch) = place.expect("a conversation is read before it is changed");
        // Only `journal` sets the journal fields, even if the caller has an older copy.
        let (last_pos, digest, version) = (row.last_pos, row.digest, row.version);
        *row = ConversationRow { last_pos, digest, version, ..changed.clone() };
        *touch = TrackedState::Changed;
    }

    /// Forgets a conversation whose row is gone.
    pub(crate) fn untrack(&mut self, no: i64) {
        self.tracked.retain(|(row, _)| row.no != no);
    }

    /// Writes a row of the journal for a conversation and chains it.
    pub(crate) fn journal(&mut self, conversation_no: i64, entry: &JournalDraft<'_>) -> TxResult<Position> {
        let (row, _) = self
            .tracked
            .iter()
            .find(|(row, _)| row.no == conversation_no)
            .expect("a conversation is read before it is journalled");
        let (prev, chain) = (row.last_pos, row.digest);
        let (position, digest) = self.write_entry(Some(conversation_no), prev, chain, entry)?;
        let place = self.tracked.iter_mut().find(|(row, _)| row.no == conversation_no);
        let (row, touch) = place.expect("found above");
        row.last_pos = position;
        row.digest = digest;
        *touch = TrackedState::Changed;
        Ok(position)
    }

    /// Writes a journal row for objects without a conversation.
    pub(crate) fn journal_workspace(&mut self, entry: &JournalDraft<'_>) -> TxResult<Position> {
        let (prev, chain) = workspace_chain_end(self.connection)?;
        let (position, digest) = self.write_entry(None, prev, chain, entry)?;
        let mut value = [0u8; 24];
        value[..8].copy_from_slice(&position.to_le_bytes());
        value[8..].copy_from_slice(&digest.0);
        execute(self.connection, "update meta set value = $1 where name = 'beside'", [&value[..]])?;
        Ok(position)
    }

    fn write_entry(
        &mut self,
        conversation_no: Option<i64>,
        prev: Position,
        chain: Digest,
        entry: &JournalDraft<'_>,
    ) -> TxResult<(Position, Digest)> {
        let before = before_image::encode(entry.images);
        let payload = match entry.added {
            Some(added) => added,
            None => before_image::digest(self.key, before.as_deref()),
        };
        let position = self.next;
        let link = Link {
            position,
            first: self.first,
            count: entry.count,
            at: self.at.0,
            kind: entry.kind as i64,
            key: entry.key,
            actor_no: self.actor_no,
            undoes: entry.undoes,
            payload,
        };
        let digest = link.chained(self.key, chain);
        let sql = "insert into journal
                (pos, first, prev, count, at, kind, conversation_no, key, actor_no, undoes, before, digest)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
        execute_batched(
            self.connection,
            sql,
            (
                position,
                self.first,
                prev,
                entry.count,
                self.at.0,
                entry.kind as i64,
                conversation_no,
                entry.key,
                self.actor_no,
                entry.undoes,
                before,
                &digest.0[..],
            ),
        )?;
        self.next += entry.count;
        self.written.push((position, digest));
        Ok((position, digest))
    }

    /// Writes the conversations that were changed. Each gets one new version, however much happened to it.
    pub(crate) fn finish(&mut self) -> TxResult<()> {
        let sql = "update conversation
             set version = version + 1, head_branch_no = $1, head_key = $2, active_at = $3, messages = $4, words = $5,
                 tokens = $6, event_cursor = $7, last_pos = $8, digest = $9, head_mac = $10
             where no = $11";
        for (mut row, _) in
            std::mem::take(&mut self.tracked).into_iter().filter(|(_, touch)| *touch == TrackedState::Changed)
        {
            row.version += 1;
            let parameters = (
                row.head.branch.0,
                row.head.at.0,
                row.active_at,
                row.messages,
                row.words,
                row.tokens,
                row.event_cursor,
                row.last_pos,
                &row.digest.0[..],
                row.head_mac(self.key),
                row.no,
            );
            execute_batched(self.connection, sql, parameters)?;
            // Only this one is indexed; leaving it alone spares a page in most commits.
            let listed_at = listed_at(row.active_at);
            if listed_at != row.listed_at {
                let sql = "update conversation set listed_at = $1 where no = $2";
                execute_batched(self.connection, sql, (listed_at, row.no))?;
            }
            if self.appends_only {
                row.listed_at = listed_at;
                self.caches.recent.put_conversation(row);
            }
        }
        Ok(())
    }

    /// Returns the number of a word, giving it one if it is new.
    pub(crate) fn intern(&mut self, kind: NameKind, word: &str) -> TxResult<i64> {
        self.caches.intern(self.connection, self.key, kind, word)
    }

    /// Returns the number of an author, giving it one if it is new.
    pub(crate) fn author(&mut self, author: Option<&Author>) -> TxResult<Option<i64>> {
        let Some(author) = author else { return Ok(None) };
        let parameters = (&author.id, &author.name);
        if let Some(no) = query_optional(self.connection, AUTHOR, parameters, |row| row.get(0))? {
            return Ok(Some(no));
        }
        let sql = "insert into author (external_id, name, mac) values ($1, $2, $3)";
        let no = insert_numbered(self.connection, sql, row_mac::row(self.key, &row_mac::AUTHOR, parameters))?;
        Ok(Some(no))
    }

    /// Returns a branch of a conversation by its id.
    pub(crate) fn branch_of(&mut self, conversation_no: i64, id: BranchId) -> TxResult<Arc<Branch>> {
        let sql = "select no from branch where id = $1 and conversation_no = $2";
        let found = query_optional(self.connection, sql, (id.as_bytes(), conversation_no), |row| row.get(0))?;
        let no = BranchNo(found.ok_or_else(|| StoreError::not_found("branch", id))?);
        self.branch(no)
    }

    pub(crate) fn branch(&mut self, no: BranchNo) -> TxResult<Arc<Branch>> {
        self.caches.branches(self.connection).branch(no)
    }

    /// Finds a message, whichever conversation owns it.
    pub(crate) fn locate(&mut self, id: MessageId) -> TxResult<MessageLocation> {
        locate(self.connection, id)?.ok_or_else(|| StoreError::not_found("message", id).into())
    }

    /// Returns the conversation that owns a message, if it is there to be changed.
    pub(crate) fn owner(&mut self, spot: &MessageLocation, id: MessageId) -> TxResult<ConversationRow> {
        self.seen_by_no(spot.conversation_no)?.ok_or_else(|| StoreError::not_found("message", id).into())
    }

    /// Returns a conversation by its number, unless it was withdrawn or purged.
    pub(crate) fn seen_by_no(&mut self, no: i64) -> TxResult<Option<ConversationRow>> {
        let sql = "select withdrawn from conversation where no = $1";
        let withdrawn: Option<bool> = query_optional(self.connection, sql, [no], |row| row.get(0))?;
        let row = self.conversation_by_no(no)?;
        Ok(Some(row).filter(|row| withdrawn == Some(false) && row.status != STATUS_PURGED))
    }

    /// Returns the running sums up to and including a slot of a branch, and 0 before its first.
    pub(crate) fn sums_up_to(&self, address: Address) -> TxResult<Sums> {
        if address.slot() == 0 {
            return Ok(Sums::default());
        }
        let sql = "select visible_sum, words_sum, tokens_sum from message where key = $1";
        let found = query_optional(self.connection, sql, [address.0], |row| {
            Ok(Sums { depth: address.slot(), visible: row.get(0)?, words: row.get(1)?, tokens: row.get(2)? })
        })?;
        found.ok_or_else(|| StoreError::altered("message", format!("{address:?}")).into())
    }

    /// Returns the last own slot of a branch with the sums up to it.
    pub(crate) fn last_own(&self, no: BranchNo) -> TxResult<(i64, Sums)> {
        if let Some(end) = self.caches.recent.end(no) {
            return Ok(end);
        }
        let found = query_optional(self.connection, LAST_OWN, own_slots(no), |row| {
            let slot = Address(row.get(0)?).slot();
            Ok((slot, Sums { depth: slot, visible: row.get(1)?, words: row.get(2)?, tokens: row.get(3)? }))
        })?;
        Ok(found.unwrap_or_default())
    }

    /// Counts the path that ends at a head without walking it.
    pub(crate) fn sums_at(&mut self, mut head: Head) -> TxResult<Sums> {
        loop {
            if head.at == Address::START {
                return Ok(Sums::default());
            }
            let branch = self.branch(head.branch)?;
            let own = head.at.branch() == branch.no && head.at.slot() >= branch.open_from;
            if own {
                let before = self.sums_up_to(Address(branch.no.slot(branch.open_from).0 - 1))?;
                return Ok(branch.before_open + (self.sums_up_to(head.at)? - before));
            }
            if let Some(piece) = branch.pieces.iter().rfind(|piece| piece.range.contains(head.at)) {
                let before = self.sums_up_to(Address(piece.range.from.0 - 1))?;
                return Ok(piece.before + (self.sums_up_to(head.at)? - before));
            }
            let base = branch.base.ok_or_else(|| StoreError::altered("branch", branch.no.0))?;
            head = Head { branch: base.parent, at: head.at };
        }
    }

    /// Returns the end of a branch.
    pub(crate) fn end_of(&mut self, branch: &Branch) -> TxResult<Head> {
        let (last, _) = self.last_own(branch.no)?;
        let at = if last >= branch.open_from { branch.no.slot(last) } else { branch.tip_before_open() };
        Ok(Head { branch: branch.no, at })
    }

    /// Returns a head at this message: on the shown path if the message is on it, else on its own branch.
    pub(crate) fn head_at(&mut self, row: &ConversationRow, id: MessageId) -> TxResult<Head> {
        let spot = self.locate(id)?;
        let on_path = manent_model::path::reaches(&mut self.caches.branches(self.connection), row.head, spot.address)?;
        if on_path {
            return Ok(Head { branch: row.head.branch, at: spot.address });
        }
        if spot.conversation_no != row.no {
            return Err(StoreError::not_found("message", id).into());
        }
        Ok(Head { branch: spot.address.branch(), at: spot.address })
    }
}

pub(crate) fn read_row(row: &Row<'_>) -> DbResult<ConversationRow> {
    Ok(ConversationRow {
        no: row.get(0)?,
        id: ConversationId::from_bytes(row.get(13)?),
        status: row.get(1)?,
        version: row.get(2)?,
        head: Head { branch: BranchNo(row.get(3)?), at: Address(row.get(4)?) },
        active_at: row.get(5)?,
        messages: row.get(6)?,
        words: row.get(7)?,
        tokens: row.get(8)?,
        event_cursor: row.get(9)?,
        last_pos: row.get(10)?,
        digest: Digest(row.get(11)?),
        listed_at: row.get(12)?,
    })
}

/// Returns a time without its seconds; an imported one may be at the limit of the number range.
pub(crate) fn listed_at(active_at: i64) -> i64 {
    active_at.saturating_sub(active_at.rem_euclid(60_000_000))
}

/// Finds a message by id.
///
/// The index alone would do, but one flipped bit in it leads to another message; the row itself knows its id.
pub(crate) fn locate(connection: Connection<'_>, id: MessageId) -> TxResult<Option<MessageLocation>> {
    let sql = "select m.key, b.conversation_no, r.id
         from (select key, key >> 24 as branch_no from message where id = $1 limit 1) m
         join message r on r.key = m.key
         join branch b on b.no = m.branch_no";
    let found = query_optional(connection, sql, [id.as_bytes()], |row| {
        let own_id: [u8; 16] = row.get(2)?;
        Ok((MessageLocation { address: Address(row.get(0)?), conversation_no: row.get(1)? }, own_id))
    })?;
    match found {
        Some((_, own_id)) if own_id != *id.as_bytes() => Err(StoreError::altered("message", id).into()),
        found => Ok(found.map(|(spot, _)| spot)),
    }
}

/// Returns the last position and the chain of objects without a conversation.
pub(crate) fn workspace_chain_end(connection: Connection<'_>) -> TxResult<(Position, Digest)> {
    let value: [u8; 24] = query_one(connection, "select value from meta where name = 'beside'", (), |row| row.get(0))?;
    let (position, digest) = value.split_at(8);
    let mut chain = [0; 16];
    chain.copy_from_slice(digest);
    Ok((Position::from_le_bytes(position.try_into().expect("split at eight")), Digest(chain)))
}

/// The columns of a journal row that its digest covers.
pub(crate) struct Link {
    pub position: Position,
    pub first: Position,
    pub count: i64,
    pub at: i64,
    pub kind: i64,
    pub key: Option<i64>,
    pub actor_no: Option<i64>,
    pub undoes: Option<Position>,
    /// Digest of the before-images or of the added messages.
    pub payload: Digest,
}

impl Link {
    /// Chains the row to the one before it.
    pub(crate) fn chained(&self, key: &DigestKey, before: Digest) -> Digest {
        let values = (self.first, self.count, self.at, self.key, self.actor_no, self.undoes);
        let rest = row_mac::of(key, "journal", &values);
        key.digest(&[&before.0, &self.position.to_le_bytes(), &[self.kind as u8], &self.payload.0, &rest])
    }

    /// Chains the row as it was done before [`COVERED_FROM`]: over its position, its kind and its payload.
    pub(crate) fn chained_before_macs(&self, key: &DigestKey, before: Digest) -> Digest {
        key.digest(&[&before.0, &self.position.to_le_bytes(), &[self.kind as u8], &self.payload.0])
    }
}

/// The row of `meta` with the first position whose digest covers every column of the journal.
pub(crate) const COVERED_FROM: &str = "covered_from";

/// Returns the first position whose digest covers every column of the journal.
pub(crate) fn covered_from(connection: Connection<'_>) -> DbResult<Position> {
    let found = query_optional(connection, "select value from meta where name = $1", [COVERED_FROM], |row| row.get(0))?;
    Ok(found.map_or(0, Position::from_le_bytes))
}

/// Gives the rows that an older program wrote their MACs.
pub(crate) fn fill_macs(connection: Connection<'_>, key: &DigestKey) -> DbResult<()> {
    row_mac::fill(connection, key)?;
    let sql = "select no, status, version, head_branch_no, head_key, active_at, messages, words, tokens,
            event_cursor, last_pos, digest, listed_at, id
         from conversation
         where no > $1
         order by no
         limit 500";
    let mut after = 0;
    loop {
        let found = query_all(connection, sql, [after], read_row)?;
        let Some(last) = found.last() else { break };
        after = last.no;
        for row in found {
            let sql = "update conversation set head_mac = $1 where no = $2";
            execute(connection, sql, (row.head_mac(key), row.no))?;
        }
    }
    let next: Position =
        query_one(connection, "select coalesce(max(pos + count), 1) from journal", (), |row| row.get(0))?;
    let sql = "insert into meta (name, value) values ($1, $2) on conflict (name) do nothing";
    execute(connection, sql, (COVERED_FROM, &next.to_le_bytes()[..]))
}
