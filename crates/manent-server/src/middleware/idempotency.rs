//! Idempotency keys of writes in progress, as a keyed mutex: a retry waits for the first request with its key and gets
//! its response.
//!
//! Within one process a lock per key makes the retry wait. Two processes on one store may still both begin before
//! either has committed; then the store refuses the second one, whose ids and time differ, and running the handler
//! once more reads the time of the first and builds its transaction.

use crate::app::App;
use crate::auth::principal::{Credential, Principal};
use crate::middleware::context::RequestContext;
use crate::middleware::idempotency_key::IdempotencyKey;
use crate::problem::Problem;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use manent::model::{KeyId, TenantId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::OwnedMutexGuard;

/// Tenant, API key and idempotency key: two API keys of one tenant may use the same text for two requests.
type Name = (TenantId, Option<KeyId>, String);

type Lock = Arc<tokio::sync::Mutex<()>>;

/// Keyed mutex: one lock for each idempotency key in use.
#[derive(Default)]
pub struct InFlight {
    locks: Mutex<HashMap<Name, Lock>>,
}

/// A held lock; the next request with the same key runs when this is dropped.
struct RequestLock {
    in_flight: Arc<InFlight>,
    name: Name,
    lock: Lock,
    held: Option<OwnedMutexGuard<()>>,
}

impl InFlight {
    async fn lock(self: &Arc<Self>, name: Name) -> RequestLock {
        let lock = self.locks().entry(name.clone()).or_default().clone();
        // Created before waiting, so that a client that disconnects while waiting also removes the lock from the map.
        let mut turn = RequestLock { in_flight: self.clone(), name, lock: lock.clone(), held: None };
        turn.held = Some(lock.lock_owned().await);
        turn
    }

    fn locks(&self) -> parking_lot::MutexGuard<'_, HashMap<Name, Lock>> {
        self.locks.lock()
    }
}

impl Drop for RequestLock {
    fn drop(&mut self) {
        self.held = None;
        let mut locks = self.in_flight.locks();
        // Two references, in the map and here: no other request waits for this key.
        if Arc::strong_count(&self.lock) <= 2 {
            locks.remove(&self.name);
        }
    }
}

/// Runs a write. A possible retry runs when no other request with its key does, and once more if the store reports
/// that another process was first.
pub async fn idempotency(State(app): State<App>, request: Request, next: Next) -> Response {
    let takes_json =
        RequestContext::of(&request).ok().and_then(|context| context.rule).is_some_and(|rule| rule.takes_json);
    let key = request.extensions().get::<IdempotencyKey>().filter(|key| key.is_given && takes_json);
    let (Some(key), Some(principal)) =
        (key.map(|key| key.text.clone()), request.extensions().get::<Principal>().cloned())
    else {
        return next.run(request).await;
    };
    let (parts, body) = request.into_parts();
    // The body is in memory already, within the byte budget.
    let Ok(body) = body.collect().await.map(|body| body.to_bytes()) else { return Problem::internal().into_response() };
    let request = || Request::from_parts(parts.clone(), Body::from(body.clone()));
    let holder = match &principal.credential {
        Credential::Token => None,
        Credential::Key(key) => Some(key.key.id),
    };
    let _lock = app.in_flight.lock((principal.tenant, holder, key.clone())).await;
    let response = next.clone().run(request()).await;
    if !response.status().is_client_error() {
        return response;
    }
    match principal.database.store().idempotent_request_time(key.into_bytes()).await {
        Ok(Some(_)) => next.clone().run(request()).await,
        // If the store cannot be asked, the response of the first run is returned.
        Ok(None) | Err(_) => response,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use manent::model::DEFAULT_TENANT;

    #[test]
    fn in_flight_same_key_waits_and_table_is_emptied() {
        let in_flight = Arc::<InFlight>::default();
        let name = |key: &str| (DEFAULT_TENANT, None, key.to_owned());
        let first = in_flight.lock(name("a")).now_or_never().expect("the key is free");
        let mut second = Box::pin(in_flight.lock(name("a")));
        assert!((&mut second).now_or_never().is_none());
        assert!(in_flight.lock(name("b")).now_or_never().is_some());
        // A request that is dropped while it waits does not admit a third one beside the first.
        let third = Box::pin(in_flight.lock(name("a")));
        drop(third);
        drop(first);
        let second = second.now_or_never().expect("the first is done");
        assert!(in_flight.lock(name("a")).now_or_never().is_none());
        drop(second);
        assert!(in_flight.locks().is_empty());
    }
}
