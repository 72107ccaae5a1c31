//! Search: what was said, found again; and the index that makes it quick.

use super::Nothing;
use crate::app::App;
use crate::extract::{Asked, Here, Json};
use crate::operation::{Need, Operation, group};
use crate::problem::{Answer, Problem};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use manent::store::{HITS_MAX, NEIGHBOURS_MAX};
use manent::{Also, ConversationId, Counting, Found, Grouping, Indexed, SearchOrder, SearchQuery};
use schemars::JsonSchema;
use serde::Deserialize;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

/// No clock on earth is further from UTC than this.
const OFFSET_MAX: i32 = 86_400;

pub(super) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/search", "search", search)
            .reads_much()
            .says(
                "Searches messages, titles and tags, including messages that were just appended. A syntax error is a problem with the code `query` and its position in `at`.",
            )
            .library("search")
            .query::<SearchParameters>()
            .answers::<Found>(200),
        Operation::new(Method::GET, "/search/index", "getIndex", index)
            .says("Returns the progress of the search index. Searches include unindexed messages.")
            .library("when_indexed")
            .query::<IndexParameters>()
            .answers::<Indexed>(200)
            .may_take_long(),
        Operation::new(Method::POST, "/reindex", "reindex", reindex)
            .needs(Need::Tenant)
            .says(
                "Rebuilds the search index in the background. With `Accept: text/event-stream` the response is a stream of `progress` events, then a `report` or a `problem`.",
            )
            .library("reindex")
            .body::<Nothing>()
            .answers::<Indexed>(202)
            .may_take_long(),
    ];
    group("Search", operations)
}

/// What to look for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchParameters {
    /// Words that all must be there, `"a phrase"`, `-not`, `one OR other`, `begin*`, and filters such as `role:user`,
    /// `tag:work`, `after:7d`, `in:title`, `has:code`.
    q: String,
    /// In which order; the newest first if nothing is given.
    #[serde(default)]
    order: SearchOrder,
    /// `conversations` answers with the first hit of each conversation.
    #[serde(default)]
    group: Grouping,
    /// Only in this conversation.
    #[serde(rename = "in")]
    within: Option<ConversationId>,
    /// What is looked at besides: `trashed`, `branches`, `reasoning`; several with commas between.
    include: Option<String>,
    /// How many messages before and after a hit are shown with it, 1 if nothing is given.
    #[schemars(range(min = 0, max = 5))]
    neighbours: Option<u32>,
    /// `all` counts the hits behind the page too, up to a thousand.
    #[serde(default)]
    count: Counting,
    /// The last word is still being typed: words that begin so are found, and what is not closed yet is no problem.
    #[serde(default)]
    typing: bool,
    /// How many seconds local time is ahead of UTC, for days such as `yesterday`.
    #[serde(default)]
    #[schemars(range(min = -86400, max = 86400))]
    offset: i32,
    /// Where the last page ended: its `next`.
    after: Option<String>,
    /// How many, 20 if nothing is given.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
}

impl SearchParameters {
    fn query(self) -> Answer<SearchQuery> {
        let plain = SearchQuery::default();
        let (limit, neighbours) = (self.limit.unwrap_or(plain.limit), self.neighbours.unwrap_or(plain.neighbours));
        if !(1..=HITS_MAX).contains(&limit) {
            return Err(Problem::invalid(format!("limit: 1 to {HITS_MAX}")));
        }
        if neighbours > NEIGHBOURS_MAX {
            return Err(Problem::invalid(format!("neighbours: 0 to {NEIGHBOURS_MAX}")));
        }
        if !(-OFFSET_MAX..=OFFSET_MAX).contains(&self.offset) {
            return Err(Problem::invalid(format!("offset: -{OFFSET_MAX} to {OFFSET_MAX}")));
        }
        let after = self.after.map(|cursor| cursor.parse()).transpose();
        Ok(SearchQuery {
            text: self.q,
            order: self.order,
            grouping: self.group,
            within: self.within,
            also: self.include.as_deref().map_or(Ok(Also::default()), included)?,
            neighbours,
            counting: self.count,
            typing: self.typing,
            offset_seconds: self.offset,
            after: after.map_err(|_| Problem::invalid("after: not the `next` of a page of hits"))?,
            limit,
        })
    }
}

/// Reads what is looked at besides.
fn included(words: &str) -> Answer<Also> {
    let mut also = Also::default();
    for word in words.split(',').map(str::trim) {
        match word {
            "trashed" => also.trashed = true,
            "branches" => also.branches = true,
            "reasoning" => also.reasoning = true,
            _ => return Err(Problem::invalid("include: trashed, branches, reasoning, with commas between")),
        }
    }
    Ok(also)
}

async fn search(Here(database): Here, Asked(asked): Asked<SearchParameters>) -> Answer<axum::Json<Found>> {
    Ok(axum::Json(database.search(&asked.query()?).await?))
}

/// Whether to wait.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct IndexParameters {
    /// Answer only when everything that is stored now is in the index.
    #[serde(default)]
    wait: bool,
}

async fn index(
    State(app): State<App>,
    Here(database): Here,
    Asked(asked): Asked<IndexParameters>,
) -> Answer<axum::Json<Indexed>> {
    if asked.wait {
        let mut stopping = app.stopping.clone();
        tokio::select! {
            waited = database.when_indexed() => waited?,
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
    }
    Ok(axum::Json(database.indexed()))
}

async fn reindex(
    State(app): State<App>,
    Here(database): Here,
    headers: HeaderMap,
    _: Json<Nothing>,
) -> Answer<Response> {
    let (teller, mut heard) = unbounded_channel();
    let stopping = app.stopping;
    // It goes on when the one who asked has left.
    tokio::spawn(async move {
        let told = teller.clone();
        let done = database.reindex(|indexed| drop(told.send(Told::Progress(indexed)))).await;
        let last = match done {
            Ok(()) => Told::Report(database.indexed()),
            Err(error) => Told::Problem(error.into()),
        };
        drop(teller.send(last));
    });
    // What is told first says that it has begun, or why it has not.
    let begun = match heard.recv().await {
        Some(Told::Progress(indexed) | Told::Report(indexed)) => indexed,
        Some(Told::Problem(problem)) => return Err(problem),
        None => return Err(Problem::internal()),
    };
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains("text/event-stream")) {
        let keep_alive = KeepAlive::new().interval(Duration::from_secs(15));
        return Ok((StatusCode::ACCEPTED, Sse::new(events(heard, stopping)).keep_alive(keep_alive)).into_response());
    }
    Ok((StatusCode::ACCEPTED, axum::Json(begun)).into_response())
}

/// What is said while an index is made.
enum Told {
    Progress(Indexed),
    Report(Indexed),
    Problem(Problem),
}

fn events(
    heard: UnboundedReceiver<Told>,
    stopping: watch::Receiver<bool>,
) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold((heard, stopping), |(mut heard, mut stopping)| async move {
        let mut told = tokio::select! {
            told = heard.recv() => told?,
            _ = stopping.wait_for(|stopping| *stopping) => return None,
        };
        // Whoever reads slowly hears the newest number only.
        while let (Told::Progress(_), Ok(newer)) = (&told, heard.try_recv()) {
            told = newer;
        }
        let event = match &told {
            Told::Progress(indexed) => Event::default().event("progress").json_data(indexed),
            Told::Report(indexed) => Event::default().event("report").json_data(indexed),
            Told::Problem(problem) => Event::default().event("problem").json_data(problem),
        };
        Some((Ok(event.ok()?), (heard, stopping)))
    })
}
