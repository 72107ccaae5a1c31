//! Conversations: made, described, listed.

use crate::kit::*;
use manent_model::*;
use manent_store::*;
use std::collections::BTreeSet;

fn create(draft: ConversationDraft) -> (ConversationId, Change) {
    let conversation = id(ConversationId::new);
    (conversation, Change::CreateConversation { id: conversation, branch: id(BranchId::new), draft, importing: false })
}

async fn made(store: &dyn Store, draft: ConversationDraft, seconds: i64) -> ConversationId {
    let (id, change) = create(draft);
    store.commit(Transaction::of(at(seconds), change)).await.expect("it can be made");
    id
}

fn titled(title: &str) -> ConversationDraft {
    ConversationDraft { title: title.to_owned(), ..ConversationDraft::default() }
}

fn person(id: &str) -> Author {
    Author { id: id.to_owned(), name: id.to_uppercase() }
}

fn tags(tags: &[&str]) -> BTreeSet<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

/// Reads a list in pages of two and returns the titles.
async fn titles(store: &dyn Store, query: ListQuery) -> Vec<String> {
    let mut query = ListQuery { limit: 2, ..query };
    let mut titles = Vec::new();
    loop {
        let page = store.conversations(query.clone()).await.expect("it can be listed");
        assert!(page.conversations.len() <= 2 && titles.len() < 100, "pages are short and come to an end");
        titles.extend(page.conversations.into_iter().map(|conversation| conversation.title));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return titles,
        }
    }
}

