//! Connections: accepted, bounded in number and patience, finished before the end.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower::Service;

/// Connections at a time; more wait to be accepted.
const CONNECTIONS: usize = 4_096;
/// What one connection reads ahead, and so the most that the headers of a request may take.
const BUFFER_BYTES: usize = 64 << 10;
/// How long a caller may take to say what it wants.
const HEADERS: Duration = Duration::from_secs(15);
/// How long the last requests may take once the server is to stop.
const FAREWELL: Duration = Duration::from_secs(30);

/// Where a request came from.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// Answers with a router until `end` comes, then until the last request is answered.
pub async fn serve(listener: TcpListener, router: Router, end: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    tokio::pin!(end);
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { break };
        let (stream, peer) = tokio::select! {
            () = &mut end => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Too many open files, mostly; others will close theirs.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        let _ = stream.set_nodelay(true);
        let router = router.clone();
        let service = hyper::service::service_fn(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(Peer(peer.ip()));
            router.clone().call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .max_buf_size(BUFFER_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let watched = graceful.watch(connection);
        tokio::spawn(async move {
            // A caller that hangs up or sends rubbish concerns only itself.
            let _ = watched.await;
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(FAREWELL, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end in time");
    }
}
