//! Change poller: checks whether other processes have committed.

use super::Shared;
use super::client::Client;
use super::migrate::connect;
use super::options::PostgresOptions;
use crate::api::transaction::Position;
use crate::engine::sql::connection::{DbResult, query_one};
use std::time::Duration;

/// Poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The main loop of the thread.
pub(super) fn serve(shared: &Shared, options: &PostgresOptions) {
    let mut client: Option<Client> = None;
    let (ended, changed) = &shared.ended;
    loop {
        let mut state = ended.lock();
        changed.wait_for(&mut state, POLL_INTERVAL);
        if *state {
            return;
        }
        drop(state);
        // A failure is retried at the next poll; the writer reports errors that matter.
        if client.as_ref().is_none_or(Client::is_closed) {
            client = connect(options).ok();
        }
        if let Some(position) = client.as_ref().and_then(|client| poll(client).ok()) {
            shared.position.publish(position);
        }
    }
}

fn poll(client: &Client) -> DbResult<Position> {
    client.begin_reading()?;
    let next: DbResult<Position> =
        query_one(client, "select next from counter where name = $1", ["journal"], |row| row.get(0));
    client.end_reading();
    Ok(next? - 1)
}
