//! The commands, a file for each noun.

pub mod about;
pub mod append;
pub mod attached;
pub mod audit;
pub mod conversation;
pub mod foreign;
pub mod key;
pub mod library;
pub mod path;
pub mod project;
pub mod schema;
pub mod search;
pub mod serve;
pub mod show;
pub mod tenant;
pub mod transfer;
pub mod upkeep;
pub mod user;

use crate::desk::Desk;
use crate::home::Home;
use crate::screen::Screen;
use anyhow::Result;
use clap::Subcommand;
use conversation::Plain;

/// What can be done.
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
    /// Keeps a conversation at the top of the list.
    Pin(conversation::One),
    /// Lets a conversation go from the top of the list.
    Unpin(conversation::One),
    /// Puts a conversation away; it is listed only when asked for.
    Archive(conversation::One),
    /// Puts a conversation into the trash.
    Rm(conversation::One),
    /// Brings a conversation back from the trash or the archive.
    Restore(conversation::One),
    /// Shows an empty path; what was there stays on its branch.
    Clear(conversation::One),
    Purge(conversation::Purge),
    Erase(conversation::EraseArgs),
    Set(conversation::Set),
    /// Takes the last change back; again goes further back.
    Undo(path::Steps),
    /// Does again what was undone last.
    Redo(path::Steps),
    Fork(path::Fork),
    Rewind(path::Rewind),
    Switch(path::Switch),
    Branches(path::Branches),
    /// Shows a message with its place.
    Message(path::OneMessage),
    /// Shows the alternatives at the place of a message.
    Siblings(path::OneMessage),
    /// Shows the thread of replies that a message belongs to.
    Thread(path::OneMessage),
    Edit(path::Edit),
    Regenerate(path::Regenerate),
    Insert(path::Insert),
    /// Takes messages out of the shown path; they stay on the branch they were on.
    Remove(path::Between),
    /// Hides messages from the model; the reader still sees them.
    Hide(path::Between),
    Unhide(path::Unhide),
    Fold(attached::Fold),
    Draft(attached::Draft),
    /// Ratings, labels and other things said about a message.
    #[command(subcommand)]
    Note(attached::Note),
    /// Named places in a conversation.
    #[command(subcommand)]
    Bookmark(attached::Bookmark),
    /// Named values that follow the branch.
    #[command(subcommand)]
    State(attached::State),
    /// Tool calls of runs.
    #[command(subcommand)]
    Tool(attached::Tool),
    /// The log of a run.
    #[command(subcommand)]
    Event(attached::Event),
    /// What waits for a run.
    #[command(subcommand)]
    Input(attached::Input),
    /// Who owns a run.
    #[command(subcommand)]
    Lease(attached::Lease),
    Call(attached::Call),
    Project(project::Project),
    /// Small versioned things by kind and id: characters, templates, settings.
    #[command(subcommand)]
    Document(library::Document),
    /// Texts to be remembered.
    #[command(subcommand)]
    Memory(library::Memory),
    /// Pictures and files, kept once by their SHA-256.
    #[command(subcommand)]
    Blob(library::Blob),
    /// Files that were imported.
    #[command(subcommand)]
    Source(library::Source),
    Tenant(tenant::Tenant),
    User(user::User),
    Key(key::Key),
    Audit(audit::Audit),
    Stats(upkeep::Stats),
    Tail(upkeep::Tail),
    Export(transfer::Export),
    Import(transfer::Import),
    Convert(foreign::Convert),
    Schema(schema::Schema),
    Backup(upkeep::Backup),
    RestoreBackup(upkeep::RestoreBackup),
    Verify(upkeep::Verify),
    Reindex(upkeep::Reindex),
    Doctor(upkeep::Doctor),
    Config(about::Config),
    Token(about::Token),
    Completion(about::Completion),
    Man(about::Man),
}

