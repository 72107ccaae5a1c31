//! Conversations that were made or changed here, written for programs that never saw them.

use super::*;
use manent_testing::foreign::sqlite;

fn value(files: &Files, name: &str) -> serde_json::Value {
    let file = files.get(name).unwrap_or_else(|| panic!("{name} is missing in {:?}", files.keys()));
    serde_json::from_slice(file).expect("JSON")
}

/// The files of what was written into an empty store, read and written again.
async fn again(files: &Files, format: &str) -> (Vec<String>, Files) {
    let database = open();
    import(&database, files).await;
    let report = import(&database, files).await;
    assert!(
        report.conversations.iter().all(|one| (one.added, one.updated, one.annotations) == (0, 0, 0)),
        "{report:#?}"
    );
    let ids = database.store().conversation_ids(None, 9).await.expect("readable");
    (texts(&database, ids[0]).await, written(&database, format).await)
}

#[tokio::test]
async fn personalab_export_of_a_conversation_made_here_can_be_played_on() {
    let database = open();
    let id = conversation(&database, "").await;
    say(&database, id, &["你好"]).await;
    database.append(id, MessageDraft::assistant("有什么事吗？")).await.expect("said");
    let files = written(&database, "personalab").await;
    let instance = files.keys().find_map(|name| name.strip_suffix("/instance_state.json")).expect("an instance");
    let state = value(&files, &format!("{instance}/instance_state.json"));
    let plot = serde_json::json!({"current_plot_index": 1, "current_status": "pending", "no_update_count": 0});
    assert_eq!(state["plot_state"], plot);
    let character = value(&files, &format!("{instance}/character_state.json"));
    assert_eq!(character, serde_json::json!({"base_persona": "", "evolved_persona": ""}));
    let settings = value(&files, "data/config.json");
    assert_eq!(settings["features"]["director_plot_control"]["rag_fallback_threshold"], 3);
    assert_eq!(
        (&settings["summary"]["last_n_turns"], &settings["conversation_file"]["load_all"]),
        (&5.into(), &true.into())
    );
    let (texts, written) = again(&files, "personalab").await;
    assert_eq!(texts, ["你好", "有什么事吗？"]);
    assert_same(&files, &written);
}

#[tokio::test]
async fn personalab_export_of_another_format_has_the_files_its_program_asks_for() {
    for (generation, character) in [("v0.5", "character_state.json"), ("v2", "character_snapshot.json")] {
        let database = open();
        import(&database, &sessions(SESSIONS)).await;
        let format = formats::format("personalab").expect("known");
        let plan = ExportPlan { generation: Some(generation.to_owned()), ..ExportPlan::everything(format) };
        let files = database.export_tree(&plan, Files::new()).await.expect("written").out;
        let count = |name: &str| files.keys().filter(|file| file.ends_with(name)).count();
        assert_eq!((count(character), count("config.json")), (2, 1), "{generation}: {:?}", files.keys());
        let (_, written) = again(&files, "personalab").await;
        assert_same(&files, &written);
    }
}

#[tokio::test]
async fn obsidian_export_of_an_untitled_conversation_has_the_default_name() {
    let database = open();
    let id = conversation(&database, "").await;
    say(&database, id, &["hello"]).await;
    let files = written(&database, "obsidian-rag").await;
    let index = files.keys().find(|name| name.ends_with("sessions_index.json")).expect("an index").clone();
    let name = value(&files, &index)["sessions"][0]["sessionName"].as_str().expect("a name").to_owned();
    let shape: String = name.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    assert_eq!(shape, "新会话 00-00 00:00");
    let session = files.keys().find(|name| name.contains("/sessions/")).expect("a session").clone();
    assert_eq!(value(&files, &session)["sessionName"], name);
    let (_, written) = again(&files, "obsidian-rag").await;
    assert_same(&files, &written);
}

#[tokio::test]
async fn tables_message_appended_after_a_cut_edit_gets_a_row_of_its_own() {
    let tables = sqlite::file(
        "create table conversation (conv_id text primary key, project text, sequence text default 'sequential' not null,
            status text default 'active' not null, created_at datetime, metadata text);
        create table message (message_id text primary key, parent_message_id text, timestamp datetime,
            conversation_id text not null, role text, text text not null, metadata text);
        insert into conversation values ('c', null, 'sequential', 'active', '2026-01-03 08:00:00', null);
        insert into message values ('m1', null, '2026-01-03 08:00:01', 'c', 'user', 'one', null);
        insert into message values ('m2', null, '2026-01-03 08:00:02', 'c', 'bot', 'two', null);
        insert into message values ('m3', null, '2026-01-03 08:00:03', 'c', 'user', 'three', null);
        insert into message values ('m4', null, '2026-01-03 08:00:04', 'c', 'bot', 'four', null);
        insert into message values ('m5', null, '2026-01-03 08:00:05', 'c', 'user', 'five', null);",
    );
    let database = open();
    import(&database, &Files::from([("tables.sqlite".to_owned(), tables)])).await;
    let ids = database.store().conversation_ids(None, 9).await.expect("readable");
    let page = database.page(ids[0], None, Direction::Forward, 9).await.expect("readable");
    let role = page.messages[1].content.role.clone();
    database
        .edit(ids[0], page.messages[2].id, MessageDraft::user("three anew"), FollowUps::Detach)
        .await
        .expect("edited");
    database.append(ids[0], MessageDraft::new(role, &[model::Part::text("answer")])).await.expect("said");
    say(&database, ids[0], &["more"]).await;
    let written = written(&database, "conversation-tables").await;
    let dump = sqlite::dump(&written["tables.sqlite"]);
    let row = |words: &str| dump.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {dump}"));
    assert!(row("three anew").contains("m3"), "an edit keeps its row: {dump}");
    for words in ["answer", "more"] {
        let row = row(words);
        assert!(!["m1", "m2", "m3", "m4", "m5", "2026-01-03"].iter().any(|old| row.contains(old)), "{row}");
    }
    let other = open();
    import(&other, &written).await;
    let ids = other.store().conversation_ids(None, 9).await.expect("readable");
    assert_eq!(texts(&other, ids[0]).await, ["one", "two", "three anew", "answer", "more"]);
}
