//! Projects: what several conversations share.

use crate::kit::*;
use manent_model::*;
use manent_store::*;
use std::collections::BTreeMap;

pub(super) fn project(name: &str) -> Project {
    Project {
        id: id(ProjectId::new),
        kind: "instance".to_owned(),
        name: name.to_owned(),
        instructions: "be\0kind".to_owned(),
        facts: BTreeMap::from([("sky".to_owned(), "blue".to_owned())]),
        metadata: Some(json("{\"x\" : \"\\ud800\"}")),
        version: 1,
    }
}

pub async fn a_project_is_made_edited_and_removed(store: &dyn Store) {
    let (first, second) = (project("é"), project("Z"));
    for one in [&first, &second, &first] {
        commit(store, Change::CreateProject { project: one.clone() }).await;
    }
    assert_eq!(store.projects().await.expect("readable"), [first.clone(), second.clone()]);
    let patch = ProjectPatch {
        name: Some("new".to_owned()),
        instructions: None,
        facts: BTreeMap::from([("sky".to_owned(), None), ("sea".to_owned(), Some("deep".to_owned()))]),
        metadata: Some(None),
    };
    commit(store, Change::EditProject { id: first.id, patch: patch.clone() }).await;
    let edited = Project {
        name: "new".to_owned(),
        facts: BTreeMap::from([("sea".to_owned(), "deep".to_owned())]),
        metadata: None,
        version: 2,
        ..first.clone()
    };
    assert_eq!(store.projects().await.expect("readable"), [edited.clone(), second.clone()]);
    assert_eq!(store.project(first.id).await.expect("readable"), Some(edited));
    assert_eq!(store.project(id(ProjectId::new)).await.expect("readable"), None);
    refused(store, Change::EditProject { id: id(ProjectId::new), patch: patch.clone() }, "not_found").await;
    refused(store, Change::RemoveProject { id: id(ProjectId::new) }, "not_found").await;
    commit(store, Change::RemoveProject { id: first.id }).await;
    assert_eq!(store.projects().await.expect("readable"), [second]);
    assert_eq!(store.project(first.id).await.expect("readable"), None);
    refused(store, Change::EditProject { id: first.id, patch }, "not_found").await;
    refused(store, Change::RemoveProject { id: first.id }, "not_found").await;
    refused(store, Change::CreateProject { project: first }, "exists").await;
    sound(store).await;
}

pub async fn a_project_changes_only_at_the_version_that_was_read(store: &dyn Store) {
    let made = project("p");
    let expecting = async |version: i64, change: Change| {
        let expect = vec![Expect::Project { id: made.id, version }];
        store.commit(Transaction { expect, ..Transaction::of(at(1), change) }).await
    };
    let rename = || {
        let patch = ProjectPatch { name: Some("q".to_owned()), ..Default::default() };
        Change::EditProject { id: made.id, patch }
    };
    let create = Change::CreateProject { project: made.clone() };
    refused_as(expecting(1, create.clone()).await, "version_conflict");
    expecting(0, create.clone()).await.expect("there is none");
    refused_as(expecting(0, create).await, "version_conflict");
    expecting(1, rename()).await.expect("that version");
    refused_as(expecting(1, rename()).await, "version_conflict");
    expecting(2, Change::RemoveProject { id: made.id }).await.expect("that version");
    refused_as(expecting(2, document()).await, "version_conflict");
    expecting(0, document()).await.expect("it is gone");
    sound(store).await;
}

fn document() -> Change {
    Change::PutDocument { kind: "k".to_owned(), id: "i".to_owned(), project: None, body: Some(json("1")) }
}

pub async fn conversations_stay_when_their_project_goes(store: &dyn Store) {
    let shared = project("p");
    commit(store, Change::CreateProject { project: shared.clone() }).await;
    let conversation = conversation(store, "a").await;
    say(store, conversation, &["two words"]).await;
    let join = ConversationPatch { project: Some(Some(shared.id)), ..Default::default() };
    patch(store, conversation, join).await;
    assert_eq!(shown(store, conversation).await.project, Some(shared.id));
    let stats = store.stats(StatsQuery::project(shared.id)).await.expect("readable");
    assert_eq!((stats.conversations, stats.total.messages, stats.total.words), (1, 1, 2));
    commit(store, Change::RemoveProject { id: shared.id }).await;
    assert_eq!(shown(store, conversation).await.project, None);
    assert_eq!(texts(store, conversation).await, ["two words"]);
    assert_eq!(store.stats(StatsQuery::project(shared.id)).await.expect_err("gone").code(), "not_found");
    undo(store, UndoScope::Workspace).await;
    assert_eq!(shown(store, conversation).await.project, Some(shared.id));
    patch(store, conversation, ConversationPatch { project: Some(None), ..Default::default() }).await;
    assert_eq!(shown(store, conversation).await.project, None);
    sound(store).await;
}

pub async fn statistics_count_what_is_shown(store: &dyn Store) {
    let (a, b, trashed) =
        (conversation(store, "a").await, conversation(store, "b").await, conversation(store, "c").await);
    let mut answer = message("assistant", "three more words");
    answer.content.time = Time { at: at(60), source: TimeSource::Exact };
    answer.content.model = Some("m".to_owned());
    answer.content.tokens = Some(5);
    commit(store, append(a, vec![message("user", "one"), answer])).await;
    say(store, b, &["x y"]).await;
    say(store, trashed, &["never counted"]).await;
    let status = |status: ConversationStatus| ConversationPatch { status: Some(status), ..Default::default() };
    patch(store, b, status(ConversationStatus::Archived)).await;
    patch(store, trashed, status(ConversationStatus::Trashed)).await;
    let stats = store.stats(StatsQuery::default()).await.expect("readable");
    let total = &stats.total;
    assert_eq!((stats.conversations, total.messages, total.words, total.tokens), (2, 3, 6, 5));
    assert_eq!((total.timed, total.response_micros), (1, 60_000_000));
    assert_eq!((stats.by_role["user"].messages, stats.by_role["assistant"].words), (2, 3));
    assert_eq!(stats.by_model["m"].tokens, 5);
    let unknown = store.stats(StatsQuery::conversation(id(ConversationId::new))).await.expect_err("unknown");
    assert_eq!(unknown.code(), "not_found");
}
