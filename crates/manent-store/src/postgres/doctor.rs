//! What the server is like.

use super::migrate::{NEWEST, connect};
use super::options::PostgresOptions;
use crate::error::Result;
use crate::maintenance::DoctorReport;

pub(super) fn doctor(options: &PostgresOptions) -> Result<DoctorReport> {
    let client = connect(options)?;
    let version = client.word("show server_version").map_err(|error| super::failed("looking at the server", error))?;
    let engine = format!("PostgreSQL {version}");
    Ok(DoctorReport {
        engine,
        schema: NEWEST,
        settings: Vec::new(),
        tables: Vec::new(),
        files: Vec::new(),
        largest: Vec::new(),
        position: 0,
    })
}
