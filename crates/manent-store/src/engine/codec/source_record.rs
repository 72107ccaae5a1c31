//! Source records of imported messages, compressed with the message body as dictionary.

use crate::api::error::{Result, StoreError};
use crate::api::transaction::MessageOrigin;
use crate::engine::apply::library::source_no;
use crate::engine::commit::tx::Tx;
use crate::engine::sql::tx_error::TxResult;
use manent_model::{DigestKey, Quarantined};
use std::cell::RefCell;
use zstd::zstd_safe::{CCtx, DCtx, compress_bound};

thread_local! {
    // A context is far larger than a record, and making one takes longer than using it.
    static COMPRESSOR: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
    static DECOMPRESSOR: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Records are short and mostly stand in the body; a higher level finds nothing more.
const LEVEL: i32 = 1;

const PLAIN: u8 = 0;
const AGAINST_BODY: u8 = 1;

/// The part of an origin that is stored in the row of its message.
pub(crate) struct PackedSource {
    pub source_no: i64,
    pub external: Option<i64>,
    pub raw: Option<Vec<u8>>,
}

/// The id and the record share one text, so that the row needs one column: length of the id, id, record.
fn encode(origin: &MessageOrigin) -> Vec<u8> {
    let external = origin.external.as_deref();
    let mut text = match external {
        Some(external) => (external.len() as i64).to_le_bytes().to_vec(),
        None => (-1i64).to_le_bytes().to_vec(),
    };
    text.extend_from_slice(external.unwrap_or_default().as_bytes());
    text.push(u8::from(origin.raw.is_some()));
    text.extend_from_slice(origin.raw.as_deref().unwrap_or_default().as_bytes());
    text
}

fn split(text: &[u8]) -> Option<(Option<String>, Option<String>)> {
    let (length, rest) = text.split_first_chunk::<8>()?;
    let length = i64::from_le_bytes(*length);
    let (external, rest) = rest.split_at_checked(usize::try_from(length.max(0)).ok()?)?;
    let (present, raw) = rest.split_first()?;
    let external = String::from_utf8(external.to_vec()).ok()?;
    let raw = String::from_utf8(raw.to_vec()).ok()?;
    Some(((length >= 0).then_some(external), (*present == 1).then_some(raw)))
}

/// Compresses an origin with a body that will stay as dictionary; one that does not decode to the same bytes is stored
/// whole.
pub(crate) fn kept(tx: &Tx<'_>, origin: &MessageOrigin, body: Option<&str>) -> TxResult<PackedSource> {
    let text = encode(origin);
    let packed = body.and_then(|body| {
        let delta = compressed(&text, body)?;
        let packed = [&[AGAINST_BODY], &(text.len() as u32).to_le_bytes()[..], &delta].concat();
        (unpack(&packed, body).as_deref() == Some(&text[..]) && packed.len() < text.len()).then_some(packed)
    });
    let raw = packed.unwrap_or_else(|| [&[PLAIN], &text[..]].concat());
    Ok(PackedSource {
        source_no: source_no(tx.connection, origin.source)?,
        external: origin.external.as_deref().map(|external| external_hash(tx.key, external)),
        raw: Some(raw),
    })
}

fn compressed(text: &[u8], body: &str) -> Option<Vec<u8>> {
    let mut delta = Vec::with_capacity(compress_bound(text.len()));
    let using = |context: &mut CCtx<'_>| context.compress_using_dict(&mut delta, text, body.as_bytes(), LEVEL);
    COMPRESSOR.with_borrow_mut(using).ok()?;
    Some(delta)
}

fn decompressed(delta: &[u8], size: usize, body: &str) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(size);
    let using = |context: &mut DCtx<'_>| context.decompress_using_dict(&mut text, delta, body.as_bytes());
    DECOMPRESSOR.with_borrow_mut(using).ok()?;
    Some(text)
}

fn unpack(packed: &[u8], body: &str) -> Option<Vec<u8>> {
    match packed.split_first()? {
        (&PLAIN, text) => Some(text.to_vec()),
        (&AGAINST_BODY, rest) => {
            let (size, delta) = rest.split_first_chunk::<4>()?;
            let size = u32::from_le_bytes(*size) as usize;
            decompressed(delta, size, body)
        }
        _ => None,
    }
}

/// Returns the external id and the source record.
pub(crate) fn decode(packed: &[u8], body: &str) -> Result<(Option<String>, Option<String>)> {
    unpack(packed, body).as_deref().and_then(split).ok_or_else(|| StoreError::altered("origin", "of a message"))
}

/// Returns the number under which messages with this external id are found.
pub(crate) fn external_hash(key: &DigestKey, external: &str) -> i64 {
    let digest = key.digest(&[b"external", external.as_bytes()]);
    i64::from_le_bytes(digest.0[..8].try_into().expect("a digest has sixteen bytes"))
}

/// Names a quarantined piece for its seal.
pub(crate) fn place(quarantined: &Quarantined) -> Vec<u8> {
    [&quarantined.source.as_bytes()[..], &quarantined.at_byte.to_le_bytes()].concat()
}
