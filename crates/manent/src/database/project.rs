//! Project operations.

use crate::database::Database;
use crate::error::{Error, Result};
use manent_model::{Project, ProjectId, ProjectPatch};
use manent_store::{Change, Expect};

impl Database {
    /// Creates a project.
    pub async fn create_project(&self, name: &str, instructions: &str) -> Result<Project> {
        let project = Project {
            id: self.ids.make(ProjectId::new),
            kind: "project".to_owned(),
            name: name.to_owned(),
            instructions: instructions.to_owned(),
            facts: Default::default(),
            metadata: None,
            version: 1,
        };
        self.change(Change::CreateProject { project: project.clone() }).await?;
        Ok(project)
    }

    /// Returns a project.
    pub async fn project(&self, id: ProjectId) -> Result<Project> {
        self.store.project(id).await?.ok_or_else(|| Error::not_found("project", id))
    }

    /// Returns all projects in order of creation.
    pub async fn projects(&self) -> Result<Vec<Project>> {
        Ok(self.store.projects().await?)
    }

    /// Changes a project, if it still has the expected version.
    pub async fn edit_project(&self, id: ProjectId, patch: ProjectPatch, version: Option<i64>) -> Result<Project> {
        let expect = version.map(|version| Expect::Project { id, version }).into_iter().collect();
        self.commit(vec![Change::EditProject { id, patch }], expect).await?;
        self.project(id).await
    }

    /// Removes a project; its conversations stay. Undo restores it.
    pub async fn remove_project(&self, id: ProjectId) -> Result<()> {
        self.change(Change::RemoveProject { id }).await.map(drop)
    }
}
