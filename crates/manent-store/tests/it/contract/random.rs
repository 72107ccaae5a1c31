//! Random changes against a model that copies whole paths: what it shows, the store shows.

use crate::kit::*;
use fastrand::Rng;
use manent_model::*;
use manent_store::*;
use std::collections::BTreeSet;

const OPERATIONS: usize = 3_500;

/// A head: the number of a branch and how much of its path is shown.
type Shown = (usize, usize);

#[derive(Debug, Clone)]
enum Old {
    Head(Shown),
    Title(String),
    Tags(BTreeSet<String>),
    State(usize),
}

/// Every branch as a whole copy of its path.
struct Model {
    branches: Vec<(BranchId, Vec<MessageId>)>,
    texts: std::collections::HashMap<MessageId, (String, u32, usize)>,
    head: Shown,
    title: String,
    tags: BTreeSet<String>,
    /// Where, what, and whether it holds; a value at the start has no place.
    states: Vec<(Option<MessageId>, String, bool)>,
    undo: Vec<Old>,
    redo: Vec<Old>,
}

impl Model {
    fn path(&self) -> &[MessageId] {
        &self.branches[self.head.0].1[..self.head.1]
    }

    fn line(&self, path: &[MessageId]) -> Vec<String> {
        path.iter().map(|id| self.texts[id].0.clone()).collect()
    }

    /// Remembers what was there; what changed nothing is no step.
    fn did(&mut self, old: Old) {
        let changed = match &old {
            Old::Head(head) => *head != self.head,
            Old::Title(title) => *title != self.title,
            Old::Tags(tags) => *tags != self.tags,
            Old::State(_) => true,
        };
        if changed {
            self.undo.push(old);
            self.redo.clear();
        }
    }

    fn go(&mut self, head: Shown) {
        let old = std::mem::replace(&mut self.head, head);
        self.did(Old::Head(old));
    }

    /// Opens a branch with this path and goes to its end.
    fn open(&mut self, id: BranchId, path: Vec<MessageId>) {
        self.branches.push((id, path));
        let branch = self.branches.len() - 1;
        self.go((branch, self.branches[branch].1.len()));
    }

    fn learn(&mut self, messages: &[NewMessage], branch: usize) {
        for message in messages {
            let content = &message.content;
            self.texts.insert(message.id, (content.body.words(), content.tokens.unwrap_or(0), branch));
        }
    }

    fn swap(&mut self, old: Old) -> Old {
        match old {
            Old::Head(head) => Old::Head(std::mem::replace(&mut self.head, head)),
            Old::Title(title) => Old::Title(std::mem::replace(&mut self.title, title)),
            Old::Tags(tags) => Old::Tags(std::mem::replace(&mut self.tags, tags)),
            Old::State(place) => {
                self.states[place].2 = !self.states[place].2;
                Old::State(place)
            }
        }
    }

    fn state(&self) -> Option<&str> {
        let places = self.path().iter().rev().map(|id| Some(*id)).chain([None]);
        places.into_iter().find_map(|place| {
            let held = self.states.iter().rev().find(|(at, _, holds)| *at == place && *holds);
            held.map(|(_, value, _)| value.as_str())
        })
    }
}

fn some_messages(rng: &mut Rng, serial: &mut usize) -> Vec<NewMessage> {
    let count = rng.usize(1..4);
    (0..count)
        .map(|_| {
            *serial += 1;
            let mut message = message("user", &format!("m{serial}{}", " word".repeat(rng.usize(0..3))));
            message.content.tokens = Some(rng.u32(0..50));
            message
        })
        .collect()
}

fn seed() -> u64 {
    match std::env::var("MANENT_SEED") {
        Ok(seed) => seed.parse().expect("MANENT_SEED is a number"),
        Err(_) => fastrand::u64(..),
    }
}

