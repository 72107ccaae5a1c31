//! What is made: whose it becomes, and what happens where its name is taken.

use super::*;

fn create(draft: ConversationDraft) -> Change {
    Change::CreateConversation { id: id(ConversationId::new), branch: id(BranchId::new), draft, importing: false }
}

async fn made(store: &dyn Store, draft: ConversationDraft) -> Result<Conversation> {
    let committed = try_commit(store, create(draft)).await?;
    match committed.results.as_slice() {
        [ChangeResult::Conversation(id)] => Ok(shown(store, *id).await),
        done => panic!("{done:?}"),
    }
}

pub async fn what_a_user_makes_is_that_users(whole: &Whole) {
    let actor = Some(Author { id: "ann".to_owned(), name: "Ann A.".to_owned() });
    let ann = whole.clone().authorized(Permissions { actor: actor.clone(), ..grant("key", user("ann")) });
    let plain = made(&*ann, ConversationDraft::default()).await.expect("allowed");
    assert_eq!(plain.creator, actor);
    let named = ConversationDraft { creator: Some(author("ann")), ..ConversationDraft::default() };
    assert_eq!(made(&*ann, named).await.expect("allowed").creator, Some(author("ann")));
    let of_bob = ConversationDraft { creator: Some(author("bob")), ..ConversationDraft::default() };
    assert_eq!(made(&*ann, of_bob).await.expect_err("refused").code(), "forbidden");
    // Without an actor there is no name.
    let nameless = made(&*granted(whole, user("ann")), ConversationDraft::default()).await.expect("allowed");
    assert_eq!(nameless.creator, Some(Author { id: "ann".to_owned(), name: String::new() }));
    let shared = ConversationDraft { members: vec![author("bob")], ..ConversationDraft::default() };
    let shared = made(&*ann, shared).await.expect("allowed").id;
    assert!(granted(whole, user("bob")).conversation(ConversationRef::Id(shared)).await.expect("readable").is_some());
}

pub async fn what_a_project_key_makes_lies_in_its_project(whole: &Whole) {
    let (own, second, other) =
        (project(whole, "own").await, project(whole, "second").await, project(whole, "other").await);
    let in_project = |project| ConversationDraft { project: Some(project), ..ConversationDraft::default() };
    let one = granted(whole, projects(&[own]));
    let two = granted(whole, projects(&[own, second]));
    assert_eq!(made(&*one, ConversationDraft::default()).await.expect("the only one").project, Some(own));
    assert_eq!(made(&*two, in_project(second)).await.expect("one of them").project, Some(second));
    let error = made(&*two, ConversationDraft::default()).await.expect_err("which one?");
    assert_eq!((error.code(), error.to_string().contains("projects")), ("invalid", true), "{error}");
    let unknown = id(ProjectId::new);
    let refusal = async |project: ProjectId| {
        made(&*one, in_project(project)).await.expect_err("refused").to_string().replace(&project.to_string(), "P")
    };
    assert_eq!((refusal(other).await, refusal(unknown).await), ("no project P".to_owned(), "no project P".to_owned()));
    let both = granted(whole, AccessScope { projects: projects(&[own]).projects, ..user("ann") });
    let made_by_both = made(&*both, ConversationDraft::default()).await.expect("allowed");
    let creator = made_by_both.creator.map(|creator| creator.id);
    assert_eq!((creator.as_deref(), made_by_both.project), (Some("ann"), Some(own)));
    // Moving: within, out, and nowhere.
    let conversation = made(&*two, in_project(own)).await.expect("allowed").id;
    let moved = |project| Change::EditConversation {
        id: conversation,
        patch: ConversationPatch { project: Some(project), ..ConversationPatch::default() },
    };
    commit(&*two, moved(Some(second))).await;
    refused(&*two, moved(Some(other)), "not_found").await;
    refused(&*two, moved(Some(unknown)), "not_found").await;
    refused(&*two, moved(None), "forbidden").await;
    assert_eq!(shown(&**whole, conversation).await.project, Some(second));
    // A project that was removed holds nothing any more.
    commit(&**whole, Change::RemoveProject { id: second }).await;
    assert_eq!(two.conversation(ConversationRef::Id(conversation)).await.expect("readable"), None);
    refused(&*two, append(conversation, vec![message("user", "x")]), "not_found").await;
}

pub async fn a_name_that_is_taken_outside_is_a_conflict_and_tells_no_more(whole: &Whole) {
    let world = World::new(whole).await;
    let ann = granted(whole, user("ann"));
    let external = |things: &Things| Some(format!("external {}", things.conversation));
    let draft = |external_id| ConversationDraft { external_id, ..ConversationDraft::default() };
    // Repeating the own id is a retry; an object of another user is not returned.
    let again = made(&*ann, draft(external(&world.own))).await.expect("a retry");
    assert_eq!(again.id, world.own.conversation);
    let error = made(&*ann, draft(external(&world.other))).await.expect_err("taken");
    assert_eq!(error.code(), "exists");
    assert!(!error.to_string().contains(&world.other.conversation.to_string()), "{error}");
    // The id itself, with the external id it has, and without one.
    for (id_, external_id) in [
        (world.other.conversation, external(&world.other)),
        (world.other.conversation, None),
        (world.shared, None),
        (world.loose, None),
    ] {
        let change = Change::CreateConversation {
            id: id_,
            branch: id(BranchId::new),
            draft: draft(external_id),
            importing: false,
        };
        let outcome = try_commit(&*ann, change).await;
        match id_ == world.shared {
            true => assert_eq!(outcome.expect("a retry").results, [ChangeResult::Conversation(world.shared)]),
            false => refused_as(outcome, "exists"),
        }
    }
}

