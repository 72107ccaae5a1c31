//! The witness: counts who asks how often, and tells the audit log what it is to know.

use crate::app::App;
use crate::auth::Refused;
use crate::operation::{Need, Rule};
use crate::options::Limits;
use crate::principal::{Principal, Who};
use crate::problem::{Answer, Problem};
use crate::rates::{Rate, Rates};
use axum::http::StatusCode;
use manent::model::{AuditActor, KeyId, KeyScope};
use manent::store::system::{AuditDraft, By};
use manent::{ConversationId, MessageId, Tenants};
use serde::Serialize;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The same by the same is told once in this time: a log that nobody can read tells nothing.
const ONCE_IN: Duration = Duration::from_secs(60 * 60);

/// So much is remembered of what was told; beyond that it is told again.
const TOLD_MAX: usize = 10_000;

/// Counts and tells.
#[derive(Default)]
pub struct Witness {
    keys: Rates<KeyId>,
    addresses: Rates<IpAddr>,
    refusals: Rates<IpAddr>,
    told: Mutex<HashMap<String, Instant>>,
}

/// What the log says of a request.
#[derive(Serialize)]
struct Asked {
    operation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<ConversationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<MessageId>,
}

impl Asked {
    /// Takes ids out of a path; everything else in it may be what people wrote.
    fn of(operation: &'static str, path: &str) -> Self {
        let conversation = path.split('/').find_map(|part| part.parse().ok());
        let message = path.split('/').find_map(|part| part.parse().ok());
        Self { operation, conversation, message }
    }
}

impl Witness {
    /// Counts a request of somebody who is in. The token is not counted: whoever has it may stop the server as well.
    pub fn count(&self, limits: &Limits, who: &Who, address: Option<IpAddr>) -> Answer<()> {
        let Who::Key(pass) = who else { return Ok(()) };
        let now = Instant::now();
        let rate = match pass.key.rate {
            Some(per_second) => Rate { per_second, burst: per_second.saturating_mul(2) },
            None => limits.key,
        };
        self.keys.count(pass.key.id, rate, now).map_err(too_often)?;
        match address {
            Some(address) => self.addresses.count(address, limits.address, now).map_err(too_often),
            None => Ok(()),
        }
    }

    /// Counts that somebody was not let in, and tells it. What cannot be told now keeps nobody out longer.
    pub async fn refuse(&self, app: &App, refused: Refused, address: Option<IpAddr>) -> Problem {
        let (action, key) = match refused {
            // Somebody who shows nothing guesses nothing: a page before its owner signs in.
            Refused::Nothing => return refused.into(),
            Refused::Unknown => ("key.unknown", None),
            Refused::Key(_, key) => ("key.refused", key),
        };
        if let Some(address) = address
            && let Err(wait) = self.refusals.count(address, app.limits.refusals, Instant::now())
        {
            return too_often(wait);
        }
        let subject = match (key, address) {
            (Some(key), _) => key.to_string(),
            (None, Some(address)) => address.to_string(),
            (None, None) => String::new(),
        };
        if !self.is_news(format!("{action} {subject}")) {
            return refused.into();
        }
        let actor = key.map_or(AuditActor::Stranger, AuditActor::Key);
        let by = By { actor, user: None, address: address.map(|address| address.to_string()) };
        if let Err(error) = app.tenants.audit(AuditDraft::new(action, None, by)).await {
            tracing::error!(code = error.code(), "the audit log could not be written");
        }
        refused.into()
    }

    /// Tells what the log is to know of a request before it is done. What cannot be told is not done.
    pub async fn tell(&self, tenants: &Tenants, principal: &Principal, rule: Rule, path: &str) -> Answer<()> {
        let line = |action: &str, asked: &Asked| {
            AuditDraft::new(action, Some(principal.tenant), principal.by.clone()).detail(asked)
        };
        let asked = Asked::of(rule.id, path);
        let mut lines = Vec::new();
        if let Who::Key(pass) = &principal.who
            && self.is_news(format!("key.use {} {:?}", pass.key.id, principal.by.address))
        {
            lines.push(AuditDraft::new("key.use", Some(principal.tenant), principal.by.clone()));
        }
        match rule.audited {
            Some(action) => lines.push(line(action, &asked)),
            None if self.is_read_by_admin(tenants, principal, rule, &asked) => lines.push(line("read", &asked)),
            None => {}
        }
        for line in lines {
            tenants.audit(line).await?;
        }
        Ok(())
    }

    /// Says whether somebody looks at what may be somebody else's, and that was not told lately.
    fn is_read_by_admin(&self, tenants: &Tenants, principal: &Principal, rule: Rule, asked: &Asked) -> bool {
        let reads = rule.need == Need::Scope(KeyScope::Read);
        if !reads || !principal.who.is_admin() || !tenants.has_users(principal.tenant) {
            return false;
        }
        let Asked { operation, conversation, message } = asked;
        self.is_news(format!("read {:?} {operation} {conversation:?} {message:?}", principal.by.actor))
    }

    fn is_news(&self, what: String) -> bool {
        let now = Instant::now();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= TOLD_MAX {
            told.retain(|_, at| now.duration_since(*at) < ONCE_IN);
        }
        if told.len() >= TOLD_MAX {
            told.clear();
        }
        match told.get(&what) {
            Some(at) if now.duration_since(*at) < ONCE_IN => false,
            _ => told.insert(what, now).is_none_or(|_| true),
        }
    }
}

fn too_often(wait: Duration) -> Problem {
    let seconds = wait.as_secs() + 1;
    let why = format!("too many requests; try again in {seconds} s");
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_often", why)
}
