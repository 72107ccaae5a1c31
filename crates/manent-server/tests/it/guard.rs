//! Who gets in, and by which name.

use crate::kit::{PageSession, Running, TOKEN};
use manent::{Location, Tenants};
use manent_server::{Limits, Secret, ServeOptions, Server, StartProblem};
use manent_testing::http::{Answer, Events};
use serde_json::Value;

fn code(answer: &Answer) -> String {
    let problem: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    assert_eq!(answer.header("content-type"), "application/problem+json", "{}", answer.text());
    assert_eq!(problem["status"], answer.status.as_u16());
    problem["code"].as_str().unwrap_or_default().to_owned()
}

async fn list(server: &Running, headers: &[(&str, &str)]) -> (u16, String) {
    let answer = server.stranger().await.send("GET", "/api/v1/conversations", headers, "").await.expect("an answer");
    let status = answer.status.as_u16();
    (status, if status == 200 { String::new() } else { code(&answer) })
}

#[tokio::test]
async fn only_the_token_lets_in() {
    let server = Running::start().await;
    assert_eq!(list(&server, &[]).await, (401, "unauthorized".to_owned()));
    for wrong in [
        "Bearer mnt_tes",
        "Bearer mnt_test_4f1c9a72e6b805d3x",
        "Bearer ",
        "Bearer",
        "Basic mnt_test_4f1c9a72e6b805d3",
        "mnt_test_4f1c9a72e6b805d3",
        "",
    ] {
        assert_eq!(list(&server, &[("authorization", wrong)]).await, (401, "unauthorized".to_owned()), "{wrong}");
    }
    assert_eq!(list(&server, &[("authorization", "Bearer mnt_test_4f1c9a72e6b805d3")]).await.0, 200);
    assert_eq!(list(&server, &[("authorization", "bearer mnt_test_4f1c9a72e6b805d3")]).await.0, 200);
    server.stop().await;
}

#[tokio::test]
async fn every_operation_needs_the_token() {
    let server = Running::start().await;
    let mut stranger = server.stranger().await;
    for operation in manent_server::operations() {
        if operation.id == "beginSession" {
            continue;
        }
        let path = format!("/api/v1{}", operation.path);
        let headers = [("content-type", "application/json")];
        let answer = stranger.send(operation.method.as_str(), &path, &headers, "{}").await.expect("an answer");
        assert_eq!(answer.status.as_u16(), 401, "{} {path}", operation.method);
    }
    server.stop().await;
}

