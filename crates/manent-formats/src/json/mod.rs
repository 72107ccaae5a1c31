//! JSON as other programs wrote it: found in large files, read by member, changed in place.

mod bytes;
mod scan;
mod members;
mod shell;
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
pub use shell::{Gap, Segment, Shell};
pub use style::Style;
