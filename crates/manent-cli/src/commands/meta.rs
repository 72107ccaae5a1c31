//! About this program: `config`, `token`, `completion`, `man`.

use crate::home::Home;
use crate::output::{BOLD, Cell, Output, Table, print};
use anyhow::{Context, Result};
use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;
use std::sync::LazyLock;

/// The version with the commit that the program is built from, if it is known, and the version of SQLite in it.
pub fn long_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let commit = option_env!("MANENT_BUILT_FROM").map(|commit| format!("commit {commit}, ")).unwrap_or_default();
        format!("{} ({commit}SQLite {})", env!("CARGO_PKG_VERSION"), manent::store::sqlite::version())
    });
    &VERSION
}

/// Show the effective configuration and its sources.
#[derive(Args)]
pub struct Config {}

impl Config {
    pub fn run(self, home: &Home, output: &Output) -> Result<()> {
        let settings = [
            ("store", home.store.to_string(), home.store_from),
            ("home", home.folder.display().to_string(), home.folder_from),
            ("token", home.folder.join("token").display().to_string(), "home"),
            ("backups", home.backups().display().to_string(), "home"),
            ("version", long_version().to_owned(), "program"),
        ];
        if output.json {
            let values =
                settings.iter().map(|(name, value, from)| (*name, serde_json::json!({ "value": value, "from": from })));
            return output.json(&values.collect::<std::collections::BTreeMap<_, _>>());
        }
        let mut table = Table::new(&["SETTING", "VALUE", "FROM"], 1);
        for (name, value, from) in settings {
            table.row(vec![Cell::styled(name, BOLD), Cell::new(value), Cell::new(from)]);
        }
        output.table(&table)
    }
}

/// Print the server token; create it if there is none.
#[derive(Args)]
pub struct Token {}

impl Token {
    pub fn run(self, home: &Home) -> Result<()> {
        let token =
            manent_server::token(&home.folder).with_context(|| format!("the token in {}", home.folder.display()))?;
        print(&format!("{}\n", token.reveal()))
    }
}

/// Print a completion script for your shell.
#[derive(Args)]
pub struct Completion {
    /// Your shell.
    shell: Shell,
}

impl Completion {
    pub fn run(self) -> Result<()> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut super::help::command(), "manent", &mut text);
        print(&String::from_utf8(text).context("a script is text")?)
    }
}

/// Write man pages into a folder.
#[derive(Args)]
pub struct Man {
    /// The folder.
    folder: PathBuf,
}

impl Man {
    pub fn run(self, output: &Output) -> Result<()> {
        std::fs::create_dir_all(&self.folder).with_context(|| format!("making {}", self.folder.display()))?;
        clap_mangen::generate_to(super::help::command(), &self.folder).context("writing man pages")?;
        output.done(&format!("wrote man pages to {}", self.folder.display()));
        Ok(())
    }
}
