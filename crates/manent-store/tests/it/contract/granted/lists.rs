//! Lists: what is within, in pages as full as they can be.

use super::*;

/// Reads a list to its end, in pages of two that must be full.
async fn listed(store: &dyn Store, query: ListQuery) -> Vec<ConversationId> {
    let mut query = ListQuery { limit: 2, ..query };
    let mut found = Vec::new();
    loop {
        let page = store.conversations(query.clone()).await.expect("readable");
        assert!(page.conversations.len() == 2 || page.next.is_none(), "a page is full, or the last");
        found.extend(page.conversations.iter().map(|conversation| conversation.id));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return found,
        }
    }
}

/// The conversations of a few people and projects, in no order that could be taken for one.
async fn crowd(whole: &Whole) -> Vec<Conversation> {
    let (first, second) = (project(whole, "first").await, project(whole, "second").await);
    let mut ids = Vec::new();
    for n in 0..24 {
        let creator = ["ann", "bob", "", "cleo"][n % 4];
        let members: &[&str] = [&["ann"][..], &[], &["bob", "ann"], &["bob"], &[]][n % 5];
        let project = [Some(first), None, Some(second)][n % 3];
        let conversation = talk(whole, creator, members, project).await;
        let active_at = at([5, 3, 9, 1][n % 4] * 1_000 + n as i64);
        let times = ConversationTimes { created_at: active_at, active_at, trashed_at: None };
        let pinned = Some(n % 7 == 0);
        let status = [ConversationStatus::Active, ConversationStatus::Archived, ConversationStatus::Active][n % 3];
        let status = Some(status);
        patch(&**whole, conversation, ConversationPatch { times: Some(times), pinned, status, ..Default::default() })
            .await;
        ids.push(conversation);
    }
    let mut all = Vec::new();
    for id in ids {
        all.push(shown(&**whole, id).await);
    }
    all
}

fn access_scopes_of(all: &[Conversation]) -> Vec<AccessScope> {
    let of = |place: usize| all[place].project.expect("a project");
    let mut access_scopes = vec![AccessScope::default(), projects(&[of(0)]), projects(&[of(0), of(2)]), projects(&[])];
    for name in ["ann", "bob", "cleo", "nobody"] {
        access_scopes.push(user(name));
        access_scopes.push(AccessScope { projects: projects(&[of(2)]).projects, ..user(name) });
    }
    access_scopes
}

pub async fn a_list_is_the_part_of_the_whole_list_that_is_within(whole: &Whole) {
    let all = crowd(whole).await;
    let statuses = vec![ConversationStatus::Active, ConversationStatus::Archived];
    for access in access_scopes_of(&all) {
        let store = granted(whole, access.clone());
        let holds = |id: &ConversationId| all.iter().any(|one| one.id == *id && access.holds(one));
        for order in [ListOrder::Activity, ListOrder::Created] {
            for member in [None, Some("ann"), Some("bob"), Some("nobody")] {
                for creator in [None, Some("ann")] {
                    for statuses in [vec![], statuses.clone()] {
                        let query = ListQuery {
                            order,
                            statuses,
                            member: member.map(str::to_owned),
                            creator: creator.map(str::to_owned),
                            ..ListQuery::default()
                        };
                        let mut expected = listed(&**whole, query.clone()).await;
                        expected.retain(holds);
                        assert_eq!(listed(&*store, query.clone()).await, expected, "{access:?} {query:?}");
                        let count = store.count_conversations(query).await.expect("countable");
                        assert_eq!(count, BoundedCount { n: expected.len() as u32, more: false });
                    }
                }
            }
        }
    }
}

/// The member filter finds members independently of the creator; a creator who is not a member is not found.
pub async fn a_list_by_member_follows_who_takes_part(whole: &Whole) {
    let conversation = talk(whole, "ann", &["bob", "bob"], None).await;
    let of = async |name: &str| {
        let query = ListQuery { member: Some(name.to_owned()), ..ListQuery::default() };
        whole.conversations(query).await.expect("readable").conversations.len()
    };
    assert_eq!((of("ann").await, of("bob").await, of("cleo").await), (0, 1, 0));
    set_members(&**whole, conversation, &["cleo", "ann"]).await;
    assert_eq!((of("ann").await, of("bob").await, of("cleo").await), (1, 0, 1));
    undo(&**whole, UndoScope::Conversation(conversation)).await;
    assert_eq!((of("ann").await, of("bob").await, of("cleo").await), (0, 1, 0));
    redo(&**whole, UndoScope::Conversation(conversation)).await;
    assert_eq!((of("ann").await, of("bob").await, of("cleo").await), (1, 0, 1));
    sound(&**whole).await;
}

