//! Index deletes: destroyed content is removed from the index before the deletion is acknowledged.

use crate::engine::commit::tx::Tx;
use crate::engine::read::Reading;
use crate::engine::search::feed::{CURSOR, FeedCursor};
use crate::engine::search::{Doc, DocKey, DocKind, Entry, docs};
use crate::engine::sql::connection::{Connection, execute, query_all, query_optional};
use crate::engine::sql::tx_error::{TxError, TxResult};
use manent_model::{Address, MessageStatus};

/// Takes a message out of the index.
pub(crate) fn message(tx: &mut Tx<'_>, address: Address) -> TxResult<()> {
    if let Connection::Postgres(_) = tx.connection {
        for kind in [DocKind::Message, DocKind::Reasoning] {
            remove(tx, DocKey::new(kind, address.0))?;
        }
        return Ok(());
    }
    let mut reading = Reading { connection: tx.connection, caches: tx.caches, key: tx.key, index: None, damaged: None };
    let found = docs::owner_of(&reading, address).and_then(|owner| {
        // An open stream has no row in the index, and one that was never added cannot be deleted.
        let message =
            docs::message(&mut reading, address)?.filter(|message| message.content.status != MessageStatus::Streaming);
        Ok(owner.zip(message).map(|(owner, message)| docs::of_message(&message, owner)))
    });
    match found {
        Ok(gone) => tx.index_deletes.docs.extend(gone.into_iter().flatten()),
        // Content that cannot be read must still be removed from the index.
        Err(TxError::Rejected(_)) => tx.index_deletes.all = true,
        Err(fault) => return Err(fault),
    }
    Ok(())
}

/// Takes the name and the tags of a conversation out of the index.
pub(crate) fn conversation(tx: &mut Tx<'_>, no: i64) -> TxResult<()> {
    let key = DocKey::new(DocKind::Conversation, no);
    match tx.connection {
        Connection::Postgres(_) => remove(tx, key),
        Connection::Sqlite(_) => {
            let entry = Entry { at: 0, arrival: 0, key };
            tx.index_deletes.docs.push(Doc { entry, tokens: String::new() });
            Ok(())
        }
    }
}

/// Takes some folds of a conversation out of the index.
pub(crate) fn folds(tx: &mut Tx<'_>, conversation_no: i64, limit: i64) -> TxResult<()> {
    let sql = "select no from fold where conversation_no = $1 order by no limit $2";
    let found: Vec<i64> = query_all(tx.connection, sql, (conversation_no, limit), |row| row.get(0))?;
    found.into_iter().try_for_each(|no| fold(tx, no))
}

/// Takes a fold out of the index.
pub(crate) fn fold(tx: &mut Tx<'_>, no: i64) -> TxResult<()> {
    if let Connection::Postgres(_) = tx.connection {
        return remove(tx, DocKey::new(DocKind::Fold, no));
    }
    let mut reading = Reading { connection: tx.connection, caches: tx.caches, key: tx.key, index: None, damaged: None };
    match docs::fold(&mut reading, no) {
        Ok(row) => tx.index_deletes.docs.extend(row.map(|row| docs::of_fold(no, &row))),
        Err(TxError::Rejected(_)) => tx.index_deletes.all = true,
        Err(fault) => return Err(fault),
    }
    Ok(())
}

/// The indexer holds the row with its cursor; without this lock a batch that it read earlier would restore what is
/// deleted now.
fn remove(tx: &mut Tx<'_>, key: DocKey) -> TxResult<()> {
    if !tx.index_deletes.is_held {
        let sql = "insert into search_cursor (name, value) values ($1, $2) on conflict (name) do nothing";
        execute(tx.connection, sql, (CURSOR, FeedCursor::default().encode()))?;
        let sql = "select value from search_cursor where name = $1 for update";
        query_optional(tx.connection, sql, [CURSOR], |_| Ok(()))?;
        tx.index_deletes.is_held = true;
    }
    Ok(execute(tx.connection, "delete from search_doc where key = $1", [key.0])?)
}
