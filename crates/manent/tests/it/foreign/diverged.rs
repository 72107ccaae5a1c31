//! Two copies that went different ways: what was said here, and what the other program said meanwhile.

use super::*;
use manent::model::{Extra, Json, Part};

/// The sessions with more entries of the second one.
fn grown(entries: &[(&str, &str, &str)]) -> String {
    let entry = |(id, role, text): &(&str, &str, &str)| {
        format!(
            r#"    ,{{"entry_id":"{id}","session_id":"s2","message":"{text}","role":"{role}","token_consumption":0,"status":0,"tools":null,"create_at":"2024-01-03T00:00:00.000Z","is_compaction":1}}"#
        )
    };
    let entries: Vec<String> = entries.iter().map(entry).collect();
    let end = "  ],\n  \"compacted_dialogues\"";
    SESSIONS.replace(end, &format!("{}\n{end}", entries.join("\n")))
}

/// The entries of the second session in a file: id and words.
fn entries(files: &Files) -> Vec<(String, String)> {
    let file: serde_json::Value = serde_json::from_slice(&files["veloca-storage.json"]).expect("JSON");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let entries = file["entries"].as_array().expect("entries").iter().filter(|entry| entry["session_id"] == "s2");
    entries.map(|entry| (text(&entry["entry_id"]), text(&entry["message"]))).collect()
}

#[tokio::test]
async fn export_of_diverged_copies_keeps_records_of_the_other_program_and_lists_its_branch() {
    on_each_engine(async |database| {
        import(&database, &sessions(SESSIONS)).await;
        let ids = database.store().conversation_ids(None, 9).await.expect("readable");
        say(&database, ids[1], &["HERE question"]).await;
        database.append(ids[1], MessageDraft::assistant("HERE answer")).await.expect("said");
        let theirs = [("there-1", "user", "THERE question"), ("there-2", "assistant", "THERE answer")];
        import(&database, &sessions(&grown(&theirs))).await;
        assert_eq!(texts(&database, ids[1]).await, ["hi", "HERE question", "HERE answer"]);
        let format = formats::format("veloca").expect("veloca");
        let exported = database.export_tree(&ExportPlan::everything(format), Files::new()).await.expect("written");
        let found = entries(&exported.out);
        let words: Vec<&str> = found.iter().map(|(_, words)| words.as_str()).collect();
        assert_eq!(words, ["hi", "HERE question", "HERE answer"]);
        assert!(found.iter().all(|(id, _)| !id.starts_with("there")), "{found:?}");
        let lost: Vec<_> = exported.losses.iter().map(|lost| (lost.what.as_str(), lost.count)).collect();
        assert_eq!(lost, [("branches that are not shown", 1)]);
        // The other way is shown on request, and written with its own records.
        let branches = database.store().branches(ids[1]).await.expect("readable");
        let other = branches.iter().rfind(|branch| !branch.is_head).expect("their way");
        database.switch_branch(ids[1], other.id).await.expect("shown");
        let found = entries(&written(&database, "veloca").await);
        let of_theirs: Vec<(String, String)> =
            theirs.iter().map(|(id, _, words)| ((*id).to_owned(), (*words).to_owned())).collect();
        assert_eq!(found[1..], of_theirs);
        assert_sound(&database).await;
    })
    .await;
}

#[tokio::test]
async fn export_after_an_edit_that_drops_the_tail_lists_what_is_left_out() {
    let vault = Files::from([(
        "sessions/s1.json".to_owned(),
        br#"{"sessionId":"s1","sessionName":"N","createdAt":1,"updatedAt":2,"messages":[{"role":"user","content":"one"},
            {"role":"assistant","content":"two"},{"role":"user","content":"three"}]}"#
            .to_vec(),
    )]);
    let database = open();
    import(&database, &vault).await;
    let ids = database.store().conversation_ids(None, 9).await.expect("readable");
    let page = database.page(ids[0], None, Direction::Forward, 9).await.expect("readable");
    database.rewind(ids[0], page.messages[0].id).await.expect("rewound");
    let format = formats::format("obsidian-rag").expect("known");
    let exported = database.export_tree(&ExportPlan::everything(format), Files::new()).await.expect("written");
    let lost: Vec<_> = exported.losses.iter().map(|lost| (lost.what.as_str(), lost.count)).collect();
    assert_eq!(lost, [("messages behind the end of the shown path", 2)]);
}

#[tokio::test]
async fn trashed_conversation_is_left_out_where_the_format_has_no_trash() {
    let database = open();
    let (kept, gone) = (conversation(&database, "kept").await, conversation(&database, "gone").await);
    for id in [kept, gone] {
        say(&database, id, &["words"]).await;
    }
    database.trash(gone).await.expect("trashed");
    for (name, is_left_out) in [("kode", true), ("personalab", true), ("veloca", false), ("obsidian-rag", false)] {
        let plan = ExportPlan::everything(formats::format(name).expect("known"));
        let exported = database.export_tree(&plan, Files::new()).await.expect("written");
        assert_eq!(exported.conversations, if is_left_out { 1 } else { 2 }, "{name}");
        assert_eq!(exported.losses.iter().any(|lost| lost.what == "conversations in the trash"), is_left_out, "{name}");
        let plan = ExportPlan { selection: ExportSelection::Conversations(vec![gone]), ..plan };
        assert_eq!(database.export_tree(&plan, Files::new()).await.expect("written").conversations, 1, "{name}");
    }
}

#[tokio::test]
async fn personalab_edit_keeps_its_turn_and_tools_use_up_none() {
    let lines = concat!(
        r#"{"type":"metadata","session_id":"s","instance_id":"i"}"#,
        "\n",
        r#"{"role":"user","content":"go","turn":7,"timestamp":"2026-01-01T00:00:00Z"}"#,
        "\n"
    );
    let story = Files::from([("instances/i/sessions/s.jsonl".to_owned(), lines.as_bytes().to_vec())]);
    let database = open();
    import(&database, &story).await;
    let ids = database.store().conversation_ids(None, 9).await.expect("readable");
    let page = database.page(ids[0], None, Direction::Forward, 9).await.expect("readable");
    let draft = MessageDraft::user("went");
    database.edit(ids[0], page.messages[0].id, draft, FollowUps::Keep).await.expect("edited");
    let result = Part::ToolResult { call: "c".to_owned(), content: Json::of(&1), extra: Extra::new() };
    database.append(ids[0], MessageDraft::new("user", &[result])).await.expect("said");
    say(&database, ids[0], &["next"]).await;
    let written = written(&database, "personalab").await;
    let text = String::from_utf8_lossy(&written["instances/i/sessions/s.jsonl"]).into_owned();
    let turns: Vec<(Option<u64>, String)> = text
        .lines()
        .skip(1)
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            (line["turn"].as_u64(), line["content"].as_str().unwrap_or_default().to_owned())
        })
        .collect();
    assert_eq!(turns, [(Some(7), "went".to_owned()), (Some(8), "next".to_owned())]);
}
