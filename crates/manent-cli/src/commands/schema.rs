//! The statements behind a format that lives in a database: `schema`.

use crate::output::{Output, print};
use anyhow::Result;
use clap::{Args, ValueEnum};
use manent::formats::apps::tables;

/// Print the SQL schema of a format.
#[derive(Args)]
pub struct Schema {
    /// The format.
    format: Tables,
    /// Target database.
    #[arg(long, value_enum, default_value_t = Dialect::Sqlite)]
    dialect: Dialect,
    /// Include the table of projects.
    #[arg(long)]
    project: bool,
}

/// Formats that are SQL tables.
#[derive(Clone, Copy, ValueEnum)]
enum Tables {
    ConversationTables,
}

#[derive(Clone, Copy, ValueEnum)]
enum Dialect {
    Sqlite,
    Postgres,
}

impl Schema {
    pub fn run(self, output: &Output) -> Result<()> {
        let Tables::ConversationTables = self.format;
        let dialect = match self.dialect {
            Dialect::Sqlite => tables::Dialect::Sqlite,
            Dialect::Postgres => tables::Dialect::Postgres,
        };
        let projects = if self.project { tables::Projects::Defined } else { tables::Projects::Named };
        let statements = tables::statements(dialect, projects);
        match output.json {
            true => output.json(&serde_json::json!({ "result": statements })),
            false => print(&format!("{}\n", statements.join("\n"))),
        }
    }
}
