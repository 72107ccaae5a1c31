//! API keys of tenants.

use super::{NewAuditRecord, SystemStore, audit_log, next_change, tenant, user};
use crate::api::error::{Result, StoreError};
use crate::api::query::PAGE_MAX;
use crate::engine::sql::connection::{Connection, DbResult, Row, execute, query_all, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{Key, KeyDigest, KeyId, KeyScope, KeyScopes, ProjectId, TenantId, Timestamp};
use std::collections::BTreeSet;

/// A key, and the digest of its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// The key.
    pub key: Key,
    /// The digest.
    pub digest: KeyDigest,
    /// The name of the user that it acts for.
    pub user_name: Option<String>,
}

impl SystemStore {
    /// Keeps a new key. A key for a user needs that user.
    pub async fn create_key(&self, key: Key, digest: KeyDigest, line: NewAuditRecord) -> Result<()> {
        let create = move |connection: Connection<'_>| {
            let change = next_change(connection)?;
            let no = tenant::in_use(connection, key.tenant)?.no;
            if let Some(id) = &key.user
                && user::find(connection, key.tenant, id)?.is_none()
            {
                return Err(StoreError::not_found("user", id).into());
            }
            let projects = key.projects.as_ref().map(|ids| serde_json::to_string(ids).expect("ids are JSON"));
            let (expires, at) = (key.expires_at.map(|end| end.0), key.created_at);
            let (id, name, scopes, user) = (key.id.as_bytes(), &key.name, scopes_code(&key.scopes), &key.user);
            let sql = "insert into system_key
                   (id, tenant_no, name, digest, scopes, user_id, projects, rate, created_at, expires_at, change)
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
            let values = (id, no, name, digest.as_bytes(), scopes, user, projects, key.rate, at.0, expires, change);
            execute(connection, sql, values)?;
            Ok(audit_log::add(connection, at, &line)?)
        };
        self.worker.write("keeping a key", create).await
    }

    /// Returns the keys of a tenant in the order they were made, after one.
    pub async fn keys(&self, of: TenantId, after: Option<KeyId>, limit: u32) -> Result<Vec<Key>> {
        let list = move |connection: Connection<'_>| {
            let sql = "select k.id, t.id, k.name, k.digest, k.scopes, k.user_id, k.projects, k.rate, k.created_at,
                   k.expires_at, k.revoked_at, k.used_at, u.name
                 from system_key k join system_tenant t on t.no = k.tenant_no
                   left join system_user u on u.tenant_no = k.tenant_no and u.id = k.user_id
                 where t.id = $1 and k.id > $2
                 order by k.id
                 limit $3";
            let after = after.map_or([0; 16], |id| *id.as_bytes());
            let values = (of.as_bytes(), after, limit.min(PAGE_MAX));
            Ok(query_all(connection, sql, values, |found| row(found).map(|row| row.key))?)
        };
        self.worker.read("reading keys", list).await
    }

    /// Ends a key; one that was ended before stays as it is.
    pub async fn revoke_key(&self, of: TenantId, id: KeyId, at: Timestamp, line: NewAuditRecord) -> Result<Key> {
        let revoke = move |connection: Connection<'_>| {
            let change = next_change(connection)?;
            let key = find(connection, of, id)?;
            if key.revoked_at.is_some() {
                return Ok(key);
            }
            let sql = "update system_key set revoked_at = $1, change = $2 where id = $3";
            execute(connection, sql, (at.0, change, id.as_bytes()))?;
            audit_log::add(connection, at, &line)?;
            find(connection, of, id)
        };
        self.worker.write("ending a key", revoke).await
    }

    /// Records when keys were last used. This is not counted as a change: no process has to reload anything.
    pub async fn note_use(&self, used: Vec<(KeyId, Timestamp)>) -> Result<()> {
        let note = move |connection: Connection<'_>| {
            for (id, at) in &used {
                let sql = "update system_key set used_at = $1 where id = $2 and (used_at is null or used_at < $1)";
                execute(connection, sql, (at.0, id.as_bytes()))?;
            }
            Ok(())
        };
        self.worker.write("noting the use of keys", note).await
    }
}

const SCOPES: [(KeyScope, i64); 4] =
    [(KeyScope::Read, 1), (KeyScope::Append, 2), (KeyScope::Manage, 4), (KeyScope::Admin, 8)];

fn scopes_code(scopes: &KeyScopes) -> i64 {
    SCOPES.iter().filter(|(scope, _)| scopes.iter().any(|own| own == *scope)).map(|(_, bit)| bit).sum()
}

fn scopes_of(code: i64) -> KeyScopes {
    SCOPES.iter().filter(|(_, bit)| code & bit != 0).map(|(scope, _)| *scope).collect()
}

fn row(row: &Row<'_>) -> DbResult<KeyRow> {
    let projects: Option<String> = row.get(6)?;
    // A project list that cannot be parsed grants no project.
    let projects: Option<BTreeSet<ProjectId>> = projects.map(|list| serde_json::from_str(&list).unwrap_or_default());
    let key = Key {
        id: KeyId::from_bytes(row.get(0)?),
        tenant: TenantId::from_bytes(row.get(1)?),
        name: row.get(2)?,
        scopes: scopes_of(row.get(4)?),
        user: row.get(5)?,
        projects,
        rate: row.get(7)?,
        created_at: Timestamp(row.get(8)?),
        expires_at: row.get::<Option<i64>>(9)?.map(Timestamp),
        revoked_at: row.get::<Option<i64>>(10)?.map(Timestamp),
        used_at: row.get::<Option<i64>>(11)?.map(Timestamp),
    };
    Ok(KeyRow { key, digest: KeyDigest::from_bytes(row.get(3)?), user_name: row.get(12)? })
}

fn find(connection: Connection<'_>, of: TenantId, id: KeyId) -> TxResult<Key> {
    let sql = "select k.id, t.id, k.name, k.digest, k.scopes, k.user_id, k.projects, k.rate, k.created_at,
           k.expires_at, k.revoked_at, k.used_at, u.name
         from system_key k join system_tenant t on t.no = k.tenant_no
           left join system_user u on u.tenant_no = k.tenant_no and u.id = k.user_id
         where k.id = $1 and t.id = $2";
    let found = query_optional(connection, sql, (id.as_bytes(), of.as_bytes()), row)?;
    found.map(|row| row.key).ok_or_else(|| StoreError::not_found("key", id).into())
}

/// Returns the keys that have changed since a count of changes, of all tenants.
pub(super) fn changed_since(connection: Connection<'_>, change: i64) -> TxResult<Vec<KeyRow>> {
    let sql =
        "select k.id, t.id, k.name, k.digest, k.scopes, k.user_id, k.projects, k.rate, k.created_at, k.expires_at,
             k.revoked_at, k.used_at, u.name
         from system_key k join system_tenant t on t.no = k.tenant_no
           left join system_user u on u.tenant_no = k.tenant_no and u.id = k.user_id
         where k.change > $1";
    Ok(query_all(connection, sql, [change], row)?)
}

/// Returns the ids of all keys, so that callers can drop the deleted ones.
pub(super) fn ids(connection: Connection<'_>) -> TxResult<Vec<KeyId>> {
    Ok(query_all(connection, "select id from system_key", (), |row| row.get(0).map(KeyId::from_bytes))?)
}
