//! Import and export of Manent's JSON lines, streamed with bounded memory.

use crate::app::App;
use crate::http::io_bridge::{self, BodyError};
use crate::limits::concurrency::ConcurrencyPermit;
use crate::problem::{ApiResult, Problem};
use crate::wire::native::extract::{Caller, Query};
use crate::wire::native::operation::{Operation, group};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use manent::model::KeyScope;
use manent::{ConversationId, Database, ExportSelection, JsonlImportReport};
use schemars::JsonSchema;
use serde::Deserialize;
use std::io::BufReader;

const LINES: &str = "application/x-ndjson";

pub(crate) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/export", "export", export).audited("export")
            .summary(
                "Exports everything, one conversation, or the conversations with search results, as JSON lines without loss.",
            )
            .library("export_jsonl")
            .library("conversations_with")
            .query::<ExportParameters>()
            .response_bytes(LINES),
        Operation::new(Method::POST, "/import", "import", import).access(KeyScope::Manage).audited("import")
            .summary(
                "Imports JSON lines. Invalid lines are reported with their number; the rest is imported.",
            )
            .library("import_jsonl")
            .body_bytes(LINES)
            .response::<JsonlImportReport>(200)
            .no_timeout(),
    ];
    group("Transfer", operations)
}

/// Query parameters of an export.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExportParameters {
    /// Only this conversation.
    conversation: Option<ConversationId>,
    /// Only conversations matching this search.
    #[schemars(length(max = 1000))]
    query: Option<String>,
}

/// Resolves what to export: one conversation, the conversations matching a search, or everything.
pub(crate) async fn selection(
    database: &Database,
    conversation: Option<ConversationId>,
    query: Option<String>,
) -> ApiResult<ExportSelection> {
    match (conversation, query) {
        (Some(_), Some(_)) => Err(Problem::invalid("give either a conversation or a query, not both")),
        (Some(id), None) => Ok(ExportSelection::Conversations(vec![database.conversation(id).await?.id])),
        (None, Some(query)) => Ok(ExportSelection::Conversations(database.conversations_with(&query).await?)),
        (None, None) => Ok(ExportSelection::Everything),
    }
}

async fn export(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(asked): Query<ExportParameters>,
) -> ApiResult<Response> {
    let selection = selection(&asker.database, asked.conversation, asked.query).await?;
    Ok(lines_of(asker.database, selection, app.transfer(asker.tenant)?))
}

/// Responds with a stream of Manent's JSON lines.
pub(crate) fn lines_of(database: Database, selection: ExportSelection, place: ConcurrencyPermit) -> Response {
    let (out, completion, stream) = io_bridge::writer();
    tokio::task::spawn_blocking(move || {
        let _place = place;
        match futures_executor::block_on(database.export_jsonl(&selection, out)) {
            Ok(report) => {
                completion.complete();
                if !report.damaged.is_empty() {
                    tracing::warn!(damaged = report.damaged.len(), "an export left out damaged records");
                }
            }
            // The response has begun and can only be aborted.
            Err(error) => tracing::warn!(code = error.code(), "an export ended early"),
        }
    });
    let headers =
        [(header::CONTENT_TYPE, LINES), (header::CONTENT_DISPOSITION, "attachment; filename=\"manent.jsonl\"")];
    (headers, Body::from_stream(stream)).into_response()
}

async fn import(
    State(app): State<App>,
    Caller(asker): Caller,
    request: Request,
) -> ApiResult<axum::Json<JsonlImportReport>> {
    asker.credential.reaches_everything()?;
    let (database, place) = (asker.database, app.transfer(asker.tenant)?);
    let reader = io_bridge::reader(request.into_body(), app.limits.import_bytes);
    let work = tokio::task::spawn_blocking(move || {
        let _place = place;
        futures_executor::block_on(database.import_jsonl(BufReader::with_capacity(1 << 16, reader)))
    });
    let report = work.await.map_err(|_| Problem::internal())?;
    if let Err(manent::Error::File { source, .. }) = &report
        && let Some(error) = BodyError::of(source)
    {
        return Err(error.into());
    }
    Ok(axum::Json(report?))
}
