//! Import of tool calls, matched with earlier imports by the part that requested them, or by call id if that part is
//! gone.

use crate::error::Result;
use crate::transfer::import::conversation_import::ConversationImport;
use crate::transfer::import::importer::Importer;
use manent_formats::{Item, MessageIndex, SEALED_NOTE, ToolCallItem};
use manent_model::{MessageId, ToolCall, ToolState, ToolStep};
use manent_store::{Annotations, Change, ToolCallTrail, ToolPart};
use std::collections::HashSet;

/// Part numbers from here on are assigned to records that no part of a message requested.
const LOOSE_PARTS: u32 = 65_536;

/// Returns whether a record continues the trail that an import left: the stored call has not changed since.
fn goes_on(steps: &[ToolStep], item: &ToolCallItem) -> bool {
    let is_sealed_by_import = matches!(steps, [step] if step.note == SEALED_NOTE && step.state == ToolState::Sealed);
    is_sealed_by_import || item.steps.starts_with(steps)
}

/// Tool calls of earlier imports that the file has not referred to yet.
pub(crate) struct KnownCalls {
    trails: Vec<ToolCallTrail>,
    /// The parts that the file has a record for.
    named: HashSet<(MessageId, u32)>,
}

impl KnownCalls {
    pub(crate) fn of(
        here: &Annotations,
        items: &[Item],
        message_id_at: impl Fn(MessageIndex) -> Option<MessageId>,
    ) -> Self {
        let named = items.iter().filter_map(|item| match item {
            Item::ToolCall(item) => Some((message_id_at(item.part.0)?, item.part.1)),
            _ => None,
        });
        Self { trails: here.tool_calls.clone(), named: named.collect() }
    }

    /// Takes the trail of a part, or else the one of the same call that lost its part: its message is no longer on the
    /// current path, or no message of this file or of an earlier one requested it.
    fn take(&mut self, at: (MessageId, u32), call_id: &str, shown: &HashSet<MessageId>) -> Option<ToolCallTrail> {
        let key = |trail: &ToolCallTrail| (trail.call.message, trail.call.part);
        let lost = |trail: &ToolCallTrail| {
            let has_part = key(trail).1 < LOOSE_PARTS;
            let is_lost = at.1 >= LOOSE_PARTS || !has_part || !shown.contains(&trail.call.message);
            trail.call.call_id == call_id && is_lost && !(has_part && self.named.contains(&key(trail)))
        };
        let same = self.trails.iter().position(|trail| key(trail) == at && trail.call.call_id == call_id);
        let found = same.or_else(|| self.trails.iter().position(lost))?;
        Some(self.trails.remove(found))
    }
}

impl ConversationImport {
    pub(crate) async fn tool_call(
        &mut self,
        importer: &mut Importer<'_>,
        item: ToolCallItem,
        calls: &mut KnownCalls,
    ) -> Result<()> {
        let Some(message) = self.message_id_at(item.part.0) else {
            self.skip(importer, item.record, "the message that asks for it was skipped".to_owned());
            return Ok(());
        };
        let part = item.part.1;
        let change = match calls.take((message, part), &item.call_id, &self.shown) {
            None => {
                let (call_id, name, state, record) = (item.call_id, item.name, item.state, item.body);
                let call = ToolCall { message, part, call_id, name, state, record };
                Change::PutToolTrail { call, steps: item.steps, instead_of: None }
            }
            Some(ToolCallTrail { call, steps }) => {
                let at = (call.message, call.part);
                // A call that no message of the file requested keeps its first address.
                let to = if part >= LOOSE_PARTS { at } else { (message, part) };
                let (message, part) = to;
                match (call.record == item.body, goes_on(&steps, &item)) {
                    (true, _) if at == to => {
                        importer.mapped(item.record);
                        return Ok(());
                    }
                    (true, _) => Change::PutToolTrail {
                        call: ToolCall { message, part, ..call },
                        steps,
                        instead_of: Some(ToolPart { message: at.0, part: at.1 }),
                    },
                    (false, true) => {
                        let (call_id, name, state, record) = (item.call_id, item.name, item.state, item.body);
                        let call = ToolCall { message, part, call_id, name, state, record };
                        Change::PutToolTrail {
                            call,
                            steps: item.steps,
                            instead_of: Some(ToolPart { message: at.0, part: at.1 }),
                        }
                    }
                    (false, false) if call.state.may_become(item.state) => {
                        let note = item.steps.last().map(|step| step.note.clone()).unwrap_or_default();
                        let (message, part) = at;
                        Change::MoveToolCall { message, part, to: item.state, record: Some(item.body), note }
                    }
                    (false, false) => {
                        let why = format!("it was {:?} and cannot become {:?}", call.state, item.state);
                        self.skip(importer, item.record, why);
                        return Ok(());
                    }
                }
            }
        };
        self.put(importer, manent_store::now(), vec![change], item.record).await
    }
}
