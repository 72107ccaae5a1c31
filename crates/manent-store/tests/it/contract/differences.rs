//! Differences: where SQLite and PostgreSQL go ways of their own, a store does not.

use crate::kit::*;
use manent_model::*;
use manent_store::*;

/// Texts that an engine may refuse, shorten or take for one another.
const ODD: [&str; 12] =
    ["\0", "a\0b", "\u{1}", "\u{1}\u{1}", "\u{2}", " a ", "A", "a", "e\u{301}", "é", "\u{10FFFF}", "𠮷😀"];

pub async fn any_text_comes_back_and_is_found(store: &dyn Store) {
    for (place, text) in ODD.iter().enumerate() {
        let author = Author { id: (*text).to_owned(), name: (*text).to_owned() };
        let conversation = id(ConversationId::new);
        let draft = ConversationDraft {
            external_id: Some((*text).to_owned()),
            title: (*text).to_owned(),
            creator: Some(author.clone()),
            tags: [(*text).to_owned()].into(),
            ..ConversationDraft::default()
        };
        let branch = id(BranchId::new);
        commit(store, Change::CreateConversation { id: conversation, branch, draft, importing: false }).await;
        let mut said = message(text, text);
        said.content.author = Some(author.clone());
        commit(store, append(conversation, vec![said.clone()])).await;
        let state = Change::SetState { conversation, name: (*text).to_owned(), after: None, value: Some(json("1")) };
        commit(store, state).await;

        let found = store.conversation(ConversationRef::External((*text).to_owned())).await.expect("readable");
        let found = found.unwrap_or_else(|| panic!("{text:?} is not found"));
        assert_eq!((found.id, &*found.title, found.creator), (conversation, *text, Some(author)));
        let by_tag = ListQuery { tag: Some((*text).to_owned()), ..ListQuery::default() };
        let by_creator = ListQuery { creator: Some((*text).to_owned()), ..ListQuery::default() };
        for query in [by_tag, by_creator] {
            let page = store.conversations(query).await.expect("readable");
            let ids: Vec<_> = page.conversations.iter().map(|conversation| conversation.id).collect();
            assert_eq!(ids, [conversation], "{text:?}, the {place}. text");
        }
        assert_eq!(path(store, conversation, None).await[0].content, said.content);
        let value = store.state(conversation, (*text).to_owned(), None).await.expect("readable");
        assert_eq!(value, Some(json("1")));
    }
    sound(store).await;
}

pub async fn texts_are_ordered_by_their_bytes(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let mut names = ODD.to_vec();
    names.extend(["b", "B", "_", "10", "9", "ä", "中", "天"]);
    for name in &names {
        let mark = Change::SetBookmark { conversation, name: (*name).to_owned(), head: None, metadata: None };
        commit(store, mark).await;
        let document =
            Change::PutDocument { kind: "k".to_owned(), id: (*name).to_owned(), project: None, body: Some(json("1")) };
        commit(store, document).await;
    }
    names.sort_unstable();
    let annotations = store.annotations(conversation.into()).await.expect("readable");
    let marks: Vec<_> = annotations.bookmarks.iter().map(|mark| mark.name.as_str()).collect();
    assert_eq!(marks, names);
    let documents = store.documents(DocumentsQuery::Kind("k".to_owned())).await.expect("readable");
    let ids: Vec<_> = documents.iter().map(|document| document.id.as_str()).collect();
    assert_eq!(ids, names);
}

pub async fn json_is_kept_as_it_was_written(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let odd = [
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#""\u0000""#,
        r#"{"b":1,"a":1.0,"a":1e400}"#,
        "-0.0",
        "1E2",
        "9007199254740993",
    ];
    for text in odd {
        let name = "n".to_owned();
        let set = Change::SetState { conversation, name: name.clone(), after: None, value: Some(json(text)) };
        commit(store, set).await;
        let value = store.state(conversation, name, None).await.expect("readable").expect("set");
        assert_eq!(value.text(), text);
        let mut said = message("user", "x");
        said.content.metadata = Some(json(text));
        commit(store, append(conversation, vec![said.clone()])).await;
        let kept = path(store, conversation, None).await.pop().expect("said");
        assert_eq!(kept.content.metadata.expect("kept").text(), text);
    }
    sound(store).await;
}

