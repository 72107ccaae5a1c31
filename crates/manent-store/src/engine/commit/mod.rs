//! The commit path: preparation, the commit queue, execution of one transaction, and its caches.

pub(crate) mod backfill_authors;
pub(crate) mod reply_dispatcher;
pub(crate) mod prefetch_plan;
pub(crate) mod commit_queue;
pub(crate) mod append_cache;
pub(crate) mod participants;
pub(crate) mod row_cache;
pub(crate) mod prepare;
pub(crate) mod execute;
pub(crate) mod tx;
