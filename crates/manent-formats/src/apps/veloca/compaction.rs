//! Compactions: a summary that replaces the entries before its trigger.

use crate::apps::veloca::Generation;
use crate::core::json::{Members, Object};
use crate::core::time::moment;
use manent_model::Timestamp;

/// A compaction as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compaction {
    pub id: Option<String>,
    pub session: Option<String>,
    pub trigger: Option<String>,
    pub summary: String,
    pub at: Option<Timestamp>,
    pub time: Option<String>,
    pub is_used: bool,
}

/// Members that a fold holds.
pub(crate) const MAPPED: [&str; 6] = ["entry_id", "session_id", "trigger_entry_id", "summary", "create_at", "status"];

pub(crate) fn read(text: &str) -> Result<Compaction, String> {
    let members = Members::parse(text).ok_or("a compaction is an object")?;
    let time = members.text("create_at");
    Ok(Compaction {
        id: members.text("entry_id"),
        session: members.text("session_id"),
        trigger: members.text("trigger_entry_id"),
        summary: members.text("summary").ok_or("a compaction has a summary")?,
        at: time.as_deref().and_then(moment),
        time,
        is_used: members.whole("status") != Some(1),
    })
}

pub(crate) fn write(compaction: &Compaction, generation: Generation) -> Object {
    let status = i32::from(!compaction.is_used);
    let object = Object::new().with("entry_id", &compaction.id);
    match generation {
        Generation::Message | Generation::Content => object
            .with("trigger_entry_id", &compaction.trigger)
            .with("summary", &compaction.summary)
            .with("create_at", &compaction.time)
            .with("status", &status),
        Generation::Thinking | Generation::Rust => object
            .with("session_id", &compaction.session)
            .with("trigger_entry_id", &compaction.trigger)
            .with("summary", &compaction.summary)
            .with("create_at", &compaction.time)
            .with("status", &status),
        // The programs of this generation use the newest, whatever its status; ours reads what others said.
        Generation::Nested => object
            .with("summary", &compaction.summary)
            .with("trigger_entry_id", &compaction.trigger)
            .with("create_at", &compaction.time)
            .with_some("status", Some(status).filter(|status| *status != 0)),
    }
}
