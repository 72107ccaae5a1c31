//! Maintenance endpoints: statistics, verification, backups.

use crate::app::App;
use crate::problem::{ApiResult, Problem};
use crate::wire::native::extract::{Caller, CallerDatabase, Json, Query};
use crate::wire::native::handlers::Nothing;
use crate::wire::native::operation::{Access, Operation, group};
use axum::extract::State;
use axum::http::{Method, StatusCode};
use manent::BackupPlan;
use manent::model::Stats;
use manent::store::{BackupReport, DoctorReport, StatsQuery, VerifyReport};

pub(crate) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/stats", "getStats", stats)
            .summary("Returns statistics: messages, words, tokens and response times by day, model and role.")
            .library("stats")
            .query::<StatsQuery>()
            .response::<Stats>(200)
            .no_timeout(),
        Operation::new(Method::POST, "/verify", "verify", verify)
            .access(Access::TenantAdmin)
            .summary("Checks every digest and chain, and reports what was altered, lost or duplicated.")
            .library("verify")
            .body::<Nothing>()
            .response::<VerifyReport>(200)
            .no_timeout(),
        Operation::new(Method::GET, "/doctor", "doctor", doctor)
            .access(Access::TenantAdmin)
            .summary("Reports versions, settings and sizes.")
            .library("doctor")
            .response::<DoctorReport>(200)
            .no_timeout(),
        Operation::new(Method::POST, "/backups", "backup", backup)
            .access(Access::TenantAdmin)
            .summary(
                "Creates a backup, then restores and checks it. Backups on demand are counted separately from scheduled ones; when the maximum number exists, the request is refused.",
            )
            .library("backup")
            .library("backup_on_demand")
            .audited("backup")
            .body::<Nothing>()
            .response::<BackupReport>(201)
            .no_timeout(),
    ];
    group("Upkeep", operations)
}

async fn stats(
    CallerDatabase(database): CallerDatabase,
    Query(query): Query<StatsQuery>,
) -> ApiResult<axum::Json<Stats>> {
    Ok(axum::Json(database.stats(query).await?))
}

async fn verify(CallerDatabase(database): CallerDatabase, _: Json<Nothing>) -> ApiResult<axum::Json<VerifyReport>> {
    Ok(axum::Json(database.verify().await?))
}

async fn doctor(Caller(asker): Caller) -> ApiResult<axum::Json<DoctorReport>> {
    let mut report = asker.database.doctor().await?;
    for (path, _) in &mut report.files {
        *path = asker.shown_path(path);
    }
    Ok(axum::Json(report))
}

async fn backup(
    State(app): State<App>,
    Caller(asker): Caller,
    _: Json<Nothing>,
) -> ApiResult<(StatusCode, axum::Json<BackupReport>)> {
    let Some(plan) = &app.backups else {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "no_backups",
            "this server was started without a backup folder",
        ));
    };
    let folder = app.tenants.backups_of(asker.tenant).unwrap_or_else(|| plan.folder.clone());
    let own = BackupPlan { folder, ..BackupPlan::clone(plan) };
    match asker.database.backup_on_demand(&own).await? {
        Some(report) => {
            let path = asker.shown_path(&report.path);
            Ok((StatusCode::CREATED, axum::Json(BackupReport { path, ..report })))
        }
        None => {
            let why = format!("{} backups on demand stand already; each goes in its time", plan.keep.max(1));
            Err(Problem::new(StatusCode::CONFLICT, "too_many_backups", why))
        }
    }
}
