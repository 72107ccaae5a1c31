//! Index entries: metadata of a session, and of a deleted session.

use crate::apps::obsidian::session::Session;
use crate::core::json::{Members, Object};

/// Members of an index entry that a conversation holds.
pub(crate) const MAPPED: [&str; 5] = ["sessionId", "sessionName", "createdAt", "updatedAt", "messageCount"];
/// Members of an entry of the trash that a conversation holds.
pub(crate) const TRASH_MAPPED: [&str; 3] = ["sessionId", "sessionName", "deletedAt"];

/// An entry of either index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub id: String,
    pub name: Option<String>,
    pub deleted: Option<i64>,
    pub text: String,
}

pub(crate) fn read(text: String) -> Result<Entry, (String, String)> {
    let found = Members::parse(&text)
        .map(|members| (members.text("sessionId"), members.text("sessionName"), members.whole("deletedAt")));
    match found {
        Some((Some(id), name, deleted)) => Ok(Entry { id, name, deleted, text }),
        Some(_) => Err((text, "the entry does not say which session it is about".to_owned())),
        None => Err((text, "the entry is no JSON object".to_owned())),
    }
}

/// Writes the index entry of a session with this many messages.
pub(crate) fn write(session: &Session, messages: u32) -> Object {
    crate::apps::obsidian::session::write(session).with("messageCount", &messages)
}

/// Writes what the index of the trash says about a session.
pub(crate) fn write_trash(session: &Session, deleted: Option<i64>) -> Object {
    Object::new()
        .with_some("sessionId", session.id.as_ref())
        .with_some("sessionName", session.name.as_ref())
        .with_some("deletedAt", deleted)
}