pub async fn ids_are_told_only_within(whole: &Whole) {
    let world = World::new(whole).await;
    for (access, within) in world.access_scopes() {
        let store = granted(whole, access.clone());
        let mut found: Vec<ConversationId> = Vec::new();
        loop {
            let page = store.conversation_ids(found.last().copied(), 1).await.expect("readable");
            match page.first() {
                Some(next) => found.push(*next),
                None => break,
            }
        }
        let expected: Vec<ConversationId> =
            world.conversations().into_iter().filter(|id| within.contains(id)).collect();
        assert_eq!(found, expected, "{access:?}");
        let begins = async |kind, text: String| store.ids_by_prefix(kind, text, 10).await.expect("readable").len();
        for things in [&world.own, &world.other] {
            let is_within = usize::from(within.contains(&things.conversation));
            assert_eq!(begins(IdKind::Conversation, things.conversation.to_string()).await, is_within, "{access:?}");
            assert_eq!(begins(IdKind::Message, things.first.to_string()).await, is_within, "{access:?}");
            let is_seen = store.project(things.project).await.expect("readable").is_some();
            assert_eq!(begins(IdKind::Project, things.project.to_string()).await, usize::from(is_seen), "{access:?}");
        }
    }
}

pub async fn open_tool_calls_are_those_within(whole: &Whole) {
    let world = World::new(whole).await;
    for (access, within) in world.access_scopes() {
        let store = granted(whole, access.clone());
        let found = store.open_tool_calls(10).await.expect("readable");
        let found: Vec<ConversationId> = found.into_iter().map(|(conversation, _)| conversation).collect();
        let expected: Vec<ConversationId> = [world.own.conversation, world.other.conversation]
            .into_iter()
            .filter(|conversation| within.contains(conversation))
            .collect();
        assert_eq!(found, expected, "{access:?}");
        let one = store.open_tool_calls(1).await.expect("readable");
        assert_eq!(one.len(), expected.len().min(1), "the page holds as many as it can");
    }
}

pub async fn the_journal_holds_rows_of_conversations_within(whole: &Whole) {
    let world = World::new(whole).await;
    let all = journal(&**whole, 0, 1_000).await;
    for (access, within) in world.access_scopes() {
        let store = granted(whole, access.clone());
        let expected: Vec<JournalEntry> = match access.is_limited() {
            true => all
                .iter()
                .filter(|entry| entry.conversation.is_some_and(|conversation| within.contains(&conversation)))
                .cloned()
                .collect(),
            false => all.clone(),
        };
        let (mut found, mut query) = (Vec::new(), JournalQuery { limit: 3, ..JournalQuery::default() });
        loop {
            let page = store.journal(query.clone()).await.expect("readable");
            assert!(page.entries.len() == 3 || !page.more, "{access:?}: a page is full, or the last");
            assert!(
                !page.entries.is_empty() || found.is_empty(),
                "{access:?}: where there is more, there is something"
            );
            found.extend(page.entries);
            query.after = page.scanned_to;
            if !page.more {
                break;
            }
        }
        assert_eq!(found, expected, "{access:?}");
        let last = all.last().map(|last| last.position + last.count - 1);
        assert_eq!(Some(query.after), last, "the cursor is behind everything that was scanned");
    }
}

pub async fn statistics_count_what_is_within(whole: &Whole) {
    let world = World::new(whole).await;
    for (access, within) in world.access_scopes() {
        let store = granted(whole, access.clone());
        let (mut conversations, mut messages) = (0, 0);
        for conversation in &within {
            let shown = shown(&**whole, *conversation).await;
            conversations += 1;
            messages += shown.messages;
        }
        let stats = store.stats(StatsQuery::default()).await.expect("countable");
        assert_eq!((stats.conversations, stats.total.messages), (conversations, messages), "{access:?}");
    }
    let store = granted(whole, user("ann"));
    let stats = store.stats(StatsQuery::project(world.other_project)).await.expect("one of hers is in it");
    assert_eq!(stats.conversations, 1);
    let unknown_user = granted(whole, user("nobody"));
    let never = id(ProjectId::new);
    let outside = unknown_user.stats(StatsQuery::project(world.own_project)).await.expect_err("outside").to_string();
    let unknown = unknown_user.stats(StatsQuery::project(never)).await.expect_err("unknown").to_string();
    assert_eq!(outside.replace(&world.own_project.to_string(), &never.to_string()), unknown);
    let list = |project| ListQuery { project: Some(project), ..ListQuery::default() };
    assert_eq!(unknown_user.conversations(list(world.own_project)).await.expect_err("outside").code(), "not_found");
    assert_eq!(store.conversations(list(world.own_project)).await.expect("hers").conversations.len(), 1);
}
