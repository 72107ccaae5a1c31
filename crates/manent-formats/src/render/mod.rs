//! Export-only formats for people: Markdown, one file per conversation, and a single HTML page.

mod html;
mod markdown;
mod name;
mod layout;

use crate::core::item::Sink;
use crate::core::problem::ReadError;
use crate::core::source_fs::SourceTree;
pub use html::write as write_html;
pub use markdown::write as write_markdown;

/// The name of Markdown among the formats.
pub const MARKDOWN: &str = "markdown";
/// The name of HTML among the formats.
pub const HTML: &str = "html";

/// Nothing is taken for one of these.
pub fn finds(_: &dyn SourceTree) -> bool {
    false
}

/// Says that these are not read.
pub fn read(tree: &dyn SourceTree, _: &mut dyn Sink) -> Result<(), ReadError> {
    let why = "it is written for people and not read back".to_owned();
    Err(ReadError::Foreign { file: tree.label().to_owned(), format: "a store", why })
}
