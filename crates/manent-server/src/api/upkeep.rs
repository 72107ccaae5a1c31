//! Upkeep: counts, checks, copies.

use super::Nothing;
use crate::app::App;
use crate::extract::{Asked, Json};
use crate::operation::{Operation, group};
use crate::problem::{Answer, Problem};
use axum::extract::State;
use axum::http::{Method, StatusCode};
use manent::model::{ProjectId, Stats};
use manent::store::{BackupReport, DoctorReport, StatsQuery, VerifyReport};
use manent::{BackupPlan, ConversationId};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

pub(super) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/stats", "getStats", stats)
            .says("Counts messages, words, tokens and response times, by day, model and role.")
            .library("stats")
            .query::<StatsParameters>()
            .answers::<Stats>(200)
            .may_take_long(),
        Operation::new(Method::POST, "/verify", "verify", verify)
            .says("Walks every digest and chain, and names what was altered, lost or doubled.")
            .library("verify")
            .body::<Nothing>()
            .answers::<VerifyReport>(200)
            .may_take_long(),
        Operation::new(Method::GET, "/doctor", "doctor", doctor)
            .says("Reports versions, settings and sizes.")
            .library("doctor")
            .answers::<DoctorReport>(200)
            .may_take_long(),
        Operation::new(Method::POST, "/backups", "backup", backup)
            .says("Takes a backup now, restores and checks it, and only then calls it done.")
            .library("backup")
            .library("backup_if_due")
            .body::<Nothing>()
            .answers::<BackupReport>(201)
            .may_take_long(),
    ];
    group("Upkeep", operations)
}

/// What to count.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatsParameters {
    /// Only this conversation.
    conversation: Option<ConversationId>,
    /// Only the conversations of this project.
    project: Option<ProjectId>,
}

async fn stats(State(app): State<App>, Asked(asked): Asked<StatsParameters>) -> Answer<axum::Json<Stats>> {
    let query = match (asked.conversation, asked.project) {
        (None, None) => StatsQuery::Everything,
        (Some(conversation), None) => StatsQuery::Conversation(conversation),
        (None, Some(project)) => StatsQuery::Project(project),
        _ => return Err(Problem::invalid("either a conversation or a project")),
    };
    Ok(axum::Json(app.database.stats(query).await?))
}

async fn verify(State(app): State<App>, _: Json<Nothing>) -> Answer<axum::Json<VerifyReport>> {
    Ok(axum::Json(app.database.verify().await?))
}

async fn doctor(State(app): State<App>) -> Answer<axum::Json<DoctorReport>> {
    Ok(axum::Json(app.database.doctor().await?))
}

async fn backup(State(app): State<App>, _: Json<Nothing>) -> Answer<(StatusCode, axum::Json<BackupReport>)> {
    let Some(plan) = &app.backups else {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "no_backups",
            "this server was started without a backup folder",
        ));
    };
    let now = BackupPlan { every: Duration::ZERO, ..BackupPlan::clone(plan) };
    match app.database.backup_if_due(&now).await? {
        Some(report) => Ok((StatusCode::CREATED, axum::Json(report))),
        None => Err(Problem::new(StatusCode::CONFLICT, "no_backups", "the clock stands before the last backup")),
    }
}
