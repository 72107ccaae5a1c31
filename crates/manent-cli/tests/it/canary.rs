//! Canaries: secrets and words that are sent through every route and every error, and must not come out elsewhere.

use crate::kit::Home;
use crate::serve::Served;
use manent_server::operations;
use manent_testing::http::Client;
use manent_testing::scratch::Scratch;
use serde_json::Value;
use std::path::Path;

/// What people write. It belongs into their store, and nowhere else.
const WORD: &str = "canaryword7f3a";

/// What is sent where it does not belong.
const STRAY: &str = "canarystray9c1e";

#[tokio::test]
async fn nothing_comes_out_where_it_does_not_belong() {
    keeps_to_itself(&Home::new(), None).await;
}

#[tokio::test]
async fn nothing_comes_out_on_a_server_either() {
    let Some(scratch) = Scratch::make() else { return };
    keeps_to_itself(&Home::new(), Some(&scratch.url)).await;
}

/// The secrets of this run.
struct Secrets {
    token: String,
    keys: Vec<String>,
    cookie: String,
    page: String,
}

async fn keeps_to_itself(home: &Home, db: Option<&str>) {
    let logs = tempfile::tempdir().expect("a temporary folder");
    let log = logs.path().join("log");
    let command = || {
        let mut command = home.command(&[]);
        if let Some(db) = db {
            command.env("MANENT_DB", db);
        }
        command
    };
    // Everything that anybody in the program has to say.
    let served = Served::start_to(command(), "trace", std::fs::File::create(&log).expect("a file").into());
    let secrets = try_everything(&served).await;
    assert_eq!(served.terminate(), Some(0));
    let said = std::fs::read_to_string(&log).expect("the log");
    assert!(said.contains("answered"), "the log says what it always says: {said:.300}");
    for secret in secret_parts(&secrets) {
        assert!(!said.contains(&secret), "the log holds a secret");
    }
    for word in [WORD, STRAY] {
        let line = said.lines().find(|line| line.contains(word));
        assert_eq!(line, None, "the log holds what was sent");
    }
    // In files: the token in its own, words in the store and its index.
    for (path, bytes) in files(home.path()) {
        let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        for secret in secret_parts(&secrets) {
            let belongs = path == "token" && secret == secrets.token;
            assert!(belongs || !holds(&secret), "{path} holds a secret");
        }
        let is_store = path.starts_with("manent.db");
        for word in [WORD, STRAY] {
            assert!(is_store || !holds(word), "{path} holds what was sent");
        }
    }
    let mut export = command();
    let exported = export.arg("export").output().expect("it runs");
    let exported = String::from_utf8_lossy(&exported.stdout).into_owned();
    assert!(exported.contains(WORD), "what people wrote is in an export: {exported}");
    for secret in secret_parts(&secrets) {
        assert!(!exported.contains(&secret), "an export holds a secret");
    }
}

/// Whole, and the part that is the secret: a key is as good without its name.
fn secret_parts(secrets: &Secrets) -> Vec<String> {
    let parts = secrets.keys.iter().flat_map(|key| [key.clone(), key[33..85].to_owned()]);
    [secrets.token.clone(), secrets.cookie.clone(), secrets.page.clone()].into_iter().chain(parts).collect()
}

