//! Keyed digests (BLAKE3): detect that stored content was altered.
//!
//! The key is stored in the database. Without it, an erased text cannot be recovered by guessing texts and comparing
//! them with the digest that an erasure leaves.

use serde::{Deserialize, Serialize};

/// The secret of one store.
#[derive(Clone)]
pub struct DigestKey([u8; 32]);

impl DigestKey {
    /// Wraps the secret.
    pub const fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// Returns the digest of fields; each is preceded by its length, so that no two lists run together alike.
    pub fn digest(&self, fields: &[&[u8]]) -> Digest {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for field in fields {
            hasher.update(&(field.len() as u64).to_le_bytes());
            hasher.update(field);
        }
        let mut short = [0u8; 16];
        short.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Digest(short)
    }
}

/// A keyed digest of 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Digest(pub [u8; 16]);
