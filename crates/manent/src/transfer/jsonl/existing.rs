//! Cache of stored records during an import, so that a line does not reread the store.

use crate::database::Database;
use crate::error::Result;
use manent_model::{Document, Json, Origin, ProjectId, Quarantined, Source, SourceId};
use manent_store::{DocumentsQuery, OriginsQuery};
use std::collections::{HashMap, HashSet};

/// Records read from the store so far, each once. Duplicates within the file are refused by the store.
#[derive(Default)]
pub(crate) struct ExistingLibrary {
    projects: Option<HashSet<ProjectId>>,
    sources: Option<HashMap<SourceId, Source>>,
    quarantined: HashMap<SourceId, HashSet<String>>,
    origins: HashMap<SourceId, HashSet<String>>,
    /// The versions of documents, and how many of them the file has contained.
    documents: HashMap<(String, String), (Vec<Document>, usize)>,
}

impl ExistingLibrary {
    pub(crate) async fn projects(&mut self, database: &Database) -> Result<&mut HashSet<ProjectId>> {
        if self.projects.is_none() {
            self.projects = Some(database.projects().await?.into_iter().map(|project| project.id).collect());
        }
        Ok(self.projects.get_or_insert_default())
    }

    async fn sources(&mut self, database: &Database) -> Result<&mut HashMap<SourceId, Source>> {
        if self.sources.is_none() {
            let sources = database.sources().await?;
            self.sources = Some(sources.into_iter().map(|source| (source.id, source)).collect());
        }
        Ok(self.sources.get_or_insert_default())
    }

    pub(crate) async fn has_source(&mut self, database: &Database, source: &Source) -> Result<bool> {
        let sources = self.sources(database).await?;
        let known = sources.get(&source.id) == Some(source);
        sources.entry(source.id).or_insert_with(|| source.clone());
        Ok(known)
    }

    pub(crate) async fn has_quarantined(&mut self, database: &Database, piece: &Quarantined) -> Result<bool> {
        let id = piece.source;
        if !self.quarantined.contains_key(&id) {
            let known = match self.sources(database).await?.contains_key(&id) {
                true => database.quarantined(id).await?,
                false => Vec::new(),
            };
            self.quarantined.insert(id, known.iter().map(text_of).collect());
        }
        Ok(self.quarantined.get(&id).is_some_and(|known| known.contains(&text_of(piece))))
    }

    pub(crate) async fn has_origin(&mut self, database: &Database, origin: &Origin) -> Result<bool> {
        let id = origin.source;
        if !self.origins.contains_key(&id) {
            let known = match self.sources(database).await?.contains_key(&id) {
                true => database.origins(OriginsQuery::Source(id)).await?,
                false => Vec::new(),
            };
            self.origins.insert(id, known.iter().map(text_of).collect());
        }
        Ok(self.origins.get(&id).is_some_and(|known| known.contains(&text_of(origin))))
    }

    /// Returns the stored version at the place of the file's next version of a document.
    pub(crate) async fn next_version(&mut self, database: &Database, kind: &str, id: &str) -> Result<Option<Document>> {
        let key = (kind.to_owned(), id.to_owned());
        if !self.documents.contains_key(&key) {
            let query = DocumentsQuery::Versions { kind: key.0.clone(), id: key.1.clone() };
            let known = database.store.documents(query).await?;
            self.documents.insert(key.clone(), (known, 0));
        }
        let (known, given) = self.documents.entry(key).or_default();
        *given += 1;
        Ok(known.get(*given - 1).cloned())
    }
}

fn text_of<T: serde::Serialize>(value: &T) -> String {
    Json::of(value).text().to_owned()
}
