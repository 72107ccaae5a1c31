//! Upkeep: `stats`, `tail`, `backup`, `verify`, `reindex`, `doctor`.

use crate::commands::audit::show_check;
use crate::commands::conversation::spelled;
use crate::context::CommandContext;
use crate::home::Home;
use crate::output::{BOLD, Cell, DIM, Output, Table, counted, print};
use crate::progress::{Indexing, Spinner};
use crate::time;
use anyhow::{Context, Result, bail};
use clap::Args;
use manent::model::stats::Tally;
use manent::model::{AuditActor, DEFAULT_TENANT, Day};
use manent::store::system::{AuditReport, AuditSubject};
use manent::store::{IdKind, JournalEntry, JournalQuery, StatsQuery, VerifyReport};
use manent::{ConversationId, Database, Location, Tenants};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Show statistics: messages, words and tokens by day, model and role.
#[derive(Args)]
pub struct Stats {
    /// Only this conversation.
    conversation: Option<String>,
    /// Only conversations of this project.
    #[arg(long, conflicts_with = "conversation")]
    project: Option<String>,
    /// Only conversations with this tag.
    #[arg(long, conflicts_with = "conversation")]
    tag: Option<String>,
    /// Only messages of this day (UTC) or later: 2026-11-16.
    #[arg(long, value_name = "DATE")]
    since: Option<Day>,
    /// Only messages before this day.
    #[arg(long, value_name = "DATE")]
    until: Option<Day>,
}

impl Stats {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let conversation = match &self.conversation {
            Some(text) => Some(context.conversation(text).await?),
            None => None,
        };
        let project = match &self.project {
            Some(text) => Some(context.database.resolve_project(text).await?),
            None => None,
        };
        let query = StatsQuery { conversation, project, tag: self.tag, since: self.since, until: self.until };
        let stats = context.database.stats(query).await?;
        if context.output.json {
            return context.output.json(&stats);
        }
        let mut text = String::new();
        let total = &stats.total;
        let _ = writeln!(
            text,
            "{}{}{} in {}, {}, {}{}\n",
            BOLD.render(),
            counted(total.messages, "message"),
            BOLD.render_reset(),
            counted(stats.conversations, "conversation"),
            counted(total.words, "word"),
            counted(total.tokens, "token"),
            response(total),
        );
        let days: BTreeMap<String, Tally> =
            stats.by_day.iter().rev().take(14).map(|(day, tally)| (day_of(*day), *tally)).collect();
        bars(&mut text, "by day", &days);
        bars(&mut text, "by role", &stats.by_role);
        bars(&mut text, "by model", &stats.by_model);
        context.output.page(&text)
    }
}

fn response(total: &Tally) -> String {
    match total.timed {
        0 => String::new(),
        timed => format!(", answers after {:.1} s on average", total.response_micros as f64 / timed as f64 / 1e6),
    }
}

fn day_of(day: i64) -> String {
    let text = manent::model::Timestamp(day.saturating_mul(86_400_000_000)).to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}

/// Draws one bar per line, the longest over 40 columns.
fn bars(text: &mut String, heading: &str, tallies: &BTreeMap<String, Tally>) {
    if tallies.is_empty() {
        return;
    }
    let most = tallies.values().map(|tally| tally.messages).max().unwrap_or(1).max(1);
    let _ = writeln!(text, "{}{heading}{}", BOLD.render(), BOLD.render_reset());
    for (name, tally) in tallies {
        let name = crate::output::cut(&crate::output::one_line(name), 24);
        let padding = " ".repeat(24usize.saturating_sub(unicode_width::UnicodeWidthStr::width(name.as_str())));
        let bar = "█".repeat(((tally.messages * 40 / most).max(i64::from(tally.messages > 0))) as usize);
        let _ = writeln!(text, "  {name}{padding} {bar} {}{}{}", DIM.render(), tally.messages, DIM.render_reset());
    }
    text.push('\n');
}

