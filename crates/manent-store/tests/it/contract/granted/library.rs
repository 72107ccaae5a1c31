//! Objects outside conversations: memories, documents, projects, scratch; and operations on everything.

use super::*;

fn memory(conversation: Option<ConversationId>, project: Option<ProjectId>) -> Memory {
    Memory {
        id: id(MemoryId::new),
        collection: "facts".to_owned(),
        project,
        conversation,
        message: None,
        external: None,
        text: "known".to_owned(),
        metadata: None,
    }
}

pub async fn memories_are_those_of_conversations_and_projects_within(whole: &Whole) {
    let world = World::new(whole).await;
    let (own_project, other_project) = (world.own_project, world.other_project);
    let of_project = memory(None, Some(own_project));
    let of_other_project = memory(None, Some(other_project));
    let of_nothing = memory(None, None);
    let of_shared = memory(Some(world.shared), Some(own_project));
    let ids = [of_project.id, of_other_project.id, of_nothing.id, of_shared.id];
    for memory in [of_project, of_other_project, of_nothing, of_shared] {
        commit(&**whole, Change::PutMemory { memory }).await;
    }
    let (own, other) = (world.own.memory, world.other.memory);
    let expected: [(AccessScope, Vec<MemoryId>); 7] = [
        (user("ann"), vec![own, ids[3]]),
        (user("bob"), vec![other, ids[3]]),
        (user("nobody"), vec![]),
        (projects(&[own_project]), vec![own, ids[0]]),
        (projects(&[other_project]), vec![other, ids[1], ids[3]]),
        (AccessScope { projects: projects(&[own_project]).projects, ..user("bob") }, vec![ids[0]]),
        (projects(&[]), vec![]),
    ];
    for (access, expected) in expected {
        let store = granted(whole, access.clone());
        let mut query = MemoriesQuery { limit: 1, ..MemoriesQuery::default() };
        let mut found = Vec::new();
        while let Some(memory) = store.memories(query.clone()).await.expect("readable").pop() {
            query.after = Some(memory.id);
            found.push(memory.id);
        }
        assert_eq!(found, expected, "{access:?}");
        let unknown = id(MemoryId::new);
        let after = |id| MemoriesQuery { after: Some(id), ..MemoriesQuery::default() };
        let never = store.memories(after(unknown)).await.expect_err("unknown").to_string();
        for outside in ids.iter().chain([&own, &other]).filter(|id| !expected.contains(id)) {
            let refused = store.memories(after(*outside)).await.expect_err("outside").to_string();
            assert_eq!(refused.replace(&outside.to_string(), &unknown.to_string()), never, "{access:?}");
        }
    }
    // A memory whose conversation was undone has no owner until a redo.
    let gone = talk(whole, "ann", &[], None).await;
    commit(&**whole, Change::PutMemory { memory: memory(Some(gone), None) }).await;
    let count = async || granted(whole, user("ann")).memories(MemoriesQuery::default()).await.expect("readable").len();
    assert_eq!(count().await, 3);
    uncreate(&**whole, gone).await;
    assert_eq!(count().await, 2);
}

