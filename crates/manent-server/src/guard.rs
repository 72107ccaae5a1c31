//! Middleware before every handler: host and origin checks, authentication, idempotency keys, limits, timeouts,
//! request log.

use crate::app::App;
use crate::auth::{AuthError, Authenticated};
use crate::budget::Reservation;
use crate::concurrency::TenantShare;
use crate::connections::Peer;
use crate::extract::read_body;
use crate::idempotency;
use crate::operation::{Access, Rule};
use crate::principal::{Credential, Principal};
use crate::problem::{ApiResult, Code, Problem};
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::uri::{Authority, PathAndQuery};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::{FutureExt, StreamExt};
use manent::model::TenantId;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Identifies the request in the log and in the response.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Documented in the API description.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

const KEY_MAX: usize = 200;

/// Maximum body size of unauthenticated requests.
const UNAUTHENTICATED_BODY_MAX: usize = 4 << 10;

/// Timeout of unauthenticated requests.
const UNAUTHENTICATED: Duration = Duration::from_secs(10);

/// Content security policy: scripts, styles and requests only from this origin; no embedding, no form targets
/// elsewhere.
const CONTENT_SECURITY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types manent svelte-trusted-html";

/// Allowed `Host` names.
#[derive(Debug, Clone)]
pub struct Hosts {
    names: Vec<String>,
    port: u16,
}

impl Hosts {
    /// Allows loopback names and the given additional ones.
    pub fn new(more: &[String], port: u16) -> Self {
        let loopback = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned);
        let names = loopback.into_iter().chain(more.iter().map(|name| name.to_ascii_lowercase())).collect();
        Self { names, port }
    }

    fn allows(&self, authority: &str) -> bool {
        let Some(authority) = authority.parse::<Authority>().ok().filter(|_| !authority.contains('@')) else {
            return false;
        };
        let known = self.names.iter().any(|name| name.eq_ignore_ascii_case(authority.host()));
        // An allowed name may be served by a proxy on a port of its own.
        let own_port = authority.port_u16().is_none_or(|port| port == self.port);
        known && (own_port || !is_loopback(authority.host()))
    }
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

/// The idempotency key of a write.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    pub text: String,
    /// Whether the client sent it, so that the request may be retried; otherwise the server generated it.
    pub is_given: bool,
}

/// Admits or refuses a request, and turns a panic of its handler into a 500.
pub async fn guard(State((app, hosts)): State<(App, Arc<Hosts>)>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = crate::secret::Secret::random("").reveal()[..16].to_owned();
    let (method, path) = (request.method().clone(), path_of(&request));
    let is_write = !matches!(method, Method::GET | Method::HEAD);
    let rule = app.rules.get(&method, &path);
    let entering = authenticate(&app, rule, credentials(&app, &hosts, rule, &request));
    // The request timeout also covers opening a slow store and writing the audit log.
    let entered = tokio::time::timeout(app.limits.request, entering).await.unwrap_or_else(|_| Err(timed_out()));
    let (entered, outcome) = match entered {
        Err(problem) => (None, problem.into_response()),
        Ok(entered) => {
            let response = match validate(is_write, &request) {
                Err(problem) => problem.into_response(),
                Ok(key) => {
                    key.clone().map(|key| request.extensions_mut().insert(key));
                    let mut response = run(&app, rule, entered.clone(), request, next).await;
                    if let Some(key) = key.and_then(|key| HeaderValue::from_str(&key.text).ok()) {
                        response.headers_mut().insert(IDEMPOTENCY_KEY, key);
                    }
                    response
                }
            };
            (entered, response)
        }
    };
    let response = with_headers(outcome, &id);
    let (status, took) = (response.status().as_u16(), started.elapsed());
    if let Some(principal) = &entered {
        app.metrics.count(principal.tenant, status, took);
    }
    let milliseconds = took.as_millis() as u64;
    let code = response.extensions().get::<Code>().map(|code| code.0.as_str());
    // Successful requests are logged at debug level; MANENT_LOG=manent_server=debug shows them.
    match status {
        500.. => tracing::error!(request = id, %method, path, status, code, milliseconds, "answered"),
        400.. => tracing::info!(request = id, %method, path, status, code, milliseconds, "answered"),
        _ => tracing::debug!(request = id, %method, path, status, code, milliseconds, "answered"),
    }
    response
}

/// The route pattern, for the log. Never the query or the raw path: both may contain user content.
fn path_of(request: &Request) -> String {
    request.extensions().get::<MatchedPath>().map_or("-", MatchedPath::as_str).to_owned()
}

/// What authentication needs of a request.
struct Credentials {
    /// The raw path and query; it may contain user content.
    path: String,
    address: Option<IpAddr>,
    /// `None` for routes without authentication.
    who: Option<Result<Authenticated, AuthError>>,
    need: Access,
}

