//! Import, export and backup: our own JSON lines, files of other programs, copies of the store.

pub mod jsonl;
pub mod import;
pub mod export;
pub(crate) mod backup;
