//! Import of blobs in chunks, which arrive before the records that refer to them.

use crate::error::{Error, Result};
use crate::transfer::import::importer::Importer;
use crate::transfer::import::{ImportMode, Skipped};
use manent_formats::BlobItem;
use manent_store::Change;

/// State of an incoming blob.
#[derive(Default)]
pub(crate) enum Incoming {
    /// Its chunks are stored.
    #[default]
    Wanted,
    /// The store has it already.
    Here,
    /// The store refused it, for this reason.
    Refused(String),
}

impl Importer<'_> {
    pub(crate) async fn blob(&mut self, item: BlobItem) -> Result<()> {
        let BlobItem { sha256, size, n, is_last, bytes } = item;
        if self.mode == ImportMode::DryRun {
            return Ok(());
        }
        if n == 0 {
            let here = self.database.store.blob_piece(sha256, 0).await?;
            self.incoming = if here.is_some() { Incoming::Here } else { Incoming::Wanted };
        }
        if let Incoming::Wanted = self.incoming {
            let change = Change::PutBlobPiece { sha256, size: size as i64, n: n as i64, last: is_last, bytes };
            match self.database.commit_background(manent_store::now(), None, change).await {
                Err(Error::Store(error)) if error.is_rejection() => {
                    self.incoming = Incoming::Refused(error.to_string());
                }
                outcome => outcome.map(drop)?,
            }
        }
        Ok(())
    }

    /// Returns whether the blob that a record refers to is stored; reports it otherwise.
    pub(crate) fn has_its_bytes(&mut self, record: &str, id: &str) -> bool {
        let Incoming::Refused(why) = std::mem::take(&mut self.incoming) else { return true };
        self.counts(record).reported += 1;
        self.report.skipped.push(Skipped { place: id.to_owned(), record: record.to_owned(), why });
        false
    }
}
