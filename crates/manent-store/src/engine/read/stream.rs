//! Streams: the text that chunks have added to a message so far, and streams whose writer has gone silent.

use super::super::apply::stream::chunk_id;
use super::super::connection::{Connection, rows};
use super::super::fault::Outcome;
use super::super::seal;
use super::Reading;
use crate::error::StoreError;
use crate::query::{OpenStream, PAGE_MAX};
use manent_model::{Address, ConversationId, DigestKey, MessageId, Micros};

/// Joins the chunks of a message, in their order; each one carries its own MAC.
pub(crate) fn text(connection: Connection<'_>, key: &DigestKey, address: Address) -> Outcome<String> {
    let sql = "select n, body from chunk where key = $1 order by n";
    let found: Vec<(i64, Vec<u8>)> = rows(connection, sql, [address.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut text = String::new();
    for (n, body) in found {
        let delta = seal::open(key, "chunk", &chunk_id(address, n), &body)?;
        text.push_str(std::str::from_utf8(delta).map_err(|_| StoreError::altered("chunk", n))?);
    }
    Ok(text)
}

/// Returns the streams whose last chunk came before a time, the longest silent first.
pub(crate) fn idle(reading: &Reading<'_>, before: Micros, limit: u32) -> Outcome<Vec<OpenStream>> {
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
    Ok(rows(reading.connection, sql, (before.0, i64::from(limit.min(PAGE_MAX))), |row| {
        Ok(OpenStream {
            conversation: ConversationId::from_bytes(row.get(0)?),
            version: row.get(1)?,
            message: MessageId::from_bytes(row.get(2)?),
            renewed_at: Micros(row.get(3)?),
        })
    })?)
}
