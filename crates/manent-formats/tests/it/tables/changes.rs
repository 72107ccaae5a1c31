//! What is said, taken out and renamed here changes exactly the rows that it is about.

use super::*;
use manent_formats::{ExportSource, ExportedMessage};
use manent_model::*;

fn content(role: &str, text: &str) -> Content {
    Content::new(role, Time::exact(1_800_000_000_000_000), Body::of(&[Part::text(text)]))
}

fn told(losses: &[Loss]) -> String {
    losses.iter().map(|loss| format!("{} {}", loss.count, loss.what)).collect::<Vec<_>>().join("\n")
}

/// Changes a file, and checks which rows differ and that reading it gives what is shown here.
fn changed(bytes: &[u8], change: impl FnOnce(&mut Shelf), rows: Expect, lost: Expect) {
    let mut shelf = Shelf::of(&read(&tree("chat.sqlite", bytes)));
    change(&mut shelf);
    let (written, losses) = write(&mut shelf, None);
    rows.assert_eq(&difference(bytes, &written));
    lost.assert_eq(&told(&losses));
    accepts::file(&written);
    let mut again = Shelf::of(&read(&tree("chat.sqlite", &written)));
    for place in 0..shelf.conversations.len() {
        assert_eq!(path(&mut again, place), path(&mut shelf, place), "conversation {place}");
        let titles = [&again, &shelf].map(|shelf| shelf.conversations[place].0.conversation.title.clone());
        assert_eq!(titles[0], titles[1]);
    }
    let (same, _) = write(&mut again, None);
    assert_eq!(difference(&written, &same), "", "what was written is read and written back");
}

pub fn path(shelf: &mut Shelf, place: usize) -> Vec<(String, String)> {
    let mut all: Vec<ExportedMessage> = Vec::new();
    loop {
        let page = shelf.messages(place, all.len()).expect("messages");
        if page.is_empty() {
            break;
        }
        all.extend(page);
    }
    let shown = all.into_iter().filter(|message| !message.is_removed);
    shown.map(|message| (message.content.role.clone(), message.content.body.words())).collect()
}

