//! Import and export endpoints for the file formats of other programs.

use crate::app::App;
use crate::http::io_bridge::{self, BodyError};
use crate::problem::{ApiResult, Problem};
use crate::wire::native::events::{ProgressEvent, respond_progress, wants_events};
use crate::wire::native::extract::{Caller, Query};
use crate::wire::native::handlers::jsonl::selection;
use crate::wire::native::operation::{Operation, group};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use manent::formats::core::redact::Secrets;
use manent::formats::core::source_fs::{self, SourceTree};
use manent::formats::{self, FORMATS, Format};
use manent::model::KeyScope;
use manent::transfer::export::{DownloadBundle, ExportPlan, Lost};
use manent::transfer::import::FileImportReport;
use manent::{ConversationId, DamagedRecord, ImportMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::io::{Read, Write};
use tokio::sync::mpsc::unbounded_channel;

const BYTES: &str = "application/octet-stream";
/// Response header: the content that the target format cannot represent, as JSON.
const LOSSES: HeaderName = HeaderName::from_static("manent-losses");

pub(crate) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/formats", "listFormats", list)
            .summary("Lists the formats that can be imported and exported.")
            .response::<Vec<FormatView>>(200),
        Operation::new(Method::POST, "/import/files", "importFiles", import).access(KeyScope::Manage).audited("import")
            .summary(
                "Imports files of another program: a file, or a zip of several. With `Accept: text/event-stream` the response is a stream of `progress` events, then a `report` or a `problem`.",
            )
            .streams("`progress` with the number of records, then `report` or `problem`; each as JSON in `data`.")
            .library("import_everything")
            .query::<ImportParameters>()
            .body_bytes(BYTES)
            .response::<FileImportReport>(200)
            .no_timeout(),
        Operation::new(Method::GET, "/export/files", "exportFiles", export).audited("export")
            .summary(
                "Exports conversations in the format of another program: a file, or a zip of several. The header `Manent-Losses` lists what the format cannot represent.",
            )
            .library("export_tree")
            .query::<ExportParameters>()
            .response_bytes(BYTES)
            .no_timeout(),
    ];
    group("Files", operations)
}

/// A supported file format of another program.
#[derive(Debug, Serialize, JsonSchema)]
struct FormatView {
    /// Its name.
    name: &'static str,
    /// Short description.
    about: &'static str,
    /// Its generations, oldest first.
    generations: &'static [&'static str],
}

async fn list() -> axum::Json<Vec<FormatView>> {
    let view = |format: &Format| FormatView { name: format.name, about: format.about, generations: format.generations };
    axum::Json(FORMATS.iter().map(view).collect())
}

/// Looks up a format by its name.
fn named(name: &str) -> ApiResult<&'static Format> {
    let known = || FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
    formats::format(name).ok_or_else(|| Problem::invalid(format!("unknown format {name:?}; supported: {}", known())))
}

/// Query parameters of an import.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ImportParameters {
    /// File name; shown in reports, and used by formats that are recognised by name.
    #[schemars(length(max = 200))]
    name: Option<String>,
    /// Format; needed if it cannot be detected from the content.
    #[serde(rename = "as")]
    #[schemars(length(max = 64))]
    format: Option<String>,
    /// Report what would be imported without writing it.
    #[serde(default)]
    dry_run: bool,
}

async fn import(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(asked): Query<ImportParameters>,
    headers: HeaderMap,
    request: Request,
) -> ApiResult<Response> {
    asker.credential.reaches_everything()?;
    let format = asked.format.as_deref().map(named).transpose()?;
    let (database, who, place) = (asker.database, asker.credential, app.transfer(asker.tenant)?);
    let name = asked.name.filter(|name| !name.is_empty()).unwrap_or_else(|| "upload".to_owned());
    let reader = io_bridge::reader(request.into_body(), app.limits.import_bytes);
    let opening = tokio::task::spawn_blocking(move || opened(name, reader));
    let tree = opening.await.map_err(|_| Problem::internal())??;
    let mode = if asked.dry_run { ImportMode::DryRun } else { ImportMode::Store };
    let (last_sender, received) = unbounded_channel();
    let sender = last_sender.clone();
    // The import continues after the client disconnects, because a half-imported file is of no use; it stops if the
    // key is revoked.
    let work = tokio::spawn(async move {
        let _place = place;
        let progress = |records| drop(sender.send(ProgressEvent::Progress(ImportProgress { records })));
        let importing = database.import_everything(tree, format, mode, progress);
        tokio::select! {
            report = importing => report.map_err(Problem::from),
            () = who.ended() => Err(crate::middleware::revocation::key_ended()),
        }
    });
    if wants_events(&headers) {
        tokio::spawn(async move {
            let last = match work.await {
                Ok(Ok(report)) => ProgressEvent::Report(Box::new(report)),
                Ok(Err(problem)) => ProgressEvent::Problem(problem),
                Err(_) => ProgressEvent::Problem(Problem::internal()),
            };
            drop(last_sender.send(last));
        });
        return Ok(respond_progress(received, app.stopping.clone()));
    }
    drop((last_sender, received));
    Ok(axum::Json(work.await.map_err(|_| Problem::internal())??).into_response())
}

