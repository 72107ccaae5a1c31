//! Tenants and their users.

use crate::id::{KeyId, TenantId};
use crate::json::Json;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tenant of a store that knows no others.
pub const DEFAULT_TENANT: TenantId = TenantId::from_bytes([0; 16]);

/// Where a tenant is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TenantStatus {
    /// Its store is being made.
    Making,
    /// In use.
    Active,
    /// Suspended: its keys are refused, all data is kept.
    Suspended,
    /// Everything is being destroyed.
    Erasing,
    /// Erased: all data was deleted; its receipt lists what was removed.
    Erased,
}

/// A tenant: an isolated store on a shared server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tenant {
    /// Its id.
    pub id: TenantId,
    /// Its name; empty once it is erased.
    pub name: String,
    /// Status.
    pub status: TenantStatus,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Tenant {
    /// Returns whether it has a store.
    pub fn is_in_use(&self) -> bool {
        matches!(self.status, TenantStatus::Active | TenantStatus::Suspended)
    }
}

/// A user of a tenant: conversations have creators and members, and keys may act for a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct User {
    /// The id that the tenant's own system gave them; it is the external id of authors.
    pub id: String,
    /// Display name.
    pub name: String,
    /// When they were made known.
    pub created_at: Timestamp,
}

/// The actor of an audit log entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditActor {
    /// A command on the machine of the store.
    Operator,
    /// The holder of the server token.
    Token,
    /// A key.
    Key(KeyId),
    /// An unauthenticated caller.
    Stranger,
    /// The server by itself.
    Server,
}

/// A line of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// Its number; they have no gaps.
    pub no: i64,
    /// When.
    pub at: Timestamp,
    /// The action, such as `key.create`.
    pub action: String,
    /// The tenant it was done to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// The actor.
    pub actor: AuditActor,
    /// The particulars: users, addresses, ids; none once they were erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// The chain up to this line, in hexadecimal.
    pub digest: String,
}
