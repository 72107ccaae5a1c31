//! Tool calls of an agent, matched with the message parts that requested them.

use crate::apps::kode::agent::Put;
use crate::apps::kode::file_reader::Reader;
use crate::apps::kode::list::{Kind, Listed, StoredMessage};
use crate::apps::kode::{PART_BEYOND, SEALED_BY_IMPORT, call_record};
use crate::core::item::{MessageIndex, SEALED_NOTE, ToolCallItem};
use crate::core::problem::{Place, ReadError, RepairKind};
use manent_model::{Json, Part, ToolState, ToolStep};
use std::collections::{HashMap, HashSet};

/// Tool calls are updated in place, so of two lists the one written last is newer.
const CALLS: Kind = Kind {
    record: "tool call",
    read: |text| call_record::read(text).map(|_| None),
    is_older: |one, other| {
        let read = |list: &[StoredMessage]| -> Vec<call_record::Call> {
            list.iter().filter_map(|said| call_record::read(&said.text).ok()).collect()
        };
        let (one, other) = (read(one), read(other));
        let newest = |list: &[call_record::Call]| list.iter().map(|call| call.updated_at).max();
        one.len() <= other.len()
            && one.iter().zip(&other).all(|(one, other)| one.id == other.id)
            && newest(&one) < newest(&other)
    },
};

impl Reader<'_> {
    pub fn calls(&mut self, put: &mut Put<'_>) -> Result<(), ReadError> {
        let found = put.agent.found;
        let file = "runtime/tool-calls.json";
        let mut blocks = Blocks::of(put);
        if !found.is_flat {
            let Listed { mut frame, records, replaced, .. } = self.list(found, file, CALLS)?;
            for said in replaced {
                if records.iter().any(|newer| continues(&newer.text, &said.text)) {
                    // An earlier state of the same call; the newer record contains all of it.
                    self.keep_unmapped("tool call", 1)?;
                    continue;
                }
                let why = "the write-ahead file says something else, and its program takes that";
                self.problem(Place::file(&found.path(file)), "tool call", why, said.text.into_bytes())?;
            }
            let mut known = HashSet::new();
            let mut beyond = PART_BEYOND;
            for said in &records {
                let call = call_record::read(&said.text).expect("a record that is no tool call was refused");
                if !known.insert(call.id.clone()) {
                    let why = format!("tool call {} has more than one record", call.id);
                    self.repair(Place::file(&found.path(file)), RepairKind::IdRepeated, why)?;
                }
                let Some(last) = put.path.last() else { continue };
                let part = blocks.take(&call.id).unwrap_or_else(|| {
                    beyond += 1;
                    (*last, beyond - 1)
                });
                put.calls.push(ToolCallItem {
                    part,
                    call_id: call.id,
                    name: call.name,
                    state: call.state,
                    body: Json::parse(&said.text).expect("a record was read as JSON"),
                    steps: call.steps,
                    record: "tool call",
                });
            }
            if put.path.is_empty() {
                self.keep_unmapped("tool call", records.len())?;
                put.frame.loose_calls = records.into_iter().map(|said| said.text).collect();
            }
            if let Some(frame) = &mut frame {
                frame.order = order(&put.calls);
                frame.ids = put.calls.iter().map(|call| call.call_id.clone()).collect();
            }
            put.frame.calls = frame;
        }
        self.unanswered(put, &blocks)
    }

    /// Seals what was asked for and never answered, so that the conversation can go on.
    fn unanswered(&mut self, put: &mut Put<'_>, blocks: &Blocks) -> Result<(), ReadError> {
        let found = put.agent.found;
        let file = if found.is_flat { "messages.json" } else { "runtime/messages.json" };
        let recorded: HashSet<(MessageIndex, u32)> = put.calls.iter().map(|call| call.part).collect();
        for block in blocks.all.iter().filter(|block| !block.is_answered) {
            let has_record = recorded.contains(&block.part);
            let done = match has_record {
                true => "and keeps its record",
                false => "; it is sealed, and gets a failed result in what is written",
            };
            let why = format!("tool call {} has no result {done}", block.id).replace(" ;", ";");
            self.repair(Place::file(&found.path(file)), RepairKind::ToolCallUnanswered, why)?;
            if has_record {
                continue;
            }
            let note = SEALED_NOTE.to_owned();
            put.calls.push(ToolCallItem {
                part: block.part,
                call_id: block.id.clone(),
                name: block.name.clone(),
                state: ToolState::Sealed,
                body: Json::parse(SEALED_BY_IMPORT).expect("the text is JSON"),
                steps: vec![ToolStep { state: ToolState::Sealed, at: put.time.at, actor: None, note }],
                record: "",
            });
        }
        Ok(())
    }
}

/// Returns whether a record is a later state of the same call.
fn continues(newer: &str, older: &str) -> bool {
    let (Ok(newer), Ok(older)) = (call_record::read(newer), call_record::read(older)) else { return false };
    newer.id == older.id && newer.steps.starts_with(&older.steps)
}

/// The original order of records relative to the order of the requesting parts; empty if both are the same.
fn order(calls: &[ToolCallItem]) -> Vec<u32> {
    let mut sorted: Vec<usize> = (0..calls.len()).collect();
    sorted.sort_by_key(|place| calls[*place].part);
    let mut order = vec![0; calls.len()];
    for (rank, place) in sorted.into_iter().enumerate() {
        order[place] = rank as u32;
    }
    if order.iter().enumerate().all(|(place, rank)| place as u32 == *rank) { Vec::new() } else { order }
}

/// A part that asks for a tool.
struct Block {
    part: (MessageIndex, u32),
    id: String,
    name: String,
    is_answered: bool,
    is_taken: bool,
}

/// Every part of the path that asks for a tool.
struct Blocks {
    all: Vec<Block>,
    by_id: HashMap<String, Vec<usize>>,
}

impl Blocks {
    fn of(put: &Put<'_>) -> Self {
        let mut blocks = Self { all: Vec::new(), by_id: HashMap::new() };
        for index in &put.path {
            let body = &put.trie.content(*index).body;
            let parts = if body.may_have_tools() { body.parts() } else { Vec::new() };
            for (place, part) in parts.into_iter().enumerate() {
                match part {
                    Part::ToolCall { id, name, .. } => {
                        blocks.by_id.entry(id.clone()).or_default().push(blocks.all.len());
                        let part = (*index, place as u32);
                        blocks.all.push(Block { part, id, name, is_answered: false, is_taken: false });
                    }
                    Part::ToolResult { call, .. } => {
                        let open = blocks.by_id.get(&call).map_or(&[][..], Vec::as_slice);
                        for place in open {
                            blocks.all[*place].is_answered = true;
                        }
                    }
                    _ => {}
                }
            }
        }
        blocks
    }

    /// Returns the first part that asked for a call of this id and has no record yet.
    fn take(&mut self, id: &str) -> Option<(MessageIndex, u32)> {
        let places = self.by_id.get(id)?;
        let place = places.iter().copied().find(|place| !self.all[*place].is_taken)?;
        self.all[place].is_taken = true;
        Some(self.all[place].part)
    }
}
