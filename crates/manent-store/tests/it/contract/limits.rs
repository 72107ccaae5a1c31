//! Limits: what is too much is refused whole, and the store goes on.

use crate::kit::*;
use manent_model::*;
use manent_store::*;

pub async fn a_transaction_without_changes_is_refused(store: &dyn Store) {
    let before = *store.watch_position().borrow();
    let mut transaction = Transaction::of(at(1), append(id(ConversationId::new), Vec::new()));
    transaction.changes.clear();
    refused_as(store.commit(transaction).await, "invalid");
    assert_eq!(*store.watch_position().borrow(), before);
    assert_eq!(journal(store, before, 9).await, []);
}

pub async fn a_transaction_holds_two_thousand_changes(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let many = |count: usize| (0..count).map(|_| message("user", "x")).collect::<Vec<_>>();
    refused(store, append(conversation, many(2_001)), "too_large").await;
    let mut transaction = Transaction::of(at(1), append(conversation, many(1_999)));
    transaction.changes.push(append(conversation, many(1)));
    store.commit(transaction.clone()).await.expect("as many as there may be");
    transaction.changes.push(append(conversation, many(1)));
    refused_as(store.commit(transaction).await, "too_large");
    assert_eq!(shown(store, conversation).await.messages, 2_000);
    counts_hold(store, conversation).await;
    sound(store).await;
}

pub async fn a_transaction_holds_four_mebibytes(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let message_id = say(store, conversation, &["one"]).await[0];
    let large = "x".repeat(4 << 20);
    let value = || Json::of(&large);
    let project = Project {
        id: id(ProjectId::new),
        kind: String::new(),
        name: String::new(),
        instructions: String::new(),
        facts: Default::default(),
        metadata: Some(value()),
        version: 1,
    };
    let tags = (0..4_200).map(|n| format!("{n:04}{}", "t".repeat(1_000))).collect();
    let member = || Author { id: "m".to_owned(), name: "m".repeat(1_000) };
    let body = Body::of(&[]);
    let finish = Finish { status: MessageStatus::Complete, body: Some(body), tokens: None, usage: Some(value()) };
    let fold = NewFold {
        id: id(FoldId::new),
        after: message_id,
        kind: FoldKind::Drop,
        covers: Vec::new(),
        summary: None,
        parent: None,
        made_by: Some(value()),
    };
    let changes = vec![
        append(conversation, vec![message("user", &large)]),
        Change::AddNote { id: id(NoteId::new), message: message_id, kind: String::new(), value: value() },
        Change::SetBookmark { conversation, name: String::new(), head: None, metadata: Some(value()) },
        Change::SetState { conversation, name: String::new(), after: None, value: Some(value()) },
        Change::AddFold { conversation, fold },
        Change::FinishMessage { message: message_id, finish },
        Change::CreateProject { project: project.clone() },
        Change::EditProject {
            id: project.id,
            patch: ProjectPatch { metadata: Some(Some(value())), ..Default::default() },
        },
        Change::EditConversation {
            id: conversation,
            patch: ConversationPatch { add_tags: tags, ..Default::default() },
        },
        Change::EditConversation {
            id: conversation,
            patch: ConversationPatch { members: Some((0..4_200).map(|_| member()).collect()), ..Default::default() },
        },
        Change::PutDocument { kind: String::new(), id: String::new(), project: None, body: Some(value()) },
    ];
    for change in changes {
        refused(store, change, "too_large").await;
    }
    assert_eq!(texts(store, conversation).await, ["one"]);
    let fits = "x".repeat((4 << 20) - 4_096);
    say(store, conversation, &[&fits]).await;
    assert_eq!(texts(store, conversation).await[1].len(), fits.len());
    sound(store).await;
}

pub async fn what_is_read_with_every_list_stays_short(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let (fits, long) = ("t".repeat(64 << 10), "t".repeat((64 << 10) + 1));
    let rename = |title: &str| Change::EditConversation {
        id: conversation,
        patch: ConversationPatch { title: Some(title.to_owned()), ..Default::default() },
    };
    commit(store, rename(&fits)).await;
    assert_eq!(shown(store, conversation).await.title, fits);
    refused(store, rename(&long), "too_large").await;
    let draft = |title: &str, external: &str, tag: &str| Change::CreateConversation {
        id: id(ConversationId::new),
        branch: id(BranchId::new),
        draft: ConversationDraft {
            title: title.to_owned(),
            external_id: Some(external.to_owned()),
            tags: [tag.to_owned()].into(),
            ..Default::default()
        },
        importing: false,
    };
    refused(store, draft(&long, "e", "t"), "too_large").await;
    refused(store, draft("t", &long, "t"), "too_large").await;
    refused(store, draft("t", "e", &long), "too_large").await;
    refused(store, append(conversation, vec![message(&long, "x")]), "too_large").await;
    let name = long.clone();
    refused(store, Change::SetState { conversation, name, after: None, value: None }, "too_large").await;
    let event = NewEvent { channel: long.clone(), at: at(1), body: json("1") };
    refused(store, Change::AppendEvents { conversation, events: vec![event] }, "too_large").await;
    let mut transaction = Transaction::of(at(1), rename("short"));
    transaction.actor = Some(Author { id: long, name: String::new() });
    refused_as(store.commit(transaction).await, "too_large");
    sound(store).await;
}

