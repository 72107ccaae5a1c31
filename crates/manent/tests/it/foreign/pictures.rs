//! Messages with pictures in them: larger than a commit, and whole again when they are written.

use super::*;

/// A picture of 6 MB as base64, the same in every run.
fn picture() -> String {
    let mut random = fastrand::Rng::with_seed(6);
    let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(4_500_001).collect();
    base64_of(&bytes)
}

/// Written here, so that what takes pictures out is not checked by itself.
fn base64_of(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = three.iter().chain([&0, &0]).take(3).fold(0, |number, byte| number << 8 | usize::from(*byte));
        for place in 0..4 {
            match place <= three.len() {
                true => text.push(char::from(DIGITS[number >> (18 - 6 * place) & 63])),
                false => text.push('='),
            }
        }
    }
    text
}

/// An agent that was shown a picture, and a snapshot of it whose records are laid out in another way.
fn agent(base64: &str) -> Files {
    let block = |indent: &str| {
        format!(
            "{{\n{indent}  \"type\": \"image\",\n{indent}  \"base64\": \"{base64}\",\n{indent}  \"mime_type\": \"image/png\"\n{indent}}}"
        )
    };
    let shown = format!(
        "{{\n    \"role\": \"user\",\n    \"content\": [\n      {{\n        \"type\": \"text\",\n        \"text\": \"这是什么？\"\n      }},\n      {}\n    ],\n    \"metadata\": {{\n      \"content_blocks\": [\n        {}\n      ]\n    }}\n  }}",
        block("      "),
        block("        ")
    );
    let said = "{\n    \"role\": \"assistant\",\n    \"content\": [\n      {\n        \"type\": \"text\",\n        \"text\": \"一只猫\"\n      }\n    ]\n  }";
    let messages = format!("[\n  {shown},\n  {said}\n]");
    let compact = |text: &str| text.lines().map(str::trim_start).collect::<String>();
    let snapshot = format!(
        "{{\n  \"id\": \"sfp-1\",\n  \"messages\": [\n    {}\n  ],\n  \"lastSfpIndex\": 0\n}}",
        compact(&shown)
    );
    let meta = r#"{"agentId":"agt-1","templateId":"t","createdAt":"2025-01-01T00:00:00.000Z"}"#;
    let named = |name: &str, text: String| (format!("agt-1/{name}"), text.into_bytes());
    Files::from([
        named("meta.json", meta.to_owned()),
        named("runtime/messages.json", messages),
        named("snapshots/sfp-1.json", snapshot),
    ])
}

fn assert_equal(expected: &Files, found: &Files) {
    assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>());
    let different: Vec<&String> = expected.keys().filter(|name| expected[*name] != found[*name]).collect();
    assert_eq!(different, Vec::<&String>::new());
}

async fn only_conversation(database: &Database) -> ConversationId {
    database.store().conversation_ids(None, 1).await.expect("readable")[0]
}

