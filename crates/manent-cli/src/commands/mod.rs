//! The commands, one file per noun.

pub mod meta;
pub mod append;
pub mod annotations;
pub mod audit;
pub mod conversation;
pub mod formats;
pub mod help;
pub mod key;
pub mod library;
pub mod branches;
pub mod project;
pub mod schema;
pub mod search;
pub mod serve;
pub mod show;
pub mod tenant;
pub mod transfer;
pub mod maintenance;
pub mod user;

use crate::context::CommandContext;
use crate::home::Home;
use crate::output::Output;
use anyhow::Result;
use clap::Subcommand;
use conversation::StatusChange;

/// All commands.
#[derive(Subcommand)]
pub enum Command {
    Serve(serve::Serve),
    New(conversation::New),
    #[command(visible_alias = "ls")]
    List(conversation::List),
    Show(show::Show),
    Search(search::Search),
    Append(append::Append),
    Rename(conversation::Rename),
    Tag(conversation::Tag),
    /// Pin a conversation to the top of the list.
    Pin(conversation::ConversationArg),
    /// Unpin a conversation.
    Unpin(conversation::ConversationArg),
    /// Archive a conversation: it is no longer listed by default.
    Archive(conversation::ConversationArg),
    /// Move a conversation to the trash.
    Rm(conversation::ConversationArg),
    /// Restore a conversation from the trash or the archive.
    Restore(conversation::ConversationArg),
    /// Start with an empty path; the messages stay on their branch.
    Clear(conversation::ConversationArg),
    Purge(conversation::Purge),
    Erase(conversation::EraseArgs),
    Set(conversation::Set),
    /// Undo the last change; repeat to go further back.
    Undo(branches::Steps),
    /// Redo the last undone change.
    Redo(branches::Steps),
    Fork(branches::Fork),
    Rewind(branches::Rewind),
    Switch(branches::Switch),
    Branches(branches::Branches),
    /// Show a message with its location.
    Message(branches::MessageArg),
    /// List the alternatives of a message.
    Siblings(branches::MessageArg),
    /// Show the thread of replies that contains a message.
    Thread(branches::MessageArg),
    Edit(branches::Edit),
    Regenerate(branches::Regenerate),
    Insert(branches::Insert),
    /// Remove messages from the current path; they stay on their previous branch.
    Remove(branches::RangeArgs),
    /// Hide messages from the model; readers still see them.
    Hide(branches::RangeArgs),
    Unhide(branches::Unhide),
    Fold(annotations::Fold),
    Draft(annotations::Draft),
    /// Add or remove ratings, labels and comments on messages.
    #[command(subcommand)]
    Note(annotations::Note),
    /// Set or remove named positions in a conversation.
    #[command(subcommand)]
    Bookmark(annotations::Bookmark),
    /// Get or set values that belong to a position on a branch.
    #[command(subcommand)]
    State(annotations::State),
    /// Tool calls, events, inputs, leases and model calls of agent runs.
    #[command(subcommand)]
    Run(RunCommand),
    Project(project::Project),
    /// Documents, memories, blobs and imported files.
    #[command(subcommand)]
    Library(LibraryCommand),
    Tenant(tenant::Tenant),
    User(user::User),
    Key(key::Key),
    Audit(audit::Audit),
    Stats(maintenance::Stats),
    Tail(maintenance::Tail),
    Export(transfer::Export),
    Import(transfer::Import),
    Convert(formats::Convert),
    Schema(schema::Schema),
    Backup(maintenance::Backup),
    RestoreBackup(maintenance::RestoreBackup),
    Verify(maintenance::Verify),
    Reindex(maintenance::Reindex),
    Doctor(maintenance::Doctor),
    Config(meta::Config),
    Token(meta::Token),
    Completion(meta::Completion),
    Man(meta::Man),
}

/// Low-level commands for agent runs.
#[derive(Subcommand)]
pub enum RunCommand {
    /// Tool calls and their states.
    #[command(subcommand)]
    Tool(annotations::Tool),
    /// Event log.
    #[command(subcommand)]
    Event(annotations::Event),
    /// Input queue.
    #[command(subcommand)]
    Input(annotations::Input),
    /// Leases on agent runs.
    #[command(subcommand)]
    Lease(annotations::Lease),
    Call(annotations::Call),
}

impl RunCommand {
    async fn run(self, context: &CommandContext) -> Result<()> {
        match self {
            Self::Tool(command) => command.run(context).await,
            Self::Event(command) => command.run(context).await,
            Self::Input(command) => command.run(context).await,
            Self::Lease(command) => command.run(context).await,
            Self::Call(command) => command.run(context).await,
        }
    }
}

/// Content that does not belong to one conversation.
#[derive(Subcommand)]
pub enum LibraryCommand {
    /// Versioned JSON documents: characters, templates, settings.
    #[command(subcommand)]
    Document(library::Document),
    /// Memories: texts in named collections.
    #[command(subcommand)]
    Memory(library::Memory),
    /// Files, stored once under their SHA-256.
    #[command(subcommand)]
    Blob(library::Blob),
    /// Imported files.
    #[command(subcommand)]
    Source(library::Source),
}

