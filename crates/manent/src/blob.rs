//! Blobs: bytes by their SHA-256.

use crate::database::Database;
use crate::error::{Error, Result};
use manent_model::hex;
use manent_store::Change;
use sha2::{Digest, Sha256};

/// A blob travels in pieces of this size.
const PIECE: usize = 1 << 20;

impl Database {
    /// Keeps bytes once, however often they are given, and returns their SHA-256 in hexadecimal.
    pub async fn put_blob(&self, bytes: &[u8]) -> Result<String> {
        let sha256: [u8; 32] = Sha256::digest(bytes).into();
        let pieces: Vec<&[u8]> = if bytes.is_empty() { vec![bytes] } else { bytes.chunks(PIECE).collect() };
        for (n, piece) in pieces.iter().enumerate() {
            let change = Change::PutBlobPiece {
                sha256,
                size: bytes.len() as i64,
                n: n as i64,
                last: n + 1 == pieces.len(),
                bytes: piece.to_vec(),
            };
            self.change(change).await?;
        }
        Ok(hex::encode(&sha256))
    }

    /// Returns the bytes of a blob.
    pub async fn blob(&self, sha256: &str) -> Result<Vec<u8>> {
        let missing = || Error::not_found("blob", sha256);
        let digest: [u8; 32] = hex::decode(sha256).and_then(|bytes| bytes.try_into().ok()).ok_or_else(missing)?;
        self.store.blob(digest).await?.ok_or_else(missing)
    }
}
