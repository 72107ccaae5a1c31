//! TLS to the server: encryption and certificate verification as the address requires.

use super::{Server, owner, server};
use manent_store::postgres::{PostgresOptions, PostgresStore};
use manent_store::{Store, StoreError};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn try_open(url: &str) -> Result<PostgresStore, StoreError> {
    PostgresStore::open(PostgresOptions {
        readers: 1,
        statement_timeout: Duration::from_secs(5),
        ..PostgresOptions::new(url)
    })
}

fn refused(url: &str) -> String {
    let error = try_open(url).err().unwrap_or_else(|| panic!("{url} is refused"));
    assert!(["engine", "invalid"].contains(&error.code()), "{url}: {error:?}");
    format!("{error:?}").to_lowercase()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_says_how_its_server_is_reached() {
    let Some(server) = server(&["fsync=off"]) else { return };
    let url = server.postgres.url();
    let plain = refused(&format!("{url}?sslmode=require"));
    assert!(plain.contains("tls"), "a server that cannot encrypt is not talked to: {plain}");
    let certificate = encrypt(&server, &["127.0.0.1"]).await;
    let folder = tempfile::tempdir().expect("a folder");
    let (ours, other) = (folder.path().join("our roots.pem"), folder.path().join("other.pem"));
    std::fs::write(&ours, certificate).expect("written");
    std::fs::write(&other, certified(&["127.0.0.1"]).0).expect("written");

    for settings in ["", "?sslmode=require", &trusting(&ours)] {
        let store = try_open(&format!("{url}{settings}")).expect("opens");
        assert_eq!(encrypted(&url, "manent").await, (true, false), "{settings}");
        store.close().await.expect("closes");
    }
    let store = try_open(&format!("{url}?sslmode=disable")).expect("opens");
    assert_eq!(encrypted(&url, "manent").await, (false, true));
    store.close().await.expect("closes");

    let by_name = url.replace("127.0.0.1", "localhost");
    for (stranger, problem) in [
        (format!("{url}{}", trusting(&other)), "badsignature"),
        (format!("{url}?sslmode=verify-full&sslrootcert=system"), "certificate"),
        (format!("{by_name}{}", trusting(&ours)), "notvalidforname"),
    ] {
        let why = refused(&stranger);
        assert!(why.contains(problem), "{stranger}: {why}");
    }
    let nowhere = refused(&format!("{url}{}", trusting(&folder.path().join("missing.pem"))));
    assert!(nowhere.contains("missing.pem"), "{nowhere}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_an_address_says_nothing_the_environment_says_how_its_server_is_reached() {
    let Some(server) = server(&["fsync=off"]) else { return };
    let url = server.postgres.url();
    check(&url, "require", None, "tls");
    let certificate = encrypt(&server, &["127.0.0.1"]).await;
    let folder = tempfile::tempdir().expect("a folder");
    let (ours, other) = (folder.path().join("our roots.pem"), folder.path().join("other.pem"));
    std::fs::write(&ours, certificate).expect("written");
    std::fs::write(&other, certified(&["127.0.0.1"]).0).expect("written");
    check(&url, "disable", None, PLAIN);
    check(&url, "require", None, ENCRYPTED);
    check(&url, "verify-full", Some(&ours), ENCRYPTED);
    check(&url, "verify-full", Some(&other), "badsignature");
    check(&url, "verify-full", None, "certificate");
    // What the address says is what counts.
    check(&format!("{url}?sslmode=disable"), "verify-full", Some(&other), PLAIN);
    check(&format!("{url}?sslmode=verify-full"), "disable", Some(&ours), ENCRYPTED);
    check(&format!("{url}{}", trusting(&ours)), "disable", Some(&other), ENCRYPTED);
}

const ENCRYPTED: &str = "it is encrypted";
const PLAIN: &str = "it is not encrypted";

/// Checks what a program sees that opens an address with these variables of libpq.
fn check(url: &str, mode: &str, roots: Option<&Path>, expected: &str) {
    let mut program = Command::new(std::env::current_exe().expect("a program knows itself"));
    program.args(["--exact", "durable::postgres::tls::opens_the_address_that_it_is_given", "--nocapture"]);
    program.env("MANENT_CHILD_ADDRESS", url).env("PGSSLMODE", mode).env_remove("PGSSLROOTCERT");
    if let Some(roots) = roots {
        program.env("PGSSLROOTCERT", roots);
    }
    let output = program.output().expect("a process can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(expected), "{url} with {mode} and {roots:?}: {said}");
}

/// Not a test of its own: without an address there is nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opens_the_address_that_it_is_given() {
    let Ok(url) = std::env::var("MANENT_CHILD_ADDRESS") else { return };
    // The server may still see the one before this.
    let name = format!("child-{}", std::process::id());
    let more = if url.contains('?') { '&' } else { '?' };
    match try_open(&format!("{url}{more}application_name={name}")) {
        Ok(store) => {
            let (plain_url, _) = url.split_once('?').unwrap_or((&url, ""));
            match encrypted(plain_url, &name).await {
                (true, false) => eprintln!("{ENCRYPTED}"),
                _ => eprintln!("{PLAIN}"),
            }
            store.close().await.expect("closes");
        }
        Err(error) => eprintln!("{}", format!("{error:?}").to_lowercase()),
    }
}

fn trusting(file: &Path) -> String {
    format!("?sslmode=verify-full&sslrootcert={}", file.display().to_string().replace(' ', "%20"))
}

/// Lets a server encrypt with a certificate of its own, and returns that.
async fn encrypt(server: &Server, names: &[&str]) -> String {
    let (certificate, key) = certified(names);
    let data = server.postgres.folder().join("data");
    let owned_by = std::fs::metadata(&data).expect("a cluster");
    for (name, text) in [("server.crt", &certificate), ("server.key", &key)] {
        let path = data.join(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("allowed");
        chown(&path, Some(owned_by.uid()), Some(owned_by.gid())).expect("allowed");
    }
    let raw = owner(&server.postgres.url()).await;
    raw.execute("alter system set ssl = on", &[]).await.expect("set");
    raw.execute("select pg_reload_conf()", &[]).await.expect("told");
    let shown = || async { raw.query_one("show ssl", &[]).await.expect("shown").get::<_, String>(0) };
    while shown().await != "on" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    certificate
}

/// A certificate that signs itself, and its key.
fn certified(names: &[&str]) -> (String, String) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    (made.cert.pem(), made.signing_key.serialize_pem())
}

/// Says whether stores of a name are connected with encryption, and whether any are without.
async fn encrypted(url: &str, application: &str) -> (bool, bool) {
    let sql = "select coalesce(bool_or(s.ssl), false), coalesce(bool_or(not s.ssl), false)
         from pg_stat_ssl s
         join pg_stat_activity a on a.pid = s.pid
         where a.application_name = $1";
    let row = owner(url).await.query_one(sql, &[&application]).await.expect("counted");
    (row.get(0), row.get(1))
}
