//! What holds for any tree that a reader does not refuse.

use super::Files;
use crate::kit::{Shelf, assert_accounted, report};
use manent_formats::core::source_fs::MemoryTree;
use manent_formats::{ExportSource, ExportedMessage, Follows, Format, Item, MessageIndex, ReadError};
use manent_model::Part;
use std::collections::{BTreeMap, HashSet};

/// Reads, checks what was read, writes it and reads it again. Panics where something does not hold; says whether the
/// tree was read at all.
pub fn check(format: &Format, files: &Files, generation: Option<&str>) -> bool {
    let Ok(items) = read(format, files) else { return false };
    assert_accounted(&items, &"what was read");
    let roots: Vec<usize> =
        items.iter().enumerate().filter(|(_, item)| matches!(item, Item::Root(_))).map(|(place, _)| place).collect();
    for (place, from) in roots.iter().enumerate() {
        let to = roots.get(place + 1).copied().unwrap_or(items.len());
        let root = &items[*from..to];
        well_formed(root);
        again(format, root, None);
        if generation.is_some() {
            again(format, root, generation);
        }
    }
    true
}

fn read(format: &Format, files: &Files) -> Result<Vec<Item>, ReadError> {
    let mut items = Vec::new();
    (format.read)(&MemoryTree::new("fuzz", files.clone()), &mut items).map(|()| items)
}

/// Everything belongs to a conversation that is open, and every number names a message of it.
fn well_formed(items: &[Item]) {
    let mut names = HashSet::new();
    let mut open: Option<Vec<usize>> = None;
    let mut named: Vec<MessageIndex> = Vec::new();
    for item in items {
        match item {
            Item::Conversation(conversation) => {
                assert!(open.is_none(), "a conversation begins inside of another one");
                assert!(names.insert(&conversation.external), "{} is there twice", conversation.external);
                open = Some(Vec::new());
            }
            Item::Message(message) => {
                let messages = open.as_mut().expect("a message of no conversation");
                if let Follows::At(Some(parent)) = message.follows {
                    assert!((parent as usize) < messages.len(), "a message stands behind one that comes later");
                }
                named.extend(message.reply_to);
                messages.push(message.content.body.parts().len());
            }
            Item::Fold(fold) => {
                named.push(fold.after);
                if let Some((first, last)) = fold.covers {
                    assert!(first <= last, "a fold covers backwards");
                    named.extend([first, last]);
                }
            }
            Item::State(state) => named.extend(state.after),
            Item::Bookmark(bookmark) => named.extend(bookmark.head),
            Item::ToolCall(call) => {
                let messages = open.as_ref().expect("a call of no conversation");
                let parts = messages.get(call.part.0 as usize).copied().unwrap_or(0);
                // A record that no part asked for is counted from here on.
                let is_beyond = call.part.1 >= 65_536;
                assert!(
                    is_beyond || (call.part.1 as usize) < parts,
                    "a call is no part of its message: {:?}",
                    call.part
                );
                named.push(call.part.0);
            }
            Item::End { head } => {
                let messages = open.take().expect("an end of no conversation");
                named.extend(*head);
                for index in named.drain(..) {
                    assert!((index as usize) < messages.len(), "message {index} of {}", messages.len());
                }
            }
            _ => {}
        }
    }
    assert!(open.is_none(), "a conversation does not end");
}

/// What was read can be written, and what was written holds all that was said.
fn again(format: &Format, items: &[Item], generation: Option<&str>) {
    let mut shelf = Shelf::of(items);
    let mut written = BTreeMap::new();
    (format.write)(&mut shelf, &mut written, generation).expect("writable");
    let before = said(&mut shelf);
    let place = generation.unwrap_or("its own generation");
    let items = match read(format, &written) {
        Ok(items) => items,
        // Where nothing was said, there may be nothing that shows whose the files are.
        Err(ReadError::Foreign { .. }) if before.is_empty() => return,
        Err(error) => panic!("written in {place}: {error}; {:?}", written.keys()),
    };
    assert_accounted(&items, &place);
    if generation.is_none() {
        let again = Shelf::of(&items);
        let after: HashSet<String> =
            again.conversations.iter().flat_map(|(_, messages, _)| messages).map(text).collect();
        let lost = before.iter().find(|one| !after.contains(&text(one)) && !is_folded(one, &again));
        assert!(
            lost.is_none(),
            "lost on the way to {place}: {}\n{}",
            lost.map(text).unwrap_or_default(),
            report(&items)
        );
    }
}

/// A summary that stood among the messages may be known as one now.
fn is_folded(message: &ExportedMessage, shelf: &Shelf) -> bool {
    let said: Vec<String> =
        message.content.body.parts().iter().filter_map(Part::words).map(|words| words.trim().to_owned()).collect();
    let folds = shelf.conversations.iter().flat_map(|(out, _, _)| &out.folds);
    let mut summaries = folds.filter_map(|(fold, _)| fold.summary.as_deref()).filter(|summary| !summary.is_empty());
    summaries.any(|summary| said.iter().any(|said| said.contains(summary) || summary.contains(said.as_str())))
}

fn text(message: &ExportedMessage) -> String {
    let body = manent_formats::core::json::Style::COMPACT.format(message.content.body.text(), 0);
    format!("{} {body}", message.content.role)
}

/// Every message on the paths that are shown.
fn said(shelf: &mut Shelf) -> Vec<ExportedMessage> {
    let mut said = Vec::new();
    for place in 0..shelf.count() {
        let mut from = 0;
        loop {
            let page = shelf.messages(place, from).expect("messages");
            if page.is_empty() {
                break;
            }
            from += page.len();
            said.extend(page);
        }
    }
    said
}
