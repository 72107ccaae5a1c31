//! Measurements other than speed, with their limits: bytes on disk, memory, time to open.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ::manent::{Database, ListQuery};
use anyhow::{Context, Result};

use crate::corpus::Corpus;

/// One fact with its limit.
pub struct Fact {
    /// What.
    pub what: String,
    /// What was found.
    pub found: String,
    /// What it may be.
    pub limit: String,
    /// It is within.
    pub met: bool,
}

/// Everything that is not a speed of many rounds.
pub struct Facts {
    pub store: Vec<Fact>,
    pub search: Vec<Fact>,
    pub imports: Vec<Fact>,
    pub tenants: Vec<Fact>,
    pub growth: Vec<Fact>,
}

impl Fact {
    /// Says it as soon as it is known: a whole run takes long.
    pub fn tell(&self) {
        let verdict = if self.met { "met" } else { "missed" };
        eprintln!("{}: {} (limit {}): {verdict}", self.what, self.found, self.limit);
    }
}

/// The argument with which this program looks at a store from a process of its own.
pub const RESIDENT: &str = "--resident";

/// Measures a closed store that holds the corpus.
pub fn of(path: &Path, corpus: &Corpus) -> Result<Vec<Fact>> {
    let json: u64 = corpus.all().map(|message| message.to_json().len() as u64).sum();
    let disk = std::fs::metadata(path).with_context(|| format!("looking at {}", path.display()))?.len();
    let share = disk as f64 / json as f64;
    let output = Command::new(std::env::current_exe()?).arg(RESIDENT).arg(path).output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let [open_ms, resident_mib] = numbers[..] else {
        anyhow::bail!("the look from outside failed: {}", String::from_utf8_lossy(&output.stderr));
    };
    let ready = crate::web::time_to_ready(path)?;
    let messages = corpus.conversations * corpus.messages;
    Ok(vec![
        Fact {
            what: "bytes on disk, over the JSON bytes of the messages".to_owned(),
            found: format!("{share:.2}x ({:.0} MB, {} messages)", disk as f64 / 1e6, messages),
            limit: "1.30x".to_owned(),
            met: share <= 1.3,
        },
        Fact {
            what: "time to open".to_owned(),
            found: format!("{open_ms:.2} ms"),
            limit: "10 ms".to_owned(),
            met: open_ms <= 10.0,
        },
        Fact {
            what: "resident memory after 2,000 random pages of 50".to_owned(),
            found: format!("{resident_mib:.0} MiB"),
            limit: "200 MiB".to_owned(),
            met: resident_mib <= 200.0,
        },
        Fact {
            what: "start of `manent serve` until it answers that it is ready".to_owned(),
            found: format!("{:.0} ms", ready.as_secs_f64() * 1e3),
            limit: "200 ms".to_owned(),
            met: ready <= Duration::from_millis(200),
        },
    ])
}

/// Opens a store, reads around in it, and prints milliseconds to open and mebibytes resident.
pub fn look_from_outside(path: &Path) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let started = Instant::now();
    let database = Database::open(path)?;
    let open_ms = started.elapsed().as_secs_f64() * 1e3;
    runtime.block_on(async {
        let page = database.list(ListQuery { limit: 1_000, ..ListQuery::default() }).await?;
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..2_000 {
            let place = random.usize(0..page.conversations.len());
            database.last(page.conversations[place].id, 50).await?;
        }
        anyhow::Ok(())
    })?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
    println!("{open_ms} {}", kib / 1024.0);
    Ok(())
}
