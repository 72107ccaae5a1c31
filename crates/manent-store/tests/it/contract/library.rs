//! Objects outside conversations: documents, memories, scratch, blobs, sources and origins.

use crate::kit::*;
use manent_model::*;
use manent_store::*;
use sha2::{Digest as _, Sha256};
use std::slice::from_ref;

pub async fn a_document_has_versions(store: &dyn Store) {
    let put = |id: &str, body: Option<&str>| Change::PutDocument {
        kind: "character".to_owned(),
        id: id.to_owned(),
        project: None,
        body: body.map(json),
    };
    for (n, body) in [Some("{\"v\" : 1}"), None, Some("3")].into_iter().enumerate() {
        assert_eq!(commit(store, put("é\0", body)).await.results, [ChangeResult::Version(n as i64 + 1)]);
    }
    commit(store, put("Z", Some("1"))).await;
    commit(store, put("gone", Some("1"))).await;
    commit(store, put("gone", None)).await;
    let read = async |query: DocumentsQuery| {
        let found = store.documents(query).await.expect("readable");
        found
            .into_iter()
            .map(|one| (one.id, one.version, one.body.map(|body| body.text().to_owned())))
            .collect::<Vec<_>>()
    };
    let text = |text: &str| Some(text.to_owned());
    let (kind, id_) = ("character".to_owned(), "é\0".to_owned());
    assert_eq!(
        read(DocumentsQuery::Kind(kind.clone())).await,
        [("Z".to_owned(), 1, text("1")), (id_.clone(), 3, text("3"))],
        "in order of bytes, without the deleted one"
    );
    assert_eq!(
        read(DocumentsQuery::Versions { kind: kind.clone(), id: id_.clone() }).await,
        [(id_.clone(), 1, text("{\"v\" : 1}")), (id_.clone(), 2, None), (id_.clone(), 3, text("3"))]
    );
    assert_eq!(read(DocumentsQuery::Newest { kind: kind.clone(), id: id_.clone() }).await, [(id_, 3, text("3"))]);
    assert_eq!(read(DocumentsQuery::Newest { kind, id: "é".to_owned() }).await, []);
    assert_eq!(read(DocumentsQuery::All).await.len(), 6);
    let project = Some(id(ProjectId::new));
    let unknown = Change::PutDocument { kind: "k".to_owned(), id: "i".to_owned(), project, body: None };
    refused(store, unknown, "not_found").await;
    sound(store).await;
}

pub async fn a_document_changes_only_at_the_version_that_was_read(store: &dyn Store) {
    let put = async |version: i64, body: Option<&str>| {
        let (kind, id) = ("k".to_owned(), "i".to_owned());
        let expect = vec![Expect::Document { kind: kind.clone(), id: id.clone(), version }];
        let change = Change::PutDocument { kind, id, project: None, body: body.map(json) };
        store.commit(Transaction { expect, ..Transaction::of(at(1), change) }).await
    };
    refused_as(put(1, Some("1")).await, "version_conflict");
    put(0, Some("1")).await.expect("there is none");
    refused_as(put(0, Some("2")).await, "version_conflict");
    put(1, Some("2")).await.expect("that version");
    put(2, None).await.expect("that version");
    refused_as(put(3, Some("4")).await, "version_conflict");
    put(0, Some("4")).await.expect("it was removed");
    undo(store, UndoScope::Workspace).await;
    refused_as(put(4, Some("5")).await, "version_conflict");
    put(0, Some("5")).await.expect("the removal holds again");
    sound(store).await;
}

