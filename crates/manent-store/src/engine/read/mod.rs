//! Answers each query. Every function runs inside one short read transaction.

pub(crate) mod message;
pub(crate) mod related;
pub(crate) mod stream;
pub(crate) mod path;
pub(crate) mod conversation;
pub(crate) mod list;
pub(crate) mod annotations;
mod annotations_page;
pub(crate) mod library;
mod document;
pub(crate) mod blob;
pub(crate) mod journal;
pub(crate) mod ids;
pub(crate) mod damage;

use crate::api::damage::DamagedRecord;
use crate::engine::commit::row_cache::RowCache;
use crate::engine::sql::connection::Connection;
use manent_model::DigestKey;

/// The context of a read: connection, caches, keys and the report of damage.
pub(crate) struct Reading<'a> {
    pub connection: Connection<'a>,
    pub caches: &'a mut RowCache,
    pub key: &'a DigestKey,
    /// The index of a file, where there is one; that of a server is among its tables.
    pub index: Option<&'a rusqlite::Connection>,
    /// Damaged records that were left out; none where they end the read.
    pub damaged: Option<Vec<DamagedRecord>>,
}
