//! Tenant administration endpoints; they require the server token.

use crate::app::App;
use crate::problem::{ApiResult, Problem};
use crate::wire::native::extract::{Caller, Json, PathId, Query};
use crate::wire::native::handlers::jsonl::lines_of;
use crate::wire::native::handlers::keys::{CreatedKey, created};
use crate::wire::native::handlers::{Nothing, limit};
use crate::wire::native::operation::{Access, Operation, group};
use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use manent::model::{KeyDraft, Tenant, TenantId};
use manent::{Erasure, ExportSelection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) fn operations() -> Vec<Operation> {
    const ONE: &str = "/tenants/{tenant}";
    let operations = vec![
        Operation::new(Method::GET, "/tenants", "listTenants", list)
            .access(Access::ServerAdmin)
            .summary("Lists tenants by creation time, without erased ones.")
            .library("tenants")
            .query::<ListParameters>()
            .response::<TenantsPage>(200),
        Operation::new(Method::POST, "/tenants", "createTenant", create)
            .access(Access::ServerAdmin)
            .summary("Creates a tenant with an empty store.")
            .library("create_tenant")
            .body::<NewTenant>()
            .response::<Tenant>(201),
        Operation::new(Method::GET, ONE, "getTenant", get)
            .access(Access::ServerAdmin)
            .summary("Returns a tenant, and the receipt if it was erased.")
            .library("tenant")
            .library("receipt")
            .response::<TenantView>(200),
        Operation::new(Method::POST, "/tenants/{tenant}/suspend", "suspendTenant", suspend)
            .access(Access::ServerAdmin)
            .summary("Suspends a tenant: rejects new requests and closes open streams. Data is kept.")
            .library("suspend")
            .body::<Nothing>()
            .response::<Tenant>(200),
        Operation::new(Method::POST, "/tenants/{tenant}/resume", "resumeTenant", resume)
            .access(Access::ServerAdmin)
            .summary("Resumes a suspended tenant.")
            .library("resume")
            .body::<Nothing>()
            .response::<Tenant>(200),
        Operation::new(Method::POST, "/tenants/{tenant}/keys", "createTenantKey", create_key)
            .access(Access::ServerAdmin)
            .summary("Creates a key for a tenant, such as the first admin key. The secret is returned only in this response.")
            .library("create_key")
            .body::<KeyDraft>()
            .response::<CreatedKey>(201),
        Operation::new(Method::GET, "/tenants/{tenant}/export", "exportTenant", export)
            .access(Access::ServerAdmin)
            .audited("tenant.export")
            .summary("Exports a tenant as JSON lines, without loss.")
            .library("database")
            .response_bytes("application/x-ndjson"),
        Operation::new(Method::POST, "/tenants/{tenant}/erase", "eraseTenant", erase)
            .access(Access::ServerAdmin)
            .summary(
                "Erases a tenant: store, index, managed backups, users, keys, and personal details in the audit log. Returns a receipt.",
            )
            .library("erase_tenant")
            .body::<Confirmed>()
            .response::<Erasure>(200)
            .no_timeout(),
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

async fn list(State(app): State<App>, Query(asked): Query<ListParameters>) -> ApiResult<axum::Json<TenantsPage>> {
    let tenants = app.tenants.tenants(asked.after, limit(asked.limit)?).await?;
    Ok(axum::Json(TenantsPage { tenants }))
}

async fn create(
    State(app): State<App>,
    Caller(asker): Caller,
    Json(new): Json<NewTenant>,
) -> ApiResult<(StatusCode, axum::Json<Tenant>)> {
    let tenant = app.tenants.create_tenant(&new.name, asker.audit_subject).await?;
    Ok((StatusCode::CREATED, axum::Json(tenant)))
}

async fn get(State(app): State<App>, PathId(id): PathId<TenantId>) -> ApiResult<axum::Json<TenantView>> {
    let tenant = app.tenants.tenant(&id.to_string()).await?;
    Ok(axum::Json(TenantView { tenant, receipt: app.tenants.receipt(id).await? }))
}

async fn suspend(
    State(app): State<App>,
    Caller(asker): Caller,
    PathId(id): PathId<TenantId>,
    _: Json<Nothing>,
) -> ApiResult<axum::Json<Tenant>> {
    Ok(axum::Json(app.tenants.suspend(id, asker.audit_subject).await?))
}

async fn resume(
    State(app): State<App>,
    Caller(asker): Caller,
    PathId(id): PathId<TenantId>,
    _: Json<Nothing>,
) -> ApiResult<axum::Json<Tenant>> {
    Ok(axum::Json(app.tenants.resume(id, asker.audit_subject).await?))
}

async fn create_key(
    State(app): State<App>,
    Caller(asker): Caller,
    PathId(id): PathId<TenantId>,
    Json(draft): Json<KeyDraft>,
) -> ApiResult<(StatusCode, axum::Json<CreatedKey>)> {
    Ok(created(app.tenants.create_key(id, draft, asker.audit_subject).await?))
}

async fn export(State(app): State<App>, Caller(asker): Caller, PathId(id): PathId<TenantId>) -> ApiResult<Response> {
    let database = app.tenants.database(id).await?;
    Ok(lines_of(database, ExportSelection::Everything, app.transfer(asker.tenant)?))
}

async fn erase(
    State(app): State<App>,
    Caller(asker): Caller,
    PathId(id): PathId<TenantId>,
    Json(confirmed): Json<Confirmed>,
) -> ApiResult<axum::Json<Erasure>> {
    let tenant = app.tenants.tenant(&id.to_string()).await?;
    if tenant.name != confirmed.name {
        return Err(Problem::invalid("name: does not match the name of this tenant; nothing was erased"));
    }
    Ok(axum::Json(app.tenants.erase_tenant(id, asker.audit_subject).await?))
}
