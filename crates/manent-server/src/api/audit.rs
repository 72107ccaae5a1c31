//! Endpoints of the audit log: actions with actor, time and outcome.

use super::{Nothing, limit};
use crate::app::App;
use crate::extract::{Asked, Asker, Json};
use crate::operation::{Need, Operation, group};
use crate::principal::Who;
use crate::problem::{Answer, Problem};
use axum::extract::State;
use axum::http::Method;
use manent::model::TenantId;
use manent::store::system::{AuditPage, AuditQuery, AuditReport};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/audit", "readAudit", read)
            .needs(Need::Tenant)
            .says(
                "Returns the audit log, newest first: of the tenant, or with the server token of all tenants.",
            )
            .library("audit_page")
            .query::<AuditParameters>()
            .answers::<AuditPage>(200),
        Operation::new(Method::POST, "/audit/verify", "verifyAudit", verify)
            .needs(Need::Token)
            .says("Checks the chain of the audit log, and reports altered or lost entries; an extra entry at the end counts as lost.")
            .library("verify_audit")
            .body::<Nothing>()
            .answers::<AuditReport>(200)
            .may_take_long(),
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
    Asker(asker): Asker,
    Asked(asked): Asked<AuditParameters>,
) -> Answer<axum::Json<AuditPage>> {
    let tenant = match (&asker.who, asked.tenant) {
        (Who::Token, tenant) => tenant,
        (Who::Key(_), None) => Some(asker.tenant),
        (Who::Key(_), Some(tenant)) if tenant == asker.tenant => Some(tenant),
        (Who::Key(_), Some(tenant)) => return Err(Problem::not_found("tenant", tenant)),
    };
    let query = AuditQuery { tenant, before: asked.before, limit: limit(asked.limit)? };
    Ok(axum::Json(app.tenants.audit_page(query).await?))
}

async fn verify(State(app): State<App>, _: Json<Nothing>) -> Answer<axum::Json<AuditReport>> {
    Ok(axum::Json(app.tenants.verify_audit().await?))
}
