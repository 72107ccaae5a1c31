//! Reads of streams: the text that chunks have added to a message so far, and streams whose writer stopped.

use super::super::apply::stream::chunk_id;
use super::Reading;
use crate::api::error::StoreError;
use crate::api::query::{OpenStream, PAGE_MAX};
use crate::engine::codec::body_mac;
use crate::engine::sql::connection::{Connection, list, query_all};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{Address, ConversationId, DigestKey, MessageId, Timestamp};
use std::collections::HashMap;

const CHUNKS_SQLITE: &str = "select h.key, h.n, h.body
     from json_each($1) p
     cross join chunk h on h.key = p.value
     order by h.key, h.n";

const CHUNKS_POSTGRES: &str = "select h.key, h.n, h.body
     from unnest(string_to_array($1, ',')::int8[]) as p(key)
     join chunk h on h.key = p.key
     order by h.key, h.n";

/// Joins the chunks of each of some messages, in their order, with one statement. Each chunk carries its own MAC.
pub(crate) fn texts(connection: Connection<'_>, key: &DigestKey, keys: &[i64]) -> TxResult<HashMap<i64, String>> {
    let mut texts: HashMap<i64, String> = HashMap::new();
    if keys.is_empty() {
        return Ok(texts);
    }
    let sql = match connection {
        Connection::Sqlite(_) => CHUNKS_SQLITE,
        Connection::Postgres(_) => CHUNKS_POSTGRES,
    };
    let found: Vec<(i64, i64, Vec<u8>)> =
        query_all(connection, sql, [list(connection, keys)], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    for (of, n, body) in found {
        let delta = body_mac::verify(key, "chunk", &chunk_id(Address(of), n), &body)?;
        let delta = std::str::from_utf8(delta).map_err(|_| StoreError::altered("chunk", n))?;
        texts.entry(of).or_default().push_str(delta);
    }
    Ok(texts)
}

const SIZES_SQLITE: &str = "select s.key, s.bytes
     from json_each($1) p
     cross join stream s on s.key = p.value";

const SIZES_POSTGRES: &str = "select s.key, s.bytes
     from unnest(string_to_array($1, ',')::int8[]) as p(key)
     join stream s on s.key = p.key";

/// Returns how many bytes each of some open streams holds, with one statement that reads none of them.
pub(crate) fn sizes(connection: Connection<'_>, keys: &[i64]) -> TxResult<HashMap<i64, usize>> {
    let sql = match connection {
        Connection::Sqlite(_) => SIZES_SQLITE,
        Connection::Postgres(_) => SIZES_POSTGRES,
    };
    let found: Vec<(i64, i64)> =
        query_all(connection, sql, [list(connection, keys)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.into_iter().map(|(key, bytes)| (key, usize::try_from(bytes).unwrap_or(0))).collect())
}

/// Returns the streams whose last chunk came before a time, the longest silent first.
pub(crate) fn idle(reading: &Reading<'_>, before: Timestamp, limit: u32) -> TxResult<Vec<OpenStream>> {
    let sql = "select c.id, c.version, m.id, s.renewed_at
         from (select key, key >> 24 as branch_no, renewed_at
               from stream
               where renewed_at < $1
               order by renewed_at
               limit $2) s
         join message m on m.key = s.key
         join branch b on b.no = s.branch_no
         join conversation c on c.no = b.conversation_no
         where c.withdrawn = 0 and c.status <> 4
         order by s.renewed_at, m.id";
    Ok(query_all(reading.connection, sql, (before.0, i64::from(limit.min(PAGE_MAX))), |row| {
        Ok(OpenStream {
            conversation: ConversationId::from_bytes(row.get(0)?),
            version: row.get(1)?,
            message: MessageId::from_bytes(row.get(2)?),
            renewed_at: Timestamp(row.get(3)?),
        })
    })?)
}
