//! Pipelining client: a blocking connection to a PostgreSQL server, for one tenant, that waits as rarely as it can.
//!
//! Writes are sent without waiting for their result, as are the begin and the end of a transaction. A read waits for
//! its rows, and with them for everything that was sent before, and reports the first error of it. So a batch costs a
//! few round trips, however many statements it has; and statements that differ only in their parameters become one with
//! lists of them. The modules, in reading order:

mod pipeline;
mod prefetch;
mod commit;

pub(super) use commit::{CommitFailure, SentCommit};

use super::options::PostgresOptions;
use super::sql_rewrite;
use super::value::{BoundValue, Parameter};
use crate::engine::sql::connection::{DbResult, EngineError};
use crate::engine::sql::value::{FromSql, Parameters};
use pipeline::{InFlight, Numbers};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, Error, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

/// A connection, its prepared statements, and the statements in flight.
pub(crate) struct Client {
    runtime: Runtime,
    client: Arc<tokio_postgres::Client>,
    tenant: i64,
    /// The timeout of an answer; none: unlimited.
    statement_timeout: Option<Duration>,
    /// It did not answer in time; the outcome of what was sent is unknown.
    silent: Cell<bool>,
    statements: RefCell<HashMap<String, Statement>>,
    sent: RefCell<Vec<InFlight>>,
    /// How many statements that change rows were sent.
    changes: Cell<u64>,
    /// Statements that wait for their like, to be sent as one.
    batch: RefCell<Vec<StatementBatch>>,
    /// Questions that wait to be asked together.
    prefetches: RefCell<Vec<StatementBatch>>,
    /// Prefetched results that were not used yet.
    prefetched: RefCell<HashMap<String, HashMap<Vec<BoundValue>, Vec<Row>>>>,
    /// The next number of each table that was asked for, and whether any was given.
    numbers: RefCell<Numbers>,
    /// Number of commits that are not awaited yet.
    under_way: Cell<usize>,
}

/// A statement, and the parameters of each run, followed by the tenant.
struct StatementBatch {
    sql: String,
    rows: Vec<Vec<BoundValue>>,
}