/// Show changes in order.
#[derive(Args)]
pub struct Tail {
    /// Only this conversation.
    conversation: Option<String>,
    /// After this position [default: the last changes].
    #[arg(long, value_name = "POSITION")]
    after: Option<i64>,
    /// Maximum number.
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: u32,
    /// Follow new changes, from any process.
    #[arg(long, short)]
    follow: bool,
}

impl Tail {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let conversation = match &self.conversation {
            Some(text) => Some(context.conversation(text).await?),
            None => None,
        };
        let newest = context.database.position();
        let mut after = self.after.unwrap_or_else(|| newest.saturating_sub(i64::from(self.limit)).max(0));
        let mut entries = context.database.journal(JournalQuery { after, conversation, limit: self.limit }).await?;
        loop {
            for entry in &entries.entries {
                if context.output.json {
                    print(&format!("{}\n", serde_json::to_string(entry)?))?;
                    continue;
                }
                let time = time::exact(entry.at, &context.now);
                let about = entry.conversation.map(|id| id.to_string()).unwrap_or_default();
                let messages = messages(entry);
                print(&format!("{}\t{time}\t{}\t{about}\t{messages}\n", entry.position, spelled(&entry.kind)))?;
            }
            after = entries.scanned_to.max(after);
            if !self.follow {
                return Ok(());
            }
            entries = context.database.tail(JournalQuery { after, conversation, limit: 500 }).await?;
        }
    }
}

/// The first message of a change, and the number of others.
fn messages(entry: &JournalEntry) -> String {
    match entry.messages.as_slice() {
        [] => String::new(),
        [only] => only.to_string(),
        [first, others @ ..] => {
            let or_more = if entry.messages_cut { " or more" } else { "" };
            format!("{first} and {}{or_more}", others.len())
        }
    }
}

/// Write a backup; it is restored and checked before it counts.
#[derive(Args)]
pub struct Backup {
    /// New file.
    to: PathBuf,
    /// Tenants, users, keys and the audit log instead of conversations.
    #[arg(long, conflicts_with = "tenant")]
    system: bool,
    /// The store of this tenant, by name or id.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
}

impl Backup {
    pub async fn run(self, home: &Home, output: &Output) -> Result<()> {
        home.must_exist()?;
        if !self.system && self.tenant.is_none() {
            let database = home.open()?;
            let done = self.copy(&database, output).await;
            let closed = database.close().await;
            done?;
            return Ok(closed?);
        }
        home.with_tenants(async |tenants| {
            if let Some(tenant) = &self.tenant {
                let tenant = tenants.tenant(tenant).await?;
                return self.copy(&tenants.database(tenant.id).await?, output).await;
            }
            let spinner = Spinner::start(output, "copying and checking");
            let written = tenants.backup_system(&self.to).await;
            spinner.end();
            written?;
            output.done(&format!("{} holds the tenants, users, keys and the audit log", self.to.display()));
            Ok(())
        })
        .await
    }

    async fn copy(&self, database: &Database, output: &Output) -> Result<()> {
        let spinner = Spinner::start(output, "copying, restoring and checking");
        let report = database.backup(&self.to).await;
        spinner.end();
        let report = report?;
        match output.json {
            true => output.json(&report),
            false => {
                let messages = counted(report.messages, "message");
                let conversations = counted(report.conversations, "conversation");
                output.done(&format!("{} holds {messages} in {conversations}", report.path));
                Ok(())
            }
        }
    }
}

/// Create a store from a backup, after checking it.
#[derive(Args)]
pub struct RestoreBackup {
    /// The backup.
    from: PathBuf,
    /// New file, or postgres://… without a store [default: the store of this installation].
    to: Option<PathBuf>,
    /// The tenant whose store it is, by name or id.
    #[arg(long, value_name = "TENANT", conflicts_with = "to")]
    tenant: Option<String>,
}

