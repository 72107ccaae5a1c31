//! The file that is imported now, and what is known of earlier ones.

use crate::database::Database;
use crate::error::Result;
use manent_formats::Root;
use manent_model::{Json, Micros, Origin, OriginObject, Source, SourceId};
use manent_store::{Change, OriginsQuery};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What is kept of a conversation beside its messages: what the file said of it, and the writer's frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// A name that was changed here is not the file's; a name that was changed there is compared with this one.
    pub title: String,
    pub status: manent_model::ConversationStatus,
    pub created_at: Option<Micros>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_at: Option<Micros>,
    pub frame: Json,
}

/// The file that is imported now.
pub(super) struct CurrentSource {
    pub source: Source,
    /// It was imported before, to the byte.
    pub is_known: bool,
    /// It is in the store, or in the commit that is being made.
    is_stored: bool,
    /// A commit with it was taken.
    was_stored: bool,
}

impl CurrentSource {
    /// Finds the source that holds this very file, or describes a new one, which is stored when something refers to it.
    ///
    /// A file that is again as it was before is a new one: what lies at a place now is what its last source says.
    pub(super) async fn of(database: &Database, root: &Root, sha256: &str) -> Result<Self> {
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
            at: crate::ids::now(),
        });
        Ok(Self { source, is_known, is_stored: is_known, was_stored: is_known })
    }

    /// What was to store it did not happen.
    pub(super) fn was_refused(&mut self) {
        self.is_stored = self.is_known || self.was_stored;
    }

    /// It was stored together with something.
    pub(super) fn was_taken(&mut self) {
        self.was_stored = self.is_stored;
    }

    /// Says whether it is in the store.
    pub(super) fn was_stored(&self) -> bool {
        self.was_stored
    }

    /// The change that stores it, if that is still to be done.
    pub(super) fn store_once(&mut self) -> Option<Change> {
        (!std::mem::replace(&mut self.is_stored, true)).then(|| Change::PutSource { source: self.source.clone() })
    }
}

/// Origins that were found by an id in the other program, with the formats of their files.
pub(super) struct Known {
    /// The format of each file, and where it lay.
    files: HashMap<SourceId, (String, String)>,
}

impl Known {
    pub(super) async fn of(database: &Database) -> Result<Self> {
        let sources = database.sources().await?;
        Ok(Self { files: sources.into_iter().map(|source| (source.id, (source.format, source.path))).collect() })
    }

    pub(super) fn add(&mut self, source: &Source) {
        self.files.insert(source.id, (source.format.clone(), source.path.clone()));
    }

    /// Says whether an origin came from the same place as a file.
    pub(super) fn same_place(&self, origin: &Origin, source: &Source) -> bool {
        self.files.get(&origin.source).is_some_and(|(_, path)| *path == source.path)
    }

    /// Returns origins of a format with an id, newest first.
    pub(super) async fn named(&self, database: &Database, format: &str, external: &str) -> Result<Vec<Origin>> {
        let mut found = database.origins(OriginsQuery::External(external.to_owned())).await?;
        found.retain(|origin| self.files.get(&origin.source).is_some_and(|(of, _)| of == format));
        found.reverse();
        Ok(found)
    }

    /// Returns the newest origin of an object in a format.
    pub(super) async fn newest(
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
