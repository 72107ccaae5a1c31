//! What people do to conversations shows in exactly those places.

use super::*;
use manent_model::{Body, ConversationStatus, Extra, Part, Timestamp};

fn check(tree: &dyn SourceTree, change: impl FnOnce(&mut Shelf), expected: Expect) {
    let mut shelf = Shelf::of(&read(tree));
    change(&mut shelf);
    let (written, _) = write(&mut shelf, None);
    expected.assert_eq(&difference(&ours(tree), &written));
    accepts::vault(&written);
}

#[test]
fn only_what_changed_looks_different() {
    check(
        &several(),
        |shelf| {
            shelf.conversations[1].0.conversation.title = "新名".to_owned();
            shelf.conversations[1].0.conversation.active_at = Timestamp(1_760_000_000_000_000);
            shelf.say(1, "user", &[Part::text("还有呢？")]);
            shelf.remove(1, 1);
            shelf.edit(1, 2, "为何？");
        },
        expect![[r#"
            Assets/History/sessions/session_1733423456789.json:
            -   "sessionName": "  项目技术讨论  ",
            +   "sessionName": "新名",
            -   "updatedAt": 1733423567890,
            +   "updatedAt": 1760000000000,
            -       "role": "assistant",
            -       "content": "你好！\n\"RAG\"",
            -       "thinking": null
            -     },
            -     {
            -       "content": "为什么？"
            +       "content": "为何？"
            +     },
            +     {
            +       "role": "user",
            +       "content": "还有呢？"
            Assets/History/sessions_index.json:
            -       "sessionName": "  项目技术讨论  ",
            +       "sessionName": "新名",
            -       "updatedAt": 1733423567890,
            +       "updatedAt": 1760000000000,"#]],
    );
}

#[test]
fn an_answer_that_was_thought_about_anew_says_so() {
    check(
        &several(),
        |shelf| {
            let parts = [Part::Reasoning { text: "嗯".to_owned(), extra: Extra::new() }, Part::text("你好！\n\"RAG\"")];
            shelf.conversations[1].1[1].content.body = Body::of(&parts);
        },
        expect![[r#"
            Assets/History/sessions/session_1733423456789.json:
            -       "thinking": null
            +       "thinking": "嗯""#]],
    );
}

#[test]
fn odd_layout_survives_a_change_beside_it() {
    check(
        &odd(),
        |shelf| {
            shelf.remove(0, 0);
            shelf.edit(0, 1, "B");
            shelf.say(1, "user", &[Part::text("first")]);
            shelf.conversations[1].0.conversation.title = "named".to_owned();
        },
        expect![[r#"
            sessions/a b.json:
            - { "messages":[{"content":"half \ud83d","role":"user","n":1.50},
            - 
            - 
            - {"role":"assistant","thinking":"","content":"\u0041\/"}   ,{"role":"system","content":[{"type":"text"}]},{"role":"tool","content":null,"thinking":{}}],
            + { "messages":[{"role":"assistant","thinking":null,"content":"B"}   ,{"role":"system","content":[{"type":"text"}]},{"role":"tool","content":null,"thinking":{}}],
            sessions/t.json:
            - {"sessionId":"t","createdAt":5,"messages":null}
            + {"sessionId":"t","sessionName":"named","createdAt":5,"messages":[{"role":"user","content":"first"}]}
            sessions_index.json:
            - {"sessions" : [ {"x":1,"messageCount":9.0 ,"sessionId":"s/1","createdAt":1e3} ,{"sessionId":"t"}]
            + {"sessions" : [ {"x":1,"messageCount":3 ,"sessionId":"s/1","createdAt":1e3} ,{"sessionId":"t","sessionName":"named","messageCount":1}]"#]],
    );
}

#[test]
fn what_is_deleted_goes_to_the_trash_and_what_is_restored_comes_back() {
    check(
        &several(),
        |shelf| {
            shelf.conversations[0].0.conversation.status = ConversationStatus::Trashed;
            shelf.conversations[0].0.conversation.trashed_at = Some(Timestamp(99_000));
            shelf.conversations[3].0.conversation.status = ConversationStatus::Active;
        },
        expect![[r#"
            Assets/History/sessions/session_2.json is Assets/History/trash/session_2_99.json now
            Assets/History/sessions_index.json:
            -   "currentSessionId": "session_2",
            +   "currentSessionId": "session_1733423456789",
            -       "sessionId": "session_2",
            -       "sessionName": "新会话 12-05 23:10",
            -       "createdAt": 2,
            -       "updatedAt": 2,
            -       "messageCount": 0
            -     },
            -     {
            +       "createdAt": 1733423456789,
            +       "updatedAt": 1733423567890,
            +       "messageCount": 4
            +     },
            +     {
            +       "sessionId": "session_3",
            +       "sessionName": "删除",
            Assets/History/trash/session_3.json is Assets/History/sessions/session_3.json now"#]],
    );
    check(
        &trash_index(),
        |shelf| {
            shelf.conversations[0].0.conversation.status = ConversationStatus::Trashed;
            shelf.conversations[0].0.conversation.trashed_at = Some(Timestamp(99_000));
            shelf.conversations[1].0.conversation.status = ConversationStatus::Active;
        },
        expect![[r#"
            sessions/open.json is trash/open.json now
            sessions_index.json:
            - {"currentSessionId":"open","sessions":[{"sessionId":"open","sessionName":"o","createdAt":1733423456789,"updatedAt":1733423567890,"messageCount":4}]}
            + {"currentSessionId":"second","sessions":[{"sessionId":"second","sessionName":"b","createdAt":1733423456789,"updatedAt":1733423567890,"messageCount":4}]}
            trash/second.json is sessions/second.json now
            trash_index.json:
            -       "sessionId": "second",
            -       "sessionName": "b",
            -       "deletedAt": 5000
            +       "sessionId": "open",
            +       "sessionName": "o",
            +       "deletedAt": 99"#]],
    );
}

#[test]
fn a_legacy_file_keeps_what_it_was_when_its_session_changes() {
    check(
        &migrated(),
        |shelf| {
            shelf.edit(0, 0, "改");
            shelf.remove(0, 1);
        },
        expect![[r#"
            sessions/migrated_7.json:
            -       "content": "从前"
            -     },
            -     {
            -       "role": "assistant",
            -       "content": "有一座山",
            -       "thinking": null
            +       "content": "改"
            sessions_index.json:
            - {"version":"1.0","currentSessionId":"migrated_7","sessions":[{"sessionId":"migrated_7","sessionName":"历史会话 1-1 0:00","createdAt":7,"updatedAt":7,"messageCount":2}]}
            + {"version":"1.0","currentSessionId":"migrated_7","sessions":[{"sessionId":"migrated_7","sessionName":"历史会话 1-1 0:00","createdAt":7,"updatedAt":7,"messageCount":1}]}"#]],
    );
}

#[test]
fn a_legacy_file_becomes_a_session_when_asked() {
    let mut shelf = Shelf::of(&read(&memory(&[("chat_history.json", LEGACY)])));
    let (written, losses) = write(&mut shelf, Some("1.0"));
    expect![[r#"
        sessions/migrated_0.json:
        + {
        +   "sessionId": "migrated_0",
        +   "sessionName": "历史会话 1-1 0:00",
        +   "createdAt": 0,
        +   "updatedAt": 0,
        +   "messages": [
        +     {
        +       "role": "user",
        +       "content": "从前"
        +     },
        +     {
        +       "role": "assistant",
        +       "content": "有一座山",
        +       "thinking": null
        +     }
        +   ]
        + }
        sessions_index.json:
        + {
        +   "version": "1.0",
        +   "currentSessionId": "migrated_0",
        +   "sessions": [
        +     {
        +       "sessionId": "migrated_0",
        +       "sessionName": "历史会话 1-1 0:00",
        +       "createdAt": 0,
        +       "updatedAt": 0,
        +       "messageCount": 2
        +     }
        +   ]
        + }"#]]
    .assert_eq(&difference(&Files::new(), &written));
    assert_eq!(losses, []);
}

#[test]
fn sessions_become_one_array_and_lose_their_names() {
    let (written, losses) = write(&mut Shelf::of(&read(&several())), Some("legacy"));
    let losses: Vec<_> = losses.iter().map(|loss| (loss.what, loss.count)).collect();
    expect![[r#"
        [("names of sessions", 1), ("names of sessions", 1), ("names of sessions", 1), ("conversations in the trash", 1), ("names of sessions", 1), ("conversations in the trash", 1), ("names of sessions", 1), ("conversations in the trash", 1)]
        Assets/History/chat_history.json:
        + [
        +   {
        +     "role": "user",
        +     "content": "你好"
        +   },
        +   {
        +     "role": "assistant",
        +     "content": "你好！\n\"RAG\"",
        +     "thinking": null
        +   },
        +   {
        +     "role": "user",
        +     "content": "为什么？"
        +   },
        +   {
        +     "role": "assistant",
        +     "content": "因为。",
        +     "thinking": "想一想"
        +   }
        + ]"#]].assert_eq(&format!("{losses:?}\n{}", difference(&Files::new(), &written)));
}

#[test]
fn a_generation_that_does_not_exist_is_refused() {
    let error = obsidian::write(&mut Shelf::of(&read(&several())), &mut Files::new(), Some("2.0"));
    assert_eq!(
        error.expect_err("no such generation").to_string(),
        "obsidian-rag has no generation 2.0; it has legacy, 1.0"
    );
}

#[test]
fn a_conversation_from_elsewhere_is_written_as_the_program_would() {
    let mut shelf = Shelf::default();
    for title in ["a", "b", ""] {
        shelf.begin(title, Timestamp(1_760_000_000_123_456));
    }
    shelf.say(0, "system", &[Part::text("be brief")]);
    shelf.say(0, "user", &[Part::text("one"), Part::text("two")]);
    shelf.say(0, "assistant", &[Part::Reasoning { text: "hm".to_owned(), extra: Extra::new() }, Part::text("yes")]);
    shelf.say(0, "tool", &[Part::text("42")]);
    shelf.say(0, "assistant", &[Part::text("no")]).content.model = Some("m".to_owned());
    shelf.conversations[0].0.conversation.tags.insert("t".to_owned());
    shelf.conversations[2].0.conversation.status = ConversationStatus::Trashed;
    let (written, losses) = write(&mut shelf, None);
    accepts::written_by_the_program(&written);
    let losses: Vec<_> = losses.iter().map(|loss| (loss.what, loss.count)).collect();
    expect![[r#"
        [("tags", 1), ("messages of other roles", 2), ("times of messages", 3), ("models", 1)]
        Assets/History/sessions/session_1760000000123.json:
        + {
        +   "sessionId": "session_1760000000123",
        +   "sessionName": "a",
        +   "createdAt": 1760000000123,
        +   "updatedAt": 1760000000123,
        +   "messages": [
        +     {
        +       "role": "user",
        +       "content": "one\n\ntwo"
        +     },
        +     {
        +       "role": "assistant",
        +       "content": "yes",
        +       "thinking": "hm"
        +     },
        +     {
        +       "role": "assistant",
        +       "content": "no",
        +       "thinking": null
        +     }
        +   ]
        + }
        Assets/History/sessions/session_1760000000123_2.json:
        + {
        +   "sessionId": "session_1760000000123_2",
        +   "sessionName": "b",
        +   "createdAt": 1760000000123,
        +   "updatedAt": 1760000000123,
        +   "messages": []
        + }
        Assets/History/sessions_index.json:
        + {
        +   "version": "1.0",
        +   "currentSessionId": "session_1760000000123",
        +   "sessions": [
        +     {
        +       "sessionId": "session_1760000000123",
        +       "sessionName": "a",
        +       "createdAt": 1760000000123,
        +       "updatedAt": 1760000000123,
        +       "messageCount": 3
        +     },
        +     {
        +       "sessionId": "session_1760000000123_2",
        +       "sessionName": "b",
        +       "createdAt": 1760000000123,
        +       "updatedAt": 1760000000123,
        +       "messageCount": 0
        +     }
        +   ]
        + }
        Assets/History/trash/session_1760000000123_3.json:
        + {
        +   "sessionId": "session_1760000000123_3",
        +   "sessionName": "新会话 10-09 08:53",
        +   "createdAt": 1760000000123,
        +   "updatedAt": 1760000000123,
        +   "messages": []
        + }"#]]
    .assert_eq(&format!("{losses:?}\n{}", difference(&Files::new(), &written)));
}

#[test]
fn whatever_is_said_is_read_back_as_it_was() {
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut shelf = Shelf::default();
        for place in 0..random.usize(..5) {
            let created = Timestamp(random.i64(0..2_000_000_000_000) * 1_000);
            // One without a name gets one when it is written.
            let title = Some(odd_text(&mut random)).filter(|title| !title.trim().is_empty());
            shelf.begin(title.as_deref().unwrap_or("t"), created).conversation.active_at = Timestamp(created.0 + 1_000);
            if random.u8(..4) == 0 {
                shelf.conversations[place].0.conversation.status = ConversationStatus::Trashed;
            }
            for _ in 0..random.usize(..8) {
                let mut parts = vec![Part::text(odd_text(&mut random))];
                let role = if random.bool() { "user" } else { "assistant" };
                if role == "assistant" && random.bool() {
                    parts.insert(0, Part::Reasoning { text: odd_text(&mut random), extra: Extra::new() });
                }
                shelf.say(place, role, &parts);
            }
        }
        let (written, _) = write(&mut shelf, None);
        accepts::written_by_the_program(&written);
        let items = read(&MemoryTree::new("written", written));
        assert_accounted(&items, &seed);
        assert_eq!(told(&Shelf::of(&items)), told(&shelf), "seed {seed}");
    }
}

/// What must come back, whatever the order in which active ones and trashed ones are written.
fn told(shelf: &Shelf) -> Vec<String> {
    let mut told: Vec<String> = shelf
        .conversations
        .iter()
        .map(|(out, messages, _)| {
            let messages: Vec<_> = messages.iter().map(|one| (&one.content.role, one.content.body.text())).collect();
            let one = &out.conversation;
            format!("{:?}", (&one.title, one.status, one.created_at.0, one.active_at.0, messages))
        })
        .collect();
    told.sort();
    told
}
