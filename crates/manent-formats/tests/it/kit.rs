//! A library in memory, made of what was read: import and export without a store.

use manent_formats::core::source_fs::{Folder, MemoryTree, SourceTree};
use manent_formats::*;
use manent_model::*;
pub use manent_testing::foreign::fixtures;
use std::collections::{BTreeMap, HashSet};

pub fn folder(path: &std::path::Path) -> Folder {
    Folder::open(path).expect("a folder of fixtures")
}

/// Everything of a tree, by name.
pub fn files(tree: &dyn SourceTree) -> BTreeMap<String, Vec<u8>> {
    let read = |entry: &manent_formats::core::source_fs::Entry| {
        (entry.name.clone(), tree.read(&entry.name, 1 << 30).expect("a file"))
    };
    tree.entries().iter().map(read).collect()
}

/// What was read, as a writer sees it.
#[derive(Default)]
pub struct Shelf {
    pub root: Option<ExportedRoot>,
    pub conversations: Vec<(ExportedConversation, Vec<ExportedMessage>, Vec<Event>)>,
    pub documents: Vec<(Document, Option<Record>)>,
    projects: BTreeMap<String, (Project, Option<Record>)>,
    /// The pieces of each.
    pub blobs: BTreeMap<String, Vec<Vec<u8>>>,
    /// Of each conversation with branches, what each message stands behind, and the last of the path that is shown.
    trees: BTreeMap<usize, (Vec<Option<usize>>, Option<usize>)>,
}

fn number<T>(make: fn(u64, [u8; 10]) -> T, number: usize) -> T {
    let mut chance = [0; 10];
    chance[2..].copy_from_slice(&(number as u64).to_be_bytes());
    make(1_700_000_000_000, chance)
}

impl Shelf {
    pub fn of(items: &[Item]) -> Self {
        let mut shelf = Self::default();
        for item in items {
            shelf.put(item);
        }
        shelf
    }

    fn put(&mut self, item: &Item) {
        match item {
            Item::Root(root) => {
                self.root = Some(ExportedRoot { generation: root.generation.clone(), style: root.style.clone() });
            }
            Item::Project(item) => {
                let place = self.projects.len();
                let project = Project {
                    id: number(ProjectId::new, place),
                    kind: item.kind.clone(),
                    name: item.name.clone(),
                    instructions: String::new(),
                    facts: BTreeMap::new(),
                    metadata: item.metadata.clone(),
                    version: 1,
                };
                let raw = item.frame.as_ref().map(|frame| frame.text().to_owned());
                let record = Record { external: Some(item.external.clone()), ordinal: place as i64, raw };
                self.projects.entry(item.external.clone()).or_insert((project, Some(record)));
            }
            Item::Conversation(item) => {
                let out = self.begun(item);
                self.conversations.push((out, Vec::new(), Vec::new()));
            }
            Item::Document(item) => {
                let (kind, id) = (item.kind.clone(), item.id.clone());
                let document =
                    Document { kind, id, project: None, version: 1, body: Some(item.body.clone()), at: Timestamp(0) };
                let raw = item.frame.as_ref().map(|frame| frame.text().to_owned());
                let ordinal = self.documents.len() as i64;
                self.documents.push((document, Some(Record { external: Some(item.id.clone()), ordinal, raw })));
            }
            Item::Blob(BlobItem { sha256, n, bytes, .. }) => {
                let pieces = self.blobs.entry(hex::encode(sha256)).or_default();
                pieces.truncate(*n as usize);
                pieces.push(bytes.clone());
            }
            Item::Message(_)
            | Item::Fold(_)
            | Item::State(_)
            | Item::ToolCall(_)
            | Item::Event(_)
            | Item::Bookmark(_) => {
                self.attach(item);
            }
            Item::End { head } => {
                let place = self.conversations.len() - 1;
                let count = self.conversations[place].1.len();
                let last = count.checked_sub(1);
                // What stands behind the head is a branch, even if nothing else stands there.
                if head.is_some_and(|head| Some(head as usize) != last) {
                    let straight = (0..count).map(|index: usize| index.checked_sub(1)).collect();
                    self.trees.entry(place).or_insert((straight, None));
                }
                if let Some((_, shown)) = self.trees.get_mut(&place) {
                    *shown = head.map(|head| head as usize).or(last);
                }
            }
            _ => {}
        }
    }

