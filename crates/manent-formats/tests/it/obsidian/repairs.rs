//! What does not fit together is taken in, told, and written so that it fits.

use super::*;

fn check(tree: &dyn SourceTree, told: Expect, written: Expect) {
    let items = read(tree);
    assert_accounted(&items, &tree.label());
    told.assert_eq(&report(&items));
    let (now, _) = write(&mut Shelf::of(&items), None);
    written.assert_eq(&difference(&files(tree), &now));
    accepts::vault(&now);
}

#[test]
fn a_session_that_no_index_names_is_taken_in_and_listed() {
    let tree = memory(&[
        ("sessions_index.json", INDEX),
        ("sessions/session_1733423456789.json", SESSION),
        ("sessions/session_2.json", EMPTY),
        ("sessions/orphan.json", &session("orphan", "方")),
    ]);
    check(
        &tree,
        expect![[r#"
        obsidian-rag generation 1.0: sessions_index.json
        repaired: sessions/orphan.json file orphaned: session orphan is in no index and is taken in
        message: 8 read, 8 mapped, 0 kept or told
        session: 3 read, 3 mapped, 0 kept or told"#]],
        expect![[r#"
        sessions_index.json:
        +     },
        +     {
        +       "sessionId": "orphan",
        +       "sessionName": "方",
        +       "createdAt": 1733423456789,
        +       "updatedAt": 1733423567890,
        +       "messageCount": 4"#]],
    );
}

#[test]
fn an_entry_without_a_file_is_told_and_leaves_the_index() {
    let tree = memory(&[("sessions_index.json", INDEX), ("sessions/session_1733423456789.json", SESSION)]);
    check(
        &tree,
        expect![[r#"
        obsidian-rag generation 1.0: sessions_index.json
        repaired: sessions_index.json file lost: no file of session session_2 is there that can be read and is not listed already
        skipped: sessions_index.json session: no file of session session_2 is there that can be read and is not listed already
        repaired: sessions_index.json pointer dangling: the open session session_2 is not there
        message: 4 read, 4 mapped, 0 kept or told
        session: 2 read, 1 mapped, 1 kept or told"#]],
        expect![[r#"
        sessions_index.json:
        -   "currentSessionId": "session_2",
        +   "currentSessionId": "session_1733423456789",
        -     {
        -       "sessionId": "session_2",
        -       "sessionName": "新会话 12-05 23:10",
        -       "createdAt": 2,
        -       "updatedAt": 2,
        -       "messageCount": 0
        -     },"#]],
    );
}

#[test]
fn an_index_that_cannot_be_read_is_made_anew() {
    let tree = memory(&[
        ("sessions_index.json", &INDEX[..200]),
        ("sessions/session_1733423456789.json", SESSION),
        ("sessions/session_2.json", EMPTY),
    ]);
    check(
        &tree,
        expect![[r#"
        obsidian-rag generation 1.0: sessions_index.json
        skipped: sessions_index.json index: the index is cut off, or no index; the files themselves say what there is
        repaired: sessions_index.json index rebuilt: the index is cut off, or no index; the files themselves say what there is
        index: 1 read, 0 mapped, 1 kept or told
        message: 4 read, 4 mapped, 0 kept or told
        session: 2 read, 2 mapped, 0 kept or told"#]],
        expect![[r#"
        sessions_index.json:
        -   "currentSessionId": "session_2",
        +   "currentSessionId": "session_1733423456789",
        +       "sessionId": "session_1733423456789",
        +       "sessionName": "  项目技术讨论  ",
        +       "createdAt": 1733423456789,
        +       "updatedAt": 1733423567890,
        +       "messageCount": 4
        +     },
        +     {
        +       "messageCount": 0
        +     }
        +   ]
        + }"#]],
    );
}

#[test]
fn sessions_without_an_index_get_one() {
    check(
        &memory(&[("sessions/session_2.json", EMPTY)]),
        expect![[r#"
        obsidian-rag generation 1.0: sessions/session_2.json
        repaired: sessions_index.json index rebuilt: there is no index; the sessions themselves say what there is
        message: 0 read, 0 mapped, 0 kept or told
        session: 1 read, 1 mapped, 0 kept or told"#]],
        expect![[r#"
        sessions_index.json:
        + {
        +   "version": "1.0",
        +   "currentSessionId": "session_2",
        +   "sessions": [
        +     {
        +       "sessionId": "session_2",
        +       "sessionName": "新会话 12-05 23:10",
        +       "createdAt": 2,
        +       "updatedAt": 2,
        +       "messageCount": 0
        +     }
        +   ]
        + }"#]],
    );
}

#[test]
fn a_torn_session_gives_what_is_whole() {
    let tree = memory(&[("sessions/session_1733423456789.json", &SESSION[..SESSION.len() - 90])]);
    check(
        &tree,
        expect![[r#"
        obsidian-rag generation 1.0: sessions/session_1733423456789.json
        skipped: sessions/session_1733423456789.json at byte 395 rest of a file: the file ends, or goes wrong, before its last bracket
        repaired: sessions_index.json index rebuilt: there is no index; the sessions themselves say what there is
        repaired: sessions/session_1733423456789.json question unanswered: session session_1733423456789 ends with a question
        message: 3 read, 3 mapped, 0 kept or told
        rest of a file: 1 read, 0 mapped, 1 kept or told
        session: 1 read, 1 mapped, 0 kept or told"#]],
        expect![[r#"
        sessions/session_1733423456789.json:
        -     },
        -     {
        -       "r
        +     }
        +   ]
        + }
        sessions_index.json:
        + {
        +   "version": "1.0",
        +   "currentSessionId": "session_1733423456789",
        +   "sessions": [
        +     {
        +       "sessionId": "session_1733423456789",
        +       "sessionName": "  项目技术讨论  ",
        +       "createdAt": 1733423456789,
        +       "updatedAt": 1733423567890,
        +       "messageCount": 3
        +     }
        +   ]
        + }"#]],
    );
}

#[test]
fn rubbish_between_records_is_told_with_its_bytes() {
    let tree = memory(&[
        (
            "sessions_index.json",
            r#"{"sessions":[7,{"sessionName":"x"},{"sessionId":"session_2"},{"sessionId":"session_2"}]}"#,
        ),
        (
            "sessions/session_2.json",
            r#"{"sessionId":"session_2","createdAt":1,"messages":[1,{"content":"x"},{"role":"user","content":"y"},{"role":]}]}"#,
        ),
        ("sessions/none.json", "[]"),
        ("sessions/empty.json", ""),
        ("chat_history.json", "{}"),
    ]);
    check(
        &tree,
        expect![[r#"
            obsidian-rag generation 1.0: sessions_index.json
            skipped: sessions_index.json at byte 13 session: the entry is no JSON object
            skipped: sessions_index.json at byte 15 session: the entry does not say which session it is about
            skipped: sessions/empty.json session: the file is no session
            skipped: sessions/none.json session: the file is no session
            skipped: sessions/session_2.json at byte 108 rest of a file: the file ends, or goes wrong, before its last bracket
            repaired: sessions_index.json file lost: no file of session session_2 is there that can be read and is not listed already
            skipped: sessions_index.json session: no file of session session_2 is there that can be read and is not listed already
            skipped: chat_history.json history: the file is no array of messages
            skipped: sessions/session_2.json at byte 51 message: a message is an object
            skipped: sessions/session_2.json at byte 53 message: a message has a role
            skipped: sessions/session_2.json at byte 99 message: a message is an object
            repaired: sessions/session_2.json question unanswered: session session_2 ends with a question
            history: 1 read, 0 mapped, 1 kept or told
            message: 4 read, 1 mapped, 3 kept or told
            rest of a file: 1 read, 0 mapped, 1 kept or told
            session: 6 read, 1 mapped, 5 kept or told"#]],
        expect![[r#"
            chat_history.json:
            - {}
            sessions/empty.json:
            sessions/none.json:
            - []
            sessions/session_2.json:
            - {"sessionId":"session_2","createdAt":1,"messages":[1,{"content":"x"},{"role":"user","content":"y"},{"role":]}]}
            + {"sessionId":"session_2","createdAt":1,"messages":[{"role":"user","content":"y"}]}
            sessions_index.json:
            - {"sessions":[7,{"sessionName":"x"},{"sessionId":"session_2"},{"sessionId":"session_2"}]}
            + {"sessions":[{"sessionId":"session_2","messageCount":1}]}"#]],
    );
}

#[test]
fn a_legacy_file_beside_sessions_without_index_is_taken_in() {
    let tree = memory(&[("chat_history.json", LEGACY), ("sessions/session_2.json", EMPTY)]);
    check(
        &tree,
        expect![[r#"
        obsidian-rag generation 1.0: sessions/session_2.json
        repaired: sessions_index.json index rebuilt: there is no index; the sessions themselves say what there is
        message: 2 read, 2 mapped, 0 kept or told
        session: 1 read, 1 mapped, 0 kept or told"#]],
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
        +   "currentSessionId": "session_2",
        +   "sessions": [
        +     {
        +       "sessionId": "session_2",
        +       "sessionName": "新会话 12-05 23:10",
        +       "createdAt": 2,
        +       "updatedAt": 2,
        +       "messageCount": 0
        +     },
        +     {
        +       "sessionId": "migrated_0",
        +       "sessionName": "历史会话 1-1 0:00",
        +       "createdAt": 0,
        +       "updatedAt": 0,
        +       "messageCount": 2
        +     }
        +   ]
        + }"#]],
    );
}

#[test]
fn a_session_without_a_time_says_so_once() {
    let items = read(&memory(&[("talk.json", r#"{"sessionId":"a","messages":[{"role":"assistant","content":"x"}]}"#)]));
    assert_accounted(&items, &"no time");
    expect![[r#"
        obsidian-rag generation 1.0: talk.json
        repaired: talk.json time missing: session a does not say when it was made
        message: 1 read, 1 mapped, 0 kept or told
        session: 1 read, 1 mapped, 0 kept or told"#]]
    .assert_eq(&report(&items));
}

#[test]
fn bytes_that_are_no_text_are_told() {
    let spoil = |text: &str| {
        let bytes = text.replace("spoil", "\u{1}").into_bytes().into_iter();
        bytes.map(|byte| if byte == 1 { 0xff } else { byte }).collect()
    };
    let index = r#"{"currentSessionId":"a","sessions":[{"sessionId":"a","sessionName":"spoil"},{"sessionId":"b"}]}"#;
    let first = r#"{"sessionId":"a","createdAt":1,"messages":[{"role":"user","content":"spoil"}]}"#;
    let second = r#"{"sessionId":"b","createdAt":1,"x":"spoil","messages":[{"role":"assistant","content":"x"}]}"#;
    let files = [("sessions_index.json", index), ("sessions/a.json", first), ("sessions/b.json", second)];
    let files: Files = files.into_iter().map(|(name, text)| (name.to_owned(), spoil(text))).collect();
    let items = read(&MemoryTree::new("spoilt", files));
    assert_accounted(&items, &"spoilt");
    expect![[r#"
        obsidian-rag generation 1.0: sessions_index.json
        skipped: sessions_index.json at byte 36 session: the record is no UTF-8
        skipped: sessions/b.json rest of a file: what stands around the records is no UTF-8
        repaired: sessions/a.json file orphaned: session a is in no index and is taken in
        skipped: sessions/a.json at byte 43 message: the record is no UTF-8
        message: 2 read, 1 mapped, 1 kept or told
        rest of a file: 1 read, 0 mapped, 1 kept or told
        session: 3 read, 2 mapped, 1 kept or told
        unmapped: session.x 1"#]]
    .assert_eq(&report(&items));
}

#[test]
fn a_folder_of_sessions_that_cannot_be_read_is_no_legacy_file() {
    let tree = memory(&[("sessions/a.json", "{\"sessionId\":\"a\",\"messages\":[]}x"), ("sessions/b.json", "[]")]);
    let Some(Item::Root(root)) = read(&tree).into_iter().next() else { panic!("no root") };
    assert_eq!(root.generation, "1.0");
    let tree = memory(&[("chat_history.json", LEGACY), ("sessions/b.json", "[]")]);
    let Some(Item::Root(root)) = read(&tree).into_iter().next() else { panic!("no root") };
    assert_eq!(root.generation, "1.0");
}
