//! `manent serve`, and commands beside it on the same file.

use crate::kit::Home;
use bytes::Bytes;
use manent_testing::http::{Client, Events};
use manent_testing::{SmallDisk, not_run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server in a process of its own.
pub struct Served {
    child: Child,
    pub address: SocketAddr,
    pub token: String,
}

impl Served {
    pub fn start(home: &Home) -> Self {
        Self::start_with(home.command(&[]))
    }

    /// Starts it with a command that was prepared.
    pub fn start_with(command: Command) -> Self {
        Self::start_to(command, "error", Stdio::null())
    }

    /// The same, with a log of some level that goes somewhere.
    pub fn start_to(mut command: Command, level: &str, log: Stdio) -> Self {
        command.args(["serve", "--listen", "127.0.0.1:0", "--no-backups"]);
        Self::of(command, level, log)
    }

    /// Starts it with a command that says all of it.
    pub fn of(mut command: Command, level: &str, log: Stdio) -> Self {
        let mut child = command
            .env("MANENT_LOG", level)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the server starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let link = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("Open ").map(str::to_owned));
        let link = link.expect("a link");
        let address = link.strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        let address = address.unwrap_or_else(|| panic!("a link without the token: {link}"));
        let variable = |name: &str| command.get_envs().find(|(own, _)| *own == name).and_then(|(_, value)| value);
        let token = match variable("MANENT_TOKEN") {
            Some(token) => token.to_string_lossy().into_owned(),
            None => {
                let home = PathBuf::from(variable("MANENT_HOME").expect("a home of its own"));
                std::fs::read_to_string(home.join("token")).expect("made at the first start").trim().to_owned()
            }
        };
        Self { address: address.parse().expect("an address"), token, child }
    }

    pub async fn client(&self) -> Option<Client> {
        let token = format!("Bearer {}", self.token);
        Client::connect(self.address, &[("authorization", &token), ("content-type", "application/json")]).await.ok()
    }

    pub fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }

    /// Asks it to end, as a service manager does, and returns how it ended.
    pub fn terminate(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        std::process::Command::new("kill").args(["-TERM", &id]).status().expect("a signal");
        self.child.wait().expect("ended").code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A test that fails must not leave a server behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn commands_and_a_server_share_a_file() {
    let home = Home::new();
    let served = Served::start(&home);
    let chat = home.good(&["new", "shared"]);
    let mut client = served.client().await.expect("listening");
    let path = format!("/api/v1/conversations/{chat}/messages");
    let body = r#"{"messages":[{"role":"user","text":"over HTTP"}]}"#;
    assert_eq!(client.send("POST", &path, &[], body).await.expect("an answer").status.as_u16(), 201);
    assert!(home.good(&["show", &chat]).contains("over HTTP"));
    let mut reader = served.client().await.expect("listening");
    let live = [("accept", "text/event-stream"), ("last-event-id", "2")];
    let mut events = Events::of(reader.begin("GET", "/api/v1/journal", &live, "").await.expect("an answer"));
    home.good(&["append", &chat, "from the shell"]);
    let event = tokio::time::timeout(Duration::from_secs(5), events.next()).await.expect("within a second, mostly");
    assert!(event.expect("readable").expect("a change").data.contains("messages_appended"));
    assert_eq!(served.terminate(), Some(0));
}

/// Sends an endless body until the server has had enough, and returns what it answered.
fn flood(served: &Served, path: &str, kind: &str, piece: &[u8], bytes: usize) -> String {
    let mut stream = TcpStream::connect(served.address).expect("listening");
    stream.set_write_timeout(Some(Duration::from_secs(60))).expect("a limit");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: {kind}\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        served.address, served.token
    );
    // Read beside the writing: a server that refuses closes, and what it said could get lost.
    let mut reading = stream.try_clone().expect("a second end");
    let reader = std::thread::spawn(move || {
        let mut answer = vec![0; 1 << 16];
        let length = reading.read(&mut answer).unwrap_or(0);
        String::from_utf8_lossy(&answer[..length]).into_owned()
    });
    let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
    let mut sent = stream.write_all(head.as_bytes());
    for _ in 0..bytes / piece.len() {
        sent = sent.and_then(|()| stream.write_all(&chunk));
    }
    let _ = sent.and_then(|()| stream.write_all(b"0\r\n\r\n"));
    reader.join().expect("read")
}

fn most_memory_mib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a line");
    line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number") / 1024
}

