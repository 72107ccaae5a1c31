//! System store on a server: tables that only their own role may access; that role in turn sees no rows of tenants.

use super::client::Client;
use super::migrate::{reach, statements};
use super::options::PostgresOptions;
use super::{is_lost, migrate};
use crate::api::error::{Result, StoreError};
use crate::engine::sql::connection::{Connection, DbResult, EngineError};
use tokio_postgres::error::SqlState;

const MIGRATIONS: [&str; 1] = [include_str!("system/0001_system.sql")];

/// The newest schema that this program knows.
const NEWEST: i64 = MIGRATIONS.len() as i64;

/// The role that accesses the tables.
const ROLE: &str = "manent_system";

/// A connection that works as the role of the system store.
pub(crate) struct SystemClient(Client);

impl SystemClient {
    pub(crate) fn connection(&self) -> Connection<'_> {
        (&self.0).into()
    }

    pub(crate) fn begin(&self) -> DbResult<()> {
        self.0.run("begin isolation level read committed")
    }

    pub(crate) fn commit(&self) -> DbResult<()> {
        self.0.run("commit")
    }

    pub(crate) fn roll_back(&self) {
        self.0.end_reading();
    }
}

/// Connects, and brings the tables to their newest version.
pub(crate) fn open_system(options: &PostgresOptions) -> Result<SystemClient> {
    let client = reach(options)?;
    let migrated = match done(&client) {
        Ok(Some(NEWEST)) => Ok(NEWEST),
        Ok(_) => apply(&client),
        Err(error) => Err(error),
    };
    match migrated.and_then(|found| migrate::become_named(&client, ROLE).map(|()| found)) {
        Ok(NEWEST) => Ok(SystemClient(client)),
        Ok(found) => Err(StoreError::NewerSchema { found, known: NEWEST }),
        Err(error) => Err(error.into_store_error("opening the system store")),
    }
}

/// Says whether the same may be tried again: others were in the way, or the connection broke before the commit.
pub(crate) fn may_try_again(error: &EngineError) -> bool {
    let in_the_way = |error: &tokio_postgres::Error| {
        matches!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED))
    };
    is_lost(error) || matches!(error, EngineError::Postgres(error) if in_the_way(error))
}

fn done(client: &Client) -> DbResult<Option<i64>> {
    match client.number("select done from system_migration") {
        Ok(done) => Ok(Some(done)),
        Err(EngineError::Postgres(error)) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Applies the missing migrations, and returns the resulting version.
fn apply(client: &Client) -> DbResult<i64> {
    let table =
        "create table if not exists system_migration (one bigint primary key check (one = 1), done bigint not null)";
    // Two processes that create it at once collide in the catalogue; the second one finds it when it retries.
    client.run(table).or_else(|_| client.run(table))?;
    client.run("insert into system_migration (one, done) values (1, 0) on conflict do nothing")?;
    // The row is the lock: two programs that start at once follow each other.
    client.run("begin isolation level read committed; select done from system_migration for update")?;
    let found = client.number("select done from system_migration")?;
    if found >= NEWEST {
        client.run("rollback")?;
        return Ok(found);
    }
    for sql in &MIGRATIONS[usize::try_from(found).unwrap_or(0)..] {
        for statement in statements(sql) {
            client.run(statement)?;
        }
    }
    client.run(&migrate::role(ROLE))?;
    client.run(
        "grant manent_system to current_user;
         grant select on system_migration to manent_system;
         grant select, insert, update, delete on system_head, system_tenant, system_user, system_key to manent_system;
         grant select, insert, update on system_audit to manent_system",
    )?;
    client.run(&["update system_migration set done = ", &NEWEST.to_string()].concat())?;
    client.run("commit")?;
    Ok(NEWEST)
}
