//! Tenants: create, find, suspend, erase.

use super::{NewAuditRecord, PurgeCounts, SystemStore, audit_log, next_change};
use crate::api::error::{Conflict, Result, StoreError};
use crate::api::query::PAGE_MAX;
use crate::engine::sql::connection::{
    Connection, DbResult, Row, execute, execute_counted, query_all, query_one, query_optional,
};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{Tenant, TenantId, TenantStatus, Timestamp};

/// How a tenant is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantRef {
    /// By its id.
    Id(TenantId),
    /// By its name.
    Name(String),
}

/// A tenant, and where its rows are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantRow {
    /// Its number on a server of PostgreSQL.
    pub no: i64,
    /// The tenant.
    pub tenant: Tenant,
    /// The receipt of its erasure, as JSON.
    pub receipt: Option<String>,
    /// It has users, so that objects in it may belong to one.
    pub has_users: bool,
}

/// Name of the first tenant.
pub(super) const DEFAULT_NAME: &str = "default";

pub(super) const ACTIVE: i64 = 1;

impl SystemStore {
    /// Creates a tenant whose store does not exist yet.
    pub async fn create_tenant(
        &self,
        id: TenantId,
        name: String,
        at: Timestamp,
        line: NewAuditRecord,
    ) -> Result<TenantRow> {
        let create = move |connection: Connection<'_>| {
            next_change(connection)?;
            if let Some(existing) = find(connection, &TenantRef::Name(name.clone()))? {
                return Err(Conflict::Exists { what: "tenant", id: existing.tenant.name }.into());
            }
            let sql = "update system_head set tenant_no = tenant_no + 1 returning tenant_no";
            let no: i64 = query_one(connection, sql, (), |row| row.get(0))?;
            let status = TenantStatus::Making;
            let sql = "insert into system_tenant (no, id, name, status, created_at) values ($1, $2, $3, $4, $5)";
            execute(connection, sql, (no, id.as_bytes(), &name, status_code(status), at.0))?;
            audit_log::add(connection, at, &line)?;
            let tenant = Tenant { id, name: name.clone(), status, created_at: at };
            Ok(TenantRow { no, tenant, receipt: None, has_users: false })
        };
        self.worker.write("making a tenant", create).await
    }

    /// Returns a tenant.
    pub async fn tenant(&self, which: TenantRef) -> Result<Option<TenantRow>> {
        self.worker.read("reading a tenant", move |connection| find(connection, &which)).await
    }

    /// Returns tenants in the order they were made, after a number.
    pub async fn tenants(&self, after: i64, limit: u32) -> Result<Vec<TenantRow>> {
        self.worker.read("reading tenants", move |connection| list(connection, after, limit.min(PAGE_MAX))).await
    }

    /// Changes the status of a tenant, if the transition is allowed.
    pub async fn set_tenant_status(
        &self,
        id: TenantId,
        from: &'static [TenantStatus],
        to: TenantStatus,
        at: Timestamp,
        line: Option<NewAuditRecord>,
    ) -> Result<TenantRow> {
        let set = move |connection: Connection<'_>| {
            next_change(connection)?;
            let found = known(connection, id)?;
            let status = found.tenant.status;
            if status == to {
                return Ok(found);
            }
            if !from.contains(&status) {
                let why = format!("the tenant is {status:?}, and cannot become {to:?}").to_lowercase();
                return Err(StoreError::Invalid(why).into());
            }
            execute(connection, "update system_tenant set status = $1 where no = $2", (status_code(to), found.no))?;
            if let Some(line) = &line {
                audit_log::add(connection, at, line)?;
            }
            Ok(TenantRow { tenant: Tenant { status: to, ..found.tenant }, ..found })
        };
        match to {
            TenantStatus::Erasing => self.worker.write_for_deletion("changing a tenant", set).await,
            _ => self.worker.write("changing a tenant", set).await,
        }
    }

    /// Deletes the users and the keys of a tenant that is being erased, and erases the audit payloads about them.
    pub async fn forget_tenant(&self, id: TenantId) -> Result<PurgeCounts> {
        let forget = move |connection: Connection<'_>| {
            next_change(connection)?;
            let no = known(connection, id)?.no;
            let users = execute_counted(connection, "delete from system_user where tenant_no = $1", [no])?;
            let keys = execute_counted(connection, "delete from system_key where tenant_no = $1", [no])?;
            let audit = audit_log::forget_tenant(connection, id)?;
            Ok(PurgeCounts { users: users as i64, keys: keys as i64, audit })
        };
        self.worker.write_and_wipe("erasing a tenant", forget).await
    }

    /// Keeps the receipt of a tenant that was erased, and nothing else; returns the one that is kept, which is the
    /// first.
    pub async fn finish_erasing(
        &self,
        id: TenantId,
        receipt: String,
        at: Timestamp,
        line: NewAuditRecord,
    ) -> Result<String> {
        let finish = move |connection: Connection<'_>| {
            next_change(connection)?;
            let found = known(connection, id)?;
            // Another process may have finished it meanwhile, and has the receipt.
            if found.tenant.status == TenantStatus::Erased {
                return Ok(found.receipt.unwrap_or_default());
            }
            let sql = "update system_tenant set status = $1, name = '', receipt = $2 where no = $3";
            execute(connection, sql, (status_code(TenantStatus::Erased), &receipt, found.no))?;
            audit_log::add(connection, at, &line)?;
            Ok(receipt.clone())
        };
        self.worker.write_and_wipe("erasing a tenant", finish).await
    }
}

