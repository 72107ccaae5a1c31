//! Export: replaces placeholders by the bytes of their blobs before a writer sees the text.

use crate::core::export::*;
use crate::core::media::Form;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use manent_model::blob_placeholder::{self, BlobPlaceholder};
use manent_model::{Body, Document, Event, Json, MessageId, hex};
use std::borrow::Cow;

/// Restores the data extracted from a text. Data that is no longer stored was erased and is restored as empty.
pub fn restore<'a, E>(
    text: &'a str,
    mut bytes_of: impl FnMut([u8; 32]) -> Result<Option<Vec<u8>>, E>,
) -> Result<Cow<'a, str>, E> {
    let Some(mut at) = text.find(blob_placeholder::PREFIX) else { return Ok(Cow::Borrowed(text)) };
    let (mut out, mut from) = (String::new(), 0);
    loop {
        out.push_str(&text[from..at]);
        let behind = at + blob_placeholder::PREFIX.len();
        let found = BlobPlaceholder::at(&text[at..]).and_then(|mark| Some((mark, Form::of(mark.form)?)));
        if let Some((mark, form)) = found {
            let bytes = bytes_of(mark.sha256)?.unwrap_or_default();
            out.push_str(&form.written(STANDARD.encode(bytes)));
            from = at + BlobPlaceholder::LENGTH;
        } else {
            out.push_str(blob_placeholder::PREFIX);
            let is_kept = text[behind..].starts_with(blob_placeholder::LITERAL)
                && blob_placeholder::is_placeholder_like(&text[at..]);
            from = behind + usize::from(is_kept);
        }
        match text[from..].find(blob_placeholder::PREFIX) {
            Some(next) => at = from + next,
            None => break,
        }
    }
    out.push_str(&text[from..]);
    Ok(Cow::Owned(out))
}

/// Chunk size for restoring a page.
const PAGE_BYTES: usize = 16 << 20;

/// A library in which messages are whole again.
pub struct MediaRestorer<'a> {
    library: &'a mut dyn ExportSource,
    /// The most recent blob: a picture occurs in a message more than once.
    last: Option<([u8; 32], Option<Vec<u8>>)>,
    /// The rest of a page, with the conversation and the number of the next message.
    left: Option<(usize, usize, Vec<ExportedMessage>)>,
}

impl<'a> MediaRestorer<'a> {
    /// Wraps a library so that all extracted data is restored on export.
    pub fn new(library: &'a mut dyn ExportSource) -> Self {
        Self { library, last: None, left: None }
    }

    fn bytes_of(&mut self, sha256: [u8; 32]) -> Result<Option<Vec<u8>>, WriteError> {
        if self.last.as_ref().is_none_or(|(known, _)| *known != sha256) {
            self.last = None;
            self.last = Some((sha256, self.library.blob(&hex::encode(&sha256))?));
        }
        Ok(self.last.as_ref().and_then(|(_, bytes)| bytes.clone()))
    }

    fn text(&mut self, text: String) -> Result<String, WriteError> {
        match restore(&text, |sha256| self.bytes_of(sha256))? {
            Cow::Borrowed(_) => Ok(text),
            Cow::Owned(whole) => Ok(whole),
        }
    }

    fn json(&mut self, json: Json) -> Result<Json, WriteError> {
        let whole = match restore(json.text(), |sha256| self.bytes_of(sha256))? {
            Cow::Borrowed(_) => None,
            Cow::Owned(whole) => Json::parse(&whole).ok(),
        };
        Ok(whole.unwrap_or(json))
    }

    fn record(&mut self, record: Option<Record>) -> Result<Option<Record>, WriteError> {
        let Some(record) = record else { return Ok(None) };
        let raw = record.raw.map(|raw| self.text(raw)).transpose()?;
        Ok(Some(Record { raw, ..record }))
    }

    fn message(&mut self, message: ExportedMessage) -> Result<ExportedMessage, WriteError> {
        let ExportedMessage { record, mut content, .. } = message;
        let record = self.record(record)?;
        content.metadata = content.metadata.map(|metadata| self.json(metadata)).transpose()?;
        if let Cow::Owned(whole) = restore(content.body.text(), |sha256| self.bytes_of(sha256))? {
            content.body = Body::trusted(whole);
        }
        Ok(ExportedMessage { record, content, ..message })
    }
}

impl ExportSource for MediaRestorer<'_> {
    fn root(&self) -> Option<&ExportedRoot> {
        self.library.root()
    }

    fn count(&self) -> usize {
        self.library.count()
    }

    fn conversation(&mut self, place: usize) -> Result<ExportedConversation, WriteError> {
        let mut out = self.library.conversation(place)?;
        for (_, record) in &mut out.folds {
            *record = self.record(record.take())?;
        }
        for bookmark in &mut out.bookmarks {
            bookmark.metadata = bookmark.metadata.take().map(|metadata| self.json(metadata)).transpose()?;
        }
        Ok(out)
    }

    /// A page is shorter than it was where its messages are large.
    fn messages(&mut self, place: usize, from: usize) -> Result<Vec<ExportedMessage>, WriteError> {
        let page = match self.left.take() {
            Some((known, next, left)) if (known, next) == (place, from) => left,
            _ => self.library.messages(place, from)?,
        };
        let (mut whole, mut bytes) = (Vec::new(), 0);
        let mut page = page.into_iter();
        while bytes < PAGE_BYTES
            && let Some(message) = page.next()
        {
            let message = self.message(message)?;
            let raw = message.record.as_ref().and_then(|record| record.raw.as_ref()).map_or(0, String::len);
            bytes += raw + message.content.body.text().len();
            whole.push(message);
        }
        let left: Vec<ExportedMessage> = page.collect();
        if !left.is_empty() {
            self.left = Some((place, from + whole.len(), left));
        }
        Ok(whole)
    }

    fn path_to(&mut self, place: usize, head: MessageId) -> Result<Vec<ExportedMessage>, WriteError> {
        let path = self.library.path_to(place, head)?;
        path.into_iter().map(|message| self.message(message)).collect()
    }

    fn events(&mut self, place: usize, after: i64) -> Result<Vec<Event>, WriteError> {
        self.library.events(place, after)
    }

    fn documents(&mut self, kind: &str) -> Result<Vec<(Document, Option<Record>)>, WriteError> {
        self.library.documents(kind)
    }

    fn blob_piece(&mut self, sha256: &str, from: i64) -> Result<Option<(i64, Vec<u8>)>, WriteError> {
        self.library.blob_piece(sha256, from)
    }
}