/// Bytes that do not pack: an index of PostgreSQL packs what it can before it measures.
fn noise(length: usize) -> String {
    let mut chance = fastrand::Rng::with_seed(7);
    (0..length).map(|_| chance.alphanumeric()).collect()
}

/// One change for every kind of indexed name.
fn names(
    conversation: ConversationId,
    message_id: MessageId,
    source: SourceId,
    name: &str,
) -> Vec<(&'static str, Change)> {
    let text = || name.to_owned();
    let author = || Author { id: text(), name: String::new() };
    let draft = |draft: ConversationDraft| Change::CreateConversation {
        id: id(ConversationId::new),
        branch: id(BranchId::new),
        draft,
        importing: false,
    };
    let said = |change: fn(&mut Content, String)| {
        let mut new = message("user", "x");
        change(&mut new.content, text());
        append(conversation, vec![new])
    };
    let from = Origin {
        object: OriginObject::Conversation(conversation),
        source,
        ordinal: 0,
        external: Some(text()),
        raw: None,
    };
    let event = NewEvent { channel: text(), at: at(1), body: json("1") };
    let called = ToolCall {
        message: message_id,
        part: fastrand::u32(..),
        call_id: text(),
        name: String::new(),
        state: ToolState::Pending,
        record: json("1"),
    };
    let scratch =
        Scratch { kind: "k".to_owned(), id: name[1..].to_owned(), actor: String::new(), body: json("1"), at: at(1) };
    let memory = Memory {
        id: id(MemoryId::new),
        collection: text(),
        external: None,
        text: "x".to_owned(),
        metadata: None,
        project: None,
        conversation: None,
        message: None,
    };
    vec![
        ("external id", draft(ConversationDraft { external_id: Some(text()), ..Default::default() })),
        ("tag", draft(ConversationDraft { tags: [text()].into(), ..Default::default() })),
        ("creator", draft(ConversationDraft { creator: Some(author()), ..Default::default() })),
        ("role", said(|content, text| content.role = text)),
        ("model", said(|content, text| content.model = Some(text))),
        ("author", said(|content, text| content.author = Some(Author { id: String::new(), name: text }))),
        ("note", Change::AddNote { id: id(NoteId::new), message: message_id, kind: text(), value: json("1") }),
        ("bookmark", Change::SetBookmark { conversation, name: text(), head: None, metadata: None }),
        ("state", Change::SetState { conversation, name: text(), after: None, value: None }),
        ("channel", Change::AppendEvents { conversation, events: vec![event] }),
        ("document", Change::PutDocument { kind: String::new(), id: text(), project: None, body: Some(json("1")) }),
        ("document", Change::PutDocument { kind: text(), id: String::new(), project: None, body: Some(json("1")) }),
        ("origin", Change::PutOrigin { origin: from }),
        ("call", Change::PutToolCall { call: called, note: "asked".to_owned() }),
        ("scratch", Change::PutScratch { scratch }),
        ("memory", Change::PutMemory { memory: memory.clone() }),
        (
            "memory",
            Change::PutMemory { memory: Memory { collection: "c".to_owned(), external: Some(text()), ..memory } },
        ),
    ]
}

pub async fn a_name_has_a_kibibyte_on_every_engine(store: &dyn Store) {
    let source = super::library::source("file");
    commit(store, Change::PutSource { source: source.clone() }).await;
    for name in [noise(1_024), "\0".repeat(1_024)] {
        let conversation = conversation(store, "a").await;
        let message_id = say(store, conversation, &["one"]).await[0];
        for (_, change) in names(conversation, message_id, source.id, &name) {
            commit(store, change).await;
        }
        for (what, change) in names(conversation, message_id, source.id, &format!("{name}+")) {
            let code = try_commit(store, change).await.map_or_else(|error| error.code(), |_| "stored");
            assert_eq!(code, "too_large", "{what}");
        }
    }
    sound(store).await;
}

pub async fn a_transaction_happens_whole_or_not_at_all(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let before = *store.watch_position().borrow();
    let mut transaction = Transaction::of(at(1), append(conversation, vec![message("never seen", "one")]));
    let patch =
        ConversationPatch { title: Some("b".to_owned()), add_tags: ["new".to_owned()].into(), ..Default::default() };
    transaction.changes.push(Change::EditConversation { id: conversation, patch });
    transaction.changes.push(Change::PutDocument {
        kind: "k".to_owned(),
        id: "i".to_owned(),
        project: None,
        body: None,
    });
    transaction.changes.push(Change::RemoveNote { id: id(NoteId::new) });
    refused_as(store.commit(transaction.clone()).await, "not_found");
    let now = shown(store, conversation).await;
    assert_eq!((now.title.as_str(), now.messages, now.version, now.tags.len()), ("a", 0, 1, 0));
    assert_eq!(store.documents(DocumentsQuery::All).await.expect("readable"), []);
    assert_eq!(*store.watch_position().borrow(), before);
    transaction.changes.pop();
    store.commit(transaction).await.expect("without the last one it may");
    let now = shown(store, conversation).await;
    assert_eq!((now.title.as_str(), now.messages, now.version), ("b", 1, 2), "one commit, one version");
    sound(store).await;
}
