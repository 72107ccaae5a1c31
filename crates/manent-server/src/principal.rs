//! The authenticated caller of a request, and its access scope.

use crate::operation::Need;
use crate::problem::{Answer, Problem};
use axum::http::StatusCode;
use manent::model::{AuditActor, DEFAULT_TENANT, KeyScope, Micros, TenantId};
use manent::store::system::By;
use manent::{Database, Pass};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The credential of a caller.
#[derive(Clone)]
pub enum Who {
    /// The server token.
    Token,
    /// An API key.
    Key(Pass),
}

impl Who {
    /// Returns the actor for the audit log.
    pub fn by(&self, address: Option<IpAddr>) -> By {
        let (actor, user) = match self {
            Self::Token => (AuditActor::Token, None),
            Self::Key(pass) => (AuditActor::Key(pass.key.id), pass.key.user.clone()),
        };
        By { actor, user, address: address.map(|address| address.to_string()) }
    }

    /// Returns the tenant it gives access to.
    pub fn tenant(&self) -> TenantId {
        match self {
            Self::Token => DEFAULT_TENANT,
            Self::Key(pass) => pass.key.tenant,
        }
    }

    /// Checks whether it is authorized for an operation.
    pub fn may(&self, need: Need) -> Answer<()> {
        let refused = |why: String| Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", why));
        match (need, self) {
            (Need::Nothing | Need::Entry, _) | (_, Self::Token) => Ok(()),
            (Need::Scope(scope), Self::Key(pass)) if pass.key.scopes.holds(scope) => Ok(()),
            (Need::Tenant, Self::Key(_)) if self.is_admin() => Ok(()),
            (Need::Tenant, Self::Key(_)) => {
                refused("insufficient permissions: an unlimited key with scope admin is required".to_owned())
            }
            (Need::Scope(scope), Self::Key(_)) => {
                refused(format!("insufficient permissions: scope {} is required", scope.word()))
            }
            (Need::Token, Self::Key(_)) => refused("insufficient permissions: the server token is required".to_owned()),
        }
    }

    /// Refuses operations on the whole tenant to a key with limits.
    pub fn reaches_everything(&self) -> Answer<()> {
        match self {
            Self::Key(pass) if pass.key.realm().is_limited() => {
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
            Self::Key(pass) => pass.key.scopes.holds(KeyScope::Admin) && !pass.key.realm().is_limited(),
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

fn until(end: Micros) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
    let left = i128::from(end.0) - i128::try_from(now).unwrap_or(i128::MAX);
    Duration::from_micros(u64::try_from(left.max(0)).unwrap_or(u64::MAX))
}

/// The authenticated caller of a request, with its access scope.
#[derive(Clone)]
pub struct Principal {
    /// Its credential.
    pub who: Who,
    /// Its tenant.
    pub tenant: TenantId,
    /// The store, limited to its access scope.
    pub database: Database,
    /// Its actor in the audit log.
    pub by: By,
    /// Its browser session.
    pub session: Option<Arc<str>>,
}

impl Principal {
    /// Returns a path on the server as the caller may see it: only the server token sees the folder.
    pub fn shown_path(&self, path: &str) -> String {
        let name = || Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        match self.who {
            Who::Token => path.to_owned(),
            Who::Key(_) => name().unwrap_or_default(),
        }
    }

    /// Returns the user that the caller acts for.
    pub fn user(&self) -> Option<&str> {
        self.by.user.as_deref()
    }
}
