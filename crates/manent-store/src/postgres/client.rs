//! A connection to a PostgreSQL server, for one tenant: it waits on the thread that uses it.

use super::tenant;
use super::value::Bound;
use crate::engine::cell::{Column, Parameters};
use crate::engine::connection::{EngineError, Ran};
use std::cell::RefCell;
use std::collections::HashMap;
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Error, NoTls, Row, Statement};

/// Who works with the tables: not their owner, so that the policies hold.
pub(super) const ROLE: &str = "manent_app";

/// A connection and what it has prepared.
pub(crate) struct Client {
    runtime: Runtime,
    client: tokio_postgres::Client,
    tenant: i64,
    statements: RefCell<HashMap<String, Statement>>,
}

impl Client {
    /// Connects.
    pub(super) fn connect(config: &Config, tenant: i64) -> std::io::Result<Result<Self, Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let connected = runtime.block_on(async {
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(async move {
                // Whoever waits for an answer is told; there is nobody else to tell.
                let _ = connection.await;
            });
            Ok(client)
        });
        Ok(connected.map(|client| Self { runtime, client, tenant, statements: RefCell::default() }))
    }

    /// Runs statements that take nothing and give nothing, as they are.
    pub(crate) fn run(&self, sql: &str) -> Result<(), Error> {
        self.runtime.block_on(self.client.batch_execute(sql))
    }

    /// Says whether the connection is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Begins a transaction of the tenant.
    pub(super) fn begin(&self) -> Result<(), Error> {
        self.run(&format!("begin; {}", self.as_tenant()))
    }

    /// Begins a transaction that sees one moment and changes nothing.
    pub(crate) fn begin_reading(&self) -> Result<(), Error> {
        self.run(&format!("begin isolation level repeatable read read only; {}", self.as_tenant()))
    }

    /// Until the end of the transaction: the role that owns nothing, and the rows of one tenant.
    fn as_tenant(&self) -> String {
        format!("set local role {ROLE}; select set_config('manent.tenant', '{}', true)", self.tenant)
    }

    /// Returns the only number that a statement gives.
    pub(super) fn number(&self, sql: &str) -> Result<i64, Error> {
        self.runtime.block_on(self.client.query_one(sql, &[]))?.try_get(0)
    }

    /// Returns the only word that a statement gives.
    pub(super) fn word(&self, sql: &str) -> Result<String, Error> {
        self.runtime.block_on(self.client.query_one(sql, &[]))?.try_get(0)
    }

    /// Begins to read many rows; [`Self::fetch`] brings them.
    pub(super) fn open_cursor(&self, sql: &str) -> Result<(), Error> {
        // A cursor takes no parameters, so the tenant stands in the statement.
        let sql = tenant::named(sql).replace("$1", &self.tenant.to_string());
        self.run(&format!("declare copying no scroll cursor for {sql}"))
    }

    pub(super) fn fetch(&self, rows: usize) -> Result<Vec<Row>, Error> {
        self.runtime.block_on(self.client.query(&format!("fetch forward {rows} from copying"), &[]))
    }

    pub(crate) fn query(&self, sql: &str, parameters: impl Parameters) -> Result<Vec<Row>, Error> {
        self.rows(sql, tenant::named, parameters)
    }

    pub(crate) fn execute(&self, sql: &str, parameters: impl Parameters) -> Result<usize, Error> {
        let bound = self.bound(parameters);
        let bound = references(&bound);
        self.runtime.block_on(async {
            let statement = self.statement(sql, tenant::named).await?;
            let changed = self.client.execute(&statement, &bound[..statement.params().len()]).await?;
            Ok(usize::try_from(changed).unwrap_or(usize::MAX))
        })
    }

    pub(crate) fn insert_numbered(&self, sql: &str, parameters: impl Parameters) -> Ran<i64> {
        let rows = self.rows(sql, tenant::numbered, parameters)?;
        let row = rows.first().ok_or(EngineError::NoRow)?;
        super::value::read(row, 0)?.ok_or(EngineError::Column(0))
    }

    fn rows(&self, sql: &str, named: fn(&str) -> String, parameters: impl Parameters) -> Result<Vec<Row>, Error> {
        let bound = self.bound(parameters);
        let bound = references(&bound);
        self.runtime.block_on(async {
            let statement = self.statement(sql, named).await?;
            self.client.query(&statement, &bound[..statement.params().len()]).await
        })
    }

    /// The parameters, and the tenant behind them.
    fn bound(&self, parameters: impl Parameters) -> Vec<Bound> {
        let mut all = Vec::new();
        let _ = parameters.each(|cell| {
            all.push(Bound::of(cell));
            Ok::<(), ()>(())
        });
        all.push(Bound::Integer(self.tenant));
        all
    }

    async fn statement(&self, sql: &str, named: fn(&str) -> String) -> Result<Statement, Error> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&named(sql)).await?;
        self.statements.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

fn references(bound: &[Bound]) -> Vec<&(dyn ToSql + Sync)> {
    bound.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Reads a column of a row.
pub(crate) fn read<T: Column>(row: &Row, place: usize) -> Result<Option<T>, Error> {
    super::value::read(row, place)
}
