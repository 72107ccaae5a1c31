//! Tables of the system store: tenants, users, API keys, and the audit log. The statements run on either engine.
//!
//! Every change of these writes a line of the audit log in the same transaction. The modules, in reading order:

pub(crate) mod audit;
pub(crate) mod tenant;
pub(crate) mod user;
pub(crate) mod key;
pub(crate) mod copy;

use crate::engine::sql::connection::{Connection, DbResult, execute, query_one};
use manent_model::DEFAULT_TENANT;

/// Lines of the audit log that are read at a time, because it grows for ever.
const LINES_PAGE: i64 = 500;

/// Writes the rows that are there from the start.
pub(crate) fn begin(connection: Connection<'_>, at: i64) -> DbResult<()> {
    let sql = "insert into system_head (one, tenant_no, change, audit_no, audit_digest) values (1, 1, 0, 0, $1)
         on conflict do nothing";
    execute(connection, sql, [[0u8; 32]])?;
    let sql = "insert into system_tenant (no, id, name, status, created_at) values (1, $1, $2, $3, $4)
         on conflict do nothing";
    execute(connection, sql, (DEFAULT_TENANT.as_bytes(), tenant::DEFAULT_NAME, tenant::ACTIVE, at))
}

/// Increments the change counter of tenants, users and keys, and returns it. Every change begins with this: on a server
/// the row is the lock that serializes changes.
pub(crate) fn count_change(connection: Connection<'_>) -> DbResult<i64> {
    query_one(connection, "update system_head set change = change + 1 returning change", (), |row| row.get(0))
}

/// Returns how often something has changed.
pub(crate) fn changes(connection: Connection<'_>) -> DbResult<i64> {
    query_one(connection, "select change from system_head", (), |row| row.get(0))
}
