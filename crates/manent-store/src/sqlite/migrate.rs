//! Schema migrations: numbered, named, applied once and atomically, and never edited after they have landed.

use super::connection::{APPLICATION_ID, SqliteOptions, failed, make_private, sync_folder, user_version};
use crate::api::error::{Result, StoreError};
use crate::engine::apply::stream;
use crate::engine::commit::{backfill_authors, participants, tx};
use crate::engine::sql::connection::DbResult;
use manent_model::DigestKey;
use rusqlite::{Connection, TransactionBehavior};

pub(super) struct Migration {
    pub number: i64,
    pub sql: &'static str,
}

pub(super) const MIGRATIONS: [Migration; 12] = [
    Migration { number: 1, sql: include_str!("migrations/0001_conversations.sql") },
    Migration { number: 2, sql: include_str!("migrations/0002_attached.sql") },
    Migration { number: 3, sql: include_str!("migrations/0003_runs.sql") },
    Migration { number: 4, sql: include_str!("migrations/0004_library.sql") },
    Migration { number: 5, sql: include_str!("migrations/0005_origins.sql") },
    Migration { number: 6, sql: include_str!("migrations/0006_search.sql") },
    Migration { number: PARTICIPANTS, sql: include_str!("migrations/0007_participants.sql") },
    Migration { number: WRITERS, sql: include_str!("migrations/0008_writers.sql") },
    Migration { number: STREAMS, sql: include_str!("migrations/0009_streams.sql") },
    Migration { number: ROW_MACS, sql: include_str!("migrations/0010_row_macs.sql") },
    Migration { number: 11, sql: include_str!("migrations/0011_statistics.sql") },
    Migration { number: 12, sql: include_str!("migrations/0012_active_days.sql") },
];

/// These migrations create tables whose back-fill decodes conversations and the journal, which SQL alone cannot do.
const PARTICIPANTS: i64 = 7;
const WRITERS: i64 = 8;
const STREAMS: i64 = 9;
const ROW_MACS: i64 = 10;

/// The newest schema that this program knows.
pub(super) const NEWEST: i64 = MIGRATIONS.len() as i64;

/// Brings a file to a version; a file that holds something is copied first.
pub(super) fn to_version(connection: &mut Connection, options: &SqliteOptions, wanted: i64) -> Result<()> {
    let doing = "migrating the schema";
    let found = user_version(connection).map_err(|error| failed(doing, error))?;
    if found > NEWEST {
        return Err(StoreError::NewerSchema { found, known: NEWEST });
    }
    if found >= wanted {
        return Ok(());
    }
    if found > 0 {
        backup_before(connection, options, found)?;
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|error| failed(doing, error))?;
    let run = || -> DbResult<()> {
        // Another process may have been faster while we waited for the lock.
        let now = user_version(&transaction)?;
        for migration in MIGRATIONS.iter().filter(|migration| migration.number > now && migration.number <= wanted) {
            transaction.execute_batch(migration.sql)?;
            match migration.number {
                ROW_MACS if now > 0 => {
                    let sql = "select value from meta where name = 'digest_key'";
                    let key = DigestKey::new(transaction.query_row(sql, [], |row| row.get(0))?);
                    tx::fill_macs((&*transaction).into(), &key)?;
                }
                PARTICIPANTS => participants::fill((&*transaction).into())?,
                WRITERS => backfill_authors::fill((&*transaction).into())?,
                STREAMS => stream::fill((&*transaction).into(), crate::api::clock::now().0)?,
                _ => {}
            }
        }
        if now == 0 {
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            let mut secret = [0u8; 32];
            getrandom::fill(&mut secret).map_err(|error| {
                rusqlite::Error::ToSqlConversionFailure(Box::new(std::io::Error::other(error.to_string())))
            })?;
            transaction.execute("insert into meta (name, value) values ('digest_key', $1)", [&secret[..]])?;
            transaction.execute("insert into meta (name, value) values ('beside', $1)", [&[0u8; 24][..]])?;
            transaction.execute("insert into meta (name, value) values ($1, $2)", (tx::COVERED_FROM, &[0u8; 8][..]))?;
        }
        if now < wanted {
            transaction.pragma_update(None, "user_version", wanted)?;
        }
        Ok(())
    };
    run().map_err(|error| failed(doing, error))?;
    transaction.commit().map_err(|error| failed(doing, error))
}

/// Copies the file as it is before a migration touches it.
fn backup_before(connection: &Connection, options: &SqliteOptions, found: i64) -> Result<()> {
    let doing = "copying the file before a migration";
    let kept = options.sibling_path(&format!(".before-{}", found + 1));
    if kept.exists() {
        return Ok(());
    }
    let partial = options.sibling_path(&format!(".before-{}.partial", found + 1));
    let io = |error: std::io::Error| StoreError::engine(doing, error);
    if partial.exists() {
        std::fs::remove_file(&partial).map_err(io)?;
    }
    let target = partial.to_str().ok_or_else(|| StoreError::Invalid("the path is not UTF-8".to_owned()))?;
    make_private(&partial).map_err(io)?;
    connection.execute("vacuum into $1", [target]).map_err(|error| failed(doing, error))?;
    std::fs::File::open(&partial).and_then(|file| file.sync_all()).map_err(io)?;
    let copy = Connection::open(&partial).map_err(|error| failed(doing, error))?;
    let check: String =
        copy.query_row("pragma integrity_check", [], |row| row.get(0)).map_err(|error| failed(doing, error))?;
    drop(copy);
    if check != "ok" {
        return Err(StoreError::altered("the file", check));
    }
    std::fs::rename(&partial, &kept).map_err(io)?;
    sync_folder(&kept).map_err(io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_in_order() {
        for (place, migration) in MIGRATIONS.iter().enumerate() {
            assert_eq!(migration.number, place as i64 + 1);
        }
    }

    /// The others of a tenant are many more; to read past them would take as long as there are of them.
    #[test]
    fn the_list_of_a_person_begins_with_what_that_person_has() {
        use crate::engine::read::list::{OF_PERSON_BY_ACTIVITY, OF_PERSON_BY_ID};
        let connection = Connection::open_in_memory().expect("opens");
        MIGRATIONS.iter().for_each(|migration| connection.execute_batch(migration.sql).expect("migrates"));
        for list in [OF_PERSON_BY_ACTIVITY, OF_PERSON_BY_ID] {
            let mut plan = connection.prepare(&["explain query plan ", list].concat()).expect("a statement");
            let parameters = vec![rusqlite::types::Value::Null; plan.parameter_count()];
            let steps = plan.query_map(rusqlite::params_from_iter(parameters), |row| row.get::<_, String>(3));
            let steps: Vec<String> = steps.expect("a plan").map(|step| step.expect("a step")).collect();
            assert!(steps[0].starts_with("SEARCH d USING PRIMARY KEY (person=?"), "{steps:?}");
            assert!(steps[1].starts_with("SEARCH c USING INTEGER PRIMARY KEY"), "{steps:?}");
        }
    }
}
