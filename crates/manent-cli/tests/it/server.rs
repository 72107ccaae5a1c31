//! `--db postgres://…` wherever a file is accepted.

use crate::kit::Home;
use crate::serve::Served;
use manent_testing::scratch::Scratch;

#[tokio::test]
async fn an_address_is_taken_wherever_a_file_is() {
    let Some(scratch) = Scratch::make() else { return };
    let home = Home::new();
    let db = scratch.url.as_str();
    let chat = home.good(&["--db", db, "new", "天气"]);
    home.good(&["--db", db, "append", &chat, "北京今天天气怎么样？"]);
    assert!(home.good(&["--db", db, "show", &chat]).contains("北京今天天气怎么样？"));
    assert!(home.good(&["--db", db, "list"]).contains("天气"));
    assert!(home.good(&["--db", db, "doctor"]).contains("PostgreSQL"));
    home.good(&["--db", db, "verify"]);

    // A backup is a file, and a file is a store.
    let backup = home.path().join("one.backup").display().to_string();
    home.good(&["--db", db, "backup", &backup]);
    let moved = home.path().join("moved.db").display().to_string();
    home.good(&["restore-backup", &backup, &moved]);
    assert!(home.good(&["--db", &moved, "show", &chat]).contains("北京今天天气怎么样？"));

    // A server of ours on it, named by the environment.
    let mut command = home.command(&[]);
    command.env("MANENT_DB", db);
    let served = Served::start_with(command);
    let mut client = served.client().await.expect("it answers");
    let answer =
        client.send("GET", &format!("/api/v1/conversations/{chat}/messages"), &[], "").await.expect("answered");
    assert!(answer.text().contains("北京今天天气怎么样？"), "{}", answer.text());
}

#[test]
fn a_password_is_not_shown() {
    let home = Home::new();
    let db = "postgres://ada:secret@127.0.0.1:1/none?connect_timeout=1";
    assert_eq!(
        home.good(&["--db", db, "config"]).lines().find(|line| line.starts_with("store")),
        Some("store\tpostgres://ada@127.0.0.1:1/none\t--db")
    );
    let said = home.run(&["--db", db, "list"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("postgres://ada@127.0.0.1:1/none") && !said.err.contains("secret"), "{said:?}");
}
