//! Other programs' files, taken in: read on a thread of their own, stored through the low lane.
//!
//! A thing is known again by its origin: the format, its id there, and what was there before. So importing a file twice
//! adds nothing, a file that grew adds what is new, and what a file no longer holds stays.

mod report;
mod reading;
mod source;
mod importer;
mod links;
mod filling;
mod flying;
mod growing;
mod follow;
mod found;
mod subsequence;
mod stored;
mod align;
mod attach;
mod folds;
mod calls;
mod blobs;

use crate::database::Database;
use crate::error::{Error, Result};
use crate::ids;
use importer::Importer;
use manent_formats::tree::Tree;
use manent_formats::{Format, ReadError};
use manent_store::{Change, Turn};
use reading::Wanted;
pub use report::{Counts, ImportedConversation, ImportedReport, ImportedRoot, LeftOut, Repaired, SetAside, Skipped};
pub(crate) use source::Kept;

/// Whether an import changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImportMode {
    /// It takes things in.
    #[default]
    Store,
    /// It says what it would take in, and changes nothing.
    DryRun,
}

impl Database {
    /// Takes in every store in a tree, of any format or of the one that is asked for, in whatever folder it lies. What belongs
    /// to none is listed. See [`Self::import_tree`].
    pub async fn import_everything(
        &self,
        tree: Box<dyn Tree + Send>,
        asked: Option<&'static Format>,
        mode: ImportMode,
        tell: impl FnMut(u64) + Send,
    ) -> Result<ImportedReport> {
        // A folder that was packed with its own name is looked into.
        let tree = match manent_formats::recognise(tree, asked) {
            Ok((tree, _)) | Err(tree) => tree,
        };
        self.import_wanted(tree, Wanted::Everything(asked), mode, tell).await
    }

    /// Takes in what lies at the root of a tree in this format.
    ///
    /// A record that cannot be read is skipped, kept, and reported with its place; the rest goes on. `tell` hears how many
    /// records were dealt with, now and then. Imports into one store follow each other, also those of other processes.
    pub async fn import_tree(
        &self,
        tree: Box<dyn Tree + Send>,
        format: &'static Format,
        mode: ImportMode,
        tell: impl FnMut(u64) + Send,
    ) -> Result<ImportedReport> {
        self.import_wanted(tree, Wanted::One(format), mode, tell).await
    }

    async fn import_wanted(
        &self,
        tree: Box<dyn Tree + Send>,
        wanted: Wanted,
        mode: ImportMode,
        mut tell: impl FnMut(u64) + Send,
    ) -> Result<ImportedReport> {
        let format = match wanted {
            Wanted::One(format) | Wanted::Everything(Some(format)) => format,
            // Each root says what it is.
            Wanted::Everything(None) => &manent_formats::FORMATS[0],
        };
        let plain = self.plain();
        let _turn = match mode {
            ImportMode::Store => Some(turn(&plain).await?),
            ImportMode::DryRun => None,
        };
        let mut reading = reading::begin(tree, wanted);
        let mut importer = Importer::new(&plain, format, mode);
        let mut records = 0;
        while let Some(sent) = reading.next().await {
            importer.take(sent).await?;
            records += 1;
            if records % 256 == 0 {
                tell(records);
            }
        }
        tell(records);
        reading.end().map_err(failed)?;
        importer.end().await
    }
}

/// Waits until it is this import's turn, and until what others left behind who gave up is stored.
async fn turn(database: &Database) -> Result<Turn> {
    let turn = database.store.import_turn().await?;
    // What was under way when somebody gave up comes before this, and an import must see it. There is nothing to remove.
    let (kind, id, actor) = ("import".to_owned(), String::new(), String::new());
    database.change_low(ids::now(), None, Change::RemoveScratch { kind, id, actor }).await?;
    Ok(turn)
}

fn failed(error: ReadError) -> Error {
    Error::Unreadable { source: error }
}
