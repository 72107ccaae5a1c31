//! File formats of other programs: lossless readers and writers.

pub mod core;
pub mod apps;
pub mod render;
mod everything;
mod formats;

pub use core::export::*;
pub use core::item::*;
pub use core::problem::{At, Place, Problem, ReadError, Repair, RepairKind};
pub use everything::read_everything;
pub use formats::{FORMATS, Format, format, known_formats, readable, recognise, sniff};