pub async fn a_time_keeps_its_microseconds_wherever_it_lies(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    for micros in [i64::MIN, -62_135_596_800_000_001, -1, 0, 1, 1_700_000_000_123_457, i64::MAX] {
        let mut said = message("user", "x");
        said.content.time.at = Timestamp(micros);
        let change = append(conversation, vec![said.clone()]);
        store.commit(Transaction::of(Timestamp(micros), change)).await.expect("any time can be stored");
        assert_eq!(path(store, conversation, None).await.pop().expect("said").content.time.at, Timestamp(micros));
        let entries = journal(store, 0, 1_000).await;
        assert_eq!(entries.last().expect("journalled").at, Timestamp(micros));
    }
    sound(store).await;
}

pub async fn nothing_asked_for_is_nothing_found(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    say(store, conversation, &["one"]).await;
    assert_eq!(store.messages(MessagesQuery::Ids(Vec::new())).await.expect("readable"), []);
    let every = ListQuery { statuses: Vec::new(), ..ListQuery::default() };
    let of_no_status = store.conversations(every).await.expect("readable");
    let of_no_channel = EventsQuery { conversation, channels: Vec::new(), after: 0, limit: 10 };
    assert_eq!(store.events(of_no_channel).await.expect("readable"), []);
    // No status named means every status that is shown.
    assert_eq!(of_no_status.conversations.len(), 1);
}

pub async fn a_thousand_things_are_asked_for_at_once(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let messages: Vec<NewMessage> = (0..1_000).map(|n| message("user", &n.to_string())).collect();
    let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
    commit(store, append(conversation, messages)).await;
    let found = store.messages(MessagesQuery::Ids(ids.clone())).await.expect("readable");
    let found: Vec<MessageId> = found.iter().map(|placed| placed.message.id).collect();
    assert_eq!(found, ids);
}

/// One engine finds a taken id by an index, another by a foreign key, a third at the end: the caller hears the same.
pub async fn a_refusal_does_not_depend_on_what_the_engine_notices_first(store: &dyn Store) {
    let taken = conversation(store, "a").await;
    let one = say(store, taken, &["one"]).await[0];
    let draft = |project| ConversationDraft { project, ..ConversationDraft::default() };
    let make = |id, branch, project| Change::CreateConversation { id, branch, draft: draft(project), importing: false };
    refused(store, make(id(ConversationId::new), id(BranchId::new), Some(id(ProjectId::new))), "not_found").await;
    let branch = store.branches(taken).await.expect("readable")[0].id;
    refused(store, make(id(ConversationId::new), branch, None), "exists").await;
    let mut again = message("user", "other");
    again.id = one;
    refused(store, append(taken, vec![message("user", "two"), again]), "exists").await;
    assert_eq!(path(store, taken, None).await.len(), 1);
    sound(store).await;
}

pub async fn each_of_a_crowd_gets_its_own_answer(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let gone = id(ConversationId::new);
    let outcomes = (0..64).map(|n| {
        let change = match n % 4 {
            0 => append(gone, vec![message("user", "lost")]),
            1 => Change::RemoveBookmark { conversation, name: format!("none {n}") },
            2 => Change::SetBookmark { conversation, name: format!("{n}"), head: None, metadata: None },
            _ => append(conversation, vec![message("user", &n.to_string())]),
        };
        store.commit(Transaction::of(at(n), change))
    });
    let mut stored = 0;
    for (n, outcome) in together(outcomes).await.into_iter().enumerate() {
        match n % 4 {
            0 | 1 => refused_as(outcome, "not_found"),
            _ => {
                outcome.expect("it is allowed");
                stored += 1;
            }
        }
    }
    assert_eq!(stored, 32);
    assert_eq!(path(store, conversation, None).await.len(), 16);
    assert_eq!(store.annotations(conversation.into()).await.expect("readable").bookmarks.len(), 16);
    sound(store).await;
}