pub async fn a_memory_is_kept_replaced_and_forgotten(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let message = say(store, conversation, &["source"]).await[0];
    let mut memory = Memory {
        id: id(MemoryId::new),
        collection: "Plots".to_owned(),
        project: None,
        conversation: Some(conversation),
        message: Some(message),
        external: Some("ext".to_owned()),
        text: "once\0".to_owned(),
        metadata: Some(json("{\"x\" : \"\\ud800\"}")),
    };
    let other = Memory {
        id: id(MemoryId::new),
        collection: "Summaries".to_owned(),
        conversation: None,
        message: None,
        external: None,
        metadata: None,
        ..memory.clone()
    };
    let put = |memory: &Memory| Change::PutMemory { memory: memory.clone() };
    commit(store, put(&memory)).await;
    commit(store, put(&other)).await;
    let all = MemoriesQuery { limit: 9, ..Default::default() };
    let read = async |query: MemoriesQuery| store.memories(query).await.expect("readable");
    assert_eq!(read(all.clone()).await, [memory.clone(), other.clone()]);
    memory.text = "twice".to_owned();
    memory.collection = "Summaries".to_owned();
    commit(store, put(&memory)).await;
    let collection = |name: &str| MemoriesQuery { collection: Some(name.to_owned()), ..all.clone() };
    assert_eq!(read(collection("Summaries")).await, [memory.clone(), other.clone()]);
    assert_eq!(read(collection("Plots")).await, []);
    assert_eq!(read(collection("never")).await, []);
    let external = MemoriesQuery { external: Some("ext".to_owned()), ..all.clone() };
    assert_eq!(read(external).await, from_ref(&memory));
    assert_eq!(read(MemoriesQuery { limit: 1, ..all.clone() }).await, from_ref(&memory));
    assert_eq!(read(MemoriesQuery { after: Some(memory.id), ..all.clone() }).await, from_ref(&other));
    let mut lost = Memory { id: id(MemoryId::new), message: Some(id(MessageId::new)), ..other.clone() };
    refused(store, put(&lost), "not_found").await;
    lost = Memory { message: None, conversation: Some(id(ConversationId::new)), ..lost };
    refused(store, put(&lost), "not_found").await;
    lost = Memory { conversation: None, project: Some(id(ProjectId::new)), ..lost };
    refused(store, put(&lost), "not_found").await;
    commit(store, Change::RemoveMemory { id: memory.id }).await;
    refused(store, Change::RemoveMemory { id: memory.id }, "not_found").await;
    assert_eq!(read(all.clone()).await, from_ref(&other));
    commit(store, put(&memory)).await;
    assert_eq!(read(all).await, [memory, other], "it comes back to its place");
    sound(store).await;
}

pub async fn scratch_is_overwritten_and_leaves_no_trace_in_the_journal(store: &dyn Store) {
    let scratch = |kind: &str, actor: &str, body: &str| Scratch {
        kind: kind.to_owned(),
        id: "i".to_owned(),
        actor: actor.to_owned(),
        body: json(body),
        at: at(3),
    };
    let put = |scratch: &Scratch| Change::PutScratch { scratch: scratch.clone() };
    let (mine, yours, read) = (scratch("draft", "me", "1.0"), scratch("draft", "", "2"), scratch("read", "me", "3"));
    let before = *store.watch_position().borrow();
    for one in [&scratch("draft", "me", "0"), &mine, &yours, &read] {
        commit(store, put(one)).await;
    }
    let found = async |kind: Option<&str>, id: Option<&str>, actor: Option<&str>| {
        let own = |word: Option<&str>| word.map(str::to_owned);
        let query = ScratchQuery { kind: own(kind), id: own(id), actor: own(actor) };
        store.scratch(query).await.expect("readable")
    };
    let (draft, i, me) = (Some("draft"), Some("i"), Some("me"));
    assert_eq!(found(draft, None, None).await, [yours.clone(), mine.clone()]);
    assert_eq!(found(None, None, None).await, [yours.clone(), mine.clone(), read.clone()]);
    assert_eq!(found(draft, i, me).await, from_ref(&mine));
    assert_eq!(found(draft, i, Some("")).await, from_ref(&yours));
    assert_eq!(found(draft, i, None).await, [yours.clone(), mine.clone()]);
    assert_eq!(found(None, None, me).await, [mine, read.clone()]);
    assert_eq!(found(None, i, Some("")).await, from_ref(&yours));
    assert_eq!(found(draft, Some("other"), me).await, []);
    assert_eq!(found(Some(""), None, None).await, []);
    let remove = |kind: &str, actor: &str| Change::RemoveScratch {
        kind: kind.to_owned(),
        id: "i".to_owned(),
        actor: actor.to_owned(),
    };
    commit(store, remove("draft", "me")).await;
    commit(store, remove("draft", "nobody")).await;
    assert_eq!(store.scratch(ScratchQuery::default()).await.expect("readable"), [yours, read]);
    assert_eq!(*store.watch_position().borrow(), before);
    assert_eq!(journal(store, before, 9).await, []);
    sound(store).await;
}

