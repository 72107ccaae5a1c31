//! HTTP connection loop: accept with a connection limit, header timeout, graceful shutdown.

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

/// Maximum number of connections; further ones wait in the accept queue.
const CONNECTIONS: usize = 4_096;
/// Read buffer per connection, and therefore the maximum size of the request headers.
const BUFFER_BYTES: usize = 64 << 10;
/// Timeout for receiving the request headers.
const HEADERS: Duration = Duration::from_secs(15);
/// Grace period for running requests after the shutdown begins.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(30);

/// IP address of the client.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// Serves a router until `end` resolves, then until the last request is finished.
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
                    // Usually too many open files; closing connections will free some.
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
            // A disconnect or malformed request affects only its own connection.
            let _ = watched.await;
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(CLOSE_TIMEOUT, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end in time");
    }
}
