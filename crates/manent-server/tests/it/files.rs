//! Other programs' files over HTTP: uploaded, reported, downloaded.

use crate::kit::{HOME, Running, good};
use manent_server::Limits;
use manent_testing::http::{Answer, Client};
use serde_json::{Value, json};

const VELOCA: &str = r#"{
  "sessions": [
    {"session_id": "s1", "name": "第一", "status": 0, "create_at": "2024-01-01T00:00:00.000Z"}
  ],
  "entries": [
    {"entry_id": "e1", "session_id": "s1", "message": "你好", "role": "user", "create_at": "2024-01-01T00:00:00.000Z"},
    {"entry_id": "e2", "session_id": "s1", "message": "key sk-proj-0123456789abcdefghij", "role": "assistant", "create_at": "2024-01-01T00:00:01.000Z"}
  ],
  "compacted_dialogues": []
}
"#;

async fn upload(client: &mut Client, query: &str, accept: &str, bytes: impl Into<Vec<u8>>) -> Answer {
    let headers = [("content-type", "application/octet-stream"), ("accept", accept)];
    let path = format!("/api/v1/import/files?{query}");
    client.send("POST", &path, &headers, bytes.into()).await.expect("an answer")
}

async fn download(client: &mut Client, query: &str) -> Answer {
    client.send("GET", &format!("/api/v1/export/files?{query}"), &[], "").await.expect("an answer")
}

fn value(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("no JSON: {}", answer.text()))
}

#[tokio::test]
async fn a_file_goes_in_and_comes_back_to_the_byte() {
    let server = Running::start().await;
    let mut client = server.client().await;
    let said = upload(&mut client, "name=a.json&dry_run=true", "application/json", VELOCA).await;
    assert_eq!(value(&said)["conversations"][0]["added"], 2, "{}", said.text());
    assert_eq!(good(&mut client, "GET", "/conversations", Value::Null).await["conversations"], json!([]));
    let said = upload(&mut client, "name=a.json", "application/json", VELOCA).await;
    assert_eq!((said.status.as_u16(), &value(&said)["roots"][0]["format"]), (200, &json!("veloca")));
    let back = download(&mut client, "format=veloca").await;
    assert_eq!(back.text(), VELOCA);
    assert_eq!(back.header("content-disposition"), "attachment; filename=\"a.json\"; filename*=UTF-8''a.json");
    assert_eq!(back.header("manent-losses"), "[]");
    let clean = download(&mut client, "format=veloca&redact=true").await.text();
    assert_eq!(clean, VELOCA.replace("sk-proj-0123456789abcdefghij", "[redacted]"));
    server.stop().await;
}

