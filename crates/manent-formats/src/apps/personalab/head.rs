//! Headers: the first line of a session, and the equivalent file of a conversation.

use crate::core::json::{Members, Object};
use crate::core::time::moment;
use manent_model::Timestamp;

/// Header of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Head {
    pub instance: Option<String>,
    pub id: Option<String>,
    /// The source text of its time.
    pub created: Option<String>,
    pub continued_from: Option<String>,
    /// Its time is called as in version 0.2.
    pub is_started: bool,
}

/// Members that a conversation holds.
pub(crate) const MAPPED: [&str; 6] =
    ["type", "instance_id", "session_id", "created_at", "started_at", "continued_from"];
/// Members of the file of a conversation that one of ours holds.
pub(crate) const FILE_MAPPED: [&str; 2] = ["conversation_id", "created_at"];

pub(crate) fn read(text: &str) -> Head {
    let members = Members::parse(text).unwrap_or_default();
    let created = members.text("created_at");
    Head {
        instance: members.text("instance_id"),
        id: members.text("session_id"),
        is_started: created.is_none() && members.text("started_at").is_some(),
        created: created.or_else(|| members.text("started_at")),
        continued_from: members.text("continued_from"),
    }
}

impl Head {
    pub(crate) fn created_at(&self) -> Option<Timestamp> {
        moment(self.created.as_deref()?)
    }

    /// The same with another time, where that is another.
    pub(crate) fn at(&self, at: Timestamp) -> Self {
        let is_same = self.created_at().is_none_or(|known| known == at);
        let created = if is_same { self.created.clone() } else { Some(at.to_string()) };
        Self { created, ..self.clone() }
    }
}

/// Writes the first line of a session.
pub(crate) fn write(head: &Head) -> Object {
    Object::new()
        .with("type", "metadata")
        .with("instance_id", &head.instance)
        .with("session_id", &head.id)
        .with(if head.is_started { "started_at" } else { "created_at" }, &head.created)
        .with("continued_from", &head.continued_from)
}

/// Writes what the file of a conversation says that one of ours holds.
pub(crate) fn write_file(id: &str, created: Option<&String>) -> Object {
    Object::new().with("conversation_id", id).with_some("created_at", created)
}
