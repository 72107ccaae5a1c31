//! Keyed MACs of row bodies: eight bytes before a body that authenticate its content and the row that it belongs to.

use crate::api::error::{Result, StoreError};
use manent_model::{DigestKey, Json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

fn tag(key: &DigestKey, what: &str, id: &[u8], body: &[u8]) -> [u8; 8] {
    let mut short = [0; 8];
    short.copy_from_slice(&key.digest(&[what.as_bytes(), id, body]).0[..8]);
    short
}

/// Seals the body of a row.
pub(crate) fn authenticate(key: &DigestKey, what: &'static str, id: &[u8], body: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(body.len() + 8);
    sealed.extend_from_slice(&tag(key, what, id, body));
    sealed.extend_from_slice(body);
    sealed
}

/// Returns the body of a row if its MAC is valid.
pub(crate) fn verify<'a>(key: &DigestKey, what: &'static str, id: &[u8], sealed: &'a [u8]) -> Result<&'a [u8]> {
    match sealed.split_first_chunk::<8>() {
        Some((found, body)) if *found == tag(key, what, id, body) => Ok(body),
        _ => Err(StoreError::altered(what, manent_model::hex::encode(id))),
    }
}

/// Seals a value as JSON.
pub(crate) fn authenticate_json<T: Serialize>(key: &DigestKey, what: &'static str, id: &[u8], value: &T) -> Vec<u8> {
    authenticate(key, what, id, Json::of(value).text().as_bytes())
}

/// Reads a sealed JSON value.
pub(crate) fn verify_json<T: DeserializeOwned>(
    key: &DigestKey,
    what: &'static str,
    id: &[u8],
    sealed: &[u8],
) -> Result<T> {
    let body = verify(key, what, id, sealed)?;
    serde_json::from_slice(body).map_err(|_| StoreError::altered(what, manent_model::hex::encode(id)))
}

/// Deserializes optional JSON from a caller; `null` is a value, an absent field is `None`. serde alone does not tell
/// them apart.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}
