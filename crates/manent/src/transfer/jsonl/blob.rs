//! Blobs as JSON lines: a small one as one line, a large one as a line per chunk.

use crate::error::Result;
use crate::transfer::jsonl::export::Exporter;
use crate::transfer::jsonl::import::Importer;
use crate::transfer::jsonl::record::{BlobRecord, Kind, Line, PieceRecord};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use manent_model::{Message, Part, blob_placeholder, hex};
use manent_store::{Change, MessageOrigin, StoreError};
use sha2::{Digest, Sha256};
use std::io::Write;

impl<W: Write + Send> Exporter<W> {
    /// Writes a blob, if the store has it.
    pub(crate) async fn blob(&mut self, sha256: [u8; 32]) -> Result<()> {
        let store = self.database.store.clone();
        let Some((mut at, mut bytes)) = store.blob_piece(sha256, 0).await? else { return Ok(()) };
        let (mut hasher, mut n, mut size) = (Sha256::new(), 0, 0);
        loop {
            hasher.update(&bytes);
            size += bytes.len() as i64;
            let next = store.blob_piece(sha256, at + 1).await?;
            if next.is_none() && <[u8; 32]>::from(hasher.clone().finalize()) != sha256 {
                return Err(StoreError::Altered { what: "blob", id: hex::encode(&sha256) }.into());
            }
            let piece = (n > 0 || next.is_some()).then(|| PieceRecord { n, size: next.is_none().then_some(size) });
            let record = BlobRecord { sha256: hex::encode(&sha256), base64: STANDARD.encode(&bytes), piece };
            self.line(Kind::Blob, None, &record)?;
            match next {
                Some(next) => (at, bytes) = next,
                None => return Ok(()),
            }
            n += 1;
        }
    }
}

impl Importer<'_> {
    pub(crate) async fn blob(&mut self, line: &Line) -> Result<()> {
        let Some(BlobRecord { sha256, base64, piece }) = self.read(line) else { return Ok(()) };
        let bytes = match STANDARD.decode(base64) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.problem(error);
                return Ok(());
            }
        };
        let Some(PieceRecord { n, size }) = piece else { return self.database.put_blob(&bytes).await.map(drop) };
        let Some(sha256) = hex::decode(&sha256).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()) else {
            self.problem("a piece belongs to a blob, which has a SHA-256");
            return Ok(());
        };
        let (size, last) = (size.unwrap_or(0), size.is_some());
        self.commit_background(manent_store::now(), Change::PutBlobPiece { sha256, size, n, last, bytes }).await
    }
}

/// Returns the blobs that messages refer to, and those referred to by placeholders in them and their sources.
pub(crate) fn blobs_of(messages: &[Message], origins: &[MessageOrigin]) -> Vec<[u8; 32]> {
    let mut blobs = Vec::new();
    for content in messages.iter().map(|message| &message.content) {
        blobs.extend(content.body.parts().into_iter().filter_map(|part| match part {
            Part::Media { blob, .. } => <[u8; 32]>::try_from(hex::decode(&blob?)?).ok(),
            _ => None,
        }));
        let metadata = content.metadata.iter().map(manent_model::Json::text);
        blobs.extend(metadata.chain([content.body.text()]).flat_map(blob_placeholder::blobs_in));
    }
    blobs.extend(origins.iter().filter_map(|origin| origin.raw.as_deref()).flat_map(blob_placeholder::blobs_in));
    blobs
}