    fn begun(&self, item: &ConversationItem) -> ExportedConversation {
        let place = self.conversations.len();
        let project = item.project.as_ref().and_then(|external| self.projects.get(external));
        ExportedConversation {
            conversation: Conversation {
                id: number(ConversationId::new, place),
                external_id: None,
                title: item.title.clone(),
                kind: item.kind,
                status: item.status,
                pinned: item.pinned,
                project: project.map(|(project, _)| project.id),
                creator: item.creator.clone(),
                members: Vec::new(),
                tags: Default::default(),
                metadata: item.metadata.clone(),
                continued_from: None,
                forked_from: None,
                created_at: item.created_at.unwrap_or(Timestamp(0)),
                active_at: item.active_at.unwrap_or(Timestamp(0)),
                trashed_at: item.trashed_at,
                version: 1,
                head: None,
                messages: 0,
                words: 0,
                tokens: 0,
            },
            record: Some(Record {
                external: Some(item.external.clone()),
                ordinal: place as i64,
                raw: Some(item.frame.text().to_owned()),
            }),
            project: project.cloned(),
            folds: Vec::new(),
            states: Vec::new(),
            tool_calls: Vec::new(),
            bookmarks: Vec::new(),
            continued_from: item.continued_from.clone(),
            forked_from: item.forked_from.clone(),
            other_branches: 0,
        }
    }

    fn attach(&mut self, item: &Item) {
        let place = self.conversations.len() - 1;
        let (out, messages, events) = self.conversations.last_mut().expect("a conversation is open");
        let id = |index: MessageIndex| number(MessageId::new, place << 24 | index as usize);
        match item {
            Item::Message(item) => {
                let before = messages.len().checked_sub(1);
                if let Follows::At(parent) = item.follows
                    && parent.map(|parent| parent as usize) != before
                {
                    let straight = (0..messages.len()).map(|index: usize| index.checked_sub(1)).collect();
                    self.trees.entry(place).or_insert((straight, None));
                }
                if let Some((parents, _)) = self.trees.get_mut(&place) {
                    parents.push(match item.follows {
                        Follows::Last => before,
                        Follows::At(parent) => parent.map(|parent| parent as usize),
                    });
                }
                messages.push(ExportedMessage {
                    id: id(messages.len() as u32),
                    record: Some(Record {
                        external: item.external.clone(),
                        ordinal: messages.len() as i64,
                        raw: item.raw.clone(),
                    }),
                    content: item.content.clone(),
                    is_removed: false,
                });
            }
            Item::Fold(item) => {
                let fold = Fold {
                    id: number(FoldId::new, out.folds.len()),
                    after: id(item.after),
                    kind: item.kind,
                    covers: item
                        .covers
                        .map(|(first, last)| MessageRange { first: id(first), last: id(last) })
                        .into_iter()
                        .collect(),
                    summary: item.summary.clone(),
                    parent: None,
                    made_by: item.made_by.clone(),
                    active: item.active,
                    at: item.at.map_or(Timestamp(0), |time| time.at),
                };
                let ordinal = out.folds.len() as i64;
                out.folds.push((
                    fold,
                    Some(Record { external: item.external.clone(), ordinal, raw: Some(item.raw.clone()) }),
                ));
            }
            Item::State(item) => out.states.push(State {
                name: item.name.clone(),
                after: item.after.map(id),
                value: Some(item.value.clone()),
                at: Timestamp(0),
            }),
            Item::ToolCall(item) => {
                let call = ToolCall {
                    message: id(item.part.0),
                    part: item.part.1,
                    call_id: item.call_id.clone(),
                    name: item.name.clone(),
                    state: item.state,
                    record: item.body.clone(),
                };
                out.tool_calls.push((call, item.steps.clone()));
            }
            Item::Event(item) => events.push(Event {
                cursor: events.len() as i64 + 1,
                channel: item.channel.clone(),
                at: item.at,
                body: item.body.clone(),
            }),
            Item::Bookmark(item) => out.bookmarks.push(Bookmark {
                name: item.name.clone(),
                head: item.head.map(id),
                metadata: item.metadata.clone(),
                at: Timestamp(0),
            }),
            _ => unreachable!("only what is attached comes here"),
        }
    }
}

/// What people do to conversations.
impl Shelf {
    pub fn say(&mut self, place: usize, role: &str, parts: &[Part]) -> &mut ExportedMessage {
        let messages = &mut self.conversations[place].1;
        let time = Time::exact(1_760_000_000_000_000 + messages.len() as i64 * 1_000_000);
        let id = number(MessageId::new, place << 24 | 1 << 20 | messages.len());
        let content = Content::new(role, time, Body::of(parts));
        messages.push(ExportedMessage { id, record: None, content, is_removed: false });
        messages.last_mut().expect("one was pushed")
    }

