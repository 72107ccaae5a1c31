//! Changes to objects outside conversations.

use super::message::sha256;
use super::*;

impl Generator {
    pub(super) fn document(&mut self) -> (String, String) {
        (self.chance.of(["character", "设置", "\0"]).to_owned(), self.chance.word())
    }

    pub(super) fn put_document(&mut self, model: &Model) -> Change {
        let (kind, id) = self.document();
        let project = self.chance.once_in(4).then(|| self.project(model));
        let body = (!self.chance.once_in(5)).then(|| self.chance.json());
        Change::PutDocument { kind, id, project, body }
    }

    pub(super) fn put_blob_piece(&mut self) -> Change {
        let whole = self.blob();
        let cut = self.chance.number(..=whole.len());
        let (sha256, size) = (sha256(&whole), whole.len() as i64);
        let (n, last, bytes) = match self.chance.number(..5) {
            0 => (0, false, whole[..cut].to_vec()),
            1 => (1, true, whole[cut..].to_vec()),
            2 => (2, self.chance.once_in(2), whole[cut..].to_vec()),
            _ => (0, true, whole),
        };
        Change::PutBlobPiece { sha256, size, n, last, bytes }
    }

    pub(super) fn source(&mut self, model: &Model) -> SourceId {
        let known = model.data.library.sources.iter().map(|source| source.value.id).collect();
        self.known_or_new(known, SourceId::new)
    }

    /// Sources, origins and quarantined bytes.
    pub(super) fn imported(&mut self, model: &Model) -> Change {
        match self.chance.number(..6) {
            0..2 => {
                let known = model.data.library.sources.iter().map(|source| source.value.id).collect();
                let id = self.new_or_known(known, SourceId::new);
                let chance = &mut self.chance;
                Change::PutSource {
                    source: Source {
                        id,
                        format: chance.word(),
                        generation: chance.word(),
                        path: chance.text(),
                        sha256: "00".repeat(32),
                        style: chance.json(),
                        at: chance.time(),
                    },
                }
            }
            2..5 => {
                let object = match self.chance.number(..6) {
                    0..2 => OriginObject::Conversation(self.conversation(model)),
                    2..4 => OriginObject::Message(self.message(model)),
                    4 => OriginObject::Document(self.chance.word()),
                    _ => {
                        let folds = model.data.threads.iter().flat_map(|thread| &thread.folds);
                        let known = folds.map(|fold| fold.value.id).collect();
                        OriginObject::Fold(self.known_or_new(known, FoldId::new))
                    }
                };
                let source = self.source(model);
                let ordinal = self.chance.number(..9) as i64;
                let (external, raw) = (self.chance.maybe(Chance::word), self.chance.maybe(Chance::text));
                Change::PutOrigin { origin: Origin { object, source, ordinal, external, raw } }
            }
            _ => Change::Quarantine {
                quarantined: Quarantined {
                    source: self.source(model),
                    at_byte: self.chance.number(..9) as i64,
                    why: self.chance.text(),
                    bytes: self.chance.bytes::<9>().to_vec(),
                },
            },
        }
    }

    pub(super) fn memory_id(&mut self, model: &Model) -> MemoryId {
        let known = model.data.library.memories.iter().map(|memory| memory.value.id).collect();
        self.known_or_new(known, MemoryId::new)
    }

    pub(super) fn memory(&mut self, model: &Model) -> Change {
        if self.chance.once_in(4) {
            return Change::RemoveMemory { id: self.memory_id(model) };
        }
        let id = if self.chance.once_in(3) { self.memory_id(model) } else { self.chance.id(MemoryId::new) };
        let conversation = self.conversation(model);
        let memory = Memory {
            id,
            collection: self.chance.word(),
            project: self.chance.once_in(4).then(|| self.project(model)),
            conversation: self.chance.once_in(2).then_some(conversation),
            message: self.chance.once_in(3).then(|| self.message_of(model, conversation)),
            external: self.chance.maybe(Chance::word),
            text: self.chance.text(),
            metadata: self.chance.maybe(Chance::json),
        };
        Change::PutMemory { memory }
    }

    pub(super) fn scratch_name(&mut self, model: &Model) -> (String, String, String) {
        let id = match self.chance.once_in(2) {
            true => self.conversation(model).to_string(),
            false => self.chance.word(),
        };
        let actor = if self.chance.once_in(3) { self.chance.author().id } else { String::new() };
        (self.chance.of(["draft", "read", "\0"]).to_owned(), id, actor)
    }

    pub(super) fn scratch(&mut self, model: &Model) -> Change {
        let (kind, id, actor) = self.scratch_name(model);
        match self.chance.once_in(5) {
            true => Change::RemoveScratch { kind, id, actor },
            false => {
                let (body, at) = (self.chance.json(), self.chance.time());
                Change::PutScratch { scratch: Scratch { kind, id, actor, body, at } }
            }
        }
    }
}
