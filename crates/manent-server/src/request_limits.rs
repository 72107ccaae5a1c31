//! Request rate limits per key and address, and entries in the audit log.

use crate::app::App;
use crate::auth::AuthError;
use crate::operation::{Access, Rule};
use crate::options::Limits;
use crate::principal::{Credential, Principal};
use crate::problem::{ApiResult, Problem};
use crate::rate::{Rate, RateLimiter};
use axum::http::StatusCode;
use manent::model::{AuditActor, KeyId, KeyScope, TenantId};
use manent::store::system::{AuditSubject, NewAuditRecord};
use manent::{ConversationId, MessageId, Tenants};
use serde::Serialize;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval in which an identical audit entry is not repeated: a log that is too long to read has no use.
const AUDIT_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Maximum number of remembered entries; above it, entries may be repeated.
const REMEMBERED_MAX: usize = 10_000;

/// Rate limiters and the writer of the audit log.
#[derive(Default)]
pub struct RequestLimits {
    keys: RateLimiter<KeyId>,
    addresses: RateLimiter<IpAddr>,
    refusals: RateLimiter<IpAddr>,
    recorded: Mutex<HashMap<String, Instant>>,
}

/// The audited details of a request.
#[derive(Serialize)]
struct RequestSubject {
    operation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<TenantId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<ConversationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<MessageId>,
}

impl RequestSubject {
    /// Extracts ids from a path and its query; everything else in them may be user content.
    fn of(rule: Rule, path: &str) -> Self {
        let path = decoded(path);
        let parts = || path.split(['/', '?', '&', '=', ',']);
        // Only callers that administer all tenants refer to another tenant.
        let tenant = parts().filter(|_| rule.access == Access::ServerAdmin).find_map(|part| part.parse().ok());
        let conversation = parts().find_map(|part| part.parse().ok());
        let message = parts().find_map(|part| part.parse().ok());
        Self { operation: rule.id, tenant, conversation, message }
    }
}

