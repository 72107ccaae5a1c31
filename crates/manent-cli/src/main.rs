//! The `manent` command.

mod home;
mod screen;
mod line;
mod moment;
mod progress;
mod desk;
#[cfg(unix)]
mod picker;
mod commands;

use anyhow::Result;
use clap::Parser;
use commands::Command;
use manent::store::StoreError;
use screen::{BAD, Screen};
use std::path::PathBuf;
use std::process::ExitCode;

/// The database for AI conversations.
#[derive(Parser)]
#[command(name = "manent", version, about = "The database for AI conversations", max_term_width = 100)]
#[command(after_help = "Ids may be shortened to any beginning that is unique; @last is the conversation used last.\n\
                        Exit codes: 0 done, 1 failed, 2 wrong usage, 3 imported in part, 4 not found.")]
pub struct Cli {
    /// The store, a file or postgres://…; else MANENT_DB, else manent.db in MANENT_HOME or in the data folder of the user.
    #[arg(long, global = true, value_name = "STORE")]
    db: Option<PathBuf>,
    /// Answer with one JSON document.
    #[arg(long, global = true)]
    json: bool,
    /// No colours; NO_COLOR does the same.
    #[arg(long, global = true)]
    no_color: bool,
    /// No pager.
    #[arg(long, global = true)]
    no_pager: bool,
    /// Say nothing but what was asked for.
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Do not ask before something is destroyed.
    #[arg(long, short, global = true)]
    yes: bool,
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.no_color {
        anstream::ColorChoice::Never.write_global();
    }
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("{}manent:{} {error:#}", BAD.render(), BAD.render_reset());
            ExitCode::from(code_of(&error))
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let home = home::Home::find(cli.db)?;
    let screen = Screen { json: cli.json, quiet: cli.quiet, yes: cli.yes, no_pager: cli.no_pager };
    runtime.block_on(cli.command.run(home, screen))
}

/// What a script can tell apart.
fn code_of(error: &anyhow::Error) -> u8 {
    if error.is::<commands::transfer::Partial>() {
        return 3;
    }
    if error.is::<commands::search::Misread>() {
        return 2;
    }
    match error.downcast_ref::<manent::Error>() {
        Some(manent::Error::Store(StoreError::NotFound { .. })) => 4,
        _ => 1,
    }
}
