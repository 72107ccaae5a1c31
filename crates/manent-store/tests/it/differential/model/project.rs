//! Projects: what several conversations share.

use super::*;

/// A project that is kept.
#[derive(Debug, Clone)]
pub struct Plan {
    pub number: u64,
    pub withdrawn: bool,
    pub project: Project,
}

impl Library {
    pub fn seen_project(&self, id: ProjectId) -> Result<&Plan> {
        let found = self.projects.iter().find(|plan| plan.project.id == id && !plan.withdrawn);
        found.ok_or_else(|| not_found("project", id))
    }

    /// Returns the version of a project, 0 where there is none.
    pub fn project_version(&self, id: ProjectId) -> i64 {
        self.seen_project(id).map_or(0, |plan| plan.project.version)
    }

    /// Returns a project's id where the project can be seen.
    pub fn shown_project(&self, id: Option<ProjectId>) -> Option<ProjectId> {
        id.filter(|id| self.seen_project(*id).is_ok())
    }

    pub fn project_mut(&mut self, number: u64) -> &mut Project {
        let found = self.projects.iter_mut().find(|plan| plan.number == number);
        &mut found.expect("a project is never destroyed").project
    }
}

impl Tx<'_> {
    pub(super) fn create_project(&mut self, project: Project) -> Result<ChangeResult> {
        match self.data.library.projects.iter().find(|plan| plan.project.id == project.id) {
            Some(plan) if plan.withdrawn => return Err(exists("project", project.id)),
            Some(_) => return Ok(ChangeResult::Applied),
            None => {}
        }
        let number = self.data.number();
        let project = Project { version: 1, ..project };
        self.data.library_mut().projects.push(Plan { number, withdrawn: false, project });
        self.journal(None, JournalKind::ProjectCreated, vec![Old::Flag { number, withdrawn: true }]);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn edit_project(&mut self, id: ProjectId, patch: &ProjectPatch) -> Result<ChangeResult> {
        let plan = self.data.library.seen_project(id)?;
        let (number, earlier) = (plan.number, plan.project.clone());
        let project = self.data.library_mut().project_mut(number);
        if let Some(name) = &patch.name {
            project.name.clone_from(name);
        }
        if let Some(instructions) = &patch.instructions {
            project.instructions.clone_from(instructions);
        }
        for (name, text) in &patch.facts {
            match text {
                Some(text) => project.facts.insert(name.clone(), text.clone()),
                None => project.facts.remove(name),
            };
        }
        if let Some(metadata) = &patch.metadata {
            project.metadata.clone_from(metadata);
        }
        project.version += 1;
        let olds = vec![Old::Project { number, project: Box::new(earlier) }];
        self.journal(None, JournalKind::ProjectEdited, olds);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn remove_project(&mut self, id: ProjectId) -> Result<ChangeResult> {
        let number = self.data.library.seen_project(id)?.number;
        self.data.flag(number, true);
        self.journal(None, JournalKind::ProjectRemoved, vec![Old::Flag { number, withdrawn: false }]);
        Ok(ChangeResult::Applied)
    }
}
