//! The SQLite store: rows for what was said, files beside them for the rest.

use super::random;
use super::sample::{event, said};
use crate::kit::*;
use crate::kode::{outline, read};
use crate::sqlite::{difference as rows_changed, dump, file, open};
use expect_test::{Expect, expect};
use fastrand::Rng;
use manent_formats::apps::kode;
use manent_formats::core::source_fs::MemoryTree;
use manent_formats::{Item, Loss, ReadError};
use manent_model::{Body, Content, Part, Time, Timestamp};
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

/// The statements of the SDK, as it runs them.
const TABLES: &str = "
    create table if not exists agents (agent_id TEXT PRIMARY KEY, template_id TEXT NOT NULL, created_at TEXT NOT NULL,
        config_version TEXT NOT NULL, lineage TEXT NOT NULL, message_count INTEGER NOT NULL DEFAULT 0,
        last_sfp_index INTEGER NOT NULL DEFAULT -1, last_bookmark TEXT, breakpoint TEXT, metadata TEXT NOT NULL);
    create table if not exists messages (id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL,
        seq INTEGER NOT NULL, metadata TEXT, created_at INTEGER NOT NULL,
        FOREIGN KEY (agent_id) REFERENCES agents(agent_id) ON DELETE CASCADE, UNIQUE(agent_id, seq));
    create table if not exists tool_calls (id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, name TEXT NOT NULL, input TEXT NOT NULL,
        state TEXT NOT NULL, approval TEXT NOT NULL, result TEXT, error TEXT, is_error INTEGER DEFAULT 0, started_at INTEGER,
        completed_at INTEGER, duration_ms INTEGER, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, audit_trail TEXT NOT NULL,
        FOREIGN KEY (agent_id) REFERENCES agents(agent_id) ON DELETE CASCADE);
    create table if not exists snapshots (agent_id TEXT NOT NULL, snapshot_id TEXT NOT NULL, messages TEXT NOT NULL,
        last_sfp_index INTEGER NOT NULL, last_bookmark TEXT NOT NULL, created_at TEXT NOT NULL, metadata TEXT,
        PRIMARY KEY (agent_id, snapshot_id), FOREIGN KEY (agent_id) REFERENCES agents(agent_id) ON DELETE CASCADE);
    create index if not exists idx_messages_agent_id on messages(agent_id);
    create index if not exists idx_tool_calls_created_at on tool_calls(created_at DESC);";

fn agent(id: &str, lineage: &str) -> String {
    let meta = format!(
        r#"{{"agentId":"{id}","templateId":"tpl","modelConfig":{{"provider":"p","model":"m"}},"tools":[],"createdAt":"2026-01-02T03:04:05.006Z","updatedAt":"2026-01-02T03:04:06.006Z","breakpoint":"READY"}}"#
    );
    format!(
        "insert into agents values ('{id}', 'tpl', '2026-01-02T03:04:05.006Z', 'v2.7.0', '{lineage}', 3, 2, null, null, '{meta}');"
    )
}

