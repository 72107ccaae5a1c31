//! Message tree of an agent: the current path, and the branches that left it.

use crate::apps::kode::list::StoredMessage;
use crate::core::item::{Follows, Item, MessageIndex, MessageItem};
use manent_model::{Content, Time};
use std::collections::HashMap;

/// Messages by parent. Files repeat each other; the same message after the same parent is one message.
#[derive(Debug, Default)]
pub(crate) struct MessageTrie {
    nodes: Vec<Node>,
    children: HashMap<(Option<MessageIndex>, String), MessageIndex>,
}

#[derive(Debug)]
struct Node {
    parent: Option<MessageIndex>,
    content: StoredMessage,
}

impl MessageTrie {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds messages after a parent, unless they are there already; returns each.
    pub fn put(&mut self, mut parent: Option<MessageIndex>, messages: &[StoredMessage]) -> Vec<MessageIndex> {
        let mut path = Vec::with_capacity(messages.len());
        for said in messages {
            let next = self.nodes.len() as MessageIndex;
            let index = *self.children.entry((parent, said.compact.clone())).or_insert(next);
            if index == next {
                self.nodes.push(Node { parent, content: said.clone() });
            }
            path.push(index);
            parent = Some(index);
        }
        path
    }

    /// The record of a message.
    pub fn text(&self, index: MessageIndex) -> &str {
        &self.nodes[index as usize].content.text
    }

    /// The content of a message; its time is that of its agent.
    pub fn content(&self, index: MessageIndex) -> &Content {
        self.nodes[index as usize].content.content.as_ref().expect("a record that is no message is not put here")
    }

    /// Returns the messages as items, in order.
    pub fn items(&self, time: Time) -> impl Iterator<Item = Item> {
        self.nodes.iter().enumerate().map(move |(place, node)| {
            let is_next = node.parent == (place as MessageIndex).checked_sub(1);
            Item::Message(Box::new(MessageItem {
                external: None,
                follows: if is_next { Follows::Last } else { Follows::At(node.parent) },
                content: Content { time, ..self.content(place as MessageIndex).clone() },
                reply_to: None,
                raw: Some(node.content.text.clone()),
                record: "message",
            }))
        })
    }
}