async fn send(client: &mut Client, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Value {
    let answer = client.send(method, path, headers, body.to_owned()).await;
    answer.ok().and_then(|answer| serde_json::from_slice(&answer.body).ok()).unwrap_or(Value::Null)
}

async fn try_everything(served: &Served) -> Secrets {
    let mut owner = served.client().await.expect("it answers");
    let mut keys = Vec::new();
    for draft in [r#"{"name":"one","scopes":["admin"]}"#, r#"{"name":"two","scopes":["read"]}"#] {
        let made = send(&mut owner, "POST", "/api/v1/keys", &[], draft).await;
        keys.push(made["secret"].as_str().expect("a key").to_owned());
        let id = made["id"].as_str().expect("an id").to_owned();
        if keys.len() == 2 {
            send(&mut owner, "DELETE", &format!("/api/v1/keys/{id}"), &[], "").await;
        }
    }
    // One that never was, well spelt.
    keys.push(manent::model::ApiKeySecret::new(manent::model::KeyId::new(1, [9; 10]), [0x5A; 32]).reveal());
    let login = format!(r#"{{"token":"{}"}}"#, keys[0]);
    let mut visitor =
        Client::connect(served.address, &[("content-type", "application/json")]).await.expect("it answers");
    let begun = visitor.send("POST", "/api/v1/session", &[], login).await.expect("an answer");
    let cookie = begun.header("set-cookie").split(';').next().expect("a cookie").to_owned();
    let cookie_secret = cookie.split('=').nth(1).expect("a value").to_owned();
    let entrance: Value = serde_json::from_slice(&begun.body).expect("JSON");
    let page_secret = entrance["secret"].as_str().expect("a secret").to_owned();
    let made = send(&mut owner, "POST", "/api/v1/conversations", &[], &format!(r#"{{"title":"{WORD}"}}"#)).await;
    let chat = made["id"].as_str().expect("an id").to_owned();
    let said = format!(r#"{{"messages":[{{"role":"user","text":"{WORD} 天气"}}]}}"#);
    send(&mut owner, "POST", &format!("/api/v1/conversations/{chat}/messages"), &[], &said).await;
    send(&mut owner, "GET", &format!("/api/v1/search?q={WORD}"), &[], "").await;
    // The log of audits tells of this, by the ids alone.
    send(&mut owner, "GET", &format!("/api/v1/export?conversation={chat}"), &[], "").await;
    for operation in operations() {
        // Ends sessions, and takes as long as it takes.
        if ["endSession", "backup", "reindex"].contains(&operation.id) {
            continue;
        }
        let method = operation.method.as_str();
        for key in &keys {
            let authorization = format!("Bearer {key}");
            let mut holder = Client::connect(
                served.address,
                &[("authorization", &authorization), ("content-type", "application/json")],
            )
            .await
            .expect("it answers");
            for (path, body) in attempts(operation.path, &keys[0]) {
                send(&mut holder, method, &path, &[], &body).await;
            }
        }
        let path = operation.path.replace(['{', '}'], "");
        let path = format!("/api/v1{path}?token={}&q={STRAY}", keys[0]);
        let strange: [(&str, &str); 9] = [
            ("cookie", &cookie),
            ("manent-session", &page_secret),
            ("idempotency-key", STRAY),
            ("if-match", STRAY),
            ("last-event-id", STRAY),
            ("x-request-id", STRAY),
            ("x-api-key", &keys[0]),
            ("user-agent", STRAY),
            ("referer", STRAY),
        ];
        send(&mut visitor, method, &path, &strange, &format!("{{\"{STRAY}\":")).await;
        let other_host: [(&str, &str); 2] =
            [("host", "canarystray9c1e.test"), ("origin", "http://canarystray9c1e.test")];
        send(&mut visitor, method, &path, &other_host, STRAY).await;
        // A refusal may end the connection.
        let json = [("content-type", "application/json")];
        visitor = Client::connect(served.address, &json).await.expect("it answers");
    }
    Secrets { token: served.token.clone(), keys, cookie: cookie_secret, page: page_secret }
}

/// A route with strange things wherever something can be said.
fn attempts(path: &str, key: &str) -> Vec<(String, String)> {
    let filled: String =
        path.split('/').map(|part| if part.starts_with('{') { STRAY } else { part }).collect::<Vec<_>>().join("/");
    let shown: String = filled.replace(STRAY, key);
    vec![
        (format!("/api/v1{filled}?{STRAY}={STRAY}"), format!("{{\"{STRAY}\": 1}}")),
        (format!("/api/v1{shown}?token={key}"), format!("not JSON {STRAY}")),
        (format!("/api/v1{filled}/{STRAY}"), format!("{{\"token\": \"{key}\"}}")),
    ]
}

/// Returns every file below a folder with its bytes.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).expect("a folder").flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(folder).expect("below it").display().to_string();
                    found.push((name, std::fs::read(&path).expect("readable")));
                }
            }
        }
    }
    found
}
