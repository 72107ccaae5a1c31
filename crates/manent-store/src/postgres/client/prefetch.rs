//! Prefetch: queries that are sent together before their rows are needed.

use super::{Client, StatementBatch, references};
use crate::engine::sql::connection::DbResult;
use crate::engine::sql::value::Parameters;
use crate::postgres::sql_rewrite;
use crate::postgres::value::BoundValue;
use std::future::Future;
use std::task::{Context, Poll, Waker};
use tokio_postgres::Row;

impl Client {
    /// Requests rows that will be needed. Queries are sent when the first result is needed, all in one round trip and
    /// those of one statement as one. Each result is used once, by the first read with the same query.
    pub(crate) fn prefetch(&self, sql: &str, parameters: impl Parameters) {
        let bound = self.bound(parameters);
        if self.prefetched.borrow().get(sql).is_some_and(|answers| answers.contains_key(&bound)) {
            return;
        }
        let mut questions = self.prefetches.borrow_mut();
        match questions.iter_mut().find(|alike| alike.sql == sql) {
            Some(alike) => alike.rows.push(bound),
            None => questions.push(StatementBatch { sql: sql.to_owned(), rows: vec![bound] }),
        }
    }

    /// Answers for the server that there is no such row.
    pub(crate) fn assume_absent(&self, sql: &str, parameters: impl Parameters) {
        let bound = self.bound(parameters);
        self.prefetched.borrow_mut().entry(sql.to_owned()).or_default().insert(bound, Vec::new());
    }

    /// Returns the first row of a prefetched result, and leaves it for the read with the same query.
    pub(crate) fn peek_prefetched<T>(
        &self,
        sql: &str,
        parameters: impl Parameters,
        look: impl FnOnce(&Row) -> DbResult<T>,
    ) -> DbResult<Option<T>> {
        let bound = self.bound(parameters);
        let Some(rows) = self.answer(sql, &bound)? else { return Ok(None) };
        let looked = rows.first().map(look).transpose();
        self.prefetched.borrow_mut().entry(sql.to_owned()).or_default().insert(bound, rows);
        looked
    }

    /// Clears prefetched results: they may be stale.
    pub(in crate::postgres) fn clear_prefetched(&self) {
        self.prefetches.borrow_mut().clear();
        self.prefetched.borrow_mut().clear();
    }

    /// Takes the answer to a question, if it was asked.
    pub(super) fn answer(&self, sql: &str, bound: &[BoundValue]) -> DbResult<Option<Vec<Row>>> {
        let is_asked = self.prefetches.borrow().iter().any(|alike| alike.sql == sql);
        if is_asked {
            self.send_prefetches()?;
        }
        Ok(self.prefetched.borrow_mut().get_mut(sql).and_then(|answers| answers.remove(bound)))
    }

    fn send_prefetches(&self) -> DbResult<()> {
        let questions = std::mem::take(&mut *self.prefetches.borrow_mut());
        self.send_batch()?;
        let mut prepared = Vec::with_capacity(questions.len());
        for StatementBatch { sql, rows: mut times } in questions {
            times.sort_unstable();
            times.dedup();
            let (statement, bound) = self.batched_statement(&sql, &times, sql_rewrite::with_tenant)?;
            prepared.push((sql, times, statement, bound));
        }
        // From here on, wait for nothing but the results in their order: a connection delivers no result while an
        // earlier one is not taken.
        let mut put = Vec::with_capacity(prepared.len());
        for (sql, times, statement, bound) in prepared {
            let client = self.client.clone();
            let mut answer = Box::pin(async move { client.query(&statement, &references(&bound)).await });
            // The first look at it sends it; there is no answer yet.
            if let Poll::Ready(Err(error)) = answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return Err(error.into());
            }
            put.push((sql, times, answer));
        }
        self.wait(async {
            self.await_all().await?;
            for (sql, times, answer) in put {
                let rows = answer.await?;
                let mut sorted: Vec<Vec<Row>> = times.iter().map(|_| Vec::new()).collect();
                for row in rows {
                    // After the columns comes the number of the query that a row answers; a single query needs no such
                    // column.
                    let question: i64 = if times.len() > 1 { row.try_get(row.len() - 1)? } else { 1 };
                    sorted[question as usize - 1].push(row);
                }
                self.prefetched.borrow_mut().entry(sql).or_default().extend(times.into_iter().zip(sorted));
            }
            Ok(())
        })
    }
}
