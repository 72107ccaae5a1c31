//! API key endpoints of a tenant.

use super::limit;
use crate::app::App;
use crate::extract::{Asked, Asker, Id, Json};
use crate::operation::{Need, Operation, group};
use crate::problem::Answer;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use manent::model::{Key, KeyDraft, KeyId, KeyWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/keys", "listKeys", list)
            .needs(Need::Tenant)
            .says("Lists the keys of the tenant by creation time, including revoked ones, without secrets.")
            .library("keys")
            .query::<ListParameters>()
            .answers::<Keys>(200),
        Operation::new(Method::POST, "/keys", "createKey", create)
            .needs(Need::Tenant)
            .says("Creates an API key. The secret is returned only in this response; repeating the request creates another key.")
            .library("create_key")
            .body::<KeyDraft>()
            .answers::<MadeKey>(201),
        Operation::new(Method::DELETE, "/keys/{key}", "revokeKey", revoke)
            .needs(Need::Tenant)
            .says("Revokes a key, and ends its streams and sessions.")
            .library("revoke_key")
            .answers::<Key>(200),
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
pub(super) struct MadeKey {
    /// Its record.
    #[serde(flatten)]
    key: Key,
    /// The secret, to be sent as `Authorization: Bearer …`. It is returned only in this response.
    secret: String,
}

/// Tells a key to whoever asked for it.
pub(super) fn made((key, secret): (Key, KeyWord)) -> (StatusCode, axum::Json<MadeKey>) {
    (StatusCode::CREATED, axum::Json(MadeKey { key, secret: secret.reveal() }))
}

async fn list(
    State(app): State<App>,
    Asker(asker): Asker,
    Asked(asked): Asked<ListParameters>,
) -> Answer<axum::Json<Keys>> {
    let keys = app.tenants.keys(asker.tenant, asked.after, limit(asked.limit)?).await?;
    Ok(axum::Json(Keys { keys }))
}

async fn create(
    State(app): State<App>,
    Asker(asker): Asker,
    Json(draft): Json<KeyDraft>,
) -> Answer<(StatusCode, axum::Json<MadeKey>)> {
    Ok(made(app.tenants.create_key(asker.tenant, draft, asker.by).await?))
}

async fn revoke(State(app): State<App>, Asker(asker): Asker, Id(id): Id<KeyId>) -> Answer<axum::Json<Key>> {
    Ok(axum::Json(app.tenants.revoke_key(asker.tenant, id, asker.by).await?))
}
