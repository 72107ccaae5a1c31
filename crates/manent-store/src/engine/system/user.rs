//! Users of a tenant.

use super::{audit, count_change, tenant};
use crate::api::error::StoreError;
use crate::engine::sql::connection::{Connection, DbResult, Row, execute, execute_counted, query_all, query_optional};
use crate::engine::sql::tx_error::TxResult;
use crate::system::{NewAuditRecord, PurgeCounts};
use manent_model::{TenantId, Timestamp, User};

fn row(row: &Row<'_>) -> DbResult<User> {
    Ok(User { id: row.get(0)?, name: row.get(1)?, created_at: Timestamp(row.get(2)?) })
}

/// Creates a user; an existing one gets the name.
pub(crate) fn put(
    connection: Connection<'_>,
    of: TenantId,
    id: &str,
    name: &str,
    at: Timestamp,
    line: &NewAuditRecord,
) -> TxResult<User> {
    let change = count_change(connection)?;
    let no = tenant::in_use(connection, of)?.no;
    let sql = "insert into system_user (tenant_no, id, name, created_at) values ($1, $2, $3, $4)
         on conflict (tenant_no, id) do update set name = $3";
    execute(connection, sql, (no, id, name, at.0))?;
    // Processes that cache keys reload the name.
    let sql = "update system_key set change = $1 where tenant_no = $2 and user_id = $3";
    execute(connection, sql, (change, no, id))?;
    audit::add(connection, at, line)?;
    find(connection, of, id)?.ok_or_else(|| StoreError::not_found("user", id).into())
}

/// Returns a user.
pub(crate) fn find(connection: Connection<'_>, of: TenantId, id: &str) -> TxResult<Option<User>> {
    let sql = "select u.id, u.name, u.created_at
         from system_user u join system_tenant t on t.no = u.tenant_no
         where t.id = $1 and u.id = $2";
    Ok(query_optional(connection, sql, (of.as_bytes(), id), row)?)
}

/// Returns users in the order of their ids, after one.
pub(crate) fn list(connection: Connection<'_>, of: TenantId, after: &str, limit: u32) -> TxResult<Vec<User>> {
    let sql = "select u.id, u.name, u.created_at
         from system_user u join system_tenant t on t.no = u.tenant_no
         where t.id = $1 and u.id > $2
         order by u.id
         limit $3";
    Ok(query_all(connection, sql, (of.as_bytes(), after, limit), row)?)
}

/// Deletes a user and the keys that acted for them, and erases the audit payloads about them.
pub(crate) fn forget(
    connection: Connection<'_>,
    of: TenantId,
    id: &str,
    at: Timestamp,
    line: &NewAuditRecord,
) -> TxResult<PurgeCounts> {
    count_change(connection)?;
    let no = tenant::known(connection, of)?.no;
    let keys = execute_counted(connection, "delete from system_key where tenant_no = $1 and user_id = $2", (no, id))?;
    let users = execute_counted(connection, "delete from system_user where tenant_no = $1 and id = $2", (no, id))?;
    let audit = audit::forget_user(connection, of, id)?;
    audit::add(connection, at, line)?;
    Ok(PurgeCounts { users: users as i64, keys: keys as i64, audit })
}
