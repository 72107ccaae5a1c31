//! Tenant administration endpoints; they require the server token.

use super::keys::{MadeKey, made};
use super::transfer::lines_of;
use super::{Nothing, limit};
use crate::app::App;
use crate::extract::{Asked, Asker, Id, Json};
use crate::operation::{Need, Operation, group};
use crate::problem::{Answer, Problem};
use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use manent::model::{KeyDraft, Tenant, TenantId};
use manent::{Erasure, ExportSelection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) fn operations() -> Vec<Operation> {
    const ONE: &str = "/tenants/{tenant}";
    let operations = vec![
        Operation::new(Method::GET, "/tenants", "listTenants", list)
            .needs(Need::Token)
            .says("Lists tenants by creation time, without erased ones.")
            .library("tenants")
            .query::<ListParameters>()
            .answers::<TenantsPage>(200),
        Operation::new(Method::POST, "/tenants", "createTenant", create)
            .needs(Need::Token)
            .says("Creates a tenant with an empty store.")
            .library("create_tenant")
            .body::<NewTenant>()
            .answers::<Tenant>(201),
        Operation::new(Method::GET, ONE, "getTenant", get)
            .needs(Need::Token)
            .says("Returns a tenant, and the receipt if it was erased.")
            .library("tenant")
            .library("receipt")
            .answers::<TenantView>(200),
        Operation::new(Method::POST, "/tenants/{tenant}/suspend", "suspendTenant", suspend)
            .needs(Need::Token)
            .says("Suspends a tenant: rejects new requests and closes open streams. Data is kept.")
            .library("suspend")
            .body::<Nothing>()
            .answers::<Tenant>(200),
        Operation::new(Method::POST, "/tenants/{tenant}/resume", "resumeTenant", resume)
            .needs(Need::Token)
            .says("Resumes a suspended tenant.")
            .library("resume")
            .body::<Nothing>()
            .answers::<Tenant>(200),
        Operation::new(Method::POST, "/tenants/{tenant}/keys", "createTenantKey", create_key)
            .needs(Need::Token)
            .says("Creates a key for a tenant, such as the first admin key. The secret is returned only in this response.")
            .library("create_key")
            .body::<KeyDraft>()
            .answers::<MadeKey>(201),
        Operation::new(Method::GET, "/tenants/{tenant}/export", "exportTenant", export)
            .needs(Need::Token)
            .audited("tenant.export")
            .says("Exports a tenant as JSON lines, without loss.")
            .library("database")
            .answers_with("application/x-ndjson"),
        Operation::new(Method::POST, "/tenants/{tenant}/erase", "eraseTenant", erase)
            .needs(Need::Token)
            .says(
                "Erases a tenant: store, index, managed backups, users, keys, and personal details in the audit log. Returns a receipt.",
            )
            .library("erase_tenant")
            .body::<Confirmed>()
            .answers::<Erasure>(200)
            .may_take_long(),
    ];
    group("Tenants", operations)
}

/// Query parameters of the tenant list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// Only tenants after this one.
    after: Option<TenantId>,
    /// Maximum number of tenants; 50 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// A page of tenants.
#[derive(Debug, Serialize, JsonSchema)]
struct TenantsPage {
    /// The tenants; the next page begins after the last of them.
    tenants: Vec<Tenant>,
}

/// A tenant to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewTenant {
    /// Unique name: 1 to 100 characters on one line.
    #[schemars(length(min = 1, max = 100))]
    name: String,
}

/// A tenant.
#[derive(Debug, Serialize, JsonSchema)]
struct TenantView {
    /// The tenant.
    #[serde(flatten)]
    tenant: Tenant,
    /// Receipt of its erasure.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<Erasure>,
}

/// Confirmation of a destructive request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Confirmed {
    /// The name of the tenant, repeated as confirmation.
    name: String,
}

async fn list(State(app): State<App>, Asked(asked): Asked<ListParameters>) -> Answer<axum::Json<TenantsPage>> {
    let tenants = app.tenants.tenants(asked.after, limit(asked.limit)?).await?;
    Ok(axum::Json(TenantsPage { tenants }))
}

async fn create(
    State(app): State<App>,
    Asker(asker): Asker,
    Json(new): Json<NewTenant>,
) -> Answer<(StatusCode, axum::Json<Tenant>)> {
    let tenant = app.tenants.create_tenant(&new.name, asker.by).await?;
    Ok((StatusCode::CREATED, axum::Json(tenant)))
}

async fn get(State(app): State<App>, Id(id): Id<TenantId>) -> Answer<axum::Json<TenantView>> {
    let tenant = app.tenants.tenant(&id.to_string()).await?;
    Ok(axum::Json(TenantView { tenant, receipt: app.tenants.receipt(id).await? }))
}

async fn suspend(
    State(app): State<App>,
    Asker(asker): Asker,
    Id(id): Id<TenantId>,
    _: Json<Nothing>,
) -> Answer<axum::Json<Tenant>> {
    Ok(axum::Json(app.tenants.suspend(id, asker.by).await?))
}

async fn resume(
    State(app): State<App>,
    Asker(asker): Asker,
    Id(id): Id<TenantId>,
    _: Json<Nothing>,
) -> Answer<axum::Json<Tenant>> {
    Ok(axum::Json(app.tenants.resume(id, asker.by).await?))
}

async fn create_key(
    State(app): State<App>,
    Asker(asker): Asker,
    Id(id): Id<TenantId>,
    Json(draft): Json<KeyDraft>,
) -> Answer<(StatusCode, axum::Json<MadeKey>)> {
    Ok(made(app.tenants.create_key(id, draft, asker.by).await?))
}

async fn export(State(app): State<App>, Asker(asker): Asker, Id(id): Id<TenantId>) -> Answer<Response> {
    let database = app.tenants.database(id).await?;
    Ok(lines_of(database, ExportSelection::Everything, app.transfer(asker.tenant)?))
}

async fn erase(
    State(app): State<App>,
    Asker(asker): Asker,
    Id(id): Id<TenantId>,
    Json(confirmed): Json<Confirmed>,
) -> Answer<axum::Json<Erasure>> {
    let tenant = app.tenants.tenant(&id.to_string()).await?;
    if tenant.name != confirmed.name {
        return Err(Problem::invalid("name: does not match the name of this tenant; nothing was erased"));
    }
    Ok(axum::Json(app.tenants.erase_tenant(id, asker.by).await?))
}
