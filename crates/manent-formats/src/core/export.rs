//! Input and output of writers: conversations of the store, and the target files.

use manent_model::{
    Bookmark, Content, Conversation, ConversationId, Document, Event, Fold, Json, MessageId, Project, State, ToolCall,
    ToolStep,
};
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// Origin of an object, as a writer needs it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// Its id there.
    pub external: Option<String>,
    /// Its place there.
    pub ordinal: i64,
    /// The source record, or the frame that the reader made.
    pub raw: Option<String>,
}

/// A conversation that is to be written.
#[derive(Debug, Clone)]
pub struct ExportedConversation {
    /// The conversation.
    pub conversation: Conversation,
    /// Its origin, if it was imported from this format.
    pub record: Option<Record>,
    /// Its project, with where that came from.
    pub project: Option<(Project, Option<Record>)>,
    /// Its folds with their origins.
    pub folds: Vec<(Fold, Option<Record>)>,
    /// Every value that was set.
    pub states: Vec<State>,
    /// Its tool calls with their trails.
    pub tool_calls: Vec<(ToolCall, Vec<ToolStep>)>,
    /// Its named places.
    pub bookmarks: Vec<Bookmark>,
    /// The conversations that it continues and was forked from, by their ids in this format.
    pub continued_from: Option<String>,
    /// See [`Self::continued_from`].
    pub forked_from: Option<String>,
    /// Branches that are not shown.
    pub other_branches: usize,
}

impl ExportedConversation {
    /// How many other conversations it names, whether this format knows them or not.
    pub fn links(&self) -> usize {
        let Conversation { continued_from, forked_from, .. } = &self.conversation;
        let is_continued = continued_from.is_some() || self.continued_from.is_some();
        let is_forked = forked_from.is_some() || self.forked_from.is_some();
        usize::from(is_continued) + usize::from(is_forked)
    }
}

/// A message that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedMessage {
    /// Its id.
    pub id: MessageId,
    /// The origin of the message, or of the one it replaced.
    pub record: Option<Record>,
    /// Its content.
    pub content: Content,
    /// It was taken out of the path here; a format that can say so says so.
    pub is_removed: bool,
}

/// Style of the files of a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedRoot {
    /// The generation.
    pub generation: String,
    /// Layout that the reader recorded.
    pub style: Json,
}

/// Conversations that are to be written, in the order of the files they came from.
pub trait ExportSource {
    /// The root that they came from; none if that was another format, or none.
    fn root(&self) -> Option<&ExportedRoot>;
    /// How many there are.
    fn count(&self) -> usize;
    /// Returns one with what is attached to it.
    fn conversation(&mut self, index: usize) -> Result<ExportedConversation, WriteError>;
    /// Returns its messages from a number on, in order; none at the end.
    fn messages(&mut self, index: usize, from: usize) -> Result<Vec<ExportedMessage>, WriteError>;
    /// Returns the messages of the path that ends with this one, shown or not.
    fn path_to(&mut self, index: usize, head: MessageId) -> Result<Vec<ExportedMessage>, WriteError>;
    /// Returns its events after a cursor, in order; none at the end.
    fn events(&mut self, index: usize, after: i64) -> Result<Vec<Event>, WriteError>;
    /// Returns the documents of a kind with their origins.
    fn documents(&mut self, kind: &str) -> Result<Vec<(Document, Option<Record>)>, WriteError>;
    /// Returns the first piece from a number on of a blob, by its SHA-256, with its number; none behind the last, or if it is
    /// not held.
    fn blob_piece(&mut self, sha256: &str, from: i64) -> Result<Option<(i64, Vec<u8>)>, WriteError>;
}

impl dyn ExportSource + '_ {
    /// Returns the bytes of a blob by its SHA-256, if they are held.
    pub fn blob(&mut self, sha256: &str) -> Result<Option<Vec<u8>>, WriteError> {
        let mut bytes = Vec::new();
        let is_held = self.copy_blob(sha256, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(is_held.then_some(bytes))
    }

    /// Hands the bytes of a blob on, piece by piece, and says whether they are held.
    pub fn copy_blob(
        &mut self,
        sha256: &str,
        take: &mut dyn FnMut(&[u8]) -> Result<(), WriteError>,
    ) -> Result<bool, WriteError> {
        let (mut hasher, mut from) = (Sha256::new(), 0);
        while let Some((n, piece)) = self.blob_piece(sha256, from)? {
            hasher.update(&piece);
            take(&piece)?;
            from = n + 1;
        }
        let is_held = from > 0;
        if is_held && manent_model::hex::encode(&hasher.finalize()) != sha256 {
            return Err(WriteError::Library(format!("blob {sha256} was altered").into()));
        }
        Ok(is_held)
    }
}

/// Target of exported files.
pub trait FileSink {
    /// Creates a file below the root; the implementation validates the name.
    fn create<'a>(&'a mut self, name: &str) -> io::Result<Box<dyn Write + 'a>>;
}

impl FileSink for std::collections::BTreeMap<String, Vec<u8>> {
    fn create<'a>(&'a mut self, name: &str) -> io::Result<Box<dyn Write + 'a>> {
        Ok(Box::new(self.entry(name.to_owned()).or_default()))
    }
}

/// Content that the target cannot hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Of which conversation.
    pub conversation: ConversationId,
    /// What.
    pub what: &'static str,
    /// How many.
    pub count: u64,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file could not be written.
    #[error("writing {file}")]
    File {
        /// Which.
        file: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The store could not be read.
    #[error("reading what is to be written")]
    Library(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A defect of the writer, such as a panic.
    #[error("internal error: {0}")]
    Internal(String),
    /// There is no such generation.
    #[error("{format} has no generation {generation}; it has {known}")]
    Generation {
        /// The format.
        format: &'static str,
        /// The requested name.
        generation: String,
        /// The known names.
        known: String,
    },
}

/// Reads the name of the generation that is asked for, if one is.
pub(crate) fn unsupported_option<G>(
    format: &'static str,
    known: &[&str],
    name: Option<&str>,
    of: impl Fn(&str) -> Option<G>,
) -> Result<Option<G>, WriteError> {
    let unknown = |name: &str| WriteError::Generation { format, generation: name.to_owned(), known: known.join(", ") };
    name.map(|name| of(name).ok_or_else(|| unknown(name))).transpose()
}

/// Writes an id as the 36 characters of a UUID.
pub fn uuid(bytes: &[u8; 16]) -> String {
    let hex = manent_model::hex::encode(bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
