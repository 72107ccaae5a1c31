//! Pipelined writes: statements whose results are not awaited, and row numbers that are assigned on the client.

use super::{Alike, Client, references};
use crate::engine::cell::Parameters;
use crate::engine::connection::{EngineError, Ran};
use crate::postgres::tenant;
use crate::postgres::value::{Bound, Parameter, read};
use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use tokio_postgres::{Error, Statement};

/// Number of statements after which the pipeline is flushed, so that the server works in parallel.
const AT_ONCE: usize = 32;

/// The next number of each table, and whether one was given.
pub(in crate::postgres) type Numbers = HashMap<&'static str, (i64, bool)>;

/// A statement in flight.
pub(super) type Sent = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

impl Client {
    /// Sends a write; the next wait reports its failure.
    pub(crate) fn execute(&self, sql: &str, parameters: impl Parameters) -> Ran<()> {
        self.changes.set(self.changes.get() + 1);
        self.send_gathered()?;
        self.send_unread(sql, parameters)
    }

    /// Adds a write to the batch of its statement; no other batched write may depend on it.
    pub(crate) fn execute_gathered(&self, sql: &str, parameters: impl Parameters) -> Ran<()> {
        let bound = self.bound(parameters);
        // An update names its row last; twice the same row in one statement would be changed once.
        let again = |alike: &Alike| alike.sql == sql && alike.times.iter().any(|other| same_row(other, &bound));
        let is_again = sql.starts_with("update") && self.gathered.borrow().iter().any(again);
        if is_again {
            self.send_gathered()?;
        }
        self.changes.set(self.changes.get() + 1);
        let mut gathered = self.gathered.borrow_mut();
        match gathered.iter_mut().find(|alike| alike.sql == sql) {
            Some(alike) => alike.times.push(bound),
            None => gathered.push(Alike { sql: sql.to_owned(), times: vec![bound] }),
        }
        Ok(())
    }

    /// Runs a statement that changes rows, and returns how many.
    pub(crate) fn execute_counted(&self, sql: &str, parameters: impl Parameters) -> Ran<usize> {
        let statement = self.statement(sql, tenant::named)?;
        let bound = self.bound(parameters);
        let bound = references(&bound);
        self.changes.set(self.changes.get() + 1);
        self.send_gathered()?;
        let changed = self.wait(async {
            let changed = self.client.execute(&statement, &bound[..statement.params().len()]);
            let (settled, changed) = self.behind_others(changed).await;
            settled.and(changed)
        })?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Sends an insert of one row, and returns the number that the row gets.
    ///
    /// Only one process writes for a tenant at a time, so the next number is known here until another process has
    /// written.
    pub(crate) fn insert_numbered(&self, sql: &str, parameters: impl Parameters) -> Ran<i64> {
        let statement = self.statement(sql, tenant::numbered)?;
        let no = self.next_number(tenant::table_of(sql))?;
        let mut bound = self.bound(parameters);
        bound.push(Bound::Integer(no));
        self.changes.set(self.changes.get() + 1);
        self.send_gathered()?;
        self.send_statement(statement, bound.into_iter().map(Parameter::One).collect())?;
        Ok(no)
    }

    /// Sends a statement whose rows are not used; the next wait reports its failure.
    pub(in crate::postgres) fn send_unread(&self, sql: &str, parameters: impl Parameters) -> Ran<()> {
        let statement = self.statement(sql, tenant::named)?;
        let count = statement.params().len();
        self.send_statement(statement, self.bound(parameters).into_iter().take(count).map(Parameter::One).collect())
    }

    /// Sends a statement that takes nothing and gives nothing, without waiting.
    pub(in crate::postgres) fn send_plain(&self, sql: &'static str) -> Ran<()> {
        let statement = self.statement(sql, str::to_owned)?;
        self.send_gathered()?;
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
    pub(in crate::postgres) fn settle_some(&self, many: usize) -> Ran<()> {
        let under_way = self.sent.borrow().len();
        match under_way < many {
            true => Ok(()),
            false => self.wait(self.settle()),
        }
    }

    fn next_number(&self, table: &'static str) -> Ran<i64> {
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

    pub(super) fn send_gathered(&self) -> Ran<()> {
        let gathered = std::mem::take(&mut *self.gathered.borrow_mut());
        for Alike { sql, times } in gathered {
            let (statement, bound) = self.one_for_all(&sql, &times, tenant::named)?;
            self.send_statement(statement, bound)?;
        }
        Ok(())
    }

    pub(super) fn send_statement(&self, statement: Statement, bound: Vec<Parameter>) -> Ran<()> {
        let client = self.client.clone();
        self.send(async move { client.execute(&statement, &references(&bound)).await.map(drop) })
    }

    fn send(&self, work: impl Future<Output = Result<(), Error>> + Send + 'static) -> Ran<()> {
        let mut work: Sent = Box::pin(work);
        // The first look at it sends it; there is no answer yet.
        if let Poll::Ready(outcome) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Ok(outcome?);
        }
        let mut sent = self.sent.borrow_mut();
        sent.push(work);
        if sent.len().is_multiple_of(AT_ONCE) {
            drop(sent);
            self.push();
        }
        Ok(())
    }

    /// Sends a request after the statements in flight, and returns the results of both.
    pub(super) async fn behind_others<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> (Result<(), Error>, Result<T, Error>) {
        let mut work = pin!(work);
        let early = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let settled = self.settle().await;
        match early {
            Poll::Ready(outcome) => (settled, outcome),
            Poll::Pending => (settled, work.await),
        }
    }

    /// Waits for the statements in flight, and returns the first error.
    pub(super) async fn settle(&self) -> Result<(), Error> {
        let sent = std::mem::take(&mut *self.sent.borrow_mut());
        settle(sent).await
    }
}

/// Waits for answers, and returns the first error.
pub(super) async fn settle(sent: Vec<Sent>) -> Result<(), Error> {
    for work in sent {
        work.await?;
    }
    Ok(())
}

/// Says whether two updates change the same row: its number is the parameter before the tenant.
fn same_row(one: &[Bound], other: &[Bound]) -> bool {
    one.iter().rev().nth(1) == other.iter().rev().nth(1)
}
