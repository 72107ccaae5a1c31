//! A thousand tenants on one server with files: resources, and the effect of one under full load on another.

use super::{Owner, TENANTS};
use crate::facts::Fact;
use crate::load::{CONNECTIONS, Request, drive, drive_on, request};
use crate::summary::median;
use crate::web::{Process, serve_tenants};
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long each load lasts.
const WINDOW: Duration = Duration::from_secs(5);

/// How often the quiet tenant is measured, alone and beside a busy one.
const ROUNDS: usize = 5;

/// More than this is not bounded.
const THREADS_MAX: u64 = 64;
const FILES_MAX: u64 = 2_048;
const MEMORY_MAX_MIB: u64 = 512;

pub fn of(home: &Path, owners: &[Owner]) -> Result<Vec<Fact>> {
    let server = serve_tenants(home)?;
    let appends: Vec<Request> = owners.iter().map(append).collect();
    // Everybody comes once, so that whatever is kept for each of them is kept.
    let started = Instant::now();
    drive(server.address, Duration::from_secs(10), &appends)?;
    let (taken, busy) = watched(&server, || drive(server.address, WINDOW, &appends[..CONNECTIONS]))?;
    let busy = busy?;
    eprintln!("{TENANTS} tenants were written to in {:.0?}", started.elapsed());
    let rate = format!("{CONNECTIONS} busy, {:.0} appends/s", busy.per_second);
    let bounded = |what: &str, found: u64, most: u64, unit: &str| Fact {
        what: format!("{TENANTS} tenants on one server: {what}"),
        found: format!("{found}{unit} ({rate})"),
        limit: format!("{most}{unit}"),
        met: found <= most,
    };
    Ok(vec![
        bounded("threads", taken.threads, THREADS_MAX, ""),
        bounded("open files", taken.files, FILES_MAX, ""),
        bounded("memory", taken.memory_mib, MEMORY_MAX_MIB, " MiB"),
        beside(&server, &appends)?,
    ])
}

fn append(owner: &Owner) -> Request {
    let authorization = format!("Bearer {}", owner.key);
    let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
    let path = format!("/api/v1/conversations/{}/messages", owner.conversation);
    request("POST", &path, &headers, r#"{"messages":[{"role":"user","text":"北京今天天气怎么样？"}]}"#.as_bytes())
}

/// What a process takes at most.
#[derive(Default)]
struct Taken {
    threads: u64,
    files: u64,
    memory_mib: u64,
}

/// Does something and looks meanwhile at what the server takes.
fn watched<T>(server: &Process, work: impl FnOnce() -> T) -> Result<(Taken, T)> {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| -> Result<Taken> {
            let mut most = Taken::default();
            let folder = format!("/proc/{}", server.id());
            while !ended.load(Ordering::Relaxed) {
                most.threads = most.threads.max(std::fs::read_dir(format!("{folder}/task"))?.count() as u64);
                most.files = most.files.max(std::fs::read_dir(format!("{folder}/fd"))?.count() as u64);
                std::thread::sleep(Duration::from_millis(20));
            }
            let status = std::fs::read_to_string(format!("{folder}/status"))?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("Linux tells")?;
            most.memory_mib = line.split_whitespace().next().context("a number")?.parse::<u64>()? / 1024;
            Ok(most)
        });
        let done = work();
        ended.store(true, Ordering::Relaxed);
        let taken = watching.join().map_err(|_| anyhow::anyhow!("the watch ended"))??;
        Ok((taken, done))
    })
}

/// What a quiet tenant waits beside a busy one, over what it waits alone.
fn beside(server: &Process, appends: &[Request]) -> Result<Fact> {
    let (quiet, busy) = (&appends[..1], &appends[1..2]);
    let (mut ratios, mut shown) = (Vec::new(), String::new());
    for _ in 0..ROUNDS {
        let alone = drive_on(server.address, WINDOW, 1, quiet)?;
        let (beside, load) = std::thread::scope(|scope| {
            // The load begins before and ends after what is measured.
            let loading = scope.spawn(|| drive(server.address, WINDOW * 2, busy));
            std::thread::sleep(WINDOW / 4);
            let beside = drive_on(server.address, WINDOW, 1, quiet);
            (beside, loading.join())
        });
        let (beside, load) = (beside?, load.map_err(|_| anyhow::anyhow!("the load ended"))??);
        ratios.push(beside.p99_us / alone.p99_us);
        shown = format!(
            "p99 {:.1} ms alone, {:.1} ms beside {:.0} appends/s on {CONNECTIONS} connections",
            alone.p99_us / 1e3,
            beside.p99_us / 1e3,
            load.per_second
        );
    }
    let ratio = median(ratios).context("some rounds")?;
    Ok(Fact {
        what: "p99 of a tenant beside one at full load, over alone".to_owned(),
        found: format!("{ratio:.1}x ({shown}, last of {ROUNDS} rounds)"),
        limit: "3.0x".to_owned(),
        met: ratio <= 3.0,
    })
}