#[tokio::test]
async fn several_files_travel_as_a_zip() {
    let server = Running::start().await;
    let mut client = server.client().await;
    upload(&mut client, "", "application/json", VELOCA).await;
    let zip = download(&mut client, "format=obsidian-rag").await;
    assert!(zip.body.starts_with(b"PK"), "{}", zip.text());
    assert!(zip.header("content-disposition").contains("obsidian-rag.zip"));
    assert!(zip.header("manent-losses").contains("times"), "{}", zip.header("manent-losses"));
    let other = Running::start().await;
    let mut elsewhere = other.client().await;
    let said = upload(&mut elsewhere, "name=b.zip", "application/json", zip.body.to_vec()).await;
    assert_eq!(value(&said)["roots"][0]["format"], "obsidian-rag", "{}", said.text());
    assert_eq!(download(&mut elsewhere, "format=obsidian-rag").await.body, zip.body, "the same zip");
    server.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn progress_comes_before_the_report() {
    let server = Running::start().await;
    let mut client = server.client().await;
    let said = upload(&mut client, "name=a.json", "text/event-stream", VELOCA).await;
    assert_eq!(said.header("content-type"), "text/event-stream");
    let text = said.text();
    let events: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(events, ["progress", "report"], "{text}");
    let data = text.lines().rfind(|line| line.starts_with("data: ")).expect("data");
    let report: Value = serde_json::from_str(data.trim_start_matches("data: ")).expect("JSON");
    assert_eq!(report["conversations"][0]["added"], 2);
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_file_of_anybody_changes_nothing() {
    let server = Running::with(Limits { import_bytes: 1 << 20, ..Limits::default() }).await;
    let mut client = server.client().await;
    let mut refused = Vec::new();
    for (query, bytes) in [
        ("", b"hello".to_vec()),
        ("", Vec::new()),
        ("as=word", VELOCA.into()),
        ("name=a.zip", b"PK\x03\x04 and then nothing".to_vec()),
        ("", vec![b' '; (1 << 20) + 1]),
        ("as=kode", VELOCA.into()),
    ] {
        let said = upload(&mut client, query, "application/json", bytes).await;
        refused.push((said.status.as_u16(), value(&said)["code"].as_str().unwrap_or_default().to_owned()));
    }
    let said = download(&mut client, "format=word").await;
    refused.push((said.status.as_u16(), value(&said)["code"].as_str().unwrap_or_default().to_owned()));
    let said = download(&mut client, "format=kode&generation=9").await;
    refused.push((said.status.as_u16(), value(&said)["code"].as_str().unwrap_or_default().to_owned()));
    let told: Vec<(u16, &str)> = refused.iter().map(|(status, code)| (*status, code.as_str())).collect();
    assert_eq!(
        told,
        [
            (400, "invalid"),
            (400, "invalid"),
            (400, "invalid"),
            (422, "unreadable"),
            (413, "too_large"),
            (422, "unreadable"),
            (400, "invalid"),
            (422, "unwritable"),
        ]
    );
    assert_eq!(good(&mut client, "GET", "/conversations", Value::Null).await["conversations"], json!([]));
    server.stop().await;
}

/// As many sessions as take an import some time.
fn many(sessions: usize, each: usize) -> String {
    let at = "2024-01-01T00:00:00.000Z";
    let session = |n| json!({ "session_id": format!("s{n}"), "name": format!("{n}"), "status": 0, "create_at": at });
    let entry = |n: usize| {
        let (id, of) = (format!("e{n}"), format!("s{}", n / each));
        json!({ "entry_id": id, "session_id": of, "message": "a word", "role": "user", "create_at": at })
    };
    let sessions: Vec<Value> = (0..sessions).map(session).collect();
    let entries: Vec<Value> = (0..sessions.len() * each).map(entry).collect();
    format!(r#"{{"sessions":{},"entries":{},"compacted_dialogues":[]}}"#, json!(sessions), json!(entries))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_ends_with_its_key_and_is_finished_by_another() {
    const SESSIONS: usize = 400;
    const EACH: usize = 50;
    let server = Running::start().await;
    let (id, word) = server.key(HOME, json!({ "scopes": ["manage"] })).await;
    let (mut holder, mut owner) = (server.holder(&word).await, server.client().await);
    let file = many(SESSIONS, EACH);
    let sent = file.clone();
    let importing = tokio::spawn(async move { upload(&mut holder, "name=a.json", "application/json", sent).await });
    let kept = async |owner: &mut Client| {
        let stats = good(owner, "GET", "/stats", Value::Null).await;
        stats["total"]["messages"].as_u64().expect("a number") as usize
    };
    while kept(&mut owner).await == 0 {
        assert!(!importing.is_finished(), "nothing was taken in");
    }
    good(&mut owner, "DELETE", &format!("/keys/{id}"), Value::Null).await;
    let ended = importing.await.expect("it ends");
    assert_eq!((ended.status.as_u16(), &value(&ended)["code"]), (401, &json!("key_ended")));
    // What the store was given by then it takes in.
    let pause = std::time::Duration::from_millis(500);
    tokio::time::sleep(pause).await;
    let left = kept(&mut owner).await;
    tokio::time::sleep(pause).await;
    assert_eq!(kept(&mut owner).await, left, "the import continues after its key was revoked");
    assert!(left < SESSIONS * EACH, "it was over before the key was");
    // What is there stays, and the same file fills up the rest.
    let report = upload(&mut owner, "name=a.json", "application/json", file).await;
    assert_eq!(report.status.as_u16(), 200, "{}", report.text());
    assert_eq!(kept(&mut owner).await, SESSIONS * EACH);
    server.stop().await;
}