pub async fn documents_and_projects_are_changed_only_where_they_are_listed(whole: &Whole) {
    let world = World::new(whole).await;
    let put = |id: &str, project: Option<ProjectId>| Change::PutDocument {
        kind: "kind".to_owned(),
        id: id.to_owned(),
        project,
        body: Some(json("2")),
    };
    let ann = granted(whole, user("ann"));
    let own = granted(whole, projects(&[world.own_project]));
    commit(&*own, put("new", None)).await;
    let newest = DocumentsQuery::Newest { kind: "kind".to_owned(), id: "new".to_owned() };
    assert_eq!(whole.documents(newest).await.expect("readable")[0].project, Some(world.own_project));
    commit(&*own, put(&world.own.document, Some(world.own_project))).await;
    refused(&*own, put("elsewhere", Some(world.other_project)), "not_found").await;
    refused(&*own, put("nowhere", Some(id(ProjectId::new))), "not_found").await;
    refused(&*ann, put("hers", None), "forbidden").await;
    refused(&*ann, put("hers", Some(world.own_project)), "forbidden").await;
    let expecting = async |store: &dyn Store, id: &str| {
        let expect = vec![Expect::Document { kind: "kind".to_owned(), id: id.to_owned(), version: 0 }];
        let change = append(world.own.conversation, vec![message("user", "x")]);
        store.commit(Transaction { expect, ..Transaction::of(at(1), change) }).await
    };
    expecting(&*own, "free").await.expect("there is none");
    expecting(&*own, &world.other.document).await.expect("there is none within");
    refused_as(expecting(&*ann, "free").await, "forbidden");

    let edit =
        |id| Change::EditProject { id, patch: ProjectPatch { name: Some("n".to_owned()), ..Default::default() } };
    commit(&*own, edit(world.own_project)).await;
    for outside in [world.other_project, id(ProjectId::new)] {
        for change in [edit(outside), Change::RemoveProject { id: outside }] {
            let error = try_commit(&*own, change).await.expect_err("outside");
            assert_eq!(error.to_string(), format!("no project {outside}"));
        }
    }
    for change in [edit(world.own_project), Change::RemoveProject { id: world.own_project }] {
        refused(&*ann, change, "forbidden").await;
    }
    let new = |id| Change::CreateProject {
        project: Project {
            id,
            kind: "project".to_owned(),
            name: "n".to_owned(),
            instructions: String::new(),
            facts: Default::default(),
            metadata: None,
            version: 1,
        },
    };
    refused(&*own, new(id(ProjectId::new)), "forbidden").await;
    refused(&*ann, new(id(ProjectId::new)), "forbidden").await;
    refused(&*own, new(world.other_project), "forbidden").await;
    let promised = id(ProjectId::new);
    commit(&*granted(whole, projects(&[promised])), new(promised)).await;
}

pub async fn a_memory_lies_where_its_key_reaches(whole: &Whole) {
    let world = World::new(whole).await;
    let memory = |conversation, project| Memory {
        id: id(MemoryId::new),
        collection: "c".to_owned(),
        project,
        conversation,
        message: None,
        external: None,
        text: "t".to_owned(),
        metadata: None,
    };
    let put = |memory: &Memory| Change::PutMemory { memory: memory.clone() };
    let ann = granted(whole, user("ann"));
    let own = granted(whole, projects(&[world.own_project]));
    let loose = memory(None, None);
    refused(&*ann, put(&loose), "invalid").await;
    commit(&*own, put(&loose)).await;
    let found = own.memories(MemoriesQuery::default()).await.expect("readable");
    let found = found.iter().find(|found| found.id == loose.id).expect("it is within");
    assert_eq!(found.project, Some(world.own_project), "the only project there is");
    refused(&*own, put(&memory(None, Some(world.other_project))), "not_found").await;
    refused(&*own, put(&memory(Some(world.own.conversation), Some(world.other_project))), "not_found").await;
    commit(&*ann, put(&memory(Some(world.shared), None))).await;
    // The id of another user's object is taken, even if the object was removed.
    let taken = Memory { id: world.other.memory, ..memory(Some(world.own.conversation), None) };
    refused(&*ann, put(&taken), "exists").await;
    commit(&**whole, Change::RemoveMemory { id: world.other.memory }).await;
    refused(&*ann, put(&taken), "exists").await;
    // One's own is replaced, and comes again where it was removed.
    let again = Memory { id: world.own.memory, ..memory(Some(world.own.conversation), None) };
    commit(&*ann, put(&again)).await;
    commit(&*ann, Change::RemoveMemory { id: world.own.memory }).await;
    refused(&*ann, Change::RemoveMemory { id: world.own.memory }, "not_found").await;
    commit(&*ann, put(&again)).await;
}

