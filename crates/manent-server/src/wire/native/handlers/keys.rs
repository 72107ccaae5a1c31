//! API key endpoints of a tenant.

use crate::app::App;
use crate::problem::ApiResult;
use crate::wire::native::extract::{Caller, Json, PathId, Query};
use crate::wire::native::handlers::limit;
use crate::wire::native::operation::{Access, Operation, group};
use axum::extract::State;
use axum::http::{Method, StatusCode};
use manent::model::{ApiKeySecret, Key, KeyDraft, KeyId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/keys", "listKeys", list)
            .access(Access::TenantAdmin)
            .summary("Lists the keys of the tenant by creation time, including revoked ones, without secrets.")
            .library("keys")
            .query::<ListParameters>()
            .response::<Keys>(200),
        Operation::new(Method::POST, "/keys", "createKey", create)
            .access(Access::TenantAdmin)
            .summary("Creates an API key. The secret is returned only in this response; repeating the request creates another key.")
            .library("create_key")
            .body::<KeyDraft>()
            .response::<CreatedKey>(201),
        Operation::new(Method::DELETE, "/keys/{key}", "revokeKey", revoke)
            .access(Access::TenantAdmin)
            .summary("Revokes a key, and ends its streams and sessions.")
            .library("revoke_key")
            .response::<Key>(200),
    ];
    group("Keys", operations)
}

/// Query parameters of the key list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// Only keys after this one.
    after: Option<KeyId>,
    /// Maximum number of keys; 50 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// A page of keys.
#[derive(Debug, Serialize, JsonSchema)]
struct Keys {
    /// The keys; the next page begins after the last of them.
    keys: Vec<Key>,
}

/// A created API key.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CreatedKey {
    /// Its record.
    #[serde(flatten)]
    key: Key,
    /// The secret, to be sent as `Authorization: Bearer …`. It is returned only in this response.
    secret: String,
}

/// Response with a created key and its secret.
pub(crate) fn created((key, secret): (Key, ApiKeySecret)) -> (StatusCode, axum::Json<CreatedKey>) {
    (StatusCode::CREATED, axum::Json(CreatedKey { key, secret: secret.reveal() }))
}

async fn list(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(asked): Query<ListParameters>,
) -> ApiResult<axum::Json<Keys>> {
    let keys = app.tenants.keys(asker.tenant, asked.after, limit(asked.limit)?).await?;
    Ok(axum::Json(Keys { keys }))
}

async fn create(
    State(app): State<App>,
    Caller(asker): Caller,
    Json(draft): Json<KeyDraft>,
) -> ApiResult<(StatusCode, axum::Json<CreatedKey>)> {
    Ok(created(app.tenants.create_key(asker.tenant, draft, asker.audit_subject).await?))
}

async fn revoke(
    State(app): State<App>,
    Caller(asker): Caller,
    PathId(id): PathId<KeyId>,
) -> ApiResult<axum::Json<Key>> {
    Ok(axum::Json(app.tenants.revoke_key(asker.tenant, id, asker.audit_subject).await?))
}
