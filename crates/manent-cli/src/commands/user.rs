//! `manent user …`: the people of a tenant.

use crate::commands::tenant::{operator, show_receipt};
use crate::home::Home;
use crate::output::{BOLD, Cell, DIM, Output, Table};
use crate::progress::Spinner;
use anyhow::Result;
use clap::{Args, Subcommand};
use manent::Tenants;
use manent::model::TenantId;
use manent::store::PAGE_MAX;

/// Add, list and erase users of a tenant.
#[derive(Args)]
pub struct User {
    /// Name or id of the tenant.
    #[arg(long, value_name = "TENANT", default_value = "default", global = true)]
    tenant: String,
    #[command(subcommand)]
    action: UserAction,
}

#[derive(Subcommand)]
enum UserAction {
    /// Add a user, or change the name of one.
    Add {
        /// Id of the user in your own system; the external id of authors.
        id: String,
        /// Name.
        #[arg(default_value = "")]
        name: String,
    },
    /// List users.
    List,
    /// Erase the content and data of a user, and print a receipt.
    Erase {
        /// Id of the user.
        id: String,
    },
}

impl User {
    pub async fn run(self, home: &Home, output: &Output) -> Result<()> {
        if matches!(self.action, UserAction::List) {
            home.must_exist()?;
        }
        home.with_tenants(async |tenants| self.at(tenants, output).await).await
    }

    async fn at(self, tenants: &Tenants, output: &Output) -> Result<()> {
        let tenant = tenants.tenant(&self.tenant).await?.id;
        match self.action {
            UserAction::Add { id, name } => {
                let user = tenants.put_user(tenant, &id, &name, operator()).await?;
                match output.json {
                    true => output.json(&user),
                    false => {
                        output.done(&format!("added {}", user.id));
                        Ok(())
                    }
                }
            }
            UserAction::List => list(tenants, tenant, output).await,
            UserAction::Erase { id } => {
                output.confirm(&format!("Destroy all that {id} wrote for ever?"))?;
                let spinner = Spinner::start(output, "erasing");
                let erasure = tenants.erase_user(tenant, &id, operator()).await;
                spinner.end();
                show_receipt(output, &erasure?)
            }
        }
    }
}

async fn list(tenants: &Tenants, tenant: TenantId, output: &Output) -> Result<()> {
    let mut all: Vec<manent::model::User> = Vec::new();
    loop {
        let page = tenants.users(tenant, all.last().map(|user| user.id.as_str()), PAGE_MAX).await?;
        match page.is_empty() {
            true => break,
            false => all.extend(page),
        }
    }
    if output.json {
        return output.json(&all);
    }
    let mut table = Table::new(&["ID", "NAME", "ADDED"], 1);
    for user in &all {
        table.row(vec![Cell::styled(&user.id, BOLD), Cell::new(&user.name), Cell::styled(user.created_at, DIM)]);
    }
    output.table(&table)
}