fn credentials(app: &App, hosts: &Hosts, rule: Option<Rule>, request: &Request) -> ApiResult<Credentials> {
    check(hosts, request)?;
    let path = request.uri().path_and_query().map_or("", PathAndQuery::as_str).to_owned();
    // Unknown routes require authentication too, so that unauthenticated callers cannot probe for routes.
    let need = match rule {
        Some(rule) => rule.access,
        None if path.starts_with(crate::operation::BASE) => Access::Authenticated,
        None => Access::Public,
    };
    let address = request.extensions().get::<Peer>().map(|peer| peer.0);
    let who = (need != Access::Public).then(|| app.auth.authenticate(&app.tenants, request.headers()));
    Ok(Credentials { path, address, who, need })
}

/// Authenticates and authorizes a request; `None` for routes without authentication.
async fn authenticate(app: &App, rule: Option<Rule>, shown: ApiResult<Credentials>) -> ApiResult<Option<Principal>> {
    let Credentials { path, address, who, need } = shown?;
    let Authenticated { who, session } = match who {
        None => return Ok(None),
        Some(Ok(admitted)) => admitted,
        Some(Err(refused)) => return Err(app.witness.refuse(app, refused, address).await),
    };
    let tenant = who.tenant();
    let counted = app.witness.count(&app.limits, &who, address).and_then(|()| who.authorize(need));
    if let Err(problem) = counted {
        app.metrics.count(tenant, problem.status, Duration::ZERO);
        return Err(problem);
    }
    let session = session.map(Arc::from);
    let principal = Principal { session, ..principal(app, who, address).await? };
    if let Some(rule) = rule {
        app.witness.record(&app.tenants, &principal, rule, &path).await?;
    }
    Ok(Some(principal))
}

/// Opens the store of the caller.
async fn principal(app: &App, who: Credential, address: Option<IpAddr>) -> ApiResult<Principal> {
    let (by, tenant) = (who.by(address), who.tenant());
    let database = match &who {
        Credential::Token => app.tenants.home().clone(),
        Credential::Key(pass) => app.tenants.granted(pass).await?,
    };
    Ok(Principal { credential: who, tenant, database, audit_subject: by, session: None })
}

/// Checks headers and reads the idempotency key of a write; refuses what a cross-site form could send.
fn validate(is_write: bool, request: &Request) -> ApiResult<Option<IdempotencyKey>> {
    let has_body = matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH);
    if has_body && !text(request.headers(), header::CONTENT_TYPE).is_some_and(is_body_accepted) {
        let why =
            "send application/json (blobs and files: application/octet-stream, our own lines: application/x-ndjson)";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content_type", why));
    }
    match is_write {
        true => key_of(request.headers()).map(Some),
        false => Ok(None),
    }
}

fn check(hosts: &Hosts, request: &Request) -> ApiResult<()> {
    let headers = request.headers();
    let refused = |code, why: &str| Problem::new(StatusCode::FORBIDDEN, code, why);
    // With several `Host` headers, a proxy may have checked a different one.
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Err(Problem::invalid("more than one `Host` header; send exactly one"));
    }
    let host = request.uri().authority().map(Authority::as_str).or_else(|| text(headers, header::HOST));
    let Some(host) = host.filter(|host| hosts.allows(host)) else {
        return Err(refused("host", "`Host` header not allowed; add it with --allow-host"));
    };
    if let Some(origin) = headers.get(header::ORIGIN) {
        let same =
            origin.to_str().ok().and_then(|origin| origin.split_once("://")).is_some_and(|(_, from)| from == host);
        if !same {
            return Err(refused("origin", "cross-origin request refused"));
        }
    }
    let foreign = text(headers, HeaderName::from_static("sec-fetch-site"))
        .is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let navigates = text(headers, HeaderName::from_static("sec-fetch-mode")) == Some("navigate");
    if foreign && !(navigates && request.method() == Method::GET) {
        return Err(refused("origin", "cross-origin request refused"));
    }
    Ok(())
}

/// Content types that a cross-site form cannot send.
fn is_body_accepted(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    ["application/json", "application/octet-stream", "application/x-ndjson"]
        .iter()
        .any(|accepted| essence.eq_ignore_ascii_case(accepted))
}

fn key_of(headers: &HeaderMap) -> Result<IdempotencyKey, Problem> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else {
        return Ok(IdempotencyKey { text: manent::request_key(), is_given: false });
    };
    match value.to_str() {
        Ok(text) if (1..=KEY_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(IdempotencyKey { text: text.to_owned(), is_given: true })
        }
        _ => Err(Problem::invalid("an Idempotency-Key has 1 to 200 visible ASCII characters")),
    }
}

