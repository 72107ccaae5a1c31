//! Browser sessions: started with the server token or an API key, carried by an HttpOnly cookie and by a second secret
//! that the page stores for its origin.

use crate::app::App;
use crate::auth::principal::Credential;
use crate::http::connections::Peer;
use crate::middleware::audit::refused;
use crate::problem::{ApiResult, Problem};
use crate::wire::native::extract::{Caller, Json};
use crate::wire::native::operation::{Access, Operation, group};
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::AppendHeaders;
use manent::model::{KeyScope, KeyScopes, ProjectId, TenantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub(crate) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::POST, "/session", "beginSession", begin)
            .access(Access::Public)
            .summary(
                "Starts a session of the page with the token or a key. The response sets a cookie; requests with the cookie also need the secret as `Manent-Session`.",
            )
            .body::<Login>()
            .response::<SessionSecret>(201),
        Operation::new(Method::GET, "/session", "getSession", get)
            .access(Access::Authenticated)
            .summary("Returns the current session and server version.")
            .response::<Session>(200),
        Operation::new(Method::DELETE, "/session", "endSession", end).access(Access::Authenticated).summary("Ends the session and its streams."),
    ];
    group("Sessions", operations)
}

/// Login request.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Login {
    /// The server token, or an API key.
    token: String,
}

/// A started session.
#[derive(Serialize, JsonSchema)]
struct SessionSecret {
    /// Secret that requests of the session send as `Manent-Session`, in addition to the cookie.
    secret: String,
}

/// Server version and permissions of the caller.
#[derive(Debug, Serialize, JsonSchema)]
struct Session {
    /// Server version.
    version: String,
    /// Tenant of the caller.
    tenant: TenantId,
    /// Scopes of the caller; all of them with the server token.
    scopes: KeyScopes,
    /// User that the caller acts for.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    /// Projects that the caller is limited to.
    #[serde(skip_serializing_if = "Option::is_none")]
    projects: Option<BTreeSet<ProjectId>>,
    /// Whether the caller used the server token, which administers all tenants.
    token: bool,
}

type Cookie = AppendHeaders<Option<(header::HeaderName, String)>>;

async fn begin(
    State(app): State<App>,
    peer: Option<Extension<Peer>>,
    Json(login): Json<Login>,
) -> ApiResult<(StatusCode, Cookie, axum::Json<SessionSecret>)> {
    let address = peer.map(|Extension(peer)| peer.0);
    match app.auth.resolve(&app.tenants, &login.token) {
        Ok(who) => {
            app.rates.check(&app.limits, &who, address)?;
            let begun = app.auth.begin(&who);
            let entrance = SessionSecret { secret: begun.secret.reveal().to_owned() };
            Ok((StatusCode::CREATED, cookie(Some(begun.cookie)), axum::Json(entrance)))
        }
        Err(error) => Err(refused(&app, error, address).await),
    }
}

async fn get(State(app): State<App>, Caller(asker): Caller, headers: HeaderMap) -> (Cookie, axum::Json<Session>) {
    let (version, tenant) = (env!("CARGO_PKG_VERSION").to_owned(), asker.tenant);
    let session = match &asker.credential {
        Credential::Token => {
            let scopes = [KeyScope::Admin].into_iter().collect();
            Session { version, tenant, scopes, user: None, projects: None, token: true }
        }
        Credential::Key(pass) => {
            let (scopes, user, projects) = (pass.key.scopes.clone(), pass.key.user.clone(), pass.key.projects.clone());
            Session { version, tenant, scopes, user, projects, token: false }
        }
    };
    (cookie(app.auth.renew(&headers)), axum::Json(session))
}

async fn end(State(app): State<App>, headers: HeaderMap) -> ApiResult<(StatusCode, Cookie)> {
    Ok((StatusCode::NO_CONTENT, cookie(Some(app.auth.end(&headers).map_err(kept)?))))
}

fn cookie(cookie: Option<String>) -> Cookie {
    AppendHeaders(cookie.map(|cookie| (header::SET_COOKIE, cookie)))
}

fn kept(error: std::io::Error) -> Problem {
    tracing::error!(%error, "sessions could not be kept");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "file", "sessions could not be kept")
}
