//! Fuzzing of every reader: a short run with the other tests, and a long one with `make fuzz`.
//!
//! `MANENT_FUZZ_SECONDS` says how long each format is tried, `MANENT_FUZZ_SEED` where the numbers begin, and
//! `MANENT_FUZZ_FORMAT` names one. An input that breaks something is written into a folder, which is told; it belongs
//! into `corpus/<format>/` once it is understood. Where the whole process ends, `<format>.last` in that folder is the seed.

mod corpus;
mod invariants;
mod mutate;

use fastrand::Rng;
use manent_formats::{Format, readable};
use std::collections::BTreeMap;
use std::io::{Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

type Files = BTreeMap<String, Vec<u8>>;

/// What reading may take at most.
const MEMORY_MAX: u64 = 512 << 20;
/// No file here is large; one that takes this long would take hours if it were.
const PATIENCE: Duration = Duration::from_secs(10);

/// What broke, by its first line, with the number of the run and how often.
type Broken = BTreeMap<String, (u64, u64)>;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}")))
}

fn generation(rng: &mut Rng, format: &Format) -> Option<&'static str> {
    format.generations.get(rng.usize(..format.generations.len() + 1)).copied()
}

/// Runs a check and returns what it said when it broke.
fn broken_by(format: &Format, files: &Files, generation: Option<&str>) -> Option<String> {
    let begun = Instant::now();
    let checked = catch_unwind(AssertUnwindSafe(|| invariants::check(format, files, generation)));
    let taken = begun.elapsed();
    match checked {
        Ok(_) if taken > PATIENCE => Some(format!("it took longer than {PATIENCE:?}")),
        Ok(_) => None,
        Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned()));
            Some(said.unwrap_or_default())
        }
    }
}

/// Says where the last panic came from, which its words alone do not.
static LAST: Mutex<String> = Mutex::new(String::new());

fn quietly() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
        *locked(&LAST) = place.unwrap_or_default();
    }));
}

/// Reports the current input: in a file, which survives a crash of the process, and to the watchdog.
struct Watch {
    file: std::fs::File,
    /// The run and when it began; none between two.
    under_way: Arc<Mutex<Option<(u64, Instant)>>>,
}

impl Watch {
    fn over(format: &Format) -> Self {
        let name = format.name;
        std::fs::create_dir_all(folder()).expect("a folder");
        let file = std::fs::File::create(folder().join(format!("{name}.last"))).expect("a file");
        let under_way = Arc::new(Mutex::new(None::<(u64, Instant)>));
        let watched = Arc::downgrade(&under_way);
        std::thread::spawn(move || {
            while let Some(under_way) = watched.upgrade() {
                if let Some((seed, begun)) = *locked(&under_way)
                    && begun.elapsed() > PATIENCE * 6
                {
                    eprintln!("{name} does not end: MANENT_FUZZ_FORMAT={name} MANENT_FUZZ_SEED={seed}");
                    std::process::abort();
                }
                drop(under_way);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Self { file, under_way }
    }

    fn begin(&mut self, seed: u64) {
        let _ = self.file.rewind().and_then(|()| writeln!(self.file, "{seed:>20}"));
        *locked(&self.under_way) = Some((seed, Instant::now()));
    }

    fn end(&mut self) {
        *locked(&self.under_way) = None;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fuzzes a format for a time, or for a number of inputs.
fn fuzz(format: &Format, seed: u64, until: impl Fn(u64) -> bool) -> (u64, u64, Broken) {
    let (corpus, words) = (corpus::of(format.name), corpus::words());
    let (mut run, mut held, mut broken) = (0, 0, Broken::new());
    let mut watch = Watch::over(format);
    while until(run) {
        watch.begin(seed + run);
        let mut rng = Rng::with_seed(seed + run);
        let files = mutate::mutate(&mut rng, &corpus, &words);
        let generation = generation(&mut rng, format);
        match broken_by(format, &files, generation) {
            None => held += 1,
            Some(said) => {
                let place = locked(&LAST).clone();
                let line = format!("{place} {}", said.lines().next().unwrap_or_default());
                let known = broken.entry(line).or_insert((seed + run, 0));
                if known.1 == 0 {
                    save(format, seed + run, &files, &format!("{place}\nin {generation:?}\n{said}"));
                }
                known.1 += 1;
            }
        }
        watch.end();
        run += 1;
    }
    (run, held, broken)
}

fn folder() -> PathBuf {
    std::env::temp_dir().join("manent-fuzz")
}

fn save(format: &Format, seed: u64, files: &Files, why: &str) {
    let folder = folder().join(format.name).join(seed.to_string());
    for (name, bytes) in files {
        // Names are mutated too, and must not lead out of the folder.
        let safe: Vec<&str> = name.split('/').filter(|piece| !piece.is_empty() && *piece != "..").collect();
        let path = folder.join(safe.join("/").replace('\0', "0"));
        let _ = path.parent().map(std::fs::create_dir_all);
        let _ = std::fs::write(path, bytes);
    }
    let _ = std::fs::write(folder.with_extension("txt"), why);
}

/// The most memory that this process held since the last time, where the system tells.
pub fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
}

#[test]
fn whatever_once_broke_a_reader_does_so_no_more() {
    let mut bad = Vec::new();
    for format in readable() {
        for (name, files) in corpus::cases(&corpus::kept(format.name)) {
            for generation in format.generations.iter().copied().map(Some).chain([None]) {
                bad.extend(broken_by(format, &files, generation).map(|said| format!("{name}: {said}")));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn no_file_breaks_a_reader() {
    let seconds = number("MANENT_FUZZ_SECONDS");
    let seed = number("MANENT_FUZZ_SEED")
        .unwrap_or_else(|| if seconds.is_some() { u64::from(Rng::new().u32(..)) << 32 } else { 0 });
    let only = std::env::var("MANENT_FUZZ_FORMAT").ok();
    quietly();
    let mut bad = Vec::new();
    for format in readable().filter(|format| only.as_deref().is_none_or(|only| only == format.name)) {
        peak();
        let begun = Instant::now();
        let until = |run| match seconds {
            Some(seconds) => begun.elapsed() < Duration::from_secs(seconds),
            None => run < 150,
        };
        let (runs, held, broken) = fuzz(format, seed, until);
        let peak = peak().unwrap_or(0);
        println!("{}: {runs} runs from seed {seed}, {held} held, {} MiB at most", format.name, peak >> 20);
        if peak > MEMORY_MAX {
            bad.push(format!("{}: {} MiB", format.name, peak >> 20));
        }
        bad.extend(
            broken.iter().map(|(line, (seed, count))| format!("{} seed {seed} ({count} times): {line}", format.name)),
        );
    }
    let _ = std::panic::take_hook();
    assert!(bad.is_empty(), "inputs are in {}\n{}", folder().display(), bad.join("\n"));
}
