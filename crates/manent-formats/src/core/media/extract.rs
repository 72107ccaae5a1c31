//! Import: replaces base64 by placeholders, and emits the bytes before the message.

use crate::core::item::{BlobItem, Item, MessageItem, Sink};
use crate::core::media::{Form, PLUS, SLASH, SMALLEST};
use crate::core::problem::ReadError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use manent_model::blob_placeholder::{self, BlobPlaceholder};
use manent_model::{Body, Json, Part, hex};
use memchr::memmem;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::HashSet;

/// Bytes that were taken out of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bytes {
    /// Their SHA-256.
    pub sha256: [u8; 32],
    /// They themselves.
    pub bytes: Vec<u8>,
}

/// Takes large base64 out of a text; `with` says of each whether it is to be taken.
///
/// Text that looks like a placeholder is escaped.
pub fn extract<'a>(text: &'a str, mut with: impl FnMut(Bytes) -> bool) -> Cow<'a, str> {
    if text.len() < SMALLEST {
        return blob_placeholder::literal(text, |_| false);
    }
    let (mut out, mut from, mut at) = (String::new(), 0, 0);
    while let Some(run) = next_run(text, at) {
        at = run.to;
        let Some(bytes) = run.bytes(text) else { continue };
        let sha256: [u8; 32] = Sha256::digest(&bytes).into();
        if with(Bytes { sha256, bytes }) {
            out.push_str(&blob_placeholder::literal(&text[from..run.from], |_| false));
            out.push_str(&BlobPlaceholder { form: run.form.letter(), sha256 }.text());
            from = run.to;
        }
    }
    let rest = blob_placeholder::literal(&text[from..], |_| false);
    match from {
        0 => rest,
        _ => Cow::Owned(out + &rest),
    }
}

/// A stretch of a text that may be base64.
struct Run {
    from: usize,
    to: usize,
    form: Form,
}

impl Run {
    /// Returns its bytes, if these would be written as it is.
    fn bytes(&self, text: &str) -> Option<Vec<u8>> {
        let written = &text[self.from..self.to];
        let plain = match self.form {
            Form { slash: false, plus: false } => Cow::Borrowed(written),
            _ => Cow::Owned(written.replace(SLASH, "/").replace(PLUS, "+")),
        };
        // Strict decoding is reversible: no bits are left over, and the padding is complete.
        STANDARD.decode(plain.as_bytes()).ok()
    }
}

const BEFORE: &[u8] = b";base64,";

/// Finds the next run of base64 characters that is long enough and at a position where base64 is expected.
fn next_run(text: &str, mut at: usize) -> Option<Run> {
    let bytes = text.as_bytes();
    loop {
        let quote = memchr::memchr(b'"', bytes.get(at..)?).map(|place| at + place + 1);
        let comma =
            memmem::find(&bytes[at..quote.unwrap_or(bytes.len())], BEFORE).map(|place| at + place + BEFORE.len());
        let from = comma.or(quote)?;
        let (to, form) = end_of(bytes, from);
        let is_ended = match &bytes[to..] {
            [b'"', ..] | [b'\\', b'"', ..] => true,
            _ => comma.is_some(),
        };
        if let (true, Some(form)) = (is_ended && to - from > SMALLEST, form) {
            return Some(Run { from, to, form });
        }
        // The end of one text may be the beginning of the next.
        at = to.max(from);
    }
}

