//! Scaling with the size of the store: requests are timed on one store, which then grows tenfold.

use crate::corpus::{Corpus, SEED};
use crate::facts::Fact;
use crate::manent::draft;
use crate::summary::median;
use ::manent::model::Day;
use ::manent::store::sqlite::{SqliteOptions, SqliteStore};
use ::manent::{
    ConversationDraft, ConversationId, ConversationStatus, Database, JournalQuery, ListOrder, ListQuery, MessageDraft,
    ProjectId, Result as DatabaseResult, SearchOrder, SearchQuery, StatsQuery, Time,
};
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Messages of one conversation.
const MESSAGES: u64 = 100;
/// How much larger the store is when it is measured the second time.
const FACTOR: u64 = 10;
/// How often each request is sent.
const ROUNDS: usize = 7;
/// A request that takes ten times as long on ten times the messages depends on the store; half of that is allowed for noise.
const GROWTH_MAX: f64 = 5.0;
/// Below this no person notices a growth.
const UNNOTICED: Duration = Duration::from_millis(20);
/// The bound of statistics at any size.
const STATISTICS_MAX: Duration = Duration::from_millis(50);
/// The first message, and how much later each next one is.
const FIRST_AT: i64 = 1_700_000_000_000_000;
const STEP: i64 = 5_000_000;

/// Measures a store of `conversations`, then the same store with ten times as many.
pub fn of(folder: &Path, conversations: u64) -> Result<Vec<Fact>> {
    let runtime = Runtime::new()?;
    let path = folder.join("growth.db");
    let database = Database::from_store(Arc::new(SqliteStore::open(SqliteOptions::new(&path))?));
    let project = runtime.block_on(database.create_project("growth", ""))?.id;
    let corpus = Corpus::new(SEED, conversations * FACTOR, MESSAGES);
    let mut requests: Vec<(String, [Duration; 2])> = Vec::new();
    let sizes = [conversations, conversations * FACTOR];
    for (round, count) in sizes.into_iter().enumerate() {
        let from = if round == 0 { 0 } else { sizes[0] };
        let last = runtime.block_on(fill(&database, &corpus, project, from..count))?;
        for (name, time) in runtime.block_on(measure(&database, project, last))? {
            eprintln!("{name}: {} at {} messages", shown(time), count * MESSAGES);
            match requests.iter_mut().find(|(known, _)| *known == name) {
                Some((_, times)) => times[round] = time,
                None => requests.push((name, [time; 2])),
            }
        }
    }
    runtime.block_on(database.close())?;
    let names = ["", "-wal", "-shm", "-search", "-search-wal", "-search-shm", "-reserve"];
    names.iter().for_each(|end| drop(std::fs::remove_file(folder.join(format!("growth.db{end}")))));
    Ok(requests.iter().map(|(name, times)| fact(name, *times, sizes)).collect())
}

/// Adds conversations and waits until they are indexed. Every tenth is in the project, every hundredth has the tag `rare`
/// and is archived.
async fn fill(
    database: &Database,
    corpus: &Corpus,
    project: ProjectId,
    numbers: std::ops::Range<u64>,
) -> Result<ConversationId> {
    let mut last = None;
    for number in numbers {
        let is_rare = number % 100 == 99;
        let tags = ["common", "rare"].into_iter().take(if is_rare { 2 } else { 1 }).map(str::to_owned).collect();
        let title = format!("Notes {number}");
        let project = (number % 10 == 0).then_some(project);
        let chat =
            database.create(ConversationDraft { title, tags, project, ..ConversationDraft::default() }).await?.id;
        let messages = corpus.conversation(number).map(|message| {
            let at = (number * MESSAGES + message.sequence) as i64;
            draft(&message).at(Time::exact(FIRST_AT + at * STEP))
        });
        database.append_many(chat, messages.collect()).await?;
        if is_rare {
            database.archive(chat).await?;
        } else {
            last = Some(chat);
        }
    }
    database.when_indexed().await?;
    last.context("a store without conversations")
}

