//! Sessions of the page: begun with the token, carried by a cookie that scripts cannot read.

use crate::app::App;
use crate::extract::Json;
use crate::operation::{Operation, group};
use crate::problem::{Answer, Problem};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::AppendHeaders;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::POST, "/session", "beginSession", begin)
            .says("Begins a session of the page with the token; the answer sets its cookie.")
            .body::<Login>(),
        Operation::new(Method::GET, "/session", "getSession", get)
            .says("Says whether one is in, and what this server is.")
            .answers::<Session>(200),
        Operation::new(Method::DELETE, "/session", "endSession", end).says("Ends the session."),
    ];
    group("Sessions", operations)
}

/// The way in.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Login {
    /// The token of the server.
    token: String,
}

/// What this server is.
#[derive(Debug, Serialize, JsonSchema)]
struct Session {
    /// Its version.
    version: String,
}

type Cookie = (StatusCode, AppendHeaders<[(header::HeaderName, String); 1]>);

async fn begin(State(app): State<App>, Json(login): Json<Login>) -> Answer<Cookie> {
    if !app.auth.is_token(&login.token) {
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "the token is not the one of this server"));
    }
    Ok(cookie(app.auth.begin().map_err(kept)?))
}

async fn get() -> axum::Json<Session> {
    axum::Json(Session { version: env!("CARGO_PKG_VERSION").to_owned() })
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
