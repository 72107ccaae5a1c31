//! Sessions of the page: begun with the token or a key, carried by a cookie that scripts cannot read.

use crate::app::App;
use crate::connections::Peer;
use crate::extract::{Asker, Json};
use crate::operation::{Need, Operation, group};
use crate::principal::Who;
use crate::problem::{Answer, Problem};
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::AppendHeaders;
use manent::model::{KeyScope, KeyScopes, ProjectId, TenantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub(super) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::POST, "/session", "beginSession", begin)
            .needs(Need::Nothing)
            .says("Begins a session of the page with the token or a key; the answer sets its cookie.")
            .body::<Login>(),
        Operation::new(Method::GET, "/session", "getSession", get)
            .needs(Need::Entry)
            .says("Says whether one is in, and what this server is.")
            .answers::<Session>(200),
        Operation::new(Method::DELETE, "/session", "endSession", end).needs(Need::Entry).says("Ends the session."),
    ];
    group("Sessions", operations)
}

/// The way in.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Login {
    /// The token of the server, or a key.
    token: String,
}

/// What this server is.
#[derive(Debug, Serialize, JsonSchema)]
struct Session {
    /// Its version.
    version: String,
    /// Whose store it is.
    tenant: TenantId,
    /// What one may do; everything with the token.
    scopes: KeyScopes,
    /// The user that one acts for.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    /// The projects that one is limited to.
    #[serde(skip_serializing_if = "Option::is_none")]
    projects: Option<BTreeSet<ProjectId>>,
    /// One has the token, so that one may look after all tenants.
    token: bool,
}

type Cookie = (StatusCode, AppendHeaders<[(header::HeaderName, String); 1]>);

async fn begin(State(app): State<App>, peer: Option<Extension<Peer>>, Json(login): Json<Login>) -> Answer<Cookie> {
    let address = peer.map(|Extension(peer)| peer.0);
    match app.auth.know(&app.tenants, &login.token) {
        Ok(who) => {
            app.witness.count(&app.limits, &who, address)?;
            Ok(cookie(app.auth.begin(&who).map_err(kept)?))
        }
        Err(refused) => Err(app.witness.refuse(&app, refused, address).await),
    }
}

async fn get(Asker(asker): Asker) -> axum::Json<Session> {
    let (version, tenant) = (env!("CARGO_PKG_VERSION").to_owned(), asker.tenant);
    axum::Json(match &asker.who {
        Who::Token => {
            let scopes = [KeyScope::Admin].into_iter().collect();
            Session { version, tenant, scopes, user: None, projects: None, token: true }
        }
        Who::Key(pass) => {
            let (scopes, user, projects) = (pass.key.scopes.clone(), pass.key.user.clone(), pass.key.projects.clone());
            Session { version, tenant, scopes, user, projects, token: false }
        }
    })
}

async fn end(State(app): State<App>, headers: HeaderMap) -> Answer<Cookie> {
    Ok(cookie(app.auth.end(&headers).map_err(kept)?))
}

fn cookie(cookie: String) -> Cookie {
    (StatusCode::NO_CONTENT, AppendHeaders([(header::SET_COOKIE, cookie)]))
}

fn kept(error: std::io::Error) -> Problem {
    tracing::error!(%error, "sessions could not be kept");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "file", "sessions could not be kept")
}
