//! Migrations: the numbers and names of the file's, each statement on its own, each applied once.

use super::client::{Client, ROLE};
use super::options::PostgresOptions;
use super::tenant::TABLES;
use crate::engine::connection::{execute, maybe, one};
use crate::error::{Result, StoreError};
use crate::transaction::Position;

const MIGRATIONS: [&str; 4] = [
    include_str!("migrations/0001_conversations.sql"),
    include_str!("migrations/0002_attached.sql"),
    include_str!("migrations/0003_runs.sql"),
    include_str!("migrations/0004_library.sql"),
];

/// The newest schema that this program knows.
pub(super) const NEWEST: i64 = MIGRATIONS.len() as i64;

/// Connects, and brings the schema to its newest version.
pub(super) fn open(options: &PostgresOptions) -> Result<Client> {
    let client = connect(options)?;
    let failed = |error| super::failed("migrating the schema", error);
    let table = "create table if not exists migration (one bigint primary key check (one = 1), done bigint not null)";
    // Two that make it at once meet in the catalogue; whoever comes second finds it when it looks again.
    client.run(table).or_else(|_| client.run(table)).map_err(failed)?;
    client.run("insert into migration (one, done) values (1, 0) on conflict do nothing").map_err(failed)?;
    // The row is the lock: two programs that start at once follow each other.
    client.run("begin; select done from migration for update").map_err(failed)?;
    let done = client.number("select done from migration").map_err(failed)?;
    if done > NEWEST {
        return Err(StoreError::NewerSchema { found: done, known: NEWEST });
    }
    for sql in &MIGRATIONS[usize::try_from(done).unwrap_or(0)..] {
        for statement in statements(sql) {
            client.run(statement).map_err(failed)?;
        }
    }
    if done < NEWEST {
        client.run(&format!("{}; {}", role(), grants())).map_err(failed)?;
    }
    client.run(&format!("update migration set done = {NEWEST}; commit")).map_err(failed)?;
    Ok(client)
}

/// Makes the role that works with the tables, unless somebody has.
fn role() -> String {
    format!(
        "do $$ begin
           create role {ROLE} nologin;
         exception when duplicate_object or unique_violation then null;
         end $$"
    )
}

fn grants() -> String {
    let tables = TABLES.join(", ");
    format!("grant {ROLE} to current_user; grant select, insert, update, delete on {tables} to {ROLE}")
}

/// Connects to the server.
pub(super) fn connect(options: &PostgresOptions) -> Result<Client> {
    let config = options.config()?;
    let connected = Client::connect(&config, options.tenant);
    let connected = connected.map_err(|error| StoreError::engine("connecting", error))?;
    connected.map_err(|error| super::failed("connecting", error))
}

/// Statements end at a line that ends with a semicolon.
fn statements(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(";\n").map(str::trim).filter(|statement| !statement.is_empty())
}

/// Returns the secret of a tenant and its last position; a new tenant gets its first rows.
pub(super) fn of_tenant(client: &Client) -> Result<([u8; 32], Position)> {
    let work = || {
        client.begin()?;
        let sql = "insert into counter (name, next) values ($1, 1) on conflict (name) do nothing";
        for table in TABLES {
            execute(client, sql, [table])?;
        }
        // Whoever comes second waits here for the first.
        execute(client, "update counter set next = next where name = $1", ["journal"])?;
        let secret = "select value from meta where name = $1";
        let known: Option<[u8; 32]> = maybe(client, secret, ["digest_key"], |row| row.get(0))?;
        let secret = match known {
            Some(secret) => secret,
            None => {
                let mut secret = [0u8; 32];
                getrandom::fill(&mut secret).expect("the system gives random bytes");
                let sql = "insert into meta (name, value) values ($1, $2)";
                execute(client, sql, ("digest_key", secret))?;
                execute(client, sql, ("beside", [0u8; 24]))?;
                secret
            }
        };
        let next: Position = one(client, "select next from counter where name = $1", ["journal"], |row| row.get(0))?;
        client.run("commit")?;
        Ok((secret, next - 1))
    };
    work().map_err(|error: crate::engine::connection::EngineError| error.said("opening the store"))
}
