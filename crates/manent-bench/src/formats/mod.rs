//! Import benchmarks with large files, compared with lower bounds for the same bytes and rows.

mod insert;
mod make;
mod split;

use crate::facts::Fact;
use ::manent::formats::core::source_fs::{self, SourceTree};
use ::manent::formats::{self, Format, Item, ReadError, Sink};
use ::manent::{Database, ImportMode};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The argument with which this program does one of these from a process of its own.
pub const ALONE: &str = "--format-alone";

/// The formats that are JSON.
const JSON: [&str; 4] = ["veloca", "kode", "personalab", "obsidian-rag"];

const ROUNDS: usize = 3;

/// Measures every JSON format with files of about this many bytes.
pub fn of(folder: &Path, bytes: u64) -> Result<Vec<Fact>> {
    let mut facts = Vec::new();
    for (format, path) in JSON.into_iter().zip(make::all(folder, &JSON, bytes)?) {
        let found = facts_of(format, &path, folder)?;
        found.iter().for_each(Fact::tell);
        facts.extend(found);
        std::fs::remove_dir_all(&path).with_context(|| format!("removing {}", path.display()))?;
    }
    Ok(facts)
}

fn facts_of(format: &str, path: &Path, folder: &Path) -> Result<Vec<Fact>> {
    let size = formats::core::source_fs::at(path)?.entries().iter().map(|entry| entry.size).sum::<u64>() as f64 / 1e6;
    let (mut reads, mut imports, mut peak) = (Vec::new(), Vec::new(), 0.0f64);
    for round in 0..ROUNDS {
        let split = alone("split", format, path, folder)?;
        let read = alone("read", format, path, folder)?;
        reads.push((split.seconds / read.seconds, size / read.seconds, size / split.seconds));
        if round == 0 || size < 64.0 {
            let insert = alone("insert", format, path, folder)?;
            let import = alone("import", format, path, folder)?;
            imports.push((insert.seconds / import.seconds, size / import.seconds, size / insert.seconds));
            peak = peak.max(import.mebibytes).max(read.mebibytes);
        }
    }
    let fact = |what: String, mut all: Vec<(f64, f64, f64)>, bound: f64| {
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (share, ours, theirs) = all[all.len() / 2];
        Fact {
            what,
            found: format!("{:.0} % ({ours:.0} of {theirs:.0} MB/s)", share * 100.0),
            limit: format!("≥ {:.0} %", bound * 100.0),
            met: share >= bound,
        }
    };
    Ok(vec![
        fact(format!("{format}, {size:.0} MB: reader, of serde_json splitting the bytes into values"), reads, 0.25),
        fact(format!("{format}, {size:.0} MB: import, of a bare bulk insert of the rows"), imports, 0.40),
        Fact {
            what: format!("{format}, {size:.0} MB: peak memory"),
            found: format!("{peak:.0} MiB"),
            limit: "300 MiB".to_owned(),
            met: peak <= 300.0,
        },
    ])
}

/// What a process of its own took.
struct Alone {
    seconds: f64,
    mebibytes: f64,
}

fn alone(what: &str, format: &str, path: &Path, folder: &Path) -> Result<Alone> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.arg(ALONE).args([what, format]).arg(path).arg(folder).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    match numbers[..] {
        [seconds, mebibytes] => Ok(Alone { seconds, mebibytes }),
        _ => bail!("{what} of {format} failed: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Does one thing and prints seconds and the peak of memory in mebibytes.
pub fn run_alone(arguments: &[String]) -> Result<()> {
    let [what, format, path, folder] = arguments else { bail!("what, format, path, folder") };
    let format = formats::format(format).context("no such format")?;
    let (path, folder) = (Path::new(path), Path::new(folder));
    let seconds = match what.as_str() {
        "split" => split::run(&*source_fs::at(path)?)?,
        "read" => read(format, &*source_fs::at(path)?)?,
        "insert" => insert::run(format, &*source_fs::at(path)?, folder)?,
        "import" => import(format, path, folder)?,
        other => bail!("{other}?"),
    };
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).context("no VmHWM")?;
    let kib: f64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
    println!("{seconds} {}", kib / 1024.0);
    Ok(())
}

/// Takes what a reader hands on, and keeps nothing.
struct Count(u64);

impl Sink for Count {
    fn take(&mut self, item: Item) -> Result<(), ReadError> {
        self.0 += u64::from(std::hint::black_box(item).record().is_some());
        Ok(())
    }
}

fn read(format: &Format, tree: &dyn SourceTree) -> Result<f64> {
    let started = Instant::now();
    let mut count = Count(0);
    (format.read)(tree, &mut count)?;
    if count.0 == 0 {
        bail!("nothing was read");
    }
    Ok(started.elapsed().as_secs_f64())
}

fn import(format: &'static Format, path: &Path, folder: &Path) -> Result<f64> {
    let runtime = tokio::runtime::Runtime::new()?;
    let store = tempfile::tempdir_in(folder)?;
    let database = Database::open(store.path().join("import.db"))?;
    let started = Instant::now();
    let report = runtime.block_on(database.import_tree(source_fs::at(path)?, format, ImportMode::Store, |_| {}))?;
    let seconds = started.elapsed().as_secs_f64();
    if report.skipped() > 0 {
        bail!("{} records were skipped", report.skipped());
    }
    Ok(seconds)
}
