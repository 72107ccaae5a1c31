//! File formats of other programs: lossless readers and writers.

pub mod json;
pub mod source_fs;
mod unmapped;
mod everything;
mod formats;
mod item;
pub mod jsonl;
mod losses;
pub mod media;
pub mod time;
pub mod names;
mod export;
pub mod render;
mod problem;
pub mod redact;
mod sqlite;
mod unique;
pub mod kode;
pub mod veloca;
pub mod obsidian;
pub mod personalab;
pub mod tables;

pub use everything::read_everything;
pub use export::*;
pub use formats::{FORMATS, Format, format, known_formats, readable, recognise, sniff};
pub use item::*;
pub use problem::{At, Place, Problem, ReadError, Repair, RepairKind};
