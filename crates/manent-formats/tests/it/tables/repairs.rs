//! Tables that do not fit together are taken in so that they do, and every repair is told with its row.

use super::*;
use crate::sqlite::file;

/// Foreign keys are not enforced in the tables of the design, and its keys may be NULL.
fn broken() -> Vec<u8> {
    file(&format!(
        "{}
        insert into conversation values (null, null, 'sequential', 'active', null, null);
        insert into conversation values ('t', null, 'tree', 'active', 'yesterday', null);
        insert into conversation values (x'ff', null, 'sequential', 'active', '2026-01-01 00:00:00', null);
        insert into message values ('d', 'nobody', '2026-01-01 00:00:01', 't', 'user', 'dangling', null);
        insert into message values ('c1', 'c3', '2026-01-01 00:00:02', 't', 'bot', 'circle 1', null);
        insert into message values ('c2', 'c1', '2026-01-01 00:00:03', 't', 'user', 'circle 2', null);
        insert into message values ('c3', 'c2', '2026-01-01 00:00:04', 't', 'bot', 'circle 3', null);
        insert into message values ('self', 'self', '2026-01-01 00:00:05', 't', 'user', 'itself', null);
        insert into message values ('late', 'later', '2026-01-01 00:00:06', 't', 'bot', 'before its parent', null);
        insert into message values ('later', 'd', null, 't', 'user', 'edited, without a time', null);
        insert into message values (null, null, '2026-01-01 00:00:08', x'ff', null, x'00ff', '[]');
        insert into message values (null, null, '2026-01-01 00:00:09', x'ff', '', 7, null);
        insert into message values ('o1', null, '2026-01-01 00:00:10', 'lost', 'user', 'orphan', null);
        insert into message values ('o2', null, '2026-01-01 00:00:11', 'lost', 'bot', 'another', null);",
        design()
    ))
}

#[test]
fn broken_tables_come_back_row_by_row() {
    let bytes = broken();
    expect![[r#"
        no id "" Active None
        t "" Active None
           0 behind - user: dangling
           1 behind - assistant: circle 1
           2 behind 1 user: circle 2
           3 behind 2 assistant: circle 3
           4 behind - user: itself
         * 5 behind - user: edited, without a time
           6 behind 5 assistant: before its parent
        x'ff' "" Active None
         * 0 behind - unknown: 
         * 1 behind 0 unknown: 7
        lost "" Active None
         * 0 behind - user: orphan
         * 1 behind 0 assistant: another"#]]
    .assert_eq(&shown(&read(&tree("chat.sqlite", &bytes))));
    check(
        &bytes,
        expect![[r#"
        conversation-tables generation draft: chat.sqlite
        repaired: chat.sqlite conversation row 1 id missing: the conversation has no id and is called no id here
        repaired: chat.sqlite conversation row 1 time missing: conversation no id does not say when it was made
        repaired: chat.sqlite conversation row 2 time missing: conversation t does not say when it was made
        repaired: chat.sqlite message row 1 pointer dangling: the parent nobody is not there; the message stands at the start
        repaired: chat.sqlite message row 2 pointers looped: its parents lead back to it; the message stands at the start
        repaired: chat.sqlite message row 5 pointers looped: its parents lead back to it; the message stands at the start
        repaired: chat.sqlite message row 7 time missing: the message does not say when; it is told as of the one before it
        repaired: chat.sqlite message row 8 id missing: the message has no id
        repaired: chat.sqlite message row 9 id missing: the message has no id
        repaired: chat.sqlite message row 10 record orphaned: conversation lost is not there; its 2 messages make it
        conversation: 3 read, 3 mapped, 0 kept or told
        message: 11 read, 11 mapped, 0 kept or told
        unmapped: message.metadata 1"#]],
    );
}

#[test]
fn a_conversation_of_orphans_gets_a_row_when_there_is_something_to_say() {
    let bytes = broken();
    let mut shelf = Shelf::of(&read(&tree("chat.sqlite", &bytes)));
    shelf.conversations[3].0.conversation.title = "found".to_owned();
    let (written, losses) = write(&mut shelf, None);
    assert_eq!(losses, []);
    expect![[r#"+ conversation 4 conv_id="lost" project=NULL sequence="sequential" status="active" created_at="1970-01-01 00:00:00" metadata="{\"title\":\"found\"}""#]].assert_eq(&difference(&bytes, &written));
}

#[test]
fn a_broken_file_can_become_the_shipped_tables() {
    let mut shelf = Shelf::of(&read(&tree("chat.sqlite", &broken())));
    let (written, _) = write(&mut shelf, Some("shipped"));
    accepts::file(&written);
    let messages = |items: &[Item]| items.iter().filter(|item| matches!(item, Item::Message(_))).count();
    assert_eq!(messages(&read(&tree("chat.sqlite", &written))), 11);
}

#[test]
fn a_log_beside_the_file_is_taken_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("chat.sqlite");
    let connection = rusqlite::Connection::open(&path).expect("a file");
    connection
        .execute_batch("pragma journal_mode = wal; pragma wal_autocheckpoint = 0; pragma foreign_keys = off;")
        .expect("a log");
    connection.execute_batch(&design()).expect("tables");
    connection
        .execute_batch("insert into conversation (conv_id, created_at) values ('c', '2026-01-01 00:00:00')")
        .expect("a row");
    for number in 0..50 {
        let text = "x".repeat(number * 200);
        let sql = "insert into message values (?1, null, '2026-01-01 00:00:01', 'c', 'user', ?2, null)";
        connection.execute(sql, (format!("m{number}"), text)).expect("a row");
    }
    let log = std::fs::read(folder.path().join("chat.sqlite-wal")).expect("a log");
    let main = std::fs::read(&path).expect("a file");
    let messages = |log: &[u8], main: &[u8]| {
        let files =
            BTreeMap::from([("chat.sqlite".to_owned(), main.to_vec()), ("chat.sqlite-wal".to_owned(), log.to_vec())]);
        let mut items = Vec::new();
        tables::read(&manent_formats::core::source_fs::MemoryTree::new("memory", files), &mut items).map(|()| items)
    };
    let items = messages(&log, &main).expect("readable");
    assert_accounted(&items, &"a log");
    expect![[r#"
        conversation-tables generation draft: chat.sqlite
        repaired: chat.sqlite-wal wal applied: 59 transactions of the write-ahead log are taken in
        conversation: 1 read, 1 mapped, 0 kept or told
        message: 50 read, 50 mapped, 0 kept or told"#]]
    .assert_eq(&report(&items));
    // The file alone, opened by its name, brings its log along.
    assert_eq!(read(&crate::kit::folder(&path)).len(), items.len());
    // A log that ends anywhere gives whole transactions, or there is no table yet.
    let mut least = 0;
    for cut in (0..log.len()).step_by(9_973) {
        let count = match messages(&log[..cut], &main) {
            Ok(items) => items.iter().filter(|item| matches!(item, Item::Message(_))).count(),
            Err(_) => 0,
        };
        assert!(count >= least, "{cut}: {count} after {least}");
        least = count;
    }
    assert!(least >= 48, "{least}");
    drop(connection);
}