    pub fn edit(&mut self, place: usize, message: usize, text: &str) {
        self.conversations[place].1[message].content.body = Body::of(&[Part::text(text)]);
    }

    pub fn remove(&mut self, place: usize, message: usize) {
        self.conversations[place].1[message].is_removed = true;
    }

    pub fn set(&mut self, place: usize, name: &str, value: &str) {
        let (out, messages, _) = &mut self.conversations[place];
        let after = messages.last().map(|message| message.id);
        out.states.push(State { name: name.to_owned(), after, value: Json::parse(value).ok(), at: Timestamp(0) });
    }

    /// A conversation that no file of this format knows.
    pub fn begin(&mut self, title: &str, created_at: Timestamp) -> &mut ExportedConversation {
        let item = ConversationItem {
            title: title.to_owned(),
            created_at: Some(created_at),
            active_at: Some(created_at),
            ..ConversationItem::new(String::new(), Json::of(&0), "")
        };
        let out = ExportedConversation { record: None, ..self.begun(&item) };
        self.conversations.push((out, Vec::new(), Vec::new()));
        &mut self.conversations.last_mut().expect("one was pushed").0
    }
}

/// Files in memory.
pub fn memory(files: &[(&str, &str)]) -> MemoryTree {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    MemoryTree::new("memory", files.collect())
}

/// Which lines of which files differ.
pub fn difference(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) -> String {
    let mut words = Vec::new();
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let moved = |name: &String| {
        let bytes = before.get(name).filter(|_| !after.contains_key(name))?;
        let is_there = |(other, now): &(&String, &Vec<u8>)| *now == bytes && !before.contains_key(*other);
        after.iter().find(is_there).map(|(other, _)| other.clone())
    };
    for name in names {
        if let Some(other) = moved(name) {
            words.push(format!("{name} is {other} now"));
            continue;
        }
        if after.contains_key(name) && before.keys().any(|old| moved(old).as_ref() == Some(name)) {
            continue;
        }
        let lines = |files: &BTreeMap<String, Vec<u8>>| -> Vec<String> {
            let text = files.get(name).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
            text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line).replace('\r', "␍")).collect()
        };
        let (old, new) = (lines(before), lines(after));
        if before.get(name) == after.get(name) {
            continue;
        }
        words.push(format!("{name}:"));
        let start = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
        let rest = old.len().min(new.len()) - start;
        let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(one, other)| one == other).count();
        words.extend(changes(&old[start..old.len() - end], &new[start..new.len() - end]));
    }
    words.join("\n")
}

/// The shortest way from some lines to others.
fn changes(old: &[String], new: &[String]) -> Vec<String> {
    let mut same = vec![vec![0usize; new.len() + 1]; old.len() + 1];
    for one in (0..old.len()).rev() {
        for other in (0..new.len()).rev() {
            same[one][other] = match old[one] == new[other] {
                true => same[one + 1][other + 1] + 1,
                false => same[one + 1][other].max(same[one][other + 1]),
            };
        }
    }
    let (mut one, mut other, mut words) = (0, 0, Vec::new());
    while one < old.len() || other < new.len() {
        if one < old.len() && other < new.len() && old[one] == new[other] {
            (one, other) = (one + 1, other + 1);
        } else if other == new.len() || one < old.len() && same[one + 1][other] >= same[one][other + 1] {
            words.push(format!("- {}", old[one]));
            one += 1;
        } else {
            words.push(format!("+ {}", new[other]));
            other += 1;
        }
    }
    words
}

/// Says that every record that was counted became something.
pub fn assert_accounted(items: &[Item], context: &dyn std::fmt::Display) {
    assert!(matches!(items.first(), Some(Item::Root(_))), "{context}: the root comes first");
    let told = report(items);
    assert!(!told.contains("UNACCOUNTED") && !told.contains("NEVER COUNTED"), "{context}:\n{told}");
}

/// A text that programs stumble over.
pub fn odd_text(random: &mut fastrand::Rng) -> String {
    let pieces = [
        "a", "\"", "\\", "\n", "\r\n", "\t", "\u{1}", "你好", "🙂", "\u{2028}", "</", "null", "{", "]", " ", "é",
        "\u{feff}",
    ];
    (0..random.usize(..12)).map(|_| pieces[random.usize(..pieces.len())]).collect()
}

impl Shelf {
    /// Says something behind the last message that is shown.
    pub fn append(&mut self, place: usize, content: Content) -> MessageId {
        let messages = &mut self.conversations[place].1;
        let id = number(MessageId::new, place << 24 | messages.len());
        if let Some((parents, head)) = self.trees.get_mut(&place) {
            parents.push(*head);
            *head = Some(messages.len());
        }
        messages.push(ExportedMessage { id, record: None, content, is_removed: false });
        id
    }
}

