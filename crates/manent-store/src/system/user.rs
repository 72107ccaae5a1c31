//! Users of a tenant.

use super::{NewAuditRecord, PurgeCounts, SystemStore, audit_log, next_change, tenant};
use crate::api::error::{Result, StoreError};
use crate::api::query::PAGE_MAX;
use crate::engine::sql::connection::{Connection, DbResult, Row, execute, execute_counted, query_all, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{TenantId, Timestamp, User};

impl SystemStore {
    /// Creates a user; an existing one gets the name.
    pub async fn put_user(
        &self,
        of: TenantId,
        id: String,
        name: String,
        at: Timestamp,
        line: NewAuditRecord,
    ) -> Result<User> {
        let put = move |connection: Connection<'_>| {
            let change = next_change(connection)?;
            let no = tenant::in_use(connection, of)?.no;
            let sql = "insert into system_user (tenant_no, id, name, created_at) values ($1, $2, $3, $4)
                 on conflict (tenant_no, id) do update set name = $3";
            execute(connection, sql, (no, &id, &name, at.0))?;
            // Processes that cache keys reload the name.
            let sql = "update system_key set change = $1 where tenant_no = $2 and user_id = $3";
            execute(connection, sql, (change, no, &id))?;
            audit_log::add(connection, at, &line)?;
            find(connection, of, &id)?.ok_or_else(|| StoreError::not_found("user", &id).into())
        };
        self.worker.write("keeping a user", put).await
    }

    /// Returns a user.
    pub async fn user(&self, of: TenantId, id: String) -> Result<Option<User>> {
        self.worker.read("reading a user", move |connection| find(connection, of, &id)).await
    }

    /// Returns users in the order of their ids, after one.
    pub async fn users(&self, of: TenantId, after: String, limit: u32) -> Result<Vec<User>> {
        let list = move |connection: Connection<'_>| {
            let sql = "select u.id, u.name, u.created_at
                 from system_user u join system_tenant t on t.no = u.tenant_no
                 where t.id = $1 and u.id > $2
                 order by u.id
                 limit $3";
            Ok(query_all(connection, sql, (of.as_bytes(), &after, limit.min(PAGE_MAX)), row)?)
        };
        self.worker.read("reading users", list).await
    }

    /// Deletes a user and the keys that acted for them, and erases the audit payloads about them.
    pub async fn forget_user(
        &self,
        of: TenantId,
        id: String,
        at: Timestamp,
        line: NewAuditRecord,
    ) -> Result<PurgeCounts> {
        let forget = move |connection: Connection<'_>| {
            next_change(connection)?;
            let no = tenant::known(connection, of)?.no;
            let sql = "delete from system_key where tenant_no = $1 and user_id = $2";
            let keys = execute_counted(connection, sql, (no, &id))?;
            let sql = "delete from system_user where tenant_no = $1 and id = $2";
            let users = execute_counted(connection, sql, (no, &id))?;
            let audit = audit_log::forget_user(connection, of, &id)?;
            audit_log::add(connection, at, &line)?;
            Ok(PurgeCounts { users: users as i64, keys: keys as i64, audit })
        };
        self.worker.write_and_wipe("erasing a user", forget).await
    }
}

fn row(row: &Row<'_>) -> DbResult<User> {
    Ok(User { id: row.get(0)?, name: row.get(1)?, created_at: Timestamp(row.get(2)?) })
}

/// Returns a user.
pub(super) fn find(connection: Connection<'_>, of: TenantId, id: &str) -> TxResult<Option<User>> {
    let sql = "select u.id, u.name, u.created_at
         from system_user u join system_tenant t on t.no = u.tenant_no
         where t.id = $1 and u.id = $2";
    Ok(query_optional(connection, sql, (of.as_bytes(), id), row)?)
}
