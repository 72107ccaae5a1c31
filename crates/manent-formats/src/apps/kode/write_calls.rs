//! Writer of tool call records.

use crate::apps::kode::frame::ListFrame;
use crate::apps::kode::write::{Agent, Writer};
use crate::apps::kode::{Generation, SEALED_BY_IMPORT, call_record};
use crate::core::export::{ExportedMessage, WriteError};
use manent_model::{Json, MessageId, Part, ToolCall, ToolStep};
use std::collections::{HashMap, HashSet, VecDeque};

impl Writer<'_> {
    pub fn calls(&mut self, agent: &Agent) -> Result<(), WriteError> {
        let places: HashMap<MessageId, usize> =
            agent.path.iter().enumerate().map(|(place, message)| (message.id, place)).collect();
        let is_ours = |call: &ToolCall| call.record.text() != SEALED_BY_IMPORT;
        let mut calls: Vec<&(ToolCall, Vec<ToolStep>)> =
            agent.out.tool_calls.iter().filter(|(call, _)| is_ours(call)).collect();
        calls.sort_by_key(|(call, _)| (places.get(&call.message).copied().unwrap_or(usize::MAX), call.part));
        let fresh = || ListFrame { file: "runtime/tool-calls.json".to_owned(), ..ListFrame::default() };
        let frame = agent.frame.calls.clone().unwrap_or_else(fresh);
        if agent.frame.calls.is_none() && calls.is_empty() {
            return Ok(());
        }
        if self.names.to == Generation::Flat {
            self.losses.add(agent.out.conversation.id, "tool calls", calls.len());
            return Ok(());
        }
        let is_read =
            |call: &ToolCall| places.get(&call.message).is_none_or(|place| agent.path[*place].record.is_some());
        let (mut read, made): (Vec<_>, Vec<_>) = calls.into_iter().partition(|(call, _)| is_read(call));
        if !frame.ids.is_empty() {
            read = in_order_of(&frame.ids, read);
        } else if frame.order.len() == read.len() {
            read = frame.order.iter().filter_map(|rank| read.get(*rank as usize).copied()).collect();
        }
        let style = frame.frame.style;
        let mut texts = agent.frame.loose_calls.clone();
        for (call, steps) in read.into_iter().chain(made) {
            let input = || places.get(&call.message).and_then(|place| input(&agent.path[*place], call.part));
            texts.push(call_record::write(call, steps, input, self.names.to, style));
        }
        self.put(agent, &frame.file, &frame.frame.filled(&[("", texts)]))
    }
}

/// Tool calls in the order of their ids in the file; those that are not in it follow.
fn in_order_of<'a>(ids: &[String], calls: Vec<&'a (ToolCall, Vec<ToolStep>)>) -> Vec<&'a (ToolCall, Vec<ToolStep>)> {
    let mut by_id: HashMap<&str, VecDeque<&'a (ToolCall, Vec<ToolStep>)>> = HashMap::new();
    for call in &calls {
        by_id.entry(&call.0.call_id).or_default().push_back(call);
    }
    let mut ordered: Vec<_> = ids.iter().filter_map(|id| by_id.get_mut(id.as_str())?.pop_front()).collect();
    // One that is left of an id is that of a message that was read anew.
    let known: HashSet<&str> = ids.iter().map(String::as_str).collect();
    ordered.extend(calls.into_iter().filter(|(call, _)| !known.contains(call.call_id.as_str())));
    ordered
}

/// A tool call in a part of a message.
fn input(message: &ExportedMessage, part: u32) -> Option<Json> {
    match message.content.body.parts().into_iter().nth(part as usize)? {
        Part::ToolCall { input, .. } => Some(input),
        _ => None,
    }
}
