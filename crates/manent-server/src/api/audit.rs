//! The audit log: what was done by whom.

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

/// Which lines to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditParameters {
    /// Only of this tenant; only the token may ask for another than its own.
    tenant: Option<TenantId>,
    /// Before this line.
    before: Option<i64>,
    /// How many, 50 if nothing is given.
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
