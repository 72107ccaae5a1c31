//! HTTP servers in separate processes under the same load: Manent, an empty one, and hand-written ones.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ::manent::Database;
use anyhow::{Context, Result, anyhow};
use axum::Router;
use axum::routing::any;
use tokio::runtime::Runtime;

use crate::corpus::{Corpus, Message, SEED};
use crate::load::{self, CONNECTIONS, Request, request};
use crate::manent::{draft, fill};
use crate::measure::{LAST, Measure};
use crate::python::Python;
use crate::subject::{Side, Subject};
use crate::summary::Summary;

/// The name of our server.
pub const MANENT: &str = "Manent over HTTP";
/// The name by which goals refer to a server that does nothing.
pub const EMPTY: &str = "an empty axum handler";
/// The name by which goals refer to the server that most would write.
pub const FASTAPI: &str = "FastAPI, SQLAlchemy, SQLite";
/// The argument with which this program is the server that does nothing.
pub const SERVE_NOTHING: &str = "--serve-nothing";

const TOKEN: &str = "mnt_bench_6b1f0d94c8e2a57368140f9d2b7ce5a3";
const FASTAPI_REQUIREMENTS: [&str; 3] = ["fastapi==0.162.4", "uvicorn[standard]==0.54.0", "sqlalchemy==2.1.8"];
/// Number of messages of each conversation whose last messages are read.
const LENGTH: u64 = 1_000;
/// Requests that are made before the clock starts; they go around.
const REQUESTS: usize = 1_024;

/// A server under load.
pub struct Web {
    name: &'static str,
    side: Side,
    what: String,
    /// Why it cannot run, if so.
    server: Result<Process, String>,
    appends: Vec<Request>,
    pages: Vec<Request>,
}

/// Returns every server, also those that cannot run: these say why.
pub fn all(directory: &Path) -> Result<Vec<Web>> {
    let corpus = Corpus::new(SEED, CONNECTIONS as u64, LENGTH);
    Ok(vec![empty(&corpus), manent(directory, &corpus)?, fastapi(directory, &corpus)])
}

fn empty(corpus: &Corpus) -> Web {
    let start = || {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(SERVE_NOTHING);
        Process::start(command)
    };
    let appends = appends(corpus, |number| format!("/{number}"), &[], ours);
    Web {
        name: EMPTY,
        side: Side::Yardstick,
        what: "reads the same requests over as many connections and answers 200 with nothing".to_owned(),
        server: start().map_err(|error| format!("{error:#}")),
        appends,
        pages: Vec::new(),
    }
}

fn manent(directory: &Path, corpus: &Corpus) -> Result<Web> {
    let home = directory.join("manent-web");
    std::fs::create_dir_all(&home)?;
    let database = Database::open(home.join("manent.db"))?;
    let runtime = Runtime::new()?;
    let mut conversations = Vec::new();
    for number in 0..corpus.conversations {
        conversations.push(runtime.block_on(fill(&database, corpus.conversation(number)))?);
    }
    runtime.block_on(database.close())?;
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("Authorization", authorization.as_str())];
    let path = |number: usize| format!("/api/v1/conversations/{}/messages", conversations[number]);
    let pages = (0..conversations.len()).map(|number| {
        let path = format!("{}?direction=backward&limit={LAST}", path(number));
        request("GET", &path, &headers, b"")
    });
    Ok(Web {
        name: MANENT,
        side: Side::Ours,
        what: format!(
            "`manent serve` as people run it: token, checks, request keys, a durable commit before 201; one thread \
             on the same cores makes the load of {CONNECTIONS} connections, for all servers alike"
        ),
        pages: pages.collect(),
        appends: appends(corpus, path, &headers, ours),
        server: serve(&home).map_err(|error| format!("{error:#}")),
    })
}

