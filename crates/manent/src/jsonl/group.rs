//! Groups: what is stored together, so that a large file does not cost a sync for each of its lines.

use super::record::MessageRecord;
use manent_model::{ConversationId, MessageStatus, NewMessage};
use manent_store::{At, Change, HeadMove, Why};

/// Messages are stored in groups of this many, or of this many bytes. What is larger goes alone: the store refuses a
/// commit that is too large whole.
pub(super) const GROUP: usize = 200;
pub(super) const GROUP_BYTES: usize = 1 << 20;
/// No commit puts more messages into the middle of a path, so a file that says so is not one of ours.
pub(super) const OWN_IN_PIECES_MAX: i64 = 2_000;

/// Returns the change that adds messages of one branch at its end.
pub(super) fn appending(conversation: ConversationId, records: &[(u64, MessageRecord)]) -> Change {
    Change::AppendMessages {
        conversation,
        at: At::Branch { branch: records[0].1.branch },
        head: HeadMove::Stay,
        why: Why::Import,
        messages: records.iter().map(|(_, record)| new_message(record)).collect(),
        origins: records.iter().filter_map(|(_, record)| record.origin.clone()).collect(),
    }
}

/// Returns roughly what a message costs of the size that a commit may have.
pub(super) fn size_of(record: &MessageRecord) -> usize {
    let content = &record.content;
    let json = [&content.usage, &content.metadata].into_iter().flatten().map(|json| json.text().len());
    let origin = record.origin.iter().flat_map(|origin| [&origin.external, &origin.raw]).flatten().map(String::len);
    content.body.text().len() + json.sum::<usize>() + origin.sum::<usize>() + 256
}

pub(super) fn new_message(record: &MessageRecord) -> NewMessage {
    let mut content = record.content.clone();
    // An erased message has nothing to stream.
    if record.erased && content.status == MessageStatus::Streaming {
        content.status = MessageStatus::Incomplete;
    }
    NewMessage { id: record.id, content }
}
