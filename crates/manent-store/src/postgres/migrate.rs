//! Migrations: the same numbers and names as for SQLite, each statement on its own, each applied once.

use super::client::Client;
use super::options::PostgresOptions;
use super::sql_rewrite::TABLES;
use crate::api::error::{Result, StoreError};
use crate::api::transaction::Position;
use crate::engine::apply::stream;
use crate::engine::commit::{backfill_authors, participants, tx};
use crate::engine::sql::connection::{DbResult, EngineError, execute, query_one, query_optional};
use manent_model::DigestKey;
use tokio_postgres::error::SqlState;

const MIGRATIONS: [&str; 12] = [
    include_str!("migrations/0001_conversations.sql"),
    include_str!("migrations/0002_attached.sql"),
    include_str!("migrations/0003_runs.sql"),
    include_str!("migrations/0004_library.sql"),
    include_str!("migrations/0005_origins.sql"),
    include_str!("migrations/0006_search.sql"),
    include_str!("migrations/0007_participants.sql"),
    include_str!("migrations/0008_writers.sql"),
    include_str!("migrations/0009_streams.sql"),
    include_str!("migrations/0010_row_macs.sql"),
    include_str!("migrations/0011_statistics.sql"),
    include_str!("migrations/0012_active_days.sql"),
];

/// The newest schema that this program knows.
pub(super) const NEWEST: i64 = MIGRATIONS.len() as i64;

/// The role that accesses the tables: not their owner, so that row-level security applies.
const ROLE: &str = "manent_app";

/// The table without a policy; see where it is made.
const WITHOUT_RLS: &str = "search_doc";

/// The row of `counter` with the id of the last writer: a writer's caches are valid while it is its own.
pub(super) const WRITER_ROLE: &str = "writer";

/// Connects, and brings the schema to its newest version.
///
/// Where it is there already, a login that may only become the role is enough.
pub(super) fn open(options: &PostgresOptions) -> Result<Client> {
    let client = reach(options)?;
    let migrated = match done(&client) {
        Ok(Some(NEWEST)) => Ok(NEWEST),
        Ok(_) => migrate(&client),
        Err(error) => Err(error),
    };
    match migrated.and_then(|found| become_role(&client).map(|()| found)) {
        Ok(NEWEST) => Ok(client),
        Ok(found) => Err(StoreError::NewerSchema { found, known: NEWEST }),
        Err(error) => Err(error.into_store_error("migrating the schema")),
    }
}

/// Connects to a server whose schema is there.
pub(super) fn connect(options: &PostgresOptions) -> Result<Client> {
    let client = reach(options)?;
    become_role(&client).map_err(|error| error.into_store_error("connecting"))?;
    Ok(client)
}

/// Connects to the first host that accepts writes. A host that does not answer does not prevent trying the next.
pub(super) fn reach(options: &PostgresOptions) -> Result<Client> {
    let mut why = None;
    let (hosts, trust) = options.hosts()?;
    let tls = trust.connector()?;
    for config in hosts {
        match Client::connect(&config, tls.clone(), options) {
            Ok(client) => return Ok(client),
            // The error of a host that refuses the connection says more than that of one that is unreachable.
            Err(error) => {
                let error = error.into_store_error("connecting");
                if why.as_ref().is_none_or(|why| matches!(why, StoreError::Busy(_))) {
                    why = Some(error);
                }
            }
        }
    }
    Err(why.unwrap_or_else(|| StoreError::Invalid("the address names no host".to_owned())))
}

/// Works as the role from here on, and never with less than the disk behind a commit.
fn become_role(client: &Client) -> DbResult<()> {
    become_named(client, ROLE)
}

