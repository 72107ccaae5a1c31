//! Deletion of the store of a tenant: all its rows, table by table, so that an interrupted deletion can be resumed.

use super::migrate::{connect, tables_in_order};
use super::options::PostgresOptions;
use super::sql_rewrite::INDEX_TABLES;
use crate::api::deletion_report::DeletionReport;
use crate::api::error::Result;
use crate::engine::sql::connection::DbResult;

/// The numbers that a tenant gave; a writer takes the lock of one of them, and without them nothing is indexed.
const COUNTER: &str = "counter";

/// Removes every row of a tenant.
pub(super) fn destroy(options: &PostgresOptions) -> Result<DeletionReport> {
    let client = connect(options)?.without_timeout();
    // The index is deleted last: a process that still has the store open fills it as long as there are messages. Rows
    // that reference others are deleted before them; the counters first, because every writer needs them and can write
    // no more without them.
    let is_other = |table: &&str| *table != COUNTER && !INDEX_TABLES.contains(table);
    let others: Vec<&str> = tables_in_order().filter(is_other).collect();
    let tables = [COUNTER].into_iter().chain(others.into_iter().rev()).chain(INDEX_TABLES);
    let mut gone = DeletionReport::default();
    for table in tables {
        let sql = ["delete from ", table].concat();
        let delete = || -> DbResult<i64> {
            client.begin()?;
            let rows = client.execute_counted(&sql, ())?;
            client.run("commit")?;
            Ok(rows as i64)
        };
        let rows = delete().map_err(|error| error.into_store_error("removing a store"))?;
        gone.rows += rows;
        match table {
            "message" => gone.messages = rows,
            "conversation" => gone.conversations = rows,
            _ => {}
        }
    }
    Ok(gone)
}
