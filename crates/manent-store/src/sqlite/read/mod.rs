//! How each question is answered. Every function runs inside one short read transaction.

pub(super) mod message;
pub(super) mod path;
pub(super) mod conversation;
pub(super) mod attached;
pub(super) mod library;
pub(super) mod journal;
pub(super) mod ids;
pub(super) mod stats;

use super::cache::Caches;
use manent_model::DigestKey;
use rusqlite::Connection;

/// What a reader works with.
pub(super) struct Reading<'a> {
    pub connection: &'a Connection,
    pub caches: &'a mut Caches,
    pub key: &'a DigestKey,
}
