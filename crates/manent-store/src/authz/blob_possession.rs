//! Proof of possession of blobs: an uploader has sent all bytes of a blob. Knowing its SHA-256 is not enough to see it.

use crate::api::error::{Result, StoreError};
use crate::api::transaction::{Change, Transaction};
use crate::engine::read::library::UPLOAD;
use manent_model::{Json, Scratch, hex};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;

/// Maximum number of unfinished uploads; excess ones are forgotten and must start again.
const UPLOADS_MAX: usize = 16;

/// Blobs of which the first pieces were uploaded.
#[derive(Default)]
pub(super) struct PendingUploads(HashMap<[u8; 32], Upload>);

#[derive(Clone)]
struct Upload {
    next: i64,
    size: i64,
    hasher: Sha256,
}

impl PendingUploads {
    /// Checks the blob pieces of a transaction, and records blobs that it completes. Returns the resulting state of
    /// uploads, which holds only once the transaction is stored.
    pub(super) fn verify_possession(&self, key: &str, transaction: &mut Transaction) -> Result<Self> {
        let mut now: HashMap<[u8; 32], Upload> = HashMap::new();
        let mut whole = Vec::new();
        for change in &transaction.changes {
            let Change::PutBlobPiece { sha256, size, n, last, bytes } = change else { continue };
            let mut upload = match now.get(sha256).or_else(|| self.0.get(sha256)) {
                Some(upload) if *n > 0 => upload.clone(),
                _ => Upload { next: 0, size: 0, hasher: Sha256::new() },
            };
            if upload.next != *n {
                return Err(StoreError::Invalid("the pieces of a blob come in their order".to_owned()));
            }
            upload.next += 1;
            upload.size += bytes.len() as i64;
            upload.hasher.update(bytes);
            let found: [u8; 32] = upload.hasher.clone().finalize().into();
            if *last && (found != *sha256 || upload.size != *size) {
                let why = "the bytes of the blob do not have the SHA-256 they were given";
                return Err(StoreError::Invalid(why.to_owned()));
            }
            if *last {
                whole.push(hex::encode(sha256));
            }
            now.insert(*sha256, upload);
        }
        for id in whole {
            let (kind, actor) = (UPLOAD.to_owned(), key.to_owned());
            let scratch = Scratch { kind, id, actor, body: Json::of(&true), at: transaction.at };
            transaction.changes.push(Change::PutScratch { scratch });
        }
        Ok(Self(now))
    }

    /// Records the state of uploads after a commit.
    pub(super) fn add(&mut self, new_uploads: Self) {
        self.0.extend(new_uploads.0);
        while self.0.len() > UPLOADS_MAX {
            let Some(any) = self.0.keys().next().copied() else { return };
            self.0.remove(&any);
        }
    }
}
