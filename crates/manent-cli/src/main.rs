//! The `manent` command.

mod home;
mod output;
mod styled_line;
mod time;
mod progress;
mod context;
#[cfg(unix)]
mod picker;
mod commands;

use anyhow::Result;
use clap::{FromArgMatches, Parser};
use commands::Command;
use manent::store::StoreError;
use output::{BAD, Output};
use std::path::PathBuf;
use std::process::ExitCode;

/// The database for AI conversations.
#[derive(Parser)]
#[command(name = "manent", version, about = "The database for AI conversations", max_term_width = 100)]
#[command(after_help = "Ids can be shortened to a unique prefix; @last is the conversation used last.\n\
                        Exit codes: 0 done, 1 failed, 2 wrong usage, 3 partial import or export, 4 not found.")]
pub struct Cli {
    /// Store: a file or postgres://… [default: MANENT_DB, else manent.db in MANENT_HOME or the user's data folder].
    #[arg(long, global = true, help_heading = "Global options", value_name = "STORE")]
    db: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long, global = true, help_heading = "Global options")]
    json: bool,
    /// Disable colours, like NO_COLOR.
    #[arg(long, global = true, help_heading = "Global options")]
    no_color: bool,
    /// Do not use a pager.
    #[arg(long, global = true, help_heading = "Global options")]
    no_pager: bool,
    /// Suppress status messages.
    #[arg(long, short, global = true, help_heading = "Global options")]
    quiet: bool,
    /// Do not ask for confirmation.
    #[arg(long, short, global = true, help_heading = "Global options")]
    yes: bool,
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let cli = Cli::from_arg_matches(&commands::help::command().get_matches()).unwrap_or_else(|error| error.exit());
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
    let screen = Output { json: cli.json, quiet: cli.quiet, yes: cli.yes, no_pager: cli.no_pager };
    runtime.block_on(cli.command.run(home, screen))
}

/// Exit code of an error.
fn code_of(error: &anyhow::Error) -> u8 {
    if error.is::<commands::transfer::PartialFile>() {
        return 3;
    }
    if error.is::<commands::search::QueryError>() {
        return 2;
    }
    match error.downcast_ref::<manent::Error>() {
        Some(manent::Error::Store(StoreError::NotFound { .. })) => 4,
        _ => 1,
    }
}
