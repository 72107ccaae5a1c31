//! Appends of messages.

use super::{branch, stream};
use crate::api::error::{Conflict, StoreError};
use crate::api::transaction::{BranchReason, ChangeResult, HeadMove, MessageAt, MessageOrigin};
use crate::engine::codec::disk_codes::{Flags, Kind, NameKind};
use crate::engine::codec::message_header::MessageHeader;
use crate::engine::codec::{row_mac, source_record};
use crate::engine::commit::prepare::MessageSummary;
use crate::engine::commit::tx::{ConversationRow, JournalDraft, Tx};
use crate::engine::sql::connection::{execute, execute_batched, query_one, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{
    Address, Base, Branch, ConversationId, Digest, Head, MessageId, MessageStatus, NewMessage, Sums, path,
};

pub(crate) struct Append<'a> {
    pub at: &'a MessageAt,
    pub head: HeadMove,
    pub why: BranchReason,
    pub messages: &'a [NewMessage],
    pub origins: &'a [MessageOrigin],
    pub facts: &'a [MessageSummary],
}

pub(crate) fn append(tx: &mut Tx<'_>, conversation: ConversationId, append: &Append<'_>) -> TxResult<ChangeResult> {
    let Some(last) = append.messages.last() else {
        return Err(StoreError::Invalid("an append has at least one message".to_owned()).into());
    };
    let mut row = tx.conversation(conversation)?;
    if already_there(tx, row.no, append.messages, append.facts)? {
        return Ok(ChangeResult::Messages(Some(last.id)));
    }
    let place = insertion_of(tx, &row, append)?;
    let mut images = Vec::new();
    if append.head == HeadMove::Follow {
        images.push(row.head_image());
    }
    let (branch, last_own, own_sums) = match place {
        Insertion::Existing(branch, last_own, own_sums) => (branch, last_own, own_sums),
        Insertion::New { id, base, why } => {
            let before = tx.sums_at(Head { branch: base.parent, at: base.fork })?;
            (branch::insert_plain(tx, row.no, id, base, before, why)?, 0, Sums::default())
        }
    };
    if last_own + append.messages.len() as i64 > Address::SLOTS_MAX {
        return Err(StoreError::TooLarge { what: "the branch", limit: "16,777,215 messages" }.into());
    }
    let first = branch.no.slot(last_own + 1);
    let added = insert(tx, first, own_sums, append.messages, append.facts, append.origins)?;
    let grown = append.facts.iter().fold(Sums::default(), |sum, facts| sum + facts.sums);
    if tx.appends_only {
        tx.caches.recent.put_end(branch.no, last_own + append.messages.len() as i64, own_sums + grown);
    }
    let head = Head { branch: branch.no, at: Address(first.0 + append.messages.len() as i64 - 1) };
    if append.head == HeadMove::Follow {
        let at_end = row.head.branch == branch.no && branch.ends_at(row.head.at, last_own);
        let sums = match at_end {
            true => Sums { depth: 0, visible: row.messages, words: row.words, tokens: row.tokens } + grown,
            false => tx.sums_at(head)?,
        };
        move_to(&mut row, head, sums);
        row.active_at = row.active_at.max(tx.at.0);
        tx.mark_changed(&row);
    }
    let count = append.messages.len() as i64;
    let entry = JournalDraft {
        kind: Kind::MessagesAppended,
        key: Some(first.0),
        count,
        added: Some(added),
        images: &images,
        undoes: None,
    };
    tx.journal(row.no, &entry)?;
    Ok(ChangeResult::Messages(Some(last.id)))
}

/// Sets the head of a row together with the counters at that position.
pub(crate) fn move_to(row: &mut ConversationRow, head: Head, sums: Sums) {
    row.head = head;
    row.messages = sums.visible;
    row.words = sums.words;
    row.tokens = sums.tokens;
}

