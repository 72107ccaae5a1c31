//! Lossless JSON: scanning of large files, reading by member, editing in place.

mod bytes;
mod scan;
mod members;
mod skeleton;
mod style;
mod frame;
mod list;
mod merge;
mod mend;

pub use bytes::Bytes;
pub use frame::Frame;
pub use list::ListOut;
pub use members::{Members, Object, decode};
pub use mend::{Mended, Removed, mend};
pub use merge::{merge, merge_text};
pub use scan::{Outline, Outlined, RECORD_MAX, Shape, Span, outline};
pub use skeleton::{Segment, Separators, Skeleton};
pub use style::Style;
