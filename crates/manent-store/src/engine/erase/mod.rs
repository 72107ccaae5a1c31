//! Destruction of data: purge, erasure of a person or of content, undo records and index entries of it.

pub(crate) mod erase_history;
pub(crate) mod erase_person;
pub(crate) mod index_delete;
pub(crate) mod destroy;
