//! Statistics from materialized sums.
//!
//! The index keeps, for each conversation, tallies of its shown path by day, role and model ("cells"), and totals of
//! those cells for the store, each project and each tag. It follows the journal, so a commit pays nothing. A reader
//! takes the totals and corrects them by the conversations that changed since the index last read the journal, so its
//! answer is exact. In reading order: [`cells`] (the tables), [`changes`] (which conversations changed), [`path`]
//! (counting a path or its tail), [`mod@update`] (keeping the sums), [`mod@answer`] (reading them), [`check`] (comparing them
//! with the messages).

mod answer;
mod cells;
mod changes;
pub(crate) mod check;
mod path;
mod update;

pub(crate) use answer::{add_conversations, answer};
pub(crate) use cells::clear;
pub(crate) use changes::Changes;
pub(crate) use path::count_messages;
pub(crate) use update::update;

/// Read label of statistics; the reader of a file opens the index for it.
pub(crate) const COUNTING: &str = "counting";