/// The same, for a role of another name.
pub(super) fn become_named(client: &Client, role: &str) -> DbResult<()> {
    client.run(&format!(
        "set role {role};
         select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'"
    ))?;
    // Row-level security does not apply to such a role; it was not created by this program.
    let sql = "select count(*) from pg_roles where rolname = current_user and (rolsuper or rolbypassrls)";
    match client.number(sql)? {
        0 => Ok(()),
        _ => Err(EngineError::RoleBypassesRls),
    }
}

/// Returns the version of the schema, if there is one.
fn done(client: &Client) -> DbResult<Option<i64>> {
    // Another may just have made the table, and not its row yet.
    match client.number("select coalesce((select done from migration), 0)") {
        Ok(done) => Ok(Some(done)),
        Err(EngineError::Postgres(error)) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Applies the missing migrations, and returns the resulting version.
fn migrate(client: &Client) -> DbResult<i64> {
    let table = "create table if not exists migration (one bigint primary key check (one = 1), done bigint not null)";
    // Two processes that create it at once collide in the catalogue; the second one finds it when it retries.
    client.run(table).or_else(|_| client.run(table))?;
    client.run("insert into migration (one, done) values (1, 0) on conflict do nothing")?;
    // The row is the lock: two programs that start at once follow each other.
    client.run("begin isolation level read committed; select done from migration for update")?;
    let found = client.number("select done from migration")?;
    if found >= NEWEST {
        client.run("rollback")?;
        return Ok(found);
    }
    for sql in &MIGRATIONS[usize::try_from(found).unwrap_or(0)..] {
        for statement in statements(sql) {
            client.run(statement)?;
        }
        for table in tables_of(sql).filter(|table| *table != WITHOUT_RLS) {
            guard(client, table)?;
        }
    }
    client.run(&role(ROLE))?;
    client.run(&grants())?;
    client.run(&["update migration set done = ", &NEWEST.to_string()].concat())?;
    client.run("commit")?;
    Ok(NEWEST)
}

/// Adds the row-level security policy of a table: only the rows of the current tenant are visible, and none without
/// one; this applies to the owner of the table as well.
fn guard(client: &Client, table: &str) -> DbResult<()> {
    let own = "(tenant = nullif(current_setting('manent.tenant', true), '')::bigint)";
    client.run(&["alter table ", table, " enable row level security"].concat())?;
    client.run(&["alter table ", table, " force row level security"].concat())?;
    client.run(&["create policy tenant on ", table, " using ", own, " with check ", own].concat())
}

/// Creates the role that accesses the tables, unless it exists.
pub(super) fn role(name: &str) -> String {
    format!(
        "do $$ begin
           begin
             create role {name} nologin;
           exception when duplicate_object or unique_violation then null;
           end;
           execute format('grant usage on schema %I to {name}', current_schema());
         end $$"
    )
}

fn grants() -> String {
    let tables = TABLES.join(", ");
    format!(
        "grant {ROLE} to current_user;
         grant select on migration to {ROLE};
         grant select, insert, update, delete on {tables} to {ROLE}"
    )
}

/// Returns the tables in the order of creation, so that a referenced table comes before those that reference it.
pub(super) fn tables_in_order() -> impl Iterator<Item = &'static str> {
    MIGRATIONS.iter().flat_map(|sql| tables_of(sql))
}

/// Returns the tables that a migration makes.
fn tables_of(sql: &'static str) -> impl Iterator<Item = &'static str> {
    let table = |line: &'static str| line.strip_prefix("create table ")?.split_whitespace().next();
    sql.lines().filter_map(table)
}

/// Statements end at a line that ends with a semicolon.
pub(super) fn statements(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(";\n").map(str::trim).filter(|statement| !statement.is_empty())
}

/// The row of `meta` with the version of the back-fills that only code can do. A schema is migrated for all tenants at
/// once; back-fills run for each tenant, when its store is first opened.
const FILLED: &str = "participants";
/// The participants of all conversations have their rows.
const PARTICIPANTS: u8 = 1;
/// Authors are filled in as well.
const WRITERS: u8 = 2;
/// Open streams have their rows.
const STREAMS: u8 = 3;
/// Every row has its MAC; the tenant is complete.
const ROW_MACS: u8 = 4;

/// Returns the secret of a tenant and its last position; a new tenant gets its first rows.
pub(super) fn fill_for_tenant(client: &Client) -> Result<([u8; 32], Position)> {
    let found = existing_state(client).and_then(|known| match known {
        Some(SchemaState { secret, last, filled: ROW_MACS.. }) => Ok((secret, last)),
        Some(SchemaState { secret, last, filled }) => {
            fill(client, filled, &DigestKey::new(secret))?;
            Ok((secret, last))
        }
        None => {
            found_tenant(client)?;
            schema_state(client)
        }
    });
    found.map_err(|error| error.into_store_error("opening the store"))
}

/// Back-fills data of older versions.
fn fill(client: &Client, filled: u8, key: &DigestKey) -> DbResult<()> {
    client.begin()?;
    // Other processes that open the store, or write, wait here.
    execute(client, "update counter set next = next where name = $1", ["journal"])?;
    if filled < PARTICIPANTS {
        participants::fill(client.into())?;
    }
    if filled < WRITERS {
        backfill_authors::fill(client.into())?;
    }
    // A new table gives no numbers to its rows, but every table has its counter.
    if filled < STREAMS {
        let sql = "insert into counter (name, next) values ($1, 1) on conflict (name) do nothing";
        execute(client, sql, ["stream"])?;
        stream::fill(client.into(), crate::api::clock::now().0)?;
    }
    tx::fill_macs(client.into(), key)?;
    mark_filled(client)?;
    client.run("commit")
}

fn mark_filled(client: &Client) -> DbResult<()> {
    let sql = "insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = $2";
    execute(client, sql, (FILLED, [ROW_MACS]))
}

/// The stored state of a tenant.
struct SchemaState {
    secret: [u8; 32],
    last: Position,
    filled: u8,
}

fn schema_state(client: &Client) -> DbResult<([u8; 32], Position)> {
    let SchemaState { secret, last, .. } = existing_state(client)?.ok_or(EngineError::NoRow)?;
    Ok((secret, last))
}

/// Returns the stored state of a tenant, if it exists.
fn existing_state(client: &Client) -> DbResult<Option<SchemaState>> {
    client.begin_reading()?;
    let by_name = "select value from meta where name = $1";
    let secret: Option<[u8; 32]> = query_optional(client, by_name, ["digest_key"], |row| row.get(0))?;
    let found = match secret {
        Some(secret) => {
            let sql = "select next from counter where name = $1";
            let next: Position = query_one(client, sql, ["journal"], |row| row.get(0))?;
            let filled: Option<[u8; 1]> = query_optional(client, by_name, [FILLED], |row| row.get(0))?;
            Some(SchemaState { secret, last: next - 1, filled: filled.map_or(0, |[filled]| filled) })
        }
        None => None,
    };
    client.end_reading();
    Ok(found)
}

/// Gives a tenant its first rows.
fn found_tenant(client: &Client) -> DbResult<()> {
    client.begin()?;
    let sql = "insert into counter (name, next) values ($1, 1) on conflict (name) do nothing";
    for name in TABLES.iter().chain(&[WRITER_ROLE]) {
        execute(client, sql, [*name])?;
    }
    // A concurrent process waits here for the first.
    execute(client, "update counter set next = next where name = $1", ["journal"])?;
    let mut secret = [0u8; 32];
    getrandom::fill(&mut secret).expect("the system gives random bytes");
    let sql = "insert into meta (name, value) values ($1, $2) on conflict (name) do nothing";
    execute(client, sql, ("digest_key", secret))?;
    execute(client, sql, ("beside", [0u8; 24]))?;
    execute(client, sql, (tx::COVERED_FROM, [0u8; 8]))?;
    mark_filled(client)?;
    client.run("commit")
}
