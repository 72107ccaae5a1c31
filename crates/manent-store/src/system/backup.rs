//! Backups of a system store: a SQLite file, from either engine, verified before it counts.

use super::worker::SystemConnection;
use super::{NewAuditRecord, SystemLocation, SystemStore, audit_log, copy, next_change};
use crate::api::error::{Result, StoreError};
use crate::engine::interface::run_blocking;
use crate::engine::sql::connection::{Connection, begin_reading, end_reading};
use crate::engine::sql::tx_error::{TxError, TxResult};
use crate::sqlite;
use manent_model::Timestamp;
use std::path::Path;

impl SystemStore {
    /// Writes a copy of one snapshot, and checks it before this returns; never over an existing file.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        let (place, to) = (self.location.clone(), to.to_owned());
        // With a connection of its own: requests meanwhile do not wait for the log to be copied.
        run_blocking("manent-backup", move || sqlite::write_system(&to, |file| fill(&place, file))).await
    }

    /// Says whether the store has only the rows that it was created with.
    pub async fn is_new(&self) -> Result<bool> {
        self.worker.read("reading the system store", |connection| Ok(copy::is_new(connection)?)).await
    }

    /// Restores a backup into a system store that has only the rows it was created with. The file is migrated to the
    /// newest schema first, so pass a copy.
    pub async fn restore(&self, copy: &Path, at: Timestamp, line: NewAuditRecord) -> Result<()> {
        let copy = copy.to_owned();
        self.worker.write("restoring the system store", move |connection| restore(&copy, connection, at, &line)).await
    }
}

fn fill(place: &SystemLocation, file: &rusqlite::Connection) -> Result<()> {
    let doing = "copying the system store";
    let source = SystemConnection::open(place)?;
    let copied = begin_reading(source.connection()).and_then(|()| copy::copy(source.connection(), file.into()));
    end_reading(source.connection());
    copied.map_err(|error| error.into_store_error(doing))?;
    check(file).map_err(|fault| fault.into_store_error(doing))
}

fn restore(copy: &Path, connection: Connection<'_>, at: Timestamp, line: &NewAuditRecord) -> TxResult<()> {
    let file = sqlite::open_system(copy)?;
    check(&file)?;
    if !copy::is_new(connection)? {
        return Err(StoreError::Invalid("there are tenants, users, keys or an audit log already".to_owned()).into());
    }
    copy::copy((&file).into(), connection)?;
    next_change(connection)?;
    Ok(audit_log::add(connection, at, line)?)
}

fn check(file: &rusqlite::Connection) -> TxResult<()> {
    match audit_log::verify(file.into())?.problems.first() {
        None => Ok(()),
        Some(problem) => Err(TxError::from(StoreError::altered("audit log", format!("{problem:?}")))),
    }
}
