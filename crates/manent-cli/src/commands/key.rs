//! `manent key …`: what programs show to come in.

use crate::commands::tenant::operator;
use crate::home::Home;
use crate::output::{BOLD, Cell, DIM, ID, Output, Table, counted, print};
use crate::time;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use manent::Tenants;
use manent::model::{KeyDraft, KeyScope, TenantId, Timestamp};
use manent::store::PAGE_MAX;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// Create, list and revoke API keys.
#[derive(Args)]
pub struct Key {
    /// Name or id of the tenant.
    #[arg(long, value_name = "TENANT", default_value = "default", global = true)]
    tenant: String,
    #[command(subcommand)]
    action: KeyAction,
}

#[derive(Subcommand)]
enum KeyAction {
    /// Create a key and print its secret once.
    New {
        /// Name of the key.
        name: String,
        /// Scopes, comma-separated: read, append, manage (includes both), admin (includes all).
        #[arg(long, value_name = "SCOPES", value_delimiter = ',', default_value = "read,append")]
        scope: Vec<String>,
        /// Act for this user: only conversations that the user created or is a member of.
        #[arg(long, value_name = "ID")]
        user: Option<String>,
        /// Limit the key to a project (repeatable).
        #[arg(long, value_name = "PROJECT")]
        project: Vec<String>,
        /// Expiry: 30d, 12h, 2027-01-01.
        #[arg(long, value_name = "WHEN")]
        expires: Option<String>,
        /// Rate limit in requests per second.
        #[arg(long, value_name = "N")]
        rate: Option<u32>,
    },
    /// List keys, including revoked ones, without secrets.
    List,
    /// Revoke a key, and end its streams and sessions.
    Revoke {
        /// Id of the key, or the key itself.
        key: String,
    },
}

impl Key {
    pub async fn run(self, home: &Home, output: &Output) -> Result<()> {
        if matches!(self.action, KeyAction::List) {
            home.must_exist()?;
        }
        home.with_tenants(async |tenants| self.at(tenants, output).await).await
    }

    async fn at(self, tenants: &Tenants, output: &Output) -> Result<()> {
        let tenant = tenants.tenant(&self.tenant).await?.id;
        match self.action {
            KeyAction::New { name, scope, user, project, expires, rate } => {
                let scopes = scope.iter().map(|word| read_word(word)).collect::<Result<BTreeSet<KeyScope>>>()?;
                let expires_at = expires.map(|text| time::read_future(&text, &jiff::Zoned::now())).transpose()?;
                let projects = projects(tenants, tenant, &project).await?;
                let scopes = scopes.into_iter().collect();
                let draft = KeyDraft { name, scopes, user, projects, rate, expires_at };
                let (key, word) = tenants.create_key(tenant, draft, operator()).await?;
                match output.json {
                    true => {
                        let mut shown = serde_json::to_value(&key)?;
                        shown["secret"] = word.reveal().into();
                        output.json(&shown)
                    }
                    false => {
                        output.done(&format!("made {}; keep the key, it is shown this once", key.id));
                        print(&format!("{}\n", word.reveal()))
                    }
                }
            }
            KeyAction::List => list(tenants, tenant, output).await,
            KeyAction::Revoke { key } => {
                let id = match manent::model::ApiKeySecret::read(&key) {
                    Some(word) => word.id,
                    None => key.parse().with_context(|| "that is neither the id of a key nor a key")?,
                };
                let key = tenants.revoke_key(tenant, id, operator()).await?;
                output.done(&format!("revoked {}", key.id));
                Ok(())
            }
        }
    }
}

fn read_word<T: DeserializeOwned>(word: &str) -> Result<T> {
    let word = word.trim();
    serde_json::from_value(word.into())
        .with_context(|| format!("there is no scope {word}: read, append, manage, admin"))
}

async fn projects(
    tenants: &Tenants,
    tenant: TenantId,
    given: &[String],
) -> Result<Option<BTreeSet<manent::ProjectId>>> {
    if given.is_empty() {
        return Ok(None);
    }
    let database = tenants.database(tenant).await?;
    let mut found = BTreeSet::new();
    for text in given {
        found.insert(database.resolve_project(text).await?);
    }
    Ok(Some(found))
}

async fn list(tenants: &Tenants, tenant: TenantId, output: &Output) -> Result<()> {
    let mut all: Vec<manent::model::Key> = Vec::new();
    loop {
        let page = tenants.keys(tenant, all.last().map(|key| key.id), PAGE_MAX).await?;
        match page.is_empty() {
            true => break,
            false => all.extend(page),
        }
    }
    if output.json {
        return output.json(&all);
    }
    let now = jiff::Zoned::now();
    let at = Timestamp(now.timestamp().as_microsecond());
    let mut table = Table::new(&["ID", "NAME", "SCOPES", "LIMITS", "STATE", "USED"], 1);
    for key in &all {
        let scopes: Vec<&str> = key.scopes.iter().map(KeyScope::word).collect();
        let user = key.user.iter().map(|user| format!("user {user}"));
        let projects = key.projects.iter().map(|projects| counted(projects.len(), "project"));
        let limits: Vec<String> = user.chain(projects).collect();
        let state = match (key.revoked_at, key.expires_at) {
            (Some(_), _) => "revoked".to_owned(),
            (None, Some(end)) if end <= at => "expired".to_owned(),
            (None, Some(end)) => format!("until {end}"),
            (None, None) => "good".to_owned(),
        };
        table.row(vec![
            Cell::styled(key.id, ID),
            Cell::styled(&key.name, BOLD),
            Cell::new(scopes.join(",")),
            Cell::new(limits.join(", ")),
            Cell::new(state),
            Cell::styled(key.used_at.map_or("never".to_owned(), |used| time::ago(used, &now)), DIM),
        ]);
    }
    output.table(&table)
}