/// Returns where the characters of base64 end that begin here, and how they are written; no form if in two ways.
fn end_of(bytes: &[u8], from: usize) -> (usize, Option<Form>) {
    let (mut at, mut slashes, mut pluses) = (from, [false; 2], [false; 2]);
    loop {
        match &bytes[at..] {
            [b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9', ..] => at += 1,
            [b'/', ..] => (slashes[0], at) = (true, at + 1),
            [b'+', ..] => (pluses[0], at) = (true, at + 1),
            rest if rest.starts_with(SLASH.as_bytes()) => (slashes[1], at) = (true, at + SLASH.len()),
            rest if rest.starts_with(PLUS.as_bytes()) => (pluses[1], at) = (true, at + PLUS.len()),
            rest => {
                at += rest.iter().take(2).take_while(|byte| **byte == b'=').count();
                let is_one = slashes != [true; 2] && pluses != [true; 2];
                return (at, is_one.then_some(Form { slash: slashes[1], plus: pluses[1] }));
            }
        }
    }
}

/// A blob travels in pieces of this size.
pub(crate) const PIECE: usize = 1 << 20;

/// A sink that takes pictures out of messages before it hands them on.
pub struct MediaExtractor<'a> {
    sink: &'a mut dyn Sink,
    /// Blobs already emitted: a picture in many messages is emitted once.
    told: HashSet<[u8; 32]>,
    /// Blobs of messages of the open conversation. Only references from messages keep a conversation's blobs alive.
    open: HashSet<[u8; 32]>,
}

impl<'a> MediaExtractor<'a> {
    /// Hands on to this.
    pub fn new(sink: &'a mut dyn Sink) -> Self {
        Self { sink, told: HashSet::new(), open: HashSet::new() }
    }

    fn message(&mut self, item: MessageItem) -> Result<MessageItem, ReadError> {
        let mut found = Vec::new();
        let mut known: HashSet<[u8; 32]> = HashSet::new();
        let mut take = |bytes: Bytes| {
            if known.insert(bytes.sha256) {
                found.push(bytes);
            }
            true
        };
        let mut item = item;
        item.raw = item.raw.map(|raw| taken(raw, &mut take));
        let metadata = item.content.metadata.take();
        item.content.metadata = metadata.map(|json| json_without(json, &mut take));
        if let Cow::Owned(text) = extract(item.content.body.text(), &mut take) {
            item.content.body = showing(Body::trusted(text));
        }
        self.open.extend(known);
        for Bytes { sha256, bytes } in found {
            if self.told.insert(sha256) {
                self.tell(sha256, &bytes)?;
            }
        }
        Ok(item)
    }

    fn tell(&mut self, sha256: [u8; 32], bytes: &[u8]) -> Result<(), ReadError> {
        let (size, last) = (bytes.len() as u64, bytes.chunks(PIECE).len() - 1);
        for (n, piece) in bytes.chunks(PIECE).enumerate() {
            let is_last = n == last;
            self.sink.take(Item::Blob(BlobItem { sha256, size, n: n as u64, is_last, bytes: piece.to_vec() }))?;
        }
        Ok(())
    }
}

impl Sink for MediaExtractor<'_> {
    fn take(&mut self, item: Item) -> Result<(), ReadError> {
        let item = match item {
            Item::Conversation(item) => {
                self.open.clear();
                Item::Conversation(item)
            }
            Item::Message(item) => Item::Message(Box::new(self.message(*item)?)),
            Item::Fold(mut item) => {
                item.raw = taken(item.raw, |bytes| self.open.contains(&bytes.sha256));
                Item::Fold(item)
            }
            Item::Bookmark(mut item) => {
                let known = |bytes: Bytes| self.open.contains(&bytes.sha256);
                item.metadata = item.metadata.map(|json| json_without(json, known));
                Item::Bookmark(item)
            }
            item => item,
        };
        self.sink.take(item)
    }
}

fn taken(text: String, with: impl FnMut(Bytes) -> bool) -> String {
    match extract(&text, with) {
        Cow::Borrowed(_) => text,
        Cow::Owned(taken) => taken,
    }
}

fn json_without(json: Json, with: impl FnMut(Bytes) -> bool) -> Json {
    match extract(json.text(), with) {
        Cow::Borrowed(_) => json,
        Cow::Owned(text) => Json::parse(&text).unwrap_or(json),
    }
}

/// Makes the parts with extracted bytes refer to the blob.
fn showing(body: Body) -> Body {
    let mut parts = body.parts();
    for part in &mut parts {
        if let Part::Media { blob: blob @ None, extra, .. } = part {
            let sha256 = extra.iter().find_map(|(_, value)| blob_placeholder::blobs_in(value.text()).next());
            *blob = sha256.map(|sha256| hex::encode(&sha256));
        }
    }
    Body::of(&parts)
}
