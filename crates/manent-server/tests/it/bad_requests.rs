//! Bad requests: a 4xx with a code, never a 5xx, never a dead server.

use crate::kit::{Running, good, text};
use manent_server::Limits;
use manent_testing::http::Client;
use serde_json::{Value, json};

/// Sends bytes as they are and checks that the answer says what is wrong.
async fn refused(client: &mut Client, method: &str, path: &str, body: impl Into<bytes::Bytes>) -> (u16, String) {
    let answer = client.send(method, &format!("/api/v1{path}"), &[], body).await.expect("an answer");
    let status = answer.status.as_u16();
    assert!((400..500).contains(&status), "{method} {path}: {status} {}", answer.text());
    let problem: Value = serde_json::from_slice(&answer.body).expect("problem JSON");
    assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
    (status, text(&problem, "/code"))
}

#[tokio::test]
async fn rubbish_is_refused_with_a_code() {
    let server = Running::start().await;
    let mut client = server.client().await;
    let chat = text(&good(&mut client, "POST", "/conversations", json!({ "title": "a" })).await, "/id");
    let messages = format!("/conversations/{chat}/messages");
    let deep = format!("{{\"title\":\"x\",\"metadata\":{}{}}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let many = |count: usize| json!({ "messages": vec![json!({ "role": "user", "text": "x" }); count] }).to_string();
    for (path, body, expected) in [
        ("/conversations", "".to_owned(), (400, "malformed_json")),
        ("/conversations", "{".to_owned(), (400, "malformed_json")),
        ("/conversations", "{} {}".to_owned(), (400, "malformed_json")),
        ("/conversations", "null".to_owned(), (422, "invalid_body")),
        ("/conversations", "[]".to_owned(), (422, "invalid_body")),
        ("/conversations", r#"{"title": 1}"#.to_owned(), (422, "invalid_body")),
        ("/conversations", r#"{"titel": "x"}"#.to_owned(), (422, "invalid_body")),
        ("/conversations", r#"{"title": "\ud800"}"#.to_owned(), (400, "malformed_json")),
        ("/conversations", r#"{"title": "x", "kind": "nothing"}"#.to_owned(), (422, "invalid_body")),
        ("/conversations", r#"{"title": "x", "project": "proj_1"}"#.to_owned(), (422, "invalid_body")),
        ("/conversations", deep, (422, "invalid_body")),
        ("/conversations", "[".repeat(1_000_000), (422, "invalid_body")),
        (&messages, r#"{"messages": []}"#.to_owned(), (400, "invalid")),
        (&messages, r#"{"messages": [{"role": "user"}]}"#.to_owned(), (400, "invalid")),
        (&messages, r#"{"messages": [{"role": "user", "text": "a", "parts": []}]}"#.to_owned(), (400, "invalid")),
        (&messages, r#"{"messages": [{"text": "a"}]}"#.to_owned(), (422, "invalid_body")),
        (&messages, r#"{"messages": [{"role": "user", "parts": {}}]}"#.to_owned(), (422, "invalid_body")),
        (&messages, many(20_000), (413, "too_large")),
    ] {
        let shown: String = body.chars().take(80).collect();
        let (status, code) = refused(&mut client, "POST", path, body).await;
        assert_eq!((status, code.as_str()), expected, "{path} {shown}");
    }
    server.stop().await;
}

#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let server = Running::start().await;
    let mut client = server.client().await;
    let gone = "conv_01K7H1RY3BNE1D3YX3C01SM0R1";
    for path in [
        format!("/conversations/{gone}"),
        format!("/conversations/{gone}/messages"),
        format!("/conversations/{gone}/branches"),
        "/conversations/x".to_owned(),
        "/conversations/msg_01K7H1RY3BNE1D3YX3C01SM0R1".to_owned(),
        "/conversations/%00".to_owned(),
        "/conversations/..%2f..%2fetc%2fpasswd".to_owned(),
        "/messages/msg_01K7H1RY3BNE1D3YX3C01SM0R1".to_owned(),
        "/projects/proj_01K7H1RY3BNE1D3YX3C01SM0R1".to_owned(),
        format!("/blobs/{}", "0".repeat(64)),
        "/blobs/x".to_owned(),
        "/nowhere".to_owned(),
    ] {
        assert_eq!(refused(&mut client, "GET", &path, "").await.0, 404, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn wrong_parameters_are_refused() {
    let server = Running::start().await;
    let mut client = server.client().await;
    for query in [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=x",
        "limit=99999999999999999999",
        "status=gone",
        "kind=x",
        "after=x",
        "after=%00",
        "since=soon",
        "unknown=1",
        "project=x",
        "limit=1&limit=2",
    ] {
        let (status, _) = refused(&mut client, "GET", &format!("/conversations?{query}"), "").await;
        assert_eq!(status, 400, "{query}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_unread() {
    let limits = Limits { body_bytes: 1_000, blob_bytes: 1_000, ..Limits::default() };
    let server = Running::with(limits).await;
    let mut client = server.client().await;
    let large = json!({ "title": "x".repeat(2_000) }).to_string();
    assert_eq!(refused(&mut client, "POST", "/conversations", large).await, (413, "too_large".to_owned()));
    // Claims a gigabyte and sends none of it: the answer must not wait for it.
    let mut claims = server.client().await;
    let headers = [("content-length", "1073741824")];
    let answer = tokio::time::timeout(
        std::time::Duration::from_secs(5),
        claims.begin("POST", "/api/v1/conversations", &headers, ""),
    );
    if let Ok(Ok(response)) = answer.await {
        assert_eq!(response.status().as_u16(), 413);
    }
    good(&mut server.client().await, "POST", "/conversations", json!({ "title": "still there" })).await;
    server.stop().await;
}

#[tokio::test]
async fn a_long_title_is_kept_or_refused_but_never_breaks_anything() {
    let server = Running::start().await;
    let mut client = server.client().await;
    let long = "长".repeat(3_500_000);
    let large = json!({ "title": long }).to_string();
    assert_eq!(refused(&mut server.client().await, "POST", "/conversations", large).await.0, 413);
    for title in ["\u{0}", "a\u{0}b", "\u{202e}abc", "<script>alert(1)</script>", "'; drop table message; --"] {
        let made = good(&mut client, "POST", "/conversations", json!({ "title": title })).await;
        let read = good(&mut client, "GET", &format!("/conversations/{}", text(&made, "/id")), Value::Null).await;
        assert_eq!(text(&read, "/title"), title);
    }
    server.stop().await;
}

#[tokio::test]
async fn names_that_people_type_follow_the_rules() {
    let server = Running::start().await;
    let mut client = server.client().await;
    let chat = text(&good(&mut client, "POST", "/conversations", json!({})).await, "/id");
    let path = format!("/conversations/{chat}/rename");
    for name in ["", "   ", &"长".repeat(51), "a/b", "what?"] {
        assert_eq!(refused(&mut client, "POST", &path, json!({ "title": name }).to_string()).await.0, 422, "{name}");
    }
    let renamed = good(&mut client, "POST", &path, json!({ "title": "长".repeat(50) })).await;
    assert_eq!(text(&renamed, "/title"), "长".repeat(50));
    server.stop().await;
}
