//! Lower bound of a page read on PostgreSQL: one prepared select of the same rows, in a pipelined transaction.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};

use crate::measure::{LAST, Measure};
use crate::server::Server;
use crate::subject::{Side, Subject};
use crate::summary::Summary;

/// The name by which goals refer to it.
pub const NAME: &str = "a prepared select";

/// A connection with its statements.
pub struct Select {
    /// Why it cannot run, if so.
    ready: Result<Ready, String>,
}

struct Ready {
    runtime: Runtime,
    client: Client,
    begin: Statement,
    tenant: Statement,
    select: Statement,
    end: Statement,
    /// The last address of each conversation.
    heads: Vec<i64>,
    /// Dropped with its last user.
    _server: Server,
}

impl Select {
    /// Prepares the statements and looks up where the conversations end, which a page does not have to do then.
    pub fn prepare(server: &Result<Server, String>) -> Select {
        let prepare = |server: Server| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let ready = runtime.block_on(async {
                let (client, connection) = tokio_postgres::connect(&server.url(), NoTls).await?;
                tokio::spawn(connection);
                let sql = "select head_key from conversation where tenant = 1 and messages >= $1 order by no";
                let found = client.query(sql, &[&(LAST as i64)]).await?;
                let heads = found.iter().map(|row| row.get(0)).collect();
                client.batch_execute("set role manent_app").await?;
                let begin = client.prepare("begin isolation level repeatable read read only").await?;
                let tenant = client.prepare("select set_config('manent.tenant', '1', true)").await?;
                let sql = "select key, id, arrival, facts, body from message
                     where tenant = 1 and key between $1 and $2
                     order by key";
                let select = client.prepare(sql).await?;
                let end = client.prepare("rollback").await?;
                anyhow::Ok((client, begin, tenant, select, end, heads))
            });
            let (client, begin, tenant, select, end, heads) = ready?;
            Ok(Ready { runtime, client, begin, tenant, select, end, heads, _server: server })
        };
        let ready = |server| prepare(server).map_err(|error: anyhow::Error| format!("{error:#}"));
        Select { ready: server.clone().and_then(ready) }
    }
}

impl Ready {
    fn pages(&self, window: Duration) -> Result<Summary> {
        let mut random = fastrand::Rng::with_seed(50);
        let mut latencies = Vec::new();
        let started = Instant::now();
        while started.elapsed() < window {
            let head = self.heads[random.usize(0..self.heads.len())];
            let before = Instant::now();
            let rows = self.runtime.block_on(self.page(head))?;
            let owned: Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> =
                rows.iter().map(|row| (row.get(1), row.get(3), row.get(4))).collect();
            latencies.push(before.elapsed());
            std::hint::black_box(owned);
        }
        Ok(Summary::of(latencies, started.elapsed()))
    }

    /// All four are sent before the first is answered.
    async fn page(&self, head: i64) -> Result<Vec<tokio_postgres::Row>> {
        let ends: [&(dyn ToSql + Sync); 2] = [&(head - LAST as i64), &head];
        let (_, _, rows, _) = tokio::try_join!(
            self.client.execute(&self.begin, &[]),
            self.client.execute(&self.tenant, &[]),
            self.client.query(&self.select, &ends),
            self.client.execute(&self.end, &[]),
        )?;
        Ok(rows)
    }
}

impl Subject for Select {
    fn name(&self) -> &str {
        NAME
    }

    fn side(&self) -> Side {
        Side::Yardstick
    }

    fn description(&self) -> String {
        format!(
            "one prepared select of {} rows by their addresses, as the same role, between a begin, the setting of the \
             tenant and a rollback, all four sent at once; where the conversation ends is known beforehand",
            LAST + 1
        )
    }

    fn measure(&mut self, measure: Measure, window: Duration) -> Option<Result<Summary>> {
        if measure != Measure::ServerPage {
            return None;
        }
        Some(match &self.ready {
            Ok(ready) => ready.pages(window),
            Err(why) => Err(anyhow!("{why}")),
        })
    }
}
