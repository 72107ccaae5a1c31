//! Tenants: create, find, suspend, erase.

use super::{audit, count_change};
use crate::api::error::{Conflict, StoreError};
use crate::engine::sql::connection::{
    Connection, DbResult, Row, execute, execute_counted, query_all, query_one, query_optional,
};
use crate::engine::sql::tx_error::TxResult;
use crate::system::{NewAuditRecord, PurgeCounts, TenantRef, TenantRow};
use manent_model::{Tenant, TenantId, TenantStatus, Timestamp};

/// Name of the first tenant.
pub(crate) const DEFAULT_NAME: &str = "default";

pub(crate) const ACTIVE: i64 = 1;

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

/// Creates a tenant whose store does not exist yet.
pub(crate) fn create(
    connection: Connection<'_>,
    id: TenantId,
    name: &str,
    at: Timestamp,
    line: &NewAuditRecord,
) -> TxResult<TenantRow> {
    count_change(connection)?;
    if let Some(there) = find(connection, &TenantRef::Name(name.to_owned()))? {
        return Err(Conflict::Exists { what: "tenant", id: there.tenant.name }.into());
    }
    let sql = "update system_head set tenant_no = tenant_no + 1 returning tenant_no";
    let no: i64 = query_one(connection, sql, (), |row| row.get(0))?;
    let status = TenantStatus::Making;
    let sql = "insert into system_tenant (no, id, name, status, created_at) values ($1, $2, $3, $4, $5)";
    execute(connection, sql, (no, id.as_bytes(), name, status_code(status), at.0))?;
    audit::add(connection, at, line)?;
    let tenant = Tenant { id, name: name.to_owned(), status, created_at: at };
    Ok(TenantRow { no, tenant, receipt: None, has_users: false })
}

/// Returns a tenant.
pub(crate) fn find(connection: Connection<'_>, which: &TenantRef) -> TxResult<Option<TenantRow>> {
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
pub(crate) fn list(connection: Connection<'_>, after: i64, limit: u32) -> TxResult<Vec<TenantRow>> {
    let sql = "select t.no, t.id, t.name, t.status, t.created_at, t.receipt,
           (select count(*) from (select 1 from system_user u where u.tenant_no = t.no limit 1) x)
         from system_tenant t
         where t.no > $1
         order by t.no
         limit $2";
    Ok(query_all(connection, sql, (after, limit), row)?)
}

/// Changes the status of a tenant, if the transition is allowed.
pub(crate) fn set_status(
    connection: Connection<'_>,
    id: TenantId,
    from: &[TenantStatus],
    to: TenantStatus,
    at: Timestamp,
    line: Option<&NewAuditRecord>,
) -> TxResult<TenantRow> {
    count_change(connection)?;
    let found = known(connection, id)?;
    if found.tenant.status == to {
        return Ok(found);
    }
    if !from.contains(&found.tenant.status) {
        let is = found.tenant.status;
        return Err(
            StoreError::Invalid(format!("the tenant is {is:?}, and cannot become {to:?}").to_lowercase()).into()
        );
    }
    execute(connection, "update system_tenant set status = $1 where no = $2", (status_code(to), found.no))?;
    if let Some(line) = line {
        audit::add(connection, at, line)?;
    }
    Ok(TenantRow { tenant: Tenant { status: to, ..found.tenant }, ..found })
}

/// Forgets the people and the keys of a tenant that is being erased.
pub(crate) fn forget(connection: Connection<'_>, id: TenantId) -> TxResult<PurgeCounts> {
    count_change(connection)?;
    let found = known(connection, id)?;
    let users = execute_counted(connection, "delete from system_user where tenant_no = $1", [found.no])?;
    let keys = execute_counted(connection, "delete from system_key where tenant_no = $1", [found.no])?;
    let audit = audit::forget_tenant(connection, id)?;
    Ok(PurgeCounts { users: users as i64, keys: keys as i64, audit })
}

/// Keeps the receipt, and nothing else; returns the one that is kept.
pub(crate) fn finish_erasing(
    connection: Connection<'_>,
    id: TenantId,
    receipt: &str,
    at: Timestamp,
    line: &NewAuditRecord,
) -> TxResult<String> {
    count_change(connection)?;
    let found = known(connection, id)?;
    // Another may have finished it meanwhile, and has the receipt.
    if found.tenant.status == TenantStatus::Erased {
        return Ok(found.receipt.unwrap_or_default());
    }
    let sql = "update system_tenant set status = $1, name = '', receipt = $2 where no = $3";
    execute(connection, sql, (status_code(TenantStatus::Erased), receipt, found.no))?;
    audit::add(connection, at, line)?;
    Ok(receipt.to_owned())
}
