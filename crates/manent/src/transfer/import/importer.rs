//! Importer: stores items one by one; records outside conversations at once, the others through the open conversation.

use crate::database::Database;
use crate::error::{Error, Result};
use crate::transfer::import::ImportMode;
use crate::transfer::import::blobs::Incoming;
use crate::transfer::import::conversation_import::ConversationImport;
use crate::transfer::import::in_flight::InFlight;
use crate::transfer::import::links::Links;
use crate::transfer::import::origin_index::{CurrentSource, OriginIndex};
use crate::transfer::import::reading::Sent;
use crate::transfer::import::report::*;
use manent_formats::{DocumentItem, Format, Item, MessageIndex, Problem, ProjectItem, Repair};
use manent_model::{Origin, OriginObject, Project, ProjectId, ProjectPatch, Quarantined, Timestamp};
use manent_store::{Change, Committed, DocumentsQuery, OriginsQuery, Priority, StoreError, Transaction};
use std::collections::HashMap;

/// A commit is limited to 4 MiB; quarantined bytes are stored in chunks below that.
const QUARANTINE_MAX: usize = 1 << 20;

/// Maximum number of skipped files that are listed; the others are counted.
const LEFT_OUT_MAX: usize = 1_000;

pub(crate) struct Importer<'a> {
    pub database: &'a Database,
    pub format: &'static Format,
    pub mode: ImportMode,
    pub report: FileImportReport,
    sha256: String,
    pub source: Option<CurrentSource>,
    pub known: Option<OriginIndex>,
    projects: HashMap<String, ProjectId>,
    pub links: Links,
    pub incoming: Incoming,
    open: Option<ConversationImport>,
    /// Conversations that were submitted to the store in one commit each; their outcome is not known yet.
    in_flight: InFlight<'a>,
    /// Number of conversations read from the root: writers refer to them by ordinal.
    conversation_ordinal: i64,
    /// Number of library records read from the root.
    library_ordinal: i64,
}

impl<'a> Importer<'a> {
    pub(crate) fn new(database: &'a Database, format: &'static Format, mode: ImportMode) -> Self {
        Self {
            database,
            format,
            mode,
            report: FileImportReport::default(),
            sha256: String::new(),
            source: None,
            known: None,
            projects: HashMap::new(),
            links: Links::default(),
            incoming: Incoming::default(),
            open: None,
            in_flight: InFlight::default(),
            conversation_ordinal: 0,
            library_ordinal: 0,
        }
    }

    pub(crate) async fn take(&mut self, sent: Sent) -> Result<()> {
        match sent {
            Sent::Digest(sha256) => {
                self.sha256 = sha256;
                self.known = Some(OriginIndex::of(self.database).await?);
                Ok(())
            }
            Sent::Item(item) => self.item(item).await,
        }
    }

    async fn item(&mut self, item: Item) -> Result<()> {
        match item {
            Item::Root(root) => {
                (self.conversation_ordinal, self.library_ordinal) = (0, 0);
                self.await_all().await?;
                // The previous root may have ended in the middle of a conversation.
                self.report.conversations.extend(self.open.take().map(|filling| filling.report));
                self.projects.clear();
                self.format = manent_formats::format(root.format).unwrap_or(self.format);
                self.links = Links::default();
                let source = CurrentSource::of(self.database, &root, &self.sha256).await?;
                if let Some(known) = &mut self.known {
                    known.add(&source.source);
                }
                self.source = Some(source);
                let (format, generation, path) = (root.format.to_owned(), root.generation, root.path);
                self.report.roots.push(ImportedRoot { format, generation, path });
                Ok(())
            }
            Item::Found { record, count } => {
                self.counts(record).read += count;
                Ok(())
            }
            Item::Unmapped { record, key, count } => {
                match key {
                    Some(key) => self.report.unmapped.push(UnmappedField { record: record.to_owned(), key, count }),
                    None => self.counts(record).unmapped += count,
                }
                Ok(())
            }
            Item::Project(item) => self.project(item).await,
            Item::Blob(item) => self.blob(item).await,
            Item::Document(item) => self.document(item).await,
            Item::Problem(problem) => self.problem(problem).await,
            Item::Repair(repair) => {
                self.repair(repair);
                Ok(())
            }
            Item::LeftOut { name, why } => {
                match self.report.left_out.len() < LEFT_OUT_MAX {
                    true => self.report.left_out.push(LeftOut { name, why: why.to_owned() }),
                    false => self.report.left_out_more += 1,
                }
                Ok(())
            }
            Item::Conversation(item) => {
                // A duplicate must find the first one in the store.
                if self.in_flight.has(&item.external) {
                    self.await_all().await?;
                }
                let ordinal = self.conversation_ordinal;
                self.conversation_ordinal += 1;
                self.open = Some(ConversationImport::begin(self, *item, ordinal).await?);
                Ok(())
            }
            Item::End { head } => match self.open.take() {
                Some(filling) => self.finish(filling, head).await,
                None => Ok(()),
            },
            item => match self.open.take() {
                Some(mut filling) => {
                    let outcome = filling.item(self, item).await;
                    self.open = Some(filling);
                    outcome
                }
                None => Ok(()),
            },
        }
    }

