//! Endpoints of the audit log: actions with actor, time and outcome.

use crate::app::App;
use crate::auth::principal::Credential;
use crate::problem::{ApiResult, Problem};
use crate::wire::native::extract::{Caller, Json, Query};
use crate::wire::native::handlers::{Nothing, limit};
use crate::wire::native::operation::{Access, Operation, group};
use axum::extract::State;
use axum::http::Method;
use manent::model::TenantId;
use manent::store::system::{AuditPage, AuditQuery, AuditReport};
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/audit", "readAudit", read)
            .access(Access::TenantAdmin)
            .summary(
                "Returns the audit log, newest first: of the tenant, or with the server token of all tenants.",
            )
            .library("audit_page")
            .query::<AuditParameters>()
            .response::<AuditPage>(200),
        Operation::new(Method::POST, "/audit/verify", "verifyAudit", verify)
            .access(Access::ServerAdmin)
            .summary("Checks the chain of the audit log, and reports altered or lost entries; an extra entry at the end counts as lost.")
            .library("verify_audit")
            .body::<Nothing>()
            .response::<AuditReport>(200)
            .no_timeout(),
    ];
    group("Audit", operations)
}

/// Query parameters of an audit log page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditParameters {
    /// Only entries of this tenant; tenants other than the caller's own require the server token.
    tenant: Option<TenantId>,
    /// Only entries before this one.
    before: Option<i64>,
    /// Maximum number of entries; 50 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

async fn read(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(asked): Query<AuditParameters>,
) -> ApiResult<axum::Json<AuditPage>> {
    let tenant = match (&asker.credential, asked.tenant) {
        (Credential::Token, tenant) => tenant,
        (Credential::Key(_), None) => Some(asker.tenant),
        (Credential::Key(_), Some(tenant)) if tenant == asker.tenant => Some(tenant),
        (Credential::Key(_), Some(tenant)) => return Err(Problem::not_found("tenant", tenant)),
    };
    let query = AuditQuery { tenant, before: asked.before, limit: limit(asked.limit)? };
    Ok(axum::Json(app.tenants.audit_page(query).await?))
}

async fn verify(State(app): State<App>, _: Json<Nothing>) -> ApiResult<axum::Json<AuditReport>> {
    Ok(axum::Json(app.tenants.verify_audit().await?))
}