fn piece(whole: &[u8], n: i64, last: bool, bytes: &[u8]) -> Change {
    let sha256 = Sha256::digest(whole).into();
    Change::PutBlobPiece { sha256, size: whole.len() as i64, n, last, bytes: bytes.to_vec() }
}

pub async fn a_blob_is_there_when_its_last_piece_fits(store: &dyn Store) {
    let whole: Vec<u8> = (0..3_000_u32).flat_map(|n| n.to_le_bytes()).collect();
    let sha256: [u8; 32] = Sha256::digest(&whole).into();
    commit(store, piece(&whole, 0, false, &whole[..5_000])).await;
    assert_eq!(store.blob(sha256).await.expect("readable"), None, "not before it is complete");
    refused(store, piece(&whole, 1, true, &whole[5_001..]), "invalid").await;
    assert_eq!(store.blobs().await.expect("readable"), []);
    commit(store, piece(&whole, 1, true, &whole[5_000..])).await;
    assert_eq!(store.blob(sha256).await.expect("readable").as_deref(), Some(&whole[..]));
    assert_eq!(store.blobs().await.expect("readable"), [(sha256, whole.len() as i64)]);
    let part = async |from| store.blob_piece(sha256, from).await.expect("readable");
    assert_eq!(part(0).await, Some((0, whole[..5_000].to_vec())));
    assert_eq!(part(1).await, Some((1, whole[5_000..].to_vec())));
    assert_eq!(part(2).await, None);
    commit(store, piece(&whole, 0, true, b"ignored: it is complete")).await;
    assert_eq!(store.blob(sha256).await.expect("readable").as_deref(), Some(&whole[..]));
    commit(store, piece(b"", 0, true, b"")).await;
    let empty: [u8; 32] = Sha256::digest(b"").into();
    assert_eq!(store.blob(empty).await.expect("readable"), Some(Vec::new()));
    assert_eq!(store.blob([7; 32]).await.expect("readable"), None);
    refused(store, piece(b"large", 0, false, &vec![0; (1 << 20) + 1]), "too_large").await;
    assert_eq!(sound(store).await.blobs, 2);
}

pub async fn a_blob_can_be_staged_again_in_fewer_pieces(store: &dyn Store) {
    let whole = b"all of it";
    for n in 0..3 {
        commit(store, piece(whole, n, false, b"wrong")).await;
    }
    commit(store, piece(whole, 0, false, b"all ")).await;
    commit(store, piece(whole, 1, true, b"of it")).await;
    let found = store.blob(Sha256::digest(whole).into()).await.expect("readable");
    assert_eq!(found.as_deref(), Some(&whole[..]));
    sound(store).await;
}

pub fn source(path: &str) -> Source {
    Source {
        id: id(SourceId::new),
        format: "veloca".to_owned(),
        generation: "2".to_owned(),
        path: path.to_owned(),
        sha256: "00ff".to_owned(),
        style: json("{\"indent\" :  2}"),
        at: at(4),
    }
}