/// Returns the median time of each request.
async fn measure(database: &Database, project: ProjectId, last: ConversationId) -> Result<Vec<(String, Duration)>> {
    let mut times = Vec::new();
    let tag = |name: &str| Some(name.to_owned());
    let day = |number: i64| Some(Day(FIRST_AT / 86_400_000_000 + number));
    let list = ListQuery::default;
    let lists = [
        ("list", list()),
        ("list --archived", ListQuery { statuses: vec![ConversationStatus::Archived], ..list() }),
        ("list --project", ListQuery { project: Some(project), ..list() }),
        ("list --tag, 1 in 100", ListQuery { tag: tag("rare"), ..list() }),
        ("list --tag, unused", ListQuery { tag: tag("unused"), ..list() }),
        ("list --title, no match", ListQuery { title: tag("zzzz"), ..list() }),
        ("list --pinned, none", ListQuery { pinned: Some(true), ..list() }),
        ("list --member, unknown", ListQuery { member: tag("unknown"), ..list() }),
        ("list by creation", ListQuery { order: ListOrder::Created, ..list() }),
    ];
    for (name, query) in lists {
        times.push((name.to_owned(), timed(|| database.list(query.clone())).await?));
        times.push((name.replacen("list", "count", 1), timed(|| database.count(query.clone())).await?));
    }
    let stats = StatsQuery::default;
    let statistics = [
        ("stats", stats()),
        ("stats of a conversation", StatsQuery::conversation(last)),
        ("stats --project", StatsQuery::project(project)),
        ("stats --tag, all", StatsQuery { tag: tag("common"), ..stats() }),
        ("stats --tag, 1 in 100", StatsQuery { tag: tag("rare"), ..stats() }),
        ("stats of a week", StatsQuery { since: day(7), until: day(14), ..stats() }),
        ("stats since the second day", StatsQuery { since: day(1), ..stats() }),
        ("stats --project --tag", StatsQuery { tag: tag("rare"), ..StatsQuery::project(project) }),
    ];
    for (name, query) in statistics {
        times.push((name.to_owned(), timed(|| database.stats(query.clone())).await?));
    }
    for text in ["database", "te*", "t*", "\"of the\"", "zzzzqq", "数据", "tag:rare the", "in:title notes"] {
        for order in [SearchOrder::Newest, SearchOrder::Relevance] {
            let query = SearchQuery { text: text.to_owned(), order, ..SearchQuery::default() };
            times.push((format!("search {text} {order:?}"), timed(|| database.search(&query)).await?));
        }
    }
    let newest = JournalQuery { after: database.position() - 50, ..JournalQuery::default() };
    let one = JournalQuery { conversation: Some(last), ..JournalQuery::default() };
    times.push(("journal, oldest".to_owned(), timed(|| database.journal(JournalQuery::default())).await?));
    times.push(("journal, newest".to_owned(), timed(|| database.journal(newest.clone())).await?));
    times.push(("journal of a conversation".to_owned(), timed(|| database.journal(one.clone())).await?));
    let id = last.to_string();
    let beginning = &id[..id.len() - 4];
    times.push(("resolve an id".to_owned(), timed(|| database.resolve_conversation(&id)).await?));
    times.push(("resolve @last".to_owned(), timed(|| database.resolve_conversation("@last")).await?));
    times
        .push(("resolve the beginning of an id".to_owned(), timed(|| database.resolve_conversation(beginning)).await?));
    times.push(("doctor".to_owned(), timed(|| database.doctor()).await?));
    times.push(("projects".to_owned(), timed(|| database.projects()).await?));
    times.push(("open tool calls".to_owned(), timed(|| database.open_tool_calls(50)).await?));
    times.push(("append".to_owned(), timed(|| database.append(last, MessageDraft::user("one more"))).await?));
    Ok(times)
}

async fn timed<T, F: Future<Output = DatabaseResult<T>>>(request: impl Fn() -> F) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        request().await?;
        times.push(started.elapsed().as_secs_f64());
    }
    Ok(Duration::from_secs_f64(median(times).context("no rounds")?))
}

fn fact(name: &str, [small, large]: [Duration; 2], sizes: [u64; 2]) -> Fact {
    let growth = large.as_secs_f64() / small.as_secs_f64();
    let [small_size, large_size] = sizes.map(|conversations| conversations * MESSAGES);
    let (limit, met) = if name.starts_with("stats") {
        (shown(STATISTICS_MAX), large <= STATISTICS_MAX)
    } else {
        (format!("{GROWTH_MAX:.0}x or {}", shown(UNNOTICED)), growth <= GROWTH_MAX || large <= UNNOTICED)
    };
    let found = format!("{} at {small_size}, {} at {large_size} messages ({growth:.1}x)", shown(small), shown(large));
    Fact { what: name.to_owned(), found, limit, met }
}

fn shown(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