#[test]
fn a_gigabyte_is_refused_and_costs_no_memory() {
    let home = Home::new();
    let served = Served::start(&home);
    let chat = home.good(&["new", "flooded"]);
    let gigabyte = 1 << 30;
    let (deep, text) = (vec![b'['; 1 << 20], vec![b'a'; 1 << 20]);
    let messages = format!("/api/v1/conversations/{chat}/messages");
    for (path, kind, piece) in [
        ("/api/v1/conversations", "application/json", &deep),
        (messages.as_str(), "application/json", &text),
        ("/api/v1/blobs", "application/octet-stream", &text),
        ("/api/v1/import", "application/x-ndjson", &text),
    ] {
        let answer = flood(&served, path, kind, piece, gigabyte);
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(status.starts_with('4') || answer.contains("\"problems\""), "{path}: {answer}");
    }
    let memory = most_memory_mib(served.child.id());
    assert!(memory < 512, "{memory} MiB");
    assert_eq!(home.good(&["show", &chat, "--json"]).matches("\"role\"").count(), 0);
    assert_eq!(served.terminate(), Some(0));
}

/// Sends a request with a large body of no use and ignores what comes of it.
async fn throw(address: SocketAddr, path: &str, bytes: Bytes) {
    let Ok(mut client) = Client::connect(address, &[("content-type", "application/json")]).await else { return };
    let _ = client.send("POST", path, &[], bytes).await;
}

