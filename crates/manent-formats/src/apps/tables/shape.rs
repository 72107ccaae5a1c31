//! Detection of the two conversation tables in a file.

use crate::apps::tables::Generation;
use crate::core::source_fs::SourceTree;
use crate::core::sqlite::{Opened, Schema, Table};

/// The two tables, and the program that created them.
pub(crate) struct Shape {
    pub generation: Generation,
    pub conversation: Table,
    pub message: Table,
}

impl Shape {
    /// Finds the tables by their columns; a view of the same name is none.
    pub fn of(schema: &Schema) -> Option<Self> {
        let conversation = schema.table("conversation").filter(|table| table.has(&["sequence", "status"]))?;
        let message = schema.table("message")?;
        if !message.has(&["message_id", "conversation_id", "role", "text"]) {
            return None;
        }
        let mut generations = [Generation::Draft, Generation::Shipped].into_iter();
        let generation = generations.find(|generation| conversation.has(&[generation.id()]))?;
        Some(Self { generation, conversation: conversation.clone(), message: message.clone() })
    }
}

/// Returns whether a file contains the tables. A damaged file is recognised by the names of their columns.
pub(crate) fn is_ours(tree: &dyn SourceTree, name: &str) -> bool {
    match Opened::open(tree, name) {
        Ok(opened) => Shape::of(&opened.schema).is_some(),
        Err(_) => {
            let start = tree.open(name).and_then(|file| file.slice(0, file.len().min(64 << 10))).unwrap_or_default();
            let has = |word: &str| memchr::memmem::find(&start, word.as_bytes()).is_some();
            has("parent_message_id") && (has("conv_id") || has("conversation_id"))
        }
    }
}
