//! Reader: first documents and instances, then each session with the state of its characters.

use crate::apps::personalab::files::{Files, places};
use crate::apps::personalab::session::{MessageLine, SessionFile};
use crate::apps::personalab::state_fields::StateFieldFrame;
use crate::apps::personalab::vectors::Vectors;
use crate::apps::personalab::{
    Generation, INSTANCE, InstanceFrame, NAME, PERSONAS, PLOT, RootFrame, document, files, head,
};
use crate::core::item::*;
use crate::core::json::{Frame, Members, Object, Outline, Shape, merge};
use crate::core::problem::{Place, ReadError, Repair, RepairKind};
use crate::core::source_fs::{JsonFile, SourceTree};
use crate::core::unique::Unique;
use crate::core::unmapped::UnmappedFields;
use manent_model::{ConversationKind, Json, Timestamp};

/// Reads everything of this format in a tree.
pub fn read(tree: &dyn SourceTree, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let places = places(tree);
    if places.is_empty() {
        let why = "no instances, conversations, characters or presets".to_owned();
        return Err(ReadError::Foreign { file: tree.label().to_owned(), format: NAME, why });
    }
    for files in places {
        Reader { tree, files: &files, sink, unmapped: UnmappedFields::default(), externals: Unique::default() }
            .all()?;
    }
    Ok(())
}

/// An instance with its sessions.
struct Instance {
    external: String,
    sessions: Vec<SessionFile>,
    /// The place of the session that is open.
    current: usize,
    states: Vec<(String, Json, &'static str)>,
}

/// Maximum number of sessions per instance: they are ordered, so all of them are held in memory.
const SESSIONS_MAX: usize = 100_000;

struct Reader<'a> {
    tree: &'a dyn SourceTree,
    files: &'a Files,
    sink: &'a mut dyn Sink,
    unmapped: UnmappedFields,
    externals: Unique,
}

