//! Project endpoints.

use crate::extract::{Here, Id, Json, Write};
use crate::operation::{Operation, group};
use crate::problem::Answer;
use axum::http::{Method, StatusCode};
use manent::ProjectPatch;
use manent::model::{KeyScope, Project, ProjectId};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/projects", "listProjects", list)
            .reads_much()
            .says("Lists all projects.")
            .library("projects")
            .answers::<Vec<Project>>(200),
        Operation::new(Method::POST, "/projects", "createProject", create)
            .needs(KeyScope::Manage)
            .says("Creates a project.")
            .library("create_project")
            .body::<NewProject>()
            .answers::<Project>(201),
        Operation::new(Method::GET, "/projects/{project}", "getProject", get)
            .says("Returns a project.")
            .library("project")
            .answers::<Project>(200),
        Operation::new(Method::PATCH, "/projects/{project}", "editProject", edit)
            .needs(KeyScope::Manage)
            .says("Changes a project. Omitted fields are kept; a fact with the value null is removed.")
            .library("edit_project")
            .body::<ProjectPatch>()
            .answers::<Project>(200),
        Operation::new(Method::DELETE, "/projects/{project}", "removeProject", remove)
            .needs(KeyScope::Manage)
            .says("Removes a project; its conversations are kept.")
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

async fn list(Here(database): Here) -> Answer<axum::Json<Vec<Project>>> {
    Ok(axum::Json(database.projects().await?))
}

async fn create(Write(database): Write, Json(project): Json<NewProject>) -> Answer<(StatusCode, axum::Json<Project>)> {
    let project = database.create_project(&project.name, &project.instructions).await?;
    Ok((StatusCode::CREATED, axum::Json(project)))
}

async fn get(Here(database): Here, Id(id): Id<ProjectId>) -> Answer<axum::Json<Project>> {
    Ok(axum::Json(database.project(id).await?))
}

async fn edit(
    Write(database): Write,
    Id(id): Id<ProjectId>,
    Json(patch): Json<ProjectPatch>,
) -> Answer<axum::Json<Project>> {
    Ok(axum::Json(database.edit_project(id, patch, None).await?))
}

async fn remove(Write(database): Write, Id(id): Id<ProjectId>) -> Answer<StatusCode> {
    database.remove_project(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
