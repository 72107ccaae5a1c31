//! `manent project …`: what several conversations share.

use crate::context::{CommandContext, read_json};
use crate::output::{BOLD, Cell, DIM, ID, Table};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use manent::store::IdKind;
use manent::{ProjectId, ProjectPatch};

/// Create, list and change projects.
#[derive(Args)]
pub struct Project {
    #[command(subcommand)]
    action: ProjectAction,
}

#[derive(Subcommand)]
enum ProjectAction {
    /// Create a project and print its id.
    New {
        /// Name.
        name: String,
        /// Common beginning of all conversations.
        #[arg(long, default_value = "")]
        instructions: String,
    },
    /// List projects.
    List,
    /// Show a project.
    Show {
        /// Id or unique prefix of an id.
        project: String,
    },
    /// Change a project.
    Edit {
        /// Id or unique prefix of an id.
        project: String,
        /// A new name.
        #[arg(long)]
        name: Option<String>,
        /// New instructions.
        #[arg(long)]
        instructions: Option<String>,
        /// Fact as KEY=TEXT; without text it is removed.
        #[arg(long, value_name = "KEY[=TEXT]")]
        fact: Vec<String>,
        /// Metadata as JSON; an empty value removes it.
        #[arg(long, value_name = "JSON")]
        metadata: Option<String>,
        /// Fail unless the project has this version.
        #[arg(long, value_name = "N")]
        version: Option<i64>,
    },
    /// Remove a project; its conversations are kept.
    Rm {
        /// Id or unique prefix of an id.
        project: String,
    },
}

impl Project {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let database = &context.database;
        match self.action {
            ProjectAction::New { name, instructions } => {
                let project = database.create_project(&name, &instructions).await?;
                match context.output.json {
                    true => context.output.json(&project),
                    false => context.made(&[project.id]),
                }
            }
            ProjectAction::List => {
                let projects = database.projects().await?;
                if context.output.json {
                    return context.output.json(&projects);
                }
                let mut table = Table::new(&["ID", "NAME", "KIND", "FACTS"], 1);
                let ids: Vec<ProjectId> = projects.iter().map(|project| project.id).collect();
                let ids = context.short_ids(IdKind::Project, &ids).await?;
                for (project, id) in projects.iter().zip(ids) {
                    table.row(vec![
                        Cell::styled(id, ID),
                        Cell::styled(&project.name, BOLD),
                        Cell::styled(&project.kind, DIM),
                        Cell::new(project.facts.len()),
                    ]);
                }
                context.output.table(&table)
            }
            ProjectAction::Show { project } => {
                context.output.json(&database.project(database.resolve_project(&project).await?).await?)
            }
            ProjectAction::Edit { project, name, instructions, fact, metadata, version } => {
                let id = database.resolve_project(&project).await?;
                let facts = fact.iter().map(|fact| match fact.split_once('=') {
                    Some((key, text)) => (key.to_owned(), Some(text.to_owned())),
                    None => (fact.clone(), None),
                });
                let metadata = match metadata.as_deref() {
                    None => None,
                    Some("") => Some(None),
                    Some(text) => Some(Some(read_json(text).context("the metadata")?)),
                };
                let patch = ProjectPatch { name, instructions, facts: facts.collect(), metadata };
                context.output.json(&database.edit_project(id, patch, version).await?)
            }
            ProjectAction::Rm { project } => {
                let id = database.resolve_project(&project).await?;
                database.remove_project(id).await?;
                context.output.done(&format!("removed {id}"));
                Ok(())
            }
        }
    }
}
