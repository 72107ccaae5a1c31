//! Files that are cut off, spoilt or made to do harm: a typed error and no item, or nothing but their rows.

use super::*;
use crate::sqlite::file;
use manent_formats::ReadError;
use manent_formats::core::source_fs::MemoryTree;

fn try_read(bytes: &[u8]) -> (Result<(), ReadError>, Vec<Item>) {
    let mut items = Vec::new();
    let read = tables::read(&tree("chat.sqlite", bytes), &mut items);
    (read, items)
}

/// Many rows, long texts and freed pages.
fn large() -> Vec<u8> {
    let rows: String = (0..60)
        .map(|row| {
            format!(
                "insert into message values ('m{row}', null, '2026-01-01 00:00:01', 'line', 'user', '{}', null);",
                "你".repeat(row * 40)
            )
        })
        .collect();
    file(&format!(
        "pragma page_size = 512; {} insert into conversation (conv_id) values ('line'); {rows} delete from message where rowid % 5 = 0;",
        design()
    ))
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused_whole() {
    let bytes = large();
    for cut in (0..bytes.len()).step_by(37).chain((0..bytes.len()).step_by(512)) {
        let (read, items) = try_read(&bytes[..cut]);
        assert_eq!(items, [], "{cut}");
        assert!(matches!(read, Err(ReadError::Damaged { .. } | ReadError::Foreign { .. })), "{cut}: {read:?}");
    }
    // Bytes behind the last page belong to no table.
    let longer = [bytes.as_slice(), b"tail"].concat();
    assert_eq!(try_read(&longer).1, try_read(&bytes).1);
}

#[test]
fn a_file_that_is_spoilt_anywhere_does_no_harm() {
    let bytes = large();
    let whole = try_read(&bytes).1.len();
    let mut random = fastrand::Rng::with_seed(7);
    let mut refused = 0;
    for _ in 0..150 {
        let mut spoilt = bytes.clone();
        for _ in 0..random.usize(1..4) {
            // Half of them where a page says what stands in it.
            let place = random.usize(..bytes.len());
            let place = if random.bool() { place } else { place / 512 * 512 + place % 16 };
            spoilt[place] = random.u8(..);
        }
        let (read, items) = try_read(&spoilt);
        match read {
            Ok(()) => assert_accounted(&items, &"spoilt"),
            Err(ReadError::Damaged { .. } | ReadError::Foreign { .. } | ReadError::TooLarge { .. }) => {
                refused += 1;
                assert_eq!(items, []);
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(refused > 10 && whole > 50, "{refused} of 150, {whole} items");
}

#[test]
fn a_page_count_beyond_the_file_is_refused() {
    let mut bytes = draft();
    bytes[28..32].copy_from_slice(&9_999u32.to_be_bytes());
    let (read, items) = try_read(&bytes);
    expect!["chat.sqlite is damaged: 45056 bytes are there, 40955904 should be"]
        .assert_eq(&read.expect_err("damaged").to_string());
    assert_eq!(items, []);
    bytes[16..18].copy_from_slice(&3u16.to_be_bytes());
    expect!["chat.sqlite is damaged: a page of 3 bytes"]
        .assert_eq(&try_read(&bytes).0.expect_err("damaged").to_string());
}

#[test]
fn a_transaction_that_was_cut_off_is_not_guessed_at() {
    let journal = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7, 0, 0, 0, 1].to_vec();
    let files = BTreeMap::from([("a.db".to_owned(), draft()), ("a.db-journal".to_owned(), journal)]);
    let mut items = Vec::new();
    let read = tables::read(&MemoryTree::new("memory", files), &mut items);
    expect!["a.db is damaged: a transaction was cut off; opened once by its own program, it is whole again"]
        .assert_eq(&read.expect_err("damaged").to_string());
    assert_eq!(items, []);
}

#[test]
fn views_with_the_names_of_the_tables_are_never_run() {
    let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select i as conv_id, 'a' as sequence, 'a' as status from n";
    let bytes = file(&format!(
        "create view conversation as {endless}; create table message (message_id, conversation_id, role, text);"
    ));
    let (read, items) = try_read(&bytes);
    assert!(matches!(read, Err(ReadError::Foreign { .. })), "{read:?}");
    assert_eq!(items, []);
}

#[test]
fn what_a_file_would_compute_is_not_computed() {
    let endless = "(with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n)";
    let bytes = file(&format!(
        "create table conversation (conv_id text primary key, sequence text, status text, created_at,
            big text generated always as (hex(zeroblob(200000000))) virtual, check (length(conv_id) < 3)) without rowid;
        create table message (message_id, conversation_id, role, text, timestamp);
        create index heavy on message (hex(zeroblob(10)));
        create view forever as select {endless};
        create trigger forever_after after insert on message begin select {endless}; end;
        insert into conversation (conv_id, sequence, status, created_at) values ('c', 'sequential', 'active', '2026-01-01 00:00:00');
        drop trigger forever_after;
        insert into message values ('m', 'c', 'user', 'x', '2026-01-01 00:00:00');
        create trigger forever_after after insert on message begin select {endless}; end;
        create virtual table words using fts5(text);"
    ));
    let (read, items) = try_read(&bytes);
    read.expect("readable");
    assert_accounted(&items, &"computed");
    expect![[r#"
        conversation-tables generation draft: chat.sqlite
        skipped: chat.sqlite words row 0 table: table words is made up by a module and not read
        skipped: chat.sqlite words_data row 0 table: table words_data is made up by a module and not read
        skipped: chat.sqlite words_idx row 0 table: table words_idx is made up by a module and not read
        skipped: chat.sqlite words_content row 0 table: table words_content is made up by a module and not read
        skipped: chat.sqlite words_docsize row 0 table: table words_docsize is made up by a module and not read
        skipped: chat.sqlite words_config row 0 table: table words_config is made up by a module and not read
        conversation: 1 read, 1 mapped, 0 kept or told
        message: 1 read, 1 mapped, 0 kept or told
        table: 6 read, 0 mapped, 6 kept or told"#]]
    .assert_eq(&report(&items));
    let (written, _) = write(&mut Shelf::of(&items), None);
    let rows = |bytes: &[u8]| {
        let connection = crate::sqlite::open(bytes);
        connection.query_row("select text from message", [], |row| row.get::<_, String>(0)).expect("a row")
    };
    assert_eq!(rows(&written), "x");
}

#[test]
fn a_large_table_of_another_program_is_told_and_left_out() {
    let bytes =
        file(&format!("{} create table blobs (bytes); insert into blobs values (zeroblob(300000)), (1);", design()));
    let items = try_read(&bytes).1;
    assert_accounted(&items, &"large");
    expect![[r#"
        conversation-tables generation draft: chat.sqlite
        skipped: chat.sqlite blobs row 0 table: 2 rows of table blobs are not kept: it is another program's
        conversation: 0 read, 0 mapped, 0 kept or told
        message: 0 read, 0 mapped, 0 kept or told
        table: 1 read, 0 mapped, 1 kept or told"#]]
    .assert_eq(&report(&items));
}

#[test]
fn a_file_of_another_program_is_not_ours() {
    for sql in [
        "create table message (message_id, conversation_id, role, text)",
        "create table conversation (id, sequence, status); create table message (message_id, conversation_id, role, text)",
        "create table conversation (conv_id, sequence, status); create table message (id, conversation_id, role, text)",
    ] {
        let bytes = file(sql);
        assert!(!tables::finds(&tree("chat.sqlite", &bytes)), "{sql}");
        assert!(matches!(try_read(&bytes).0, Err(ReadError::Foreign { .. })), "{sql}");
    }
    assert!(!tables::finds(&tree("chat.sqlite", b"SQLite format 3")));
    assert!(tables::finds(&tree("any name", &draft())), "a file alone may be called anything");
    let beside = BTreeMap::from([("x/a.db".to_owned(), draft()), ("b.txt".to_owned(), Vec::new())]);
    assert!(!tables::finds(&MemoryTree::new("memory", beside)), "only files at the root are looked at");
}
