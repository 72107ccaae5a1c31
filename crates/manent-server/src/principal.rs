//! Who sent a request, and what it may reach.

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

/// What somebody showed.
#[derive(Clone)]
pub enum Who {
    /// The token of the server.
    Token,
    /// A key.
    Key(Pass),
}

impl Who {
    /// Says it to the audit log.
    pub fn by(&self, address: Option<IpAddr>) -> By {
        let (actor, user) = match self {
            Self::Token => (AuditActor::Token, None),
            Self::Key(pass) => (AuditActor::Key(pass.key.id), pass.key.user.clone()),
        };
        By { actor, user, address: address.map(|address| address.to_string()) }
    }

    /// Whose store it opens.
    pub fn tenant(&self) -> TenantId {
        match self {
            Self::Token => DEFAULT_TENANT,
            Self::Key(pass) => pass.key.tenant,
        }
    }

    /// Says whether it may do what an operation needs.
    pub fn may(&self, need: Need) -> Answer<()> {
        let refused = |why: String| Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", why));
        match (need, self) {
            (Need::Nothing | Need::Entry, _) | (_, Self::Token) => Ok(()),
            (Need::Scope(scope), Self::Key(pass)) if pass.key.scopes.holds(scope) => Ok(()),
            (Need::Tenant, Self::Key(_)) if self.is_admin() => Ok(()),
            (Need::Tenant, Self::Key(_)) => {
                refused("this needs a key with the scope admin and without limits".to_owned())
            }
            (Need::Scope(scope), Self::Key(_)) => refused(format!("this needs a key with the scope {}", scope.word())),
            (Need::Token, Self::Key(_)) => refused("this needs the token of the server".to_owned()),
        }
    }

    /// Refuses what takes everything to a key that reaches a part.
    pub fn reaches_everything(&self) -> Answer<()> {
        match self {
            Self::Key(pass) if pass.key.realm().is_limited() => {
                let why = "this needs a key without limits";
                Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", why))
            }
            Self::Token | Self::Key(_) => Ok(()),
        }
    }

    /// Says whether it may look at what belongs to people without being one of them.
    pub fn is_admin(&self) -> bool {
        match self {
            Self::Token => true,
            Self::Key(pass) => pass.key.scopes.holds(KeyScope::Admin) && !pass.key.realm().is_limited(),
        }
    }

    /// Waits until it lets nobody in any more.
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

/// Who sent a request, and the part of the store that is theirs.
#[derive(Clone)]
pub struct Principal {
    /// What they showed.
    pub who: Who,
    /// Whose store it is.
    pub tenant: TenantId,
    /// The store, as far as they reach.
    pub database: Database,
    /// How the audit log names them.
    pub by: By,
    /// The session of the page that they came with.
    pub session: Option<Arc<str>>,
}

impl Principal {
    /// Returns a path of the server as they may see it: where files lie is for whoever has the token.
    pub fn shown_path(&self, path: &str) -> String {
        let name = || Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        match self.who {
            Who::Token => path.to_owned(),
            Who::Key(_) => name().unwrap_or_default(),
        }
    }

    /// Returns the user that they act for.
    pub fn user(&self) -> Option<&str> {
        self.by.user.as_deref()
    }
}
