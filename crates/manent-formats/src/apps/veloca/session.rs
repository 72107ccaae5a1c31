//! Sessions: metadata of a conversation.

use crate::apps::veloca::Generation;
use crate::core::json::{Members, Object};
use crate::core::time::moment;
use manent_model::{Json, Timestamp};

/// A session as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Session {
    pub id: Option<String>,
    pub name: String,
    pub is_deleted: bool,
    pub at: Option<Timestamp>,
    pub time: Option<String>,
    pub metadata: Option<Json>,
}

/// Members that a conversation holds.
pub(crate) const MAPPED: [&str; 8] =
    ["session_id", "name", "status", "create_at", "metadata", "entries", "compacted_entries", "compacted_dialogues"];

pub(crate) fn read(text: &str) -> Result<Session, String> {
    let members = Members::parse(text).ok_or("a session is an object")?;
    let time = members.text("create_at");
    Ok(Session {
        id: members.text("session_id"),
        name: members.text("name").unwrap_or_default(),
        is_deleted: members.whole("status") == Some(1),
        at: time.as_deref().and_then(moment),
        time,
        metadata: members.json("metadata"),
    })
}

pub(crate) fn write(session: &Session, generation: Generation) -> Object {
    let object = Object::new().with("session_id", &session.id);
    // Programs from generation 3 on show no names; one that was given here is kept under the seed's word.
    let object = match generation.is_nested() && session.name.is_empty() {
        true => object,
        false => object.with("name", &session.name),
    };
    let object = object.with("status", &i32::from(session.is_deleted)).with("create_at", &session.time);
    match generation {
        Generation::Rust => object.with_some("metadata", session.metadata.as_ref()),
        _ => object,
    }
}
