//! Export plan: instances and names of the conversations, before any file is written.

use crate::apps::personalab::head::Head;
use crate::apps::personalab::{Generation, INSTANCE, InstanceFrame, SessionFrame, head};
use crate::core::export::{ExportSource, ExportedConversation, WriteError};
use crate::core::json::Members;
use crate::core::names::{Names, is_safe_piece};
use manent_model::{Project, Timestamp};

/// A conversation that is to be written.
pub(crate) struct SessionPlan {
    pub place: usize,
    pub out: ExportedConversation,
    pub frame: SessionFrame,
    /// Its frame is of the generation that is written.
    pub is_own: bool,
    /// Its file below `sessions/`, or its folder below `conversations/`.
    pub name: String,
    pub id: String,
}

impl SessionPlan {
    fn of(place: usize, out: ExportedConversation, is_own: bool) -> Self {
        let raw = out.record.as_ref().and_then(|record| record.raw.as_deref());
        let frame = raw.and_then(|raw| serde_json::from_str::<SessionFrame>(raw).ok());
        let is_own = is_own && frame.is_some();
        Self { place, out, frame: frame.unwrap_or_default(), is_own, name: String::new(), id: String::new() }
    }

    /// Its first line as it was read.
    pub(crate) fn head(&self) -> Option<Head> {
        self.frame.head.as_ref().filter(|_| self.is_own).map(|(text, _)| head::read(text))
    }

    pub(crate) fn external(&self) -> Option<&str> {
        self.out.record.as_ref()?.external.as_deref()
    }
}

/// An instance that is to be written.
pub(crate) struct Instance {
    pub folder: String,
    pub id: String,
    pub project: Option<Project>,
    pub frame: InstanceFrame,
    /// It was read from such an instance.
    pub is_own: bool,
    pub sessions: Vec<SessionPlan>,
}

impl Instance {
    /// The session that is open, by its place: the one that is named, or a new one that goes on from it.
    pub(crate) fn current(&self) -> usize {
        let state = self.frame.state.as_ref().and_then(|state| Members::parse(&state.frame.skeleton.text));
        let id = state.and_then(|state| state.text("current_session_id"));
        let named = id.and_then(|id| self.sessions.iter().position(|session| session.id == id));
        let last = self.sessions.len().saturating_sub(1);
        let Some(named) = named else { return last };
        let external = self.sessions[named].external();
        let goes_on =
            |session: &SessionPlan| session.out.record.is_none() && session.out.continued_from.as_deref() == external;
        self.sessions.iter().rposition(|session| external.is_some() && goes_on(session)).unwrap_or(named)
    }

    pub(crate) fn created_at(&self) -> Timestamp {
        self.sessions.iter().map(|session| session.out.conversation.created_at).min().unwrap_or_default()
    }
}

/// Assigns conversations to instances: those of one project to one instance, each other one to its own.
pub(crate) fn instances(
    library: &mut dyn ExportSource,
    source: Option<Generation>,
) -> Result<Vec<Instance>, WriteError> {
    let mut instances: Vec<Instance> = Vec::new();
    for place in 0..library.count() {
        let out = library.conversation(place)?;
        let project = out.project.clone();
        let known = project.as_ref().map(|(project, _)| project.id);
        let same = |one: &Instance| known.is_some() && one.project.as_ref().map(|project| project.id) == known;
        let session = SessionPlan::of(place, out, source == Some(Generation::Instances));
        match instances.iter_mut().find(|one| same(one)) {
            Some(instance) => instance.sessions.push(session),
            None => instances.push(instance(project, session)),
        }
    }
    let mut names = Names::default();
    for one in instances.iter_mut().filter(|one| one.is_own && is_safe_piece(&one.frame.folder)) {
        if names.take(&one.frame.folder) {
            one.folder.clone_from(&one.frame.folder);
        }
    }
    let mut number = 0;
    for one in &mut instances {
        while one.folder.is_empty() {
            number += 1;
            let made_up = format!("inst_{number:03}");
            if names.take(&made_up) {
                one.folder = made_up;
            }
        }
        if one.id.is_empty() {
            one.id.clone_from(&one.folder);
        }
        name_sessions(&mut one.sessions);
    }
    Ok(instances)
}

fn instance(project: Option<(Project, Option<crate::core::export::Record>)>, session: SessionPlan) -> Instance {
    let (project, record) = project.unzip();
    let record = record.flatten().filter(|_| project.as_ref().is_some_and(|project| project.kind == INSTANCE));
    let frame = record.as_ref().and_then(|record| serde_json::from_str::<InstanceFrame>(record.raw.as_deref()?).ok());
    let frame = frame.filter(|_| session.is_own);
    let is_own = frame.is_some();
    let frame = frame.unwrap_or_default();
    let written =
        frame.state.as_ref().and_then(|state| Members::parse(&state.frame.skeleton.text)?.text("instance_id"));
    let external = record.and_then(|record| record.external).filter(|_| is_own);
    let id = written.or(external).unwrap_or_default();
    Instance { folder: String::new(), id, project, frame, is_own, sessions: vec![session] }
}

/// Gives every session of an instance a file and an id; the two need not be alike.
fn name_sessions(sessions: &mut [SessionPlan]) {
    let (mut names, mut ids) = (Names::default(), Names::default());
    for session in sessions.iter_mut().filter(|session| session.is_own && is_safe_piece(&session.frame.name)) {
        if names.take(&session.frame.name) {
            session.name.clone_from(&session.frame.name);
        }
        let stem = session.frame.name.strip_suffix(".jsonl").unwrap_or(&session.frame.name).to_owned();
        session.id = session.head().and_then(|head| head.id).unwrap_or(stem);
        ids.take(&session.id);
    }
    let mut number = 0;
    for session in sessions.iter_mut() {
        while session.name.is_empty() || session.id.is_empty() {
            number += 1;
            let (name, id) = (format!("session_{number:03}.jsonl"), format!("sess_{number:03}"));
            // Both have one number, so that people find their way.
            if session.name.is_empty() && names.take(&name) {
                session.name = name;
            }
            if session.id.is_empty() && ids.take(&id) {
                session.id = id;
            }
        }
    }
}

/// Gives every conversation a folder of its own.
pub(crate) fn conversations(
    library: &mut dyn ExportSource,
    source: Option<Generation>,
) -> Result<Vec<SessionPlan>, WriteError> {
    let mut sessions = Vec::with_capacity(library.count());
    for place in 0..library.count() {
        sessions.push(SessionPlan::of(place, library.conversation(place)?, source == Some(Generation::Conversations)));
    }
    let mut names = Names::default();
    for session in sessions.iter_mut().filter(|session| session.is_own && is_safe_piece(&session.frame.name)) {
        if names.take(&session.frame.name) {
            session.name.clone_from(&session.frame.name);
        }
    }
    let mut number = 0;
    for session in &mut sessions {
        while session.name.is_empty() {
            number += 1;
            let made_up = format!("conv_{number:03}");
            if names.take(&made_up) {
                session.name = made_up;
            }
        }
        session.id.clone_from(&session.name);
    }
    Ok(sessions)
}
