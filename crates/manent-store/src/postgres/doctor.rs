//! Doctor: version, settings and health of the server.

use super::client::Client;
use super::migrate::{NEWEST, connect};
use super::options::PostgresOptions;
use crate::api::error::Result;
use crate::api::maintenance::DoctorReport;
use crate::engine::read::conversation::largest;
use crate::engine::sql::connection::{DbResult, begin_reading, end_reading, query_all, query_optional};

/// Settings that decide whether acknowledged writes are on disk.
const SETTINGS: [&str; 5] =
    ["server_version", "fsync", "synchronous_commit", "full_page_writes", "synchronous_standby_names"];

/// Settings of the server with which a crash of its machine may lose acknowledged data.
fn warnings(settings: &[(String, String)]) -> Vec<String> {
    let unsafe_values = [("fsync", "off"), ("full_page_writes", "off"), ("synchronous_commit", "off")];
    let found = settings.iter().filter(|(name, value)| unsafe_values.contains(&(name.as_str(), value.as_str())));
    found.map(|(name, value)| format!("{name} = {value}: a crash of the server may lose acknowledged data")).collect()
}

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
    let largest = largest(client)?;
    let next: Option<i64> =
        query_optional(client, "select next from counter where name = $1", ["journal"], |row| row.get(0))?;
    Ok(DoctorReport {
        warnings: warnings(&settings),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_name_settings_that_risk_data() {
        let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert!(warnings(&[setting("fsync", "on"), setting("synchronous_commit", "local")]).is_empty());
        assert_eq!(warnings(&[setting("fsync", "off"), setting("synchronous_commit", "off")]).len(), 2);
    }
}
