//! Batching: records that are committed together, so that a large file does not need one sync per line.

use crate::transfer::jsonl::record::MessageRecord;
use manent_model::{ConversationId, MessageStatus, NewMessage};
use manent_store::{BranchReason, Change, HeadMove, MessageAt};

/// Batch limits of stored messages: this many messages, or this many bytes. A larger message gets its own commit: the
/// store refuses a commit that is too large as a whole.
pub(crate) const GROUP: usize = 200;
pub(crate) const GROUP_BYTES: usize = 1 << 20;
/// No commit inserts more messages into a path, so a file with more was not written by this program.
pub(crate) const OWN_IN_RANGES_MAX: i64 = 2_000;

/// Returns the change that appends messages to one branch.
pub(crate) fn appending(conversation: ConversationId, records: &[(u64, MessageRecord)]) -> Change {
    Change::AppendMessages {
        conversation,
        at: MessageAt::Branch { branch: records[0].1.branch },
        head: HeadMove::Stay,
        why: BranchReason::Import,
        messages: records.iter().map(|(_, record)| new_message(record)).collect(),
        origins: records.iter().filter_map(|(_, record)| record.origin.clone()).collect(),
    }
}

/// Estimates how much of the maximum commit size a message takes.
pub(crate) fn size_of(record: &MessageRecord) -> usize {
    let content = &record.content;
    let json = [&content.usage, &content.metadata].into_iter().flatten().map(|json| json.text().len());
    let origin = record.origin.iter().flat_map(|origin| [&origin.external, &origin.raw]).flatten().map(String::len);
    content.body.text().len() + json.sum::<usize>() + origin.sum::<usize>() + 256
}

pub(crate) fn new_message(record: &MessageRecord) -> NewMessage {
    let mut content = record.content.clone();
    // An erased message cannot be continued by its stream.
    if record.erased && content.status == MessageStatus::Streaming {
        content.status = MessageStatus::Incomplete;
    }
    NewMessage { id: record.id, content }
}
