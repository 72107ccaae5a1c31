//! Other programs' files: taken in, changed, and written back, on both engines.

use crate::kit::*;
use expect_test::{Expect, expect};
use manent::formats::tree::{Folder, Memory, Tree};
use manent::*;
use manent_testing::foreign::{difference, fixtures};
use manent_testing::scratch::Scratch;
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

fn files(tree: &dyn Tree) -> Files {
    let read = |name: &str| tree.read(name, 1 << 30).expect("a file");
    tree.entries().iter().map(|entry| (entry.name.clone(), read(&entry.name))).collect()
}

fn memory(files: &Files) -> Box<dyn Tree + Send> {
    Box::new(Memory::new("files", files.clone()))
}

async fn import(database: &Database, files: &Files) -> ImportedReport {
    let tree = memory(files);
    let format = formats::sniff(&*tree).expect("a known format");
    let report = database.import_tree(tree, format, ImportMode::Store, |_| {}).await.expect("imported");
    for (record, counts) in &report.records {
        assert_eq!(counts.read, counts.mapped + counts.aside + counts.reported, "{record}: {report:#?}");
    }
    report
}

async fn written(database: &Database, format: &str) -> Files {
    let format = formats::format(format).expect("a known format");
    database.export_tree(&ExportPlan::everything(format), Files::new()).await.expect("written").out
}

fn assert_same(expected: &Files, found: &Files) {
    assert_eq!(difference(expected, found), "");
}

/// A SQLite file and, where there is a server, PostgreSQL: both say the same.
async fn on_each_engine<T: PartialEq + std::fmt::Debug>(check: impl AsyncFn(Database) -> T) -> T {
    let file = open();
    let said = check((*file).clone()).await;
    if let Some(scratch) = Scratch::make() {
        assert_eq!(check(Database::open(&scratch.url).expect("opens")).await, said);
    }
    said
}

/// Untouched, it comes back to the byte: at once, after a second import, and by way of our own lines.
async fn comes_back(folder: &str, format: &str) {
    let Some(path) = fixtures(folder) else { return };
    let files = files(&Folder::open(&path).expect("a fixture"));
    on_each_engine(async |database| {
        let first = import(&database, &files).await;
        assert!(first.conversations.iter().all(|one| one.is_new), "{first:#?}");
        assert_same(&files, &written(&database, format).await);
        let position = database.position();
        let again = import(&database, &files).await;
        assert_eq!(database.position(), position, "importing again adds nothing: {again:#?}");
        let lines = export(&database).await;
        let other = open();
        let report = other.import_jsonl(lines.as_bytes()).await.expect("our own lines");
        assert_eq!(report.problems, []);
        assert_same(&files, &written(&other, format).await);
        assert_sound(&database).await;
    })
    .await;
}

#[tokio::test]
async fn every_real_veloca_file_comes_back_to_the_byte() {
    for folder in
        ["real-da1f742-veloca-storage.json", "schema-veloca-storage.json", "ts-head-written", "rust-0.5.0-written"]
    {
        comes_back(&format!("veloca/{folder}"), "veloca").await;
    }
}

#[tokio::test]
async fn the_real_vault_comes_back_to_the_byte() {
    comes_back("obsidian-rag/migrated", "obsidian-rag").await;
}

#[tokio::test]
async fn both_layouts_of_stories_come_back_to_the_byte() {
    comes_back("personalab/v1-instance-layout", "personalab").await;
    comes_back("personalab/v2-conversation-layout", "personalab").await;
}

#[tokio::test]
async fn every_real_folder_of_agents_comes_back_to_the_byte() {
    for folder in [
        "store-level",
        "full-2.7.0",
        "interrupt",
        "pool-shutdown",
        "crash-approval/before",
        "crash-approval/after-resume",
        "crash-approval/after-next-turn",
        "crash-executing/after-resume",
        "crash-executing/after-next-turn",
        "crash-event-dup/after-recovery",
    ] {
        comes_back(&format!("kode/{folder}"), "kode").await;
    }
}

#[tokio::test]
async fn the_real_tables_come_back_row_by_row() {
    comes_back("conversation-tables/d1-v0.0.4.sqlite", "conversation-tables").await;
}