impl RestoreBackup {
    pub async fn run(self, home: &Home, output: &Output) -> Result<()> {
        let spinner = Spinner::start(output, "copying and checking");
        let restored = self.restore(home).await;
        spinner.end();
        output.done(&format!("restored {}", restored?));
        Ok(())
    }

    /// Places the output and returns its path.
    async fn restore(self, home: &Home) -> Result<String> {
        let (from, by) = (&self.from, AuditSubject::actor(AuditActor::Operator));
        if let Some(tenant) = &self.tenant {
            return home
                .with_tenants(async |tenants| {
                    let tenant = tenants.tenant(tenant).await?;
                    tenants.restore_tenant(tenant.id, from, by).await?;
                    Ok(format!("tenant {}", tenant.name))
                })
                .await;
        }
        let to = self.to.map_or_else(|| home.store.clone(), Location::of);
        match Tenants::is_system_backup(from) {
            true => {
                Tenants::restore_system(from, &to, by).await?;
                Ok(format!("the tenants, users, keys and audit log of {to}"))
            }
            false => {
                Database::restore_backup(from, &to).await?;
                Ok(to.to_string())
            }
        }
    }
}

/// Check every digest and chain, and report what was altered, lost or duplicated.
#[derive(Args)]
pub struct Verify {}

impl Verify {
    pub async fn run(self, home: &Home, output: &Output) -> Result<()> {
        home.must_exist()?;
        // Where there are no tenants and no keys, nothing was ever written to a log, and none is made by looking.
        match Tenants::are_at(&home.store) {
            true => home.with_tenants(async |tenants| verify(tenants.home(), Some(tenants), output).await).await,
            false => {
                let database = home.open()?;
                let done = verify(&database, None, output).await;
                let closed = database.close().await;
                done?;
                Ok(closed?)
            }
        }
    }
}

async fn verify(database: &Database, tenants: Option<&Tenants>, output: &Output) -> Result<()> {
    let spinner = Spinner::start(output, "verifying");
    let found = verify_all(database, tenants).await;
    spinner.end();
    let (stores, audit, lost) = found?;
    let problems: usize = stores.iter().map(|(_, report)| report.problems.len()).sum();
    match output.json {
        true => output.json(&as_json(&stores, audit.as_ref())?)?,
        false => stores.iter().try_for_each(|(tenant, report)| show_report(tenant.as_deref(), report))?,
    }
    if problems > 0 {
        bail!("{}; restore a backup", counted(problems, "problem"));
    }
    if let Some(lost) = lost {
        return Err(lost);
    }
    match audit {
        Some(audit) => show_check(output, &audit),
        None => Ok(()),
    }
}

/// Each verified store, with the name of its tenant.
type TenantReports = Vec<(Option<String>, VerifyReport)>;

/// Verifies every store. A store that cannot be opened is reported and does not stop the others.
async fn verify_all(
    database: &Database,
    tenants: Option<&Tenants>,
) -> Result<(TenantReports, Option<AuditReport>, Option<anyhow::Error>)> {
    let (mut walked, mut lost) = (vec![(None, database.verify().await?)], None);
    let Some(tenants) = tenants else { return Ok((walked, None, None)) };
    for tenant in tenants.tenants_in_use().await?.into_iter().filter(|tenant| tenant.id != DEFAULT_TENANT) {
        match tenants.database(tenant.id).await.with_context(|| format!("tenant {}", tenant.name)) {
            Ok(database) => walked.push((Some(tenant.name), database.verify().await?)),
            Err(error) => lost = Some(error),
        }
    }
    Ok((walked, Some(tenants.verify_audit().await?), lost))
}

fn as_json(stores: &TenantReports, audit: Option<&AuditReport>) -> Result<serde_json::Value> {
    let mut shown = serde_json::Value::Null;
    for (tenant, report) in stores {
        match tenant {
            None => shown = serde_json::to_value(report)?,
            Some(name) => shown["tenants"][name] = serde_json::to_value(report)?,
        }
    }
    if let Some(audit) = audit {
        shown["audit"] = serde_json::to_value(audit)?;
    }
    Ok(shown)
}

