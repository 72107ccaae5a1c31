//! Objects outside conversations: documents, memories, scratch, blobs, sources and origins.

use super::annotations::Fastened;
use super::project::Plan;
use super::*;
use sha2::{Digest as _, Sha256};

#[derive(Debug, Clone, Default)]
pub struct Library {
    pub projects: Vec<Plan>,
    pub documents: Vec<Fastened<Document>>,
    pub memories: Vec<Fastened<Memory>>,
    pub scratch: BTreeMap<(String, String, String), Scratch>,
    pub blobs: Vec<Blob>,
    pub sources: Vec<Fastened<Source>>,
    pub origins: Vec<Fastened<Origin>>,
    pub quarantined: Vec<Fastened<Quarantined>>,
}

#[derive(Debug, Clone)]
pub struct Blob {
    pub sha256: [u8; 32],
    pub size: i64,
    pub complete: bool,
    pub pieces: BTreeMap<i64, Vec<u8>>,
    pub used_by: BTreeSet<MessageId>,
}

impl Blob {
    pub fn bytes(&self) -> Vec<u8> {
        self.pieces.values().flatten().copied().collect()
    }
}

impl Library {
    /// Finds an imported file, also one that was taken back.
    pub fn source(&self, id: SourceId) -> Result<()> {
        match self.sources.iter().any(|source| source.value.id == id) {
            true => Ok(()),
            false => Err(not_found("source", id)),
        }
    }

    /// Returns the version of a document that holds, 0 where there is none or it was removed.
    pub fn document_version(&self, kind: &str, id: &str) -> i64 {
        let versions = Fastened::seen(&self.documents).into_iter().filter(|one| one.kind == kind && one.id == id);
        let newest = versions.max_by_key(|document| document.version);
        newest.filter(|document| document.body.is_some()).map_or(0, |document| document.version)
    }
}

const PIECE_MAX: usize = 1 << 20;

