//! Pipelined writes: statements whose results are not awaited, and row numbers that are assigned on the client.

use super::{Client, StatementBatch, references};
use crate::engine::sql::connection::{DbResult, EngineError};
use crate::engine::sql::value::Parameters;
use crate::postgres::sql_rewrite;
use crate::postgres::value::{BoundValue, Parameter, read};
use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use tokio_postgres::{Error, Statement};

/// Number of statements after which the pipeline is flushed, so that the server works in parallel.
const IN_FLIGHT_MAX: usize = 32;

/// The next number of each table, and whether one was given.
pub(in crate::postgres) type Numbers = HashMap<&'static str, (i64, bool)>;

/// A statement in flight.
pub(super) type InFlight = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

impl Client {
    /// Sends a write; the next wait reports its failure.
    pub(crate) fn execute(&self, sql: &str, parameters: impl Parameters) -> DbResult<()> {
        self.changes.set(self.changes.get() + 1);
        self.send_batch()?;
        self.send_unread(sql, parameters)
    }

    /// Adds a write to the batch of its statement; no other batched write may depend on it.
    pub(crate) fn execute_batched(&self, sql: &str, parameters: impl Parameters) -> DbResult<()> {
        let bound = self.bound(parameters);
        // An update names its row last; twice the same row in one statement would be changed once.
        let again = |alike: &StatementBatch| alike.sql == sql && alike.rows.iter().any(|other| same_row(other, &bound));
        let is_again = sql.starts_with("update") && self.batch.borrow().iter().any(again);
        if is_again {
            self.send_batch()?;
        }
        self.changes.set(self.changes.get() + 1);
        let mut gathered = self.batch.borrow_mut();
        match gathered.iter_mut().find(|alike| alike.sql == sql) {
            Some(alike) => alike.rows.push(bound),
            None => gathered.push(StatementBatch { sql: sql.to_owned(), rows: vec![bound] }),
        }
        Ok(())
    }

    /// Runs a statement that changes rows, and returns how many.
    pub(crate) fn execute_counted(&self, sql: &str, parameters: impl Parameters) -> DbResult<usize> {
        let statement = self.statement(sql, sql_rewrite::with_tenant)?;
        let bound = self.bound(parameters);
        let bound = references(&bound);
        self.changes.set(self.changes.get() + 1);
        self.send_batch()?;
        let changed = self.wait(async {
            let changed = self.client.execute(&statement, &bound[..statement.params().len()]);
            let (settled, changed) = self.after_writes(changed).await;
            settled.and(changed)
        })?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Sends an insert of one row, and returns the number that the row gets.
    ///
    /// Only one process writes for a tenant at a time, so the next number is known here until another process has
    /// written.
    pub(crate) fn insert_numbered(&self, sql: &str, parameters: impl Parameters) -> DbResult<i64> {
        let statement = self.statement(sql, sql_rewrite::with_row_number)?;
        let no = self.next_number(sql_rewrite::table_of(sql))?;
        let mut bound = self.bound(parameters);
        bound.push(BoundValue::Integer(no));
        self.changes.set(self.changes.get() + 1);
        self.send_batch()?;
        self.send_statement(statement, bound.into_iter().map(Parameter::One).collect())?;
        Ok(no)
    }

    /// Sends a statement whose rows are not used; the next wait reports its failure.
    pub(in crate::postgres) fn send_unread(&self, sql: &str, parameters: impl Parameters) -> DbResult<()> {
        let statement = self.statement(sql, sql_rewrite::with_tenant)?;
        let count = statement.params().len();
        self.send_statement(statement, self.bound(parameters).into_iter().take(count).map(Parameter::One).collect())
    }

    /// Sends a statement that takes nothing and gives nothing, without waiting.
    pub(in crate::postgres) fn send_plain(&self, sql: &'static str) -> DbResult<()> {
        let statement = self.statement(sql, str::to_owned)?;
        self.send_batch()?;
        self.send_statement(statement, Vec::new())
    }

    /// How many statements that change rows were sent.
    pub(in crate::postgres) fn changes(&self) -> u64 {
        self.changes.get()
    }

    /// Returns the next row numbers, to restore them after a rollback.
    pub(in crate::postgres) fn numbers(&self) -> Numbers {
        self.numbers.borrow().clone()
    }

    pub(in crate::postgres) fn set_numbers(&self, numbers: Numbers) {
        *self.numbers.borrow_mut() = numbers;
    }

    /// Clears the next row numbers: another process may have assigned them.
    pub(in crate::postgres) fn forget_numbers(&self) {
        self.numbers.borrow_mut().clear();
    }

    /// Waits for the results once this many statements are in flight: they are held in memory.
    pub(in crate::postgres) fn await_some(&self, many: usize) -> DbResult<()> {
        let under_way = self.sent.borrow().len();
        match under_way < many {
            true => Ok(()),
            false => self.wait(self.await_all()),
        }
    }

    fn next_number(&self, table: &'static str) -> DbResult<i64> {
        let known = self.numbers.borrow().get(table).map(|(next, _)| *next);
        let next = match known {
            Some(next) => next,
            None => {
                let rows = self.query("select next from counter where name = $1", [table])?;
                let row = rows.first().ok_or(EngineError::NoRow)?;
                read(row, 0)?.ok_or(EngineError::Column(0))?
            }
        };
        self.numbers.borrow_mut().insert(table, (next + 1, true));
        Ok(next)
    }

    pub(super) fn send_batch(&self) -> DbResult<()> {
        let gathered = std::mem::take(&mut *self.batch.borrow_mut());
        for StatementBatch { sql, rows: times } in gathered {
            let (statement, bound) = self.batched_statement(&sql, &times, sql_rewrite::with_tenant)?;
            self.send_statement(statement, bound)?;
        }
        Ok(())
    }

    pub(super) fn send_statement(&self, statement: Statement, bound: Vec<Parameter>) -> DbResult<()> {
        let client = self.client.clone();
        self.send(async move { client.execute(&statement, &references(&bound)).await.map(drop) })
    }

    fn send(&self, work: impl Future<Output = Result<(), Error>> + Send + 'static) -> DbResult<()> {
        let mut work: InFlight = Box::pin(work);
        // The first look at it sends it; there is no answer yet.
        if let Poll::Ready(outcome) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Ok(outcome?);
        }
        let mut sent = self.sent.borrow_mut();
        sent.push(work);
        if sent.len().is_multiple_of(IN_FLIGHT_MAX) {
            drop(sent);
            self.push();
        }
        Ok(())
    }

    /// Sends a request after the statements in flight, and returns the results of both.
    pub(super) async fn after_writes<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> (Result<(), Error>, Result<T, Error>) {
        let mut work = pin!(work);
        let early = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let settled = self.await_all().await;
        match early {
            Poll::Ready(outcome) => (settled, outcome),
            Poll::Pending => (settled, work.await),
        }
    }

    /// Waits for the statements in flight, and returns the first error.
    pub(super) async fn await_all(&self) -> Result<(), Error> {
        let sent = std::mem::take(&mut *self.sent.borrow_mut());
        await_all(sent).await
    }
}

/// Waits for answers, and returns the first error.
pub(super) async fn await_all(sent: Vec<InFlight>) -> Result<(), Error> {
    for work in sent {
        work.await?;
    }
    Ok(())
}

/// Says whether two updates change the same row: its number is the parameter before the tenant.
fn same_row(one: &[BoundValue], other: &[BoundValue]) -> bool {
    one.iter().rev().nth(1) == other.iter().rev().nth(1)
}
