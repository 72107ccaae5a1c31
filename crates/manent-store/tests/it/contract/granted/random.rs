//! Any mix of people, projects and changes: a key lists exactly the part that its access scope includes.

use super::*;
use fastrand::Rng;
use manent_text::{Clock, Query};
use std::collections::BTreeSet;

const PEOPLE: [&str; 5] = ["", "ann", "bob", "Ünal\u{1}\0", "ann "];
const STEPS: usize = 120;

struct Mix {
    whole: Whole,
    rng: Rng,
    projects: Vec<ProjectId>,
    conversations: Vec<ConversationId>,
}

impl Mix {
    fn people(&mut self) -> Vec<Author> {
        (0..self.rng.usize(..4)).map(|_| author(PEOPLE[self.rng.usize(..PEOPLE.len())])).collect()
    }

    fn project(&mut self) -> Option<ProjectId> {
        self.rng.bool().then(|| self.projects[self.rng.usize(..self.projects.len())])
    }

    async fn step(&mut self) {
        if self.conversations.is_empty() || self.rng.u8(..4) == 0 {
            let (members, project) = (self.people(), self.project());
            let creator = self.people().pop();
            let conversation = id(ConversationId::new);
            let draft = ConversationDraft { members, project, creator, ..ConversationDraft::default() };
            let branch = id(BranchId::new);
            let change = Change::CreateConversation { id: conversation, branch, draft, importing: false };
            // A project that was taken back cannot be named.
            if try_commit(&*self.whole, change).await.is_ok() {
                self.conversations.push(conversation);
            }
            return;
        }
        let conversation = self.conversations[self.rng.usize(..self.conversations.len())];
        let edit = |patch| Change::EditConversation { id: conversation, patch };
        let change = match self.rng.u8(..12) {
            0..3 => edit(ConversationPatch { members: Some(self.people()), ..Default::default() }),
            3..5 => edit(ConversationPatch { project: Some(self.project()), ..Default::default() }),
            5 => edit(ConversationPatch { status: Some(ConversationStatus::Archived), ..Default::default() }),
            6 => Change::Step { scope: UndoScope::Conversation(conversation), step: UndoDirection::Undo },
            7 => Change::Step { scope: UndoScope::Conversation(conversation), step: UndoDirection::Redo },
            8 => Change::Step { scope: UndoScope::Everything, step: UndoDirection::Undo },
            9 if self.rng.u8(..4) == 0 => Change::Erase { target: EraseTarget::Conversation(conversation) },
            10 if self.rng.u8(..6) == 0 => {
                let person = PEOPLE[1 + self.rng.usize(..PEOPLE.len() - 1)];
                Change::Erase { target: EraseTarget::Person(person.to_owned()) }
            }
            _ => append(conversation, vec![message("user", "a word")]),
        };
        // Much of it is refused: what is gone cannot be changed, and what is new cannot be taken back twice.
        let _ = try_commit(&*self.whole, change).await;
    }

    /// All conversations, as an unrestricted key sees them.
    async fn all(&self) -> Vec<Conversation> {
        let mut all = Vec::new();
        for id in self.whole.conversation_ids(None, 1_000).await.expect("readable") {
            all.push(shown(&*self.whole, id).await);
        }
        all
    }

    fn access(&mut self) -> AccessScope {
        let user = self.rng.bool().then(|| PEOPLE[self.rng.usize(..PEOPLE.len())].to_owned());
        let projects = (user.is_none() || self.rng.bool()).then(|| {
            let mut some = BTreeSet::new();
            for project in &self.projects {
                if self.rng.bool() {
                    some.insert(*project);
                }
            }
            some
        });
        AccessScope { user, projects }
    }
}

pub async fn every_list_of_a_grant_is_the_filter_of_the_whole_list(whole: &Whole) {
    let seed =
        std::env::var("MANENT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("MANENT_SEED={seed}");
    let mut projects = Vec::new();
    for name in ["one", "two", "three"] {
        projects.push(project(whole, name).await);
    }
    let mut mix = Mix { whole: whole.clone(), rng: Rng::with_seed(seed), projects, conversations: Vec::new() };
    for round in 0..4 {
        for _ in 0..STEPS / 4 {
            mix.step().await;
        }
        if round == 2 {
            let _ = try_commit(&**whole, Change::RemoveProject { id: mix.projects[2] }).await;
        }
        let all = mix.all().await;
        for _ in 0..8 {
            let access = mix.access();
            compare(whole, &all, &access).await;
        }
    }
    sound(&**whole).await;
}

async fn compare(whole: &Whole, all: &[Conversation], access: &AccessScope) {
    let store = granted(whole, access.clone());
    let within: Vec<&Conversation> = all.iter().filter(|one| access.holds(one)).collect();
    let ids: Vec<ConversationId> = within.iter().map(|one| one.id).collect();
    assert_eq!(store.conversation_ids(None, 1_000).await.expect("readable"), ids, "{access:?}");
    for one in all {
        let found = store.conversation(ConversationRef::Id(one.id)).await.expect("readable");
        assert_eq!(found.is_some(), access.holds(one), "{access:?} {one:?}");
    }
    let statuses = vec![ConversationStatus::Active, ConversationStatus::Archived];
    for order in [ListOrder::Activity, ListOrder::Created] {
        let query = ListQuery { order, statuses: statuses.clone(), limit: 1_000, ..ListQuery::default() };
        let mut expected = whole.conversations(query.clone()).await.expect("readable").conversations;
        expected.retain(|one| access.holds(one));
        assert_eq!(store.conversations(query.clone()).await.expect("readable").conversations, expected, "{access:?}");
        let count = store.count_conversations(query).await.expect("countable");
        assert_eq!(count.n as usize, expected.len());
    }
    let stats = store.stats(StatsQuery::default()).await.expect("countable");
    let messages: i64 = within.iter().map(|one| one.messages).sum();
    assert_eq!((stats.conversations as usize, stats.total.messages), (within.len(), messages), "{access:?}");
    // What was taken back has rows too, and comes again: of those that can be seen, the rows are the same.
    let is_seen = |entry: &JournalEntry| entry.conversation.is_some_and(|id| all.iter().any(|one| one.id == id));
    let mut expected = journal(&**whole, 0, 1_000).await;
    expected.retain(|entry| entry.conversation.is_some_and(|id| ids.contains(&id)));
    let mut rows = match access.is_limited() {
        true => journal(&*store, 0, 1_000).await,
        false => expected.clone(),
    };
    rows.retain(is_seen);
    assert_eq!(rows, expected, "{access:?}");
    let clock = Clock { now: at(0), offset_seconds: 0 };
    let search = Search { limit: 100, ..Search::new(Query::parse("word", clock).expect("a query"), at(0)) };
    let hits = |found: SearchPage| found.hits.into_iter().map(|hit| hit.message).collect::<Vec<_>>();
    let mut expected = whole.search(search.clone()).await.expect("searchable");
    assert_eq!(expected.next, None, "a page holds them all");
    expected.hits.retain(|hit| ids.contains(&hit.conversation));
    assert_eq!(hits(store.search(search).await.expect("searchable")), hits(expected), "{access:?}");
}