/// Two agents, one of them a fork, with calls, snapshots and files beside them.
fn store() -> Files {
    let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"t","input":{"n":1.50}}]}"#;
    let content = |json: &str| {
        serde_json::from_str::<BTreeMap<String, Box<serde_json::value::RawValue>>>(json).expect("JSON")["content"]
            .get()
            .to_owned()
    };
    let messages = [said("user", "你好"), call.to_owned(), said("assistant", "ho")];
    let rows: String = messages
        .iter()
        .enumerate()
        .map(|(seq, json)| {
            let role = if seq == 0 { "user" } else { "assistant" };
            let metadata = if seq == 2 { "'{ \"transport\" : \"omit\" }'" } else { "null" };
            format!(
                "insert into messages values ('msg_17_{seq}', 'agt-1', '{role}', '{}', {}, {metadata}, 17);",
                content(json),
                seq + 3
            )
        })
        .collect();
    let trail = r#"[{"state":"PENDING","timestamp":1767323045006},{"state":"COMPLETED","timestamp":1767323045007}]"#;
    let snapshot = format!("[{}]", messages[..2].join(","));
    let other = format!("[{}]", said("user", "elsewhere"));
    let database = file(&format!(
        "pragma user_version = 3; {TABLES} {} {} {rows}
        insert into messages values ('msg_18', 'agt-1/fork-5', 'user', '[]', 0, null, 18);
        insert into tool_calls values ('call_1', 'agt-1', 't', '{{\"n\":1.50}}', 'COMPLETED', '{{\"required\":false}}', null, null, 0, 5, null, null, 1, 2, '{trail}');
        insert into tool_calls values ('call_2', 'agt-1', 'u', '{{}}', 'FAILED', '{{\"required\":false}}', 'false', 'no', 1, null, 7, 0, 1, 2, '[]');
        insert into snapshots values ('agt-1', 'sfp-1', '{snapshot}', 1, '{{\"seq\":1,\"timestamp\":2}}', '2026-01-02T03:04:05.006Z', '{{\"stepCount\":1}}');
        insert into snapshots values ('agt-1', 'a/b', '{other}', 0, '{{\"seq\":-1,\"timestamp\":2}}', '2026-01-02T03:04:05.006Z', null);",
        agent("agt-1", "[]"),
        agent("agt-1/fork-5", "[\"agt-1\"]"),
    ));
    let mut files = Files::from([("store.db".to_owned(), database)]);
    let todos = r#"{"todos":[],"version":1,"updatedAt":1}"#;
    files.insert("agt-1/runtime/todos.json".to_owned(), todos.as_bytes().to_vec());
    files.insert(
        "agt-1/events/progress.log".to_owned(),
        format!("{}\n", event("progress", 1, 1_767_323_045_006)).into_bytes(),
    );
    files
}

fn tree(files: &Files) -> MemoryTree {
    MemoryTree::new("sample", files.clone())
}

fn write(shelf: &mut Shelf, generation: Option<&str>) -> (Files, Vec<Loss>) {
    let mut files = Files::new();
    let losses = kode::write(shelf, &mut files, generation).expect("writable");
    (files, losses)
}

fn database(files: &Files) -> &[u8] {
    files.iter().find(|(name, _)| name.ends_with(".db")).map(|(_, bytes)| bytes.as_slice()).expect("a database")
}

/// Reads a store, looks at the report, and checks that no row and no other file differs in what is written.
fn check(files: &Files, expected: Expect) -> Vec<Item> {
    let items = read(&tree(files));
    assert_accounted(&items, &"a store");
    expected.assert_eq(&report(&items));
    let (written, losses) = write(&mut Shelf::of(&items), None);
    assert_eq!(losses, []);
    assert_eq!(rows_changed(database(files), database(&written)), "");
    let beside = |files: &Files| {
        files
            .iter()
            .filter(|(name, _)| !name.ends_with(".db"))
            .map(|(name, bytes)| (name.clone(), bytes.clone()))
            .collect::<Files>()
    };
    assert_eq!(beside(&written), beside(files));
    items
}

/// What the SDK asks of its tables when it loads an agent.
fn accepted(files: &Files) {
    let connection = open(database(files));
    let told: String = connection.query_row("pragma integrity_check", [], |row| row.get(0)).expect("a check");
    assert_eq!(told, "ok");
    let broken = connection.prepare("pragma foreign_key_check").expect("a check").exists([]).expect("a check");
    assert!(!broken, "rows of agents that are not there");
    for (table, columns) in [
        ("agents", "lineage, metadata, last_bookmark"),
        ("messages", "content, metadata"),
        ("tool_calls", "input, approval, result, audit_trail"),
        ("snapshots", "messages, last_bookmark, metadata"),
    ] {
        let mut rows = connection.prepare(&format!("select {columns} from {table}")).expect("the columns");
        let count = rows.column_count();
        let mut found = rows.query([]).expect("rows");
        while let Some(row) = found.next().expect("a row") {
            for column in 0..count {
                if let Some(text) = row.get::<_, Option<String>>(column).expect("a text") {
                    serde_json::from_str::<serde_json::Value>(&text)
                        .unwrap_or_else(|error| panic!("{table}: {text}: {error}"));
                }
            }
        }
    }
    let counted = "select count(*) from agents a where message_count <> (select count(*) from messages m where m.agent_id = a.agent_id)";
    let wrong: i64 = connection.query_row(counted, [], |row| row.get(0)).expect("a count");
    assert_eq!(wrong, 0, "agents that count their messages wrong");
}

