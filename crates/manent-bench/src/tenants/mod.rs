//! Multi-tenant benchmarks: resources of a thousand tenants, isolation under load, and whether the time to refuse a
//! key reveals anything about it.

mod many;
mod timing;

use crate::facts::Fact;
use ::manent::model::{AuditActor, KeyDraft, KeyScope, TenantId};
use ::manent::store::system::AuditSubject;
use ::manent::{ConversationDraft, ConversationId, Location, Tenants};
use anyhow::Result;
use std::path::Path;
use tokio::runtime::Runtime;

/// How many tenants there are.
const TENANTS: usize = 1_000;

/// A tenant, a key to it, and a conversation in it.
struct Owner {
    key: String,
    conversation: ConversationId,
}

/// Measures all of it.
pub fn of(folder: &Path) -> Result<Vec<Fact>> {
    let runtime = Runtime::new()?;
    let home = folder.join("tenants");
    std::fs::create_dir_all(&home)?;
    let tenants = Tenants::open(&Location::File(home.join("manent.db")), None)?;
    runtime.block_on(tenants.begin())?;
    let mut facts = Vec::new();
    let mut tell = |found: Vec<Fact>| {
        found.iter().for_each(Fact::tell);
        facts.extend(found);
    };
    let mut owners = Vec::new();
    for number in 0..TENANTS {
        owners.push(runtime.block_on(owner(&tenants, number))?);
    }
    tell(vec![timing::of(&tenants, &owners)?]);
    runtime.block_on(tenants.close())?;
    tell(many::of(&home, &owners)?);
    Ok(facts)
}

async fn owner(tenants: &Tenants, number: usize) -> Result<Owner> {
    let by = || AuditSubject::actor(AuditActor::Operator);
    let tenant = tenants.create_tenant(&format!("tenant {number}"), by()).await?.id;
    let key = key_of(tenants, tenant, by()).await?;
    let conversation = tenants.database(tenant).await?.create(ConversationDraft::default()).await?.id;
    Ok(Owner { key, conversation })
}

async fn key_of(tenants: &Tenants, tenant: TenantId, by: AuditSubject) -> Result<String> {
    let scopes = [KeyScope::Read, KeyScope::Append].into_iter().collect();
    // What is measured is the server under load, not its brakes.
    let rate = Some(1_000_000);
    let draft = KeyDraft { name: "bench".to_owned(), scopes, user: None, projects: None, rate, expires_at: None };
    Ok(tenants.create_key(tenant, draft, by).await?.1.reveal())
}
