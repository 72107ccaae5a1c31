//! Project endpoints.

use crate::problem::ApiResult;
use crate::wire::native::extract::{CallerDatabase, Json, PathId, WriteDatabase};
use crate::wire::native::operation::{Operation, group};
use axum::http::{Method, StatusCode};
use manent::ProjectPatch;
use manent::model::{KeyScope, Project, ProjectId};
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/projects", "listProjects", list)
            .large_read()
            .summary("Lists all projects.")
            .library("projects")
            .response::<Vec<Project>>(200),
        Operation::new(Method::POST, "/projects", "createProject", create)
            .access(KeyScope::Manage)
            .summary("Creates a project.")
            .library("create_project")
            .body::<NewProject>()
            .response::<Project>(201),
        Operation::new(Method::GET, "/projects/{project}", "getProject", get)
            .summary("Returns a project.")
            .library("project")
            .response::<Project>(200),
        Operation::new(Method::PATCH, "/projects/{project}", "editProject", edit)
            .access(KeyScope::Manage)
            .summary("Changes a project. Omitted fields are kept; a fact with the value null is removed.")
            .library("edit_project")
            .body::<ProjectPatch>()
            .response::<Project>(200),
        Operation::new(Method::DELETE, "/projects/{project}", "removeProject", remove)
            .access(KeyScope::Manage)
            .summary("Removes a project; its conversations are kept.")
            .library("remove_project"),
    ];
    group("Projects", operations)
}

/// A project to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewProject {
    /// Its name.
    name: String,
    /// Instructions that every conversation of the project begins with.
    #[serde(default)]
    instructions: String,
}

async fn list(CallerDatabase(database): CallerDatabase) -> ApiResult<axum::Json<Vec<Project>>> {
    Ok(axum::Json(database.projects().await?))
}

async fn create(
    WriteDatabase(database): WriteDatabase,
    Json(project): Json<NewProject>,
) -> ApiResult<(StatusCode, axum::Json<Project>)> {
    let project = database.create_project(&project.name, &project.instructions).await?;
    Ok((StatusCode::CREATED, axum::Json(project)))
}

async fn get(
    CallerDatabase(database): CallerDatabase,
    PathId(id): PathId<ProjectId>,
) -> ApiResult<axum::Json<Project>> {
    Ok(axum::Json(database.project(id).await?))
}

async fn edit(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ProjectId>,
    Json(patch): Json<ProjectPatch>,
) -> ApiResult<axum::Json<Project>> {
    Ok(axum::Json(database.edit_project(id, patch, None).await?))
}

async fn remove(WriteDatabase(database): WriteDatabase, PathId(id): PathId<ProjectId>) -> ApiResult<StatusCode> {
    database.remove_project(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
