//! `manent audit`: what was done by whom.

use crate::home::Home;
use crate::output::{BAD, BOLD, Cell, DIM, GOOD, ID, Output, Table, counted, print};
use anyhow::{Result, bail};
use clap::Args;
use manent::Tenants;
use manent::model::AuditActor;
use manent::store::PAGE_MAX;
use manent::store::system::{AuditQuery, AuditReport};

/// Show the audit log, newest first.
///
/// Each entry is chained to the previous one, so a changed or deleted entry is detected.
#[derive(Args)]
pub struct Audit {
    /// Only this tenant, by name or id.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Only entries before this one.
    #[arg(long, value_name = "NUMBER")]
    before: Option<i64>,
    /// Maximum number of entries.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Verify the whole chain and print its last digest; store that elsewhere to detect later changes.
    #[arg(long)]
    verify: bool,
}

impl Audit {
    pub async fn run(self, home: &Home, output: &Output) -> Result<()> {
        home.must_exist()?;
        home.with_tenants(async |tenants| self.at(tenants, output).await).await
    }

    async fn at(self, tenants: &Tenants, output: &Output) -> Result<()> {
        if self.verify {
            let report = tenants.verify_audit().await?;
            if output.json {
                output.json(&report)?;
            }
            return show_check(output, &report);
        }
        let tenant = match &self.tenant {
            Some(text) => Some(tenants.tenant(text).await?.id),
            None => None,
        };
        let limit = self.limit.clamp(1, PAGE_MAX);
        let page = tenants.audit_page(AuditQuery { tenant, before: self.before, limit }).await?;
        if output.json {
            return output.json(&page);
        }
        let mut table = Table::new(&["NO", "WHEN", "ACTION", "BY", "TENANT", "PARTICULARS"], 5);
        for entry in &page.entries {
            let by = match entry.actor {
                AuditActor::Key(key) => key.to_string(),
                AuditActor::Operator => "operator".to_owned(),
                AuditActor::Token => "token".to_owned(),
                AuditActor::Stranger => "stranger".to_owned(),
                AuditActor::Server => "server".to_owned(),
            };
            table.row(vec![
                Cell::styled(entry.no, DIM),
                Cell::new(entry.at),
                Cell::styled(&entry.action, BOLD),
                Cell::styled(by, ID),
                Cell::new(entry.tenant.map(|tenant| tenant.to_string()).unwrap_or_default()),
                Cell::new(entry.payload.as_ref().map(|payload| payload.text().to_owned()).unwrap_or_default()),
            ]);
        }
        output.table(&table)
    }
}

/// Prints the result of the chain check as text.
pub fn show_check(output: &Output, report: &AuditReport) -> Result<()> {
    if !output.json {
        let (style, said) = match report.problems.is_empty() {
            true => (GOOD, "no problems"),
            false => (BAD, "tampered with"),
        };
        print(&format!(
            "audit log: {}, {} erased: {}{said}{}, up to {}\n",
            counted(report.lines, "line"),
            report.erased,
            style.render(),
            style.render_reset(),
            report.digest,
        ))?;
        for problem in &report.problems {
            print(&format!("{}\n", serde_json::to_string(problem)?))?;
        }
    }
    match report.problems.is_empty() {
        true => Ok(()),
        false => bail!("the audit log was tampered with"),
    }
}
