//! `manent --help`: the commands in groups.

use clap::CommandFactory;
use std::fmt::Write;

/// A group: its heading, and its rows of command names with a description.
type Group = (&'static str, &'static [(&'static str, &'static str)]);

const GROUPS: [Group; 8] = [
    (
        "Conversations",
        &[
            ("new", "Create a conversation and print its id"),
            ("list", "List conversations: pinned first, then most recently active"),
            ("show", "Show the messages of a conversation"),
            ("append", "Append a message and print its id"),
            ("rename, tag, set", "Change the title, tags, project, members or metadata"),
            ("pin, unpin", "Pin a conversation to the top of the list"),
            ("archive, rm, restore", "Archive, move to the trash, or restore"),
            ("clear", "Start with an empty path; the messages stay on their branch"),
            ("draft", "Print, save or delete an unsent draft"),
            ("purge, erase", "Delete for good; erase without a trace in the files"),
        ],
    ),
    (
        "Messages and branches",
        &[
            ("edit, regenerate", "Replace a message; the old one stays as an alternative"),
            ("insert, remove", "Insert or remove messages on the current path"),
            ("fork, rewind, switch", "Branch off, move the head back, switch branches"),
            ("branches", "List the branches of a conversation"),
            ("message, siblings, thread", "Show a message, its alternatives, or its replies"),
            ("fold, hide, unhide", "Choose what the model sees: summaries, hidden messages"),
            ("note, bookmark, state", "Annotate messages, positions and branches"),
            ("undo, redo", "Undo or redo the last change"),
        ],
    ),
    (
        "Search and statistics",
        &[
            ("search", "Search messages, titles and tags; -i searches as you type"),
            ("stats", "Messages, words and tokens by day, model and role"),
            ("tail", "Show changes in order, or follow them"),
        ],
    ),
    (
        "Import and export",
        &[
            ("import", "Import JSON lines or the files of another program"),
            ("export", "Export conversations, also in the format of another program"),
            ("convert", "Convert files from one format to another, without a store"),
            ("schema", "Print the SQL schema of a format"),
        ],
    ),
    ("Agent runs", &[("run", "Tool calls, events, inputs, leases and model calls")]),
    (
        "Library",
        &[
            ("project", "Create, list and change projects"),
            ("library", "Documents, memories, blobs and imported files"),
        ],
    ),
    (
        "Users and keys",
        &[
            ("tenant, user", "Create, list and erase tenants and users"),
            ("key", "Create, list and revoke API keys"),
            ("audit", "Show or verify the audit log"),
        ],
    ),
    (
        "Server and store",
        &[
            ("serve", "Run the HTTP server with the API and the page"),
            ("token, config", "Print the server token; show the configuration"),
            ("backup, restore-backup", "Write a checked backup; create a store from one"),
            ("verify, doctor, reindex", "Check all data; report settings; rebuild the index"),
            ("completion, man, help", "Shell completion, man pages, help for a command"),
        ],
    ),
];

/// The command line with its help in groups; clap itself lists subcommands flat.
pub fn command() -> clap::Command {
    let mut commands = String::new();
    for (heading, rows) in GROUPS {
        let _ = writeln!(commands, "{heading}:");
        for (names, what) in rows {
            let _ = writeln!(commands, "  {names:<26} {what}");
        }
        commands.push('\n');
    }
    let template =
        ["{about}\n\n{usage-heading} {usage}\n\n", &commands, "Global options:\n{options}{after-help}"].concat();
    crate::Cli::command().help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_in_one_group() {
        let names = |rows: &[(&'static str, &'static str)]| -> Vec<&'static str> {
            rows.iter().flat_map(|(names, _)| names.split(", ")).collect()
        };
        let listed: Vec<&str> =
            GROUPS.iter().flat_map(|(_, rows)| names(rows)).filter(|name| *name != "help").collect();
        let mut built = crate::Cli::command();
        built.build();
        let known: BTreeSet<&str> =
            built.get_subcommands().map(clap::Command::get_name).filter(|name| *name != "help").collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(listed.len(), known.len(), "a command is listed once");
    }

    #[test]
    fn help_fits_two_screens_of_80_columns() {
        let help = command().term_width(80).render_help().to_string();
        assert!(help.lines().count() <= 80, "{} lines", help.lines().count());
        assert!(help.lines().all(|line| line.chars().count() <= 90), "{help}");
    }
}
