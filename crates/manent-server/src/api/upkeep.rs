//! Maintenance endpoints: statistics, verification, backups.

use super::Nothing;
use crate::app::App;
use crate::extract::{Asked, Asker, Here, Json};
use crate::operation::{Need, Operation, group};
use crate::problem::{Answer, Problem};
use axum::extract::State;
use axum::http::{Method, StatusCode};
use manent::BackupPlan;
use manent::model::Stats;
use manent::store::{BackupReport, DoctorReport, StatsQuery, VerifyReport};

pub(super) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/stats", "getStats", stats)
            .says("Returns statistics: messages, words, tokens and response times by day, model and role.")
            .library("stats")
            .query::<StatsQuery>()
            .answers::<Stats>(200)
            .may_take_long(),
        Operation::new(Method::POST, "/verify", "verify", verify)
            .needs(Need::Tenant)
            .says("Checks every digest and chain, and reports what was altered, lost or duplicated.")
            .library("verify")
            .body::<Nothing>()
            .answers::<VerifyReport>(200)
            .may_take_long(),
        Operation::new(Method::GET, "/doctor", "doctor", doctor)
            .needs(Need::Tenant)
            .says("Reports versions, settings and sizes.")
            .library("doctor")
            .answers::<DoctorReport>(200)
            .may_take_long(),
        Operation::new(Method::POST, "/backups", "backup", backup)
            .needs(Need::Tenant)
            .says(
                "Creates a backup, then restores and checks it. Backups on demand are counted separately from scheduled ones; when the maximum number exists, the request is refused.",
            )
            .library("backup")
            .library("backup_on_demand")
            .audited("backup")
            .body::<Nothing>()
            .answers::<BackupReport>(201)
            .may_take_long(),
    ];
    group("Upkeep", operations)
}

async fn stats(Here(database): Here, Asked(query): Asked<StatsQuery>) -> Answer<axum::Json<Stats>> {
    Ok(axum::Json(database.stats(query).await?))
}

async fn verify(Here(database): Here, _: Json<Nothing>) -> Answer<axum::Json<VerifyReport>> {
    Ok(axum::Json(database.verify().await?))
}

async fn doctor(Asker(asker): Asker) -> Answer<axum::Json<DoctorReport>> {
    let mut report = asker.database.doctor().await?;
    for (path, _) in &mut report.files {
        *path = asker.shown_path(path);
    }
    Ok(axum::Json(report))
}

async fn backup(
    State(app): State<App>,
    Asker(asker): Asker,
    _: Json<Nothing>,
) -> Answer<(StatusCode, axum::Json<BackupReport>)> {
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
