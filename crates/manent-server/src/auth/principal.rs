//! The authenticated caller of a request, and its access scope.

use crate::problem::{ApiResult, Problem};
use crate::wire::native::operation::Access;
use axum::http::StatusCode;
use manent::model::{AuditActor, DEFAULT_TENANT, KeyScope, TenantId, Timestamp};
use manent::store::system::AuditSubject;
use manent::{AuthenticatedKey, Database};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The credential of a caller.
#[derive(Clone)]
pub enum Credential {
    /// The server token.
    Token,
    /// An API key.
    Key(AuthenticatedKey),
}

impl Credential {
    /// Returns the actor for the audit log.
    pub fn by(&self, address: Option<IpAddr>) -> AuditSubject {
        let (actor, user) = match self {
            Self::Token => (AuditActor::Token, None),
            Self::Key(pass) => (AuditActor::Key(pass.key.id), pass.key.user.clone()),
        };
        AuditSubject { actor, user, address: address.map(|address| address.to_string()) }
    }

    /// Returns the tenant it gives access to.
    pub fn tenant(&self) -> TenantId {
        match self {
            Self::Token => DEFAULT_TENANT,
            Self::Key(pass) => pass.key.tenant,
        }
    }

    /// Checks whether it is authorized for an operation.
    pub fn authorize(&self, need: Access) -> ApiResult<()> {
        let refused = |why: String| Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", why));
        match (need, self) {
            (Access::Public | Access::Authenticated, _) | (_, Self::Token) => Ok(()),
            (Access::Scope(scope), Self::Key(pass)) if pass.key.scopes.holds(scope) => Ok(()),
            (Access::TenantAdmin, Self::Key(_)) if self.is_admin() => Ok(()),
            (Access::TenantAdmin, Self::Key(_)) => {
                refused("insufficient permissions: an unlimited key with scope admin is required".to_owned())
            }
            (Access::Scope(scope), Self::Key(_)) => {
                refused(format!("insufficient permissions: scope {} is required", scope.word()))
            }
            (Access::ServerAdmin, Self::Key(_)) => {
                refused("insufficient permissions: the server token is required".to_owned())
            }
        }
    }

    /// Refuses operations on the whole tenant to a key with limits.
    pub fn reaches_everything(&self) -> ApiResult<()> {
        match self {
            Self::Key(pass) if pass.key.access_scope().is_limited() => {
                let why = "insufficient permissions: a key without limits is required";
                Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", why))
            }
            Self::Token | Self::Key(_) => Ok(()),
        }
    }

    /// Returns whether it may read the data of users without acting for one of them.
    pub fn is_admin(&self) -> bool {
        match self {
            Self::Token => true,
            Self::Key(pass) => pass.key.scopes.holds(KeyScope::Admin) && !pass.key.access_scope().is_limited(),
        }
    }

    /// Waits until the credential is revoked or expires.
    pub async fn ended(self) {
        let Self::Key(pass) = self else { return std::future::pending().await };
        let expires = pass.key.expires_at;
        let expired = async move {
            match expires {
                Some(end) => tokio::time::sleep(until(end)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = pass.ended() => {}
            () = expired => {}
        }
    }
}

fn until(end: Timestamp) -> Duration {
    Duration::from_micros(u64::try_from(end.0.saturating_sub(manent::store::now().0)).unwrap_or(0))
}

/// The authenticated caller of a request, with its access scope.
#[derive(Clone)]
pub struct Principal {
    /// Its credential.
    pub credential: Credential,
    /// Its tenant.
    pub tenant: TenantId,
    /// The store, limited to its access scope.
    pub database: Database,
    /// Its actor in the audit log.
    pub audit_subject: AuditSubject,
    /// Its browser session.
    pub session: Option<Arc<str>>,
}

impl Principal {
    /// Returns a path on the server as the caller may see it: only the server token sees the folder.
    pub fn shown_path(&self, path: &str) -> String {
        let name = || Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        match self.credential {
            Credential::Token => path.to_owned(),
            Credential::Key(_) => name().unwrap_or_default(),
        }
    }

    /// Returns the user that the caller acts for.
    pub fn user(&self) -> Option<&str> {
        self.audit_subject.user.as_deref()
    }
}
