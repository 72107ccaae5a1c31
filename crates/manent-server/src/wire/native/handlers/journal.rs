//! Journal endpoints: every change in order, as pages or as a live event stream.

use crate::app::App;
use crate::auth::principal::Principal;
use crate::limits::concurrency::ConcurrencyPermit;
use crate::problem::{ApiResult, Problem};
use crate::wire::native::events::{respond, wants_events};
use crate::wire::native::extract::{Caller, Query};
use crate::wire::native::handlers::limit;
use crate::wire::native::operation::{Operation, group};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use manent::store::{JournalEntry, JournalPage, JournalQuery};
use manent::{ConversationId, Database};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::collections::VecDeque;
use std::convert::Infallible;

pub(crate) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/journal", "readJournal", read)
            .streams(
                "Events named `change`, each with a row of the journal as JSON in `data` and its position as `id`.",
            )
            .summary(
                "Returns changes after a position, oldest first. With `Accept: text/event-stream` it is a live stream; `Last-Event-ID` resumes it.",
            )
            .library("journal")
            .library("tail")
            .query::<JournalParameters>()
            .response::<JournalPage>(200),
    ];
    group("Journal", operations)
}

/// Query parameters of a journal page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct JournalParameters {
    /// After this position; `end` for changes from now on. Defaults to the start.
    #[serde(default)]
    after: After,
    /// Only changes of this conversation.
    conversation: Option<ConversationId>,
    /// Maximum number of changes; 50 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// A position in the journal.
#[derive(Debug, Clone, Copy, JsonSchema)]
#[schemars(untagged)]
enum After {
    /// After this position.
    Position(i64),
    /// After the newest change.
    #[schemars(with = "End")]
    End,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "the word in the description")]
enum End {
    End,
}

impl Default for After {
    fn default() -> Self {
        Self::Position(0)
    }
}

impl<'de> Deserialize<'de> for After {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "end" => Ok(Self::End),
            number => number.parse().map(Self::Position).map_err(|_| D::Error::custom("a position or `end`")),
        }
    }
}

impl After {
    fn position(self, database: &Database) -> i64 {
        match self {
            Self::Position(position) => position,
            Self::End => database.position(),
        }
    }
}

async fn read(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(asked): Query<JournalParameters>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    if wants_events(&headers) {
        return tail(app, asker, asked, &headers);
    }
    let query = JournalQuery {
        after: asked.after.position(&asker.database),
        conversation: asked.conversation,
        limit: limit(asked.limit)?,
    };
    let page = asker.database.journal(query).await?;
    Ok(axum::Json(page).into_response())
}

/// Batch size of a live tail: changes read at a time.
const TAIL_PAGE: u32 = 256;

struct Tail {
    database: Database,
    app: App,
    after: i64,
    conversation: Option<ConversationId>,
    read: VecDeque<JournalEntry>,
    _place: ConcurrencyPermit,
}

fn tail(app: App, asker: Principal, asked: JournalParameters, headers: &HeaderMap) -> ApiResult<Response> {
    let seen = headers.get("last-event-id").map(|value| value.to_str().ok().and_then(|text| text.trim().parse().ok()));
    let after = match seen {
        Some(Some(position)) => position,
        Some(None) => return Err(Problem::invalid("Last-Event-ID is a position of the journal")),
        None => asked.after.position(&asker.database),
    };
    let place = app
        .tails
        .acquire(Some(asker.tenant), app.share())
        .ok_or_else(|| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many concurrent live tails"))?;
    let tail = Tail {
        database: asker.database,
        app,
        after,
        conversation: asked.conversation,
        read: VecDeque::new(),
        _place: place,
    };
    Ok(respond(events(tail)))
}

fn events(tail: Tail) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(tail, |mut tail| async move {
        while tail.read.is_empty() {
            let mut stopping = tail.app.stopping.clone();
            let query = JournalQuery { after: tail.after, conversation: tail.conversation, limit: TAIL_PAGE };
            let found = tokio::select! {
                found = tail.database.tail(query) => found,
                _ = stopping.wait_for(|stopping| *stopping) => return None,
            };
            // A disconnected reader reconnects with the last id it received, so an error needs no event of its own.
            tail.read = found.ok()?.entries.into();
        }
        let entry = tail.read.pop_front()?;
        tail.after = entry.position + entry.count - 1;
        let data = serde_json::to_string(&entry).ok()?;
        Some((Ok(Event::default().id(entry.position.to_string()).event("change").data(data)), tail))
    })
}