#[tokio::test]
async fn an_unknown_name_is_refused_before_anything_else() {
    let server = Running::start().await;
    let token = ("authorization", "Bearer mnt_test_4f1c9a72e6b805d3");
    let port = server.address.port();
    for (host, status) in [
        ("evil.test".to_owned(), 403),
        (format!("evil.test:{port}"), 403),
        (format!("127.0.0.1.evil.test:{port}"), 403),
        ("127.0.0.1:1".to_owned(), 403),
        (format!("user@127.0.0.1:{port}"), 403),
        (format!("localhost:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        ("manent.test".to_owned(), 200),
        ("manent.test:443".to_owned(), 200),
    ] {
        assert_eq!(list(&server, &[token, ("host", &host)]).await.0, status, "{host}");
    }
    server.stop().await;
}

#[tokio::test]
async fn other_sites_are_refused() {
    let server = Running::start().await;
    let token = ("authorization", "Bearer mnt_test_4f1c9a72e6b805d3");
    let own = format!("http://{}", server.address);
    assert_eq!(list(&server, &[token, ("origin", &own)]).await.0, 200);
    for origin in ["http://evil.test", "null", "http://127.0.0.1:1", "https://127.0.0.1", ""] {
        assert_eq!(list(&server, &[token, ("origin", origin)]).await, (403, "origin".to_owned()), "{origin}");
    }
    for site in ["cross-site", "same-site"] {
        assert_eq!(list(&server, &[token, ("sec-fetch-site", site)]).await, (403, "origin".to_owned()), "{site}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_form_of_another_site_cannot_write() {
    let server = Running::start().await;
    let mut client = server.stranger().await;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""] {
        let headers = [("authorization", "Bearer mnt_test_4f1c9a72e6b805d3"), ("content-type", kind)];
        let answer = client.send("POST", "/api/v1/conversations", &headers, "{}").await.expect("an answer");
        assert_eq!((answer.status.as_u16(), code(&answer)), (415, "content_type".to_owned()), "{kind}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_session_begins_with_the_token_and_ends_for_good() {
    let server = Running::start().await;
    let mut client = server.stranger().await;
    let json = ("content-type", "application/json");
    let wrong = client.send("POST", "/api/v1/session", &[json], r#"{"token":"x"}"#).await.expect("an answer");
    assert_eq!(wrong.status.as_u16(), 401);
    let session = PageSession::begin(&server, TOKEN).await;
    let cookie = &session.set_cookie;
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Path=/"), "{cookie}");
    assert!(cookie.contains("Max-Age=86400"), "{cookie}");
    assert_eq!(list(&server, &session.headers()).await.0, 200);
    let kept = std::fs::read_to_string(server.path("sessions.json")).expect("kept");
    let secret = session.cookie.split('=').nth(1).expect("a value");
    assert!(!kept.contains(secret) && !kept.contains(&session.secret), "the secrets themselves are nowhere on disk");
    let ended = client.send("DELETE", "/api/v1/session", &session.headers(), "").await.expect("an answer");
    assert_eq!(ended.status.as_u16(), 204);
    assert_eq!(list(&server, &session.headers()).await.0, 401);
    server.stop().await;
}

#[tokio::test]
async fn session_cookie_without_the_secret_of_the_page_is_refused() {
    let server = Running::start().await;
    let (session, other) = (PageSession::begin(&server, TOKEN).await, PageSession::begin(&server, TOKEN).await);
    let cookie = ("cookie", session.cookie.as_str());
    assert_eq!(list(&server, &[cookie]).await, (401, "unauthorized".to_owned()));
    for wrong in ["", "x", &other.secret, &session.cookie] {
        assert_eq!(list(&server, &[cookie, ("manent-session", wrong)]).await.0, 401, "{wrong}");
    }
    assert_eq!(list(&server, &[("manent-session", &session.secret)]).await.0, 401);
    assert_eq!(list(&server, &session.headers()).await.0, 200);
    server.stop().await;
}

#[tokio::test]
async fn session_end_cuts_its_open_streams() {
    let server = Running::start().await;
    let session = PageSession::begin(&server, TOKEN).await;
    let (mut reader, mut client) = (server.stranger().await, server.stranger().await);
    let mut headers = session.headers().to_vec();
    headers.push(("accept", "text/event-stream"));
    let response = reader.begin("GET", "/api/v1/journal?after=end", &headers, "").await.expect("an answer");
    assert_eq!(response.status().as_u16(), 200);
    let mut events = Events::of(response);
    let ended = client.send("DELETE", "/api/v1/session", &session.headers(), "").await.expect("an answer");
    assert_eq!(ended.status.as_u16(), 204);
    let cut = tokio::time::timeout(std::time::Duration::from_secs(60), events.next()).await;
    assert!(matches!(cut, Ok(Err(_) | Ok(None))), "the stream goes on: {cut:?}");
    server.stop().await;
}

#[tokio::test]
async fn two_host_headers_are_refused() {
    let server = Running::start().await;
    let own = server.address.to_string();
    let token = ("authorization", "Bearer mnt_test_4f1c9a72e6b805d3");
    for hosts in [[own.as_str(), "evil.test"], ["evil.test", own.as_str()], [own.as_str(), own.as_str()]] {
        let (status, code) = list(&server, &[token, ("host", hosts[0]), ("host", hosts[1])]).await;
        assert_eq!((status, code.as_str()), (400, "invalid"), "{hosts:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_weak_token_is_refused_at_the_start() {
    for weak in ["secret", "mnt_test", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "1234512345123451234512345"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let tenants = Tenants::open(&Location::of(folder.path().join("manent.db")), None).expect("a new store");
        let options = ServeOptions {
            listen: "127.0.0.1:0".parse().expect("an address"),
            hosts: Vec::new(),
            home: folder.path().to_owned(),
            backups: None,
            limits: Limits::default(),
        };
        let started = Server::bind(tenants, options, Some(Secret::given(weak))).await;
        assert!(matches!(started, Err(StartProblem::WeakToken)), "{weak}");
    }
}

#[tokio::test]
async fn answers_carry_what_protects_a_browser() {
    let server = Running::start().await;
    for path in ["/", "/docs/api", "/api/v1/conversations", "/nowhere.js", "/healthz"] {
        let answer = server.stranger().await.send("GET", path, &[], "").await.expect("an answer");
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert!(answer.header("access-control-allow-origin").is_empty(), "{path}");
        assert!(!answer.header("x-request-id").is_empty(), "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn other_machines_are_not_let_in_by_accident() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = manent::Location::of(folder.path().join("manent.db"));
    let tenants = manent::Tenants::open(&place, None).expect("a new store");
    let options = manent_server::ServeOptions {
        listen: "0.0.0.0:0".parse().expect("an address"),
        hosts: Vec::new(),
        home: folder.path().to_owned(),
        backups: None,
        limits: manent_server::Limits::default(),
    };
    let refused = manent_server::Server::bind(tenants, options, None).await;
    assert!(matches!(refused.err(), Some(manent_server::StartProblem::Exposed { .. })));
}