impl LibraryCommand {
    async fn run(self, context: &CommandContext) -> Result<()> {
        match self {
            Self::Document(command) => command.run(context).await,
            Self::Memory(command) => command.run(context).await,
            Self::Blob(command) => command.run(context).await,
            Self::Source(command) => command.run(context).await,
        }
    }
}

/// Whether a command creates the store if there is none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Store {
    Existing,
    CreateIfMissing,
}

/// Opens the store, runs a command on it and closes it.
async fn on_store(
    home: Home,
    output: Output,
    store: Store,
    work: impl AsyncFnOnce(&CommandContext) -> Result<()>,
) -> Result<()> {
    if store == Store::Existing {
        home.must_exist()?;
    }
    let context = CommandContext { database: home.open()?, output, now: jiff::Zoned::now(), backups: home.backups() };
    let done = work(&context).await;
    let closed = context.database.close().await;
    done?;
    Ok(closed?)
}

impl Command {
    /// Runs the command.
    pub async fn run(self, home: Home, output: Output) -> Result<()> {
        use Store::{CreateIfMissing, Existing};
        macro_rules! on {
            ($store:ident, $command:ident.$run:ident($($argument:expr)?)) => {
                on_store(home, output, $store, async |context| $command.$run(context $(, $argument)?).await).await
            };
        }
        match self {
            // These open no store, or other ones.
            Self::Serve(command) => command.run(&home).await,
            Self::Tenant(command) => command.run(&home, &output).await,
            Self::User(command) => command.run(&home, &output).await,
            Self::Key(command) => command.run(&home, &output).await,
            Self::Audit(command) => command.run(&home, &output).await,
            Self::Backup(command) => command.run(&home, &output).await,
            Self::RestoreBackup(command) => command.run(&home, &output).await,
            Self::Verify(command) => command.run(&home, &output).await,
            Self::Config(command) => command.run(&home, &output),
            Self::Token(command) => command.run(&home),
            Self::Completion(command) => command.run(),
            Self::Man(command) => command.run(&output),
            Self::Convert(command) => command.run(&output).await,
            Self::Schema(command) => command.run(&output),
            Self::New(command) => on!(CreateIfMissing, command.run()),
            Self::Import(command) => on!(CreateIfMissing, command.run()),
            Self::Project(command) => on!(CreateIfMissing, command.run()),
            Self::Library(command) => on!(CreateIfMissing, command.run()),
            Self::List(command) => on!(Existing, command.run()),
            Self::Show(command) => on!(Existing, command.run()),
            Self::Search(command) => on!(Existing, command.run()),
            Self::Append(command) => on!(Existing, command.run()),
            Self::Rename(command) => on!(Existing, command.run()),
            Self::Tag(command) => on!(Existing, command.run()),
            Self::Pin(one) => on!(Existing, one.run(StatusChange::Pin)),
            Self::Unpin(one) => on!(Existing, one.run(StatusChange::Unpin)),
            Self::Archive(one) => on!(Existing, one.run(StatusChange::Archive)),
            Self::Rm(one) => on!(Existing, one.run(StatusChange::Trash)),
            Self::Restore(one) => on!(Existing, one.run(StatusChange::Restore)),
            Self::Clear(one) => on!(Existing, one.run(StatusChange::Clear)),
            Self::Purge(command) => on!(Existing, command.run()),
            Self::Erase(command) => on!(Existing, command.run()),
            Self::Set(command) => on!(Existing, command.run()),
            Self::Undo(steps) => on!(Existing, steps.undo()),
            Self::Redo(steps) => on!(Existing, steps.redo()),
            Self::Fork(command) => on!(Existing, command.run()),
            Self::Rewind(command) => on!(Existing, command.run()),
            Self::Switch(command) => on!(Existing, command.run()),
            Self::Branches(command) => on!(Existing, command.run()),
            Self::Message(one) => on!(Existing, one.message()),
            Self::Siblings(one) => on!(Existing, one.siblings()),
            Self::Thread(one) => on!(Existing, one.thread()),
            Self::Edit(command) => on!(Existing, command.run()),
            Self::Regenerate(command) => on!(Existing, command.run()),
            Self::Insert(command) => on!(Existing, command.run()),
            Self::Remove(between) => on!(Existing, between.remove()),
            Self::Hide(between) => on!(Existing, between.hide()),
            Self::Unhide(command) => on!(Existing, command.run()),
            Self::Fold(command) => on!(Existing, command.run()),
            Self::Draft(command) => on!(Existing, command.run()),
            Self::Note(command) => on!(Existing, command.run()),
            Self::Bookmark(command) => on!(Existing, command.run()),
            Self::State(command) => on!(Existing, command.run()),
            Self::Run(command) => on!(Existing, command.run()),
            Self::Stats(command) => on!(Existing, command.run()),
            Self::Tail(command) => on!(Existing, command.run()),
            Self::Export(command) => on!(Existing, command.run()),
            Self::Reindex(command) => on!(Existing, command.run()),
            Self::Doctor(command) => on!(Existing, command.run()),
        }
    }
}
