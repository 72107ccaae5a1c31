//! Import of other programs' files: read on a separate thread, committed at low priority.
//!
//! An object is recognised by its origin: the format, its external id, and the messages before it. So importing a file
//! twice adds nothing, a file that grew adds what is new, and what a file no longer contains stays.

mod report;
mod reading;
mod origin_index;
mod importer;
mod links;
mod conversation_import;
mod in_flight;
mod merge;
mod follow;
mod match_path;
mod subsequence;
mod existing;
mod diff;
mod annotations;
mod folds;
mod calls;
mod blobs;

use crate::database::Database;
use crate::error::{Error, Result};
use importer::Importer;
use manent_formats::core::source_fs::SourceTree;
use manent_formats::{Format, ReadError};
use manent_store::{Change, ImportLock};
pub(crate) use origin_index::ImportedState;
use reading::Wanted;
pub use report::{
    Counts, FileImportReport, ImportedConversation, ImportedRoot, LeftOut, Repaired, Skipped, UnmappedField,
};

/// Whether an import writes to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImportMode {
    /// Imports.
    #[default]
    Store,
    /// Reports what would be imported and writes nothing.
    DryRun,
}

impl Database {
    /// Imports every store found in a file tree, of any format or only of the given one, in any folder. Unrecognised
    /// files are listed. See [`Self::import_tree`].
    pub async fn import_everything(
        &self,
        tree: Box<dyn SourceTree + Send>,
        asked: Option<&'static Format>,
        mode: ImportMode,
        tell: impl FnMut(u64) + Send,
    ) -> Result<FileImportReport> {
        // An archive may contain a single top-level folder.
        let tree = match manent_formats::recognise(tree, asked) {
            Ok((tree, _)) | Err(tree) => tree,
        };
        self.import_wanted(tree, Wanted::Everything(asked), mode, tell).await
    }

    /// Imports the root of a file tree in this format.
    ///
    /// An unreadable record is skipped, quarantined, and reported with its place; the import continues. `tell`
    /// receives the number of processed records as progress. Imports into one store run one at a time, also across
    /// processes.
    pub async fn import_tree(
        &self,
        tree: Box<dyn SourceTree + Send>,
        format: &'static Format,
        mode: ImportMode,
        tell: impl FnMut(u64) + Send,
    ) -> Result<FileImportReport> {
        self.import_wanted(tree, Wanted::One(format), mode, tell).await
    }

    async fn import_wanted(
        &self,
        tree: Box<dyn SourceTree + Send>,
        wanted: Wanted,
        mode: ImportMode,
        mut tell: impl FnMut(u64) + Send,
    ) -> Result<FileImportReport> {
        let format = match wanted {
            Wanted::One(format) | Wanted::Everything(Some(format)) => format,
            // Each root brings its own format.
            Wanted::Everything(None) => &manent_formats::FORMATS[0],
        };
        let plain = self.detached();
        let _turn = match mode {
            ImportMode::Store => Some(acquire_lock(&plain).await?),
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

/// Acquires the import lock, and waits until the commits of an abandoned import are stored.
async fn acquire_lock(database: &Database) -> Result<ImportLock> {
    let turn = database.store.acquire_import_lock().await?;
    // Commits of an abandoned import may still be queued and must be visible to this one. This no-op commit waits for
    // them; it removes nothing.
    let (kind, id, actor) = ("import".to_owned(), String::new(), String::new());
    database.commit_background(manent_store::now(), None, Change::RemoveScratch { kind, id, actor }).await?;
    Ok(turn)
}

fn failed(error: ReadError) -> Error {
    Error::Unreadable { source: error }
}
