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

/// The file below a folder in which a text stands.
fn stands_in(folder: &Path, text: &str) -> Option<std::path::PathBuf> {
    std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).find_map(|path| {
        match path.is_dir() {
            true => stands_in(&path, text),
            false => {
                let bytes = std::fs::read(&path).expect("readable");
                bytes.windows(text.len()).any(|part| part == text.as_bytes()).then_some(path)
            }
        }
    })
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

#[test]
#[cfg(unix)]
fn a_store_has_its_backups_however_it_is_named() {
    let home = Home::new();
    home.good(&["user", "add", "ada", "Ada"]);
    let backups = home.path().join("backups");
    std::fs::create_dir_all(&backups).expect("a folder");
    std::os::unix::fs::symlink(home.path(), home.path().join("link")).expect("a link");
    let file = home.path().join("manent.db").display().to_string();
    let around = home.path().join("link/backups/../manent.db").display().to_string();
    for (round, store) in [file, around].iter().enumerate() {
        let kept = backups.join(format!("manent-00000176300000{round}.backup"));
        home.good(&["backup", &kept.display().to_string()]);
        home.good(&["user", "add", "ada", "Ada"]);
        let receipt = home.good(&["--db", store, "user", "erase", "ada", "--yes", "--json"]);
        let receipt: serde_json::Value = serde_json::from_str(&receipt).expect("JSON");
        assert!(receipt["backups"].as_i64() >= Some(1), "{store}: {receipt}");
        assert!(!kept.exists(), "{store}: a backup stays");
    }
    let nowhere = home.run(&["backup", "no/such/folder/system.backup", "--system"]);
    assert!(nowhere.code != 0 && !nowhere.err.contains("erased"), "{nowhere:?}");
    let (lines, of_tenant) = (home.path().join("lines.jsonl"), home.path().join("tenant.jsonl"));
    home.good(&["export", "--output", &lines.display().to_string()]);
    home.good(&["tenant", "export", "default", "--output", &of_tenant.display().to_string()]);
    for file in [lines, of_tenant] {
        let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().expect("written").permissions());
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
fn a_second_request_resumes_a_killed_erasure() {
    let home = Home::new();
    let killed_after = |arguments: &[&str], millis: u64| {
        let mut child = home.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(millis));
        // One that has ended is not killed.
        drop(child.kill());
        child.wait().expect("it ended").success()
    };
    let mut killed = 0;
    for round in 0..8 {
        let (tenant, user) = (format!("acme-{round}"), format!("canary-{round}"));
        home.good(&["tenant", "new", &tenant]);
        home.good(&["user", "add", &user, "Ada", "--tenant", &tenant]);
        home.good(&["user", "add", &user, "Ada"]);
        let chat = home.good(&["new", "shared"]);
        home.good(&["append", &chat, "said", "--author", &user]);
        let erase_user = ["user", "erase", &user, "--yes"];
        let erase_tenant = ["tenant", "erase", &tenant, "--yes"];
        for erase in [&erase_user, &erase_tenant] {
            let is_done = killed_after(erase, 5 + 4 * round);
            killed += usize::from(!is_done);
            let again = home.run(erase);
            assert!(again.code == 0 || again.err.contains("no user") || again.err.contains("no tenant"), "{again:?}");
        }
        for name in [&user, &tenant] {
            assert_eq!(stands_in(home.path(), name), None, "round {round}");
        }
        assert_eq!(found(&home.path().join("manent.db-tenants"), "ten_"), None, "round {round}");
    }
    assert!(killed > 2, "too fast to be killed: {killed}");
    home.good(&["verify"]);
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
    assert!(said.contains("\nacme: 0 messages") && said.contains("1 conversation,"), "{said}");
    let shown = home.good(&["verify", "--json"]);
    let shown: serde_json::Value =
        serde_json::Deserializer::from_str(&shown).into_iter().next().expect("an answer").expect("JSON");
    assert_eq!((said.matches(": no problems\n").count(), &shown["tenants"]["acme"]["messages"]), (2, &0.into()));
    for entry in std::fs::read_dir(home.path().join("manent.db-tenants")).expect("a folder").flatten() {
        if entry.file_name().to_string_lossy().starts_with("ten_") {
            std::fs::remove_file(entry.path()).expect("lost");
        }
    }
    let lost = home.run(&["verify"]);
    assert!(lost.code != 0 && lost.err.contains("restore-backup"), "{lost:?}");
}