pub async fn sources_origins_and_quarantine_come_back_as_they_were(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let sources = [source("a/b\0.json"), source("z")];
    for source in &sources {
        commit(store, Change::PutSource { source: source.clone() }).await;
    }
    assert_eq!(store.sources().await.expect("readable"), sources);
    refused(store, Change::PutSource { source: sources[0].clone() }, "exists").await;
    let origin = |object: OriginObject, ordinal: i64, raw: Option<&str>| Origin {
        object,
        source: sources[0].id,
        ordinal,
        external: Some("same".to_owned()),
        raw: raw.map(str::to_owned),
    };
    let origins = [
        origin(OriginObject::Conversation(conversation), 1, Some("{ \"a\":\0 1}\r\n")),
        origin(OriginObject::Project(id(ProjectId::new)), 2, None),
        origin(OriginObject::Fold(id(FoldId::new)), 3, Some("")),
        origin(OriginObject::Memory(id(MemoryId::new)), 4, None),
        origin(OriginObject::Document("character/é".to_owned()), 5, None),
        origin(OriginObject::Message(id(MessageId::new)), 6, None),
    ];
    for origin in &origins {
        commit(store, Change::PutOrigin { origin: origin.clone() }).await;
    }
    assert_eq!(store.origins(OriginsQuery::Source(sources[0].id)).await.expect("readable"), origins);
    assert_eq!(store.origins(OriginsQuery::External("same".to_owned())).await.expect("readable"), origins);
    assert_eq!(store.origins(OriginsQuery::Source(sources[1].id)).await.expect("readable"), []);
    let again = Origin { source: sources[1].id, ..origins[0].clone() };
    commit(store, Change::PutOrigin { origin: again.clone() }).await;
    let of_one = store.origins(OriginsQuery::Object(origins[0].object.clone())).await.expect("readable");
    assert_eq!(of_one, [origins[0].clone(), again], "of every file that brought it");
    refused(store, Change::PutOrigin { origin: origins[0].clone() }, "exists").await;
    let unknown = Origin { source: id(SourceId::new), ..origins[0].clone() };
    refused(store, Change::PutOrigin { origin: unknown }, "not_found").await;
    let quarantined = |at_byte: i64, bytes: &[u8]| Quarantined {
        source: sources[1].id,
        at_byte,
        why: "not UTF-8".to_owned(),
        bytes: bytes.to_vec(),
    };
    let pieces = [quarantined(9, b"\xff\0\xfe"), quarantined(0, b"")];
    for piece in &pieces {
        commit(store, Change::Quarantine { quarantined: piece.clone() }).await;
    }
    assert_eq!(store.quarantined(sources[1].id).await.expect("readable"), pieces);
    let unknown = Quarantined { source: id(SourceId::new), ..pieces[0].clone() };
    refused(store, Change::Quarantine { quarantined: unknown }, "not_found").await;
    assert_eq!(store.quarantined(id(SourceId::new)).await.expect_err("unknown").code(), "not_found");
    sound(store).await;
}

pub async fn the_origin_of_a_message_comes_back_byte_for_byte(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let from = source("chat.json");
    commit(store, Change::PutSource { source: from.clone() }).await;
    let long = "the same words over and over ".repeat(50);
    let raws = [
        Some(format!("{{\"text\" : {long:?},\r\n \"x\":\"\\ud800\"}}")),
        Some("\0".to_owned()),
        Some(String::new()),
        None,
    ];
    let (mut messages, mut origins) = (Vec::new(), Vec::new());
    for (place, raw) in raws.iter().enumerate() {
        let new = message("user", &long);
        let external = (place != 2).then(|| format!("id{}", place / 2));
        origins.push(MessageOrigin {
            message: new.id,
            source: from.id,
            ordinal: place as i64,
            external,
            raw: raw.clone(),
        });
        messages.push(new);
    }
    let plain = message("user", "no origin");
    messages.push(plain.clone());
    let change = |messages: Vec<NewMessage>, origins: Vec<MessageOrigin>| Change::AppendMessages {
        conversation,
        at: MessageAt::Head { branch: id(BranchId::new) },
        head: HeadMove::Follow,
        why: BranchReason::Import,
        messages,
        origins,
    };
    commit(store, change(messages, origins.clone())).await;
    for origin in &origins {
        assert_eq!(store.message_origins(vec![origin.message]).await.expect("readable"), std::slice::from_ref(origin));
    }
    assert_eq!(store.message_origins(vec![plain.id]).await.expect("readable"), []);
    let found = store.messages(MessagesQuery::External("id0".to_owned())).await.expect("readable");
    let ids: Vec<MessageId> = found.iter().map(|placed| placed.message.id).collect();
    assert_eq!(ids, [origins[0].message, origins[1].message], "ids of other programs repeat");
    // A message that takes another's place, or that a branch brings along, has one as well.
    let (instead, brought) = (message("user", &long), message("user", "own"));
    let of = |new: &NewMessage| MessageOrigin { message: new.id, ordinal: 7, ..origins[0].clone() };
    let (first, second) = (of(&instead), of(&brought));
    let splice = Change::Splice {
        conversation,
        branch: id(BranchId::new),
        at: instead_of(plain.id, plain.id),
        messages: vec![instead],
        origins: vec![first.clone()],
    };
    commit(store, splice).await;
    let open = Change::OpenBranch {
        conversation,
        branch: id(BranchId::new),
        base: None,
        own: vec![brought],
        pieces: Vec::new(),
        why: BranchReason::Import,
        origins: vec![second.clone()],
    };
    commit(store, open).await;
    let found = store.message_origins(vec![second.message, first.message]).await.expect("readable");
    assert_eq!(found, [second, first]);
    let new = message("user", "x");
    let lost = MessageOrigin { message: new.id, source: id(SourceId::new), ..origins[0].clone() };
    refused(store, change(vec![new], vec![lost]), "not_found").await;
    assert_eq!(path(store, conversation, None).await.len(), 5);
    sound(store).await;
}

