//! Change feed: the additions and changes in the journal since the index last read it.

use super::super::read::Reading;
use super::super::read::message::in_ranges;
use super::super::statistics::Changes;
use super::{Doc, DocKey, DocKind, Entry, docs};
use crate::api::error::StoreError;
use crate::api::transaction::Position;
use crate::engine::codec::disk_codes::Kind;
use crate::engine::codec::message_header::MessageHeader;
use crate::engine::sql::connection::{query_all, query_optional};
use crate::engine::sql::tx_error::{TxError, TxResult};
use manent_model::{Address, Digest, Range};
use manent_text::ANALYZER_VERSION;
use std::collections::{BTreeSet, HashMap};

/// Number of journal rows that are read at a time.
const ROWS_MAX: i64 = 4_000;

/// Maximum number of messages in one batch, except those of the last row.
pub(crate) const MESSAGES_MAX: i64 = 4_000;

/// The journal position of an index, with the row at that position: another store, or a restored one, has a different
/// row there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FeedCursor {
    /// Everything up to this position is known.
    pub position: Position,
    /// The row of the journal that ends there.
    pub row: Position,
    /// The digest of that row.
    pub digest: Digest,
}

/// The name under which a cursor is kept, where it is kept.
pub(crate) const CURSOR: &str = "search";

/// The version of the index content besides tokens: 1 added the sums of statistics.
const CONTENT_VERSION: u32 = 1;

/// Changes whenever an index that was filled before has to be filled again.
const INDEX_VERSION: [u8; 4] = (ANALYZER_VERSION | CONTENT_VERSION << 16).to_le_bytes();

impl FeedCursor {
    /// Encodes it behind the version of the index: an index of another version is made again.
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut bytes = INDEX_VERSION.to_vec();
        bytes.extend_from_slice(&self.position.to_le_bytes());
        bytes.extend_from_slice(&self.row.to_le_bytes());
        bytes.extend_from_slice(&self.digest.0);
        bytes
    }

    /// Decodes it; none if it is of another version.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&INDEX_VERSION[..])?;
        let (position, rest) = rest.split_first_chunk::<8>()?;
        let (row, rest) = rest.split_first_chunk::<8>()?;
        let digest = Digest(rest.try_into().ok()?);
        Some(Self { position: i64::from_le_bytes(*position), row: i64::from_le_bytes(*row), digest })
    }
}

/// Additions and changes after a cursor.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    /// The cursor after these changes.
    pub cursor: FeedCursor,
    /// Ranges of added messages.
    pub messages: Vec<Range>,
    /// Conversations whose name or tags may have changed.
    pub conversations: BTreeSet<i64>,
    /// Conversations that may have more folds.
    pub folded: BTreeSet<i64>,
    /// Conversations whose statistics may have changed.
    pub counts: Changes,
}

impl Feed {
    /// The number of added messages.
    pub(crate) fn len(&self) -> usize {
        self.messages.iter().map(Range::len).sum()
    }
}

/// Reads the changes after a cursor; none if there are none.
pub(crate) fn after(reading: &Reading<'_>, cursor: FeedCursor) -> TxResult<Option<Feed>> {
    type Columns = (Position, i64, i64, Option<i64>, Option<i64>, [u8; 16]);
    let sql = "select pos, count, kind, conversation_no, key, digest from journal where pos > $1 order by pos limit $2";
    let found: Vec<Columns> = query_all(reading.connection, sql, (cursor.position, ROWS_MAX), |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
    })?;
    let (mut feed, mut messages) = (Feed { cursor, ..Feed::default() }, 0);
    for (position, count, kind, conversation_no, key, digest) in found {
        let kind = Kind::of(kind).ok_or_else(|| StoreError::altered("journal", position))?;
        match (kind, key) {
            (kind, Some(key)) if kind.adds_messages() && count > 0 => {
                messages += count;
                feed.messages.push(Range { from: Address(key), to: Address(key + count - 1) });
            }
            (Kind::MessageFinished, Some(key)) => {
                messages += 1;
                feed.messages.push(Range::one(Address(key)));
            }
            _ => {}
        }
        feed.counts.add(kind, conversation_no);
        if let Some(no) = conversation_no {
            if changes_visibility(kind) {
                feed.conversations.insert(no);
            }
            if kind == Kind::FoldAdded {
                feed.folded.insert(no);
            }
        }
        feed.cursor = FeedCursor { position: position + count - 1, row: position, digest: Digest(digest) };
        if messages >= MESSAGES_MAX {
            break;
        }
    }
    Ok((feed.cursor != cursor).then_some(feed))
}

/// Says whether a change may affect the name, the tags or the existence of a conversation.
fn changes_visibility(kind: Kind) -> bool {
    use Kind::*;
    matches!(kind, ConversationCreated | ConversationEdited | Undone | Redone | Purged | Erased)
}

/// Reads the last position of the store.
pub(crate) fn last_position(reading: &Reading<'_>) -> TxResult<Position> {
    let sql = "select pos + count - 1 from journal order by pos desc limit 1";
    Ok(query_optional(reading.connection, sql, (), |row| row.get(0))?.unwrap_or(0))
}

/// Says whether a cursor is one of this store.
pub(crate) fn is_same_journal(reading: &Reading<'_>, cursor: FeedCursor) -> TxResult<bool> {
    if cursor.position == 0 {
        return Ok(true);
    }
    let sql = "select digest from journal where pos = $1";
    let found: Vec<[u8; 16]> = query_all(reading.connection, sql, [cursor.row], |row| row.get(0))?;
    Ok(found == [cursor.digest.0])
}

/// Returns the sort keys of the messages of ranges, without reading their content.
pub(crate) fn entries(reading: &Reading<'_>, runs: &[Range]) -> TxResult<Vec<Entry>> {
    let sql = "select key, arrival, facts from message where key between $1 and $2";
    let mut entries = Vec::new();
    for run in runs {
        let found: Vec<(i64, i64, Vec<u8>)> = query_all(reading.connection, sql, (run.from.0, run.to.0), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        for (key, arrival, facts) in found {
            // Damage is reported by reads and by verify.
            let Some(facts) = MessageHeader::decode(&facts) else { continue };
            entries.push(Entry { at: facts.at, arrival, key: DocKey::new(DocKind::Message, key) });
        }
    }
    Ok(entries)
}

/// Returns the rows of the messages of runs.
pub(crate) fn message_docs(reading: &mut Reading<'_>, runs: &[Range]) -> TxResult<Vec<Doc>> {
    let mut owners: HashMap<i64, Option<i64>> = HashMap::new();
    let mut all = Vec::new();
    for row in in_ranges(reading.connection, runs, usize::MAX >> 1)? {
        let address = Address(row.key);
        let owner = match owners.get(&address.branch().0) {
            Some(owner) => *owner,
            None => {
                let owner = docs::owner_of(reading, address)?;
                owners.insert(address.branch().0, owner);
                owner
            }
        };
        let Some(owner) = owner else { continue };
        match docs::indexable(reading, row) {
            Ok(message) => all.extend(message.iter().flat_map(|message| docs::of_message(message, owner))),
            // A damaged record must not hide the others.
            Err(TxError::Rejected(_)) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(all)
}

/// Returns the numbers of the folds of a conversation.
pub(crate) fn folds_of(reading: &Reading<'_>, conversation_no: i64) -> TxResult<Vec<i64>> {
    let sql = "select no from fold where conversation_no = $1 order by no";
    Ok(query_all(reading.connection, sql, [conversation_no], |row| row.get(0))?)
}
