//! Files that are imported again, and have grown meanwhile.

use super::*;

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
async fn the_same_id_in_another_story_is_another_conversation() {
    let other = SESSIONS.replace("2024-01-01T00:00:00.000Z\"\n    },", "2020-05-05T00:00:00.000Z\"\n    },");
    let database = open();
    import(&database, &sessions(SESSIONS)).await;
    let elsewhere = Files::from([("otherone-storage.json".to_owned(), other.clone().into_bytes())]);
    let report = import(&database, &elsewhere).await;
    let told: Vec<bool> = report.conversations.iter().map(|one| one.is_new).collect();
    assert_eq!(told, [true, false], "the second was made at the same time");
    // Everybody's file has the same name, wherever it lies.
    let database = open();
    import(&database, &sessions(SESSIONS)).await;
    let told: Vec<bool> =
        import(&database, &sessions(&other)).await.conversations.iter().map(|one| one.is_new).collect();
    assert_eq!(told, [true, false]);
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
async fn time_of_last_use_is_taken_from_a_file_that_is_imported_again() {
    let vault = |updated: u32, more: &str| {
        let session = format!(
            r#"{{"sessionId":"s1","sessionName":"N","createdAt":1,"updatedAt":{updated},"messages":[{{"role":"user","content":"one"}}{more}]}}"#
        );
        Files::from([("sessions/s1.json".to_owned(), session.into_bytes())])
    };
    on_each_engine(async |database| {
        import(&database, &vault(1_000, "")).await;
        let answer = r#",{"role":"assistant","content":"two","thinking":null}"#;
        for files in [vault(2_000, ""), vault(3_000, answer), vault(2_500, answer)] {
            import(&database, &files).await;
            let written = written(&database, "obsidian-rag").await;
            let (expected, found) = (&files["sessions/s1.json"], &written["sessions/s1.json"]);
            assert_eq!(String::from_utf8_lossy(found), String::from_utf8_lossy(expected));
        }
    })
    .await;
}