/// The same key of two grants is two keys: neither is answered what the other asked for, nor refused because of it.
pub async fn two_keys_never_answer_each_others_requests(whole: &Whole) {
    let world = World::new(whole).await;
    for (access, name, other) in [(user("ann"), "one", "two"), (AccessScope::default(), "three", "four")] {
        let one = whole.clone().authorized(grant(name, access.clone()));
        let two = whole.clone().authorized(grant(other, access.clone()));
        let request = |text: &str| {
            let change =
                Change::PutInput { conversation: world.own.conversation, id: id(InputId::new), body: Json::of(&text) };
            Transaction { key: Some(b"same".to_vec()), ..Transaction::of(at(7), change) }
        };
        let asked = request("one");
        let first = one.commit(asked.clone()).await.expect("new");
        assert_eq!(one.idempotent_request_time(b"same".to_vec()).await.expect("readable"), Some(at(7)));
        assert_eq!(two.idempotent_request_time(b"same".to_vec()).await.expect("readable"), None);
        assert_eq!(whole.idempotent_request_time(b"same".to_vec()).await.expect("readable"), None);
        let second = two.commit(request("two")).await.expect("another key, another request");
        assert_ne!(first.position, second.position);
        let again = one.commit(asked).await.expect("the same request");
        assert_eq!((again.position, again.is_replay), (first.position, true));
        refused_as(one.commit(request("other")).await, "key_conflict");
        for wrong in [Vec::new(), vec![0; 256]] {
            let bad = Transaction { key: Some(wrong.clone()), ..request("x") };
            refused_as(one.commit(bad).await, "invalid");
        }
        one.commit(Transaction { key: Some(vec![0; 255]), ..request("long") }).await.expect("as long as may be");
        // The id and the key do not run into one another.
        let [longer, shorter] = [("ids", "ame"), ("id", "same")].map(|(end, key)| {
            let store = whole.clone().authorized(grant(&[name, end].concat(), access.clone()));
            (store, Transaction { key: Some(key.as_bytes().to_vec()), ..request(key) })
        });
        longer.0.commit(longer.1).await.expect("new");
        shorter.0.commit(shorter.1).await.expect("new");
    }
}

/// A name that is used outside answers as a free one, so a limited key cannot tell which names others use.
pub async fn document_name_used_outside_answers_as_a_free_one(whole: &Whole) {
    let world = World::new(whole).await;
    let put = |id: &str, body: &str| Change::PutDocument {
        kind: "kind".to_owned(),
        id: id.to_owned(),
        project: None,
        body: Some(json(body)),
    };
    let kind = || "kind".to_owned();
    let newest = |id: &str| DocumentsQuery::Newest { kind: kind(), id: id.to_owned() };
    let versions = |id: &str| DocumentsQuery::Versions { kind: kind(), id: id.to_owned() };
    commit(&**whole, put("used", "\"theirs\"")).await;
    let own = granted(whole, projects(&[world.own_project]));
    let other = granted(whole, projects(&[world.other_project]));
    let mut told = Vec::new();
    for name in ["used", "free"] {
        let mut answers = Vec::new();
        let mut tell = |answer: String| answers.push(answer.replace(name, "NAME"));
        for body in ["1", "2"] {
            tell(format!("{:?}", try_commit(&*own, put(name, body)).await.map(|committed| committed.results)));
        }
        for version in [2, 1] {
            let expect = vec![Expect::Document { kind: kind(), id: name.to_owned(), version }];
            let outcome = own.commit(Transaction { expect, ..Transaction::of(at(1), put(name, "3")) }).await;
            tell(format!("{:?}", outcome.map(|committed| committed.results)));
        }
        for query in [newest(name), versions(name)] {
            tell(format!("{:?}", own.documents(query).await));
        }
        for query in [DocumentsQuery::Kind(kind()), DocumentsQuery::All] {
            let mut found = own.documents(query).await.expect("readable");
            found.retain(|document| document.id == name);
            tell(format!("{found:?}"));
        }
        told.push(answers);
    }
    assert_eq!(told[0], told[1]);
    // Each has its own; what others see of the name is theirs.
    commit(&*other, put("used", "\"other\"")).await;
    let body = async |store: &dyn Store| {
        let found = store.documents(newest("used")).await.expect("readable");
        found[0].body.as_ref().map(|body| body.text().to_owned())
    };
    assert_eq!(body(&*own).await.as_deref(), Some("3"));
    assert_eq!(body(&*other).await.as_deref(), Some("\"other\""));
    assert_eq!(body(&**whole).await.as_deref(), Some("\"theirs\""));
    refused(&*own, put(&format!("used@{}", world.other_project), "4"), "invalid").await;
}
