//! Appends during indexing: the overhead, the delay until a message is indexed, and the backlog.

use crate::corpus::{Corpus, Message};
use crate::facts::Fact;
use crate::manent::draft;
use crate::measure::WRITERS;
use ::manent::store::sqlite::{SqliteOptions, SqliteStore};
use ::manent::{ConversationDraft, ConversationId, Database, IndexStatus};
use anyhow::Result;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const ROUNDS: usize = 3;
const WINDOW: Duration = Duration::from_secs(5);
/// The steady stream, and how long it flows.
const PER_SECOND: u64 = 2_000;
const STEADY: Duration = Duration::from_secs(60);
/// How much may wait: what a search looks through.
const WAITING_MAX: i64 = 20_000;

struct Side {
    database: Database,
    chats: Vec<ConversationId>,
}

impl Side {
    fn open(runtime: &Runtime, path: &Path, index: bool) -> Result<Self> {
        let store = SqliteStore::open(SqliteOptions { index, ..SqliteOptions::new(path) })?;
        let database = Database::from_store(Arc::new(store));
        let mut chats = Vec::new();
        for _ in 0..WRITERS {
            chats.push(runtime.block_on(database.create(ConversationDraft::default()))?.id);
        }
        Ok(Self { database, chats })
    }

    /// Appends from many callers at once; returns messages per second, and the most that ever waited.
    fn load(&self, runtime: &Runtime, messages: &[Message]) -> Result<(f64, i64)> {
        let started = Instant::now();
        let counts = runtime.block_on(async {
            let mut callers = tokio::task::JoinSet::new();
            for (number, chat) in self.chats.iter().enumerate() {
                let (database, chat) = (self.database.clone(), *chat);
                let own: Vec<Message> = messages.iter().skip(number).step_by(WRITERS).cloned().collect();
                callers.spawn(async move {
                    let mut count = 0u64;
                    for message in own.iter().cycle() {
                        database.append(chat, draft(message)).await?;
                        count += 1;
                        if started.elapsed() > WINDOW {
                            break;
                        }
                    }
                    Ok::<u64, ::manent::Error>(count)
                });
            }
            let mut most = 0;
            let mut total = 0;
            let mut look = tokio::time::interval(Duration::from_millis(50));
            loop {
                tokio::select! {
                    ended = callers.join_next() => match ended {
                        Some(count) => total += count??,
                        None => break,
                    },
                    _ = look.tick() => most = most.max(self.behind()),
                }
            }
            anyhow::Ok((total, most))
        })?;
        Ok((counts.0 as f64 / started.elapsed().as_secs_f64(), counts.1))
    }

    fn behind(&self) -> i64 {
        let IndexStatus { position, waiting, .. } = self.database.indexed();
        self.database.position() - position + waiting
    }
}

pub fn of(runtime: &Runtime, folder: &Path, corpus: &Corpus) -> Result<Vec<Fact>> {
    let messages: Vec<Message> = corpus.all().take(8_192).collect();
    let with = Side::open(runtime, &folder.join("indexed.db"), true)?;
    let without = Side::open(runtime, &folder.join("plain.db"), false)?;
    let (mut ratios, mut most, mut figures) = (Vec::new(), 0, (0.0, 0.0));
    for _ in 0..ROUNDS {
        let plain = without.load(runtime, &messages)?.0;
        let (indexed, waited) = with.load(runtime, &messages)?;
        most = most.max(waited);
        ratios.push(indexed / plain);
        figures = (indexed, plain);
        runtime.block_on(with.database.when_indexed())?;
    }
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios[ROUNDS / 2];
    let steady = steady(runtime, &with, &messages)?;
    Ok(vec![
        Fact {
            what: "appends of 64 writers with the index on, over those with it off".to_owned(),
            found: format!("{ratio:.2}x ({:.0} and {:.0} /s)", figures.0, figures.1),
            limit: "≥ 0.80x".to_owned(),
            met: ratio >= 0.8,
        },
        Fact {
            what: format!("{PER_SECOND} appends/s for {} s: from an append to the index, p99", STEADY.as_secs()),
            found: format!("{:.0} ms", steady.as_secs_f64() * 1e3),
            limit: "1000 ms".to_owned(),
            met: steady <= Duration::from_secs(1),
        },
        Fact {
            what: "messages that wait for the index at full load, at most".to_owned(),
            found: format!("{most}"),
            limit: format!("{WAITING_MAX}, and a batch"),
            met: most <= WAITING_MAX + 5_000,
        },
    ])
}

/// Appends steadily and returns how long it takes until a message is in the index, for the slowest of a hundred.
fn steady(runtime: &Runtime, side: &Side, messages: &[Message]) -> Result<Duration> {
    let waits = runtime.block_on(async {
        let mut watch = side.database.watch_index();
        let (send, mut appended) = tokio::sync::mpsc::unbounded_channel::<(i64, Instant)>();
        let watching = tokio::spawn(async move {
            let mut waits = Vec::new();
            while let Some((position, at)) = appended.recv().await {
                let there = |known: &IndexStatus| known.position - known.waiting >= position;
                if watch.wait_for(there).await.is_err() {
                    break;
                }
                waits.push(at.elapsed());
            }
            waits
        });
        let started = Instant::now();
        let mut tick = tokio::time::interval(Duration::from_millis(10));
        let mut callers = tokio::task::JoinSet::new();
        let mut sent = 0u64;
        while started.elapsed() < STEADY {
            tick.tick().await;
            let due = (started.elapsed().as_secs_f64() * PER_SECOND as f64) as u64;
            while sent < due {
                let (database, chat) = (side.database.clone(), side.chats[sent as usize % WRITERS]);
                let (message, send) = (draft(&messages[sent as usize % messages.len()]), send.clone());
                callers.spawn(async move {
                    database.append(chat, message).await?;
                    let _ = send.send((database.position(), Instant::now()));
                    Ok::<(), ::manent::Error>(())
                });
                sent += 1;
            }
            while let Some(ended) = callers.try_join_next() {
                ended??;
            }
        }
        while let Some(ended) = callers.join_next().await {
            ended??;
        }
        drop(send);
        anyhow::Ok(watching.await?)
    })?;
    let mut waits = waits;
    waits.sort_unstable();
    Ok(waits.get(waits.len() * 99 / 100).copied().unwrap_or_default())
}
