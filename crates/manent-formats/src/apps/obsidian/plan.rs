//! Export plan: the target file of each conversation, before any file is written.

use crate::apps::obsidian::session::Session;
use crate::apps::obsidian::{SESSIONS, SessionFrame, TRASH, entry, history, session};
use crate::core::export::ExportedConversation;
use crate::core::names::{Names, is_safe, is_safe_piece};
use crate::core::time::{millis, to_millis};
use manent_model::{ConversationId, ConversationStatus, Timestamp};
use std::collections::HashSet;

/// A conversation that is to be written.
pub(crate) struct Plan {
    pub place: usize,
    pub conversation: ConversationId,
    /// Its number among those that were read.
    pub ordinal: Option<i64>,
    pub frame: SessionFrame,
    pub was: Option<Session>,
    pub now: Session,
    pub is_trashed: bool,
    /// When it was trashed, in milliseconds.
    pub trashed: Option<i64>,
    /// It was read from a legacy file.
    pub is_legacy: bool,
    /// Its file below the folder.
    pub file: String,
    /// How many messages were written.
    pub messages: u32,
    title: String,
    title_was: String,
    created_at: Timestamp,
}

impl Plan {
    pub(crate) fn of(place: usize, out: &ExportedConversation) -> Self {
        let conversation = &out.conversation;
        let record = out.record.as_ref();
        let read = record.and_then(|record| serde_json::from_str::<SessionFrame>(record.raw.as_deref()?).ok());
        let is_legacy = read.as_ref().is_some_and(|frame| frame.file.is_empty());
        let frame = read.unwrap_or_default();
        let was = frame.frame.as_ref().and_then(|frame| session::read(&frame.skeleton.text));
        let listed = frame.entry.clone().and_then(|text| entry::read(text).ok()).and_then(|entry| entry.name);
        let title_was = was.as_ref().and_then(|was| was.name.clone()).or(listed).unwrap_or_default();
        let external = record.and_then(|record| record.external.clone()).filter(|_| is_legacy);
        let known = Session { id: external, ..Session::default() };
        let created_at = conversation.created_at;
        // A session has a name; one that was read without any keeps none.
        let is_unnamed = conversation.title.trim().is_empty() && (record.is_none() || !title_was.trim().is_empty());
        let title = if is_unnamed { default_name(created_at) } else { conversation.title.clone() };
        let now = now(was.as_ref(), &title_was, &title, (created_at, conversation.active_at)).unwrap_or(Session {
            name: Some(title.clone()),
            created: Some(to_millis(created_at)),
            updated: Some(to_millis(conversation.active_at)),
            ..known
        });
        Self {
            place,
            conversation: conversation.id,
            ordinal: record.map(|record| record.ordinal),
            frame,
            was,
            now,
            is_trashed: conversation.status == ConversationStatus::Trashed,
            trashed: conversation.trashed_at.map(to_millis),
            is_legacy,
            file: String::new(),
            messages: 0,
            title,
            title_was,
            created_at,
        }
    }

    pub(crate) fn was_trashed(&self) -> bool {
        self.frame.file.starts_with(TRASH)
    }

    /// Its entry under its previous name, for the index.
    pub(crate) fn named(&self) -> Option<Session> {
        Some(Session { name: Some(self.title_was.clone()), ..self.was.clone()? })
    }

    /// Its entry under its current name.
    pub(crate) fn now_named(&self) -> Session {
        Session { name: Some(self.title.clone()), ..self.now.clone() }
    }

    /// Whether its title is the program's default name for a legacy file.
    pub(crate) fn has_made_up_name(&self) -> bool {
        self.is_legacy && self.title == history::migrated_name(self.created_at)
    }
}

/// The name that the program gives a new session.
fn default_name(at: Timestamp) -> String {
    let time = jiff::Timestamp::from_microsecond(at.0).unwrap_or_default().to_zoned(jiff::tz::TimeZone::UTC);
    format!("新会话 {:02}-{:02} {:02}:{:02}", time.month(), time.day(), time.hour(), time.minute())
}

/// The updated metadata of a session: unchanged values stay as they were, present or absent.
fn now(was: Option<&Session>, title_was: &str, title: &str, times: (Timestamp, Timestamp)) -> Option<Session> {
    let was = was?;
    let time = |was: Option<i64>, now: Timestamp| match was.and_then(millis) {
        Some(at) if at != now => Some(to_millis(now)),
        _ => was,
    };
    Some(Session {
        id: was.id.clone(),
        name: if title == title_was { was.name.clone() } else { Some(title.to_owned()) },
        created: time(was.created, times.0),
        updated: time(was.updated, times.1),
    })
}

/// Gives every conversation an id and a file that no other has.
pub(crate) fn name(plans: &mut [Plan], taken: &[&str]) {
    let mut names = Names::default();
    taken.iter().for_each(|name| {
        names.take(name);
    });
    // In the trash one id may be there several times; the index lists it once.
    let known: HashSet<String> = plans.iter().filter_map(|plan| plan.now.id.clone()).collect();
    let mut listed: HashSet<String> = HashSet::new();
    // Sessions that stay keep their file; new and moved ones get another.
    for plan in plans.iter_mut().filter(|plan| !plan.frame.file.is_empty()) {
        if plan.was_trashed() == plan.is_trashed && is_safe(&plan.frame.file) && names.take(&plan.frame.file) {
            plan.file.clone_from(&plan.frame.file);
            listed.extend(plan.now.id.clone().filter(|_| !plan.is_trashed));
        }
    }
    for plan in plans.iter_mut().filter(|plan| plan.file.is_empty()) {
        let made_up = format!("session_{}", to_millis(plan.created_at));
        let free = |id: &String| is_safe_piece(id) && (plan.is_trashed || !listed.contains(id));
        let id = plan.now.id.clone().filter(free).unwrap_or_else(|| {
            let numbered = (2..).map(|number| format!("{made_up}_{number}"));
            let mut candidates = std::iter::once(made_up.clone()).chain(numbered);
            candidates.find(|id| !known.contains(id) && !listed.contains(id)).expect("there is no end of numbers")
        });
        let folder = if plan.is_trashed { TRASH } else { SESSIONS };
        let first = format!("{folder}{id}.json");
        plan.file = match names.take(&first) {
            true => first,
            // As the program names a session that was deleted before.
            false => names.unique(&format!("{folder}{id}_{}", plan.trashed.unwrap_or_default()), ".json"),
        };
        listed.insert(id.clone());
        plan.now.id = Some(id);
    }
}
