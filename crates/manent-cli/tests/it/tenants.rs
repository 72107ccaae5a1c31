//! Tenants and users by command, beside a server and beside other stores.

use crate::kit::Home;
use crate::serve::Served;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until something is so.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn backups_in(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".backup")).count()
}

/// The one folder of this kind that is there.
fn found(folder: &Path, beginning: &str) -> Option<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(beginning)))
}

#[test]
fn two_stores_in_one_home_have_nothing_in_common() {
    let home = Home::new();
    home.good(&["new", "one"]);
    let backups = home.path().join("backups");
    std::fs::create_dir_all(&backups).expect("a folder");
    let kept = backups.join("manent-000001763000000.backup");
    home.good(&["backup", &kept.display().to_string()]);
    for store in ["same.a", "same.b"] {
        home.good(&["--db", store, "new", "two"]);
    }
    home.good(&["--db", "same.a", "user", "add", "ada", "Ada"]);
    assert!(!home.good(&["--db", "same.b", "user", "list"]).contains("ada"), "a store has the users of another");
    home.good(&["--db", "same.a", "user", "erase", "ada", "--yes"]);
    assert!(kept.exists(), "erasing in one store has removed a backup of another");
}

#[test]
fn a_server_and_a_command_agree_where_backups_are() {
    let home = Home::new();
    home.good(&["user", "add", "ada", "Ada"]);
    let chat = home.good(&["new", "of ada"]);
    home.good(&["append", &chat, "words of ada-canary"]);
    let elsewhere = home.path().join("elsewhere");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--backups", "elsewhere"];
    let served = Served::of(home.command(&serve), "error", Stdio::null());
    wait_until("a backup is taken", || backups_in(&elsewhere) == 1 && backups_in(&elsewhere.join("system")) == 1);
    served.terminate();
    assert!(home.good(&["config"]).contains("elsewhere"));
    let receipt = home.good(&["user", "erase", "ada", "--yes", "--json"]);
    let receipt: serde_json::Value = serde_json::from_str(&receipt).expect("JSON");
    assert_eq!(receipt["backups"], 2, "{receipt}");
    assert_eq!((backups_in(&elsewhere), backups_in(&elsewhere.join("system"))), (1, 1));
}

#[tokio::test]
async fn what_a_command_erases_beside_a_server_stays_erased() {
    let home = Home::new();
    let served = Served::start(&home);
    home.good(&["tenant", "new", "acme"]);
    let key = home.good(&["key", "new", "admin", "--scope", "admin", "--tenant", "acme"]);
    let word = key.split_whitespace().find(|word| word.starts_with("manent_")).expect("the key").to_owned();
    let bearer = format!("Bearer {word}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let mut client = manent_testing::http::Client::connect(served.address, &headers).await.expect("listening");
    // The server hears of the key within a second.
    let made = async {
        while client
            .send("POST", "/api/v1/conversations", &[], r#"{"title":"canary"}"#)
            .await
            .expect("an answer")
            .status
            .as_u16()
            != 201
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, made).await.expect("the key is known");
    let tenants = home.path().join("manent.db-tenants");
    let has_index = || {
        found(&tenants, "ten_").is_some_and(|_| {
            let names = std::fs::read_dir(&tenants).into_iter().flatten().flatten();
            names.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().ends_with("-search"))
        })
    };
    wait_until("the index is made", has_index);
    home.good(&["tenant", "erase", "acme", "--yes"]);
    // Longer than the server takes to notice that an index is gone.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(found(&tenants, "ten_"), None, "something of the tenant came back");
    let refused = client.send("GET", "/api/v1/conversations", &[], "").await.expect("an answer");
    assert_eq!(refused.status.as_u16(), 401);
    assert_eq!(served.terminate(), Some(0));
    assert_eq!(found(&tenants, "ten_"), None, "something of the tenant outlived the server");
}

#[test]
fn every_tenant_is_verified() {
    let home = Home::new();
    home.good(&["new", "of the first"]);
    home.good(&["tenant", "new", "acme"]);
    let said = home.good(&["verify"]);
    assert!(said.contains("\nacme: 0 messages") && said.contains("1 conversations"), "{said}");
    let shown = home.good(&["verify", "--json"]);
    let shown: serde_json::Value =
        serde_json::Deserializer::from_str(&shown).into_iter().next().expect("an answer").expect("JSON");
    assert_eq!(
        (said.matches("all as they were written").count(), &shown["tenants"]["acme"]["messages"]),
        (2, &0.into())
    );
    for entry in std::fs::read_dir(home.path().join("manent.db-tenants")).expect("a folder").flatten() {
        if entry.file_name().to_string_lossy().starts_with("ten_") {
            std::fs::remove_file(entry.path()).expect("lost");
        }
    }
    let lost = home.run(&["verify"]);
    assert!(lost.code != 0 && lost.err.contains("restore-backup"), "{lost:?}");
}