impl Client {
    /// Connects to a host.
    pub(super) fn connect(config: &Config, tls: MakeRustlsConnect, options: &PostgresOptions) -> DbResult<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(EngineError::System)?;
        // The setting limits the TCP connect; this also limits the time until the host then answers.
        let limit = config.get_connect_timeout().copied().unwrap_or(options.statement_timeout);
        let connected = runtime.block_on(async {
            let connecting = tokio::time::timeout(limit, config.connect(tls));
            let (client, connection) = connecting.await.map_err(|_| EngineError::Unresponsive)??;
            tokio::spawn(async move {
                // The waiting caller gets the error; there is nothing else to notify.
                let _ = connection.await;
            });
            Ok(client)
        });
        connected.map(|client| Self {
            runtime,
            client: Arc::new(client),
            tenant: options.tenant,
            statement_timeout: Some(options.statement_timeout),
            silent: Cell::default(),
            statements: RefCell::default(),
            sent: RefCell::default(),
            changes: Cell::default(),
            batch: RefCell::default(),
            prefetches: RefCell::default(),
            prefetched: RefCell::default(),
            numbers: RefCell::default(),
            under_way: Cell::default(),
        })
    }

    /// For work that takes as long as it takes.
    pub(super) fn without_timeout(self) -> Self {
        Self { statement_timeout: None, ..self }
    }

    /// Says whether the connection is gone, or no longer to be trusted.
    pub(super) fn is_closed(&self) -> bool {
        self.silent.get() || self.client.is_closed()
    }

    /// Runs statements that take nothing and give nothing, as they are.
    pub(crate) fn run(&self, sql: &str) -> DbResult<()> {
        self.send_batch()?;
        self.wait(async {
            let (settled, outcome) = self.after_writes(self.client.batch_execute(sql)).await;
            settled.and(outcome)
        })
    }

    /// Begins a transaction of the tenant.
    pub(super) fn begin(&self) -> DbResult<()> {
        self.send_plain("begin isolation level read committed")?;
        self.as_tenant()
    }

    /// Begins a read-only transaction with one snapshot.
    pub(crate) fn begin_reading(&self) -> DbResult<()> {
        self.send_plain("begin isolation level repeatable read read only")?;
        self.as_tenant()
    }

    /// Ends the read transaction; sent now, without waiting for the answer.
    pub(crate) fn end_reading(&self) {
        self.clear_prefetched();
        self.sent.borrow_mut().clear();
        // A connection that is gone has ended everything.
        let _ = self.send_plain("rollback");
        self.push();
    }

    /// The rows of one tenant, until the end of the transaction.
    fn as_tenant(&self) -> DbResult<()> {
        let statement = self.statement("select set_config('manent.tenant', $1, true)", str::to_owned)?;
        self.send_statement(statement, vec![Parameter::One(BoundValue::Text(self.tenant.to_string()))])
    }

    /// Returns the only number that a statement gives.
    pub(super) fn number(&self, sql: &str) -> DbResult<i64> {
        self.wait(async { self.client.query_one(sql, &[]).await?.try_get(0) })
    }

    /// Returns the only word that a statement gives.
    pub(super) fn intern(&self, sql: &str) -> DbResult<String> {
        self.wait(async { self.client.query_one(sql, &[]).await?.try_get(0) })
    }

    /// Begins to read many rows; [`Self::fetch`] brings them.
    pub(super) fn open_cursor(&self, sql: &str) -> DbResult<()> {
        // A cursor takes no parameters, so the tenant is written into the statement.
        let sql = sql_rewrite::with_tenant(sql).replace("$1", &self.tenant.to_string());
        self.run(&format!("declare copying no scroll cursor for {sql}"))
    }

    pub(super) fn fetch(&self, rows: usize) -> DbResult<Vec<Row>> {
        self.wait(self.client.query(&format!("fetch forward {rows} from copying"), &[]))
    }

    /// Runs a statement that gives rows.
    pub(crate) fn query(&self, sql: &str, parameters: impl Parameters) -> DbResult<Vec<Row>> {
        let bound = self.bound(parameters);
        if let Some(rows) = self.answer(sql, &bound)? {
            return Ok(rows);
        }
        self.send_batch()?;
        let statement = self.statement(sql, sql_rewrite::with_tenant)?;
        let bound = references(&bound);
        self.wait(async {
            let rows = self.client.query(&statement, &bound[..statement.params().len()]);
            let (settled, rows) = self.after_writes(rows).await;
            settled.and(rows)
        })
    }

    /// Writes pending output and reads available input, without waiting.
    pub(super) fn push(&self) {
        self.runtime.block_on(tokio::task::yield_now());
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, Error>>) -> DbResult<T> {
        if self.silent.get() {
            return Err(EngineError::Unresponsive);
        }
        // Its result would come after one that is not taken yet.
        if self.under_way.get() > 0 {
            return Err(EngineError::TransactionUnderWay);
        }
        let answered = self.runtime.block_on(async {
            match self.statement_timeout {
                Some(patience) => tokio::time::timeout(patience, work).await.ok(),
                None => Some(work.await),
            }
        });
        match answered {
            Some(outcome) => Ok(outcome?),
            None => {
                self.silent.set(true);
                Err(EngineError::Unresponsive)
            }
        }
    }

    /// The parameters, and the tenant behind them.
    fn bound(&self, parameters: impl Parameters) -> Vec<BoundValue> {
        let mut all = Vec::new();
        let _ = parameters.each(|cell| {
            all.push(BoundValue::of(cell));
            Ok::<(), ()>(())
        });
        all.push(BoundValue::Integer(self.tenant));
        all
    }

    fn statement(&self, sql: &str, named: fn(&str) -> String) -> DbResult<Statement> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.prepare(&named(sql))?;
        self.statements.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Returns the batched form of a statement, and its parameters: a list for each of the statement's, and the tenant.
    fn batched_statement(
        &self,
        sql: &str,
        rows: &[Vec<BoundValue>],
        named: fn(&str) -> String,
    ) -> DbResult<(Statement, Vec<Parameter>)> {
        let single = self.statement(sql, named)?;
        let count = single.params().len();
        if let [only] = rows {
            return Ok((single, only[..count].iter().cloned().map(Parameter::One).collect()));
        }
        let key = format!("all {sql}");
        let known = self.statements.borrow().get(&key).cloned();
        let statement = match known {
            Some(statement) => statement,
            None => {
                let kinds: Vec<&str> = single.params()[..count - 1].iter().map(Type::name).collect();
                let statement = self.prepare(&sql_rewrite::batched(&named(sql), &kinds))?;
                self.statements.borrow_mut().insert(key, statement.clone());
                statement
            }
        };
        let list = |place: usize| Parameter::List(rows.iter().map(|bound| bound[place].clone()).collect());
        let lists = (0..count - 1).map(list);
        Ok((statement, lists.chain([Parameter::One(BoundValue::Integer(self.tenant))]).collect()))
    }

    fn prepare(&self, sql: &str) -> DbResult<Statement> {
        self.wait(async {
            // In a transaction that has failed nothing can be prepared, and its error is the one to tell.
            self.await_all().await?;
            self.client.prepare(sql).await
        })
    }
}

fn references<T: ToSql + Sync>(bound: &[T]) -> Vec<&(dyn ToSql + Sync)> {
    bound.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Reads a column of a row.
pub(crate) fn read<T: FromSql>(row: &Row, place: usize) -> Result<Option<T>, Error> {
    super::value::read(row, place)
}
