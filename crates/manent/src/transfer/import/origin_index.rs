//! The source being imported, and what is known of earlier imports.

use crate::database::Database;
use crate::error::Result;
use manent_formats::Root;
use manent_model::{Json, Origin, OriginObject, Source, SourceId, Timestamp};
use manent_store::{Change, OriginsQuery};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Conversation metadata as of its last import: the file's values, and the skeleton for writing it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImportedState {
    /// The title in the file. Comparing with it tells whether the title was changed in the file or in this store.
    pub title: String,
    pub status: manent_model::ConversationStatus,
    pub created_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_at: Option<Timestamp>,
    pub frame: Json,
}

/// The source being imported.
pub(crate) struct CurrentSource {
    pub source: Source,
    /// Whether the identical file was imported before.
    pub is_known: bool,
    /// Whether it is in the store, or in the pending commit.
    is_stored: bool,
    /// Whether a commit that contains it succeeded.
    was_stored: bool,
}

impl CurrentSource {
    /// Finds the source of the identical file, or describes a new one, which is stored with the first record that
    /// refers to it.
    ///
    /// A file that was changed back to earlier content is a new source: the last source of a path describes its
    /// present content.
    pub(crate) async fn of(database: &Database, root: &Root, sha256: &str) -> Result<Self> {
        let mut sources = database.sources().await?.into_iter().rev();
        let last = sources.find(|source| {
            source.format == root.format && source.generation == root.generation && source.path == root.path
        });
        let known = last.filter(|source| source.sha256 == sha256 && source.style == root.style);
        let is_known = known.is_some();
        let source = known.unwrap_or_else(|| Source {
            id: database.new_id(SourceId::new),
            format: root.format.to_owned(),
            generation: root.generation.clone(),
            path: root.path.clone(),
            sha256: sha256.to_owned(),
            style: root.style.clone(),
            at: manent_store::now(),
        });
        Ok(Self { source, is_known, is_stored: is_known, was_stored: is_known })
    }

    /// Records that the commit with it was refused.
    pub(crate) fn was_refused(&mut self) {
        self.is_stored = self.is_known || self.was_stored;
    }

    /// Records that the commit with it succeeded.
    pub(crate) fn was_taken(&mut self) {
        self.was_stored = self.is_stored;
    }

    /// Returns whether it is in the store.
    pub(crate) fn was_stored(&self) -> bool {
        self.was_stored
    }

    /// Returns the change that stores it, if it is not stored yet.
    pub(crate) fn store_once(&mut self) -> Option<Change> {
        (!std::mem::replace(&mut self.is_stored, true)).then(|| Change::PutSource { source: self.source.clone() })
    }
}

/// Origins looked up by external id, with the formats of their sources.
pub(crate) struct OriginIndex {
    /// Format and path of each source.
    files: HashMap<SourceId, (String, String)>,
}

impl OriginIndex {
    pub(crate) async fn of(database: &Database) -> Result<Self> {
        let sources = database.sources().await?;
        Ok(Self { files: sources.into_iter().map(|source| (source.id, (source.format, source.path))).collect() })
    }

    pub(crate) fn add(&mut self, source: &Source) {
        self.files.insert(source.id, (source.format.clone(), source.path.clone()));
    }

    /// Returns whether an origin has the same path as a source.
    pub(crate) fn same_place(&self, origin: &Origin, source: &Source) -> bool {
        self.files.get(&origin.source).is_some_and(|(_, path)| *path == source.path)
    }

    /// Returns the origins of a format with an external id, newest first.
    pub(crate) async fn named(&self, database: &Database, format: &str, external: &str) -> Result<Vec<Origin>> {
        let mut found = database.origins(OriginsQuery::External(external.to_owned())).await?;
        found.retain(|origin| self.files.get(&origin.source).is_some_and(|(of, _)| of == format));
        found.reverse();
        Ok(found)
    }

    /// Returns the newest origin of an object in a format.
    pub(crate) async fn newest(
        &self,
        database: &Database,
        format: &str,
        object: OriginObject,
    ) -> Result<Option<Origin>> {
        let mut found = database.origins(OriginsQuery::Object(object)).await?;
        found.retain(|origin| self.files.get(&origin.source).is_some_and(|(of, _)| of == format));
        Ok(found.pop())
    }
}
