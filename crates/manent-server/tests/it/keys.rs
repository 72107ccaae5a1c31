//! Keys: what they open, how often, and that they close again at once.

use crate::kit::{HOME, PageSession, Running, ask, good, text};
use manent_server::{Limits, Rate};
use manent_testing::http::Events;
use serde_json::{Value, json};
use std::time::Duration;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

async fn tail(server: &Running, word: &str) -> (manent_testing::http::Client, Events) {
    let mut reader = server.holder(word).await;
    let live = [("accept", "text/event-stream")];
    let response = reader.begin("GET", "/api/v1/journal", &live, "").await.expect("an answer");
    assert_eq!(response.status().as_u16(), 200);
    (reader, Events::of(response))
}

/// Waits until a stream is cut or ends.
async fn cut(mut events: Events) {
    let over = async { while let Ok(Some(_)) = events.next().await {} };
    tokio::time::timeout(PATIENCE, over).await.expect("the stream ends");
}

/// Begins a request whose body does not come.
async fn unfinished(server: &Running, path: &str, kind: &str, word: &str) -> tokio::net::TcpStream {
    let mut stream = tokio::net::TcpStream::connect(server.address).await.expect("listening");
    let (host, shown) = (server.address, format!("authorization: Bearer {word}\r\n"));
    let shown = if word.is_empty() { "" } else { &shown };
    let head = format!(
        "POST /api/v1{path} HTTP/1.1\r\nhost: {host}\r\n{shown}content-type: {kind}\r\ncontent-length: 1000\r\n\r\n"
    );
    tokio::io::AsyncWriteExt::write_all(&mut stream, head.as_bytes()).await.expect("sent");
    stream
}

#[tokio::test]
async fn a_key_opens_the_store_of_its_tenant_and_no_other() {
    let server = Running::start().await;
    let (acme, umbrella) = (server.tenant("acme").await, server.tenant("umbrella").await);
    let (_, ours) = server.key(&acme, json!({ "scopes": ["manage"] })).await;
    let (_, theirs) = server.key(&umbrella, json!({ "scopes": ["manage"] })).await;
    let (mut ours, theirs) = (server.holder(&ours).await, server.holder(&theirs).await);
    let chat = text(&good(&mut ours, "POST", "/conversations", json!({ "title": "天气" })).await, "/id");
    for mut other in [theirs, server.client().await] {
        assert_eq!(ask(&mut other, "GET", &format!("/conversations/{chat}"), Value::Null).await.0, 404);
        let listed = good(&mut other, "GET", "/conversations", Value::Null).await;
        assert_eq!(listed["conversations"], json!([]));
    }
    let session = good(&mut ours, "GET", "/session", Value::Null).await;
    assert_eq!(
        (&session["tenant"], &session["scopes"], &session["token"]),
        (&json!(acme), &json!(["manage"]), &json!(false))
    );
    // What the tenant is comes from the key; whatever else is said of it changes nothing.
    for name in ["tenant", "x-tenant", "x-tenant-id", "x-api-key"] {
        let headers = [(name, umbrella.as_str())];
        let answer = ours.send("GET", &format!("/api/v1/conversations/{chat}"), &headers, "").await.expect("an answer");
        assert_eq!(answer.status.as_u16(), 200, "{name}");
    }
    let (status, problem) = ask(&mut ours, "GET", &format!("/conversations?tenant={umbrella}"), Value::Null).await;
    assert_eq!((status, &problem["code"]), (400, &json!("invalid")));
    server.stop().await;
}

#[tokio::test]
async fn a_revoked_key_ends_streams_sessions_and_requests() {
    let server = Running::start().await;
    let (id, word) = server.key(HOME, json!({ "scopes": ["manage"] })).await;
    let (_, stays) = server.key(HOME, json!({ "scopes": ["read"] })).await;
    let (_reader, events) = tail(&server, &word).await;
    let (_other, mut kept) = tail(&server, &stays).await;
    let mut visitor = server.stranger().await;
    let session = PageSession::begin(&server, &word).await;
    let look = session.headers();
    let seen = visitor.send("GET", "/api/v1/conversations", &look, "").await.expect("an answer");
    assert_eq!(seen.status.as_u16(), 200);
    good(&mut server.client().await, "DELETE", &format!("/keys/{id}"), Value::Null).await;
    cut(events).await;
    let seen = visitor.send("GET", "/api/v1/conversations", &look, "").await.expect("an answer");
    assert_eq!((seen.status.as_u16(), seen.text().contains("key_revoked")), (401, true));
    let (status, problem) = ask(&mut server.holder(&word).await, "GET", "/conversations", Value::Null).await;
    assert_eq!((status, &problem["code"]), (401, &json!("key_revoked")));
    good(&mut server.client().await, "POST", "/conversations", json!({ "title": "after" })).await;
    let next = tokio::time::timeout(PATIENCE, kept.next()).await.expect("another's stream goes on");
    assert!(next.expect("readable").is_some());
    server.stop().await;
}