/// Small, so that every page ends somewhere.
const PAGE: usize = 3;

impl ExportSource for Shelf {
    fn root(&self) -> Option<&ExportedRoot> {
        self.root.as_ref()
    }

    fn count(&self) -> usize {
        self.conversations.len()
    }

    fn conversation(&mut self, place: usize) -> Result<ExportedConversation, WriteError> {
        Ok(self.conversations[place].0.clone())
    }

    fn messages(&mut self, place: usize, from: usize) -> Result<Vec<ExportedMessage>, WriteError> {
        let mut path = match self.trees.get(&place) {
            Some((_, Some(head))) => self.path_to(place, self.conversations[place].1[*head].id)?,
            _ => self.conversations[place].1.clone(),
        };
        // As the store does: what was read and is not on the path comes in its place, as something that is not shown.
        let ordinal = |message: &ExportedMessage| message.record.as_ref().map(|record| record.ordinal);
        let shown: HashSet<MessageId> = path.iter().map(|message| message.id).collect();
        for message in self.conversations[place].1.iter().filter(|message| !shown.contains(&message.id)) {
            let Some(own) = ordinal(message) else { continue };
            let later = |shown: &ExportedMessage| ordinal(shown).is_some_and(|ordinal| ordinal > own);
            let at = path.iter().position(later).unwrap_or(path.len());
            path.insert(at, ExportedMessage { is_removed: true, ..message.clone() });
        }
        Ok(path.into_iter().skip(from).take(PAGE).collect())
    }

    fn path_to(&mut self, place: usize, head: MessageId) -> Result<Vec<ExportedMessage>, WriteError> {
        let messages = &self.conversations[place].1;
        let mut path = Vec::new();
        let mut at = messages.iter().position(|message| message.id == head);
        while let Some(index) = at {
            path.insert(0, messages[index].clone());
            let parents = self.trees.get(&place).map(|(parents, _)| parents[index]);
            at = parents.unwrap_or_else(|| index.checked_sub(1));
        }
        Ok(path)
    }

    fn events(&mut self, place: usize, after: i64) -> Result<Vec<Event>, WriteError> {
        Ok(self.conversations[place].2.iter().filter(|event| event.cursor > after).take(PAGE).cloned().collect())
    }

    fn documents(&mut self, kind: &str) -> Result<Vec<(Document, Option<Record>)>, WriteError> {
        Ok(self.documents.iter().filter(|(document, _)| document.kind == kind).cloned().collect())
    }

    fn blob_piece(&mut self, sha256: &str, from: i64) -> Result<Option<(i64, Vec<u8>)>, WriteError> {
        let pieces = self.blobs.get(sha256);
        Ok(pieces.and_then(|pieces| Some((from, pieces.get(from as usize)?.clone()))))
    }
}

/// How a report looks: what was found, what became of it, and what had to be said.
pub fn report(items: &[Item]) -> String {
    let mut found: BTreeMap<&str, u64> = BTreeMap::new();
    let mut mapped: BTreeMap<&str, u64> = BTreeMap::new();
    let mut told: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut unmapped, mut words) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::Root(root) => words.push(format!("{} generation {}: {}", root.format, root.generation, root.path)),
            Item::Found { record, count } => *found.entry(record).or_default() += count,
            Item::Unmapped { record, key: Some(key), count } => {
                unmapped.push(format!("unmapped: {record}.{key} {count}"))
            }
            Item::Unmapped { record, key: None, count } => *told.entry(record).or_default() += count,
            Item::Problem(problem) => {
                *told.entry(problem.record).or_default() += 1;
                words.push(format!("skipped: {} {}: {}", problem.place, problem.record, problem.why));
            }
            Item::Repair(repair) => {
                words.push(format!("repaired: {} {}: {}", repair.place, repair.what.name(), repair.why))
            }
            item => {
                if let Some(record) = item.record() {
                    *mapped.entry(record).or_default() += 1;
                }
            }
        }
    }
    for (record, count) in &found {
        let (as_nouns, otherwise) = (mapped.remove(record).unwrap_or(0), told.remove(record).unwrap_or(0));
        let verdict = if *count == as_nouns + otherwise { "" } else { " UNACCOUNTED" };
        words.push(format!("{record}: {count} read, {as_nouns} mapped, {otherwise} kept or told{verdict}"));
    }
    words.extend(mapped.keys().chain(told.keys()).map(|record| format!("{record}: NEVER COUNTED")));
    words.extend(unmapped);
    words.join("\n")
}