/// Makes a tenant with a key, and returns a way to connect as it.
async fn tenant(served: &Served, name: &str) -> String {
    let mut owner = served.client().await.expect("listening");
    let made = owner.send("POST", "/api/v1/tenants", &[], format!(r#"{{"name":"{name}"}}"#)).await.expect("an answer");
    let made: Value = serde_json::from_slice(&made.body).expect("JSON");
    let path = format!("/api/v1/tenants/{}/keys", made["id"].as_str().expect("an id"));
    let key = owner.send("POST", &path, &[], r#"{"name":"k","scopes":["admin"]}"#).await.expect("an answer");
    let key: Value = serde_json::from_slice(&key.body).expect("JSON");
    format!("Bearer {}", key["secret"].as_str().expect("a key"))
}

async fn connect_as(address: SocketAddr, key: &str, kind: &str) -> Client {
    Client::connect(address, &[("authorization", key), ("content-type", kind)]).await.expect("listening")
}

/// Lists conversations, and returns how long that took.
async fn timed_list(client: &mut Client) -> Duration {
    let begun = std::time::Instant::now();
    let seen = client.send("GET", "/api/v1/conversations", &[], "").await.expect("an answer");
    assert_eq!(seen.status.as_u16(), 200);
    begun.elapsed()
}

/// Returns the time below which this share of some times lies, in percent.
fn percentile(times: &[Duration], share: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() * share / 100).min(sorted.len() - 1)]
}

fn percentiles(times: &[Duration]) -> String {
    let at = |share| percentile(times, share);
    format!("p50 {:.1?}, p99 {:.1?}, longest {:.1?} of {} requests", at(50), at(99), at(100), times.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_is_bounded_by_bytes_under_large_pages_uploads_and_logins() {
    let home = Home::new();
    let served = Served::start(&home);
    let (busy, quiet) = (tenant(&served, "busy").await, tenant(&served, "quiet").await);
    let address = served.address;
    let mut writer = connect_as(address, &busy, "application/json").await;
    let made = writer.send("POST", "/api/v1/conversations", &[], "{}").await.expect("an answer");
    let chat: Value = serde_json::from_slice(&made.body).expect("JSON");
    let path = format!("/api/v1/conversations/{}/messages", chat["id"].as_str().expect("an id"));
    let text = "x".repeat(4_000_000);
    for _ in 0..16 {
        let body = format!(r#"{{"messages":[{{"role":"user","text":"{text}"}}]}}"#);
        assert_eq!(writer.send("POST", &path, &[], body).await.expect("an answer").status.as_u16(), 201);
    }
    let mut other = connect_as(address, &quiet, "application/json").await;
    // A hundred requests a second: below the rate at which a key is refused.
    let mut pace = tokio::time::interval(Duration::from_millis(10));
    let mut alone = Vec::new();
    for _ in 0..200 {
        pace.tick().await;
        alone.push(timed_list(&mut other).await);
    }
    // On threads of its own, so that making the load keeps no answer from being read.
    let load = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (busy, path) = (busy.clone(), format!("{path}?limit=1000"));
        let read = async move {
            let mut reader = connect_as(address, &busy, "application/json").await;
            let page = reader.send("GET", &path, &[], "").await.expect("an answer");
            let status = page.status.as_u16();
            assert!(matches!(status, 200 | 429 | 503), "{status}");
            assert!(page.body.len() < 8 << 20, "a page of {} bytes", page.body.len());
        };
        tasks.spawn_on(read, load.handle());
    }
    for number in 0..8u8 {
        let busy = busy.clone();
        let upload = async move {
            let mut writer = connect_as(address, &busy, "application/octet-stream").await;
            let blob = Bytes::from(vec![number; 40_000_000 + usize::from(number) * 2_857_142]);
            // A refusal ends the connection, perhaps before all of the body was sent.
            let Ok(answer) = writer.send("POST", "/api/v1/blobs", &[], blob).await else { return };
            let status = answer.status.as_u16();
            assert!(matches!(status, 201 | 429 | 503), "{status}");
        };
        tasks.spawn_on(upload, load.handle());
    }
    let large = Bytes::from(vec![b'a'; 8 << 20]);
    for _ in 0..250 {
        tasks.spawn_on(throw(address, "/api/v1/session", large.clone()), load.handle());
    }
    // Another tenant is served meanwhile.
    let mut under_load = Vec::new();
    while under_load.len() < 20 || !tasks.is_empty() {
        pace.tick().await;
        under_load.push(timed_list(&mut other).await);
        while let Some(done) = tasks.try_join_next() {
            done.expect("no task fails");
        }
    }
    let ratio = percentile(&under_load, 99).as_secs_f64() / percentile(&alone, 99).as_secs_f64();
    println!("another tenant alone: {}; meanwhile: {}", percentiles(&alone), percentiles(&under_load));
    println!("p99 meanwhile over p99 alone: {ratio:.1}");
    load.shutdown_background();
    let memory = most_memory_mib(served.child.id());
    println!("{memory} MiB");
    assert!(memory < 512, "{memory} MiB");
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn login_link_with_the_token_is_printed_to_a_terminal_only() {
    let home = Home::new();
    let mut child = home
        .command(&["serve", "--listen", "127.0.0.1:0", "--no-backups"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut said: Vec<String> = Vec::new();
    for line in lines.map_while(Result::ok) {
        let is_last = line.starts_with("API");
        said.push(line);
        if is_last {
            break;
        }
    }
    child.kill().expect("killed");
    let mut log = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut log).expect("text");
    child.wait().expect("gone");
    let token = std::fs::read_to_string(home.path().join("token")).expect("made");
    assert!(said.iter().any(|line| line.starts_with("Open http://127.0.0.1:")), "{said:?}");
    assert!(!said.concat().contains(token.trim()) && !log.contains(token.trim()), "{said:?} {log}");
}

#[cfg(unix)]
#[test]
fn open_shows_no_token_in_the_process_list() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let tools = tempfile::tempdir().expect("a temporary folder");
    // Stands in for the program that opens a browser: says how it was called and what it was given to read.
    let script = tools.path().join("xdg-open");
    let (called, read) = (tools.path().join("called"), tools.path().join("read"));
    let text = format!(
        "#!/bin/sh\ncat \"$1\" > {read}.part\nstat -c %a \"$1\" >> {read}.part\nmv {read}.part {read}\n\
         echo \"$@\" > {called}.part\nmv {called}.part {called}\n",
        read = read.display(),
        called = called.display()
    );
    std::fs::write(&script, text).expect("written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("made a program");
    let mut command = home.command(&["serve", "--open", "--listen", "127.0.0.1:0", "--no-backups"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", tools.path().display()));
    let served = Served::of(command, "error", Stdio::null());
    let begun = std::time::Instant::now();
    while !called.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing was opened");
        std::thread::yield_now();
    }
    let (called, read) = (std::fs::read_to_string(called).expect("text"), std::fs::read_to_string(read).expect("text"));
    assert!(!called.contains(&served.token), "{called}");
    assert!(read.contains(&format!("http://{}/#token={}", served.address, served.token)), "{read}");
    assert!(read.trim_end().ends_with("600"), "{read}");
    assert_eq!(served.terminate(), Some(0));
    assert!(!home.path().join("open.html").exists(), "the file stays");
}

#[tokio::test]
async fn a_full_disk_is_told_and_overcome() {
    let Some(disk) = SmallDisk::mount(48) else {
        return not_run("a server on a full disk (needs root)");
    };
    let home = Home::on(disk.path());
    let served = Served::start(&home);
    let chat = home.good(&["new", "full"]);
    let mut client = served.client().await.expect("listening");
    let path = format!("/api/v1/conversations/{chat}/messages");
    let body = format!(r#"{{"messages":[{{"role":"user","text":"{}"}}]}}"#, "a".repeat(10_000));
    let filler = disk.path().join("filler");
    disk.fill(&filler).expect("filled");
    let mut stored = 0;
    let refused = loop {
        let answer = client.send("POST", &path, &[], body.clone()).await.expect("an answer");
        match answer.status.as_u16() {
            201 => stored += 1,
            _ => break answer,
        }
        assert!(stored < 10_000, "the disk is full");
    };
    assert_eq!(refused.status.as_u16(), 507, "{}", refused.text());
    assert!(refused.text().contains("disk_full"));
    assert_eq!(refused.header("content-type"), "application/problem+json");
    let read = client.send("GET", &path, &[], "").await.expect("an answer");
    assert_eq!(read.status.as_u16(), 200, "reads go on");
    // So do logins: the session lasts until the server stops.
    let mut last = std::fs::File::create(disk.path().join("more")).expect("a name fits");
    while last.write_all(&[7; 4_096]).is_ok() {}
    let json = [("content-type", "application/json")];
    let mut visitor = Client::connect(served.address, &json).await.expect("listening");
    let login = format!(r#"{{"token":"{}"}}"#, served.token);
    let begun = visitor.send("POST", "/api/v1/session", &[], login).await.expect("an answer");
    assert_eq!(begun.status.as_u16(), 201, "{}", begun.text());
    let cookie = begun.header("set-cookie").split(';').next().expect("a cookie").to_owned();
    let entrance: Value = serde_json::from_slice(&begun.body).expect("JSON");
    let session = [("cookie", cookie.as_str()), ("manent-session", entrance["secret"].as_str().expect("a secret"))];
    let seen = visitor.send("GET", "/api/v1/session", &session, "").await.expect("an answer");
    assert_eq!(seen.status.as_u16(), 200, "{}", seen.text());
    let ended = visitor.send("DELETE", "/api/v1/session", &session, "").await.expect("an answer");
    assert_eq!(ended.status.as_u16(), 204, "{}", ended.text());
    std::fs::remove_file(disk.path().join("more")).expect("removed");
    std::fs::remove_file(&filler).expect("removed");
    let freed = std::time::Instant::now();
    while client.send("POST", &path, &[], body.clone()).await.expect("an answer").status.as_u16() != 201 {
        assert!(freed.elapsed() < Duration::from_secs(10), "it recovers by itself");
    }
    let stats: Value = serde_json::from_str(&home.good(&["stats", "--json"])).expect("JSON");
    assert_eq!(stats["total"]["messages"], stored + 1);
    assert_eq!(served.terminate(), Some(0));
}

/// How often the server is killed; `make soak` asks for more.
fn cycles() -> usize {
    std::env::var("MANENT_SERVER_CYCLES").ok().and_then(|text| text.parse().ok()).unwrap_or(50)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_survives_kill_9_and_readers_miss_nothing() {
    const WRITERS: usize = 64;
    let home = Home::new();
    let chats: Vec<String> = (0..WRITERS).map(|number| home.good(&["new", &number.to_string()])).collect();
    // What each writer was told is stored, in order. A message whose answer never came is sent again with its key.
    let mut ledgers: Vec<Vec<String>> = vec![Vec::new(); WRITERS];
    let mut seen: BTreeMap<i64, String> = BTreeMap::new();
    let mut last_event = 0i64;
    for cycle in 0..cycles() {
        let served = Served::start(&home);
        let mut writers = Vec::new();
        for (number, chat) in chats.iter().enumerate() {
            let Some(mut client) = served.client().await else { panic!("the server does not listen") };
            let (chat, ledger) = (chat.clone(), std::mem::take(&mut ledgers[number]));
            writers.push(tokio::spawn(async move { write(&mut client, &chat, ledger).await }));
        }
        let reader = served.client().await.expect("listening");
        let tail = tokio::spawn(read(reader, last_event));
        tokio::time::sleep(Duration::from_millis(60 + (cycle as u64 * 37) % 200)).await;
        served.kill();
        for (number, writer) in writers.into_iter().enumerate() {
            ledgers[number] = writer.await.expect("a writer");
        }
        for (position, data) in tail.await.expect("a reader") {
            assert!(position > last_event, "an event came twice: {position}");
            last_event = position;
            assert!(seen.insert(position, data).is_none(), "an event came twice: {position}");
        }
    }
    let served = Served::start(&home);
    let mut client = served.client().await.expect("listening");
    let mut total = 0;
    for (chat, ledger) in chats.iter().zip(&ledgers) {
        let stored = texts(&mut client, chat).await;
        // The last one sent may be stored without its answer having arrived.
        assert!(
            stored.len() == ledger.len() || stored.len() == ledger.len() + 1,
            "{} and {}",
            stored.len(),
            ledger.len()
        );
        assert_eq!(&stored[..ledger.len()], &ledger[..]);
        total += stored.len();
    }
    let rest = read_pages(&mut client, last_event).await;
    for (position, data) in rest {
        assert!(seen.insert(position, data).is_none(), "an event came twice: {position}");
    }
    let whole = read_pages(&mut client, 0).await;
    assert_eq!(whole.len(), seen.len(), "readers missed something");
    assert!(total > cycles() * 10, "only {total} messages: this tried nothing");
    println!("{} cycles, {total} messages, {} events", cycles(), seen.len());
    served.kill();
}

/// Says one thing after another until the server is gone; returns all that was acknowledged.
async fn write(client: &mut Client, chat: &str, mut ledger: Vec<String>) -> Vec<String> {
    loop {
        let text = format!("message {}", ledger.len());
        let path = format!("/api/v1/conversations/{chat}/messages");
        let key = format!("{chat}-{}", ledger.len());
        let body = serde_json::json!({ "messages": [{ "role": "user", "text": text }] }).to_string();
        match client.send("POST", &path, &[("idempotency-key", &key)], body).await {
            Ok(answer) if answer.status.as_u16() == 201 => ledger.push(text),
            Ok(answer) => panic!("{} {}", answer.status, answer.text()),
            Err(_) => return ledger,
        }
    }
}

/// Reads the live journal until the server is gone.
async fn read(mut client: Client, after: i64) -> Vec<(i64, String)> {
    let position = after.to_string();
    let live = [("accept", "text/event-stream"), ("last-event-id", position.as_str())];
    let mut events = Vec::new();
    let Ok(response) = client.begin("GET", "/api/v1/journal", &live, "").await else { return events };
    let mut stream = Events::of(response);
    while let Ok(Some(event)) = stream.next().await {
        events.push((event.id.parse().expect("a position"), event.data));
    }
    events
}

async fn get(client: &mut Client, path: &str) -> Value {
    let answer = client.send("GET", path, &[], "").await.expect("an answer");
    serde_json::from_slice(&answer.body).expect("JSON")
}

async fn read_pages(client: &mut Client, mut after: i64) -> Vec<(i64, String)> {
    let mut found = Vec::new();
    loop {
        let page = get(client, &format!("/api/v1/journal?limit=1000&after={after}")).await;
        let entries = page["entries"].as_array().expect("a list");
        for entry in entries {
            found.push((entry["position"].as_i64().expect("a position"), entry.to_string()));
        }
        match page["scanned_to"].as_i64().expect("a position") {
            next if next > after && !entries.is_empty() => after = next,
            _ => return found,
        }
    }
}

async fn texts(client: &mut Client, chat: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut from = String::new();
    loop {
        let path = format!("/api/v1/conversations/{chat}/messages?direction=forward&limit=1000{from}");
        let page = get(client, &path).await;
        for message in page["messages"].as_array().expect("a list") {
            found.push(message["parts"][0]["text"].as_str().expect("text").to_owned());
            from = format!("&from={}", message["id"].as_str().expect("an id"));
        }
        if page["more"] != true {
            return found;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_between_a_chunk_and_its_end_keeps_the_words() {
    let home = Home::new();
    let served = Served::start(&home);
    let chat = home.good(&["new", "streamed"]);
    let mut client = served.client().await.expect("listening");
    let begin = format!("/api/v1/conversations/{chat}/streams");
    let begun = client.send("POST", &begin, &[], r#"{"role":"assistant"}"#).await.expect("an answer");
    let begun: Value = serde_json::from_slice(&begun.body).expect("JSON");
    let chunks = format!("/api/v1/messages/{}/chunks", begun["ids"][0].as_str().expect("an id"));
    for delta in [r#"{"delta":"half a "}"#, r#"{"delta":"sentence"}"#] {
        let answer = client.send("POST", &chunks, &[], delta).await.expect("an answer");
        assert!(answer.status.is_success(), "{}", answer.text());
    }
    served.kill();
    let database = manent::Database::open(home.path().join("manent.db")).expect("it opens again");
    let id = begun["ids"][0].as_str().expect("an id").parse().expect("an id");
    let read = async || database.message(id).await.expect("it is there").message.content;
    assert_eq!(
        (read().await.body.words().as_str(), read().await.status),
        ("half a sentence", manent::MessageStatus::Streaming)
    );
    assert_eq!(database.end_idle_streams(Duration::ZERO).await.expect("ended"), 1);
    assert_eq!(
        (read().await.body.words().as_str(), read().await.status),
        ("half a sentence", manent::MessageStatus::Incomplete)
    );
    assert!(database.verify().await.expect("checked").is_sound());
    database.close().await.expect("closed");
}