    /// Finishes the import: a conversation that the reader did not end stays unfinished; the next import completes it.
    pub(crate) async fn end(mut self) -> Result<FileImportReport> {
        self.await_all().await?;
        if let Some(filling) = self.open.take() {
            self.report.conversations.push(filling.report);
        }
        Ok(self.report)
    }

    pub(crate) fn counts(&mut self, record: &str) -> &mut Counts {
        if !self.report.records.contains_key(record) {
            self.report.records.insert(record.to_owned(), Counts::default());
        }
        self.report.records.entry(record.to_owned()).or_default()
    }

    /// Counts a record that was mapped to a noun.
    pub(crate) fn mapped(&mut self, record: &str) {
        if !record.is_empty() {
            self.counts(record).mapped += 1;
        }
    }

    fn next_ordinal(&mut self) -> i64 {
        self.library_ordinal += 1;
        self.library_ordinal - 1
    }

    /// Commits changes at low priority; returns the reason if the store refused them because of their content.
    pub(crate) async fn commit(&mut self, at: Timestamp, mut changes: Vec<Change>) -> Result<Option<StoreError>> {
        if self.mode == ImportMode::DryRun || changes.is_empty() {
            return Ok(None);
        }
        if let Some(source) = self.source.as_mut().and_then(CurrentSource::store_once) {
            changes.insert(0, source);
        }
        let refused = refused(self.database.send(transaction(at, changes)).await)?;
        if let Some(source) = &mut self.source {
            match refused {
                // The refused commit included the source.
                Some(_) => source.was_refused(),
                None => source.was_taken(),
            }
        }
        Ok(refused)
    }

    /// Ends a conversation. One that fits into a single commit is submitted, and the next one begins before the
    /// outcome is known.
    async fn finish(&mut self, mut filling: ConversationImport, head: Option<MessageIndex>) -> Result<()> {
        match filling.single_commit(self, head).await? {
            Some(changes)
                if self.mode == ImportMode::Store && self.source.as_ref().is_none_or(|it| it.was_stored()) =>
            {
                while self.in_flight.is_full() {
                    self.await_oldest().await?;
                }
                let sent = Box::pin(self.database.send(transaction(manent_store::now(), changes)));
                self.in_flight.begin(filling, head, sent).await;
                Ok(())
            }
            Some(changes) => {
                let refused = self.commit(manent_store::now(), changes).await?;
                self.record_result(filling, head, refused).await
            }
            None => {
                self.await_all().await?;
                filling.end(self, head).await?;
                self.report.conversations.push(filling.report);
                Ok(())
            }
        }
    }

    /// Waits for the oldest submitted conversation; returns whether there was one.
    async fn await_oldest(&mut self) -> Result<bool> {
        let Some(flight) = self.in_flight.oldest() else { return Ok(false) };
        let (filling, head, outcome) = flight.result().await;
        self.record_result(filling, head, refused(outcome)?).await?;
        Ok(true)
    }

    async fn await_all(&mut self) -> Result<()> {
        while self.await_oldest().await? {}
        Ok(())
    }

    /// Handles the outcome of a submitted conversation. A refused one is stored again in pieces, so that only the
    /// refused content is skipped.
    async fn record_result(
        &mut self,
        mut filling: ConversationImport,
        head: Option<MessageIndex>,
        refused: Option<StoreError>,
    ) -> Result<()> {
        match refused {
            None => filling.stored_whole(self),
            Some(_) => filling.end(self, head).await?,
        }
        self.report.conversations.push(filling.report);
        Ok(())
    }

    async fn problem(&mut self, problem: Problem) -> Result<()> {
        self.counts(problem.record).reported += 1;
        let Problem { place, record, why, bytes } = problem;
        let at_byte = match place.at {
            manent_formats::At::Byte(byte) => byte,
            manent_formats::At::Line(line) => line,
            _ => 0,
        };
        let skipped = Skipped { place: place.to_string(), record: record.to_owned(), why: why.clone() };
        match &mut self.open {
            Some(filling) => filling.report.skipped.push(skipped),
            None => self.report.skipped.push(skipped),
        }
        let Some(CurrentSource { source, is_known, .. }) = &self.source else { return Ok(()) };
        let id = source.id;
        let kept = match is_known {
            true => self.database.store.quarantined(id).await?,
            false => Vec::new(),
        };
        for (place, piece) in bytes.chunks(QUARANTINE_MAX).enumerate() {
            let at_byte = at_byte as i64 + (place * QUARANTINE_MAX) as i64;
            let quarantined = Quarantined { source: id, at_byte, why: why.clone(), bytes: piece.to_vec() };
            if !kept.contains(&quarantined) {
                self.commit(manent_store::now(), vec![Change::Quarantine { quarantined }]).await?;
            }
        }
        Ok(())
    }

