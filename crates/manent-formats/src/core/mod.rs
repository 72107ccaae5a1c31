//! Shared by all formats: items, source trees, lossless JSON, media, redaction, problems.

pub mod source_fs;
pub mod unmapped;
pub mod problem;
pub mod losses;
pub mod export;
pub mod redact;
pub mod sqlite;
pub mod unique;
pub mod jsonl;
pub mod media;
pub mod names;
pub mod json;
pub mod item;
pub mod time;