#[tokio::test]
async fn an_upload_ends_with_its_key() {
    let server = Running::start().await;
    let (id, word) = server.key(HOME, json!({ "scopes": ["manage"] })).await;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = unfinished(&server, "/import", "application/x-ndjson", &word).await;
    stream.write_all(b"{\"type\":\"manent\",\"value\":{\"format\":1}}\n").await.expect("sent");
    // The use of a key is in the log before the request is done, so it is under way once it is there.
    let mut owner = server.client().await;
    let begun = async {
        loop {
            let lines = good(&mut owner, "GET", "/audit?limit=9", Value::Null).await;
            if lines.to_string().contains("\"import\"") {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, begun).await.expect("it begins");
    good(&mut owner, "DELETE", &format!("/keys/{id}"), Value::Null).await;
    let mut answer = Vec::new();
    let told = async {
        while !answer.ends_with(b"}") {
            assert!(stream.read_buf(&mut answer).await.expect("readable") > 0, "it ended without a word");
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("it is told");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("key_ended"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_suspended_tenant_and_an_expired_key_are_cut_off() {
    let server = Running::start().await;
    let acme = server.tenant("acme").await;
    let (_, word) = server.key(&acme, json!({ "scopes": ["read"] })).await;
    let (_reader, events) = tail(&server, &word).await;
    let mut owner = server.client().await;
    good(&mut owner, "POST", &format!("/tenants/{acme}/suspend"), json!({})).await;
    cut(events).await;
    let (status, problem) = ask(&mut server.holder(&word).await, "GET", "/conversations", Value::Null).await;
    assert_eq!((status, &problem["code"]), (401, &json!("tenant_suspended")));
    good(&mut owner, "POST", &format!("/tenants/{acme}/resume"), json!({})).await;
    good(&mut server.holder(&word).await, "GET", "/conversations", Value::Null).await;
    let soon =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("now") + Duration::from_secs(1);
    let soon = manent::Timestamp(soon.as_micros() as i64).to_string();
    let (_, short) = server.key(&acme, json!({ "scopes": ["read"], "expires_at": soon })).await;
    let (_reader, events) = tail(&server, &short).await;
    cut(events).await;
    let (status, problem) = ask(&mut server.holder(&short).await, "GET", "/conversations", Value::Null).await;
    assert_eq!((status, &problem["code"]), (401, &json!("key_expired")));
    server.stop().await;
}

#[tokio::test]
async fn a_key_may_ask_so_often() {
    let server = Running::start().await;
    let (_, slow) = server.key(HOME, json!({ "scopes": ["read"], "rate": 1 })).await;
    let (_, other) = server.key(HOME, json!({ "scopes": ["read"] })).await;
    let mut slow = server.holder(&slow).await;
    let mut refused = None;
    for _ in 0..50 {
        let answer = slow.send("GET", "/api/v1/conversations", &[], "").await.expect("an answer");
        if answer.status.as_u16() == 429 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("fifty a second are more than one");
    assert_eq!((refused.header("retry-after"), refused.text().contains("too_often")), ("1", true));
    good(&mut server.holder(&other).await, "GET", "/conversations", Value::Null).await;
    good(&mut server.client().await, "GET", "/conversations", Value::Null).await;
    server.stop().await;
}

#[tokio::test]
async fn an_address_may_be_refused_so_often() {
    let limits = Limits { refusals: Rate { per_second: 1, burst: 5 }, ..Limits::default() };
    let server = Running::with(limits).await;
    let wrong = manent::model::ApiKeySecret::new(manent::model::KeyId::new(1, [1; 10]), [7; 32]).reveal();
    let mut guesser = server.holder(&wrong).await;
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(ask(&mut guesser, "GET", "/conversations", Value::Null).await.0);
    }
    assert!(statuses[..5].iter().all(|status| *status == 401), "{statuses:?}");
    assert!(statuses[6..].contains(&429), "{statuses:?}");
    let login = ask(&mut server.stranger().await, "GET", "/session", Value::Null).await;
    assert_eq!(login.0, 401, "requests without credentials are not counted");
    good(&mut server.client().await, "GET", "/conversations", Value::Null).await;
    server.stop().await;
}

#[tokio::test]
async fn the_audit_log_tells_what_admins_looked_at() {
    let server = Running::start().await;
    let acme = server.tenant("acme").await;
    let (_, admin) = server.key(&acme, json!({ "scopes": ["admin"] })).await;
    let mut admin = server.holder(&admin).await;
    let chat = text(&good(&mut admin, "POST", "/conversations", json!({ "title": "title-canary" })).await, "/id");
    let actions = async |client: &mut manent_testing::http::Client| {
        let lines = good(client, "GET", "/audit?limit=100", Value::Null).await;
        let actions = lines["entries"].as_array().expect("lines").clone();
        actions.into_iter().map(|line| (text(&line, "/action"), line)).collect::<Vec<_>>()
    };
    let count = |lines: &[(String, Value)], action: &str| lines.iter().filter(|(other, _)| other == action).count();
    good(&mut admin, "GET", &format!("/conversations/{chat}"), Value::Null).await;
    let before = actions(&mut admin).await;
    assert_eq!((count(&before, "key.use"), count(&before, "read")), (1, 0), "without users it is their own");
    good(&mut admin, "PUT", "/users/ada", json!({ "name": "Ada" })).await;
    for _ in 0..3 {
        good(&mut admin, "GET", &format!("/conversations/{chat}"), Value::Null).await;
    }
    admin.send("GET", "/api/v1/export", &[], "").await.expect("an answer");
    let after = actions(&mut admin).await;
    assert_eq!((count(&after, "read"), count(&after, "export"), count(&after, "user.put")), (1, 1, 1));
    let (_, read) = after.iter().find(|(action, _)| action == "read").expect("a line");
    assert_eq!(read["payload"]["detail"], json!({ "operation": "getConversation", "conversation": chat }));
    assert!(!format!("{after:?}").contains("title-canary"), "what people wrote is not in the log");
    let mut owner = server.client().await;
    let checked = good(&mut owner, "POST", "/audit/verify", json!({})).await;
    assert_eq!(checked["problems"], json!([]));
    let elsewhere = ask(&mut admin, "GET", &format!("/audit?tenant={HOME}"), Value::Null).await;
    assert_eq!(elsewhere.0, 404);
    server.stop().await;
}

#[tokio::test]
async fn numbers_are_told_by_tenant_and_to_whom_they_concern() {
    let server = Running::start().await;
    let (acme, umbrella) = (server.tenant("acme").await, server.tenant("umbrella").await);
    let (_, admin) = server.key(&acme, json!({ "scopes": ["admin"] })).await;
    let (_, reader) = server.key(&umbrella, json!({ "scopes": ["read"] })).await;
    let (mut admin, mut reader) = (server.holder(&admin).await, server.holder(&reader).await);
    good(&mut admin, "POST", "/conversations", json!({ "title": "title-canary" })).await;
    good(&mut reader, "GET", "/conversations", Value::Null).await;
    let numbers = async |client: &mut manent_testing::http::Client| {
        let answer = client.send("GET", "/metrics", &[], "").await.expect("an answer");
        (answer.status.as_u16(), answer.text())
    };
    let (status, all) = numbers(&mut server.client().await).await;
    assert_eq!(status, 200);
    assert!(all.contains(&format!("manent_requests_total{{tenant=\"{acme}\",status=\"2xx\"}} 1")), "{all}");
    assert!(all.contains(&format!("manent_requests_total{{tenant=\"{umbrella}\",status=\"2xx\"}} 1")), "{all}");
    assert!(all.contains(&format!("manent_store_position{{tenant=\"{acme}\"}} 1")), "{all}");
    assert!(all.contains("manent_request_seconds_bucket") && all.contains("le=\"+Inf\""), "{all}");
    let (status, own) = numbers(&mut admin).await;
    assert_eq!(status, 200);
    assert!(own.contains(&acme) && !own.contains(&umbrella), "{own}");
    assert!(!all.contains("canary") && !all.contains("acme"), "{all}");
    assert_eq!(numbers(&mut reader).await.0, 403);
    let (_, all) = numbers(&mut server.client().await).await;
    assert!(all.contains(&format!("manent_requests_total{{tenant=\"{umbrella}\",status=\"4xx\"}} 1")), "{all}");
    assert_eq!(numbers(&mut server.stranger().await).await.0, 401);
    server.stop().await;
}

#[tokio::test]
async fn the_log_of_a_tenant_tells_what_others_did_with_it() {
    let server = Running::start().await;
    let acme = server.tenant("acme").await;
    let mut owner = server.client().await;
    owner.send("GET", &format!("/api/v1/tenants/{acme}/export"), &[], "").await.expect("an answer");
    let (_, admin) = server.key(&acme, json!({ "scopes": ["admin"] })).await;
    let mut admin = server.holder(&admin).await;
    good(&mut admin, "PUT", "/users/ada", json!({ "name": "Ada" })).await;
    let (id, word) = server.key(&acme, json!({ "scopes": ["read"], "user": "ada" })).await;
    good(&mut admin, "DELETE", &format!("/keys/{id}"), Value::Null).await;
    // Only existing tenants write into it: a name in a path creates none.
    let (_, other) = server.key(HOME, json!({ "scopes": ["admin"] })).await;
    ask(&mut server.holder(&other).await, "POST", &format!("/conversations/{acme}/purge"), json!({})).await;
    // What destroys is told, whichever way it comes; and an id is an id, however it is written.
    let chat = text(&good(&mut admin, "POST", "/conversations", json!({ "title": "t" })).await, "/id");
    let written = format!("/api/v1/conversations/%63{}", &chat[1..]);
    assert_eq!(admin.send("GET", &written, &[], "").await.expect("an answer").status.as_u16(), 200);
    let erase = json!({ "changes": [{ "erase": { "target": { "conversation": chat } } }] });
    good(&mut admin, "POST", "/commits", erase).await;
    assert_eq!(ask(&mut server.holder(&word).await, "GET", "/conversations", Value::Null).await.0, 401);
    let lines = good(&mut owner, "GET", &format!("/audit?limit=100&tenant={acme}"), Value::Null).await;
    let lines = lines["entries"].as_array().expect("lines");
    let line = |action: &str| lines.iter().find(|line| line["action"] == action).unwrap_or_else(|| panic!("{action}"));
    assert_eq!(line("tenant.export")["payload"]["detail"]["tenant"], json!(acme));
    assert_eq!(line("read")["payload"]["detail"]["conversation"], json!(chat));
    assert_eq!(line("erase")["tenant"], json!(acme));
    assert!(!lines.iter().any(|line| line["action"] == "purge"), "a line of another tenant");
    assert_eq!(line("key.refused")["payload"]["by_user"], json!("ada"), "{}", line("key.refused"));
    server.stop().await;
}

#[tokio::test]
async fn sessions_of_one_holder_do_not_end_those_of_another() {
    let server = Running::start().await;
    let (_, word) = server.key(HOME, json!({ "scopes": ["read"], "rate": 1_000 })).await;
    let mut visitor = server.stranger().await;
    let owner = PageSession::begin(&server, crate::kit::TOKEN).await;
    let mut others = Vec::new();
    for _ in 0..65 {
        others.push(PageSession::begin(&server, &word).await);
    }
    let mut look = async |session: &PageSession| {
        let seen = visitor.send("GET", "/api/v1/conversations", &session.headers(), "").await;
        seen.expect("an answer").status.as_u16()
    };
    assert_eq!(look(&owner).await, 200);
    let mut left = 0;
    for other in &others {
        left += usize::from(look(other).await == 200);
    }
    assert_eq!(left, 64, "one of the same key ends");
    server.stop().await;
}

#[tokio::test]
async fn the_transfers_of_one_tenant_leave_room_for_another() {
    let server = Running::with(Limits { transfers: 2, ..Limits::default() }).await;
    let (acme, umbrella) = (server.tenant("acme").await, server.tenant("umbrella").await);
    let (_, slow) = server.key(&acme, json!({ "scopes": ["manage"] })).await;
    let (_, quick) = server.key(&umbrella, json!({ "scopes": ["manage"] })).await;
    let stream = unfinished(&server, "/import", "application/x-ndjson", &slow).await;
    let mut slow = server.holder(&slow).await;
    let full = async {
        loop {
            let answer = slow.send("GET", "/api/v1/export", &[], "").await.expect("an answer");
            if answer.status.as_u16() == 503 {
                break answer;
            }
        }
    };
    let full = tokio::time::timeout(PATIENCE, full).await.expect("it has its share");
    assert!(full.text().contains("busy"), "{}", full.text());
    let mut quick = server.holder(&quick).await;
    for _ in 0..3 {
        // The place of the one before is given back a moment after its last byte.
        let given =
            async { while quick.send("GET", "/api/v1/export", &[], "").await.expect("an answer").status != 200 {} };
        tokio::time::timeout(PATIENCE, given).await.expect("there is room for another tenant");
    }
    // A client that disconnects releases its permit.
    drop(stream);
    let free =
        async { while slow.send("GET", "/api/v1/export", &[], "").await.expect("an answer").status.as_u16() != 200 {} };
    tokio::time::timeout(PATIENCE, free).await.expect("the place is free again");
    server.stop().await;
}

#[tokio::test]
async fn strangers_leave_room_for_those_who_are_known() {
    let server = Running::with(Limits { requests: 4, ..Limits::default() }).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(unfinished(&server, "/session", "application/json", "").await);
    }
    let mut stranger = server.stranger().await;
    let login = [("content-type", "application/json")];
    let full = async {
        while stranger.send("POST", "/api/v1/session", &login, "{}").await.expect("an answer").status.as_u16() != 503 {}
    };
    tokio::time::timeout(PATIENCE, full).await.expect("strangers have half");
    for path in ["/healthz", "/"] {
        assert_eq!(stranger.send("GET", path, &[], "").await.expect("an answer").status.as_u16(), 200, "{path}");
    }
    good(&mut server.client().await, "GET", "/conversations", Value::Null).await;
    drop(held);
    server.stop().await;
}

#[tokio::test]
async fn a_limited_key_imports_nothing() {
    let server = Running::start().await;
    let mut owner = server.client().await;
    good(&mut owner, "PUT", "/users/ada", json!({ "name": "Ada" })).await;
    let (_, word) = server.key(HOME, json!({ "scopes": ["manage"], "user": "ada" })).await;
    let mut limited = server.holder(&word).await;
    for path in ["/api/v1/import", "/api/v1/import/files"] {
        let answer = limited.send("POST", path, &[], "{}\n").await.expect("an answer");
        assert_eq!(answer.status.as_u16(), 403, "{path}: {}", answer.text());
        assert!(answer.text().contains("without limits"), "{path}: {}", answer.text());
    }
    server.stop().await;
}

#[tokio::test]
async fn a_key_without_read_learns_nothing_by_writing() {
    let server = Running::start().await;
    let mut owner = server.client().await;
    let draft = json!({ "title": "secret", "external_id": "ext", "tags": ["secret"], "metadata": { "a": "secret" } });
    let there = text(&good(&mut owner, "POST", "/conversations", draft).await, "/id");
    good(&mut owner, "PATCH", &format!("/conversations/{there}"), json!({ "pinned": true })).await;
    let (_, word) = server.key(HOME, json!({ "scopes": ["append"] })).await;
    let mut writer = server.holder(&word).await;
    let again = json!({ "title": "mine", "external_id": "ext" });
    let answer = good(&mut writer, "POST", "/conversations", again).await;
    assert_eq!((text(&answer, "/id"), text(&answer, "/title")), (there, "mine".to_owned()));
    assert!(!answer.to_string().contains("secret") && answer["pinned"] != json!(true), "{answer}");
    let seen = good(&mut owner, "GET", &format!("/conversations/{}", text(&answer, "/id")), Value::Null).await;
    for when in ["created_at", "active_at", "version"] {
        assert_ne!(answer[when], seen[when], "{when} tells of what is there");
    }
    let (_, word) = server.key(HOME, json!({ "scopes": ["read", "append"] })).await;
    let again = json!({ "title": "mine", "external_id": "ext" });
    let answer = good(&mut server.holder(&word).await, "POST", "/conversations", again).await;
    assert_eq!(text(&answer, "/title"), "secret", "a key with the scope sees the title");
    server.stop().await;
}
