//! Verifies rows other than messages: their MACs, and the presence and flags that the journal records.

use super::super::apply::undo::flag_columns;
use super::Verifier;
use crate::api::error::StoreError;
use crate::api::maintenance::VerifyProblem;
use crate::engine::codec::before_image::{BeforeImage, SoftDeletable};
use crate::engine::codec::{before_image, row_mac};
use crate::engine::commit::tx::{ConversationRow, listed_at, read_row};
use crate::engine::sql::connection::{query_all as query, query_optional};
use crate::engine::sql::tx_error::TxResult;
use crate::engine::sql::value::OwnedSqlValue;
use std::collections::BTreeMap;

/// The conversation number of rows outside conversations.
pub(super) const WORKSPACE: i64 = 0;

/// The rows that a chain of the journal added, and whether each is withdrawn now; none where that is not known.
#[derive(Default)]
pub(super) struct ExpectedFlags {
    rows: BTreeMap<(SoftDeletable, i64), Option<bool>>,
    /// An erasure emptied a later journal row, which may have had images of any row.
    is_scrubbed: bool,
}

impl ExpectedFlags {
    /// Applies the images of the next journal row. An image is of the time before a change, so the flag is the other
    /// one now; before `is_covered` images were also written for flags that did not change.
    pub(super) fn replay(&mut self, before: Option<&[u8]>, is_covered: bool) {
        if before.is_some_and(before_image::is_erased) {
            self.rows.values_mut().for_each(|withdrawn| *withdrawn = None);
        }
        for (row, withdrawn) in flags_in(before) {
            self.rows.insert(row, is_covered.then_some(!withdrawn));
        }
    }

    /// Applies the images of the previous journal row.
    pub(super) fn replay_backwards(&mut self, before: Option<&[u8]>, is_covered: bool) {
        self.is_scrubbed |= before.is_some_and(before_image::is_erased);
        let is_known = is_covered && !self.is_scrubbed;
        for (row, withdrawn) in flags_in(before).into_iter().rev() {
            self.rows.entry(row).or_insert(is_known.then_some(!withdrawn));
        }
    }
}

fn flags_in(before: Option<&[u8]>) -> Vec<((SoftDeletable, i64), bool)> {
    let images = before.and_then(before_image::decode).unwrap_or_default();
    let flag = |image: BeforeImage| match image {
        BeforeImage::Flag { table, key, withdrawn } => Some(((table, key), withdrawn)),
        _ => None,
    };
    images.into_iter().filter_map(flag).collect()
}

impl Verifier<'_> {
    /// Looks for the rows that the journal of a conversation says were added, and compares their flags.
    pub(super) fn flags(&mut self, conversation_no: i64, expected: &ExpectedFlags) -> TxResult<()> {
        if self.is_being_erased(conversation_no)? {
            return Ok(());
        }
        let all: Vec<_> = expected.rows.iter().collect();
        // Numbers that follow each other are read at once: the events of a run are many.
        for run in all.chunk_by(|((table, key), _), ((next_table, next), _)| table == next_table && key + 1 == *next) {
            for run in run.chunks(1_000) {
                let ((table, first), _) = run[0];
                let (name, column) = flag_columns(*table);
                let read = ["select ", column, ", withdrawn from ", name].concat();
                let sql = [&read, " where ", column, " between $1 and $2"].concat();
                let last = first + run.len() as i64 - 1;
                let found: BTreeMap<i64, bool> =
                    query(self.connection, &sql, (first, last), |row| Ok((row.get(0)?, row.get(1)?)))?
                        .into_iter()
                        .collect();
                for ((_, key), withdrawn) in run {
                    match found.get(key) {
                        None => self.workspace_problem(format!("{name} {key} is missing")),
                        Some(found) if withdrawn.is_some_and(|withdrawn| withdrawn != *found) => {
                            self.workspace_problem(format!("{name} {key} was removed or restored"));
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// Says whether an erasure is under way that deleted rows and has yet to empty the images that tell of them.
    fn is_being_erased(&self, conversation_no: i64) -> TxResult<bool> {
        let sql = "select 1 from meta where name = $1 or name = $2 or name = $3";
        let names = [
            format!("scrub:{conversation_no}"),
            format!("scrub:-{conversation_no}"),
            format!("going:{conversation_no}"),
        ];
        Ok(query_optional(self.connection, sql, names, |_| Ok(()))?.is_some())
    }

    /// Checks the columns that every commit writes into the row of a conversation.
    pub(super) fn head(&mut self, no: i64) -> TxResult<()> {
        let sql = "select no, status, version, head_branch_no, head_key, active_at, messages, words, tokens,
                event_cursor, last_pos, digest, listed_at, id, head_mac
             from conversation
             where no = $1";
        let found: Option<(ConversationRow, OwnedSqlValue)> =
            query_optional(self.connection, sql, [no], |row| Ok((read_row(row)?, row.get(14)?)))?;
        match found {
            Some((row, mac))
                if mac != OwnedSqlValue::Bytes(row.head_mac(&self.key).to_vec())
                    || row.listed_at != listed_at(row.active_at) =>
            {
                Err(StoreError::altered("the head of", row.id).into())
            }
            _ => Ok(()),
        }
    }

    /// Compares every row that has a MAC with it.
    pub(super) fn row_macs(&mut self) {
        for table in row_mac::tables() {
            let mut after = Some(Vec::new());
            while let Some(behind) = after.take() {
                self.check(table.name, |this| {
                    let found = row_mac::page(this.connection, &this.key, table, &behind)?;
                    after = row_mac::next_page_start(&behind, &found);
                    for row in found.iter().filter(|row| !row.is_sound()) {
                        this.workspace_problem(format!("{} {} was changed", table.name, named(&row.key)));
                    }
                    Ok(())
                });
            }
        }
        self.check("tool_call", |this| {
            // A tool call that is undone loses its row, and its steps are withdrawn.
            let sql = "select s.key, s.part
                 from tool_step s
                 left join tool_call c on c.key = s.key and c.part = s.part
                 where c.key is null and s.withdrawn = 0
                 limit 20";
            let found: Vec<(i64, i64)> = query(this.connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
            for (key, part) in found {
                this.workspace_problem(format!("tool_call {key}, {part} is missing"));
            }
            Ok(())
        });
    }

    fn workspace_problem(&mut self, what: String) {
        self.problem(VerifyProblem::Beside { what });
    }
}

/// Writes the columns that name a row.
fn named(key: &[i64]) -> String {
    let numbers: Vec<String> = key.iter().map(i64::to_string).collect();
    numbers.join(", ")
}