fn fastapi(directory: &Path, corpus: &Corpus) -> Web {
    let start = || {
        let python = Python::prepare()?;
        for requirement in FASTAPI_REQUIREMENTS {
            python.install(requirement)?;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/fastapi_sqlite.py");
        let messages: Vec<String> = corpus.all().map(|message| theirs(&message)).collect();
        let list = directory.join("fastapi-messages.jsonl");
        std::fs::write(&list, messages.join("\n"))?;
        let mut command = python.command(&script);
        command.arg(directory.join("fastapi.db")).arg(list).arg(LENGTH.to_string());
        Process::start(command)
    };
    let path = |number: usize| format!("/conversations/{}/messages", number + 1);
    let pages = (0..CONNECTIONS).map(|number| request("GET", &format!("{}?last={LAST}", path(number)), &[], b""));
    Web {
        name: FASTAPI,
        side: Side::Yardstick,
        what: format!("{}; WAL, synchronous=FULL, one worker, sync handlers", FASTAPI_REQUIREMENTS.join(", ")),
        server: start().map_err(|error| format!("{error:#}")),
        appends: appends(corpus, path, &[], theirs),
        pages: pages.collect(),
    }
}

/// Requests that append a message of the corpus each, one conversation after another.
fn appends(
    corpus: &Corpus,
    path: impl Fn(usize) -> String,
    headers: &[(&str, &str)],
    body: fn(&Message) -> String,
) -> Vec<Request> {
    let headers = [headers, &[("Content-Type", "application/json")]].concat();
    let messages = corpus.all().take(REQUESTS).enumerate();
    let requests = messages
        .map(|(number, message)| request("POST", &path(number % CONNECTIONS), &headers, body(&message).as_bytes()));
    requests.collect()
}

/// The body of our API, which takes several messages.
fn ours(message: &Message) -> String {
    format!(r#"{{"messages":[{}]}}"#, theirs(message))
}

/// One message, with the same parts.
fn theirs(message: &Message) -> String {
    let content = draft(message).content;
    format!(r#"{{"role":"{}","parts":{}}}"#, content.role, content.body.text())
}

/// Starts our server over a folder, and returns when it has told its address.
fn serve(home: &Path) -> Result<Process> {
    let mut command = Command::new(program()?);
    command.args(["serve", "--listen", "127.0.0.1:0", "--no-backups"]);
    command.env("MANENT_HOME", home).env("MANENT_TOKEN", TOKEN).env_remove("MANENT_DB").env_remove("MANENT_LOG");
    Process::start(command)
}

/// Starts our server over a folder with tenants, without the brake that one address has.
pub fn serve_tenants(home: &Path) -> Result<Process> {
    let mut command = Command::new(program()?);
    command.args(["serve", "--listen", "127.0.0.1:0", "--no-backups", "--address-rate", "1000000"]);
    command.env("MANENT_HOME", home).env("MANENT_TOKEN", TOKEN).env_remove("MANENT_DB").env_remove("MANENT_LOG");
    Process::start(command)
}

/// Returns how long our server takes from its start until it answers that it is ready.
pub fn time_to_ready(store: &Path) -> Result<Duration> {
    let started = Instant::now();
    let home = tempfile::tempdir()?;
    let mut command = Command::new(program()?);
    command.arg("--db").arg(store).args(["serve", "--listen", "127.0.0.1:0", "--no-backups"]);
    command.env("MANENT_HOME", home.path()).env("MANENT_TOKEN", TOKEN);
    let server = Process::start(command)?;
    load::once(server.address, &request("GET", "/readyz", &[], b""))?;
    Ok(started.elapsed())
}

/// Returns the command that was built beside this program.
fn program() -> Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("manent");
    if !program.is_file() {
        return Err(anyhow!("`manent` is not built: cargo build --release --package manent-cli"));
    }
    Ok(program)
}

/// Answers everything with nothing, until it is killed.
pub fn serve_nothing() -> Result<()> {
    Runtime::new()?.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("http://{}/", listener.local_addr()?);
        axum::serve(listener, Router::new().fallback(any(|| async {}))).await?;
        Ok(())
    })
}

/// A server process that ends with the value.
pub struct Process {
    child: Child,
    /// Address to connect to.
    pub address: SocketAddr,
}

impl Process {
    /// Its number in the system.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Starts a server and waits for the line with its address.
    fn start(mut command: Command) -> Result<Process> {
        // The log goes nowhere: what a terminal costs is not the server's.
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let lines = BufReader::new(child.stdout.take().context("stdout is piped")?).lines();
        let mut process = Process { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        for line in lines {
            if let Some(address) = address_in(&line?) {
                process.address = address;
                return Ok(process);
            }
        }
        Err(anyhow!("the server ended without an address"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("http://")?;
    rest.split('/').next()?.parse().ok()
}

impl Subject for Web {
    fn name(&self) -> &str {
        self.name
    }

    fn side(&self) -> Side {
        self.side
    }

    fn description(&self) -> String {
        self.what.clone()
    }

    fn measure(&mut self, measure: Measure, window: Duration) -> Option<Result<Summary>> {
        let requests = match measure {
            Measure::HttpAppend => &self.appends,
            Measure::HttpPage => &self.pages,
            _ => return None,
        };
        if requests.is_empty() {
            return None;
        }
        Some(match &self.server {
            Ok(server) => load::drive(server.address, window, requests),
            Err(why) => Err(anyhow!("{why}")),
        })
    }
}
