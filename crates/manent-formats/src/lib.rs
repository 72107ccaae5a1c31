//! File formats of other programs: lossless readers and writers.

pub mod json;
pub mod tree;
mod aside;
mod everything;
mod formats;
mod item;
pub mod lines;
mod losses;
pub mod media;
pub mod moment;
pub mod names;
mod out;
pub mod paper;
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
pub use formats::{FORMATS, Format, format, known_formats, readable, recognise, sniff};
pub use item::*;
pub use out::*;
pub use problem::{At, Broken, Place, Problem, ReadError, Repair};
