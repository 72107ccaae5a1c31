//! Trees with several stores, of one format or of many, in whatever folder; and with what belongs to none.

use super::*;
use manent_testing::foreign::sqlite::file;

/// Adds the files of a tree below a folder.
fn below(all: &mut Files, folder: &str, files: &Files) {
    all.extend(files.iter().map(|(name, bytes)| (format!("{folder}{name}"), bytes.clone())));
}

async fn import_everything(database: &Database, tree: Box<dyn SourceTree + Send>) -> FileImportReport {
    let report = database.import_everything(tree, None, ImportMode::Store, |_| {}).await.expect("imported");
    for (record, counts) in &report.records {
        assert_eq!(counts.read, counts.mapped + counts.unmapped + counts.reported, "{record}: {report:#?}");
    }
    report
}

/// A session of the vault, with words.
fn vault(id: &str) -> Files {
    let session = format!(
        r#"{{"sessionId":"{id}","sessionName":"{id}","createdAt":1,"updatedAt":2,"messages":[{{"role":"user","content":"in {id}"}}]}}"#
    );
    Files::from([(format!("Assets/History/sessions/{id}.json"), session.into_bytes())])
}

/// The SQLite store of one agent, and the log of its events.
fn agents(id: &str) -> (Vec<u8>, Files) {
    let rows = format!(
        "create table agents (agent_id TEXT PRIMARY KEY, template_id TEXT NOT NULL, created_at TEXT NOT NULL, config_version TEXT NOT NULL,
            lineage TEXT NOT NULL, message_count INTEGER NOT NULL DEFAULT 0, last_sfp_index INTEGER NOT NULL DEFAULT -1,
            last_bookmark TEXT, breakpoint TEXT, metadata TEXT NOT NULL);
        create table messages (id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL, seq INTEGER NOT NULL,
            metadata TEXT, created_at INTEGER NOT NULL);
        create table tool_calls (id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, name TEXT NOT NULL, input TEXT NOT NULL, state TEXT NOT NULL,
            approval TEXT NOT NULL, result TEXT, error TEXT, is_error INTEGER, started_at INTEGER, completed_at INTEGER,
            duration_ms INTEGER, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, audit_trail TEXT NOT NULL);
        create table snapshots (agent_id TEXT NOT NULL, snapshot_id TEXT NOT NULL, messages TEXT NOT NULL, last_sfp_index INTEGER NOT NULL,
            last_bookmark TEXT NOT NULL, created_at TEXT NOT NULL, metadata TEXT);
        insert into agents values ('{id}', 't', '2026-01-02T03:04:05.006Z', 'v2.7.0', '[]', 1, 0, null, null, '{{\"agentId\":\"{id}\"}}');
        insert into messages values ('m-{id}', '{id}', 'user', '[{{\"type\":\"text\",\"text\":\"said by {id}\"}}]', 0, null, 17);"
    );
    let line = r#"{"cursor":0,"bookmark":{"seq":0,"timestamp":7},"event":{"channel":"monitor","type":"state_changed","state":"READY"}}"#;
    (file(&rows), Files::from([(format!("{id}/events/monitor.log"), format!("{line}\n").into_bytes())]))
}

/// What every conversation says, in order.
async fn all_said(database: &Database) -> Vec<Vec<String>> {
    let mut said = Vec::new();
    for id in database.store().conversation_ids(None, 99).await.expect("readable") {
        said.push(texts(database, id).await);
    }
    said.sort();
    said
}

#[tokio::test]
async fn kode_database_below_the_root_is_read_with_its_rows_and_files() {
    let (rows, logs) = agents("agt-1");
    for (database_at, logs_at) in
        [("agents.db", ""), ("store/agents.db", "store/"), ("db/agents.db", "files/x/"), ("agents.db", "files/")]
    {
        let mut files = Files::from([(database_at.to_owned(), rows.clone())]);
        below(&mut files, logs_at, &logs);
        let database = open();
        let report = import_everything(&database, memory(&files)).await;
        assert_eq!((report.skipped(), report.left_out.len()), (0, 0), "{report:#?}");
        assert_eq!(all_said(&database).await, [["said by agt-1"]], "{database_at} {logs_at}");
        let ids = database.store().conversation_ids(None, 9).await.expect("readable");
        let query = EventsQuery { conversation: ids[0], channels: Vec::new(), after: 0, limit: 9 };
        assert_eq!(database.store().events(query).await.expect("readable").len(), 1, "{database_at} {logs_at}");
        let position = database.position();
        import_everything(&database, memory(&files)).await;
        assert_eq!(database.position(), position, "importing again adds nothing");
    }
}