pub async fn a_conversation_comes_back_as_it_was_made(store: &dyn Store) {
    let project = Project {
        id: id(ProjectId::new),
        kind: "project".to_owned(),
        name: "p".to_owned(),
        instructions: String::new(),
        facts: Default::default(),
        metadata: None,
        version: 1,
    };
    commit(store, Change::CreateProject { project: project.clone() }).await;
    let earlier = conversation(store, "earlier").await;
    let draft = ConversationDraft {
        external_id: Some("ext\0é".to_owned()),
        title: "a\0b 🙂 ß".to_owned(),
        kind: ConversationKind::Group,
        project: Some(project.id),
        creator: Some(person("ann")),
        members: vec![person("ann"), person("bob")],
        tags: tags(&["x", "ÿ", "🙂"]),
        metadata: Some(json(r#"{"b" : 1.50, "a":null,"a":1e400, "s":"\ud800", "nul":"\u0000"}"#)),
        continued_from: Some(earlier),
        forked_from: Some(earlier),
    };
    let made = made(store, draft.clone(), 7).await;
    let shown = shown(store, made).await;
    assert_eq!(shown.external_id, draft.external_id);
    assert_eq!((shown.title, shown.kind, shown.project), (draft.title, draft.kind, draft.project));
    assert_eq!((shown.creator, shown.members, shown.tags), (draft.creator, draft.members, draft.tags));
    assert_eq!((shown.metadata, shown.forked_from), (draft.metadata, draft.forked_from));
    assert_eq!((shown.continued_from, shown.status), (draft.continued_from, ConversationStatus::Active));
    assert_eq!((shown.created_at, shown.active_at, shown.trashed_at), (at(7), at(7), None));
    assert_eq!((shown.head, shown.messages, shown.pinned), (None, 0, false));
    let by_external = store.conversation(ConversationRef::External("ext\0é".to_owned())).await.expect("readable");
    assert_eq!(by_external.map(|found| found.id), Some(made));
    let none = store.conversation(ConversationRef::External("ext".to_owned())).await.expect("readable");
    assert_eq!(none, None);
    assert_eq!(store.conversation(ConversationRef::Id(id(ConversationId::new))).await.expect("readable"), None);
    sound(store).await;
}

pub async fn the_same_external_id_again_is_a_retry(store: &dyn Store) {
    let draft = ConversationDraft { external_id: Some("e".to_owned()), ..titled("first") };
    let (first, change) = create(draft.clone());
    commit(store, change.clone()).await;
    assert_eq!(commit(store, change).await.results, [ChangeResult::Conversation(first)]);
    let (_, again) = create(ConversationDraft { title: "second".to_owned(), ..draft });
    assert_eq!(commit(store, again).await.results, [ChangeResult::Conversation(first)]);
    assert_eq!(titles(store, ListQuery::default()).await, ["first"]);
    assert_eq!(shown(store, first).await.version, 1, "a retry changes nothing");
    sound(store).await;
}

pub async fn a_taken_id_refuses_another_conversation(store: &dyn Store) {
    let (first, change) = create(titled("first"));
    commit(store, change).await;
    let other = ConversationDraft { external_id: Some("e".to_owned()), ..titled("other") };
    let change = Change::CreateConversation { id: first, branch: id(BranchId::new), draft: other, importing: false };
    refused(store, change, "exists").await;
    let branch = store.branches(first).await.expect("readable")[0].id;
    let change =
        Change::CreateConversation { id: id(ConversationId::new), branch, draft: titled("third"), importing: false };
    refused(store, change, "exists").await;
    let (_, change) = create(ConversationDraft { project: Some(id(ProjectId::new)), ..titled("fourth") });
    refused(store, change, "not_found").await;
    assert_eq!(titles(store, ListQuery::default()).await, ["first"]);
    sound(store).await;
}

pub async fn an_edit_changes_what_it_names_and_nothing_else(store: &dyn Store) {
    let draft = ConversationDraft {
        members: vec![person("ann")],
        tags: tags(&["a", "b"]),
        metadata: Some(json("{\"k\": 1}")),
        ..titled("old")
    };
    let made = made(store, draft, 0).await;
    let before = shown(store, made).await;
    patch(store, made, ConversationPatch { title: Some("new\0".to_owned()), ..Default::default() }).await;
    let expected = Conversation { title: "new\0".to_owned(), version: before.version + 1, ..before };
    assert_eq!(shown(store, made).await, expected);

    let changes = ConversationPatch {
        pinned: Some(true),
        members: Some(vec![person("bob"), person("cy")]),
        add_tags: tags(&["b", "c"]),
        remove_tags: tags(&["a", "never"]),
        metadata: Some(Some(json(r#"{"x":"\udfff"}"#))),
        ..Default::default()
    };
    patch(store, made, changes).await;
    let expected = Conversation {
        pinned: true,
        members: vec![person("bob"), person("cy")],
        tags: tags(&["b", "c"]),
        metadata: Some(json(r#"{"x":"\udfff"}"#)),
        version: expected.version + 1,
        ..expected
    };
    assert_eq!(shown(store, made).await, expected);

    let times = ConversationTimes { created_at: at(-50), active_at: at(-40), trashed_at: None };
    let changes = ConversationPatch { times: Some(times), metadata: Some(None), ..Default::default() };
    patch(store, made, changes).await;
    let now = shown(store, made).await;
    assert_eq!((now.created_at, now.active_at, now.metadata), (at(-50), at(-40), None));
    assert_eq!(now.members.len(), 2);
    sound(store).await;
}

pub async fn an_edit_of_something_unknown_is_refused(store: &dyn Store) {
    let made = made(store, titled("a"), 0).await;
    let patch = ConversationPatch { title: Some("b".to_owned()), ..Default::default() };
    let unknown = Change::EditConversation { id: id(ConversationId::new), patch: patch.clone() };
    refused(store, unknown, "not_found").await;
    let patch = ConversationPatch { project: Some(Some(id(ProjectId::new))), ..patch };
    refused(store, Change::EditConversation { id: made, patch }, "not_found").await;
    let patch = ConversationPatch { status: Some(ConversationStatus::Importing), ..Default::default() };
    refused(store, Change::EditConversation { id: made, patch }, "invalid").await;
    assert_eq!(shown(store, made).await.title, "a");
    sound(store).await;
}

pub async fn a_conversation_goes_through_its_life(store: &dyn Store) {
    let id_of = id(ConversationId::new);
    let change =
        Change::CreateConversation { id: id_of, branch: id(BranchId::new), draft: titled("life"), importing: true };
    commit(store, change).await;
    assert_eq!(shown(store, id_of).await.status, ConversationStatus::Importing);
    for status in [
        ConversationStatus::Active,
        ConversationStatus::Archived,
        ConversationStatus::Trashed,
        ConversationStatus::Active,
    ] {
        let change = Change::EditConversation {
            id: id_of,
            patch: ConversationPatch { status: Some(status), ..Default::default() },
        };
        store.commit(Transaction::of(at(9), change)).await.expect("it may");
        let trashed = (status == ConversationStatus::Trashed).then_some(at(9));
        let now = shown(store, id_of).await;
        assert_eq!((now.status, now.trashed_at), (status, trashed));
        for listed in [ConversationStatus::Active, ConversationStatus::Archived, ConversationStatus::Trashed] {
            let query = ListQuery { statuses: vec![listed], ..Default::default() };
            assert_eq!(titles(store, query).await.len(), usize::from(listed == status));
        }
        let active = usize::from(status == ConversationStatus::Active);
        assert_eq!(titles(store, ListQuery::default()).await.len(), active, "only the active ones unless asked");
    }
    sound(store).await;
}

pub async fn a_list_shows_pinned_first_then_the_latest_in_pages(store: &dyn Store) {
    let mut ids = Vec::new();
    for n in 0..7 {
        // Pairs share a time, so that pages end between equals.
        ids.push(made(store, titled(&n.to_string()), n / 2).await);
    }
    let pin = ConversationPatch { pinned: Some(true), ..Default::default() };
    patch(store, ids[1], pin.clone()).await;
    patch(store, ids[4], pin).await;
    assert_eq!(titles(store, ListQuery::default()).await, ["4", "1", "6", "5", "3", "2", "0"]);
    store.commit(Transaction::of(at(100), append(ids[0], vec![message("user", "late")]))).await.expect("it may");
    assert_eq!(titles(store, ListQuery::default()).await, ["4", "1", "0", "6", "5", "3", "2"]);
    let all = store.conversation_ids(None, 4).await.expect("readable");
    assert_eq!(all, ids[..4]);
    assert_eq!(store.conversation_ids(Some(ids[3]), 100).await.expect("readable"), ids[4..]);
    sound(store).await;
}

pub async fn every_filter_of_a_list_narrows_it(store: &dyn Store) {
    let project = id(ProjectId::new);
    let named = Project {
        id: project,
        kind: "project".to_owned(),
        name: "p".to_owned(),
        instructions: String::new(),
        facts: Default::default(),
        metadata: None,
        version: 1,
    };
    commit(store, Change::CreateProject { project: named }).await;
    made(store, ConversationDraft { kind: ConversationKind::Agent, ..titled("kind") }, 1).await;
    made(store, ConversationDraft { project: Some(project), ..titled("project") }, 2).await;
    made(store, ConversationDraft { tags: tags(&["Tag"]), ..titled("tag") }, 3).await;
    made(store, ConversationDraft { creator: Some(person("ann")), ..titled("creator") }, 4).await;
    let metadata = Some(json(r#"{"color":"red","n":7,"s":"\ud800"}"#));
    made(store, ConversationDraft { metadata, ..titled("metadata") }, 5).await;
    let pinned = made(store, ConversationDraft { members: vec![person("bob")], ..titled("Ärger und 天气") }, 6).await;
    patch(store, pinned, ConversationPatch { pinned: Some(true), ..Default::default() }).await;
    let query = ListQuery::default;
    let kind = Some(ConversationKind::Agent);
    assert_eq!(titles(store, ListQuery { kind, ..query() }).await, ["kind"]);
    assert_eq!(titles(store, ListQuery { project: Some(project), ..query() }).await, ["project"]);
    assert_eq!(titles(store, ListQuery { tag: Some("Tag".to_owned()), ..query() }).await, ["tag"]);
    assert_eq!(titles(store, ListQuery { tag: Some("tag".to_owned()), ..query() }).await, [""; 0]);
    assert_eq!(titles(store, ListQuery { creator: Some("ann".to_owned()), ..query() }).await, ["creator"]);
    assert_eq!(titles(store, ListQuery { member: Some("bob".to_owned()), ..query() }).await, ["Ärger und 天气"]);
    assert_eq!(titles(store, ListQuery { member: Some("ann".to_owned()), ..query() }).await, [""; 0]);
    assert_eq!(titles(store, ListQuery { pinned: Some(true), ..query() }).await, ["Ärger und 天气"]);
    assert_eq!(titles(store, ListQuery { pinned: Some(false), ..query() }).await.len(), 5);
    assert_eq!(titles(store, ListQuery { since: Some(at(5)), ..query() }).await, ["Ärger und 天气", "metadata"]);
    assert_eq!(titles(store, ListQuery { until: Some(at(2)), ..query() }).await, ["kind"]);
    for (key, value, found) in [
        ("color", None, 1),
        ("color", Some("red"), 1),
        ("color", Some("blue"), 0),
        ("n", Some("7"), 1),
        ("s", None, 1),
        ("none", None, 0),
    ] {
        let metadata = Some((key.to_owned(), value.map(str::to_owned)));
        assert_eq!(titles(store, ListQuery { metadata, ..query() }).await.len(), found, "{key} {value:?}");
    }
    assert_eq!(titles(store, ListQuery { title: Some("äRGER".to_owned()), ..query() }).await, ["Ärger und 天气"]);
    assert_eq!(titles(store, ListQuery { title: Some("天".to_owned()), ..query() }).await, ["Ärger und 天气"]);
    let unknown = ListQuery { project: Some(id(ProjectId::new)), ..query() };
    assert_eq!(store.conversations(unknown).await.expect_err("unknown").code(), "not_found");
}

pub async fn a_list_can_show_the_youngest_first(store: &dyn Store) {
    let mut ids = Vec::new();
    for (place, seconds) in [5, 1, 3, 3, 2].into_iter().enumerate() {
        ids.push(made(store, titled(&place.to_string()), seconds).await);
    }
    patch(store, ids[1], ConversationPatch { pinned: Some(true), ..Default::default() }).await;
    for (order, expected) in
        [(ListOrder::Activity, ["1", "0", "3", "2", "4"]), (ListOrder::Created, ["4", "3", "2", "1", "0"])]
    {
        for limit in [1, 2, 50] {
            let mut query = ListQuery { order, limit, ..ListQuery::default() };
            let mut seen = Vec::new();
            loop {
                let page = store.conversations(query.clone()).await.expect("readable");
                seen.extend(page.conversations.into_iter().map(|shown| shown.title));
                let Some(next) = page.next else { break };
                query.after = Some(next.to_string().parse().expect("what was written down"));
            }
            assert_eq!(seen, expected, "{order:?} by {limit}");
        }
    }
    let narrowed = ListQuery { order: ListOrder::Created, until: Some(at(3)), ..ListQuery::default() };
    assert_eq!(titles(store, narrowed).await, ["4", "1"]);
}

pub async fn a_list_is_counted_whatever_its_page(store: &dyn Store) {
    for place in 0..7 {
        made(store, titled(if place < 3 { "a" } else { "b" }), place).await;
    }
    let count = async |query: ListQuery| store.count_conversations(query).await.expect("readable");
    let query = || ListQuery { limit: 2, ..ListQuery::default() };
    assert_eq!(count(query()).await, BoundedCount { n: 7, more: false });
    assert_eq!(count(ListQuery { title: Some("A".to_owned()), ..query() }).await, BoundedCount { n: 3, more: false });
    assert_eq!(count(ListQuery { since: Some(at(5)), ..query() }).await, BoundedCount { n: 2, more: false });
    assert_eq!(count(ListQuery { tag: Some("none".to_owned()), ..query() }).await, BoundedCount { n: 0, more: false });
    let next = store.conversations(query()).await.expect("readable").next;
    assert!(next.is_some());
    assert_eq!(count(ListQuery { after: next, ..query() }).await, BoundedCount { n: 7, more: false });
    for _ in 0..5 {
        let create = |_| Change::CreateConversation {
            id: id(ConversationId::new),
            branch: id(BranchId::new),
            draft: titled("b"),
            importing: false,
        };
        let changes = (0..2_000).map(create).collect();
        store.commit(Transaction { changes, ..Transaction::of(at(9), create(0)) }).await.expect("it may");
    }
    assert_eq!(count(ListQuery { title: Some("a".to_owned()), ..query() }).await, BoundedCount { n: 3, more: false });
    assert_eq!(count(query()).await, BoundedCount { n: 10_000, more: true });
}

pub async fn ids_are_found_by_the_beginning_of_their_text(store: &dyn Store) {
    let (a, b, trashed, purged, undone) = (
        conversation(store, "a").await,
        conversation(store, "b").await,
        conversation(store, "trashed").await,
        conversation(store, "purged").await,
        conversation(store, "undone").await,
    );
    let ids = say(store, a, &["one", "two"]).await;
    let gone = say(store, purged, &["gone"]).await[0];
    uncreate(store, undone).await;
    for id in [trashed, purged] {
        let status = Some(ConversationStatus::Trashed);
        patch(store, id, ConversationPatch { status, ..Default::default() }).await;
    }
    while commit(store, Change::Purge { conversation: purged }).await.results != [ChangeResult::Purged(true)] {}
    let found = async |kind: IdKind, prefix: &str| store.ids_by_prefix(kind, prefix.to_owned(), 3).await.expect("ok");
    let (text, bytes) = (a.to_string(), |id: ConversationId| *id.as_bytes());
    assert_eq!(found(IdKind::Conversation, &text[..10]).await, [bytes(a), bytes(b), bytes(trashed)], "in order");
    let one = store.ids_by_prefix(IdKind::Conversation, text[..10].to_owned(), 1).await.expect("readable");
    assert_eq!(one, [bytes(a)], "as many as are asked for");
    assert_eq!(found(IdKind::Conversation, &text.to_lowercase()).await, [bytes(a)]);
    assert_eq!(found(IdKind::Conversation, &text[5..]).await, [bytes(a)], "without its prefix");
    for id in [purged, undone] {
        assert_eq!(found(IdKind::Conversation, &id.to_string()).await, [[0; 16]; 0]);
    }
    assert_eq!(found(IdKind::Message, &ids[1].to_string()).await, [*ids[1].as_bytes()]);
    assert_eq!(found(IdKind::Message, &gone.to_string()).await, [[0; 16]; 0]);
    assert_eq!(found(IdKind::Project, &text[5..10]).await, [[0; 16]; 0]);
    let project = Project {
        id: id(ProjectId::new),
        kind: "project".to_owned(),
        name: String::new(),
        instructions: String::new(),
        facts: Default::default(),
        metadata: None,
        version: 1,
    };
    let of_project = *project.id.as_bytes();
    commit(store, Change::CreateProject { project }).await;
    assert_eq!(found(IdKind::Project, &text[5..10]).await, [of_project]);
    undo(store, UndoScope::Workspace).await;
    assert_eq!(found(IdKind::Project, &text[5..10]).await, [[0; 16]; 0]);
    let problem = store.ids_by_prefix(IdKind::Message, "conv_01".to_owned(), 3).await.expect_err("no beginning");
    assert_eq!(problem.code(), "invalid");
}

pub async fn list_by_title_that_rarely_matches_ends_its_page_early(store: &dyn Store) {
    made(store, titled("needle"), 0).await;
    for part in 0..3_i64 {
        let changes = (0..1_600).map(|_| create(titled("hay")).1).collect();
        store
            .commit(Transaction { changes, ..Transaction::of(at(1 + part), create(titled("hay")).1) })
            .await
            .expect("made");
    }
    let query = |title: &str| ListQuery { title: Some(title.to_owned()), ..ListQuery::default() };
    let page = store.conversations(query("needle")).await.expect("it can be listed");
    assert!(page.conversations.is_empty() && page.next.is_some(), "a page looks at a bounded number of rows");
    let page = store.conversations(ListQuery { after: page.next, ..query("needle") }).await.expect("it can be listed");
    let titles: Vec<&str> = page.conversations.iter().map(|found| found.title.as_str()).collect();
    assert_eq!((titles, page.next), (vec!["needle"], None));
    let count = store.count_conversations(query("needle")).await.expect("it can be counted");
    assert_eq!((count.n, count.more), (1, false));
}