impl Reader<'_> {
    fn all(mut self) -> Result<(), ReadError> {
        let files = self.files;
        let has_presets = files.documents.iter().any(|document| document.name.starts_with("presets/"));
        let is_new = !files.conversations.is_empty() || files.instances.is_empty() && has_presets;
        let generation = if is_new { Generation::Conversations } else { Generation::Instances };
        let vectors = Vectors::of(self.tree, &files.folder, &files.vectors)?;
        let digest = vectors.as_ref().map(|vectors| vectors.digest.clone());
        let style = Json::of(&RootFrame { folder: files.folder.clone(), vectors: digest });
        let path = if files.folder.is_empty() { self.tree.label().to_owned() } else { files.folder.clone() };
        self.sink.take(Item::Root(Root { format: NAME, generation: generation.name().to_owned(), path, style }))?;
        if let Some(vectors) = vectors.filter(|_| !files.has_told_vectors) {
            vectors.tell(self.tree, &files.folder, self.sink)?;
        }
        self.documents()?;
        let mut instances = Vec::with_capacity(files.instances.len());
        for instance in &files.instances {
            if instance.sessions.len() > SESSIONS_MAX {
                let file = format!("{}instances/{}", files.folder, instance.folder);
                return Err(ReadError::TooLarge {
                    file,
                    what: "the number of sessions",
                    limit: SESSIONS_MAX.to_string(),
                });
            }
            instances.push(self.instance(instance)?);
        }
        for instance in instances {
            self.sessions(instance)?;
        }
        for conversation in &files.conversations {
            self.conversation(conversation)?;
        }
        self.unmapped.emit(self.sink)
    }

    fn repair(&mut self, file: &str, what: RepairKind, why: String) -> Result<(), ReadError> {
        self.sink.take(Item::Repair(Repair { place: Place::file(file), what, why }))
    }

    /// Makes an id one that nothing else of its kind has.
    fn unique(&mut self, kind: &str, id: String, file: &str) -> Result<String, ReadError> {
        let taken = self.externals.take(&format!("{kind}/{id}"));
        let unique = taken[kind.len() + 1..].to_owned();
        if unique != id {
            self.repair(file, RepairKind::IdRepeated, format!("{kind} {id} is there again and is {unique} here"))?;
        }
        Ok(unique)
    }

    fn documents(&mut self) -> Result<(), ReadError> {
        for document in &self.files.documents {
            let id = self.unique(document.kind.name(), document.id.clone(), &document.name)?;
            self.sink.take(Item::Found { record: document.kind.name(), count: 1 })?;
            let items = document::read(self.tree, &self.files.folder, document, id)?;
            items.into_iter().try_for_each(|item| self.sink.take(item))?;
        }
        Ok(())
    }

    /// Reads a small file with an object; other values are reported.
    fn object(&mut self, name: &str, record: &'static str) -> Result<Option<Frame>, ReadError> {
        let file = JsonFile::open(self.tree, name, &Shape::Object(&[]))?;
        let frame = match (&file.root, file.torn_at) {
            (Some(Outline::Object { .. }), None) => Some(file.frame()?),
            _ => None,
        };
        let frame = match frame {
            Some(frame) if !file.is_mended(&frame)? && Members::parse(&frame.skeleton.text).is_some() => Some(frame),
            _ => None,
        };
        if frame.is_some() {
            for removed in file.removed()? {
                file.unreadable(&removed)?.into_iter().try_for_each(|item| self.sink.take(item))?;
            }
        } else {
            self.sink.take(Item::Found { record, count: 1 })?;
            let why = "the file is cut off, or no JSON object in UTF-8".to_owned();
            self.sink.take(file.problem(file.whole(), record, why)?)?;
        }
        Ok(frame)
    }

    /// Reads what a character is and has become.
    fn character(
        &mut self,
        name: &str,
        record: &'static str,
    ) -> Result<Option<(StateFieldFrame, Vec<(String, Json)>)>, ReadError> {
        let Some(frame) = self.object(name, record)? else { return Ok(None) };
        self.unmapped.scan(&frame.skeleton.text, record, &PERSONAS);
        let (frame, values) = StateFieldFrame::cut(frame, &PERSONAS);
        self.sink.take(Item::Found { record, count: values.len() as u64 })?;
        Ok(Some((frame, values)))
    }

    fn instance(&mut self, files: &files::Instance) -> Result<Instance, ReadError> {
        let prefix = format!("{}instances/{}/", self.files.folder, files.folder);
        let mut frame = InstanceFrame { folder: files.folder.clone(), ..InstanceFrame::default() };
        let (mut states, mut metadata, mut current) = (Vec::new(), None, None);
        let mut external = files.folder.clone();
        if let Some(file) = files.state {
            frame.file = file.to_owned();
            if let Some(read) = self.object(&format!("{prefix}{file}"), INSTANCE)? {
                self.sink.take(Item::Found { record: INSTANCE, count: 1 })?;
                metadata = without_plot(&read);
                let (slots, values) = StateFieldFrame::cut(read, &[PLOT]);
                let members = Members::parse(&slots.frame.skeleton.text).unwrap_or_default();
                external = members.text("instance_id").unwrap_or(external);
                current = members.text("current_session_id");
                self.sink.take(Item::Found { record: PLOT, count: values.len() as u64 })?;
                states.extend(values.into_iter().map(|(name, value)| (name, value, PLOT)));
                frame.state = Some(slots);
            }
        }
        if files.has_character
            && let Some((slots, values)) =
                self.character(&format!("{prefix}character_state.json"), "character_state")?
        {
            frame.character = Some(slots);
            states.extend(values.into_iter().map(|(name, value)| (name, value, "character_state")));
        }
        let external = self.unique(INSTANCE, external, &prefix)?;
        self.sink.take(Item::Project(ProjectItem {
            external: external.clone(),
            kind: INSTANCE.to_owned(),
            name: external.clone(),
            record: if frame.state.is_some() { INSTANCE } else { "" },
            metadata,
            frame: Some(Json::of(&frame)),
        }))?;
        let mut sessions = Vec::with_capacity(files.sessions.len());
        for file in &files.sessions {
            let mut session = SessionFile::open(self.tree, &format!("{prefix}sessions/{file}"), &mut self.unmapped)?;
            session.frame.name.clone_from(file);
            sessions.push(session);
        }
        let named = current.as_ref().and_then(|id| sessions.iter().position(|session| session_id(session) == *id));
        if let (Some(current), None) = (&current, named) {
            let why = format!("the open session {current} is not there; the last one stands for it");
            self.repair(&prefix, RepairKind::PointerDangling, why)?;
        }
        Ok(Instance { external, current: named.unwrap_or(sessions.len().saturating_sub(1)), sessions, states })
    }

    fn sessions(&mut self, mut instance: Instance) -> Result<(), ReadError> {
        let ids: Vec<String> = instance.sessions.iter().map(session_id).collect();
        let mut states = std::mem::take(&mut instance.states);
        for (place, mut session) in instance.sessions.into_iter().enumerate() {
            let id = &ids[place];
            let named = |id: &str| format!("{}/{id}", instance.external);
            let external = self.unique("session", named(id), &session.name)?;
            let head = session.head.clone().unwrap_or_default();
            let continued = head.continued_from.as_ref().filter(|from| ids.contains(from)).map(|from| named(from));
            if let (Some(from), None) = (&head.continued_from, &continued) {
                let why = format!("session {id} goes on from {from}, which is not there");
                self.repair(&session.name, RepairKind::PointerDangling, why)?;
            }
            let mut item = ConversationItem::new(external, Json::of(&session.frame), "session");
            item.title.clone_from(id);
            item.kind = ConversationKind::Roleplay;
            item.project = Some(instance.external.clone());
            item.continued_from = continued;
            item.created_at = head.created_at();
            self.sink.take(Item::Found { record: "session", count: 1 })?;
            let states = if place == instance.current { std::mem::take(&mut states) } else { Vec::new() };
            self.session(item, &mut session, states)?;
        }
        Ok(())
    }

    fn conversation(&mut self, files: &files::Conversation) -> Result<(), ReadError> {
        let prefix = format!("{}conversations/{}/", self.files.folder, files.folder);
        let lines = format!("{prefix}conversation.jsonl");
        let mut session = match files.has_lines {
            true => SessionFile::open(self.tree, &lines, &mut self.unmapped)?,
            false => SessionFile::default(),
        };
        session.frame.name.clone_from(&files.folder);
        session.frame.has_no_lines = !files.has_lines;
        let mut states: Vec<(String, Json, &'static str)> = Vec::new();
        let mut created = session.head.as_ref().and_then(head::Head::created_at);
        if files.has_metadata
            && let Some(frame) = self.object(&format!("{prefix}metadata.json"), "metadata")?
        {
            self.unmapped.scan(&frame.skeleton.text, "metadata", &head::FILE_MAPPED);
            created = head::read(&frame.skeleton.text).created_at().or(created);
            session.frame.metadata = Some(frame);
        }
        if files.has_plot
            && let Some(frame) = self.object(&format!("{prefix}plot_state.json"), PLOT)?
            && let Ok(value) = Json::parse(&frame.skeleton.text)
        {
            self.sink.take(Item::Found { record: PLOT, count: 1 })?;
            session.frame.plot = Some((frame.before, frame.after));
            states.push((PLOT.to_owned(), value, PLOT));
        }
        if files.has_character
            && let Some((slots, values)) =
                self.character(&format!("{prefix}character_snapshot.json"), "character_snapshot")?
        {
            session.frame.character = Some(slots);
            states.extend(values.into_iter().map(|(name, value)| (name, value, "character_snapshot")));
        }
        let external = self.unique("conversation", files.folder.clone(), &prefix)?;
        let mut item = ConversationItem::new(external, Json::of(&session.frame), "conversation");
        item.title.clone_from(&files.folder);
        item.kind = ConversationKind::Roleplay;
        item.created_at = created;
        self.sink.take(Item::Found { record: "conversation", count: 1 })?;
        self.session(item, &mut session, states)
    }

    fn session(
        &mut self,
        item: ConversationItem,
        session: &mut SessionFile,
        states: Vec<(String, Json, &'static str)>,
    ) -> Result<(), ReadError> {
        let (created, external): (Option<Timestamp>, _) = (item.created_at, item.external.clone());
        self.sink.take(Item::Conversation(Box::new(item)))?;
        let MessageLine { count, is_unanswered } = session.tell(self.tree, created, self.sink, &mut self.unmapped)?;
        for (name, value, record) in states {
            self.sink.take(Item::State(StateItem { name, after: count.checked_sub(1), value, record }))?;
        }
        if is_unanswered {
            let why = format!("{external} ends with a question");
            self.repair(&session.name, RepairKind::TailUnanswered, why)?;
        }
        self.sink.take(Item::End { head: None })
    }
}

/// The name of a file and the id in it are two things; the id counts where there is one.
fn session_id(session: &SessionFile) -> String {
    let id = session.head.as_ref().and_then(|head| head.id.clone());
    id.unwrap_or_else(|| session.frame.name.strip_suffix(".jsonl").unwrap_or(&session.frame.name).to_owned())
}

/// An instance without the state that its sessions change.
pub(crate) fn without_plot(frame: &Frame) -> Option<Json> {
    let was = Object::new().with(PLOT, &());
    Json::parse(&merge(&frame.skeleton.text, &was, &Object::new(), frame.style, 0)).ok()
}