#[tokio::test]
async fn a_message_with_a_large_picture_comes_back_to_the_byte() {
    let files = agent(&picture());
    on_each_engine(async |database| {
        let report = import(&database, &files).await;
        assert_eq!((report.skipped(), report.conversations[0].added), (0, 2), "{report:#?}");
        let blobs = database.store().blobs().await.expect("readable");
        assert_eq!(blobs.iter().map(|(_, size)| *size).collect::<Vec<_>>(), [4_500_001], "it is stored once");
        assert_equal(&files, &written(&database, "kode").await);

        let id = only_conversation(&database).await;
        let shown = database.page(id, None, Direction::Forward, 9).await.expect("readable").messages;
        let body = shown[0].content.body.clone();
        let Part::Media { mime, blob, .. } = &body.parts()[1] else { panic!("{body:?}") };
        assert_eq!((mime.as_str(), blob.as_deref()), ("image/png", Some(hex_of(&blobs[0].0).as_str())));
        assert!(body.text().len() < 1_000);

        let position = database.position();
        let again = import(&database, &files).await;
        assert_eq!(
            (database.position(), again.conversations[0].unchanged),
            (position, 2),
            "importing again adds nothing"
        );

        let other = open();
        let report = other.import_jsonl(export(&database).await.as_bytes()).await.expect("our own lines");
        assert_eq!(report.problems, []);
        assert_equal(&files, &written(&other, "kode").await);
        let mut alone = Vec::new();
        let selection = ExportSelection::Conversations(vec![id]);
        database.export_jsonl(&selection, &mut alone).await.expect("written");
        let other = open();
        other.import_jsonl(&alone[..]).await.expect("our own lines");
        assert_eq!(other.store().blobs().await.expect("readable"), blobs, "it travels with its conversation");
        assert_sound(&database).await;

        database.trash(id).await.expect("trashed");
        database.purge(id).await.expect("purged");
        assert_eq!(database.store().blobs().await.expect("readable"), [], "and goes with it");
    })
    .await;
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_message_that_was_changed_here_keeps_its_picture() {
    let files = agent(&picture());
    let database = open();
    import(&database, &files).await;
    let id = only_conversation(&database).await;
    let first = database.page(id, None, Direction::Forward, 1).await.expect("readable").messages.remove(0);
    let mut parts = first.content.body.parts();
    parts[0] = Part::text("这只猫叫什么？");
    let mut draft = MessageDraft::user("");
    draft.content.body = Body::of(&parts);
    draft.content.metadata = first.content.metadata.clone();
    database.edit(id, first.id, draft, FollowUps::Keep).await.expect("edited");
    let found = written(&database, "kode").await;
    let name = "agt-1/runtime/messages.json";
    let expected = String::from_utf8(files[name].clone()).expect("text").replacen("这是什么？", "这只猫叫什么？", 1);
    assert!(found[name] == expected.as_bytes(), "only the words differ");
}

#[tokio::test]
async fn text_that_looks_like_a_placeholder_is_not_a_picture() {
    let database = open();
    import(&database, &agent(&picture())).await;
    let id = only_conversation(&database).await;
    let (sha256, _) = database.store().blobs().await.expect("readable")[0];
    let words = format!("manent-blob/a{}. and manent-blob/_", hex_of(&sha256));
    database.append(id, MessageDraft::user(&words)).await.expect("said");
    let found = written(&database, "kode").await;
    let text = String::from_utf8(found["agt-1/runtime/messages.json"].clone()).expect("text");
    assert!(text.contains(&words), "the words are written as they were said");
    let again = open();
    import(&again, &found).await;
    assert_equal(&found, &written(&again, "kode").await);
}

#[tokio::test]
async fn a_page_shows_a_picture_that_stood_in_a_message() {
    let database = open();
    let base64 = base64_of(&[9; 60_000]);
    import(&database, &agent(&base64)).await;
    let page = written(&database, "html").await;
    let page = String::from_utf8_lossy(&page["conversations.html"]).into_owned();
    assert!(page.contains(&format!("src=\"data:image/png;base64,{base64}\"")), "the picture is on the page");
}

#[tokio::test]
async fn secrets_are_taken_out_beside_a_picture() {
    let base64 = base64_of(&[9; 60_000]);
    let mut files = agent(&base64);
    let name = "agt-1/runtime/messages.json";
    let text = String::from_utf8(files[name].clone()).expect("text");
    files.insert(name.to_owned(), text.replacen("这是什么？", "sk-proj-AbCdEfGhIjKlMnOpQr12", 1).into_bytes());
    let database = open();
    import(&database, &files).await;
    let format = formats::format("kode").expect("known");
    let plan = ExportPlan { secrets: formats::core::redact::Secrets::Remove, ..ExportPlan::everything(format) };
    let found = database.export_tree(&plan, Files::new()).await.expect("written").out;
    assert!(found[name] == text.replacen("这是什么？", "[redacted]", 1).as_bytes());
}

#[tokio::test]
async fn plain_words_above_the_limit_are_refused_and_told() {
    let files = agent("AA==");
    let name = "agt-1/runtime/messages.json";
    let text = String::from_utf8(files[name].clone()).expect("text");
    let mut files = files;
    files.insert(name.to_owned(), text.replacen("这是什么？", &"很长 ".repeat(700_000), 1).into_bytes());
    files.remove("agt-1/snapshots/sfp-1.json");
    let report = import(&open(), &files).await;
    let told: Vec<&str> = report.conversations[0].skipped.iter().map(|one| one.why.as_str()).collect();
    assert_eq!(told, ["the transaction is larger than 4 MiB"]);
}

/// A story whose words hold a picture as an address.
#[tokio::test]
async fn an_address_with_a_picture_in_it_comes_back_in_every_format() {
    let base64 = base64_of(&[5; 6_000_000]);
    let text = format!("看 ![猫](data:image/png;base64,{base64}) 好看");
    let stored = SESSIONS.replace("\"你好\"", &format!("\"{text}\""));
    let files = sessions(&stored);
    let database = open();
    let report = import(&database, &files).await;
    assert_eq!(report.skipped(), 0, "{report:#?}");
    assert!(files == written(&database, "veloca").await, "to the byte");
    let tables = written(&database, "personalab").await;
    let whole = tables.values().any(|bytes| String::from_utf8_lossy(bytes).contains(&text));
    assert!(whole, "another format has the words as they were");
}