/// A message by its id, to compare it.
pub(crate) const STORED: &str = "select m.facts, b.conversation_no
     from (select facts, key >> 24 as branch_no from message where id = $1 limit 1) m
     join branch b on b.no = m.branch_no";

/// The ids of messages are their idempotency key: the same ones again are a retry, mixed or different ones a conflict.
pub(crate) fn already_there(
    tx: &mut Tx<'_>,
    conversation_no: i64,
    messages: &[NewMessage],
    facts: &[MessageSummary],
) -> TxResult<bool> {
    let mut found = 0;
    for (message, facts) in messages.iter().zip(facts) {
        let row: Option<(Vec<u8>, i64)> =
            query_optional(tx.connection, STORED, [message.id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let Some((stored, owner)) = row else { continue };
        let stored = MessageHeader::decode(&stored).ok_or_else(|| StoreError::altered("message", message.id))?;
        let streaming = message.content.status == MessageStatus::Streaming;
        let same = match stored.flags.streamed {
            true => streaming,
            false => stored.digest == Some(facts.digest),
        };
        if !same || owner != conversation_no {
            return Err(Conflict::Exists { what: "message", id: message.id.to_string() }.into());
        }
        found += 1;
    }
    match found {
        0 => {
            let mut ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
            ids.sort_unstable();
            match ids.windows(2).find(|pair| pair[0] == pair[1]) {
                Some(pair) => Err(Conflict::Exists { what: "message", id: pair[0].to_string() }.into()),
                None => Ok(false),
            }
        }
        all if all == messages.len() => Ok(true),
        _ => Err(Conflict::Key.into()),
    }
}

enum Insertion {
    Existing(std::sync::Arc<Branch>, i64, Sums),
    New { id: manent_model::BranchId, base: Base, why: BranchReason },
}

fn insertion_of(tx: &mut Tx<'_>, row: &ConversationRow, append: &Append<'_>) -> TxResult<Insertion> {
    match append.at {
        MessageAt::Head { branch: id } => {
            let branch = tx.branch(row.head.branch)?;
            let (last_own, sums) = tx.last_own(branch.no)?;
            Ok(match branch.ends_at(row.head.at, last_own) {
                true => {
                    let last = last_own.max(branch.open_from - 1);
                    Insertion::Existing(branch, last, sums)
                }
                false => {
                    let base = Base { parent: row.head.branch, fork: row.head.at };
                    Insertion::New { id: *id, base, why: append.why }
                }
            })
        }
        MessageAt::After { message, branch } => {
            let base = match message {
                Some(message) => {
                    let head = tx.head_at(row, *message)?;
                    Base { parent: head.branch, fork: head.at }
                }
                None => Base { parent: row.head.branch, fork: Address::START },
            };
            Ok(Insertion::New { id: *branch, base, why: append.why })
        }
        MessageAt::InsteadOf { message, branch } => {
            let head = tx.head_at(row, *message)?;
            let path = Head { branch: head.branch, at: head.at };
            let before = path::before(&mut tx.caches.branches(tx.connection), path, head.at)?;
            let fork = before.ok_or_else(|| StoreError::not_found("message", message))?;
            Ok(Insertion::New { id: *branch, base: Base { parent: head.branch, fork }, why: append.why })
        }
        MessageAt::Branch { branch } => {
            let branch = tx.branch_of(row.no, *branch)?;
            let (last_own, sums) = tx.last_own(branch.no)?;
            Ok(Insertion::Existing(branch.clone(), last_own.max(branch.open_from - 1), sums))
        }
    }
}

/// Inserts messages at consecutive slots and returns their digest for the journal chain.
pub(crate) fn insert(
    tx: &mut Tx<'_>,
    first: Address,
    mut sums: Sums,
    messages: &[NewMessage],
    facts: &[MessageSummary],
    origins: &[MessageOrigin],
) -> TxResult<Digest> {
    let mut digests = Vec::with_capacity(messages.len() * 16);
    for (place, (message, facts)) in messages.iter().zip(facts).enumerate() {
        let key = first.0 + place as i64;
        sums = sums + facts.sums;
        let origin = origins.iter().find(|origin| origin.message == message.id);
        insert_one(tx, key, tx.next + place as i64, sums, message, facts, origin)?;
        for sha256 in &facts.blobs {
            use_blob(tx, sha256, key)?;
        }
        digests.extend_from_slice(&facts.digest.0);
    }
    Ok(tx.key.digest(&[b"added", &digests]))
}

fn insert_one(
    tx: &mut Tx<'_>,
    key: i64,
    arrival: i64,
    sums: Sums,
    message: &NewMessage,
    facts: &MessageSummary,
    origin: Option<&MessageOrigin>,
) -> TxResult<()> {
    let content = &message.content;
    let role_no = tx.intern(NameKind::Role, &content.role)?;
    let author_no = tx.author(content.author.as_ref())?;
    let model_no = content.model.as_deref().map(|model| tx.intern(NameKind::Model, model)).transpose()?;
    let streaming = content.status == MessageStatus::Streaming;
    let flags = Flags {
        status: content.status,
        time_source: content.time.source,
        seen: content.seen,
        streamed: streaming,
        erased: false,
    };
    // The body of a stream is not final, so the source record is not compressed against it.
    let body = (!streaming).then(|| content.body.text());
    let kept = origin.map(|origin| source_record::kept(tx, origin, body)).transpose()?;
    let stored = MessageHeader {
        flags,
        at: content.time.at.0,
        role_no,
        author_no,
        model_no,
        turn: content.turn,
        tokens: content.tokens,
        reply_to: content.reply_to,
        digest: (!streaming).then_some(facts.digest),
        usage: content.usage.as_ref().map(|json| json.text().to_owned()),
        metadata: content.metadata.as_ref().map(|json| json.text().to_owned()),
    };
    let mac = origin.zip(kept.as_ref()).map(|(origin, kept)| {
        let values = (kept.source_no, origin.ordinal, kept.external, kept.raw.as_deref());
        row_mac::of(tx.key, row_mac::MESSAGE.name, &values)
    });
    let sql = "insert into message
            (key, id, arrival, visible_sum, words_sum, tokens_sum, author_no, reply_to, source_no, ordinal, external,
             raw, mac, facts, body)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
    execute_batched(
        tx.connection,
        sql,
        (
            key,
            message.id.as_bytes(),
            arrival,
            sums.visible,
            sums.words,
            sums.tokens,
            author_no,
            content.reply_to.as_ref().map(|id| &id.as_bytes()[..]),
            kept.as_ref().map(|kept| kept.source_no),
            origin.map(|origin| origin.ordinal),
            kept.as_ref().and_then(|kept| kept.external),
            kept.as_ref().and_then(|kept| kept.raw.as_deref()),
            mac,
            stored.encode(),
            content.body.text().as_bytes(),
        ),
    )?;
    if streaming {
        stream::open(tx, Address(key), &content.body)?;
    }
    Ok(())
}

pub(super) fn use_blob(tx: &mut Tx<'_>, sha256: &[u8; 32], key: i64) -> TxResult<()> {
    let found: Option<i64> =
        query_optional(tx.connection, "select no from blob where sha256 = $1", [sha256], |row| row.get(0))?;
    if let Some(no) = found {
        let sql = "insert into blob_use (blob_no, key) values ($1, $2) on conflict do nothing";
        execute(tx.connection, sql, (no, key))?;
    }
    Ok(())
}

/// Returns the facts of a message that exists.
pub(crate) fn facts_at(tx: &Tx<'_>, address: Address) -> TxResult<MessageHeader> {
    let sql = "select facts from message where key = $1";
    let bytes: Vec<u8> = query_one(tx.connection, sql, [address.0], |row| row.get(0))?;
    MessageHeader::decode(&bytes).ok_or_else(|| StoreError::altered("message", format!("{address:?}")).into())
}