    fn repair(&mut self, repair: Repair) {
        let Repair { place, what, why } = repair;
        let repaired = Repaired { place: place.to_string(), what: what.name().to_owned(), why };
        match &mut self.open {
            Some(filling) => filling.report.repaired.push(repaired),
            None => self.report.repaired.push(repaired),
        }
    }

    pub(crate) fn project_of(&self, external: Option<&String>) -> Option<ProjectId> {
        external.and_then(|external| self.projects.get(external).copied())
    }

    async fn project(&mut self, item: ProjectItem) -> Result<()> {
        self.mapped(item.record);
        if self.projects.contains_key(&item.external) {
            return Ok(());
        }
        let format = self.format.name;
        let mut here = None;
        if let Some(known) = &self.known {
            for origin in known.named(self.database, format, &item.external).await? {
                if let OriginObject::Project(id) = origin.object {
                    here = self.database.store.project(id).await?.map(|project| (project, origin));
                    break;
                }
            }
        }
        let ordinal = self.next_ordinal();
        let frame = item.frame.as_ref().map(|frame| frame.text().to_owned());
        let (id, mut changes) = match &here {
            Some((project, _)) if project.metadata == item.metadata => (project.id, Vec::new()),
            Some((project, _)) => {
                let patch = ProjectPatch { metadata: Some(item.metadata), ..ProjectPatch::default() };
                (project.id, vec![Change::EditProject { id: project.id, patch }])
            }
            None => {
                let id = self.database.new_id(ProjectId::new);
                let (kind, name, metadata) = (item.kind, item.name, item.metadata);
                let instructions = String::new();
                let project = Project { id, kind, name, instructions, facts: Default::default(), metadata, version: 1 };
                (id, vec![Change::CreateProject { project }])
            }
        };
        if here.as_ref().is_none_or(|(_, origin)| origin.raw != frame) {
            let said = self.origin(OriginObject::Project(id), ordinal, Some(item.external.clone()), frame).await?;
            changes.extend(said);
        }
        self.projects.insert(item.external, id);
        self.library(changes).await
    }

    async fn document(&mut self, item: DocumentItem) -> Result<()> {
        if !self.has_its_bytes(item.record, &item.id) {
            return Ok(());
        }
        self.mapped(item.record);
        let object = OriginObject::Document(format!("{}/{}", item.kind, item.id));
        let query = DocumentsQuery::Newest { kind: item.kind.clone(), id: item.id.clone() };
        let here = self.database.store.documents(query).await?.pop();
        let earlier = match &self.known {
            Some(known) => known.newest(self.database, self.format.name, object.clone()).await?,
            None => None,
        };
        let frame = item.frame.as_ref().map(|frame| frame.text().to_owned());
        let ordinal = self.next_ordinal();
        let mut changes = Vec::new();
        if here.and_then(|document| document.body).as_ref() != Some(&item.body) {
            let project = self.project_of(item.project.as_ref());
            let (kind, id, body) = (item.kind, item.id.clone(), Some(item.body));
            changes.push(Change::PutDocument { kind, id, project, body });
        }
        if earlier.is_none_or(|earlier| earlier.raw != frame) {
            changes.extend(self.origin(object, ordinal, Some(item.id), frame).await?);
        }
        self.library(changes).await
    }

    async fn library(&mut self, changes: Vec<Change>) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        match self.commit(manent_store::now(), changes).await? {
            None => self.report.library += 1,
            Some(error) => {
                let place = self.report.roots.last().map(|root| root.path.clone()).unwrap_or_default();
                self.report.skipped.push(Skipped { place, record: "library".to_owned(), why: error.to_string() });
            }
        }
        Ok(())
    }

    /// The change that records the origin of an object; `None` if an import of the same file has recorded it.
    pub(crate) async fn origin(
        &self,
        object: OriginObject,
        ordinal: i64,
        external: Option<String>,
        raw: Option<String>,
    ) -> Result<Option<Change>> {
        let Some(CurrentSource { source, is_known, .. }) = &self.source else { return Ok(None) };
        // An interrupted import of this file may not have recorded it.
        let said = match is_known {
            true => self.database.origins(OriginsQuery::Object(object.clone())).await?,
            false => Vec::new(),
        };
        if said.iter().any(|origin| origin.source == source.id) {
            return Ok(None);
        }
        Ok(Some(Change::PutOrigin { origin: Origin { object, source: source.id, ordinal, external, raw } }))
    }
}

fn transaction(at: Timestamp, changes: Vec<Change>) -> Transaction {
    let key = Some(crate::database::ulid::fresh_key());
    Transaction { key, at, actor: None, expect: Vec::new(), changes, priority: Priority::Background }
}

/// Returns the reason if the store refused changes because of their content.
fn refused(outcome: Result<Committed>) -> Result<Option<StoreError>> {
    match outcome {
        Err(Error::Store(error)) if error.is_rejection() => Ok(Some(error)),
        outcome => outcome.map(|_| None),
    }
}
