//! Doctor: version, settings and health of the server.

use super::client::Client;
use super::migrate::{NEWEST, connect};
use super::options::PostgresOptions;
use crate::api::error::Result;
use crate::api::maintenance::DoctorReport;
use crate::engine::sql::connection::{DbResult, begin_reading, end_reading, query_all, query_optional};
use manent_model::ConversationId;

/// Settings that decide whether acknowledged writes are on disk.
const SETTINGS: [&str; 5] =
    ["server_version", "fsync", "synchronous_commit", "full_page_writes", "synchronous_standby_names"];

pub(super) fn doctor(options: &PostgresOptions) -> Result<DoctorReport> {
    let client = connect(options)?.without_timeout();
    begin_reading((&client).into()).map_err(|error| error.into_store_error("looking at the server"))?;
    let report = look(&client).map_err(|error| error.into_store_error("looking at the server"));
    end_reading((&client).into());
    report
}

fn look(client: &Client) -> DbResult<DoctorReport> {
    let mut settings = Vec::new();
    for name in SETTINGS {
        settings.push((name.to_owned(), client.intern(&format!("show {name}"))?));
    }
    let sizes = "select c.relname::text, pg_total_relation_size(c.oid)
         from pg_class c
         where c.relkind = 'r' and c.relnamespace = to_regnamespace(current_schema())
         order by 2 desc";
    let tables = query_all(client, sizes, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let largest = "select id, title, messages from conversation where withdrawn = 0 order by messages desc limit 5";
    let largest =
        query_all(client, largest, (), |row| Ok((ConversationId::from_bytes(row.get(0)?), row.get(1)?, row.get(2)?)))?;
    let next: Option<i64> =
        query_optional(client, "select next from counter where name = $1", ["journal"], |row| row.get(0))?;
    Ok(DoctorReport {
        engine: format!("PostgreSQL {}", settings[0].1),
        schema: NEWEST,
        settings,
        tables,
        tables_complete: true,
        files: Vec::new(),
        largest,
        position: next.map_or(0, |next| next - 1),
    })
}