#[tokio::test]
async fn several_kode_databases_are_all_read() {
    let mut files = Files::new();
    for (folder, id) in [("", "agt-1"), ("old/", "agt-2"), ("", "agt-3")] {
        let (rows, logs) = agents(id);
        files.insert(format!("{folder}{id}.db"), rows);
        below(&mut files, folder, &logs);
    }
    let database = open();
    let report = import_everything(&database, memory(&files)).await;
    assert_eq!((report.skipped(), report.conversations.len()), (0, 3), "{report:#?}");
    assert_eq!(all_said(&database).await, [["said by agt-1"], ["said by agt-2"], ["said by agt-3"]]);
}

#[tokio::test]
async fn every_store_of_a_tree_is_read_and_the_rest_is_listed() {
    let mut files = sessions(SESSIONS);
    below(&mut files, "", &vault("here"));
    below(&mut files, "other/", &vault("there"));
    below(
        &mut files,
        "projects/a/.veloca/storage/",
        &sessions(&SESSIONS.replace("你好", "a").replace("2024-", "2025-")),
    );
    let (rows, logs) = agents("agt-1");
    files.insert("runs/agents.db".to_owned(), rows);
    below(&mut files, "runs/", &logs);
    files.insert("notes/shopping.md".to_owned(), b"milk".to_vec());
    files.insert(".DS_Store".to_owned(), b"x".to_vec());
    let database = open();
    let report = import_everything(&database, memory(&files)).await;
    assert_eq!(report.skipped(), 0, "{report:#?}");
    let left: Vec<&str> = report.left_out.iter().map(|left| left.name.as_str()).collect();
    assert_eq!(left, ["notes/shopping.md"]);
    let said = all_said(&database).await;
    let expected = [
        vec!["a", "再见"],
        vec!["hi"],
        vec!["hi"],
        vec!["in here"],
        vec!["in there"],
        vec!["said by agt-1"],
        vec!["你好", "再见"],
    ];
    assert_eq!(said, expected);
    assert_sound(&database).await;
}

#[tokio::test]
async fn damaged_store_beside_a_good_one_is_reported() {
    let mut files = sessions(SESSIONS);
    let (rows, _) = agents("agt-1");
    files.insert("agents.db".to_owned(), rows[..rows.len() - 100].to_vec());
    let database = open();
    let report = import_everything(&database, memory(&files)).await;
    assert_eq!(all_said(&database).await.len(), 2);
    assert_eq!(report.skipped.len(), 1, "{report:#?}");
    assert!(report.skipped[0].why.contains("agents.db"), "{report:#?}");
}

#[tokio::test]
async fn only_the_format_that_is_asked_for_is_read() {
    let mut files = sessions(SESSIONS);
    below(&mut files, "", &vault("here"));
    let database = open();
    let asked = formats::format("obsidian-rag");
    let report = database.import_everything(memory(&files), asked, ImportMode::Store, |_| {}).await.expect("imported");
    assert_eq!(all_said(&database).await, [["in here"]]);
    assert_eq!(report.left_out.len(), 1);
    let tree = memory(&Files::from([("a.txt".to_owned(), b"x".to_vec())]));
    let error = database.import_everything(tree, None, ImportMode::Store, |_| {}).await.expect_err("nothing is known");
    assert_eq!(error.code(), "unreadable");
}

#[tokio::test]
async fn symbolic_links_are_listed_and_not_followed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("veloca-storage.json"), SESSIONS).expect("written");
    std::os::unix::fs::symlink("/etc/hostname", folder.path().join("link.json")).expect("linked");
    let database = open();
    let tree = formats::core::source_fs::at(folder.path()).expect("a folder");
    let report = import_everything(&database, tree).await;
    let left: Vec<(&str, &str)> = report.left_out.iter().map(|left| (left.name.as_str(), left.why.as_str())).collect();
    assert_eq!(left, [("link.json", "a symbolic link, which is not followed")]);
}

#[tokio::test]
async fn upload_with_a_path_for_a_name_is_exported_below_the_folder() {
    let mut upload = tempfile::tempfile().expect("a file");
    std::io::Write::write_all(&mut upload, SESSIONS.as_bytes()).expect("written");
    let tree = formats::core::source_fs::of("/tmp/x", vec![("/tmp/x".to_owned(), upload)]).expect("a file");
    let database = open();
    import_everything(&database, tree).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plan = ExportPlan::everything(formats::format("veloca").expect("veloca"));
    let out = DiskOut::new(&folder.path().join("out"), plan.format, Replace::Never).expect("a place");
    let exported = database.export_tree(&plan, out).await.expect("written");
    assert_eq!(exported.out.finish().expect("in place"), [folder.path().join("out/tmp/x")]);
}
