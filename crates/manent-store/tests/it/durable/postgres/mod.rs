//! Durability of the PostgreSQL engine: what was answered is there once, whatever happens to the server and the wire.
//!
//! Each test has a server of its own, which it may kill. These variables change a run, besides those of the other
//! engine:
//! - `MANENT_OUTAGES`: how often the server is killed, emptied or cut off under load (20).
//! - `MANENT_CUTS`: how many replies to a COMMIT are cut (2,000).
//! - `MANENT_FAILOVERS`: how often the leader of a cluster is killed (10); only the long runs have a cluster.

mod client;
mod load;
mod kill;
mod cut;
mod order;
mod flight;
mod batch;
mod looked_for;
mod silent;
mod refused;
mod tenants;
mod schema;
mod participants;
mod writers;
mod tls;
mod disk_full;
mod failover;

use manent_store::postgres::{PostgresOptions, PostgresStore};
use manent_testing::not_run;
use manent_testing::postgres::Postgres;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio_postgres::NoTls;

/// A server that the test may do anything to.
struct Server {
    postgres: Postgres,
    #[expect(dead_code, reason = "removes the folder when the test ends")]
    folder: TempDir,
}

/// Starts a server, or says that there is none to be had.
fn server(settings: &[&str]) -> Option<Server> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    match Postgres::start(folder.path(), settings) {
        Ok(postgres) => Some(Server { postgres, folder }),
        Err(error) => {
            not_run(&format!("PostgreSQL: {error}"));
            None
        }
    }
}

/// Opens the store of a tenant, as one server of many would.
fn open(url: String, tenant: i64, patience: Duration) -> Arc<PostgresStore> {
    // What goes over the wire is what a test sends.
    let options =
        PostgresOptions { tenant, readers: 1, statement_timeout: patience, index: false, ..PostgresOptions::new(url) };
    Arc::new(PostgresStore::open(options).expect("the store opens"))
}

/// Connects as the owner of the tables, without the store.
async fn owner(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server accepts connections");
    tokio::spawn(async move {
        // The waiting caller gets the error.
        let _ = connection.await;
    });
    client
}

/// Waits until `many` connections wait for a lock, and returns their processes, the first to wait first.
async fn waiting(raw: &tokio_postgres::Client, many: usize) -> Vec<i32> {
    // Not pg_stat_activity: inside a transaction that says the same until its end.
    let sql = "select pid from pg_locks where not granted order by waitstart";
    for _ in 0..1_000 {
        let rows = raw.query(sql, &[]).await.expect("the server can be asked");
        if rows.len() == many {
            return rows.iter().map(|row| row.get(0)).collect();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("there never were {many} who waited");
}
