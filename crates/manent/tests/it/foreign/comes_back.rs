//! Round trips: unchanged files are exported byte for byte, files that a crash damaged are exported repaired.

use super::*;

/// Untouched, it comes back to the byte: at once, after a second import, and by way of our own lines.
async fn comes_back(folder: &str, format: &str) {
    let Some(files) = real(folder) else { return };
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
        "full-2.7.0",
        "interrupt",
        "pool-shutdown",
        "crash-approval/before",
        "crash-approval/after-resume",
        "crash-approval/after-next-turn",
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
    let Some(files) = real(folder) else { return };
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
            gone: agt-executing/events/progress.wal
            changed: agt-executing/meta.json
            -  "messageCount": 4,
            -  "lastSfpIndex": 2,
            +  "messageCount": 5,
            +  "lastSfpIndex": 4,
            changed: agt-executing/runtime/messages.json
            +  },
            +  {
            +    "role": "user",
            +    "content": [
            +      {
            +        "type": "tool_result",
            +        "tool_use_id": "call_x1",
            +        "content": {
            +          "ok": false,
            +          "data": {
            +            "status": "TOOL_RESULT_MISSING",
            +            "toolId": "call_x1",
            +            "note": "Tool result missing; session sealed automa
            +          },
            +          "error": "Tool result missing; session sealed automat
            +        },
            +        "is_error": true
            +      }
            +    ]"#]],
    )
    .await;
}

#[tokio::test]
async fn events_that_a_crash_doubled_are_there_once() {
    check_crash("kode/crash-event-dup/before", expect!["gone: a/events/progress.wal"]).await;
}