impl Command {
    /// Does it.
    pub async fn run(self, home: Home, screen: Screen) -> Result<()> {
        // These need no store, or one that is not there yet.
        let command = match self {
            Self::Serve(command) => return command.run(&home).await,
            Self::Tenant(command) => return command.run(&home, &screen).await,
            Self::User(command) => return command.run(&home, &screen).await,
            Self::Key(command) => return command.run(&home, &screen).await,
            Self::Audit(command) => return command.run(&home, &screen).await,
            Self::Backup(command) => return command.run(&home, &screen).await,
            Self::RestoreBackup(command) => return command.run(&home, &screen).await,
            Self::Config(command) => return command.run(&home, &screen),
            Self::Token(command) => return command.run(&home),
            Self::Completion(command) => return command.run(),
            Self::Man(command) => return command.run(&screen),
            Self::Convert(command) => return command.run(&screen).await,
            Self::Verify(command) => return command.run(&home, &screen).await,
            Self::Schema(command) => return command.run(&screen),
            command => command,
        };
        if !command.begins() {
            home.must_exist()?;
        }
        let database = home.open()?;
        let desk = Desk { database, screen, now: jiff::Zoned::now(), backups: home.backups() };
        let done = command.at(&desk).await;
        let closed = desk.database.close().await;
        done?;
        Ok(closed?)
    }

    /// Says whether it may be the first command that a store sees.
    fn begins(&self) -> bool {
        matches!(
            self,
            Self::New(_) | Self::Import(_) | Self::Project(_) | Self::Document(_) | Self::Memory(_) | Self::Blob(_)
        )
    }

    async fn at(self, desk: &Desk) -> Result<()> {
        match self {
            Self::New(command) => command.run(desk).await,
            Self::List(command) => command.run(desk).await,
            Self::Show(command) => command.run(desk).await,
            Self::Search(command) => command.run(desk).await,
            Self::Append(command) => command.run(desk).await,
            Self::Rename(command) => command.run(desk).await,
            Self::Tag(command) => command.run(desk).await,
            Self::Pin(one) => one.run(desk, Plain::Pin).await,
            Self::Unpin(one) => one.run(desk, Plain::Unpin).await,
            Self::Archive(one) => one.run(desk, Plain::Archive).await,
            Self::Rm(one) => one.run(desk, Plain::Trash).await,
            Self::Restore(one) => one.run(desk, Plain::Restore).await,
            Self::Clear(one) => one.run(desk, Plain::Clear).await,
            Self::Purge(command) => command.run(desk).await,
            Self::Erase(command) => command.run(desk).await,
            Self::Set(command) => command.run(desk).await,
            Self::Undo(steps) => steps.undo(desk).await,
            Self::Redo(steps) => steps.redo(desk).await,
            Self::Fork(command) => command.run(desk).await,
            Self::Rewind(command) => command.run(desk).await,
            Self::Switch(command) => command.run(desk).await,
            Self::Branches(command) => command.run(desk).await,
            Self::Message(one) => one.message(desk).await,
            Self::Siblings(one) => one.siblings(desk).await,
            Self::Thread(one) => one.thread(desk).await,
            Self::Edit(command) => command.run(desk).await,
            Self::Regenerate(command) => command.run(desk).await,
            Self::Insert(command) => command.run(desk).await,
            Self::Remove(between) => between.remove(desk).await,
            Self::Hide(between) => between.hide(desk).await,
            Self::Unhide(command) => command.run(desk).await,
            Self::Fold(command) => command.run(desk).await,
            Self::Draft(command) => command.run(desk).await,
            Self::Note(command) => command.run(desk).await,
            Self::Bookmark(command) => command.run(desk).await,
            Self::State(command) => command.run(desk).await,
            Self::Tool(command) => command.run(desk).await,
            Self::Event(command) => command.run(desk).await,
            Self::Input(command) => command.run(desk).await,
            Self::Lease(command) => command.run(desk).await,
            Self::Call(command) => command.run(desk).await,
            Self::Project(command) => command.run(desk).await,
            Self::Document(command) => command.run(desk).await,
            Self::Memory(command) => command.run(desk).await,
            Self::Blob(command) => command.run(desk).await,
            Self::Source(command) => command.run(desk).await,
            Self::Stats(command) => command.run(desk).await,
            Self::Tail(command) => command.run(desk).await,
            Self::Export(command) => command.run(desk).await,
            Self::Import(command) => command.run(desk).await,
            Self::Reindex(command) => command.run(desk).await,
            Self::Doctor(command) => command.run(desk).await,
            Self::Serve(_)
            | Self::Tenant(_)
            | Self::User(_)
            | Self::Key(_)
            | Self::Audit(_)
            | Self::Verify(_)
            | Self::Backup(_)
            | Self::RestoreBackup(_)
            | Self::Config(_)
            | Self::Token(_)
            | Self::Completion(_)
            | Self::Man(_)
            | Self::Convert(_)
            | Self::Schema(_) => unreachable!("answered before the store was opened"),
        }
    }
}
