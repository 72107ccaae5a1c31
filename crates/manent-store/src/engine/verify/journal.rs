//! Verifies the journal: recomputes its chain, and compares its rows with the stored messages and flags.

use super::super::read::message::{MessageRow, message_of, read_row};
use super::Verifier;
use super::rows::{ExpectedFlags, WORKSPACE};
use crate::api::maintenance::VerifyProblem;
use crate::api::transaction::Position;
use crate::engine::codec::before_image;
use crate::engine::codec::disk_codes::{Kind, STATUS_PURGED};
use crate::engine::codec::message_header::MessageHeader;
use crate::engine::commit::prepare::streaming_digest;
use crate::engine::commit::tx::{LAST_OWN, Link, own_slots, workspace_chain_end};
use crate::engine::sql::connection::{DbResult, Row, query_all as query, query_one, query_optional};
use crate::engine::sql::tx_error::{TxError, TxResult};
use manent_model::{Address, ConversationId, Digest, Message, MessageId, MessageStatus, Sums};
use std::collections::BTreeMap;

/// The columns of a journal row that its digest covers, in the order of [`Row`].
const ROW: &str = "select first, prev, count, at, kind, conversation_no, key, actor_no, undoes, before, digest
     from journal
     where pos = $1";

/// A row of the journal.
struct JournalRow {
    first: Position,
    prev: Position,
    count: i64,
    at: i64,
    kind: i64,
    conversation_no: Option<i64>,
    key: Option<i64>,
    actor_no: Option<i64>,
    undoes: Option<Position>,
    before: Option<Vec<u8>>,
    digest: Digest,
}

impl JournalRow {
    fn read(row: &Row<'_>) -> DbResult<Self> {
        Ok(Self {
            first: row.get(0)?,
            prev: row.get(1)?,
            count: row.get(2)?,
            at: row.get(3)?,
            kind: row.get(4)?,
            conversation_no: row.get(5)?,
            key: row.get(6)?,
            actor_no: row.get(7)?,
            undoes: row.get(8)?,
            before: row.get(9)?,
            digest: Digest(row.get(10)?),
        })
    }
}

/// The columns of a message row that repeat its content, for filters and counts.
struct RecordedMessage {
    sums: Sums,
    author_no: Option<i64>,
    reply_to: Option<MessageId>,
}

impl RecordedMessage {
    fn read(row: &Row<'_>) -> DbResult<Self> {
        let reply_to: Option<[u8; 16]> = row.get(9)?;
        Ok(Self {
            sums: Sums { depth: 0, visible: row.get(5)?, words: row.get(6)?, tokens: row.get(7)? },
            author_no: row.get(8)?,
            reply_to: reply_to.map(MessageId::from_bytes),
        })
    }
}

