//! PostgreSQL's own benchmark: one row per transaction over TCP, without HTTP and without Manent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use manent_testing::postgres::Postgres;

use crate::corpus::{Corpus, SEED};
use crate::load::CONNECTIONS;
use crate::measure::Measure;
use crate::server::Server;
use crate::subject::{Side, Subject};
use crate::summary::Summary;

/// The name by which goals refer to it.
pub const NAME: &str = "pgbench, one-row inserts";

const TABLE: &str = "CREATE TABLE messages (id bigserial PRIMARY KEY, conversation bigint NOT NULL, \
                     role text NOT NULL, parts text NOT NULL)";

/// A PostgreSQL that is inserted into.
pub struct Pgbench {
    /// Why it cannot run, if so.
    server: Result<(Server, PathBuf), String>,
}

impl Pgbench {
    /// Makes a table of its own.
    pub fn prepare(server: Result<Server, String>) -> Pgbench {
        let prepare = |postgres: Server| {
            let made = connect(&postgres, "psql").args(["--quiet", "--command", TABLE]).status()?;
            ensure!(made.success(), "psql could not make the table");
            let script = postgres.folder().join("insert.sql");
            std::fs::write(&script, insert())?;
            Ok((postgres, script))
        };
        let prepared = |postgres| prepare(postgres).map_err(|error: anyhow::Error| format!("{error:#}"));
        Pgbench { server: server.and_then(prepared) }
    }
}

fn connect(postgres: &Postgres, program: &str) -> std::process::Command {
    let mut command = postgres.command(program);
    let port = postgres.port().to_string();
    command.args(["--host", "127.0.0.1", "--port", &port, "--username", "postgres"]);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command
}

/// One insert of a message of the corpus whose length is near the mean.
fn insert() -> String {
    let messages: Vec<_> = Corpus::new(SEED, 4, 256).all().map(|message| message.content).collect();
    let mean = messages.iter().map(String::len).sum::<usize>() / messages.len();
    let typical = messages.iter().min_by_key(|content| content.len().abs_diff(mean)).cloned().unwrap_or_default();
    let text = typical.replace('\'', "''").replace([':', '\\', '\n'], " ");
    format!(
        "\\set conversation random(1, {CONNECTIONS})\n\
         INSERT INTO messages (conversation, role, parts) VALUES (:conversation, 'user', '{text}');\n"
    )
}

impl Subject for Pgbench {
    fn name(&self) -> &str {
        NAME
    }

    fn side(&self) -> Side {
        Side::Yardstick
    }

    fn description(&self) -> String {
        format!("PostgreSQL with its default settings, {CONNECTIONS} clients over TCP, prepared, no HTTP and no checks")
    }

    fn measure(&mut self, measure: Measure, window: Duration) -> Option<Result<Summary>> {
        if !matches!(measure, Measure::HttpAppend | Measure::ServerAppend) {
            return None;
        }
        Some(match &self.server {
            Ok((postgres, script)) => run(postgres, script, window),
            Err(why) => Err(anyhow!("{why}")),
        })
    }
}

fn run(postgres: &Postgres, script: &Path, window: Duration) -> Result<Summary> {
    let clients = CONNECTIONS.to_string();
    let seconds = window.as_secs().max(1).to_string();
    let mut bench = connect(postgres, "pgbench");
    bench.args(["--no-vacuum", "--protocol=prepared", "--jobs=1", "--client", &clients, "--time", &seconds]);
    bench.args(["--log", "--log-prefix=each", "--file"]).arg(script).arg("postgres");
    ensure!(bench.status()?.success(), "pgbench failed");
    let folder = script.parent().context("the script lies in a folder")?;
    let (mut latencies, mut last) = (Vec::new(), Duration::ZERO);
    let mut first = Duration::MAX;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_log = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("each."));
        if !is_log {
            continue;
        }
        for line in std::fs::read_to_string(&path)?.lines() {
            let (latency, end) = transaction(line).with_context(|| format!("reading {line}"))?;
            (first, last) = (first.min(end.saturating_sub(latency)), last.max(end));
            latencies.push(latency);
        }
        std::fs::remove_file(&path)?;
    }
    ensure!(!latencies.is_empty(), "pgbench inserted nothing");
    Ok(Summary::of(latencies, last - first))
}

/// A line of the log: client, number, latency in microseconds, script, seconds and microseconds at the end.
fn transaction(line: &str) -> Option<(Duration, Duration)> {
    let mut numbers = line.split(' ').map(|number| number.parse::<u64>().ok());
    let latency = Duration::from_micros(numbers.nth(2)??);
    let seconds = Duration::from_secs(numbers.nth(1)??);
    Some((latency, seconds + Duration::from_micros(numbers.next()??)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_has_a_latency_and_an_end() {
        let line = "0 199 2241 0 1794802133 995212";
        let end = Duration::new(1_794_802_133, 995_212_000);
        assert_eq!(transaction(line), Some((Duration::from_micros(2_241), end)));
        assert_eq!(transaction("0 199 skipped 0 1 2"), None);
    }
}