#[test]
fn a_new_name_stands_in_the_metadata() {
    let rename =
        |place: usize| move |shelf: &mut Shelf| shelf.conversations[place].0.conversation.title = "新名".to_owned();
    changed(
        &draft(),
        rename(0),
        expect![[r#"
        - conversation 1 conv_id="line" project="小说" sequence="sequential" status="active" created_at="2026-01-01 08:00:00" metadata="{\"name\": \"写作\", \"n\": 1.50}"
        + conversation 1 conv_id="line" project="小说" sequence="sequential" status="active" created_at="2026-01-01 08:00:00" metadata="{\"name\": \"新名\", \"n\": 1.50}""#]],
        expect![[""]],
    );
    changed(
        &draft(),
        rename(1),
        expect![[r#"
        - conversation 2 conv_id="mixed" project="小说" sequence="sequential" status="archived" created_at="2026-01-02 08:00:00" metadata=NULL
        + conversation 2 conv_id="mixed" project="小说" sequence="sequential" status="archived" created_at="2026-01-02 08:00:00" metadata="{\"title\":\"新名\"}""#]],
        expect![[""]],
    );
    let bytes = draft();
    let mut shelf = Shelf::of(&read(&tree("chat.sqlite", &bytes)));
    rename(2)(&mut shelf);
    let (written, losses) = write(&mut shelf, None);
    assert_eq!((difference(&bytes, &written).as_str(), told(&losses).as_str()), ("", "1 title"));
}

#[test]
fn status_and_project_are_columns() {
    changed(
        &draft(),
        |shelf| {
            shelf.conversations[0].0.conversation.status = ConversationStatus::Trashed;
            shelf.conversations[1].0.project = None;
            shelf.conversations[2].0.conversation.status = ConversationStatus::Archived;
            shelf.conversations[3].0.conversation.status = ConversationStatus::Active;
        },
        expect![[r#"
            - conversation 1 conv_id="line" project="小说" sequence="sequential" status="active" created_at="2026-01-01 08:00:00" metadata="{\"name\": \"写作\", \"n\": 1.50}"
            - conversation 2 conv_id="mixed" project="小说" sequence="sequential" status="archived" created_at="2026-01-02 08:00:00" metadata=NULL
            - conversation 3 conv_id="tree" project=NULL sequence="tree" status="active" created_at="2026-01-03 08:00:00" metadata="[1]"
            - conversation 4 conv_id="gone" project="" sequence="sequential" status="deleted" created_at="2026-01-04 08:00:00" metadata="{}"
            + conversation 1 conv_id="line" project="小说" sequence="sequential" status="deleted" created_at="2026-01-01 08:00:00" metadata="{\"name\": \"写作\", \"n\": 1.50}"
            + conversation 2 conv_id="mixed" project=NULL sequence="sequential" status="archived" created_at="2026-01-02 08:00:00" metadata=NULL
            + conversation 3 conv_id="tree" project=NULL sequence="tree" status="archived" created_at="2026-01-03 08:00:00" metadata="[1]"
            + conversation 4 conv_id="gone" project="" sequence="sequential" status="active" created_at="2026-01-04 08:00:00" metadata="{}""#]],
        expect![[""]],
    );
}

#[test]
fn what_is_said_in_a_line_is_a_row_at_its_end() {
    changed(
        &draft(),
        |shelf| {
            shelf.append(0, content("user", "还有\n\"吗\"？"));
            shelf.append(1, content("user", "third"));
        },
        expect![[r#"
            + message 12 message_id="018bcfe5-6800-0000-0000-000000000002" parent_message_id=NULL timestamp="2027-01-15 08:00:00" conversation_id="line" role="user" text="还有\n\"吗\"？" metadata=NULL
            + message 13 message_id="018bcfe5-6800-0000-0000-000001000002" parent_message_id=NULL timestamp="2027-01-15 08:00:00" conversation_id="mixed" role="user" text="third" metadata=NULL"#]],
        expect![[""]],
    );
}

#[test]
fn what_is_changed_or_taken_out_of_a_line_is_its_row() {
    changed(
        &draft(),
        |shelf| {
            shelf.edit(0, 1, "好");
            shelf.remove(0, 0);
        },
        expect![[r#"
            - message 1 message_id="l2" parent_message_id="l1" timestamp="2026-01-01 08:00:02" conversation_id="line" role="bot" text="你好！" metadata=NULL
            - message 2 message_id="l1" parent_message_id=NULL timestamp="2026-01-01 08:00:01" conversation_id="line" role="user" text="\"quoted\"" metadata="{\"k\":[1, 2]}"
            + message 1 message_id="l2" parent_message_id=NULL timestamp="2026-01-01 08:00:02" conversation_id="line" role="bot" text="好" metadata=NULL"#]],
        expect![[""]],
    );
}

#[test]
fn what_is_changed_later_in_a_line_stays_in_its_place() {
    changed(
        &draft(),
        |shelf| shelf.conversations[0].1[0].content = content("user", "changed much later"),
        expect![[r#"
            - message 2 message_id="l1" parent_message_id=NULL timestamp="2026-01-01 08:00:01" conversation_id="line" role="user" text="\"quoted\"" metadata="{\"k\":[1, 2]}"
            + message 2 message_id="l1" parent_message_id=NULL timestamp="2026-01-01 08:00:01" conversation_id="line" role="user" text="changed much later" metadata=NULL"#]],
        expect!["1 times of messages"],
    );
}

#[test]
fn an_answer_in_a_tree_names_what_it_answers() {
    changed(
        &draft(),
        |shelf| {
            shelf.append(2, content("assistant", "有"));
            shelf.append(2, content("user", "谢谢"));
        },
        expect![[r#"
            + message 12 message_id="018bcfe5-6800-0000-0000-000002000006" parent_message_id="q3" timestamp="2027-01-15 08:00:00" conversation_id="tree" role="assistant" text="有" metadata=NULL
            + message 13 message_id="018bcfe5-6800-0000-0000-000002000007" parent_message_id="018bcfe5-6800-0000-0000-000002000006" timestamp="2027-01-15 08:00:00" conversation_id="tree" role="user" text="谢谢" metadata=NULL"#]],
        expect![[""]],
    );
}

#[test]
fn an_edit_in_a_tree_names_what_it_replaces_and_leaves_it_there() {
    changed(
        &draft(),
        |shelf| {
            shelf.edit(2, 4, "更新的回答");
            shelf.remove(2, 5);
        },
        expect![[
            r#"+ message 12 message_id="018bcfe5-6800-0000-0000-000002000004" parent_message_id="a2" timestamp="2026-01-03 08:00:05" conversation_id="tree" role="assistant" text="更新的回答" metadata=NULL"#
        ]],
        expect![[""]],
    );
}

#[test]
fn what_is_taken_out_of_a_tree_is_gone_and_its_answers_hang_on_the_one_before() {
    changed(
        &draft(),
        |shelf| shelf.remove(2, 5),
        expect![[
            r#"- message 10 message_id="q3" parent_message_id="a2" timestamp="2026-01-03 08:00:06" conversation_id="tree" role="user" text="还有" metadata=NULL"#
        ]],
        expect![[""]],
    );
    let bytes = draft();
    let mut shelf = Shelf::of(&read(&tree("chat.sqlite", &bytes)));
    shelf.remove(2, 4);
    let (written, losses) = write(&mut shelf, None);
    // Two questions behind each other are an edit to the tables; that is told.
    expect![[r#"
        - message 9 message_id="a2" parent_message_id="q2" timestamp="2026-01-03 08:00:05" conversation_id="tree" role="bot" text="新的回答" metadata=NULL
        - message 10 message_id="q3" parent_message_id="a2" timestamp="2026-01-03 08:00:06" conversation_id="tree" role="user" text="还有" metadata=NULL
        + message 10 message_id="q3" parent_message_id="q2" timestamp="2026-01-03 08:00:06" conversation_id="tree" role="user" text="还有" metadata=NULL"#]].assert_eq(&difference(&bytes, &written));
    expect!["2 places of messages"].assert_eq(&told(&losses));
}

#[test]
fn the_newest_message_of_the_shipped_tables_is_named() {
    let Some(path) = fixtures("conversation-tables/d1-v0.0.4.sqlite") else { return };
    let bytes = files(&folder(&path))["d1-v0.0.4.sqlite"].clone();
    changed(
        &bytes,
        |shelf| {
            shelf.append(0, content("user", "more"));
            shelf.append(2, content("user", "the first that arrives"));
            shelf.append(4, content("user", "q v3"));
        },
        expect![[r#"
            - Conversation 1 conversation_id="conv-1" project=NULL brand=NULL sequence="sequential" status="active" created_at="2026-11-15T19:31:47.957678" latest_message_id="c7bc803f-c141-4cfe-b279-ec15f182eb55" metadata=NULL
            + Conversation 1 conversation_id="conv-1" project=NULL brand=NULL sequence="sequential" status="active" created_at="2026-11-15T19:31:47.957678" latest_message_id="018bcfe5-6800-0000-0000-000000000003" metadata=NULL
            - Conversation 3 conversation_id="conv-3" project=NULL brand=NULL sequence="sequential" status="active" created_at="2026-11-15T19:31:48.251985" latest_message_id="e43986db-9bf0-4d0d-9c57-9dcbafdc6faa" metadata=NULL
            + Conversation 3 conversation_id="conv-3" project=NULL brand=NULL sequence="sequential" status="active" created_at="2026-11-15T19:31:48.251985" latest_message_id="018bcfe5-6800-0000-0000-000002000000" metadata=NULL
            - Conversation 5 conversation_id="tree-1" project="proj" brand="dify" sequence="tree" status="active" created_at="2026-11-15 19:31:48" latest_message_id="7093c449-3258-4a16-aa5b-b55827bcc6aa" metadata=NULL
            + Conversation 5 conversation_id="tree-1" project="proj" brand="dify" sequence="tree" status="active" created_at="2026-11-15 19:31:48" latest_message_id="018bcfe5-6800-0000-0000-000004000004" metadata=NULL
            + Message 9 message_id="018bcfe5-6800-0000-0000-000000000003" conversation_id="conv-1" role="user" text="more" parent_message_id=NULL timestamp="2027-01-15T08:00:00.000000" metadata=NULL
            + Message 10 message_id="018bcfe5-6800-0000-0000-000002000000" conversation_id="conv-3" role="user" text="the first that arrives" parent_message_id=NULL timestamp="2027-01-15T08:00:00.000000" metadata=NULL
            + Message 11 message_id="018bcfe5-6800-0000-0000-000004000004" conversation_id="tree-1" role="user" text="q v3" parent_message_id="7093c449-3258-4a16-aa5b-b55827bcc6aa" timestamp="2027-01-15T08:00:00.000000" metadata=NULL"#]],
        expect![[""]],
    );
    changed(
        &bytes,
        |shelf| {
            shelf.remove(0, 2);
            shelf.remove(4, 3);
        },
        expect![[r#"
            - Conversation 1 conversation_id="conv-1" project=NULL brand=NULL sequence="sequential" status="active" created_at="2026-11-15T19:31:47.957678" latest_message_id="c7bc803f-c141-4cfe-b279-ec15f182eb55" metadata=NULL
            + Conversation 1 conversation_id="conv-1" project=NULL brand=NULL sequence="sequential" status="active" created_at="2026-11-15T19:31:47.957678" latest_message_id="a7808c1d-c6dc-4e76-b677-c8ec8e5a51c5" metadata=NULL
            - Conversation 5 conversation_id="tree-1" project="proj" brand="dify" sequence="tree" status="active" created_at="2026-11-15 19:31:48" latest_message_id="7093c449-3258-4a16-aa5b-b55827bcc6aa" metadata=NULL
            + Conversation 5 conversation_id="tree-1" project="proj" brand="dify" sequence="tree" status="active" created_at="2026-11-15 19:31:48" latest_message_id="81edf5aa-c75d-4954-818b-ebc3781d92ee" metadata=NULL
            - Message 3 message_id="c7bc803f-c141-4cfe-b279-ec15f182eb55" conversation_id="conv-1" role="assistant" text="reply" parent_message_id=NULL timestamp="2026-11-15T19:31:48.119862" metadata=NULL
            - Message 8 message_id="7093c449-3258-4a16-aa5b-b55827bcc6aa" conversation_id="tree-1" role="assistant" text="a v2" parent_message_id="81edf5aa-c75d-4954-818b-ebc3781d92ee" timestamp="2026-11-15T19:31:48.452924" metadata=NULL"#]],
        expect![[""]],
    );
    let mut shelf = Shelf::of(&read(&tree("chat.sqlite", &bytes)));
    shelf.append(0, content("user", "more"));
    accepts::enforced(&write(&mut shelf, None).0);
}

#[test]
fn one_generation_becomes_the_other() {
    let bytes = draft();
    let mut shelf = Shelf::of(&read(&tree("chat.sqlite", &bytes)));
    let (written, losses) = write(&mut shelf, Some("shipped"));
    expect![[""]].assert_eq(&told(&losses));
    accepts::enforced(&written);
    let mut again = Shelf::of(&read(&tree("chat.sqlite", &written)));
    for place in 0..4 {
        assert_eq!(super::changes::path(&mut again, place), super::changes::path(&mut shelf, place));
    }
    let (back, losses) = write(&mut again, Some("draft"));
    expect![[""]].assert_eq(&told(&losses));
    expect![[r#"
        - message 1 message_id="l2" parent_message_id="l1" timestamp="2026-01-01 08:00:02" conversation_id="line" role="bot" text="你好！" metadata=NULL
        - message 2 message_id="l1" parent_message_id=NULL timestamp="2026-01-01 08:00:01" conversation_id="line" role="user" text="\"quoted\"" metadata="{\"k\":[1, 2]}"
        + message 1 message_id="l1" parent_message_id=NULL timestamp="2026-01-01 08:00:01" conversation_id="line" role="user" text="\"quoted\"" metadata="{\"k\":[1, 2]}"
        + message 2 message_id="l2" parent_message_id="l1" timestamp="2026-01-01 08:00:02" conversation_id="line" role="bot" text="你好！" metadata=NULL"#]].assert_eq(&difference(&bytes, &back));
}

#[test]
fn a_conversation_from_elsewhere_says_what_is_lost() {
    let mut shelf = Shelf::default();
    let out = shelf.begin("从别处", Timestamp(1_750_000_000_123_456));
    out.conversation.pinned = true;
    out.conversation.kind = ConversationKind::Agent;
    out.other_branches = 1;
    shelf.say(0, "user", &[Part::text("a"), Part::text("b")]);
    let call = Part::ToolCall { id: "1".into(), name: "t".into(), input: Json::of(&1), extra: Extra::new() };
    let message = shelf.say(0, "assistant", &[Part::Reasoning { text: "hm".into(), extra: Extra::new() }, call]);
    message.content.model = Some("m".to_owned());
    message.content.time = Time::exact(1);
    shelf.set(0, "mood", "1");
    for (generation, mark) in [("draft", "conv_id"), ("shipped", "latest_message_id")] {
        let (written, losses) = write(&mut shelf, Some(generation));
        accepts::enforced(&written);
        assert!(dump(&written).contains(mark));
        assert_eq!(accepts::history(&crate::sqlite::open(&written), &id_of(&written), 9).len(), 2);
        if generation == "draft" {
            expect![[r#"
                1 branches that are not shown
                1 values of state
                1 pins
                1 kinds of conversations
                1 times of messages
                1 parts that become one text
                2 parts that are no text
                1 models"#]]
            .assert_eq(&told(&losses));
            expect![[r#"
                message 2 message_id="018bcfe5-6800-0000-0000-000000100001" parent_message_id=NULL timestamp="2025-10-09 08:53:20" conversation_id="018bcfe5-6800-0000-0000-000000000000" role="assistant" text="" metadata=NULL
                message 1 message_id="018bcfe5-6800-0000-0000-000000100000" parent_message_id=NULL timestamp="2025-10-09 08:53:20" conversation_id="018bcfe5-6800-0000-0000-000000000000" role="user" text="a\n\nb" metadata=NULL
                conversation 1 conv_id="018bcfe5-6800-0000-0000-000000000000" project=NULL sequence="sequential" status="active" created_at="2025-06-15 15:06:40.123456" metadata="{\"title\":\"从别处\"}""#]].assert_eq(&dump(&written).lines().rev().take(3).collect::<Vec<_>>().join("\n"));
        }
        let mut again = Shelf::of(&read(&tree("chat.sqlite", &written)));
        assert_eq!(
            path(&mut again, 0),
            [("user", "a\n\nb"), ("assistant", "")].map(|(one, other)| (one.to_owned(), other.to_owned()))
        );
    }
}

fn id_of(bytes: &[u8]) -> String {
    let sql = "select conversation_id from message limit 1";
    crate::sqlite::open(bytes).query_row(sql, [], |row| row.get(0)).expect("an id")
}

#[test]
fn the_plugin_reads_what_is_said_here_in_its_place() {
    let mut shelf = Shelf::of(&read(&tree("chat.sqlite", &draft())));
    shelf.append(0, content("user", "还有"));
    shelf.append(2, content("assistant", "有"));
    let (written, _) = write(&mut shelf, None);
    let connection = crate::sqlite::open(&written);
    let texts = |rows: Vec<(String, String)>| rows.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    assert_eq!(texts(accepts::history(&connection, "line", 2)), ["你好！", "还有"]);
    assert_eq!(texts(accepts::oldest(&connection, "tree", 9)).last().expect("a message"), "有");
}
