//! Import lock: an advisory lock of the server, released with the connection that holds it.

use super::options::PostgresOptions;
use super::{Client, reconnect};
use crate::api::error::{Result, StoreError};
use crate::api::store::ImportLock;
use std::sync::mpsc;
use std::time::Instant;
use tokio::sync::oneshot;

/// Distinguishes our locks from those of other programs; the tenant is added to it.
const IMPORTS: i64 = 0x6d61_6e65_6e74_0000;

/// Waits for the lock on a thread that keeps the connection open for as long as the lock is held: only a thread may
/// wait until the connection is closed.
pub(super) async fn wait(options: PostgresOptions) -> Result<ImportLock> {
    let (answer, answered) = oneshot::channel();
    let (turn, ended) = mpsc::channel::<()>();
    let work = move || match acquire(&options) {
        // The caller may have gone; otherwise the connection lasts as long as the lock.
        Ok(_client) => {
            if answer.send(Ok(())).is_ok() {
                let _ = ended.recv();
            }
        }
        Err(error) => drop(answer.send(Err(error))),
    };
    let thread = std::thread::Builder::new().name("manent-turn".to_owned()).spawn(work);
    thread.map_err(|error| StoreError::engine("starting a thread", error))?;
    answered.await.map_err(|_| StoreError::Closed)??;
    Ok(ImportLock::new(turn))
}

/// Connects and waits for the lock. It ends with the connection, so a process that is cut off releases it.
fn acquire(options: &PostgresOptions) -> Result<Client> {
    let client = reconnect(options, Instant::now() + options.statement_timeout)?.without_timeout();
    let key = IMPORTS.wrapping_add(options.tenant);
    let waited = client.query("select pg_advisory_lock($1)", [key]);
    waited.map_err(|error| error.into_store_error("waiting for other imports"))?;
    Ok(client)
}