impl Tx<'_> {
    pub(super) fn put_document(
        &mut self,
        kind: String,
        id: String,
        project: Option<ProjectId>,
        body: Option<Json>,
    ) -> Result<ChangeResult> {
        if let Some(project) = project {
            self.data.library.seen_project(project)?;
        }
        // What was taken back keeps its number: it may come again.
        let same = |one: &&Fastened<Document>| one.value.kind == kind && one.value.id == id;
        let last = self.data.library.documents.iter().filter(same).map(|one| one.value.version).max();
        let version = last.unwrap_or(0) + 1;
        let (document, old) = self.fasten(Document { kind, id, project, version, body, at: self.at }, Vec::new());
        self.data.library_mut().documents.push(document);
        self.journal(None, JournalKind::DocumentPut, vec![old]);
        Ok(ChangeResult::Version(version))
    }

    pub(super) fn put_memory(&mut self, memory: Memory) -> Result<ChangeResult> {
        if let Some(project) = memory.project {
            self.data.library.seen_project(project)?;
        }
        if let Some(conversation) = memory.conversation {
            self.data.seen(conversation)?;
        }
        if let Some(message) = memory.message {
            self.data.message(message)?;
        }
        self.data.collections.insert(memory.collection.clone());
        let actor = self.actor.clone();
        let olds = match self.data.library.memories.iter().position(|other| other.value.id == memory.id) {
            None => {
                let (memory, old) = self.fasten(memory, Vec::new());
                self.data.library_mut().memories.push(memory);
                vec![old]
            }
            Some(place) => {
                let kept = &mut self.data.library_mut().memories[place];
                let earlier = std::mem::replace(&mut kept.value, memory);
                let withdrawn = std::mem::replace(&mut kept.withdrawn, false);
                let writer = std::mem::replace(&mut kept.writer, actor);
                let number = kept.number;
                vec![Old::Memory { number, memory: Box::new(earlier), writer }, Old::Flag { number, withdrawn }]
            }
        };
        self.journal(None, JournalKind::MemoryPut, olds);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn remove_memory(&mut self, id: MemoryId) -> Result<ChangeResult> {
        let found = self.data.library.memories.iter().find(|memory| memory.value.id == id && !memory.withdrawn);
        let number = found.ok_or_else(|| not_found("memory", id))?.number;
        self.data.flag(number, true);
        self.journal(None, JournalKind::MemoryRemoved, vec![Old::Flag { number, withdrawn: false }]);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn put_scratch(&mut self, scratch: Scratch) -> Result<ChangeResult> {
        let name = (scratch.kind.clone(), scratch.id.clone(), scratch.actor.clone());
        self.data.library_mut().scratch.insert(name, scratch);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn remove_scratch(&mut self, kind: String, id: String, actor: String) -> Result<ChangeResult> {
        self.data.library_mut().scratch.remove(&(kind, id, actor));
        Ok(ChangeResult::Applied)
    }

    pub(super) fn put_blob_piece(
        &mut self,
        sha256: [u8; 32],
        size: i64,
        n: i64,
        last: bool,
        bytes: Vec<u8>,
    ) -> Result<ChangeResult> {
        if bytes.len() > PIECE_MAX {
            return Err(StoreError::TooLarge { what: "a piece of a blob", limit: "1 MiB" });
        }
        let blobs = &mut self.data.library_mut().blobs;
        let place = blobs.iter().position(|blob| blob.sha256 == sha256).unwrap_or_else(|| {
            let (pieces, used_by) = (BTreeMap::new(), BTreeSet::new());
            blobs.push(Blob { sha256, size, complete: false, pieces, used_by });
            blobs.len() - 1
        });
        let blob = &mut blobs[place];
        if blob.complete {
            return Ok(ChangeResult::Applied);
        }
        blob.pieces.insert(n, bytes);
        if last {
            blob.pieces.retain(|number, _| *number <= n);
            let whole = blob.bytes();
            let found: [u8; 32] = Sha256::digest(&whole).into();
            if found != sha256 || whole.len() as i64 != size {
                return invalid("the bytes of the blob do not have the SHA-256 they were given");
            }
            (blob.complete, blob.size) = (true, size);
            self.journal(None, JournalKind::BlobPut, Vec::new());
        }
        Ok(ChangeResult::Applied)
    }

    /// Remembers which blobs a message shows, of those that are there.
    pub(super) fn use_blobs(&mut self, message: MessageId, body: &Body) {
        for part in body.parts() {
            let Part::Media { blob: Some(blob), .. } = part else { continue };
            for kept in self.data.library_mut().blobs.iter_mut().filter(|kept| hex::encode(&kept.sha256) == blob) {
                kept.used_by.insert(message);
            }
        }
    }

    pub(super) fn put_source(&mut self, source: Source) -> Result<ChangeResult> {
        if self.data.library.source(source.id).is_ok() {
            return Err(exists("source", source.id));
        }
        let (source, old) = self.fasten(source, Vec::new());
        self.data.library_mut().sources.push(source);
        self.journal(None, JournalKind::SourcePut, vec![old]);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn put_origin(&mut self, origin: Origin) -> Result<ChangeResult> {
        self.data.library.source(origin.source)?;
        let mut origins = self.data.library.origins.iter();
        if origins.any(|other| other.value.object == origin.object && other.value.source == origin.source) {
            return Err(exists("origin", object_name(&origin.object)));
        }
        let (origin, old) = self.fasten(origin, Vec::new());
        self.data.library_mut().origins.push(origin);
        self.journal(None, JournalKind::OriginPut, vec![old]);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn quarantine(&mut self, quarantined: Quarantined) -> Result<ChangeResult> {
        self.data.library.source(quarantined.source)?;
        let (quarantined, old) = self.fasten(quarantined, Vec::new());
        self.data.library_mut().quarantined.push(quarantined);
        self.journal(None, JournalKind::Quarantined, vec![old]);
        Ok(ChangeResult::Applied)
    }
}

fn object_name(object: &OriginObject) -> String {
    match object {
        OriginObject::Conversation(id) => id.to_string(),
        OriginObject::Message(id) => id.to_string(),
        OriginObject::Project(id) => id.to_string(),
        OriginObject::Fold(id) => id.to_string(),
        OriginObject::Memory(id) => id.to_string(),
        OriginObject::Document(name) => name.clone(),
    }
}
