//! Pending tool calls, which wait for their results.

use crate::apps::veloca::entry::Entry;
use crate::core::item::{MessageIndex, ToolCallItem};
use manent_model::{Part, ToolState, ToolStep};
use std::collections::HashMap;

/// Calls in the order in which they were asked for; those with a result are gone.
#[derive(Default)]
pub(crate) struct Calls {
    asked: Vec<Option<ToolCallItem>>,
    /// The positions of the calls of an id.
    open: HashMap<String, Vec<usize>>,
}

impl Calls {
    /// Records the tool calls and results of a message.
    pub(crate) fn look(&mut self, message: MessageIndex, entry: &Entry) {
        let body = &entry.content.body;
        let parts = if body.may_have_tools() { body.parts() } else { Vec::new() };
        for (place, part) in parts.iter().enumerate() {
            match part {
                Part::ToolCall { id, name, input, .. } => {
                    self.open.entry(id.clone()).or_default().push(self.asked.len());
                    self.asked.push(Some(ToolCallItem {
                        part: (message, place as u32),
                        call_id: id.clone(),
                        name: name.clone(),
                        state: ToolState::Sealed,
                        body: input.clone(),
                        steps: vec![ToolStep {
                            state: ToolState::Sealed,
                            at: entry.content.time.at,
                            actor: None,
                            note: "no result in the file".to_owned(),
                        }],
                        record: "",
                    }));
                }
                Part::ToolResult { call, .. } => {
                    for place in self.open.remove(call).unwrap_or_default() {
                        self.asked[place] = None;
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns those that nothing answers.
    pub(crate) fn unanswered(self) -> impl Iterator<Item = ToolCallItem> {
        self.asked.into_iter().flatten()
    }
}