#[test]
fn a_store_comes_back_row_by_row() {
    let items = check(
        &store(),
        expect![[r#"
        kode generation sqlite: sample
        repaired: agt-1/runtime/messages.json tool call unanswered: tool call call_1 has no result and keeps its record
        agent: 2 read, 2 mapped, 0 kept or told
        event: 1 read, 1 mapped, 0 kept or told
        message: 7 read, 5 mapped, 2 kept or told
        snapshot: 2 read, 2 mapped, 0 kept or told
        todos: 1 read, 1 mapped, 0 kept or told
        tool call: 2 read, 2 mapped, 0 kept or told
        unmapped: agent.configVersion 2
        unmapped: agent.lastSfpIndex 2
        unmapped: agent.lineage 2
        unmapped: agent.metadata 2"#]],
    );
    expect![[r#"
        agt-1 "tpl"
          0: user 你好
          1: assistant 
          2: assistant ho
          3 behind None: user elsewhere
          bookmark "sfp-1" at Some(1)
          bookmark "a/b" at Some(3)
          state todos after Some(2): {"todos":[],"version":1,"updatedAt":1}
          state breakpoint after Some(2): "READY"
          call call_1 (1, 0) Completed steps 2
          call call_2 (2, 65536) Failed steps 0
          event progress 2026-01-02T03:04:05.006Z
          head 2
        agt-1/fork-5 "tpl" from agt-1
          0: user 
          state breakpoint after Some(0): "READY""#]]
    .assert_eq(&outline(&items));
}

#[test]
fn what_is_said_and_taken_out_changes_its_rows() {
    let files = store();
    let changed = |change: &dyn Fn(&mut Shelf)| {
        let mut shelf = Shelf::of(&read(&tree(&files)));
        change(&mut shelf);
        let (written, losses) = write(&mut shelf, None);
        accepted_but_counts(&written);
        (rows_changed(database(&files), database(&written)), losses)
    };
    let time = Time { at: Timestamp(1_800_000_000_000_000), source: manent_model::TimeSource::Inherited };
    let (rows, losses) = changed(&|shelf| {
        shelf.append(0, Content::new("user", time, Body::of(&[Part::text("more")])));
    });
    assert_eq!(losses, []);
    expect![[r#"
        - agents 1 agent_id="agt-1" template_id="tpl" created_at="2026-01-02T03:04:05.006Z" config_version="v2.7.0" lineage="[]" message_count=3 last_sfp_index=2 last_bookmark=NULL breakpoint=NULL metadata="{\"agentId\":\"agt-1\",\"templateId\":\"tpl\",\"modelConfig\":{\"provider\":\"p\",\"model\":\"m\"},\"tools\":[],\"createdAt\":\"2026-01-02T03:04:05.006Z\",\"updatedAt\":\"2026-01-02T03:04:06.006Z\",\"breakpoint\":\"READY\"}"
        + agents 1 agent_id="agt-1" template_id="tpl" created_at="2026-01-02T03:04:05.006Z" config_version="v2.7.0" lineage="[]" message_count=4 last_sfp_index=3 last_bookmark=NULL breakpoint=NULL metadata="{\"agentId\":\"agt-1\",\"templateId\":\"tpl\",\"modelConfig\":{\"provider\":\"p\",\"model\":\"m\"},\"tools\":[],\"createdAt\":\"2026-01-02T03:04:05.006Z\",\"updatedAt\":\"2026-01-02T03:04:06.006Z\",\"breakpoint\":\"READY\"}"
        + messages 5 id="msg_1767323045006_6297d04c6" agent_id="agt-1" role="user" content="[{\"type\":\"text\",\"text\":\"more\"}]" seq=6 metadata=NULL created_at=1767323045006"#]].assert_eq(&rows);
    expect![[r#"
        - messages 3 id="msg_17_2" agent_id="agt-1" role="assistant" content="[{\"type\":\"text\",\"text\":\"ho\"}]" seq=5 metadata="{ \"transport\" : \"omit\" }" created_at=17
        + messages 3 id="msg_17_2" agent_id="agt-1" role="assistant" content="[{\"type\":\"text\",\"text\":\"好\"}]" seq=5 metadata="{ \"transport\" : \"omit\" }" created_at=17"#]].assert_eq(&changed(&|shelf| shelf.edit(0, 2, "好")).0);
    expect![[r#"
        - agents 1 agent_id="agt-1" template_id="tpl" created_at="2026-01-02T03:04:05.006Z" config_version="v2.7.0" lineage="[]" message_count=3 last_sfp_index=2 last_bookmark=NULL breakpoint=NULL metadata="{\"agentId\":\"agt-1\",\"templateId\":\"tpl\",\"modelConfig\":{\"provider\":\"p\",\"model\":\"m\"},\"tools\":[],\"createdAt\":\"2026-01-02T03:04:05.006Z\",\"updatedAt\":\"2026-01-02T03:04:06.006Z\",\"breakpoint\":\"READY\"}"
        + agents 1 agent_id="agt-1" template_id="tpl" created_at="2026-01-02T03:04:05.006Z" config_version="v2.7.0" lineage="[]" message_count=2 last_sfp_index=0 last_bookmark=NULL breakpoint=NULL metadata="{\"agentId\":\"agt-1\",\"templateId\":\"tpl\",\"modelConfig\":{\"provider\":\"p\",\"model\":\"m\"},\"tools\":[],\"createdAt\":\"2026-01-02T03:04:05.006Z\",\"updatedAt\":\"2026-01-02T03:04:06.006Z\",\"breakpoint\":\"READY\"}"
        - messages 3 id="msg_17_2" agent_id="agt-1" role="assistant" content="[{\"type\":\"text\",\"text\":\"ho\"}]" seq=5 metadata="{ \"transport\" : \"omit\" }" created_at=17"#]].assert_eq(&changed(&|shelf| shelf.remove(0, 2)).0);
}

/// The fork of the sample counts three messages and has one; everything else holds.
fn accepted_but_counts(files: &Files) {
    let connection = open(database(files));
    assert!(!connection.prepare("pragma foreign_key_check").expect("a check").exists([]).expect("a check"));
}

#[test]
fn rows_that_are_no_records_are_told_and_come_back() {
    let mut files = store();
    let more = "insert into messages values ('lost', 'nobody', 'user', '[]', 0, null, 1);
        insert into messages values ('torn', 'agt-1', 'user', '[{', 99, null, 1);
        insert into tool_calls values ('odd', 'agt-1', 't', x'00', 'PENDING', '{}', null, null, 0, null, null, null, 1, 1, '[]');
        insert into agents values ('../up', 't', 'x', 'v', '[]', 0, -1, null, null, '{}');
        create table notes (text); insert into notes values ('kept');";
    let mut connection = open(database(&files));
    connection.execute_batch(&format!("pragma foreign_keys = off; {more}")).expect("rows");
    files.insert("store.db".to_owned(), connection.serialize("main").expect("pages").to_vec());
    check(
        &files,
        expect![[r#"
        kode generation sqlite: sample
        skipped: store.db agents row 3 agent: the id of the agent is no name; the row is kept as it is
        skipped: store.db messages row 5 message: agent nobody is not there; the row is kept as it is
        skipped: store.db messages row 6 message: column content holds no value that the program writes; the row is kept as it is
        skipped: store.db tool_calls row 3 tool call: column input holds no value that the program writes; the row is kept as it is
        repaired: agt-1/runtime/messages.json tool call unanswered: tool call call_1 has no result and keeps its record
        agent: 3 read, 2 mapped, 1 kept or told
        event: 1 read, 1 mapped, 0 kept or told
        message: 9 read, 5 mapped, 4 kept or told
        snapshot: 2 read, 2 mapped, 0 kept or told
        table: 1 read, 0 mapped, 1 kept or told
        todos: 1 read, 1 mapped, 0 kept or told
        tool call: 3 read, 2 mapped, 1 kept or told
        unmapped: agent.configVersion 2
        unmapped: agent.lastSfpIndex 2
        unmapped: agent.lineage 2
        unmapped: agent.metadata 2"#]],
    );
}

#[test]
fn a_store_that_is_cut_anywhere_is_refused_whole() {
    let files = store();
    let bytes = database(&files).to_vec();
    for cut in (0..bytes.len()).step_by(1_009) {
        let mut files = files.clone();
        files.insert("store.db".to_owned(), bytes[..cut].to_vec());
        let mut items = Vec::new();
        match kode::read(&tree(&files), &mut items) {
            Err(ReadError::Damaged { .. }) => assert_eq!(items, [], "{cut}"),
            // Without its header it is no database, and the files beside it are what is left.
            read => assert!(read.is_ok() && cut < 4_096, "{cut}: {read:?}"),
        }
    }
}

#[test]
fn a_store_that_is_spoilt_anywhere_does_no_harm() {
    let files = store();
    let (mut random, mut refused) = (Rng::with_seed(3), 0);
    for _ in 0..150 {
        let mut files = files.clone();
        let bytes = files.get_mut("store.db").expect("a database");
        // Where a page says what stands in it.
        let place = random.usize(1..bytes.len() / 4_096) * 4_096 + random.usize(..16);
        bytes[place] = random.u8(..);
        let mut items = Vec::new();
        match kode::read(&tree(&files), &mut items) {
            Ok(()) => assert_accounted(&items, &place),
            Err(ReadError::Damaged { .. } | ReadError::TooLarge { .. }) => {
                refused += 1;
                assert_eq!(items, []);
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    expect!["133"].assert_eq(&refused.to_string());
}

#[test]
fn agents_of_files_become_rows_and_files_again() {
    for name in ["kode/full-2.7.0", "kode/store-level", "kode/crash-approval/after-resume"] {
        let Some(path) = fixtures(name) else { return };
        let items = crate::kode::unsealed(&read(&folder(&path)));
        let mut shelf = Shelf::of(&items);
        let (written, _) = write(&mut shelf, Some("sqlite"));
        accepted(&written);
        let again = crate::kode::unsealed(&read(&tree(&written)));
        assert_accounted(&again, &name);
        let said = |shelf: &mut Shelf| {
            (0..shelf.conversations.len()).map(|place| crate::tables::path(shelf, place)).collect::<Vec<_>>()
        };
        let mut back = Shelf::of(&again);
        assert_eq!(said(&mut back), said(&mut shelf), "{name}");
        let (same, losses) = write(&mut back, None);
        assert_eq!((rows_changed(database(&written), database(&same)).as_str(), losses), ("", Vec::new()), "{name}");
        let (files, _) = write(&mut back, Some("current"));
        assert!(files.keys().all(|name| !name.ends_with(".db")), "{name}");
        let files = crate::kode::unsealed(&read(&tree(&files)));
        assert_eq!(said(&mut Shelf::of(&files)), said(&mut shelf), "{name}");
    }
}

#[test]
fn any_agent_that_is_written_as_rows_and_read_is_the_same() {
    for seed in 0..60 {
        let mut rng = Rng::with_seed(seed);
        // One agent: the table of tool calls holds each id once, and here they are all called alike.
        let mut shelf = Shelf::of(&random::agent(&mut rng));
        for (out, messages, _) in &mut shelf.conversations {
            out.record = None;
            messages.iter_mut().for_each(|message| message.record = None);
        }
        let (files, _) = write(&mut shelf, Some("sqlite"));
        accepted(&files);
        let mut again = Shelf::of(&read(&tree(&files)));
        let (same, losses) = write(&mut again, None);
        assert_eq!((rows_changed(database(&files), database(&same)).as_str(), losses), ("", Vec::new()), "seed {seed}");
        assert_eq!(random::essence(&mut again), random::essence(&mut shelf), "seed {seed}");
    }
}

#[test]
fn a_conversation_from_elsewhere_becomes_rows() {
    let mut shelf = Shelf::default();
    shelf.begin("从别处", Timestamp(1_750_000_000_000_000));
    shelf.say(0, "user", &[Part::text("你好")]);
    shelf.say(0, "bot", &[Part::text("ho")]);
    let (files, _) = write(&mut shelf, Some("sqlite"));
    assert_eq!(files.keys().collect::<Vec<_>>(), ["agents.db"]);
    accepted(&files);
    expect![[r#"
        messages 1 id="msg_1750000000000_68a605930" agent_id="agt-01HF7YAT000000000000000000" role="user" content="[{\"type\":\"text\",\"text\":\"你好\"}]" seq=0 metadata=NULL created_at=1750000000000
        messages 2 id="msg_1750000000000_7212d35d1" agent_id="agt-01HF7YAT000000000000000000" role="assistant" content="[{\"type\":\"text\",\"text\":\"ho\"}]" seq=1 metadata=NULL created_at=1750000000000"#]].assert_eq(
        &dump(database(&files)).lines().filter(|line| line.starts_with("messages ")).collect::<Vec<_>>().join("\n"),
    );
    assert_eq!(manent_formats::sniff(&tree(&files)).map(|format| format.name), Some("kode"));
}
