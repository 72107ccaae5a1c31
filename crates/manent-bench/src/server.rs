//! Manent on PostgreSQL, through the embedded library.

use std::path::Path;

use std::sync::Arc;
use std::time::Duration;

use ::manent::store::postgres::{PostgresOptions, PostgresStore};
use ::manent::{ConversationDraft, ConversationId, Database};
use anyhow::{Context, Result, anyhow};
use manent_testing::postgres::Postgres;
use tokio::runtime::Runtime;

use crate::corpus::{Corpus, Message};
use crate::drive;
use crate::manent::{draft, fill, page};
use crate::measure::{LAST, Measure, WRITERS};
use crate::subject::{Side, Subject};
use crate::summary::Summary;

/// The name in the table.
pub const NAME: &str = "Manent on PostgreSQL";

/// A running PostgreSQL that several subjects use, each with tables of its own.
pub type Server = Arc<Postgres>;

/// Number of loaded conversations; loading the whole corpus would take longer than all measurements.
const CONVERSATIONS: u64 = 200;

/// Pages that are timed on the reading thread before it lets others in.
const PAGES: usize = 1_024;

/// Starts a PostgreSQL with its default settings, or returns why that cannot be.
pub fn start(directory: &Path) -> Result<Server, String> {
    let start = || {
        let folder = directory.join("server");
        std::fs::create_dir_all(&folder)?;
        Postgres::start(&folder, &[])
    };
    start().map(Arc::new).map_err(|error| error.to_string())
}

/// A store that holds the corpus, and conversations that are written to.
pub struct OnServer {
    /// Why it cannot run, if so.
    loaded: Result<Loaded, String>,
}

struct Loaded {
    runtime: Runtime,
    store: Arc<PostgresStore>,
    database: Database,
    conversations: Vec<ConversationId>,
    writers: Vec<ConversationId>,
    records: Vec<Message>,
    /// Dropped with its last user.
    _server: Server,
}

impl OnServer {
    /// Loads the corpus and makes the conversations that are appended to.
    pub fn load(server: &Result<Server, String>, corpus: &Corpus) -> OnServer {
        let load = |server: Server| {
            let runtime = Runtime::new()?;
            let store = Arc::new(PostgresStore::open(PostgresOptions::new(server.url()))?);
            let database = Database::from_store(store.clone());
            let mut conversations = Vec::new();
            for number in 0..corpus.conversations.min(CONVERSATIONS) {
                conversations.push(runtime.block_on(fill(&database, corpus.conversation(number)))?);
            }
            let mut writers = Vec::new();
            for _ in 0..WRITERS {
                writers.push(runtime.block_on(database.create(ConversationDraft::default()))?.id);
            }
            runtime.block_on(database.when_indexed())?;
            // Statistics, as a server that runs for a while has them.
            let mut analyze = server.command("vacuumdb");
            let port = server.port().to_string();
            analyze.args([
                "--analyze",
                "--quiet",
                "--host=127.0.0.1",
                "--username=postgres",
                "--port",
                &port,
                "postgres",
            ]);
            anyhow::ensure!(analyze.status()?.success(), "vacuumdb failed");
            let records = corpus.all().take(4_096).collect();
            Ok(Loaded { runtime, store, database, conversations, writers, records, _server: server })
        };
        let loaded = |server| load(server).map_err(|error: anyhow::Error| format!("{error:#}"));
        OnServer { loaded: server.clone().and_then(loaded) }
    }
}

impl Loaded {
    fn append(&self, conversation: ConversationId, message: &Message) -> Result<()> {
        self.runtime.block_on(self.database.append(conversation, draft(message)))?;
        Ok(())
    }

    /// Times pages as bytes on the reading thread, each in a transaction of its own.
    fn pages(&self, window: Duration) -> Result<Summary> {
        let mut random = fastrand::Rng::with_seed(50);
        let mut latencies: Vec<Duration> = Vec::new();
        while latencies.iter().sum::<Duration>() < window {
            let mut pick = || page(self.conversations[random.usize(0..self.conversations.len())], LAST as u32);
            let queries = (0..PAGES).map(|_| pick()).collect();
            latencies.extend(self.runtime.block_on(self.store.time_windows(queries)).context("reading pages")?);
        }
        let elapsed = latencies.iter().sum();
        Ok(Summary::of(latencies, elapsed))
    }
}

impl Subject for OnServer {
    fn name(&self) -> &str {
        NAME
    }

    fn side(&self) -> Side {
        Side::Ours
    }

    fn description(&self) -> String {
        format!(
            "the library on a PostgreSQL with its default settings, over TCP, the first {CONVERSATIONS} conversations of the corpus loaded; pages as bytes are timed on \
         the reading thread, from the beginning of their transaction to its end"
        )
    }

    fn measure(&mut self, measure: Measure, window: Duration) -> Option<Result<Summary>> {
        if !matches!(measure, Measure::ServerAppend | Measure::ServerPage) {
            return None;
        }
        let loaded = match &self.loaded {
            Ok(loaded) => loaded,
            Err(why) => return Some(Err(anyhow!("{why}"))),
        };
        Some(match measure {
            Measure::ServerPage => loaded.pages(window),
            _ => drive::all_together(window, WRITERS, &loaded.records, |writer, message| {
                loaded.append(loaded.writers[writer], message)
            }),
        })
    }
}