pub async fn what_is_sorted_by_its_name_is_sorted_by_every_character(store: &dyn Store) {
    let names = ["", "\0", "\0a", "\u{1}", "\u{2}", "a", "a\0", "ab", "天", "\u{10FFFF}"];
    for name in names.iter().rev() {
        let scratch =
            Scratch { kind: (*name).to_owned(), id: String::new(), actor: String::new(), body: json("1"), at: at(0) };
        commit(store, Change::PutScratch { scratch }).await;
        let document =
            Change::PutDocument { kind: "k".to_owned(), id: (*name).to_owned(), project: None, body: Some(json("1")) };
        commit(store, document).await;
    }
    let scratch = store.scratch(ScratchQuery::default()).await.expect("readable");
    assert_eq!(scratch.iter().map(|one| one.kind.as_str()).collect::<Vec<_>>(), names);
    let documents = store.documents(DocumentsQuery::Kind("k".to_owned())).await.expect("readable");
    assert_eq!(documents.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), names);
}

pub async fn null_is_something_and_comes_back(store: &dyn Store) {
    let null = Some(json("null"));
    let (conversation, branch) = (id(ConversationId::new), id(BranchId::new));
    let draft = ConversationDraft { metadata: null.clone(), ..Default::default() };
    commit(store, Change::CreateConversation { id: conversation, branch, draft, importing: false }).await;
    assert_eq!(shown(store, conversation).await.metadata, null);
    let project = Project {
        id: id(ProjectId::new),
        kind: "project".to_owned(),
        name: "p".to_owned(),
        instructions: String::new(),
        facts: Default::default(),
        metadata: null.clone(),
        version: 1,
    };
    commit(store, Change::CreateProject { project: project.clone() }).await;
    assert_eq!(store.project(project.id).await.expect("readable"), Some(project));
    let memory = Memory { metadata: null.clone(), ..memory("t") };
    commit(store, Change::PutMemory { memory: memory.clone() }).await;
    assert_eq!(store.memories(MemoriesQuery::default()).await.expect("readable"), [memory]);
    let after = say(store, conversation, &["one"]).await[0];
    let fold = NewFold {
        id: id(FoldId::new),
        after,
        kind: FoldKind::Drop,
        covers: Vec::new(),
        summary: None,
        parent: None,
        made_by: null.clone(),
    };
    commit(store, Change::AddFold { conversation, fold }).await;
    let call = Call {
        id: id(CallId::new),
        after: None,
        model: None,
        outcome: CallOutcome::Answered,
        tokens_in: None,
        tokens_out: None,
        cost_micros: None,
        sent: Vec::new(),
        manifest: null.clone(),
        at: at(0),
    };
    commit(store, Change::RecordCall { conversation, call }).await;
    let annotations = store.annotations(conversation.into()).await.expect("readable");
    assert_eq!((&annotations.folds[0].made_by, &annotations.calls[0].manifest), (&null, &null));
}

pub async fn the_origin_of_a_stream_outlives_its_first_body(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let from = source("chat.json");
    commit(store, Change::PutSource { source: from.clone() }).await;
    let mut stream = message("assistant", &"the same words over and over ".repeat(50));
    stream.content.status = MessageStatus::Streaming;
    let origin = MessageOrigin {
        message: stream.id,
        source: from.id,
        ordinal: 1,
        external: Some("x".to_owned()),
        raw: Some(stream.content.body.text().to_owned()),
    };
    let append = Change::AppendMessages {
        conversation,
        at: MessageAt::Head { branch: id(BranchId::new) },
        head: HeadMove::Follow,
        why: BranchReason::Import,
        messages: vec![stream.clone()],
        origins: vec![origin.clone()],
    };
    commit(store, append).await;
    let body = Body::of(&[Part::text("other words")]);
    let finish = Finish { status: MessageStatus::Complete, body: Some(body), tokens: None, usage: None };
    commit(store, Change::FinishMessage { message: stream.id, finish }).await;
    assert_eq!(store.message_origins(vec![stream.id]).await.expect("readable"), [origin]);
}