/// Percent-decodes a text: an id may be encoded, and is the same id.
fn decoded(path: &str) -> String {
    let (mut rest, mut text) = (path.as_bytes(), Vec::with_capacity(path.len()));
    while let Some((byte, after)) = rest.split_first() {
        let written = after.get(..2).filter(|_| *byte == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match written.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(meant) => {
                text.push(meant);
                rest = &after[2..];
            }
            None => {
                text.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

impl RequestLimits {
    /// Counts a request of an authenticated caller. The server token has no limit: its owner could also stop the
    /// server.
    pub fn count(&self, limits: &Limits, who: &Credential, address: Option<IpAddr>) -> ApiResult<()> {
        let Credential::Key(pass) = who else { return Ok(()) };
        let now = Instant::now();
        let rate = match pass.key.rate {
            Some(per_second) => Rate { per_second, burst: per_second.saturating_mul(2) },
            None => limits.key,
        };
        self.keys.check(pass.key.id, rate, now).map_err(too_often)?;
        match address.map(network) {
            Some(address) => self.addresses.check(address, limits.address, now).map_err(too_often),
            None => Ok(()),
        }
    }

    /// Counts and audits a refused request. If the audit log cannot be written, the request is still refused.
    pub async fn refuse(&self, app: &App, refused: AuthError, address: Option<IpAddr>) -> Problem {
        let (action, key) = match refused {
            // A request without credentials is not a guess: a page before its owner logs in.
            AuthError::Missing => return refused.into(),
            AuthError::Invalid => ("key.unknown", None),
            AuthError::Key(_, key) => ("key.refused", key),
        };
        if let Some(address) = address
            && let Err(wait) = self.refusals.check(network(address), app.limits.refusals, Instant::now())
        {
            return too_often(wait);
        }
        let subject = match (key, address) {
            (Some(key), _) => key.to_string(),
            (None, Some(address)) => address.to_string(),
            (None, None) => String::new(),
        };
        let what = format!("{action} {subject}");
        if !self.is_due(&what) {
            return refused.into();
        }
        let actor = key.map_or(AuditActor::Stranger, AuditActor::Key);
        // The tenant's administrators can see the entry, and entries about a user are erased with the user.
        let (tenant, user) = key.and_then(|key| app.tenants.holder(key)).unzip();
        let by = AuditSubject { actor, user: user.flatten(), address: address.map(|address| address.to_string()) };
        match app.tenants.audit(NewAuditRecord::new(action, tenant, by)).await {
            Ok(()) => self.is_audited(what),
            Err(error) => tracing::error!(code = error.code(), "the audit log could not be written"),
        }
        refused.into()
    }

    /// Audits a request before it is handled. A request that cannot be audited is refused.
    pub async fn record(&self, tenants: &Tenants, principal: &Principal, rule: Rule, path: &str) -> ApiResult<()> {
        let by = || principal.audit_subject.clone();
        if let Credential::Key(pass) = &principal.credential {
            let what = format!("key.use {} {:?}", pass.key.id, principal.audit_subject.address);
            self.record_once(tenants, what, || NewAuditRecord::new("key.use", Some(principal.tenant), by())).await?;
        }
        let asked = RequestSubject::of(rule, path);
        match rule.audited {
            Some(action) => {
                // Recorded in the tenant concerned, so that its administrators can see it.
                let about = asked.tenant.unwrap_or(principal.tenant);
                Ok(tenants.audit(NewAuditRecord::new(action, Some(about), by()).detail(&asked)).await?)
            }
            None if is_read_by_admin(tenants, principal, rule) => {
                let RequestSubject { operation, conversation, message, .. } = &asked;
                let what = format!("read {:?} {operation} {conversation:?} {message:?}", principal.audit_subject.actor);
                let line = || NewAuditRecord::new("read", Some(principal.tenant), by()).detail(&asked);
                self.record_once(tenants, what, line).await
            }
            None => Ok(()),
        }
    }

    /// Writes an audit entry, unless the same one was written recently.
    async fn record_once(
        &self,
        tenants: &Tenants,
        what: String,
        line: impl FnOnce() -> NewAuditRecord,
    ) -> ApiResult<()> {
        if self.is_due(&what) {
            tenants.audit(line()).await?;
            self.is_audited(what);
        }
        Ok(())
    }

    fn is_due(&self, what: &str) -> bool {
        let told = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        told.get(what).is_none_or(|at| at.elapsed() >= AUDIT_INTERVAL)
    }

    /// Marks an entry as written; only called once it is in the log.
    fn is_audited(&self, what: String) {
        let mut told = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= REMEMBERED_MAX {
            told.retain(|_, at| at.elapsed() < AUDIT_INTERVAL);
        }
        if told.len() >= REMEMBERED_MAX {
            told.clear();
        }
        told.insert(what, Instant::now());
    }
}

/// Returns whether an administrator reads data that may belong to a user.
fn is_read_by_admin(tenants: &Tenants, principal: &Principal, rule: Rule) -> bool {
    let reads = rule.access == Access::Scope(KeyScope::Read);
    reads && principal.credential.is_admin() && tenants.has_users(principal.tenant)
}

/// Returns the network of an address: an IPv6 client controls a whole /64.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => IpAddr::V4(address),
            None => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        },
        IpAddr::V4(_) => address,
    }
}

fn too_often(wait: Duration) -> Problem {
    let seconds = u16::try_from(wait.as_secs() + 1).unwrap_or(u16::MAX);
    let why = format!("too many requests; try again in {seconds} s");
    Problem { wait: seconds, ..Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_often", why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_same_however_it_is_written() {
        assert_eq!(decoded("/a/%63onv_1?in=x%2Cy&%zz%"), "/a/conv_1?in=x,y&%zz%");
        assert_eq!(decoded("%E5%A4%A9%ff"), "天\u{fffd}");
    }

    #[test]
    fn addresses_of_one_network_count_as_one() {
        let of = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(of("2001:db8:1:2:3::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.7"), of("192.0.2.7"));
        assert_ne!(of("192.0.2.7"), of("192.0.2.8"));
    }
}
