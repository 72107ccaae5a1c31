//! An empty database for one test.

use crate::not_run;
use crate::postgres::Postgres;
use std::io;

/// An exclusive empty database: on the server of the test run, or on one of its own.
pub struct Scratch {
    /// Its address.
    pub url: String,
    /// The server ends before its folder goes.
    _own: Option<(Postgres, tempfile::TempDir)>,
}

impl Scratch {
    /// Makes one; without PostgreSQL it reports that the test could not run.
    pub fn make() -> Option<Scratch> {
        match Self::try_make() {
            Ok(scratch) => Some(scratch),
            Err(error) => {
                not_run(&format!("PostgreSQL: {error}"));
                None
            }
        }
    }

    fn try_make() -> io::Result<Scratch> {
        let Ok(server) = std::env::var("MANENT_TEST_POSTGRES") else {
            let folder = tempfile::tempdir()?;
            let server = Postgres::start(folder.path(), &["fsync=off"])?;
            return Ok(Scratch { url: server.url(), _own: Some((server, folder)) });
        };
        let name = format!("scratch_{}", fastrand::u64(..));
        run_sql(&server, &format!("create database {name}"))?;
        let (before, _) = server.rsplit_once('/').ok_or_else(|| io::Error::other("an address names a database"))?;
        Ok(Scratch { url: format!("{before}/{name}"), _own: None })
    }
}

/// Runs a statement on a server, wherever the caller may be.
pub fn run_sql(server: &str, sql: &str) -> io::Result<()> {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let connected = tokio_postgres::connect(server, tokio_postgres::NoTls).await;
            let (client, connection) = connected.map_err(io::Error::other)?;
            tokio::spawn(connection);
            client.batch_execute(sql).await.map_err(io::Error::other)
        })
    };
    // On a thread of its own: the caller may be inside a runtime, where nothing may wait.
    std::thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|_| Err(io::Error::other("it panicked"))))
}