fn show_report(tenant: Option<&str>, report: &VerifyReport) -> Result<()> {
    let whose = tenant.map(|name| format!("{name}: ")).unwrap_or_default();
    print(&format!(
        "{whose}{}, {} erased, {}, {}, {}: {}\n",
        counted(report.messages, "message"),
        report.erased,
        counted(report.conversations, "conversation"),
        counted(report.journal, "journal row"),
        counted(report.blobs, "blob"),
        if report.is_sound() { "no problems" } else { "DAMAGED" },
    ))?;
    for problem in &report.problems {
        print(&format!("{}\n", serde_json::to_string(problem)?))?;
    }
    Ok(())
}

/// Rebuild the search index.
///
/// The index is kept up to date automatically, and searches include unindexed messages. Use this if the index is damaged.
#[derive(Args)]
pub struct Reindex {}

impl Reindex {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let (bar, last) = (Indexing::start(&context.output), context.database.position());
        let done = context.database.reindex(|indexed| bar.tell(indexed, last)).await;
        bar.end();
        done?;
        let indexed = context.database.indexed();
        match context.output.json {
            true => context.output.json(&indexed),
            false => {
                context.output.done(&format!("the index is new and holds every change up to {}", indexed.position));
                Ok(())
            }
        }
    }
}

/// Report versions, settings, sizes and warnings.
///
/// Reads settings and sizes, not the data: `manent verify` checks every digest.
#[derive(Args)]
pub struct Doctor {}

impl Doctor {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let report = context.database.doctor().await?;
        if context.output.json {
            return context.output.json(&report);
        }
        let indexed = context.database.indexed();
        let mut table = Table::new(&["ITEM", "VALUE"], 1);
        let mut row = |item: &str, value: String| table.row(vec![Cell::styled(item, BOLD), Cell::new(value)]);
        row("engine", report.engine.clone());
        row("schema", report.schema.to_string());
        row("position", report.position.to_string());
        row("indexed", format!("up to position {}", indexed.position));
        for (file, size) in &report.files {
            let note = match file.rsplit_once('-') {
                Some((_, "wal")) => ", write-ahead log: reused, and removed when the last program closes the store",
                Some((_, "reserve")) => ", no data: released so that deletions work on a full disk",
                _ => "",
            };
            row("file", format!("{file} {}{note}", bytes(*size)));
        }
        for (name, value) in &report.settings {
            row("setting", format!("{name} = {value}"));
        }
        for (name, size) in report.tables.iter().take(TABLES_MAX) {
            row("table", format!("{name} {}", bytes((*size).max(0) as u64)));
        }
        match report.tables.len().saturating_sub(TABLES_MAX) {
            0 => {}
            others => row("table", format!("{others} smaller ones; --json lists them")),
        }
        if !report.tables_complete {
            row("table", "more: a large file is measured for half a second only".to_owned());
        }
        let ids: Vec<ConversationId> = report.largest.iter().map(|(id, ..)| *id).collect();
        let ids = context.short_ids(IdKind::Conversation, &ids).await?;
        for ((_, title, messages), id) in report.largest.iter().zip(ids) {
            row("largest", format!("{id} {} {title}", counted(*messages, "message")));
        }
        context.output.table(&table)?;
        report.warnings.iter().for_each(|warning| context.output.warn(warning));
        print(&match report.warnings.len() {
            0 => "healthy: no warnings; `manent verify` checks the data\n".to_owned(),
            count => format!("{}\n", counted(count, "warning")),
        })
    }
}

/// Number of tables in the report for people.
const TABLES_MAX: usize = 8;

fn bytes(size: u64) -> String {
    match size {
        0..1_024 => format!("{size} B"),
        1_024..1_048_576 => format!("{:.1} KiB", size as f64 / 1_024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", size as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", size as f64 / 1_073_741_824.0),
    }
}
