//! Event streams: progress of long operations, and the response of a live tail.

use crate::problem::Problem;
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use serde::Serialize;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

/// Interval of keep-alive comments.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Messages from a background task to its response.
pub enum ProgressEvent<Progress, Report> {
    Progress(Progress),
    Report(Report),
    Problem(Problem),
}

/// Returns whether the client accepts an event stream.
pub fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/event-stream"))
}

/// Responds with an event stream.
pub fn respond(events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static) -> Response {
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

/// Responds with the progress of a task, until it reports or the server stops.
pub fn respond_progress<Progress, Report>(
    received: UnboundedReceiver<ProgressEvent<Progress, Report>>,
    stopping: watch::Receiver<bool>,
) -> Response
where
    Progress: Serialize + Send + 'static,
    Report: Serialize + Send + 'static,
{
    respond(stream::unfold((received, stopping), |(mut received, mut stopping)| async move {
        let mut newest = tokio::select! {
            event = received.recv() => event?,
            _ = stopping.wait_for(|stopping| *stopping) => return None,
        };
        // A slow reader gets only the newest progress.
        while let (ProgressEvent::Progress(_), Ok(newer)) = (&newest, received.try_recv()) {
            newest = newer;
        }
        let event = match &newest {
            ProgressEvent::Progress(progress) => Event::default().event("progress").json_data(progress),
            ProgressEvent::Report(report) => Event::default().event("report").json_data(report),
            ProgressEvent::Problem(problem) => Event::default().event("problem").json_data(problem),
        };
        Some((Ok(event.ok()?), (received, stopping)))
    }))
}
