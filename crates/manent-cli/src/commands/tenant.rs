//! `manent tenant …`: owners on a server of many.

use crate::home::Home;
use crate::output::{BOLD, Cell, DIM, ID, Output, Table, print};
use crate::progress::Spinner;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use manent::model::AuditActor;
use manent::store::PAGE_MAX;
use manent::store::system::{AuditSubject, NewAuditRecord};
use manent::transfer::export::Replace;
use manent::{Erasure, ExportSelection, Tenants};
use std::path::PathBuf;

/// Create, list, suspend and erase tenants.
#[derive(Args)]
pub struct Tenant {
    #[command(subcommand)]
    action: TenantAction,
}

#[derive(Subcommand)]
enum TenantAction {
    /// Create a tenant with an empty store and print its id.
    New {
        /// Name.
        name: String,
    },
    /// List tenants.
    List,
    /// Suspend a tenant: reject its requests; data is kept.
    Suspend {
        /// Name or id.
        tenant: String,
    },
    /// Resume a suspended tenant.
    Resume {
        /// Name or id.
        tenant: String,
    },
    /// Export a tenant as JSON lines.
    Export {
        /// Name or id.
        tenant: String,
        /// File [default: standard output].
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Erase a tenant with its store, backups, users and keys, and print a receipt.
    Erase {
        /// Name or id.
        tenant: String,
    },
}

/// The audit actor of commands on this machine.
pub fn operator() -> AuditSubject {
    AuditSubject::actor(AuditActor::Operator)
}

impl Tenant {
    pub async fn run(self, home: &Home, output: &Output) -> Result<()> {
        if matches!(self.action, TenantAction::List) {
            home.must_exist()?;
        }
        home.with_tenants(async |tenants| self.at(tenants, output).await).await
    }

    async fn at(self, tenants: &Tenants, output: &Output) -> Result<()> {
        match self.action {
            TenantAction::New { name } => {
                let tenant = tenants.create_tenant(&name, operator()).await?;
                match output.json {
                    true => output.json(&tenant),
                    false => print(&format!("{}\n", tenant.id)),
                }
            }
            TenantAction::List => list(tenants, output).await,
            TenantAction::Suspend { tenant } => {
                let tenant = tenants.suspend(tenants.tenant(&tenant).await?.id, operator()).await?;
                output.done(&format!("suspended {}", tenant.name));
                Ok(())
            }
            TenantAction::Resume { tenant } => {
                let tenant = tenants.resume(tenants.tenant(&tenant).await?.id, operator()).await?;
                output.done(&format!("resumed {}", tenant.name));
                Ok(())
            }
            TenantAction::Export { tenant, output: path } => {
                let tenant = tenants.tenant(&tenant).await?;
                tenants.audit(NewAuditRecord::new("tenant.export", Some(tenant.id), operator())).await?;
                let database = tenants.database(tenant.id).await?;
                let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
                    let report = database.export_jsonl(&ExportSelection::Everything, std::io::stdout()).await?;
                    return super::transfer::tell_damaged(output, &report.damaged);
                };
                let (staged, file) = super::transfer::staged_file(&path, Replace::Never)?;
                let report = database.export_jsonl(&ExportSelection::Everything, file).await?;
                staged.place().with_context(|| format!("writing {}", path.display()))?;
                super::transfer::tell_damaged(output, &report.damaged)
            }
            TenantAction::Erase { tenant } => {
                let tenant = tenants.tenant(&tenant).await?;
                output.confirm(&format!("Destroy the tenant {} and everything in it for ever?", tenant.name))?;
                let spinner = Spinner::start(output, "erasing");
                let erasure = tenants.erase_tenant(tenant.id, operator()).await;
                spinner.end();
                show_receipt(output, &erasure?)
            }
        }
    }
}

async fn list(tenants: &Tenants, output: &Output) -> Result<()> {
    let mut all = Vec::new();
    loop {
        let page = tenants.tenants(all.last().map(|tenant: &manent::model::Tenant| tenant.id), PAGE_MAX).await?;
        match page.is_empty() {
            true => break,
            false => all.extend(page),
        }
    }
    if output.json {
        return output.json(&all);
    }
    let mut table = Table::new(&["ID", "NAME", "STATUS", "MADE"], 1);
    for tenant in &all {
        let status = serde_json::to_value(tenant.status)?;
        table.row(vec![
            Cell::styled(tenant.id, ID),
            Cell::styled(&tenant.name, BOLD),
            Cell::new(status.as_str().unwrap_or_default()),
            Cell::styled(tenant.created_at, DIM),
        ]);
    }
    output.table(&table)
}

/// Prints the receipt of an erasure.
pub fn show_receipt(output: &Output, erasure: &Erasure) -> Result<()> {
    if output.json {
        return output.json(erasure);
    }
    let counts = [
        ("conversations", erasure.conversations),
        ("messages", erasure.messages),
        ("annotations", erasure.annotations),
        ("users", erasure.users),
        ("keys", erasure.keys),
        ("audit", erasure.audit),
        ("backups", erasure.backups),
        ("files", erasure.files),
        ("bytes", erasure.bytes),
        ("rows", erasure.rows),
    ];
    let mut table = Table::new(&["REMOVED", "COUNT"], 0);
    for (name, count) in counts {
        table.row(vec![Cell::styled(name, BOLD), Cell::new(count)]);
    }
    output.table(&table)
}
