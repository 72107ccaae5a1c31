//! `manent project …`: what several conversations share.

use crate::desk::{Desk, read_json};
use crate::screen::{BOLD, Cell, DIM, ID, Table};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use manent::ProjectPatch;

/// Projects: a name, instructions and facts that several conversations share.
#[derive(Args)]
pub struct Project {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Makes a project and prints its id.
    New {
        /// Its name.
        name: String,
        /// What every conversation in it begins with.
        #[arg(long, default_value = "")]
        instructions: String,
    },
    /// Lists projects.
    List,
    /// Shows a project.
    Show {
        /// Its id or the beginning of it.
        project: String,
    },
    /// Changes a project.
    Edit {
        /// Its id or the beginning of it.
        project: String,
        /// A new name.
        #[arg(long)]
        name: Option<String>,
        /// New instructions.
        #[arg(long)]
        instructions: Option<String>,
        /// A fact as KEY=TEXT; without a text it goes.
        #[arg(long, value_name = "KEY[=TEXT]")]
        fact: Vec<String>,
        /// Metadata as JSON; an empty text takes it away.
        #[arg(long, value_name = "JSON")]
        metadata: Option<String>,
        /// Only if the project still has this version.
        #[arg(long, value_name = "N")]
        version: Option<i64>,
    },
    /// Removes a project from the list; its conversations stay.
    Rm {
        /// Its id or the beginning of it.
        project: String,
    },
}

impl Project {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        let database = &desk.database;
        match self.what {
            What::New { name, instructions } => {
                let project = database.create_project(&name, &instructions).await?;
                match desk.screen.json {
                    true => desk.screen.json(&project),
                    false => desk.made(&[project.id]),
                }
            }
            What::List => {
                let projects = database.projects().await?;
                if desk.screen.json {
                    return desk.screen.json(&projects);
                }
                let mut table = Table::new(&["ID", "NAME", "KIND", "FACTS"], 1);
                for project in &projects {
                    table.row(vec![
                        Cell::styled(project.id, ID),
                        Cell::styled(&project.name, BOLD),
                        Cell::styled(&project.kind, DIM),
                        Cell::new(project.facts.len()),
                    ]);
                }
                desk.screen.table(&table)
            }
            What::Show { project } => {
                desk.screen.json(&database.project(database.resolve_project(&project).await?).await?)
            }
            What::Edit { project, name, instructions, fact, metadata, version } => {
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
                desk.screen.json(&database.edit_project(id, patch, version).await?)
            }
            What::Rm { project } => {
                let id = database.resolve_project(&project).await?;
                database.remove_project(id).await?;
                desk.screen.done(&format!("removed {id}"));
                Ok(())
            }
        }
    }
}
