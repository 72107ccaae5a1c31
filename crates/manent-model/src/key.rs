//! API keys: credentials of programs.
//!
//! As text, a key is one word: `manent_`, 26 characters of id, 52 characters of secret, 7 characters of checksum. So
//! secret scanners can find it, a typing error can be told from a wrong key, and the store keeps only a digest.

use crate::access_scope::KeyScopes;
use crate::id::{KeyId, ProjectId, TenantId};
use crate::time::Timestamp;
use crate::{access_scope::AccessScope, base32};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

const PREFIX: &str = "manent_";
const ID: usize = 26;
const SECRET: usize = 52;
const CHECKSUM: usize = 7;

/// A key with its secret. It cannot be printed by mistake.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKeySecret {
    /// Which key it is.
    pub id: KeyId,
    secret: [u8; 32],
}

impl ApiKeySecret {
    /// Builds a key from its id and 256 random bits.
    pub fn new(id: KeyId, secret: [u8; 32]) -> Self {
        Self { id, secret }
    }

    /// Reads a key; none if it is not one, or was misspelt.
    pub fn read(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX).filter(|rest| rest.len() == ID + SECRET + CHECKSUM && rest.is_ascii())?;
        let (named, checksum) = rest.split_at(ID + SECRET);
        if !checksum_of(named).eq_ignore_ascii_case(checksum) {
            return None;
        }
        let (id, secret) = named.split_at(ID);
        let id = [KeyId::PREFIX, id].concat().parse().ok()?;
        Some(Self { id, secret: base32::decode_32(secret)? })
    }

    /// Writes it out, for its owner alone.
    pub fn reveal(&self) -> String {
        let id = self.id.to_string();
        let named = [KeyId::characters(&id), &base32::encode_32(&self.secret)].concat();
        [PREFIX, &named, &checksum_of(&named)].concat()
    }

    /// Returns the digest that the store keeps. A secret of 256 random bits cannot be guessed, so one hash round is
    /// enough.
    pub fn digest(&self) -> KeyDigest {
        let mut hasher = blake3::Hasher::new_derive_key("manent 2026 key digest");
        hasher.update(self.id.as_bytes());
        hasher.update(&self.secret);
        KeyDigest(hasher.finalize())
    }
}

impl fmt::Debug for ApiKeySecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ApiKeySecret({}, …)", self.id)
    }
}

fn checksum_of(named: &str) -> String {
    let digest = blake3::hash(named.to_ascii_uppercase().as_bytes());
    base32::encode_32(digest.as_bytes())[..CHECKSUM].to_owned()
}

/// The digest of a key. Comparing two takes the same time wherever they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyDigest(blake3::Hash);

impl KeyDigest {
    /// Wraps a stored digest.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(blake3::Hash::from_bytes(bytes))
    }

    /// Returns the bytes of the digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

/// An API key without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Key {
    /// Its id, which is a part of the key itself.
    pub id: KeyId,
    /// Its tenant.
    pub tenant: TenantId,
    /// Its name, for people.
    pub name: String,
    /// Its scopes.
    pub scopes: KeyScopes,
    /// The user it acts for; it can then access only conversations that the user created or is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The projects it is limited to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projects: Option<BTreeSet<ProjectId>>,
    /// Rate limit in requests per second, if it differs from the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
}

impl Key {
    /// Returns the part of the tenant that it reaches.
    pub fn access_scope(&self) -> AccessScope {
        AccessScope { user: self.user.clone(), projects: self.projects.clone() }
    }

    /// Returns whether the key is valid at a given time.
    pub fn is_good_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// Properties of a new API key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyDraft {
    /// Its name, for people.
    pub name: String,
    /// Its scopes.
    pub scopes: KeyScopes,
    /// The user it acts for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The projects it is limited to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projects: Option<BTreeSet<ProjectId>>,
    /// Rate limit in requests per second, if it differs from the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word() -> ApiKeySecret {
        ApiKeySecret::new(KeyId::new(1_733_423_456_789, [7; 10]), [0xA5; 32])
    }

    #[test]
    fn a_key_survives_being_written_down() {
        let text = word().reveal();
        assert_eq!(text.len(), PREFIX.len() + ID + SECRET + CHECKSUM);
        assert_eq!(ApiKeySecret::read(&text), Some(word()));
        assert_eq!(ApiKeySecret::read(&text).map(|word| word.digest()), Some(word().digest()));
        assert!(!format!("{:?}", word()).contains(&text[PREFIX.len() + ID..]));
    }

    #[test]
    fn a_slip_of_the_hand_is_no_key() {
        let text = word().reveal();
        for place in PREFIX.len()..text.len() {
            let mut wrong = text.clone().into_bytes();
            wrong[place] = if wrong[place] == b'7' { b'8' } else { b'7' };
            assert_eq!(ApiKeySecret::read(std::str::from_utf8(&wrong).expect("ASCII")), None, "{place}");
        }
        for rubbish in ["", "manent_", &text[1..], &text[..text.len() - 1], &[&text, "0"].concat(), "manent_天"] {
            assert_eq!(ApiKeySecret::read(rubbish), None, "{rubbish}");
        }
    }

    #[test]
    fn another_secret_or_another_id_is_another_digest() {
        let other_secret = ApiKeySecret::new(word().id, [0xA4; 32]);
        let other_id = ApiKeySecret::new(KeyId::new(1, [7; 10]), [0xA5; 32]);
        assert_ne!(word().digest(), other_secret.digest());
        assert_ne!(word().digest(), other_id.digest());
    }
}