impl Verifier<'_> {
    /// Walks the journal of a conversation from its start and recomputes what each row says was added.
    pub(super) fn chain(
        &mut self,
        no: i64,
        id: ConversationId,
        status: i64,
        last_pos: i64,
        expected: Digest,
    ) -> TxResult<()> {
        let mut positions = Vec::new();
        let mut at = last_pos;
        while at > 0 {
            positions.push(at);
            let prev =
                query_optional(self.connection, "select prev from journal where pos = $1", [at], |row| row.get(0))?;
            match prev {
                Some(prev) if prev < at => at = prev,
                _ => {
                    self.problem(VerifyProblem::Chain { conversation: Some(id), position: at });
                    return Ok(());
                }
            }
        }
        let mut chain = Digest::default();
        let mut flags = ExpectedFlags::default();
        let mut chunks: BTreeMap<i64, i64> = BTreeMap::new();
        for position in positions.into_iter().rev() {
            let broken = VerifyProblem::Chain { conversation: Some(id), position };
            let row = query_one(self.connection, ROW, [position], JournalRow::read)?;
            let Some(kind) = Kind::of(row.kind).filter(|_| row.conversation_no == Some(no)) else {
                self.problem(broken);
                return Ok(());
            };
            let payload = match row.key {
                Some(key) if kind.adds_messages() => self.added(id, status, position, Address(key), row.count)?,
                Some(key) if kind == Kind::MessageFinished => self.finished(id, status, Address(key), position)?,
                _ => Some(before_image::digest(&self.key, row.before.as_deref())),
            };
            // The messages of a purged conversation are gone; the chain is then taken as it is written.
            let next = payload.map_or(row.digest, |payload| self.chained(chain, position, &row, payload));
            if next != row.digest {
                self.problem(broken);
            }
            flags.replay(row.before.as_deref(), position >= self.covered_from);
            if let (Kind::ChunkAppended, Some(key)) = (kind, row.key) {
                *chunks.entry(key).or_default() += 1;
            }
            // Continuing from the stored digest finds the next broken row as well.
            chain = row.digest;
            self.report.journal += 1;
        }
        if chain != expected {
            self.problem(VerifyProblem::Chain { conversation: Some(id), position: last_pos });
        }
        self.chunks(id, &chunks)?;
        self.flags(no, &flags)
    }

    /// Counts the chunks of messages that still stream.
    fn chunks(&mut self, id: ConversationId, expected: &BTreeMap<i64, i64>) -> TxResult<()> {
        for (key, expected) in expected {
            let sql = "select facts, id, arrival from message where key = $1";
            let found: Option<(Vec<u8>, [u8; 16], i64)> =
                query_optional(self.connection, sql, [key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            let Some((facts, message, arrival)) = found else { continue };
            let is_streaming =
                MessageHeader::decode(&facts).is_some_and(|facts| facts.flags.status == MessageStatus::Streaming);
            let sql = "select count(*) from chunk where key = $1";
            if is_streaming && query_one(self.connection, sql, [key], |row| row.get::<i64>(0))? != *expected {
                self.altered(id, MessageId::from_bytes(message), arrival);
            }
        }
        Ok(())
    }

    fn chained(&self, before: Digest, position: Position, row: &JournalRow, payload: Digest) -> Digest {
        let link = Link {
            position,
            first: row.first,
            count: row.count,
            at: row.at,
            kind: row.kind,
            key: row.key,
            actor_no: row.actor_no,
            undoes: row.undoes,
            payload,
        };
        match position >= self.covered_from {
            true => link.chained(&self.key, before),
            false => link.chained_before_macs(&self.key, before),
        }
    }

    /// Recomputes the digest of appended messages for the chain; `None` if they were purged or already reported.
    fn added(
        &mut self,
        id: ConversationId,
        status: i64,
        position: i64,
        first: Address,
        count: i64,
    ) -> TxResult<Option<Digest>> {
        let last = first.0.saturating_add(count) - 1;
        let sql = "select key, id, arrival, facts, body, visible_sum, words_sum, tokens_sum, author_no, reply_to
             from message
             where key between $1 and $2
             order by key";
        let found: Vec<(MessageRow, RecordedMessage)> =
            query(self.connection, sql, (first.0, last), |row| Ok((read_row(row)?, RecordedMessage::read(row)?)))?;
        let mut expected_key = first.0;
        for (row, _) in &found {
            if row.key != expected_key || row.arrival != position + (row.key - first.0) {
                break;
            }
            expected_key += 1;
        }
        if expected_key != last + 1 {
            if status != STATUS_PURGED {
                let lost = position + (expected_key - first.0);
                self.problem(VerifyProblem::Lost { conversation: Some(id), position: lost });
            }
            // Messages that other paths still reach were kept, and are compared like any other message.
            for (row, _) in found {
                self.content(id, row)?;
            }
            return Ok(None);
        }
        let mut digests = Vec::new();
        let mut is_sound = true;
        let mut sums = self.sums_before(first)?;
        for (row, repeated) in found {
            let facts = MessageHeader::decode(&row.facts);
            let digest = match &facts {
                Some(facts) if facts.flags.streamed => Some(streaming_digest(&self.key, MessageId::from_bytes(row.id))),
                facts => facts.as_ref().and_then(|facts| facts.digest),
            };
            match digest {
                Some(digest) => digests.extend_from_slice(&digest.0),
                None => is_sound = false,
            }
            let (message_id, arrival) = (MessageId::from_bytes(row.id), row.arrival);
            is_sound &= match self.content(id, row)? {
                Content::Altered => false,
                // The counts of an erased message are kept only in the sums.
                Content::Erased => true,
                Content::Sound(message) => {
                    let facts = facts.as_ref();
                    let is_repeated = repeated.sums - sums == Sums { depth: 0, ..message.content.sums() }
                        && facts.is_some_and(|facts| facts.author_no == repeated.author_no)
                        && facts.is_some_and(|facts| facts.reply_to == repeated.reply_to);
                    if !is_repeated {
                        self.altered(id, message_id, arrival);
                    }
                    true
                }
            };
            sums = repeated.sums;
        }
        Ok(is_sound.then(|| self.key.digest(&[b"added", &digests])))
    }

    /// Returns the running sums of a branch before one of its messages.
    fn sums_before(&self, address: Address) -> TxResult<Sums> {
        let (start, _) = own_slots(address.branch());
        let found = query_optional(self.connection, LAST_OWN, (start, address.0 - 1), |row| {
            Ok(Sums { depth: 0, visible: row.get(1)?, words: row.get(2)?, tokens: row.get(3)? })
        })?;
        Ok(found.unwrap_or_default())
    }

    fn finished(
        &mut self,
        id: ConversationId,
        status: i64,
        address: Address,
        position: i64,
    ) -> TxResult<Option<Digest>> {
        let sql = "select facts from message where key = $1";
        let found: Option<Vec<u8>> = query_optional(self.connection, sql, [address.0], |row| row.get(0))?;
        match found.as_deref().map(MessageHeader::decode) {
            Some(Some(MessageHeader { digest: Some(digest), .. })) => Ok(Some(self.key.digest(&[b"added", &digest.0]))),
            // Reading its content reports what is wrong with it.
            Some(None) => Ok(None),
            None if status == STATUS_PURGED => Ok(None),
            _ => {
                self.problem(VerifyProblem::Lost { conversation: Some(id), position });
                Ok(None)
            }
        }
    }

    /// Compares one message with its digest.
    fn content(&mut self, conversation: ConversationId, row: MessageRow) -> TxResult<Content> {
        let (id, arrival) = (MessageId::from_bytes(row.id), row.arrival);
        match message_of(self.connection, &mut self.caches, &self.key, row) {
            Ok(message) if message.erased => {
                self.report.erased += 1;
                Ok(Content::Erased)
            }
            Ok(message) => {
                self.report.messages += 1;
                Ok(Content::Sound(Box::new(message)))
            }
            Err(TxError::Rejected(_)) => {
                self.altered(conversation, id, arrival);
                Ok(Content::Altered)
            }
            Err(fault) => Err(fault),
        }
    }

    fn altered(&mut self, conversation: ConversationId, message: MessageId, position: Position) {
        self.problem(VerifyProblem::Altered { conversation: Some(conversation), message: Some(message), position });
    }

    /// Walks the chain of rows without a conversation, newest first; each row references the one before it.
    pub(super) fn workspace_chain(&mut self) -> TxResult<()> {
        let (mut at, mut expected) = workspace_chain_end(self.connection)?;
        let mut flags = ExpectedFlags::default();
        while at > 0 {
            let found = query_optional(self.connection, ROW, [at], JournalRow::read)?;
            let broken = VerifyProblem::Chain { conversation: None, position: at };
            let found = found.filter(|row| row.prev < at && row.conversation_no.is_none());
            let Some(row) = found.filter(|row| Kind::of(row.kind).is_some()) else {
                self.problem(broken);
                return Ok(());
            };
            let sql = "select digest from journal where pos = $1";
            let earlier: Option<[u8; 16]> = match row.prev {
                0 => Some([0; 16]),
                prev => query_optional(self.connection, sql, [prev], |row| row.get(0))?,
            };
            let payload = before_image::digest(&self.key, row.before.as_deref());
            let is_sound = earlier.is_some_and(|earlier| {
                self.chained(Digest(earlier), at, &row, payload) == row.digest && row.digest == expected
            });
            if !is_sound {
                self.problem(broken);
                return Ok(());
            }
            flags.replay_backwards(row.before.as_deref(), at >= self.covered_from);
            self.report.journal += 1;
            at = row.prev;
            expected = Digest(earlier.unwrap_or_default());
        }
        self.flags(WORKSPACE, &flags)
    }
}

/// The result of comparing a message with its digest.
enum Content {
    Sound(Box<Message>),
    Erased,
    /// It was reported.
    Altered,
}