pub async fn random_changes_show_what_a_naive_model_shows(store: &dyn Store) {
    let seed = seed();
    println!("MANENT_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let conversation = conversation(store, "random").await;
    let first = store.branches(conversation).await.expect("readable")[0].id;
    let mut model = Model {
        branches: vec![(first, Vec::new())],
        texts: Default::default(),
        head: (0, 0),
        title: "random".to_owned(),
        tags: BTreeSet::new(),
        states: Vec::new(),
        undo: Vec::new(),
        redo: Vec::new(),
    };
    let mut serial = 0;
    for n in 0..OPERATIONS {
        let change = match rng.u32(0..20) {
            0..5 => Some(append_somewhere(&mut rng, &mut model, conversation, &mut serial)),
            5..7 => move_head(&mut rng, &mut model, conversation),
            7..12 => splice_somewhere(&mut rng, &mut model, conversation, &mut serial),
            12..14 => Some(describe(&mut rng, &mut model, conversation)),
            14 => Some(set_state(&mut rng, &mut model, conversation)),
            15..18 => step(store, &mut model, conversation, UndoDirection::Undo).await,
            _ => step(store, &mut model, conversation, UndoDirection::Redo).await,
        };
        if let Some(change) = change {
            let said = format!("{change:?}");
            let outcome = try_commit(store, change).await;
            assert!(outcome.is_ok(), "operation {n}: {outcome:?} for {said}");
            compare(store, &model, conversation, &mut rng, n, &said).await;
        }
    }
    for (branch, path_of) in &model.branches {
        let found = path(store, conversation, Some(*branch)).await;
        assert_eq!(words_of(&found), model.line(path_of), "a branch never changes but at its end");
    }
    sound(store).await;
}

fn append_somewhere(rng: &mut Rng, model: &mut Model, conversation: ConversationId, serial: &mut usize) -> Change {
    let messages = some_messages(rng, serial);
    let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
    let (branch, shown) = model.head;
    let new = id(BranchId::new);
    let path = model.path().to_vec();
    let (at, base) = match rng.u32(0..6) {
        0 => {
            let cut = rng.usize(..=path.len());
            (
                MessageAt::After { message: cut.checked_sub(1).map(|last| path[last]), branch: new },
                Some(path[..cut].to_vec()),
            )
        }
        1 if !path.is_empty() => {
            let cut = rng.usize(..path.len());
            (MessageAt::InsteadOf { message: path[cut], branch: new }, Some(path[..cut].to_vec()))
        }
        2 => {
            let other = if rng.bool() { branch } else { rng.usize(..model.branches.len()) };
            model.learn(&messages, other);
            model.branches[other].1.extend(&ids);
            let end = model.branches[other].1.len();
            model.go((other, end));
            (MessageAt::Branch { branch: model.branches[other].0 }, None)
        }
        _ if shown == model.branches[branch].1.len() => {
            model.learn(&messages, branch);
            model.branches[branch].1.extend(&ids);
            model.go((branch, shown + ids.len()));
            (MessageAt::Head { branch: new }, None)
        }
        _ => (MessageAt::Head { branch: new }, Some(path)),
    };
    if let Some(mut path) = base {
        model.learn(&messages, model.branches.len());
        path.extend(ids);
        model.open(new, path);
    }
    Change::AppendMessages {
        conversation,
        at,
        head: HeadMove::Follow,
        why: BranchReason::Fork,
        messages,
        origins: Vec::new(),
    }
}

fn move_head(rng: &mut Rng, model: &mut Model, conversation: ConversationId) -> Option<Change> {
    let to = match rng.u32(0..10) {
        0 => {
            let new = id(BranchId::new);
            model.open(new, Vec::new());
            HeadTarget::Empty(new)
        }
        1..4 => {
            let branch = rng.usize(..model.branches.len());
            model.go((branch, model.branches[branch].1.len()));
            HeadTarget::End(model.branches[branch].0)
        }
        _ => {
            let branch = rng.usize(..model.branches.len());
            let message = *rng.choice(&model.branches[branch].1)?;
            // On the shown path if the message is on it, else on its own branch.
            let place = |path: &[MessageId]| path.iter().position(|id| *id == message);
            let own = model.texts[&message].2;
            let head = match place(model.path()) {
                Some(place) => (model.head.0, place + 1),
                None => (own, place(&model.branches[own].1).expect("a branch holds its own messages") + 1),
            };
            model.go(head);
            HeadTarget::Message(message)
        }
    };
    Some(Change::MoveHead { conversation, to })
}

fn splice_somewhere(
    rng: &mut Rng,
    model: &mut Model,
    conversation: ConversationId,
    serial: &mut usize,
) -> Option<Change> {
    let path = model.path().to_vec();
    let (start, end, at) = match rng.bool() {
        true => {
            let cut = rng.usize(..=path.len());
            (cut, cut, SplicePosition::After(cut.checked_sub(1).map(|last| path[last])))
        }
        false if path.is_empty() => return None,
        false => {
            let first = rng.usize(..path.len());
            let last = (first + rng.usize(..4)).min(path.len() - 1);
            (first, last + 1, instead_of(path[first], path[last]))
        }
    };
    let inserts = matches!(at, SplicePosition::After(_)) || rng.bool();
    let messages = if inserts { some_messages(rng, serial) } else { Vec::new() };
    let mut spliced = path[..start].to_vec();
    spliced.extend(messages.iter().map(|message| message.id));
    spliced.extend(&path[end..]);
    let branch = id(BranchId::new);
    model.learn(&messages, model.branches.len());
    model.open(branch, spliced);
    Some(Change::Splice { conversation, branch, at, messages, origins: Vec::new() })
}

fn describe(rng: &mut Rng, model: &mut Model, conversation: ConversationId) -> Change {
    let mut patch = ConversationPatch::default();
    if rng.bool() {
        let title = format!("title {}", rng.u8(..));
        patch.title = Some(title.clone());
        let old = std::mem::replace(&mut model.title, title);
        model.did(Old::Title(old));
    } else {
        let old = model.tags.clone();
        for _ in 0..2 {
            let tag = format!("tag {}", rng.u8(0..6));
            match rng.bool() && !patch.remove_tags.contains(&tag) {
                true => drop((patch.add_tags.insert(tag.clone()), model.tags.insert(tag))),
                false if patch.add_tags.contains(&tag) => {}
                false => drop((patch.remove_tags.insert(tag.clone()), model.tags.remove(&tag))),
            }
        }
        model.did(Old::Tags(old));
    }
    Change::EditConversation { id: conversation, patch }
}

fn set_state(rng: &mut Rng, model: &mut Model, conversation: ConversationId) -> Change {
    let after = if rng.u8(0..4) == 0 { None } else { rng.choice(model.path()).copied() };
    let value = rng.u32(..).to_string();
    model.states.push((after, value.clone(), true));
    model.did(Old::State(model.states.len() - 1));
    Change::SetState { conversation, name: "s".to_owned(), after, value: Some(json(&value)) }
}

async fn step(
    store: &dyn Store,
    model: &mut Model,
    conversation: ConversationId,
    step: UndoDirection,
) -> Option<Change> {
    let target = store.undo_target(UndoScope::Conversation(conversation), step).await.expect("readable");
    let from = if step == UndoDirection::Undo { &mut model.undo } else { &mut model.redo };
    let Some(old) = from.pop() else {
        // Nothing is left but the making of the conversation.
        assert!(step == UndoDirection::Undo || target.is_none());
        return None;
    };
    let now = model.swap(old);
    if step == UndoDirection::Undo { &mut model.redo } else { &mut model.undo }.push(now);
    Some(Change::Undo { position: target.expect("the model has something") })
}

async fn compare(store: &dyn Store, model: &Model, conversation: ConversationId, rng: &mut Rng, n: usize, said: &str) {
    let found = path(store, conversation, None).await;
    let line = model.line(model.path());
    assert_eq!(words_of(&found), line, "operation {n}: {said}");
    let now = shown(store, conversation).await;
    let words: u32 = line.iter().map(|text| word_count::count_words(text)).sum();
    let tokens: u32 = model.path().iter().map(|id| model.texts[id].1).sum();
    let expected = (line.len() as i64, i64::from(words), i64::from(tokens));
    assert_eq!((now.messages, now.words, now.tokens), expected, "operation {n}: {said}");
    assert_eq!((&now.title, &now.tags), (&model.title, &model.tags), "operation {n}: {said}");
    assert_eq!(now.head, model.path().last().copied());
    let state = store.state(conversation, "s".to_owned(), None).await.expect("readable");
    assert_eq!(state.as_ref().map(Json::text), model.state(), "operation {n}: {said}");
    if let Some(from) = rng.choice(model.path()) {
        let place = model.path().iter().position(|id| id == from).expect("chosen from it");
        let limit = rng.u32(1..6);
        let direction = if rng.bool() { Direction::Forward } else { Direction::Backward };
        let query = MessagePageQuery { conversation, branch: None, from: Some(*from), direction, limit };
        let window = store.message_page(query).await.expect("readable");
        let (start, end) = match direction {
            Direction::Forward => (place + 1, (place + 1 + limit as usize).min(line.len())),
            Direction::Backward => (place.saturating_sub(limit as usize), place),
        };
        assert_eq!(words_of(&window.messages), line[start..end], "operation {n}: {said}");
    }
}
