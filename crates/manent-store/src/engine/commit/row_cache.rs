//! Per-connection caches: interned words, branches and numbers that never change once they are committed.

use crate::api::error::StoreError;
use crate::engine::codec::disk_codes::NameKind;
use crate::engine::codec::row_mac;
use crate::engine::commit::append_cache::AppendCache;
use crate::engine::sql::connection::{Connection, DbResult, Row, insert_numbered, query_all, query_optional};
use crate::engine::sql::tx_error::{TxError, TxResult};
use manent_model::{Address, Base, Branch, BranchNo, Branches, DigestKey, Piece, Range, Sums};
use std::collections::HashMap;
use std::sync::Arc;

/// Branches are small; a conversation of a thousand forks should still fit.
const BRANCHES_MAX: usize = 20_000;
const NAMES_MAX: usize = 20_000;

/// A branch by its number.
pub(crate) const BRANCH: &str =
    "select parent_no, fork_key, open_from, before_depth, before_visible, before_words, before_tokens
     from branch
     where no = $1";

/// The pieces of a branch.
pub(crate) const PIECES: &str = "select from_key, to_key, before_depth, before_visible, before_words, before_tokens
     from piece
     where branch_no = $1
     order by ordinal";

#[derive(Default)]
pub(crate) struct RowCache {
    interned: HashMap<(NameKind, String), i64>,
    names: HashMap<i64, Arc<str>>,
    branches: HashMap<BranchNo, Arc<Branch>>,
    /// Unlike the rest this changes, with every append of the writer.
    pub recent: AppendCache,
}

impl RowCache {
    /// Forgets everything: a rollback or another process may have made it untrue.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the word of a number.
    pub(crate) fn name(&mut self, connection: Connection<'_>, no: i64) -> TxResult<Arc<str>> {
        if let Some(name) = self.names.get(&no) {
            return Ok(name.clone());
        }
        let found =
            query_optional(connection, "select value from name where no = $1", [no], |row| row.get::<String>(0))?;
        let name: Arc<str> = found.ok_or_else(|| StoreError::altered("name", no))?.into();
        if self.names.len() >= NAMES_MAX {
            self.names.clear();
        }
        self.names.insert(no, name.clone());
        Ok(name)
    }

    /// Returns the number of a word that exists.
    pub(crate) fn number_of(
        &mut self,
        connection: Connection<'_>,
        kind: NameKind,
        word: &str,
    ) -> TxResult<Option<i64>> {
        let lasts = is_permanent(kind);
        if lasts && let Some(no) = self.interned.get(&(kind, word.to_owned())) {
            return Ok(Some(*no));
        }
        let sql = "select no from name where kind = $1 and value = $2";
        let found = query_optional(connection, sql, (kind as i64, word), |row| row.get(0))?;
        if let Some(no) = found.filter(|_| lasts) {
            if self.interned.len() >= NAMES_MAX {
                self.interned.clear();
            }
            self.interned.insert((kind, word.to_owned()), no);
        }
        Ok(found)
    }

    /// Returns the number of a word, giving it one if it is new.
    pub(crate) fn intern(
        &mut self,
        connection: Connection<'_>,
        key: &DigestKey,
        kind: NameKind,
        word: &str,
    ) -> TxResult<i64> {
        if let Some(no) = self.number_of(connection, kind, word)? {
            return Ok(no);
        }
        let row = row_mac::row(key, &row_mac::NAME, (kind as i64, word));
        let no = insert_numbered(connection, "insert into name (kind, value, mac) values ($1, $2, $3)", row)?;
        if is_permanent(kind) {
            self.interned.insert((kind, word.to_owned()), no);
        }
        Ok(no)
    }

    /// Says whether a branch is known.
    pub(crate) fn contains(&self, no: BranchNo) -> bool {
        self.branches.contains_key(&no)
    }

    /// Lets the path rules look at branches.
    pub(crate) fn branches<'a>(&'a mut self, connection: Connection<'a>) -> BranchReader<'a> {
        BranchReader { caches: self, connection }
    }
}

/// Purge and erase forget the other kinds of words, perhaps in another process; if they are used again, they get a new number.
fn is_permanent(kind: NameKind) -> bool {
    matches!(kind, NameKind::Role | NameKind::Model)
}

pub(crate) struct BranchReader<'a> {
    caches: &'a mut RowCache,
    connection: Connection<'a>,
}

impl Branches for BranchReader<'_> {
    type Error = TxError;

    fn branch(&mut self, no: BranchNo) -> TxResult<Arc<Branch>> {
        if let Some(branch) = self.caches.branches.get(&no) {
            return Ok(branch.clone());
        }
        let branch = Arc::new(read_branch(self.connection, no)?.ok_or_else(|| StoreError::altered("branch", no.0))?);
        if self.caches.branches.len() >= BRANCHES_MAX {
            self.caches.branches.clear();
        }
        self.caches.branches.insert(no, branch.clone());
        Ok(branch)
    }
}

fn read_branch(connection: Connection<'_>, no: BranchNo) -> TxResult<Option<Branch>> {
    let found = query_optional(connection, BRANCH, [no.0], |row| {
        let parent: Option<i64> = row.get(0)?;
        let fork = Address(row.get(1)?);
        Ok(Branch {
            no,
            base: parent.map(|parent| Base { parent: BranchNo(parent), fork }),
            pieces: Vec::new(),
            open_from: row.get(2)?,
            before_open: sums_at(row, 3)?,
        })
    })?;
    let Some(mut branch) = found else { return Ok(None) };
    // A parent is older than its children. A damaged row that says otherwise would send a walk along the path in
    // circles.
    if branch.base.is_some_and(|base| base.parent.0 >= no.0) {
        return Err(StoreError::altered("branch", no.0).into());
    }
    branch.pieces = query_all(connection, PIECES, [no.0], |row| {
        Ok(Piece { range: Range { from: Address(row.get(0)?), to: Address(row.get(1)?) }, before: sums_at(row, 2)? })
    })?;
    Ok(Some(branch))
}

fn sums_at(row: &Row<'_>, first: usize) -> DbResult<Sums> {
    Ok(Sums {
        depth: row.get(first)?,
        visible: row.get(first + 1)?,
        words: row.get(first + 2)?,
        tokens: row.get(first + 3)?,
    })
}
