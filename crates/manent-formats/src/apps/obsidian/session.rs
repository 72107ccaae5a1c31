//! Session files: the metadata of a session.

use crate::core::json::{Members, Object};

/// A session as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Session {
    pub id: Option<String>,
    pub name: Option<String>,
    /// Milliseconds since 1970.
    pub created: Option<i64>,
    pub updated: Option<i64>,
}

/// Members that a conversation holds.
pub(crate) const MAPPED: [&str; 5] = ["sessionId", "sessionName", "createdAt", "updatedAt", "messages"];

/// Reads the metadata around the messages of a session.
pub(crate) fn read(text: &str) -> Option<Session> {
    let members = Members::parse(text)?;
    Some(Session {
        id: members.text("sessionId"),
        name: members.text("sessionName"),
        created: members.whole("createdAt"),
        updated: members.whole("updatedAt"),
    })
}

pub(crate) fn write(session: &Session) -> Object {
    Object::new()
        .with_some("sessionId", session.id.as_ref())
        .with_some("sessionName", session.name.as_ref())
        .with_some("createdAt", session.created)
        .with_some("updatedAt", session.updated)
}