/// What a crash left behind is put in order: what is written then comes back to the byte.
async fn check_crash(folder: &str, expected: Expect) {
    let Some(path) = fixtures(folder) else { return };
    let files = files(&Folder::open(&path).expect("a fixture"));
    let told = on_each_engine(async |database| {
        import(&database, &files).await;
        let mended = written(&database, "kode").await;
        let position = database.position();
        import(&database, &files).await;
        assert_eq!(database.position(), position, "importing again adds nothing");
        let other = open();
        import(&other, &mended).await;
        assert_same(&mended, &written(&other, "kode").await);
        let told: Vec<String> =
            difference(&files, &mended).lines().map(|line| line.chars().take(64).collect()).collect();
        told.join("\n")
    })
    .await;
    expected.assert_eq(&told);
}

#[tokio::test]
async fn events_that_a_crash_left_in_front_of_the_log_are_in_the_log() {
    check_crash(
        "kode/crash-executing/before",
        expect![[r#"
        changed: agt-executing/events/monitor.log
        +{"cursor":12,"bookmark":{"seq":12,"timestamp":1794770561936},"e
        +{"cursor":13,"bookmark":{"seq":13,"timestamp":1794770561936},"e
        +{"cursor":14,"bookmark":{"seq":14,"timestamp":1794770561942},"e
        +{"cursor":18,"bookmark":{"seq":18,"timestamp":1794770561943},"e
        gone: agt-executing/events/monitor.wal
        changed: agt-executing/events/progress.log
        +{"cursor":15,"bookmark":{"seq":15,"timestamp":1794770561942},"e
        +{"cursor":16,"bookmark":{"seq":16,"timestamp":1794770561943},"e
        +{"cursor":17,"bookmark":{"seq":17,"timestamp":1794770561943},"e
        gone: agt-executing/events/progress.wal"#]],
    )
    .await;
}

#[tokio::test]
async fn events_that_a_crash_doubled_are_there_once() {
    check_crash("kode/crash-event-dup/before", expect!["gone: a/events/progress.wal"]).await;
}

const SESSIONS: &str = r#"{
  "sessions": [
    {
      "session_id": "s1",
      "name": "第一",
      "status": 0,
      "create_at": "2024-01-01T00:00:00.000Z"
    },
    {
      "session_id": "s2",
      "name": "second",
      "status": 0,
      "create_at": "2024-01-02T00:00:00.000Z",
      "color" : "red"
    }
  ],
  "entries": [
    {
      "entry_id": "e1",
      "session_id": "s1",
      "message": "你好",
      "role": "user",
      "token_consumption": 1.0,
      "status": 0,
      "tools": null,
      "create_at": "2024-01-01T00:00:00.000Z",
      "is_compaction": 1
    },
    {
      "entry_id": "e2",
      "session_id": "s2",
      "message": "hi",
      "role": "user",
      "token_consumption": 2,
      "status": 0,
      "tools": null,
      "create_at": "2024-01-02T00:00:00.000Z",
      "is_compaction": 1
    },
    {
      "entry_id": "e3",
      "session_id": "s1",
      "message": "再见",
      "role": "assistant",
      "token_consumption": 3,
      "status": 0,
      "tools": null,
      "create_at": "2024-01-01T00:00:05.000Z",
      "is_compaction": 1
    }
  ],
  "compacted_dialogues": []
}
"#;

fn sessions(text: &str) -> Files {
    Files::from([("veloca-storage.json".to_owned(), text.as_bytes().to_vec())])
}

async fn check_change(change: impl AsyncFn(&Database, &[ConversationId]), expected: Expect) {
    let files = sessions(SESSIONS);
    let told = on_each_engine(async |database| {
        import(&database, &files).await;
        let ids = database.store().conversation_ids(None, 9).await.expect("readable");
        change(&database, &ids).await;
        difference(&files, &written(&database, "veloca").await)
    })
    .await;
    expected.assert_eq(&told);
}

#[tokio::test]
async fn a_new_name_changes_one_place() {
    check_change(
        async |database, ids| database.rename(ids[1], "第二").await.expect("renamed"),
        expect![[r#"
        changed: veloca-storage.json
        -      "name": "second",
        +      "name": "第二","#]],
    )
    .await;
}

#[tokio::test]
async fn a_removed_message_is_marked_as_the_program_does() {
    let remove = async |database: &Database, ids: &[ConversationId]| {
        let first = database.last(ids[0], 9).await.expect("readable").messages[0].id;
        database.remove(ids[0], Stretch { first, last: first }).await.expect("removed");
    };
    check_change(
        remove,
        expect![[r#"
        changed: veloca-storage.json
        -      "status": 0,
        +      "status": 1,"#]],
    )
    .await;
}

#[tokio::test]
async fn an_edited_message_keeps_its_record() {
    let edit = async |database: &Database, ids: &[ConversationId]| {
        let first = database.last(ids[0], 9).await.expect("readable").messages[0].id;
        let with = MessageDraft::user("您好");
        database.edit(ids[0], first, with, Tail::Keep).await.expect("edited");
    };
    let files = sessions(SESSIONS);
    on_each_engine(async |database| {
        import(&database, &files).await;
        let ids = database.store().conversation_ids(None, 9).await.expect("readable");
        edit(&database, &ids).await;
        let difference = difference(&files, &written(&database, "veloca").await);
        assert!(difference.contains("+      \"message\": \"您好\""), "{difference}");
        assert!(!difference.contains("entry_id"), "{difference}");
    })
    .await;
}

#[tokio::test]
async fn a_file_that_grew_adds_what_is_new_and_what_changed_becomes_an_alternative() {
    let grown = SESSIONS.replace("\"再见\"", "\"明天见\"").replace("\"第一\"", "\"另一个\"").replace(
        "  ],\n  \"compacted_dialogues\"",
        "    ,{\"entry_id\":\"e4\",\"session_id\":\"s2\",\"message\":\"hello\",\"role\":\"assistant\",\"create_at\":\"2024-01-02T00:00:01.000Z\"}\n  ],\n  \"compacted_dialogues\"",
    );
    on_each_engine(async |database| {
        import(&database, &sessions(SESSIONS)).await;
        let report = import(&database, &sessions(&grown)).await;
        let told: Vec<_> =
            report.conversations.iter().map(|one| (one.is_new, one.added, one.updated, one.unchanged)).collect();
        assert_eq!(told, [(false, 0, 1, 1), (false, 1, 0, 1)]);
        let ids = database.store().conversation_ids(None, 9).await.expect("readable");
        assert_eq!(texts(&database, ids[0]).await, ["你好", "明天见"]);
        assert_eq!(texts(&database, ids[1]).await, ["hi", "hello"]);
        assert_eq!(database.conversation(ids[0]).await.expect("there").title, "另一个");
        assert_same(&sessions(&grown), &written(&database, "veloca").await);
        // What vanished there stays here.
        let report = import(&database, &sessions(SESSIONS)).await;
        assert_eq!(report.conversations[1].added, 0);
        assert_eq!(texts(&database, ids[1]).await, ["hi", "hello"]);
        assert_eq!(texts(&database, ids[0]).await.last().map(String::as_str), Some("再见"));
        assert_sound(&database).await;
    })
    .await;
}

#[tokio::test]
async fn what_was_said_here_meanwhile_stays_in_front() {
    let grown = SESSIONS.replace(
        "  ],\n  \"compacted_dialogues\"",
        "    ,{\"entry_id\":\"e4\",\"session_id\":\"s2\",\"message\":\"hello\",\"role\":\"assistant\",\"create_at\":\"2024-01-02T00:00:01.000Z\"}\n  ],\n  \"compacted_dialogues\"",
    );
    on_each_engine(async |database| {
        import(&database, &sessions(SESSIONS)).await;
        let ids = database.store().conversation_ids(None, 9).await.expect("readable");
        database.append(ids[1], MessageDraft::assistant("ours")).await.expect("said");
        import(&database, &sessions(&grown)).await;
        assert_eq!(texts(&database, ids[1]).await, ["hi", "ours"]);
        let branches = database.store().branches(ids[1]).await.expect("readable");
        assert_eq!(branches.len(), 2, "the other way is there");
    })
    .await;
}

#[tokio::test]
async fn a_way_that_grows_beside_what_was_said_here_stays_in_one_piece() {
    let more = |from: u32, to: u32| -> String {
        let entry = |number: u32| {
            format!(
                r#"    ,{{"entry_id":"n{number}","session_id":"s2","message":"m{number}","role":"user","create_at":"2024-01-03T00:00:0{number}.000Z"}}"#
            )
        };
        let entries: Vec<String> = (from..to).map(entry).collect();
        let end = "  ],\n  \"compacted_dialogues\"";
        SESSIONS.replace(end, &format!("{}\n{end}", entries.join("\n")))
    };
    on_each_engine(async |database| {
        import(&database, &sessions(SESSIONS)).await;
        let ids = database.store().conversation_ids(None, 9).await.expect("readable");
        database.append(ids[1], MessageDraft::assistant("ours")).await.expect("said");
        import(&database, &sessions(&more(0, 3))).await;
        import(&database, &sessions(&more(0, 5))).await;
        assert_eq!(texts(&database, ids[1]).await, ["hi", "ours"]);
        let branches = database.store().branches(ids[1]).await.expect("readable");
        let theirs = branches.iter().rfind(|branch| !branch.is_head).expect("their way");
        database.switch_branch(ids[1], theirs.id).await.expect("shown");
        assert_eq!(texts(&database, ids[1]).await, ["hi", "m0", "m1", "m2", "m3", "m4"]);
        assert_sound(&database).await;
    })
    .await;
}

#[tokio::test]
async fn a_tree_that_grew_grows_where_its_messages_say() {
    let tree = |more: &str| {
        let sql = format!(
            "create table conversation (conv_id text primary key, project text, sequence text default 'sequential' not null,
                status text default 'active' not null, created_at datetime, metadata text);
            create table message (message_id text primary key, parent_message_id text, timestamp datetime,
                conversation_id text not null, role text, text text not null, metadata text);
            insert into conversation values ('t', null, 'tree', 'active', '2026-01-03 08:00:00', null);
            insert into message values ('q1', null, '2026-01-03 08:00:01', 't', 'user', '问题', null);
            insert into message values ('a1', 'q1', '2026-01-03 08:00:02', 't', 'bot', '回答', null);
            insert into message values ('q2', 'a1', '2026-01-03 08:00:03', 't', 'user', '还有', null);
            {more}"
        );
        Files::from([("tables.sqlite".to_owned(), manent_testing::foreign::sqlite::file(&sql))])
    };
    let grown = tree(
        "insert into message values ('a1b', 'a1', '2026-01-03 08:00:04', 't', 'bot', '再答', null);
        insert into message values ('q3', 'a1b', '2026-01-03 08:00:05', 't', 'user', '好', null);",
    );
    on_each_engine(async |database| {
        import(&database, &tree("")).await;
        let ids = database.store().conversation_ids(None, 9).await.expect("readable");
        assert_eq!(texts(&database, ids[0]).await, ["问题", "回答", "还有"]);
        let report = import(&database, &grown).await;
        assert_eq!((report.conversations[0].added, report.conversations[0].unchanged), (2, 3));
        assert_eq!(texts(&database, ids[0]).await, ["问题", "再答", "好"], "the newest way is shown");
        assert_same(&grown, &written(&database, "conversation-tables").await);
        assert_sound(&database).await;
    })
    .await;
}

#[tokio::test]
async fn a_dry_run_changes_nothing_and_says_what_would_be() {
    let database = open();
    let files = sessions(SESSIONS);
    let tree = memory(&files);
    let format = formats::sniff(&*tree).expect("veloca");
    let report = database.import_tree(tree, format, ImportMode::DryRun, |_| {}).await.expect("read");
    assert_eq!(report.conversations.iter().map(|one| one.added).sum::<u64>(), 3);
    assert_eq!(database.store().conversation_ids(None, 9).await.expect("readable"), []);
    assert_eq!(database.sources().await.expect("readable"), []);
}

#[tokio::test]
async fn the_same_id_in_another_story_is_another_conversation() {
    let other = SESSIONS.replace("2024-01-01T00:00:00.000Z\"\n    },", "2020-05-05T00:00:00.000Z\"\n    },");
    let database = open();
    import(&database, &sessions(SESSIONS)).await;
    let elsewhere = Files::from([("otherone-storage.json".to_owned(), other.into_bytes())]);
    let report = import(&database, &elsewhere).await;
    let told: Vec<bool> = report.conversations.iter().map(|one| one.is_new).collect();
    assert_eq!(told, [true, false], "the second was made at the same time");
}
