//! Live tails, and a server that ends well.

use crate::kit::{Running, good, text};
use manent::store::StatsQuery;
use manent_testing::http::Events;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn a_tail_sees_what_happens_and_goes_on_where_it_stopped() {
    let server = Running::start().await;
    let mut client = server.client().await;
    good(&mut client, "POST", "/conversations", json!({ "title": "before" })).await;
    let live = [("accept", "text/event-stream")];
    let mut reader = server.client().await;
    let response = reader.begin("GET", "/api/v1/journal", &live, "").await.expect("an answer");
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut events = Events::of(response);
    let first = events.next().await.expect("readable").expect("the first change");
    good(&mut client, "POST", "/conversations", json!({ "title": "after" })).await;
    let second = events.next().await.expect("readable").expect("the second change");
    assert!(second.id.parse::<i64>().expect("a position") > first.id.parse::<i64>().expect("a position"));
    drop(events);
    let mut again = server.client().await;
    let resumed = [("accept", "text/event-stream"), ("last-event-id", first.id.as_str())];
    let mut events = Events::of(again.begin("GET", "/api/v1/journal", &resumed, "").await.expect("an answer"));
    assert_eq!(events.next().await.expect("readable"), Some(second));
    server.stop().await;
}

#[tokio::test]
async fn stopping_ends_tails_and_finishes_what_was_accepted() {
    let server = Running::start().await;
    let mut reader = server.client().await;
    let live = [("accept", "text/event-stream")];
    let mut events = Events::of(reader.begin("GET", "/api/v1/journal", &live, "").await.expect("an answer"));
    let mut writers = Vec::new();
    for number in 0..16 {
        let mut client = server.client().await;
        writers.push(tokio::spawn(async move {
            let mut stored = 0u32;
            loop {
                let title = json!({ "title": format!("{number}-{stored}") }).to_string();
                match client.send("POST", "/api/v1/conversations", &[], title).await {
                    Ok(answer) if answer.status.as_u16() == 201 => stored += 1,
                    _ => return stored,
                }
            }
        }));
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let place = server.place.clone();
    let kept_in = server.stop_keeping().await;
    let mut acknowledged = 0;
    for writer in writers {
        acknowledged += writer.await.expect("a writer");
    }
    while events.next().await.expect("an end, not a break").is_some() {}
    let database = manent::Database::open_at(&place).expect("the store");
    let kept = database.stats(StatsQuery::default()).await.expect("statistics").conversations;
    assert!(acknowledged > 0);
    assert_eq!(kept, i64::from(acknowledged), "what was accepted was answered, and what was answered is kept");
    drop(kept_in);
}

#[tokio::test]
async fn pages_of_the_journal_follow_each_other() {
    let server = Running::start().await;
    let mut client = server.client().await;
    for number in 0..5 {
        good(&mut client, "POST", "/conversations", json!({ "title": number.to_string() })).await;
    }
    let first = good(&mut client, "GET", "/journal?limit=2", Value::Null).await;
    let next = first["scanned_to"].as_i64().expect("a position");
    let second = good(&mut client, "GET", &format!("/journal?limit=10&after={next}"), Value::Null).await;
    let count = |page: &Value| page["entries"].as_array().map_or(0, Vec::len);
    assert_eq!((count(&first), count(&second)), (2, 3));
    let end = good(&mut client, "GET", "/journal?after=end", Value::Null).await;
    assert_eq!((count(&end), &end["scanned_to"]), (0, &second["scanned_to"]));
    let live = [("accept", "text/event-stream")];
    let mut reader = server.client().await;
    let response = reader.begin("GET", "/api/v1/journal?after=end", &live, "").await.expect("an answer");
    let mut events = Events::of(response);
    let made = good(&mut client, "POST", "/conversations", json!({ "title": "after the end" })).await;
    let event = tokio::time::timeout(Duration::from_secs(5), events.next()).await.expect("within a second, mostly");
    assert!(event.expect("readable").expect("a change").data.contains(&text(&made, "/id")));
    server.stop().await;
}

#[tokio::test]
async fn finishing_a_stream_without_text_keeps_its_chunks() {
    let server = Running::start().await;
    let mut client = server.client().await;
    let chat = text(&good(&mut client, "POST", "/conversations", json!({ "title": "a" })).await, "/id");
    let begun =
        good(&mut client, "POST", &format!("/conversations/{chat}/streams"), json!({ "role": "assistant" })).await;
    let message = text(&begun, "/ids/0");
    for delta in ["晴，", "25 度"] {
        good(&mut client, "POST", &format!("/messages/{message}/chunks"), json!({ "delta": delta })).await;
    }
    let read = format!("/conversations/{chat}/messages");
    let running = good(&mut client, "GET", &read, Value::Null).await;
    assert_eq!(text(&running, "/messages/0/parts/0/text"), "晴，25 度");
    assert_eq!(text(&running, "/messages/0/status"), "streaming");
    let found = good(&mut client, "GET", "/search?q=%E5%BA%A6", Value::Null).await;
    assert_eq!(text(&found, "/hits/0/message"), message);
    good(&mut client, "POST", &format!("/messages/{message}/finish"), json!({ "status": "complete" })).await;
    let ended = good(&mut client, "GET", &read, Value::Null).await;
    assert_eq!(text(&ended, "/messages/0/parts/0/text"), "晴，25 度");
    assert_eq!(text(&ended, "/messages/0/status"), "complete");
    server.stop().await;
}

#[tokio::test]
async fn a_stream_whose_writer_has_gone_ends_incomplete() {
    let limits = manent_server::Limits { stream_idle: Duration::from_millis(200), ..manent_server::Limits::default() };
    let server = Running::with(limits).await;
    let mut client = server.client().await;
    let chat = text(&good(&mut client, "POST", "/conversations", json!({ "title": "a" })).await, "/id");
    let begun =
        good(&mut client, "POST", &format!("/conversations/{chat}/streams"), json!({ "role": "assistant" })).await;
    let message = text(&begun, "/ids/0");
    good(&mut client, "POST", &format!("/messages/{message}/chunks"), json!({ "delta": "half" })).await;
    let ended = async {
        loop {
            let read = good(&mut client, "GET", &format!("/messages/{message}"), Value::Null).await;
            if text(&read, "/message/status") == "incomplete" {
                return text(&read, "/message/parts/0/text");
            }
        }
    };
    assert_eq!(tokio::time::timeout(Duration::from_secs(60), ended).await.expect("it ends"), "half");
    server.stop().await;
}
