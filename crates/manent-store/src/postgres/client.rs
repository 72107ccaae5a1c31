//! A connection to a PostgreSQL server, for one tenant: it waits on the thread that uses it, and as seldom as it can.
//!
//! What changes rows is sent without waiting for the answer, as are the begin and the end of a transaction. Whoever asks
//! for rows waits for those, and with them for everything that was sent before, and is told what of it failed. So a
//! batch costs a few round trips, however many statements it has; and statements that differ only in their parameters
//! become one with lists of them.

use super::options::PostgresOptions;
use super::tenant;
use super::value::{Bound, Parameter};
use crate::engine::cell::{Column, Parameters};
use crate::engine::connection::{EngineError, Ran};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, Error, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

/// After so many statements the server gets what there is, so that it works while we do.
const AT_ONCE: usize = 32;

/// A connection, what it has prepared, and what is under way.
pub(crate) struct Client {
    runtime: Runtime,
    client: Arc<tokio_postgres::Client>,
    tenant: i64,
    /// How long an answer may take; for ever without one.
    patience: Option<Duration>,
    /// It did not answer in time; what comes of what it was told is unknown.
    silent: Cell<bool>,
    statements: RefCell<HashMap<String, Statement>>,
    sent: RefCell<Vec<Sent>>,
    /// How many statements that change rows were sent.
    changes: Cell<u64>,
    /// Statements that wait for their like, to be sent as one.
    gathered: RefCell<Vec<Alike>>,
    /// Questions that wait to be asked together.
    questions: RefCell<Vec<Alike>>,
    /// Answers that nobody has wanted yet.
    answers: RefCell<HashMap<String, HashMap<Vec<Bound>, Vec<Row>>>>,
    /// The next number of each table that was asked for, and whether any was given.
    numbers: RefCell<Numbers>,
    /// How many commits nobody has waited for yet.
    under_way: Cell<usize>,
}

/// A commit that was sent, and what was sent before it.
pub(super) struct Commit {
    sent: Vec<Sent>,
}

/// The next number of each table, and whether one was given.
pub(super) type Numbers = HashMap<&'static str, (i64, bool)>;

/// A statement whose answer nobody has looked at.
type Sent = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// A statement, and its parameters each time it is to be run, with the tenant behind them.
struct Alike {
    sql: String,
    times: Vec<Vec<Bound>>,
}