/// Runs a handler with a timeout, while the caller stays authorized, and catches panics.
async fn run(
    app: &App,
    rule: Option<Rule>,
    principal: Option<Principal>,
    mut request: Request,
    next: Next,
) -> Response {
    let tenant = principal.as_ref().map(|principal| principal.tenant);
    // Unauthenticated callers leave room for authenticated ones.
    let share = if tenant.is_some() { app.share() } else { TenantShare::Half };
    // Page assets and health checks read no body and wait for nothing, so they need no permit.
    let place = app.requests.acquire(tenant, share);
    if place.is_none() && rule.is_some() {
        let why = "too many concurrent requests";
        return Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", why).into_response();
    }
    // Held until the handler has responded.
    let mut reservation = app.budget.begin(tenant, share);
    let ended = {
        let who = principal.as_ref().map(|principal| principal.credential.clone());
        let session = principal.as_ref().and_then(|principal| principal.session.clone());
        let auth = app.auth.clone();
        move || async move {
            let key_ended = async {
                match who {
                    Some(who) => who.ended().await,
                    None => std::future::pending().await,
                }
            };
            let session_ended = async {
                match session {
                    Some(session) => auth.ended(&session).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = key_ended => {}
                () = session_ended => {}
            }
        }
    };
    principal.map(|principal| request.extensions_mut().insert(principal));
    let answered = async {
        let answered = within_time(app, rule, tenant, &mut reservation, request, next);
        match tenant.filter(|_| app.tenants.are_several()) {
            Some(tenant) => app.lines.run(tenant, answered).await,
            None => answered.await,
        }
    };
    tokio::select! {
        // The logout request itself gets its response although it ends its own session.
        biased;
        response = answered => until(response, ended),
        () = ended.clone()() => {
            key_ended().into_response()
        }
    }
}

/// Problem for a caller whose key was revoked or expired during the request.
pub fn key_ended() -> Problem {
    let why = "the key was revoked or has expired during the request; earlier writes are kept";
    Problem::new(StatusCode::UNAUTHORIZED, "key_ended", why)
}

fn timed_out() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "time_out", "the request took too long")
}

/// Aborts a streaming response when its caller is no longer authorized.
fn until<Ended>(response: Response, ended: impl FnOnce() -> Ended) -> Response
where
    Ended: Future<Output = ()> + Send + 'static,
{
    let (parts, body) = response.into_parts();
    if http_body::Body::size_hint(&body).exact().is_some() {
        return Response::from_parts(parts, body);
    }
    let state = Some((body.into_data_stream(), Box::pin(ended())));
    let pieces = futures_util::stream::unfold(state, |state| async move {
        let (mut pieces, mut ended) = state?;
        tokio::select! {
            // A partial body must not be taken for the whole, so it is aborted and not ended.
            () = &mut ended => Some((Err(axum::Error::new(std::io::Error::other("the key has ended"))), None)),
            piece = pieces.next() => Some((piece?, Some((pieces, ended)))),
        }
    });
    Response::from_parts(parts, Body::from_stream(pieces))
}

async fn within_time(
    app: &App,
    rule: Option<Rule>,
    tenant: Option<TenantId>,
    reservation: &mut Reservation,
    request: Request,
    next: Next,
) -> Response {
    let answered = AssertUnwindSafe(run_with_body(app, rule, tenant, reservation, request, next)).catch_unwind();
    let time = match rule.is_some_and(|rule| rule.has_no_timeout) {
        true => Duration::MAX,
        false if tenant.is_some() => app.limits.request,
        false => app.limits.request.min(UNAUTHENTICATED),
    };
    match tokio::time::timeout(time, answered).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => Problem::internal().into_response(),
        Err(_) => timed_out().into_response(),
    }
}

/// Runs a handler within the byte budget: JSON bodies are reserved as they arrive, large reads have a concurrency
/// limit, and their responses stay reserved until they are sent.
async fn run_with_body(
    app: &App,
    rule: Option<Rule>,
    tenant: Option<TenantId>,
    reservation: &mut Reservation,
    request: Request,
    next: Next,
) -> Response {
    let Some(rule) = rule else { return next.run(request).await };
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if !is_read && rule.takes_json {
        let limit = if rule.access == Access::Public { UNAUTHENTICATED_BODY_MAX } else { app.limits.body_bytes };
        let (parts, body) = request.into_parts();
        return match read_body(body, limit, reservation).await {
            Ok(body) => idempotency::run(app, parts, body, next).await,
            Err(problem) => problem.into_response(),
        };
    }
    let response = match tenant.filter(|_| rule.is_large) {
        Some(tenant) => app.large_reads.run(tenant, next.run(request)).await,
        None => next.run(request).await,
    };
    match is_read {
        true => within_budget(app, tenant, response).await,
        false => response,
    }
}

/// Reserves the bytes of a response until the last of them is sent; a streamed response is always small.
async fn within_budget(app: &App, tenant: Option<TenantId>, response: Response) -> Response {
    let Some(size) = http_body::Body::size_hint(response.body()).exact() else { return response };
    let share = if tenant.is_some() { app.share() } else { TenantShare::Half };
    let mut reservation = app.budget.begin(tenant, share);
    if let Err(problem) = reservation.grow(usize::try_from(size).unwrap_or(usize::MAX)) {
        return problem.into_response();
    }
    let (parts, body) = response.into_parts();
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(bytes) => Response::from_parts(parts, Body::from(reservation.attach(bytes))),
        Err(_) => Problem::invalid("the answer could not be written").into_response(),
    }
}

fn with_headers(mut response: Response, id: &str) -> Response {
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::CACHE_CONTROL, "no-store");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()");
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
    response
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
