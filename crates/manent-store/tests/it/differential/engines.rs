//! Both engines, each with two handles on the same store, as two programs would have.

use crate::kit::postgres_server;
use manent_store::postgres::{PostgresOptions, PostgresStore};
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use manent_testing::postgres::Postgres;

/// How many handles each store has.
pub const HANDLES: usize = 2;

/// One store with its handles.
struct Handles {
    open: Box<dyn Fn() -> Box<dyn Store> + Send + Sync>,
    handles: Vec<Box<dyn Store>>,
}

impl Handles {
    fn new(open: Box<dyn Fn() -> Box<dyn Store> + Send + Sync>) -> Self {
        let handles = (0..HANDLES).map(|_| open()).collect();
        Self { open, handles }
    }

    async fn reopen(&mut self, handle: usize) {
        self.handles[handle].close().await.expect("a store can be closed");
        self.handles[handle] = (self.open)();
    }
}

/// The same store twice: once on SQLite, once on PostgreSQL.
pub struct Engines {
    sqlite: Handles,
    postgres: Handles,
    #[expect(dead_code, reason = "removes the folder when the run ends")]
    folder: tempfile::TempDir,
}

/// The server of a run, and what ends it.
pub type Server = (String, Option<(Postgres, tempfile::TempDir)>);

/// Finds the server; none where there is no PostgreSQL.
pub fn server() -> Option<Server> {
    postgres_server()
}

impl Engines {
    /// Opens both, empty.
    pub fn open(server: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let sqlite = SqliteOptions { readers: 2, ..SqliteOptions::new(folder.path().join("store.db")) };
        let tenant = fastrand::i64(1_000..);
        let postgres = PostgresOptions { tenant, readers: 2, ..PostgresOptions::new(server.to_owned()) };
        Self {
            sqlite: Handles::new(Box::new(move || {
                Box::new(SqliteStore::open(sqlite.clone()).expect("the folder can hold a store"))
            })),
            postgres: Handles::new(Box::new(move || {
                Box::new(PostgresStore::open(postgres.clone()).expect("the tenant can hold a store"))
            })),
            folder,
        }
    }

    /// Returns a handle of each engine: SQLite, PostgreSQL.
    pub fn handle(&self, handle: usize) -> (&dyn Store, &dyn Store) {
        (&*self.sqlite.handles[handle], &*self.postgres.handles[handle])
    }

    /// Closes one handle of each engine and opens it again.
    pub async fn reopen(&mut self, handle: usize) {
        tokio::join!(self.sqlite.reopen(handle), self.postgres.reopen(handle));
    }

    /// Closes everything.
    pub async fn close(&self) {
        for handle in 0..HANDLES {
            let (sqlite, postgres) = self.handle(handle);
            let (first, second) = tokio::join!(sqlite.close(), postgres.close());
            first.and(second).expect("a store can be closed");
        }
    }
}
