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
#[command(name = "manent", version, long_version = commands::meta::long_version(), about = "The database for AI conversations", max_term_width = 100)]
#[command(after_help = "Ids can be shortened to a unique prefix; @last is the conversation used last.\n\
                        Exit codes: 0 done, 1 failed, 2 wrong usage, 3 partial import or export, 4 not found.\n\
                        With --json, an error is one JSON object on standard error.")]
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
    let parsed = commands::help::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = parsed.unwrap_or_else(|error| exit_with_usage(&error));
    if cli.no_color {
        anstream::ColorChoice::Never.write_global();
    }
    let json = cli.json;
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let (exit, code) = classify(&error);
            match json {
                true => report_json(code, &format!("{error:#}")),
                false => anstream::eprintln!("{}manent:{} {error:#}", BAD.render(), BAD.render_reset()),
            }
            ExitCode::from(exit)
        }
    }
}

/// Ends the program after wrong usage, or after `--help` and `--version`, which clap reports in the same way.
fn exit_with_usage(error: &clap::Error) -> ! {
    // The arguments could not be parsed, so the flag is looked for among them.
    if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") {
        let text = error.render().to_string();
        report_json("usage", text.trim_start_matches("error: ").trim_end());
        std::process::exit(error.exit_code());
    }
    error.exit()
}

/// Writes an error to standard error as one line of JSON; standard output holds answers only.
fn report_json(code: &str, message: &str) {
    eprintln!("{}", serde_json::json!({ "error": { "code": code, "message": message } }));
}

fn run(cli: Cli) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let home = home::Home::find(cli.db)?;
    let output = Output { json: cli.json, quiet: cli.quiet, yes: cli.yes, no_pager: cli.no_pager };
    runtime.block_on(cli.command.run(home, output))
}

/// Exit code of an error, and its code in JSON.
fn classify(error: &anyhow::Error) -> (u8, &'static str) {
    if error.is::<commands::transfer::PartialFile>() {
        return (3, "partial");
    }
    if error.is::<commands::search::QueryError>() {
        return (2, "query");
    }
    match error.chain().find_map(|cause| cause.downcast_ref::<manent::Error>()) {
        Some(manent::Error::Store(StoreError::NotFound { .. })) => (4, "not_found"),
        Some(error) => (1, error.code()),
        None => (1, "failed"),
    }
}
