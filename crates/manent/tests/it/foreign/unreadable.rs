//! Records with a member that is no JSON: the rest is taken in, the bytes are kept and reported.

use super::*;

fn tree(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
}

/// Imports, and returns the messages of each conversation, with what was kept as unreadable.
async fn taken_in(files: &Files) -> (Vec<Vec<String>>, Vec<String>) {
    let database = open();
    let report = import(&database, files).await;
    let mut said = Vec::new();
    for id in database.store().conversation_ids(None, 9).await.expect("readable") {
        said.push(texts(&database, id).await);
    }
    let mut kept = Vec::new();
    for source in database.sources().await.expect("readable") {
        let found = database.store().quarantined(source.id).await.expect("readable");
        kept.extend(found.into_iter().map(|one| String::from_utf8_lossy(&one.bytes).into_owned()));
    }
    assert!(report.skipped() >= kept.len(), "{report:#?}");
    assert_sound(&database).await;
    (said, kept)
}

#[tokio::test]
async fn obsidian_member_that_is_no_json_is_reported_and_the_session_kept() {
    let files = tree(&[
        (
            "sessions_index.json",
            r#"{"version":"1.0","currentSessionId":"s1","sessions":[{"sessionId":"s1","sessionName":"N","createdAt":1,"updatedAt":2,"messageCount":2}]}"#,
        ),
        (
            "sessions/s1.json",
            r#"{"sessionId":"s1","sessionName":"N","createdAt":1794770048480,"updatedAt": 179477!048480,
            "messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho","thinking":nul}]}"#,
        ),
    ]);
    let (said, kept) = taken_in(&files).await;
    assert_eq!(said, [["hi", "ho"]]);
    assert_eq!(kept, ["179477!048480", "nul"]);
}

#[tokio::test]
async fn personalab_member_that_is_no_json_is_reported_and_the_rest_kept() {
    let files = tree(&[
        (
            "instances/i1/instance_state.json",
            r#"{"instance_id":"i1","current_session_id":"sess_001","plot_state":{"current_plot_index":3,"no_update_count": x}}"#,
        ),
        (
            "instances/i1/sessions/session_001.jsonl",
            concat!(
                r#"{"type":"metadata","session_id":"sess_001","instance_id":"i1"}"#,
                "\n",
                r#"{"role":"user","content":"go","turn":1,"timestamp": 20!4}"#,
                "\n"
            ),
        ),
        ("characters/c1/definition.json", r#"{"name":"C","age": ?}"#),
    ]);
    let database = open();
    let report = import(&database, &files).await;
    assert_eq!(report.skipped(), 3, "{report:#?}");
    let ids = database.store().conversation_ids(None, 9).await.expect("readable");
    assert_eq!(texts(&database, ids[0]).await, ["go"]);
    let plot = database.store().state(ids[0], "plot_state".to_owned(), None).await.expect("readable").expect("a plot");
    assert_eq!(plot.text(), r#"{"current_plot_index":3}"#);
    let (_, kept) = taken_in(&files).await;
    assert_eq!(kept, ["?", "x", "20!4"]);
}

#[tokio::test]
async fn veloca_session_with_a_bad_token_keeps_its_entries() {
    let files = sessions(
        r#"{"sessions":[{"session_id":"s1","status": zero,"create_at":"2024-01-01T00:00:00.000Z","entries":[
            {"entry_id":"e1","role":"user","content":"hi","create_at":"2024-01-01T00:00:00.000Z"},
            {"entry_id":"e2","role":"assistant","content":"ho","token_consumption": 1!2,"create_at":"2024-01-01T00:00:01.000Z"},
            {"entry_id":"e3","role":"user","content":"so","create_at":}
        ],"compacted_entries":[]}]}"#,
    );
    let (said, kept) = taken_in(&files).await;
    assert_eq!(said, [["hi", "ho", "so"]]);
    assert_eq!(kept, ["zero", "1!2"]);
    let flat = sessions(&SESSIONS.replace("\"token_consumption\": 2,", "\"token_consumption\": 2.2.2,"));
    let (said, kept) = taken_in(&flat).await;
    assert_eq!(said[1], ["hi"]);
    assert_eq!(kept, ["2.2.2"]);
}

#[tokio::test]
async fn kode_member_that_is_no_json_is_reported_and_the_rest_kept() {
    let files = tree(&[
        (
            "agt-1/meta.json",
            r#"{"agentId":"agt-1","templateId":"t","createdAt":"2026-01-01T00:00:00.000Z","messageCount": two}"#,
        ),
        (
            "agt-1/runtime/messages.json",
            r#"[{"role":"user","content":[{"type":"text","text":"hi"}],"metadata":{"transport": ?}},
            {"role":"assistant","content":[{"type":"text","text":"ho","meta":{"n": 1!}}]}]"#,
        ),
    ]);
    let (said, kept) = taken_in(&files).await;
    assert_eq!(said, [["hi", "ho"]]);
    assert_eq!(kept, ["two", "?", "1!"]);
}
