//! Reads of blobs by SHA-256, with the check of who may see them.

use super::super::apply::library::{blob_bytes, blob_piece};
use super::Reading;
use super::library::UPLOAD;
use crate::api::error::StoreError;
use crate::engine::access::access_filter::{AccessFilter, within};
use crate::engine::sql::connection::{Connection, next_page_start, query_all, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{AccessScope, hex};
use sha2::{Digest as _, Sha256};

/// Maximum number of messages showing a blob that are checked, per query.
const PAGE: i64 = 1_000;

/// Says whether a caller may read a blob: a message of a visible conversation shows it, or the same key uploaded it.
pub(crate) fn is_readable(
    connection: Connection<'_>,
    access: &AccessScope,
    key: Option<&str>,
    sha256: &[u8; 32],
) -> TxResult<bool> {
    if !access.is_limited() {
        return Ok(true);
    }
    if let Some(key) = key
        && is_uploaded_by(connection, key, sha256)?
    {
        return Ok(true);
    }
    is_shown_within(connection, &AccessFilter::of(connection, access)?, sha256)
}

/// Says whether a key has uploaded all bytes of a blob.
pub(crate) fn is_uploaded_by(connection: Connection<'_>, key: &str, sha256: &[u8; 32]) -> TxResult<bool> {
    let sql = "select 1 from scratch where kind = $1 and id = $2 and actor = $3";
    Ok(query_optional(connection, sql, (UPLOAD, hex::encode(sha256), key), |_| Ok(()))?.is_some())
}

/// Says whether a message of a conversation within shows a blob.
pub(crate) fn is_shown_within(connection: Connection<'_>, within: &AccessFilter, sha256: &[u8; 32]) -> TxResult<bool> {
    let uses = "select u.key
         from blob b
         join blob_use u on u.blob_no = b.no
         where b.sha256 = $1 and u.key > $2
         order by u.key
         limit $3";
    let owner = concat!(
        "select 1
         from branch b
         join conversation c on c.no = b.conversation_no
         where b.no = $1 and c.withdrawn = 0 and c.status <> 4 and ",
        within!("$2", "$3")
    );
    let mut after = 0;
    loop {
        let keys: Vec<i64> = query_all(connection, uses, (&sha256[..], after, PAGE), |row| row.get(0))?;
        let Some(last) = next_page_start(after, keys.last().copied()) else { return Ok(false) };
        after = last;
        let mut branches: Vec<i64> = keys.iter().map(|key| key >> 24).collect();
        branches.dedup();
        for branch_no in branches {
            if query_optional(connection, owner, (branch_no, &within.user, &within.projects), |_| Ok(()))?.is_some() {
                return Ok(true);
            }
        }
    }
}

fn complete_no(connection: Connection<'_>, sha256: &[u8; 32]) -> TxResult<Option<i64>> {
    let sql = "select no from blob where sha256 = $1 and complete = 1";
    Ok(query_optional(connection, sql, [&sha256[..]], |row| row.get(0))?)
}

/// Returns the bytes of a blob.
pub(crate) fn whole(reading: &mut Reading<'_>, sha256: &[u8; 32]) -> TxResult<Option<Vec<u8>>> {
    let Some(no) = complete_no(reading.connection, sha256)? else { return Ok(None) };
    let bytes = blob_bytes(reading.connection, no)?;
    let found: [u8; 32] = Sha256::digest(&bytes).into();
    match found == *sha256 {
        true => Ok(Some(bytes)),
        false => Err(StoreError::altered("blob", hex::encode(sha256)).into()),
    }
}

/// Returns the first piece of a blob from a number on, with its number.
pub(crate) fn piece(reading: &mut Reading<'_>, sha256: &[u8; 32], from: i64) -> TxResult<Option<(i64, Vec<u8>)>> {
    match complete_no(reading.connection, sha256)? {
        Some(no) => blob_piece(reading.connection, no, from),
        None => Ok(None),
    }
}

/// Returns the digests and sizes of all of them.
pub(crate) fn all(reading: &mut Reading<'_>) -> TxResult<Vec<([u8; 32], i64)>> {
    let sql = "select sha256, size from blob where complete = 1 order by no";
    Ok(query_all(reading.connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?)
}
