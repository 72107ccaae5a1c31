//! Exports of a store with damaged records: those are left out and named, everything else is written, in every format.

use crate::kit::*;
use manent::formats::FORMATS;
use manent::*;
use manent_testing::scratch::{Scratch, run_sql};
use std::collections::BTreeMap;
use std::path::Path;

/// Texts whose first letter another program changes, with the column that holds each.
const CHANGED: [(&str, &str, &str); 7] = [
    ("message", "body", "message number 17"),
    ("note", "body", "note number 1"),
    ("document", "body", "document number 1"),
    ("memory", "body", "memory number 1"),
    ("conversation", "title", "title number 1"),
    ("scratch", "body", "draft number 1"),
    ("blob_piece", "bytes", "0f8Kq2ZxYv7RtLwPbN"),
];

struct Sample {
    /// With a damaged message.
    chat: ConversationId,
    damaged: MessageId,
    /// With a damaged title.
    untitled: ConversationId,
}

async fn sample(database: &Database) -> Sample {
    let chat = conversation(database, "a chat").await;
    let said: Vec<String> = (0..40).map(|number| format!("message number {number:02}")).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let ids = say(database, chat, &said).await;
    for number in 0..3 {
        database.add_note(ids[0], "rating", json(&format!(r#""note number {number}""#))).await.expect("added");
        let body = json(&format!(r#"{{"text":"document number {number}"}}"#));
        database.put_document("lore", &format!("d{number}"), None, body).await.expect("put");
        let text = format!("memory number {number}");
        let memory = MemoryDraft { text, collection: "notes".to_owned(), ..MemoryDraft::default() };
        database.put_memory(memory).await.expect("put");
        let body = json(&format!(r#""draft number {number}""#));
        let (kind, id, actor) = ("draft".to_owned(), number.to_string(), String::new());
        let scratch = model::Scratch { kind, id, actor, body, at: Timestamp(1) };
        database.change(Change::PutScratch { scratch }).await.expect("put");
    }
    let blob = database.put_blob(b"0f8Kq2ZxYv7RtLwPbN").await.expect("stored");
    let parts = format!(r#"[{{"type":"media","mime":"image/png","blob":"{blob}"}}]"#);
    database.append(chat, MessageDraft::from_json("user", &parts).expect("parts")).await.expect("added");
    let untitled = conversation(database, "title number 1").await;
    say(database, untitled, &["below a damaged title"]).await;
    let sound = conversation(database, "sound").await;
    say(database, sound, &["untouched"]).await;
    Sample { chat, damaged: ids[17], untitled }
}

/// Changes the first letter of each text in a closed store.
fn change_file(path: &Path) {
    let mut bytes = std::fs::read(path).expect("a file");
    for (_, _, text) in CHANGED {
        let places: Vec<usize> =
            (0..bytes.len() - text.len()).filter(|from| bytes[*from..].starts_with(text.as_bytes())).collect();
        assert!(!places.is_empty(), "{text} is in the file");
        for place in places {
            bytes[place] = b'#';
        }
    }
    std::fs::write(path, bytes).expect("written");
}

/// Does the same on a server.
fn change_server(url: &str) {
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    for (table, column, text) in CHANGED {
        let changed = format!("#{}", &text[1..]);
        let sql = match column {
            "title" => format!("update {table} set {column} = '{changed}' where {column} = '{text}'"),
            _ => format!(
                "update {table} set {column} = decode(replace(encode({column}, 'hex'), '{}', '{}'), 'hex')",
                hex(text),
                hex(&changed)
            ),
        };
        run_sql(url, &sql).expect("changed");
    }
}

/// A damaged store on each engine.
async fn on_each_engine(check: impl AsyncFn(&Database, Sample)) {
    let file = open();
    let made = sample(&file).await;
    file.close().await.expect("closes");
    let path = file.folder.path().join("test.db");
    change_file(&path);
    check(&Database::open(&path).expect("opens"), made).await;
    let Some(scratch) = Scratch::make() else { return };
    let server = Database::open(&scratch.url).expect("opens");
    let made = sample(&server).await;
    change_server(&scratch.url);
    check(&server, made).await;
}

/// Counts the damaged records of each kind.
fn kinds(damaged: &[DamagedRecord]) -> BTreeMap<&str, usize> {
    let mut kinds = BTreeMap::new();
    for record in damaged {
        *kinds.entry(record.what.as_str()).or_default() += 1;
    }
    kinds
}

#[tokio::test]
async fn jsonl_export_leaves_out_one_damaged_record_of_each_list() {
    on_each_engine(async |database, Sample { chat, damaged, untitled }| {
        let mut out = Vec::new();
        let report = database.export_jsonl(&ExportSelection::Everything, &mut out).await.expect("written");
        let expected =
            ["blob", "conversation", "document", "memory", "message", "note", "scratch"].map(|kind| (kind, 1));
        assert_eq!(kinds(&report.damaged), BTreeMap::from(expected), "{:?}", report.damaged);
        let named = |what: &str, conversation, id: String| {
            let record = DamagedRecord { conversation: Some(conversation), what: what.to_owned(), id };
            assert!(report.damaged.contains(&record), "{record:?}: {:?}", report.damaged);
        };
        named("message", chat, damaged.to_string());
        named("conversation", untitled, untitled.to_string());
        let text = String::from_utf8(out).expect("JSON is UTF-8");
        for number in [0, 2] {
            for what in ["note", "document", "memory", "draft"] {
                assert!(text.contains(&format!("{what} number {number}")), "{what} {number}");
            }
        }
        let other = open();
        let imported = other.import_jsonl(text.as_bytes()).await.expect("readable");
        assert_eq!(imported.problems.len(), 7, "one for each damaged record: {:?}", imported.problems);
        assert_eq!(texts(&other, untitled).await, ["below a damaged title"]);
        assert_eq!(texts(&other, chat).await.len(), 40, "40 and a picture, without one");
    })
    .await;
}

#[tokio::test]
async fn foreign_export_leaves_out_a_damaged_message_and_names_it() {
    on_each_engine(async |database, Sample { chat, damaged, untitled }| {
        for format in FORMATS {
            let files = BTreeMap::<String, Vec<u8>>::new();
            let plan = ExportPlan::everything(format);
            let exported =
                database.export_tree(&plan, files).await.unwrap_or_else(|error| panic!("{}: {error:?}", format.name));
            let record =
                DamagedRecord { conversation: Some(chat), what: "message".to_owned(), id: damaged.to_string() };
            assert!(exported.damaged.contains(&record), "{}: {:?}", format.name, exported.damaged);
            let (what, id) = ("conversation".to_owned(), untitled.to_string());
            let record = DamagedRecord { conversation: Some(untitled), what, id };
            assert!(exported.damaged.contains(&record), "{}: {:?}", format.name, exported.damaged);
            assert_eq!(exported.conversations, 3, "{}", format.name);
            let written: Vec<u8> = exported.out.into_values().flatten().collect();
            let holds = |text: &str| written.windows(text.len()).any(|window| window == text.as_bytes());
            for number in (0..40).filter(|number| *number != 17) {
                assert!(holds(&format!("message number {number:02}")), "{} {number}", format.name);
            }
            assert!(!holds("essage number 17"), "{}", format.name);
            assert!(holds("below a damaged title") && holds("untouched"), "{}", format.name);
        }
    })
    .await;
}

#[tokio::test]
async fn jsonl_export_keeps_a_branch_that_left_a_damaged_message() {
    let file = open();
    let chat = conversation(&file, "a chat").await;
    let ids = say(&file, chat, &["first words", "second words", "third words"]).await;
    file.edit(chat, ids[2], MessageDraft::user("third words, again"), FollowUps::Detach).await.expect("edited");
    say(&file, chat, &["fourth words"]).await;
    file.close().await.expect("closes");
    let path = file.folder.path().join("test.db");
    let mut bytes = std::fs::read(&path).expect("a file");
    let place = bytes.windows(12).position(|window| window == b"second words").expect("the text is in the file");
    bytes[place] = b'#';
    std::fs::write(&path, bytes).expect("written");
    let again = Database::open(&path).expect("opens");
    let mut out = Vec::new();
    let report = again.export_jsonl(&ExportSelection::Everything, &mut out).await.expect("written");
    assert_eq!(report.damaged.len(), 1, "{:?}", report.damaged);
    let other = open();
    other.import_jsonl(&out[..]).await.expect("readable");
    assert_eq!(texts(&other, chat).await, ["first words", "third words, again", "fourth words"]);
}