impl Client {
    /// Connects to a host.
    pub(super) fn connect(config: &Config, tls: MakeRustlsConnect, options: &PostgresOptions) -> Ran<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(EngineError::System)?;
        // The setting limits the way to the host; this limits what the host then says as well.
        let limit = config.get_connect_timeout().copied().unwrap_or(options.patience);
        let connected = runtime.block_on(async {
            let connecting = tokio::time::timeout(limit, config.connect(tls));
            let (client, connection) = connecting.await.map_err(|_| EngineError::Silent)??;
            tokio::spawn(async move {
                // Whoever waits for an answer is told; there is nobody else to tell.
                let _ = connection.await;
            });
            Ok(client)
        });
        connected.map(|client| Self {
            runtime,
            client: Arc::new(client),
            tenant: options.tenant,
            patience: Some(options.patience),
            silent: Cell::default(),
            statements: RefCell::default(),
            sent: RefCell::default(),
            changes: Cell::default(),
            gathered: RefCell::default(),
            questions: RefCell::default(),
            answers: RefCell::default(),
            numbers: RefCell::default(),
            under_way: Cell::default(),
        })
    }

    /// For work that takes as long as it takes.
    pub(super) fn without_hurry(self) -> Self {
        Self { patience: None, ..self }
    }

    /// Says whether the connection is gone, or no longer to be trusted.
    pub(super) fn is_closed(&self) -> bool {
        self.silent.get() || self.client.is_closed()
    }

    /// Runs statements that take nothing and give nothing, as they are.
    pub(crate) fn run(&self, sql: &str) -> Ran<()> {
        self.send_gathered()?;
        self.wait(async {
            let (settled, outcome) = self.behind_others(self.client.batch_execute(sql)).await;
            settled.and(outcome)
        })
    }

    /// Begins a transaction of the tenant.
    pub(super) fn begin(&self) -> Ran<()> {
        self.send_plain("begin isolation level read committed")?;
        self.as_tenant()
    }

    /// Begins a transaction that sees one moment and changes nothing.
    pub(crate) fn begin_reading(&self) -> Ran<()> {
        self.send_plain("begin isolation level repeatable read read only")?;
        self.as_tenant()
    }

    /// Ends it; the server is told now, and nobody waits until it has heard.
    pub(crate) fn end_reading(&self) {
        self.forget_ahead();
        self.sent.borrow_mut().clear();
        // A connection that is gone has ended everything.
        let _ = self.send_plain("rollback");
        self.push();
    }

    /// The rows of one tenant, until the end of the transaction.
    fn as_tenant(&self) -> Ran<()> {
        let statement = self.statement("select set_config('manent.tenant', $1, true)", str::to_owned)?;
        self.send_statement(statement, vec![Parameter::One(Bound::Text(self.tenant.to_string()))])
    }

    /// Sends a statement that takes nothing and gives nothing, without waiting.
    pub(super) fn send_plain(&self, sql: &'static str) -> Ran<()> {
        let statement = self.statement(sql, str::to_owned)?;
        self.send_gathered()?;
        self.send_statement(statement, Vec::new())
    }

    /// Undoes what was sent since the transaction began.
    pub(super) fn roll_back(&self) {
        self.forget_ahead();
        self.forget_numbers();
        self.gathered.borrow_mut().clear();
        self.sent.borrow_mut().clear();
        // A connection that is gone has rolled back by itself.
        let _ = self.run("rollback");
    }

    /// Sends what was gathered and the commit. Until [`Self::landed`] nothing can be asked, only sent.
    pub(super) fn send_commit(&self) -> Ran<Commit> {
        let numbers = self.numbers();
        for (table, (next, given)) in numbers {
            if given {
                self.execute("update counter set next = $1 where name = $2", (next, table))?;
                self.numbers.borrow_mut().insert(table, (next, false));
            }
        }
        self.send_plain("commit")?;
        self.push();
        self.under_way.set(self.under_way.get() + 1);
        Ok(Commit { sent: std::mem::take(&mut *self.sent.borrow_mut()) })
    }

    /// Waits for a commit, the first one that was sent. An error says as well whether the server itself refused, and so
    /// whether nothing is stored.
    pub(super) fn landed(&self, commit: Commit) -> Result<(), (EngineError, Refused)> {
        let under_way = self.under_way.replace(0);
        let outcome = self.wait(async {
            let mut sent = commit.sent;
            let last = sent.pop().expect("a commit was sent");
            let settled = settle(sent).await;
            Ok((settled, last.await))
        });
        self.under_way.set(under_way.saturating_sub(1));
        match outcome {
            Ok((Ok(()), Ok(()))) => Ok(()),
            // A server that ends a statement before the commit does not come to the commit.
            Ok((Err(error), _)) if error.code().is_some() => Err((error.into(), Refused::Yes)),
            // Others were first, or a rule does not hold; any other error may come behind the commit.
            Ok((_, Err(error))) if error.code().is_some_and(|code| ["40", "23"].contains(&&code.code()[..2])) => {
                Err((error.into(), Refused::Yes))
            }
            Ok((Err(error), _) | (_, Err(error))) => Err((error.into(), Refused::Perhaps)),
            Err(error) => Err((error, Refused::Perhaps)),
        }
    }

    /// Forgets what was asked ahead: it may no longer be true.
    pub(super) fn forget_ahead(&self) {
        self.questions.borrow_mut().clear();
        self.answers.borrow_mut().clear();
    }

    /// Forgets the numbers to give: somebody else may have given them.
    pub(super) fn forget_numbers(&self) {
        self.numbers.borrow_mut().clear();
    }

    /// Returns the numbers to give, to go back to them if what comes now is taken back.
    pub(super) fn numbers(&self) -> Numbers {
        self.numbers.borrow().clone()
    }

    pub(super) fn set_numbers(&self, numbers: Numbers) {
        *self.numbers.borrow_mut() = numbers;
    }

    /// How many statements that change rows were sent.
    pub(super) fn changes(&self) -> u64 {
        self.changes.get()
    }

    /// Returns the only number that a statement gives.
    pub(super) fn number(&self, sql: &str) -> Ran<i64> {
        self.wait(async { self.client.query_one(sql, &[]).await?.try_get(0) })
    }

    /// Returns the only word that a statement gives.
    pub(super) fn word(&self, sql: &str) -> Ran<String> {
        self.wait(async { self.client.query_one(sql, &[]).await?.try_get(0) })
    }

    /// Begins to read many rows; [`Self::fetch`] brings them.
    pub(super) fn open_cursor(&self, sql: &str) -> Ran<()> {
        // A cursor takes no parameters, so the tenant stands in the statement.
        let sql = tenant::named(sql).replace("$1", &self.tenant.to_string());
        self.run(&format!("declare copying no scroll cursor for {sql}"))
    }

    pub(super) fn fetch(&self, rows: usize) -> Ran<Vec<Row>> {
        self.wait(self.client.query(&format!("fetch forward {rows} from copying"), &[]))
    }

    /// Runs a statement that gives rows.
    pub(crate) fn query(&self, sql: &str, parameters: impl Parameters) -> Ran<Vec<Row>> {
        let bound = self.bound(parameters);
        if let Some(rows) = self.answer(sql, &bound)? {
            return Ok(rows);
        }
        self.send_gathered()?;
        let statement = self.statement(sql, tenant::named)?;
        let bound = references(&bound);
        self.wait(async {
            let rows = self.client.query(&statement, &bound[..statement.params().len()]);
            let (settled, rows) = self.behind_others(rows).await;
            settled.and(rows)
        })
    }

    /// Asks for rows that somebody will want. Questions are put when the first answer is wanted, all in one go and those
    /// of one statement as one. Each answer is given once, to whoever asks the same.
    pub(crate) fn ask(&self, sql: &str, parameters: impl Parameters) {
        let bound = self.bound(parameters);
        if self.answers.borrow().get(sql).is_some_and(|answers| answers.contains_key(&bound)) {
            return;
        }
        let mut questions = self.questions.borrow_mut();
        match questions.iter_mut().find(|alike| alike.sql == sql) {
            Some(alike) => alike.times.push(bound),
            None => questions.push(Alike { sql: sql.to_owned(), times: vec![bound] }),
        }
    }

    /// Answers for the server that there is no such row.
    pub(crate) fn assume_none(&self, sql: &str, parameters: impl Parameters) {
        let bound = self.bound(parameters);
        self.answers.borrow_mut().entry(sql.to_owned()).or_default().insert(bound, Vec::new());
    }

    /// Looks at the first row of an answer that was asked for, and leaves it for whoever asks the same.
    pub(crate) fn peek<T>(
        &self,
        sql: &str,
        parameters: impl Parameters,
        look: impl FnOnce(&Row) -> Ran<T>,
    ) -> Ran<Option<T>> {
        let bound = self.bound(parameters);
        let Some(rows) = self.answer(sql, &bound)? else { return Ok(None) };
        let looked = rows.first().map(look).transpose();
        self.answers.borrow_mut().entry(sql.to_owned()).or_default().insert(bound, rows);
        looked
    }

    /// Takes the answer to a question, if it was asked.
    fn answer(&self, sql: &str, bound: &[Bound]) -> Ran<Option<Vec<Row>>> {
        let is_asked = self.questions.borrow().iter().any(|alike| alike.sql == sql);
        if is_asked {
            self.put_questions()?;
        }
        Ok(self.answers.borrow_mut().get_mut(sql).and_then(|answers| answers.remove(bound)))
    }

    fn put_questions(&self) -> Ran<()> {
        let questions = std::mem::take(&mut *self.questions.borrow_mut());
        self.send_gathered()?;
        let mut prepared = Vec::with_capacity(questions.len());
        for Alike { sql, mut times } in questions {
            times.sort_unstable();
            times.dedup();
            let (statement, bound) = self.one_for_all(&sql, &times, tenant::named)?;
            prepared.push((sql, times, statement, bound));
        }
        // From here on nobody waits for anything but the answers in their order: a connection hands on no answer while an
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
            self.settle().await?;
            for (sql, times, answer) in put {
                let rows = answer.await?;
                let mut sorted: Vec<Vec<Row>> = times.iter().map(|_| Vec::new()).collect();
                for row in rows {
                    // Behind the columns stands which question a row answers; a single one needs no such column.
                    let question: i64 = if times.len() > 1 { row.try_get(row.len() - 1)? } else { 1 };
                    sorted[question as usize - 1].push(row);
                }
                self.answers.borrow_mut().entry(sql).or_default().extend(times.into_iter().zip(sorted));
            }
            Ok(())
        })
    }

    /// Returns a statement that does for all what another does for each, and its parameters: a list for each of the
    /// other's, and the tenant.
    fn one_for_all(
        &self,
        sql: &str,
        times: &[Vec<Bound>],
        named: fn(&str) -> String,
    ) -> Ran<(Statement, Vec<Parameter>)> {
        let single = self.statement(sql, named)?;
        let count = single.params().len();
        if let [only] = times {
            return Ok((single, only[..count].iter().cloned().map(Parameter::One).collect()));
        }
        let key = format!("all {sql}");
        let known = self.statements.borrow().get(&key).cloned();
        let statement = match known {
            Some(statement) => statement,
            None => {
                let kinds: Vec<&str> = single.params()[..count - 1].iter().map(Type::name).collect();
                let statement = self.prepare(&tenant::for_all(&named(sql), &kinds))?;
                self.statements.borrow_mut().insert(key, statement.clone());
                statement
            }
        };
        let list = |place: usize| Parameter::List(times.iter().map(|bound| bound[place].clone()).collect());
        let lists = (0..count - 1).map(list);
        Ok((statement, lists.chain([Parameter::One(Bound::Integer(self.tenant))]).collect()))
    }

    /// Sends a statement that changes rows, together with its like; nothing else that is gathered may depend on it.
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

    fn send_gathered(&self) -> Ran<()> {
        let gathered = std::mem::take(&mut *self.gathered.borrow_mut());
        for Alike { sql, times } in gathered {
            let (statement, bound) = self.one_for_all(&sql, &times, tenant::named)?;
            self.send_statement(statement, bound)?;
        }
        Ok(())
    }

    /// Sends a statement whose rows nobody wants; whoever waits next is told if it fails.
    pub(super) fn send_unread(&self, sql: &str, parameters: impl Parameters) -> Ran<()> {
        let statement = self.statement(sql, tenant::named)?;
        let count = statement.params().len();
        self.send_statement(statement, self.bound(parameters).into_iter().take(count).map(Parameter::One).collect())
    }

    /// Sends a statement that changes rows; whoever waits next is told if it fails.
    pub(crate) fn execute(&self, sql: &str, parameters: impl Parameters) -> Ran<()> {
        self.changes.set(self.changes.get() + 1);
        self.send_gathered()?;
        self.send_unread(sql, parameters)
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

    /// Sends a statement that inserts one row, and returns the number that the row gets.
    ///
    /// Whoever writes for a tenant is alone, so the next number is known here until somebody else has written.
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

    fn next_number(&self, table: &'static str) -> Ran<i64> {
        let known = self.numbers.borrow().get(table).map(|(next, _)| *next);
        let next = match known {
            Some(next) => next,
            None => {
                let rows = self.query("select next from counter where name = $1", [table])?;
                let row = rows.first().ok_or(EngineError::NoRow)?;
                super::value::read(row, 0)?.ok_or(EngineError::Column(0))?
            }
        };
        self.numbers.borrow_mut().insert(table, (next + 1, true));
        Ok(next)
    }

    /// Waits for the answers once so many statements are under way: what is under way is held in memory.
    pub(super) fn settle_some(&self, many: usize) -> Ran<()> {
        let under_way = self.sent.borrow().len();
        match under_way < many {
            true => Ok(()),
            false => self.wait(self.settle()),
        }
    }

    /// Lets what was sent go out, and what has come come in, without waiting.
    pub(super) fn push(&self) {
        self.runtime.block_on(tokio::task::yield_now());
    }

    fn send_statement(&self, statement: Statement, bound: Vec<Parameter>) -> Ran<()> {
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

    /// Sends work behind what was sent before, and returns what came of both.
    async fn behind_others<T>(
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

    /// Waits for the answers to what was sent, and returns the first error.
    async fn settle(&self) -> Result<(), Error> {
        let sent = std::mem::take(&mut *self.sent.borrow_mut());
        settle(sent).await
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Ran<T> {
        if self.silent.get() {
            return Err(EngineError::Silent);
        }
        // Its answer would come behind one that nobody takes.
        if self.under_way.get() > 0 {
            return Err(EngineError::UnderWay);
        }
        let answered = self.runtime.block_on(async {
            match self.patience {
                Some(patience) => tokio::time::timeout(patience, work).await.ok(),
                None => Some(work.await),
            }
        });
        match answered {
            Some(outcome) => Ok(outcome?),
            None => {
                self.silent.set(true);
                Err(EngineError::Silent)
            }
        }
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

    fn statement(&self, sql: &str, named: fn(&str) -> String) -> Ran<Statement> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.prepare(&named(sql))?;
        self.statements.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn prepare(&self, sql: &str) -> Ran<Statement> {
        self.wait(async {
            // In a transaction that has failed nothing can be prepared, and its error is the one to tell.
            self.settle().await?;
            self.client.prepare(sql).await
        })
    }
}

/// Whether the server itself refused a commit, so that nothing is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Yes,
    Perhaps,
}

/// Waits for answers, and returns the first error.
async fn settle(sent: Vec<Sent>) -> Result<(), Error> {
    for work in sent {
        work.await?;
    }
    Ok(())
}

fn references<T: ToSql + Sync>(bound: &[T]) -> Vec<&(dyn ToSql + Sync)> {
    bound.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Says whether two updates name the same row: it stands before the tenant.
fn same_row(one: &[Bound], other: &[Bound]) -> bool {
    one.iter().rev().nth(1) == other.iter().rev().nth(1)
}

/// Reads a column of a row.
pub(crate) fn read<T: Column>(row: &Row, place: usize) -> Result<Option<T>, Error> {
    super::value::read(row, place)
}