/// Problem for a temporary file that could not be written, or the request body that was to be written to it.
fn without_temporary(source: std::io::Error) -> Problem {
    if let Some(error) = BodyError::of(&source) {
        return error.into();
    }
    manent::Error::File { doing: "keeping", path: "a temporary file".to_owned(), source }.into()
}

/// Spools an upload to a temporary file and opens it as a file tree.
fn opened(name: String, mut reader: impl Read) -> ApiResult<Box<dyn SourceTree + Send>> {
    let spooled = tempfile::tempfile().and_then(|mut file| std::io::copy(&mut reader, &mut file).map(|_| file));
    let file = spooled.map_err(without_temporary)?;
    let tree = source_fs::of(&name, vec![(name.clone(), file)]);
    tree.map_err(|source| Problem::from(manent::Error::Unreadable { source }))
}

#[derive(Serialize)]
struct ImportProgress {
    records: u64,
}

/// Query parameters of an export.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExportParameters {
    /// Target format.
    #[schemars(length(max = 64))]
    format: String,
    /// Generation of the format; defaults to the one the conversations were imported from, then to the format's
    /// default.
    #[schemars(length(max = 64))]
    generation: Option<String>,
    /// Only this conversation.
    conversation: Option<ConversationId>,
    /// Only conversations matching this search.
    #[schemars(length(max = 1000))]
    query: Option<String>,
    /// Redact text that looks like an API key or a password.
    #[serde(default)]
    redact: bool,
}

async fn export(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(asked): Query<ExportParameters>,
) -> ApiResult<Response> {
    let format = named(&asked.format)?;
    let (database, place) = (asker.database, app.transfer(asker.tenant)?);
    let selection = selection(&database, asked.conversation, asked.query).await?;
    let secrets = if asked.redact { Secrets::Remove } else { Secrets::Keep };
    let plan = ExportPlan { selection, format, generation: asked.generation, secrets };
    let mut exported = database.export_tree(&plan, DownloadBundle::new().map_err(without_temporary)?).await?;
    if !exported.damaged.is_empty() {
        tracing::warn!(damaged = exported.damaged.len(), "an export left out damaged records");
        exported.losses.push(damage(&exported.damaged));
    }
    let zip = format!("{}.zip", format.name);
    let finished = tokio::task::spawn_blocking(move || exported.out.finish(&zip)).await;
    let (name, mut file) = finished.map_err(|_| Problem::internal())?.map_err(without_temporary)?;
    let (mut out, completion, stream) = io_bridge::writer();
    tokio::task::spawn_blocking(move || {
        let _place = place;
        if std::io::copy(&mut file, &mut out).and_then(|_| out.flush()).is_ok() {
            completion.complete();
        }
    });
    let mut response = Body::from_stream(stream).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(BYTES));
    headers.insert(header::CONTENT_DISPOSITION, attachment(&name));
    if let Ok(losses) = HeaderValue::from_str(&serde_json::to_string(&exported.losses).unwrap_or_default()) {
        headers.insert(LOSSES, losses);
    }
    Ok(response)
}

/// Lists records skipped because of damage among the content that was lost in the export.
fn damage(damaged: &[DamagedRecord]) -> Lost {
    let conversations: HashSet<_> = damaged.iter().filter_map(|record| record.conversation).collect();
    let (count, conversations) = (damaged.len() as u64, conversations.len() as u64);
    Lost { what: "damaged records".to_owned(), count, conversations }
}

/// Builds a `Content-Disposition` value; non-ASCII letters are encoded as in RFC 5987.
fn attachment(name: &str) -> HeaderValue {
    let plain: String = name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    let full: String = name
        .bytes()
        .map(|byte| match is_plain(char::from(byte)) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect();
    let value = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{full}");
    HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("attachment"))
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_')
}
