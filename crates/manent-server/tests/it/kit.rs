//! A server on a port of its own, with a store of its own: a file, or with `MANENT_TEST_ENGINE=postgres` a database of a
//! PostgreSQL. Every test runs on both.

use manent::{BackupPlan, Location, Tenants};
use manent_server::{Limits, Secret, ServeOptions, Server};
use manent_testing::http::{Answer, Client};
use manent_testing::scratch::Scratch;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The first tenant.
pub const HOME: &str = "ten_00000000000000000000000000";

pub const TOKEN: &str = "mnt_test_4f1c9a72e6b805d3";

/// A running server.
pub struct Running {
    pub address: SocketAddr,
    pub folder: TempDir,
    /// Where its store is.
    pub place: Location,
    /// A server of its own ends with it.
    scratch: Option<Scratch>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<manent::Result<()>>,
}

impl Running {
    pub async fn start() -> Self {
        Self::with(Limits::default()).await
    }

    pub async fn with(limits: Limits) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let scratch = match std::env::var("MANENT_TEST_ENGINE").as_deref() {
            Ok("postgres") => Some(Scratch::make().expect("a PostgreSQL was asked for")),
            _ => None,
        };
        let file = folder.path().join("manent.db");
        let place = scratch.as_ref().map_or_else(|| Location::of(&file), |scratch| Location::of(&scratch.url));
        Self::over(folder, place, scratch, limits).await
    }

    /// Starts another server on the same store, as on a second machine.
    pub async fn second(&self) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self::over(folder, self.place.clone(), None, Limits::default()).await
    }

    async fn over(folder: TempDir, place: Location, scratch: Option<Scratch>, limits: Limits) -> Self {
        let backups = folder.path().join("backups");
        let tenants = Tenants::open(&place, Some(backups.clone())).expect("a store that opens");
        let options = ServeOptions {
            listen: "127.0.0.1:0".parse().expect("an address"),
            hosts: vec!["manent.test".to_owned()],
            home: folder.path().to_owned(),
            backups: Some(BackupPlan::daily(backups)),
            limits,
        };
        let server = Server::bind(tenants, options, Some(Secret::given(TOKEN))).await.expect("listening");
        let address = server.address();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(server.run(async move { drop(stopped.await) }));
        Self { address, folder, place, scratch, stop, task }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Connects as a program that has the token.
    pub async fn client(&self) -> Client {
        let headers = [("authorization", "Bearer mnt_test_4f1c9a72e6b805d3"), ("content-type", "application/json")];
        Client::connect(self.address, &headers).await.expect("a server that listens")
    }

    /// Connects with a key.
    pub async fn holder(&self, word: &str) -> Client {
        let authorization = format!("Bearer {word}");
        let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
        Client::connect(self.address, &headers).await.expect("a server that listens")
    }

    /// Makes a tenant and returns its id.
    pub async fn tenant(&self, name: &str) -> String {
        let made = good(&mut self.client().await, "POST", "/tenants", serde_json::json!({ "name": name })).await;
        text(&made, "/id")
    }

    /// Makes a key of a tenant, and returns its id and the key itself.
    pub async fn key(&self, tenant: &str, draft: Value) -> (String, String) {
        let mut draft = draft;
        draft["name"] = "a key".into();
        let made = good(&mut self.client().await, "POST", &format!("/tenants/{tenant}/keys"), draft).await;
        (text(&made, "/id"), text(&made, "/secret"))
    }

    /// Connects without credentials.
    pub async fn stranger(&self) -> Client {
        Client::connect(self.address, &[]).await.expect("a server that listens")
    }

    /// Stops it and waits until everything accepted is done.
    pub async fn stop(self) {
        drop(self.stop_keeping().await);
    }

    /// The same, and hands over what its store lies in.
    pub async fn stop_keeping(self) -> (TempDir, Option<Scratch>) {
        drop(self.stop);
        self.task.await.expect("a server that does not panic").expect("a store that closes");
        (self.folder, self.scratch)
    }
}

/// A short way to ask and to look at the answer.
pub async fn ask(client: &mut Client, method: &str, path: &str, body: Value) -> (u16, Value) {
    let answer = send(client, method, path, body).await;
    (answer.status.as_u16(), serde_json::from_slice(&answer.body).unwrap_or(Value::Null))
}

/// The same, with everything that was answered.
pub async fn send(client: &mut Client, method: &str, path: &str, body: Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    client.send(method, &format!("/api/v1{path}"), &[], body).await.expect("an answer")
}

/// Asks for what must work.
pub async fn good(client: &mut Client, method: &str, path: &str, body: Value) -> Value {
    let (status, answer) = ask(client, method, path, body).await;
    assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
    answer
}

/// Returns a text of an answer.
pub fn text(answer: &Value, pointer: &str) -> String {
    answer.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no {pointer} in {answer}")).to_owned()
}

/// A session of the page: what a browser keeps of it.
pub struct PageSession {
    pub set_cookie: String,
    pub cookie: String,
    pub secret: String,
}

impl PageSession {
    pub async fn begin(server: &Running, token: &str) -> Self {
        let json = ("content-type", "application/json");
        let body = serde_json::json!({ "token": token }).to_string();
        let begun = server.stranger().await.send("POST", "/api/v1/session", &[json], body).await.expect("an answer");
        assert_eq!(begun.status.as_u16(), 201, "{}", begun.text());
        let set_cookie = begun.header("set-cookie").to_owned();
        let cookie = set_cookie.split(';').next().expect("a cookie").to_owned();
        let secret = text(&serde_json::from_slice(&begun.body).expect("JSON"), "/secret");
        Self { set_cookie, cookie, secret }
    }

    pub fn headers(&self) -> [(&str, &str); 2] {
        [("cookie", self.cookie.as_str()), ("manent-session", self.secret.as_str())]
    }
}
