//! Index documents: the texts of messages, the names of conversations, the summaries of folds.

use super::super::read::message::{MessageRow, message_of, read_row};
use super::super::read::{Reading, annotations, conversation};
use super::{Doc, DocKey, DocKind, Entry};
use crate::engine::sql::connection::{DbResult, Row, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{Address, Fold, Message, MessageStatus};
use manent_text::{Field, FieldText, RESERVED};

/// Returns the token that is in every row of a conversation, so that one conversation can be searched alone.
pub(crate) fn owner_token(conversation_no: i64) -> String {
    format!("{RESERVED}in{conversation_no}")
}

/// The token in the rows of a message that has several, because one row cannot hold all of its words.
pub(crate) const SPLIT: &str = "\u{E000}split";

/// Reads a message that can be searched; none if it is gone or erased.
pub(crate) fn message(reading: &mut Reading<'_>, address: Address) -> TxResult<Option<Message>> {
    let sql = "select key, id, arrival, facts, body from message where key = $1";
    let Some(row) = query_optional(reading.connection, sql, [address.0], read_row)? else { return Ok(None) };
    searchable(reading, row)
}

/// Turns a row into a message, if that can be searched.
pub(crate) fn searchable(reading: &mut Reading<'_>, row: MessageRow) -> TxResult<Option<Message>> {
    let message = message_of(reading.connection, reading.caches, reading.key, row)?;
    Ok((!message.erased).then_some(message))
}

/// Turns a row into a message, if that belongs into the index. A stream does when it has ended: until then its text
/// changes, and searches read it from the store.
pub(crate) fn indexable(reading: &mut Reading<'_>, row: MessageRow) -> TxResult<Option<Message>> {
    let message = searchable(reading, row)?;
    Ok(message.filter(|message| message.content.status != MessageStatus::Streaming))
}

/// Returns the passages of a message that belong into a row of the index.
pub(crate) fn passages_of(message: &Message, kind: DocKind) -> Vec<FieldText<'_>> {
    let is_thought = |passage: &FieldText<'_>| passage.field == Field::Reasoning;
    let mut passages = manent_text::field_texts(&message.content);
    passages.retain(|passage| is_thought(passage) == (kind == DocKind::Reasoning));
    passages
}

/// Returns the index rows of a message: its text, and the reasoning of its model, if any.
pub(crate) fn of_message(message: &Message, conversation_no: i64) -> Vec<Doc> {
    let rows = [DocKind::Message, DocKind::Reasoning].map(|kind| {
        let passages = passages_of(message, kind);
        if kind == DocKind::Reasoning && passages.is_empty() {
            return None;
        }
        let mut tokens = distinct(&passages);
        tokens.extend(manent_text::message_filters(&message.content));
        let entry = Entry {
            at: message.content.time.at.0,
            arrival: message.arrival,
            key: DocKey::new(kind, message.address.0),
        };
        Some(doc(entry, conversation_no, tokens))
    });
    rows.into_iter().flatten().collect()
}

/// Returns the row of a conversation; none if it is gone.
pub(crate) fn of_conversation(reading: &mut Reading<'_>, no: i64) -> TxResult<Option<Doc>> {
    let Some((shown, _)) = conversation::by_no(reading, no)? else { return Ok(None) };
    let tokens = distinct(&manent_text::conversation_field_texts(&shown));
    let entry = Entry { at: shown.created_at.0, arrival: 0, key: DocKey::new(DocKind::Conversation, no) };
    Ok(Some(doc(entry, no, tokens)))
}

/// A fold with its address.
pub(crate) struct FoldRow {
    pub conversation_no: i64,
    /// The message that the fold follows.
    pub address: Address,
    /// It was withdrawn, and may be restored.
    pub is_withdrawn: bool,
    pub fold: Fold,
}

/// Reads a fold that has a summary; none if it is gone. One that was withdrawn stays in the index, and is not shown.
pub(crate) fn fold(reading: &mut Reading<'_>, no: i64) -> TxResult<Option<FoldRow>> {
    let sql = "select conversation_no, key, withdrawn from fold where no = $1";
    let read = |row: &Row<'_>| -> DbResult<(i64, i64, bool)> { Ok((row.get(0)?, row.get(1)?, row.get(2)?)) };
    let Some((conversation_no, key, is_withdrawn)) = query_optional(reading.connection, sql, [no], read)? else {
        return Ok(None);
    };
    let fold = annotations::fold_by_no(reading, no)?.filter(|fold| fold.summary.is_some());
    Ok(fold.map(|fold| FoldRow { conversation_no, address: Address(key), is_withdrawn, fold }))
}

/// Returns the row of a fold.
pub(crate) fn of_fold(no: i64, row: &FoldRow) -> Doc {
    let tokens = distinct(&fold_passages(&row.fold));
    let entry = Entry { at: row.fold.at.0, arrival: 0, key: DocKey::new(DocKind::Fold, no) };
    doc(entry, row.conversation_no, tokens)
}

/// Returns the searchable passages of a fold.
pub(crate) fn fold_passages(fold: &Fold) -> Vec<FieldText<'_>> {
    let passage = |text: &'_ str| FieldText { field: Field::Summary, text: text.to_owned().into() };
    fold.summary.as_deref().map(passage).into_iter().collect()
}

/// Returns the number of the conversation that owns a branch; none if it is gone.
pub(crate) fn owner_of(reading: &Reading<'_>, address: Address) -> TxResult<Option<i64>> {
    let sql = "select c.no from branch b join conversation c on c.no = b.conversation_no where b.no = $1";
    Ok(query_optional(reading.connection, sql, [address.branch().0], |row| row.get(0))?)
}

fn distinct(passages: &[FieldText<'_>]) -> Vec<String> {
    manent_text::distinct_tokens(passages.iter().map(|passage| &*passage.text))
}

fn doc(entry: Entry, conversation_no: i64, mut tokens: Vec<String>) -> Doc {
    tokens.push(owner_token(conversation_no));
    tokens.sort_unstable();
    tokens.dedup();
    Doc { entry, tokens: tokens.join(" ") }
}
