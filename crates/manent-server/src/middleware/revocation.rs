//! Ends requests and streaming responses whose key or session was revoked or has expired.

use crate::app::App;
use crate::auth::principal::Principal;
use crate::problem::Problem;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;

/// Aborts a request when its caller is no longer authorized.
pub async fn revocation(State(app): State<App>, request: Request, next: Next) -> Response {
    let Some(principal) = request.extensions().get::<Principal>().cloned() else { return next.run(request).await };
    tokio::select! {
        // The logout request itself gets its response although it ends its own session.
        biased;
        response = next.run(request) => abort_on(response, revoked(app.clone(), principal)),
        () = revoked(app.clone(), principal.clone()) => key_ended().into_response(),
    }
}

/// Waits until a key or a session ends.
async fn revoked(app: App, principal: Principal) {
    let session_ended = async {
        match &principal.session {
            Some(session) => app.auth.ended(session).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = principal.credential.clone().ended() => {}
        () = session_ended => {}
    }
}

/// Problem for a caller whose key was revoked or expired during the request.
pub fn key_ended() -> Problem {
    let why = "the key was revoked or has expired during the request; earlier writes are kept";
    Problem::new(StatusCode::UNAUTHORIZED, "key_ended", why)
}

/// Aborts a streaming response when its caller is no longer authorized.
fn abort_on(response: Response, revoked: impl Future<Output = ()> + Send + 'static) -> Response {
    let (parts, body) = response.into_parts();
    if http_body::Body::size_hint(&body).exact().is_some() {
        return Response::from_parts(parts, body);
    }
    let state = Some((body.into_data_stream(), Box::pin(revoked)));
    let chunks = futures_util::stream::unfold(state, |state| async move {
        let (mut chunks, mut revoked) = state?;
        tokio::select! {
            // A partial body must not be taken for the whole, so it is aborted and not ended.
            () = &mut revoked => Some((Err(axum::Error::new(std::io::Error::other("the key has ended"))), None)),
            chunk = chunks.next() => Some((chunk?, Some((chunks, revoked)))),
        }
    });
    Response::from_parts(parts, Body::from_stream(chunks))
}
