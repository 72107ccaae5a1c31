//! Requests that are sent twice, and requests that came too late.

use crate::kit::{Running, good, text};
use manent_testing::http::{Answer, Client};
use serde_json::{Value, json};

/// Pairs of one request that are under way at the same time.
const PAIRS: usize = 60;

/// Sends the same request on two connections at once.
async fn twice(one: &mut Client, other: &mut Client, path: &str, key: &str, body: &Value) -> (Answer, Answer) {
    let (headers, body) = ([("idempotency-key", key)], body.to_string());
    let first = one.send("POST", path, &headers, body.clone());
    let second = other.send("POST", path, &headers, body);
    let (first, second) = tokio::join!(first, second);
    (first.expect("an answer"), second.expect("an answer"))
}

/// Every kind of write that makes ids, changes something or takes a change back answers both requests alike.
async fn retries_under_way(one: &mut Client, other: &mut Client) {
    let chat = text(&good(one, "POST", "/conversations", json!({ "title": "a" })).await, "/id");
    let messages = json!({ "messages": [{ "role": "user", "text": "once" }] });
    let writes = [
        (format!("/conversations/{chat}/messages"), messages),
        ("/conversations".to_owned(), json!({ "title": "made" })),
        (format!("/conversations/{chat}/rename"), json!({ "title": "renamed" })),
        (format!("/conversations/{chat}/undo"), json!({})),
    ];
    for number in 0..PAIRS {
        let (path, body) = &writes[number % writes.len()];
        let key = format!("pair-{number}");
        let (first, second) = twice(one, other, &format!("/api/v1{path}"), &key, body).await;
        assert!(first.status.is_success(), "{path}: {}", first.text());
        assert_eq!((first.status, first.text()), (second.status, second.text()), "{path}");
    }
    let appends = PAIRS.div_ceil(writes.len());
    let shown = good(one, "GET", &format!("/conversations/{chat}/messages"), Value::Null).await;
    // Each undo takes back the rename before it, so every append is still there, once.
    assert_eq!(shown["messages"].as_array().map(Vec::len), Some(appends), "{shown}");
}

#[tokio::test]
async fn idempotency_key_retry_under_way_gives_the_same_answer() {
    let server = Running::start().await;
    retries_under_way(&mut server.client().await, &mut server.client().await).await;
    server.stop().await;
}

#[tokio::test]
async fn idempotency_key_retry_under_way_on_another_server_gives_the_same_answer() {
    let server = Running::start().await;
    let second = server.second().await;
    retries_under_way(&mut server.client().await, &mut second.client().await).await;
    second.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn idempotency_key_another_body_under_way_is_a_conflict() {
    let server = Running::start().await;
    let (mut one, mut other) = (server.client().await, server.client().await);
    let headers = [("idempotency-key", "k")];
    let body = |title: &str| json!({ "title": title }).to_string();
    let first = one.send("POST", "/api/v1/conversations", &headers, body("one"));
    let second = other.send("POST", "/api/v1/conversations", &headers, body("two"));
    let (first, second) = tokio::join!(first, second);
    let mut statuses = [first.expect("an answer").status.as_u16(), second.expect("an answer").status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 422]);
    server.stop().await;
}

#[tokio::test]
async fn the_same_key_answers_what_it_answered() {
    let server = Running::start().await;
    let mut client = server.client().await;
    let chat = text(&good(&mut client, "POST", "/conversations", json!({ "title": "a" })).await, "/id");
    let path = format!("/api/v1/conversations/{chat}/messages");
    let body = json!({ "messages": [{ "role": "user", "text": "once" }] }).to_string();
    let key = [("idempotency-key", "k-1")];
    let first = client.send("POST", &path, &key, body.clone()).await.expect("an answer");
    let second = client.send("POST", &path, &key, body).await.expect("an answer");
    assert_eq!((first.status.as_u16(), first.text()), (201, second.text()));
    assert_eq!(second.header("idempotency-key"), "k-1");
    let messages = good(&mut client, "GET", &format!("/conversations/{chat}/messages"), Value::Null).await;
    assert_eq!(messages["messages"].as_array().map(Vec::len), Some(1));
    let other = json!({ "messages": [{ "role": "user", "text": "another" }] }).to_string();
    let refused = client.send("POST", &path, &key, other).await.expect("an answer");
    assert_eq!(refused.status.as_u16(), 422);
    assert!(refused.text().contains("key_conflict"));
    server.stop().await;
}

#[tokio::test]
async fn a_key_that_the_server_made_works_like_any_other() {
    let server = Running::start().await;
    let mut client = server.client().await;
    let body = json!({ "title": "a" }).to_string();
    let first = client.send("POST", "/api/v1/conversations", &[], body.clone()).await.expect("an answer");
    let key = first.header("idempotency-key").to_owned();
    assert!(!key.is_empty());
    let second =
        client.send("POST", "/api/v1/conversations", &[("idempotency-key", &key)], body).await.expect("an answer");
    assert_eq!(first.text(), second.text());
    let chat: Value = serde_json::from_slice(&first.body).expect("JSON");
    let path = format!("/api/v1/conversations/{}/messages", text(&chat, "/id"));
    let body = json!({ "messages": [{ "role": "user", "text": "a" }, { "role": "user", "text": "b" }] }).to_string();
    let first = client.send("POST", &path, &[], body.clone()).await.expect("an answer");
    let key = first.header("idempotency-key").to_owned();
    client.send("POST", &path, &[], body.clone()).await.expect("another request");
    let second = client.send("POST", &path, &[("idempotency-key", &key)], body).await.expect("an answer");
    assert_eq!((first.status.as_u16(), first.text()), (201, second.text()));
    let read = client.send("GET", &path, &[], "").await.expect("an answer");
    let read: Value = serde_json::from_slice(&read.body).expect("JSON");
    assert_eq!(read["messages"].as_array().map(Vec::len), Some(4), "once each: {read}");
    let other = json!({ "messages": [{ "role": "user", "text": "another" }] }).to_string();
    let refused = client.send("POST", &path, &[("idempotency-key", &key)], other).await.expect("an answer");
    assert!(matches!(refused.status.as_u16(), 409 | 422), "{}", refused.text());
    server.stop().await;
}

#[tokio::test]
async fn a_conversation_that_changed_meanwhile_is_left_alone() {
    let server = Running::start().await;
    let mut client = server.client().await;
    let made = client.send("POST", "/api/v1/conversations", &[], "{}").await.expect("an answer");
    let tag = made.header("etag").to_owned();
    let chat: Value = serde_json::from_slice(&made.body).expect("JSON");
    let path = format!("/api/v1/conversations/{}", text(&chat, "/id"));
    let edit = |title: &str| json!({ "title": title }).to_string();
    let first = client.send("PATCH", &path, &[("if-match", &tag)], edit("one")).await.expect("an answer");
    assert_eq!(first.status.as_u16(), 200);
    assert_ne!(first.header("etag"), tag);
    let late = client.send("PATCH", &path, &[("if-match", &tag)], edit("two")).await.expect("an answer");
    assert_eq!(late.status.as_u16(), 412);
    let read = client.send("GET", &path, &[], "").await.expect("an answer");
    assert!(read.text().contains("one") && read.header("etag") == first.header("etag"));
    for wrong in ["1", "\"x\"", "\"\"", "W/\"1\""] {
        let answer = client.send("PATCH", &path, &[("if-match", wrong)], edit("x")).await.expect("an answer");
        assert_eq!(answer.status.as_u16(), 400, "{wrong}");
    }
    server.stop().await;
}
