//! A conversation of one message, and a query of it.

use manent_model::{
    Body, Content, Conversation, ConversationId, ConversationKind, ConversationStatus, Json, Part, Time, Timestamp,
};
use manent_text::{
    Clock, FieldText, IndexQuery, Query, SearchDocument, conversation_field_texts, conversation_tokens, field_texts,
    message_tokens,
};

/// 2026-11-17T12:00:00Z, two hours ahead of UTC.
pub fn clock() -> Clock {
    Clock { now: "2026-11-17T12:00:00Z".parse().expect("a time"), offset_seconds: 7_200 }
}

pub fn query(text: &str) -> Query {
    Query::parse(text, clock()).unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

/// A conversation that was last used on 2026-11-10.
pub fn conversation() -> Conversation {
    let at: Timestamp = "2026-11-10T00:00:00Z".parse().expect("a time");
    Conversation {
        id: ConversationId::from_bytes([7; 16]),
        external_id: None,
        title: "Notes on Search".to_owned(),
        kind: ConversationKind::Agent,
        status: ConversationStatus::Active,
        pinned: false,
        project: None,
        creator: None,
        members: Vec::new(),
        tags: ["Two Words", "检索"].map(str::to_owned).into(),
        metadata: Some(
            Json::parse(
                r#"{"team":"Blue","n":1.50,"list":["a","b"],"deep":{"x":{"y":true}},"dot.ted":"z","none":null}"#,
            )
            .expect("JSON"),
        ),
        continued_from: None,
        forked_from: None,
        created_at: at,
        active_at: at,
        trashed_at: None,
        version: 1,
        head: None,
        messages: 1,
        words: 1,
        tokens: 0,
    }
}

pub fn message(text: &str) -> Content {
    Content::new("user", Time::exact(0), Body::of(&[Part::text(text)]))
}

/// Asks a query of a message, and checks that the index would not have hidden the answer.
pub fn asked_of(query: &Query, content: &Content) -> bool {
    let texts = field_texts(content);
    ask(query, &texts, Some(content), &message_tokens(content))
}

/// Asks a query of the conversation itself.
pub fn asked_of_conversation(query: &Query) -> bool {
    let conversation = conversation();
    ask(query, &conversation_field_texts(&conversation), None, &conversation_tokens(&conversation))
}

fn ask(query: &Query, passages: &[FieldText<'_>], message: Option<&Content>, tokens: &[String]) -> bool {
    let conversation = conversation();
    let at = message.map_or(conversation.created_at, |message| message.time.at);
    let subject =
        SearchDocument { fields: passages, message, conversation: &conversation, project: Some("Big Plan"), at };
    let matches = query.matches(&subject);
    let candidates: IndexQuery = query.candidates();
    let (from, until) = query.time_range();
    let in_time = from.is_none_or(|from| subject.at >= from) && until.is_none_or(|until| subject.at < until);
    let possible = candidates.admit(tokens) && query.admits(&subject) && in_time;
    assert!(possible || !matches, "the index hides an answer of {:?} in {passages:?}: {candidates:?}", query.root());
    if query.index_is_exact() {
        let decided = candidates.admit(tokens) && query.admits(&subject);
        assert_eq!(decided, matches, "the index does not decide {:?} in {passages:?}", query.root());
    }
    matches
}