pub async fn documents_and_projects_are_those_that_are_listed(whole: &Whole) {
    let world = World::new(whole).await;
    let put = |id: &str, project: Option<ProjectId>| Change::PutDocument {
        kind: "kind".to_owned(),
        id: id.to_owned(),
        project,
        body: Some(json("1")),
    };
    commit(&**whole, put("loose", None)).await;
    commit(&**whole, put("moved in", Some(world.other_project))).await;
    commit(&**whole, put("moved in", Some(world.own_project))).await;
    commit(&**whole, put("moved out", Some(world.own_project))).await;
    commit(&**whole, put("moved out", Some(world.other_project))).await;
    let (own, other) = (world.own.document.clone(), world.other.document.clone());
    let named = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<std::collections::BTreeSet<String>>();
    let cases = [
        (user("ann"), named(&[])),
        (projects(&[world.own_project]), named(&[&own, "moved in"])),
        (projects(&[world.other_project]), named(&[&other, "moved out"])),
        (AccessScope { projects: projects(&[world.own_project]).projects, ..user("bob") }, named(&[&own, "moved in"])),
        (projects(&[]), named(&[])),
    ];
    for (access, expected) in cases {
        let store = granted(whole, access.clone());
        let read = async |query| store.documents(query).await.expect("readable");
        let ids = |found: Vec<Document>| {
            found.into_iter().map(|document| document.id).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(ids(read(DocumentsQuery::Kind("kind".to_owned())).await), expected, "{access:?}");
        let all = read(DocumentsQuery::All).await;
        assert!(all.iter().all(|document| document.project.is_some_and(|project| access.lists(project))), "{access:?}");
        assert_eq!(ids(all), expected, "{access:?}");
        for id in [own.as_str(), &other, "loose", "moved in", "moved out"] {
            let (kind, id) = ("kind".to_owned(), id.to_owned());
            let one = usize::from(expected.contains(&id));
            let newest = DocumentsQuery::Newest { kind: kind.clone(), id: id.clone() };
            assert_eq!(read(newest).await.len(), one, "{access:?} {id}");
            let versions = DocumentsQuery::Versions { kind, id: id.clone() };
            assert_eq!(read(versions).await.len(), one, "{access:?} {id}: what it was elsewhere is not shown");
        }
    }
    let third = project(whole, "third").await;
    let all = [world.own_project, world.other_project, third];
    let cases = [
        (user("ann"), vec![world.own_project, world.other_project]),
        (user("cleo"), vec![world.other_project]),
        (user("nobody"), vec![]),
        (projects(&[third]), vec![third]),
        (AccessScope { projects: projects(&[third]).projects, ..user("ann") }, vec![third]),
        (AccessScope::default(), all.to_vec()),
    ];
    for (access, expected) in cases {
        let store = granted(whole, access.clone());
        let found: Vec<ProjectId> =
            store.projects().await.expect("readable").into_iter().map(|project| project.id).collect();
        assert_eq!(found, expected, "{access:?}");
        for project in all {
            let found = store.project(project).await.expect("readable");
            assert_eq!(found.is_some(), expected.contains(&project), "{access:?}");
        }
    }
}

pub async fn scratch_is_ones_own(whole: &Whole) {
    let world = World::new(whole).await;
    let put = |kind: &str, id: String, actor: &str| Change::PutScratch {
        scratch: Scratch { kind: kind.to_owned(), id, actor: actor.to_owned(), body: json("1"), at: at(1) },
    };
    let (own, other) = (world.own.conversation.to_string(), world.other.conversation.to_string());
    for (kind, id, actor) in [
        ("current", "page".to_owned(), "ann"),
        ("current", "page".to_owned(), "bob"),
        ("draft", own.clone(), "ann"),
        ("draft", own.clone(), "bob"),
        ("draft", own.clone(), ""),
        ("draft", other.clone(), "ann"),
        ("draft", id(ConversationId::new).to_string(), "ann"),
        ("upload", "00".to_owned(), "ann"),
        ("upload", own.clone(), "ann"),
    ] {
        commit(&**whole, put(kind, id, actor)).await;
    }
    let read = async |access: AccessScope, query: ScratchQuery| {
        let found = granted(whole, access).scratch(query).await.expect("readable");
        found.into_iter().map(|one| (one.kind, one.id, one.actor)).collect::<Vec<_>>()
    };
    let row = |kind: &str, id: &str, actor: &str| (kind.to_owned(), id.to_owned(), actor.to_owned());
    assert_eq!(
        read(user("ann"), ScratchQuery::default()).await,
        [row("current", "page", "ann"), row("draft", &own, "ann")]
    );
    assert_eq!(
        read(projects(&[world.own_project]), ScratchQuery::default()).await,
        [row("draft", &own, ""), row("draft", &own, "ann"), row("draft", &own, "bob")]
    );
    let both = AccessScope { projects: projects(&[world.other_project]).projects, ..user("ann") };
    assert_eq!(read(both, ScratchQuery::default()).await, [row("current", "page", "ann")]);
    // Scratch that ann stores without an actor is hers, and a read without an actor finds it.
    let ann = granted(whole, user("ann"));
    commit(&*ann, put("read", own.clone(), "")).await;
    let nobodys = ScratchQuery { kind: Some("read".to_owned()), actor: Some(String::new()), ..Default::default() };
    assert_eq!(read(user("ann"), nobodys.clone()).await, [row("read", &own, "ann")]);
    let remove = |id: &str, actor: &str| Change::RemoveScratch {
        kind: "read".to_owned(),
        id: id.to_owned(),
        actor: actor.to_owned(),
    };
    commit(&*ann, remove(&own, "")).await;
    assert_eq!(read(user("ann"), nobodys).await, []);
    for (id, actor, code) in [(&own, "bob", "forbidden"), (&other, "ann", "not_found"), (&other, "", "not_found")] {
        refused(&*ann, put("read", id.clone(), actor), code).await;
        refused(&*ann, remove(id, actor), code).await;
    }
    let never = id(ConversationId::new).to_string();
    let outside = try_commit(&*ann, put("read", other.clone(), "")).await.expect_err("outside").to_string();
    let unknown = try_commit(&*ann, put("read", never.clone(), "")).await.expect_err("unknown").to_string();
    assert_eq!(outside.replace(&other, &never), unknown);
    refused(&*ann, put("upload", "00".to_owned(), ""), "forbidden").await;
    // An unrestricted key without `read` could otherwise make data readable for another key.
    let unlimited = granted(whole, AccessScope::default());
    refused(&*unlimited, put("upload", "00".to_owned(), "key"), "forbidden").await;
    let projected = granted(whole, projects(&[world.own_project]));
    commit(&*projected, put("read", own, "anybody")).await;
    refused(&*projected, put("read", "page".to_owned(), "anybody"), "forbidden").await;
    refused(&*projected, put("read", other, "anybody"), "not_found").await;
}

pub async fn what_concerns_everything_takes_a_key_for_everything(whole: &Whole) {
    let world = World::new(whole).await;
    let source = Source {
        id: id(SourceId::new),
        format: "f".to_owned(),
        generation: "g".to_owned(),
        path: "p".to_owned(),
        sha256: "s".to_owned(),
        style: json("{}"),
        at: at(1),
    };
    let object = OriginObject::Conversation(world.own.conversation);
    let (named, file) = (Some("named".to_owned()), source.id);
    let origin = Origin { object: object.clone(), source: file, ordinal: 0, external: named.clone(), raw: None };
    let quarantined = Quarantined { source: file, at_byte: 0, why: "w".to_owned(), bytes: b"b".to_vec() };
    let imported = message("user", "imported");
    let came_from =
        MessageOrigin { message: imported.id, source: file, ordinal: 0, external: named.clone(), raw: None };
    let appended = Change::AppendMessages {
        conversation: world.own.conversation,
        at: MessageAt::Head { branch: id(BranchId::new) },
        head: HeadMove::Follow,
        why: BranchReason::Import,
        messages: vec![imported.clone()],
        origins: vec![came_from],
    };
    let changes = [
        Change::PutSource { source },
        Change::PutOrigin { origin },
        Change::Quarantine { quarantined },
        appended,
        Change::Step { scope: UndoScope::Everything, step: UndoDirection::Undo },
        Change::Step { scope: UndoScope::Workspace, step: UndoDirection::Undo },
        Change::Erase { target: EraseTarget::Person("ann".to_owned()) },
    ];
    let ann = granted(whole, user("ann"));
    for change in &changes {
        refused(&*ann, change.clone(), "forbidden").await;
    }
    for change in changes.into_iter().take(4) {
        commit(&**whole, change).await;
    }
    assert_eq!(ann.sources().await.expect("readable"), []);
    for query in [OriginsQuery::Source(file), OriginsQuery::Object(object), OriginsQuery::External("named".to_owned())]
    {
        assert_eq!(ann.origins(query.clone()).await.expect("readable"), []);
        assert!(!whole.origins(query).await.expect("readable").is_empty());
    }
    assert_eq!(ann.message_origins(vec![imported.id]).await.expect("readable"), []);
    assert_eq!(ann.quarantined(file).await.expect("readable"), []);
    let elsewhere = ann.messages(MessagesQuery::External("named".to_owned())).await.expect("readable");
    assert_eq!(elsewhere.len(), 1, "what is within is found by its name elsewhere");
    let bob = granted(whole, user("bob"));
    assert_eq!(bob.messages(MessagesQuery::External("named".to_owned())).await.expect("readable"), []);

    let folder = tempfile::tempdir().expect("a folder");
    let code = |outcome: Result<()>| outcome.expect_err("refused").code();
    for limited in [&ann, &bob] {
        assert_eq!(code(limited.backup(&folder.path().join("copy")).await.map(drop)), "forbidden");
        assert_eq!(code(limited.verify().await.map(drop)), "forbidden");
        assert_eq!(code(limited.doctor().await.map(drop)), "forbidden");
        assert_eq!(code(limited.reindex().await), "forbidden");
        assert_eq!(code(limited.acquire_import_lock().await.map(drop)), "forbidden");
        assert_eq!(code(limited.close().await), "forbidden");
        for scope in [UndoScope::Everything, UndoScope::Workspace] {
            assert_eq!(code(limited.undo_target(scope, UndoDirection::Undo).await.map(drop)), "forbidden");
        }
    }
    // A view of a view reaches what both reach, and may do what both may.
    let reader = Permissions { scopes: [KeyScope::Read].into_iter().collect(), ..grant("reader", user("ann")) };
    let both = whole.clone().authorized(reader).authorized(grant("key", projects(&[world.other_project])));
    assert_eq!(both.conversation_ids(None, 10).await.expect("readable"), [world.shared]);
    refused(&*both, append(world.shared, vec![message("user", "written")]), "forbidden").await;
    assert_eq!(code(both.verify().await.map(drop)), "forbidden");
    let everything = granted(whole, AccessScope::default());
    everything.verify().await.expect("a key for everything");
    everything.undo_target(UndoScope::Everything, UndoDirection::Undo).await.expect("a key for everything");
    assert_eq!(*ann.watch_position().borrow(), *whole.watch_position().borrow());
}
