//! Redaction of a library. Sources and nouns are redacted alike, so that a writer sees no difference between them.

use crate::core::export::*;
use crate::core::redact::redact;
use manent_model::{Document, Event, MessageId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// A library without its secrets.
pub struct RedactedSource<'a> {
    source: &'a mut dyn ExportSource,
    root: Option<ExportedRoot>,
    count: u64,
}

impl<'a> RedactedSource<'a> {
    /// Takes the secrets out of whatever is asked for.
    pub fn new(library: &'a mut dyn ExportSource) -> Result<Self, WriteError> {
        let root = library.root().cloned();
        let mut this = Self { source: library, root: None, count: 0 };
        if let Some(root) = root {
            this.root = Some(ExportedRoot { style: this.noun(root.style)?, ..root });
        }
        Ok(this)
    }

    /// Number of redactions; a secret in a source and in its noun counts twice.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn text(&mut self, text: String) -> String {
        let (clean, count) = redact(&text);
        self.count += count;
        match clean {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => clean,
        }
    }

    /// Takes them out of any noun, by way of its JSON.
    fn noun<T: Serialize + DeserializeOwned>(&mut self, noun: T) -> Result<T, WriteError> {
        let failed = |error: serde_json::Error| WriteError::Library(Box::new(error));
        let text = serde_json::to_string(&noun).map_err(failed)?;
        let (clean, count) = redact(&text);
        self.count += count;
        match clean {
            Cow::Borrowed(_) => Ok(noun),
            Cow::Owned(clean) => serde_json::from_str(&clean).map_err(failed),
        }
    }

    fn record(&mut self, record: Option<Record>) -> Option<Record> {
        record.map(|record| Record { raw: record.raw.map(|raw| self.text(raw)), ..record })
    }

    fn all<T, N>(
        &mut self,
        things: Vec<T>,
        mut with: impl FnMut(&mut Self, T) -> Result<N, WriteError>,
    ) -> Result<Vec<N>, WriteError> {
        things.into_iter().map(|thing| with(self, thing)).collect()
    }

    fn message(&mut self, message: ExportedMessage) -> Result<ExportedMessage, WriteError> {
        Ok(ExportedMessage { record: self.record(message.record), content: self.noun(message.content)?, ..message })
    }
}

impl ExportSource for RedactedSource<'_> {
    fn root(&self) -> Option<&ExportedRoot> {
        self.root.as_ref()
    }

    fn count(&self) -> usize {
        self.source.count()
    }

    fn conversation(&mut self, place: usize) -> Result<ExportedConversation, WriteError> {
        let out = self.source.conversation(place)?;
        let project = match out.project {
            Some((project, record)) => Some((self.noun(project)?, self.record(record))),
            None => None,
        };
        Ok(ExportedConversation {
            conversation: self.noun(out.conversation)?,
            record: self.record(out.record),
            project,
            folds: self.all(out.folds, |this, (fold, record)| Ok((this.noun(fold)?, this.record(record))))?,
            states: self.all(out.states, Self::noun)?,
            tool_calls: self
                .all(out.tool_calls, |this, (call, steps)| Ok((this.noun(call)?, this.all(steps, Self::noun)?)))?,
            bookmarks: self.all(out.bookmarks, Self::noun)?,
            ..out
        })
    }

    fn messages(&mut self, place: usize, from: usize) -> Result<Vec<ExportedMessage>, WriteError> {
        let page = self.source.messages(place, from)?;
        self.all(page, Self::message)
    }

    fn path_to(&mut self, place: usize, head: MessageId) -> Result<Vec<ExportedMessage>, WriteError> {
        let path = self.source.path_to(place, head)?;
        self.all(path, Self::message)
    }

    fn events(&mut self, place: usize, after: i64) -> Result<Vec<Event>, WriteError> {
        let page = self.source.events(place, after)?;
        self.all(page, Self::noun)
    }

    fn documents(&mut self, kind: &str) -> Result<Vec<(Document, Option<Record>)>, WriteError> {
        let documents = self.source.documents(kind)?;
        self.all(documents, |this, (document, record)| Ok((this.noun(document)?, this.record(record))))
    }

    fn blob_piece(&mut self, sha256: &str, from: i64) -> Result<Option<(i64, Vec<u8>)>, WriteError> {
        self.source.blob_piece(sha256, from)
    }
}
