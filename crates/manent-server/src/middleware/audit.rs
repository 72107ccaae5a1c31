//! Audit log of requests: administrative operations, use of keys, reads by administrators, refused credentials.

use super::timeout::within;
use crate::app::App;
use crate::auth::AuthError;
use crate::auth::principal::{Credential, Principal};
use crate::middleware::context::RequestContext;
use crate::problem::{ApiResult, Problem};
use crate::wire::native::operation::{Access, Rule};
use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use manent::model::{AuditActor, KeyScope, TenantId};
use manent::store::system::{AuditSubject, NewAuditRecord};
use manent::{ConversationId, MessageId, Tenants};
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Interval in which an identical audit entry is not repeated: a log that is too long to read has no use.
const AUDIT_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Maximum number of remembered entries; above it, entries may be repeated.
const REMEMBERED_MAX: usize = 10_000;

/// Writes audit entries, each once per [`AUDIT_INTERVAL`].
#[derive(Default)]
pub struct AuditRecorder {
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
        let path = percent_decode_str(path).decode_utf8_lossy();
        let parts = || path.split(['/', '?', '&', '=', ',']);
        // Only callers that administer all tenants refer to another tenant.
        let tenant = parts().filter(|_| rule.access == Access::ServerAdmin).find_map(|part| part.parse().ok());
        let conversation = parts().find_map(|part| part.parse().ok());
        let message = parts().find_map(|part| part.parse().ok());
        Self { operation: rule.id, tenant, conversation, message }
    }
}

/// Records a request before it is handled. A request that cannot be audited is refused.
pub async fn audit(State(app): State<App>, request: Request, next: Next) -> Response {
    let rule = RequestContext::of(&request).ok().and_then(|context| context.rule);
    if let (Some(rule), Some(principal)) = (rule, request.extensions().get::<Principal>().cloned()) {
        let path = request.uri().path_and_query().map_or("", PathAndQuery::as_str).to_owned();
        let recorded = within(app.limits.request, app.audit.record(&app.tenants, &principal, rule, &path)).await;
        if let Err(problem) = recorded.and_then(|recorded| recorded) {
            return problem.into_response();
        }
    }
    next.run(request).await
}

/// Counts and records a failed authentication. If the audit log cannot be written, the request is refused all the same.
pub(crate) async fn refused(app: &App, error: AuthError, address: Option<IpAddr>) -> Problem {
    let (action, key) = match error {
        // A request without credentials is not a guess: a page before its owner logs in.
        AuthError::Missing => return error.into(),
        AuthError::Invalid => ("key.unknown", None),
        AuthError::Key(_, key) => ("key.refused", key),
    };
    if let Some(address) = address
        && let Err(problem) = app.rates.check_refusal(&app.limits, address)
    {
        return problem;
    }
    let subject = match (key, address) {
        (Some(key), _) => key.to_string(),
        (None, Some(address)) => address.to_string(),
        (None, None) => String::new(),
    };
    let entry = format!("{action} {subject}");
    if !app.audit.is_due(&entry) {
        return error.into();
    }
    let actor = key.map_or(AuditActor::Stranger, AuditActor::Key);
    // The tenant's administrators can see the entry, and entries about a user are erased with the user.
    let (tenant, user) = key.and_then(|key| app.tenants.holder(key)).unzip();
    let by = AuditSubject { actor, user: user.flatten(), address: address.map(|address| address.to_string()) };
    match within(app.limits.request, app.tenants.audit(NewAuditRecord::new(action, tenant, by))).await {
        Ok(Ok(())) => app.audit.mark_recorded(entry),
        Ok(Err(error)) => tracing::error!(code = error.code(), "the audit log could not be written"),
        Err(_) => tracing::error!("the audit log could not be written in time"),
    }
    error.into()
}

impl AuditRecorder {
    async fn record(&self, tenants: &Tenants, principal: &Principal, rule: Rule, path: &str) -> ApiResult<()> {
        let by = || principal.audit_subject.clone();
        if let Credential::Key(key) = &principal.credential {
            let entry = format!("key.use {} {:?}", key.key.id, principal.audit_subject.address);
            self.record_once(tenants, entry, || NewAuditRecord::new("key.use", Some(principal.tenant), by())).await?;
        }
        let subject = RequestSubject::of(rule, path);
        match rule.audited {
            Some(action) => {
                // Recorded in the tenant concerned, so that its administrators can see it.
                let about = subject.tenant.unwrap_or(principal.tenant);
                Ok(tenants.audit(NewAuditRecord::new(action, Some(about), by()).detail(&subject)).await?)
            }
            None if is_read_by_admin(tenants, principal, rule) => {
                let RequestSubject { operation, conversation, message, .. } = &subject;
                let actor = principal.audit_subject.actor;
                let entry = format!("read {actor:?} {operation} {conversation:?} {message:?}");
                let record = || NewAuditRecord::new("read", Some(principal.tenant), by()).detail(&subject);
                self.record_once(tenants, entry, record).await
            }
            None => Ok(()),
        }
    }

    /// Writes an audit entry, unless the same one was written recently.
    async fn record_once(
        &self,
        tenants: &Tenants,
        entry: String,
        record: impl FnOnce() -> NewAuditRecord,
    ) -> ApiResult<()> {
        if self.is_due(&entry) {
            tenants.audit(record()).await?;
            self.mark_recorded(entry);
        }
        Ok(())
    }

    fn is_due(&self, entry: &str) -> bool {
        let recorded = self.recorded.lock();
        recorded.get(entry).is_none_or(|at| at.elapsed() >= AUDIT_INTERVAL)
    }

    /// Marks an entry as written; only called once it is in the log.
    fn mark_recorded(&self, entry: String) {
        let mut recorded = self.recorded.lock();
        if recorded.len() >= REMEMBERED_MAX {
            recorded.retain(|_, at| at.elapsed() < AUDIT_INTERVAL);
        }
        if recorded.len() >= REMEMBERED_MAX {
            recorded.clear();
        }
        recorded.insert(entry, Instant::now());
    }
}

/// Returns whether an administrator reads data that may belong to a user.
fn is_read_by_admin(tenants: &Tenants, principal: &Principal, rule: Rule) -> bool {
    let reads = rule.access == Access::Scope(KeyScope::Read);
    reads && principal.credential.is_admin() && tenants.has_users(principal.tenant)
}