fn status_code(status: TenantStatus) -> i64 {
    match status {
        TenantStatus::Making => 0,
        TenantStatus::Active => ACTIVE,
        TenantStatus::Suspended => 2,
        TenantStatus::Erasing => 3,
        TenantStatus::Erased => 4,
    }
}

fn status_of(code: i64) -> TenantStatus {
    match code {
        0 => TenantStatus::Making,
        ACTIVE => TenantStatus::Active,
        2 => TenantStatus::Suspended,
        3 => TenantStatus::Erasing,
        _ => TenantStatus::Erased,
    }
}

fn row(row: &Row<'_>) -> DbResult<TenantRow> {
    let tenant = Tenant {
        id: TenantId::from_bytes(row.get(1)?),
        name: row.get(2)?,
        status: status_of(row.get(3)?),
        created_at: Timestamp(row.get(4)?),
    };
    Ok(TenantRow { no: row.get(0)?, tenant, receipt: row.get(5)?, has_users: row.get(6)? })
}

/// Returns a tenant.
pub(super) fn find(connection: Connection<'_>, which: &TenantRef) -> TxResult<Option<TenantRow>> {
    Ok(match which {
        TenantRef::Id(id) => {
            let sql = "select t.no, t.id, t.name, t.status, t.created_at, t.receipt,
                 (select count(*) from (select 1 from system_user u where u.tenant_no = t.no limit 1) x)
                 from system_tenant t
                 where t.id = $1";
            query_optional(connection, sql, [id.as_bytes()], row)?
        }
        TenantRef::Name(name) => {
            let sql = "select t.no, t.id, t.name, t.status, t.created_at, t.receipt,
                 (select count(*) from (select 1 from system_user u where u.tenant_no = t.no limit 1) x)
                 from system_tenant t
                 where t.name = $1 and t.name <> ''";
            query_optional(connection, sql, [name], row)?
        }
    })
}

/// Returns a tenant, or says that there is none.
pub(super) fn known(connection: Connection<'_>, id: TenantId) -> TxResult<TenantRow> {
    find(connection, &TenantRef::Id(id))?.ok_or_else(|| StoreError::not_found("tenant", id).into())
}

/// Returns a tenant that has a store, or says that there is none.
pub(super) fn in_use(connection: Connection<'_>, id: TenantId) -> TxResult<TenantRow> {
    match known(connection, id)? {
        row if row.tenant.is_in_use() => Ok(row),
        _ => Err(StoreError::not_found("tenant", id).into()),
    }
}

/// Returns tenants in the order they were made, after a number.
pub(super) fn list(connection: Connection<'_>, after: i64, limit: u32) -> TxResult<Vec<TenantRow>> {
    let sql = "select t.no, t.id, t.name, t.status, t.created_at, t.receipt,
           (select count(*) from (select 1 from system_user u where u.tenant_no = t.no limit 1) x)
         from system_tenant t
         where t.no > $1
         order by t.no
         limit $2";
    Ok(query_all(connection, sql, (after, limit), row)?)
}
