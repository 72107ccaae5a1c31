//! The search index on PostgreSQL: size and indexing speed.

use crate::corpus::Corpus;
use crate::facts::Fact;
use crate::manent::fill;
use crate::server;
use ::manent::Database;
use ::manent::store::postgres::{PostgresOptions, PostgresStore};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Runtime;

/// Enough conversations to measure the size of a row.
const CONVERSATIONS: u64 = 50;

/// Measures the index of a server; none where there is no PostgreSQL.
pub fn of(runtime: &Runtime, folder: &Path, corpus: &Corpus) -> Result<Option<Fact>> {
    let server = match server::start(&folder.join("searched")) {
        Ok(server) => server,
        Err(why) => {
            eprintln!("not run: the index on PostgreSQL: {why}");
            return Ok(None);
        }
    };
    let database = Database::from_store(Arc::new(PostgresStore::open(PostgresOptions::new(server.url()))?));
    let (mut text, mut messages) = (0, 0);
    let started = Instant::now();
    for number in 0..corpus.conversations.min(CONVERSATIONS) {
        let conversation: Vec<_> = corpus.conversation(number).collect();
        text += conversation.iter().map(|message| message.content.len()).sum::<usize>();
        messages += conversation.len();
        runtime.block_on(fill(&database, conversation.into_iter()))?;
    }
    runtime.block_on(database.when_indexed())?;
    let rate = messages as f64 / started.elapsed().as_secs_f64();
    runtime.block_on(database.close())?;
    let sql = "select sum(pg_total_relation_size(oid)) from pg_class where relname = 'search_doc' and relkind = 'r'";
    let port = server.port().to_string();
    let mut psql = server.command("psql");
    psql.args(["-At", "-h", "127.0.0.1", "-U", "postgres", "-p", &port, "-d", "postgres", "-c", sql]);
    let output = psql.output().context("running psql")?;
    ensure!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
    let bytes: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().context("a number")?;
    Ok(Some(Fact {
        what: "PostgreSQL: index with GIN and times, over the bytes of the texts".to_owned(),
        found: format!("{:.2}x ({:.0} MB; {rate:.0} messages/s, stored and indexed)", bytes / text as f64, bytes / 1e6),
        limit: "reported".to_owned(),
        met: true,
    }))
}
