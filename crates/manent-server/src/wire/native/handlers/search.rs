//! Full-text search endpoints, and maintenance of the search index.

use crate::app::App;
use crate::problem::{ApiResult, Problem};
use crate::wire::native::events::{ProgressEvent, respond_progress, wants_events};
use crate::wire::native::extract::{CallerDatabase, Json, Query};
use crate::wire::native::handlers::Nothing;
use crate::wire::native::operation::{Access, Operation, group};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use manent::store::{CONTEXT_MAX, HITS_MAX};
use manent::{ConversationId, CountMode, Grouping, Include, IndexStatus, SearchOrder, SearchPage, SearchQuery};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::mpsc::unbounded_channel;

/// Largest time zone offset in seconds.
const OFFSET_MAX: i32 = 86_400;

pub(crate) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/search", "search", search)
            .large_read()
            .summary(
                "Searches messages, titles and tags, including messages that were just appended. A syntax error is a problem with the code `query` and its position in `at`.",
            )
            .library("search")
            .query::<SearchParameters>()
            .response::<SearchPage>(200),
        Operation::new(Method::GET, "/search/index", "getIndex", index)
            .summary("Returns the progress of the search index. Searches include unindexed messages.")
            .library("when_indexed")
            .query::<IndexParameters>()
            .response::<IndexStatus>(200)
            .no_timeout(),
        Operation::new(Method::POST, "/reindex", "reindex", reindex)
            .access(Access::TenantAdmin)
            .summary(
                "Rebuilds the search index in the background. With `Accept: text/event-stream` the response is a stream of `progress` events, then a `report` or a `problem`.",
            )
            .library("reindex")
            .body::<Nothing>()
            .response::<IndexStatus>(202)
            .no_timeout(),
    ];
    group("Search", operations)
}

/// Query, filters and paging of a search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchParameters {
    /// Search query. All words must match. Supports `"a phrase"`, `-not`, `one OR other`, `begin*`, and filters such
    /// as `role:user`, `tag:work`, `after:7d`, `in:title`, `has:code`.
    q: String,
    /// Sort order; newest first by default.
    #[serde(default)]
    order: SearchOrder,
    /// `conversations` returns the first hit of each conversation.
    #[serde(default)]
    group: Grouping,
    /// Only in this conversation.
    #[serde(rename = "in")]
    within: Option<ConversationId>,
    /// Additional content to search: `trashed`, `branches`, `reasoning`; comma-separated.
    include: Option<String>,
    /// Context messages before and after each hit; 1 by default.
    #[schemars(range(min = 0, max = 5))]
    neighbours: Option<u32>,
    /// `all` also counts the hits after this page, up to 1,000.
    #[serde(default)]
    count: CountMode,
    /// Search as you type: the last word matches as a prefix, and an unclosed quote or bracket is not an error.
    #[serde(default)]
    typing: bool,
    /// Seconds that local time is ahead of UTC, for days such as `yesterday`.
    #[serde(default)]
    #[schemars(range(min = -86400, max = 86400))]
    offset: i32,
    /// Cursor: `next` of the previous page.
    after: Option<String>,
    /// Maximum number of hits; 20 by default.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
}

impl SearchParameters {
    fn query(self) -> ApiResult<SearchQuery> {
        let plain = SearchQuery::default();
        let (limit, neighbours) = (self.limit.unwrap_or(plain.limit), self.neighbours.unwrap_or(plain.neighbours));
        if !(1..=HITS_MAX).contains(&limit) {
            return Err(Problem::invalid(format!("limit: 1 to {HITS_MAX}")));
        }
        if neighbours > CONTEXT_MAX {
            return Err(Problem::invalid(format!("neighbours: 0 to {CONTEXT_MAX}")));
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
            include: self.include.as_deref().map_or(Ok(Include::default()), included)?,
            neighbours,
            counting: self.count,
            typing: self.typing,
            offset_seconds: self.offset,
            after: after.map_err(|_| Problem::invalid("after: invalid search cursor"))?,
            limit,
        })
    }
}

/// Parses the `include` parameter.
fn included(words: &str) -> ApiResult<Include> {
    let mut also = Include::default();
    for word in words.split(',').map(str::trim) {
        match word {
            "trashed" => also.trashed = true,
            "branches" => also.branches = true,
            "reasoning" => also.reasoning = true,
            _ => return Err(Problem::invalid("include: expected trashed, branches, reasoning, comma-separated")),
        }
    }
    Ok(also)
}

async fn search(
    CallerDatabase(database): CallerDatabase,
    Query(asked): Query<SearchParameters>,
) -> ApiResult<axum::Json<SearchPage>> {
    Ok(axum::Json(database.search(&asked.query()?).await?))
}

/// Query parameters of an indexing request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct IndexParameters {
    /// Respond only when all content stored so far is indexed.
    #[serde(default)]
    wait: bool,
}

async fn index(
    State(app): State<App>,
    CallerDatabase(database): CallerDatabase,
    Query(asked): Query<IndexParameters>,
) -> ApiResult<axum::Json<IndexStatus>> {
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
    CallerDatabase(database): CallerDatabase,
    headers: HeaderMap,
    _: Json<Nothing>,
) -> ApiResult<Response> {
    let (sender, mut received) = unbounded_channel();
    let stopping = app.stopping.clone();
    // The work continues after the client disconnects.
    tokio::spawn(async move {
        let progress = sender.clone();
        let done = database.reindex(|indexed| drop(progress.send(ProgressEvent::Progress(indexed)))).await;
        let last = match done {
            Ok(()) => ProgressEvent::Report(database.indexed()),
            Err(error) => ProgressEvent::Problem(error.into()),
        };
        drop(sender.send(last));
    });
    // The first message tells whether the work has begun, or why it has not.
    let begun = match received.recv().await {
        Some(ProgressEvent::Progress(indexed) | ProgressEvent::Report(indexed)) => indexed,
        Some(ProgressEvent::Problem(problem)) => return Err(problem),
        None => return Err(Problem::internal()),
    };
    if wants_events(&headers) {
        return Ok((StatusCode::ACCEPTED, respond_progress(received, stopping)).into_response());
    }
    Ok((StatusCode::ACCEPTED, axum::Json(begun)).into_response())
}
