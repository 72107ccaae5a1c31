//! Blobs: content-addressed bytes, by their SHA-256.

use crate::database::Database;
use crate::error::{Error, Result};
use manent_model::hex;
use manent_store::{Change, StoreError};
use sha2::{Digest, Sha256};
use std::io::{self, Read, Seek};

/// Chunk size of blob transfers.
const PIECE: usize = 1 << 20;

/// Chunked reader of a blob, for reading with bounded memory.
pub struct BlobReader {
    database: Database,
    digest: [u8; 32],
    hasher: Sha256,
    next: i64,
}

impl Database {
    /// Stores bytes once, however often they are given, and returns their SHA-256 in hexadecimal.
    pub async fn put_blob(&self, bytes: &[u8]) -> Result<String> {
        self.put_blob_from(io::Cursor::new(bytes)).await
    }

    /// Stores the content of a file once and returns its SHA-256 in hexadecimal. The file is read twice, in chunks.
    ///
    /// Reads block the current thread, so the file should be on a local disk.
    pub async fn put_blob_from(&self, mut file: impl Read + Seek + Send) -> Result<String> {
        let unreadable = |source| Error::File { doing: "reading", path: "a blob".to_owned(), source };
        let (sha256, size) = digest_and_size(&mut file).map_err(unreadable)?;
        let pieces = size.div_ceil(PIECE as u64).max(1);
        for n in 0..pieces {
            let left = size - n * PIECE as u64;
            let mut bytes = vec![0; left.min(PIECE as u64) as usize];
            file.read_exact(&mut bytes).map_err(unreadable)?;
            let (size, last) = (size as i64, n + 1 == pieces);
            self.change(Change::PutBlobPiece { sha256, size, n: n as i64, last, bytes }).await?;
        }
        Ok(hex::encode(&sha256))
    }

    /// Returns the bytes of a blob.
    pub async fn blob(&self, sha256: &str) -> Result<Vec<u8>> {
        let missing = || Error::not_found("blob", sha256);
        self.store.blob(digest_of(sha256)?).await?.ok_or_else(missing)
    }

    /// Returns a chunked reader of a blob.
    pub fn blob_reader(&self, sha256: &str) -> Result<BlobReader> {
        Ok(BlobReader { database: self.clone(), digest: digest_of(sha256)?, hasher: Sha256::new(), next: 0 })
    }
}

impl BlobReader {
    /// Returns the next chunk, at most 1 MiB; `None` after the last. A missing blob is an error; a damaged one is an
    /// error after its last chunk was read.
    pub async fn next_piece(&mut self) -> Result<Option<Vec<u8>>> {
        let name = || hex::encode(&self.digest);
        match self.database.store.blob_piece(self.digest, self.next).await? {
            Some((n, bytes)) => {
                self.next = n + 1;
                self.hasher.update(&bytes);
                Ok(Some(bytes))
            }
            None if self.next == 0 => Err(Error::not_found("blob", name())),
            None => match self.hasher.clone().finalize()[..] == self.digest {
                true => Ok(None),
                false => Err(StoreError::Altered { what: "blob", id: name() }.into()),
            },
        }
    }
}

fn digest_of(sha256: &str) -> Result<[u8; 32]> {
    let digest = hex::decode(sha256).and_then(|bytes| bytes.try_into().ok());
    digest.ok_or_else(|| Error::not_found("blob", sha256))
}

/// Hashes a file from start to end, and rewinds it.
fn digest_and_size(file: &mut (impl Read + Seek)) -> io::Result<([u8; 32], u64)> {
    let (mut hasher, mut buffer, mut size) = (Sha256::new(), vec![0; 1 << 16], 0);
    file.rewind()?;
    loop {
        let length = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&buffer[..length]);
        size += length as u64;
    }
    file.rewind()?;
    Ok((hasher.finalize().into(), size))
}
