//! Veloca: five generations of one file.

use crate::kit::*;
use expect_test::{Expect, expect};
use manent_formats::tree::Tree;
use manent_formats::{Item, veloca};
use std::collections::BTreeMap;

fn read(tree: &dyn Tree) -> Vec<Item> {
    let mut items = Vec::new();
    veloca::read(tree, &mut items).expect("readable");
    items
}

fn check(tree: &dyn Tree, expected: Expect) {
    let items = read(tree);
    expected.assert_eq(&report(&items));
    let mut written = BTreeMap::new();
    veloca::write(&mut Shelf::of(&items), &mut written, None).expect("writable");
    let text = |files: BTreeMap<String, Vec<u8>>| -> BTreeMap<String, String> {
        files.into_iter().map(|(name, bytes)| (name, String::from_utf8(bytes).expect("UTF-8"))).collect()
    };
    assert_eq!(text(written), text(files(tree)));
}

#[test]
fn the_authors_own_file_comes_back_to_the_byte() {
    let Some(path) = fixtures("veloca/real-da1f742-veloca-storage.json") else { return };
    check(
        &folder(&path),
        expect![[r#"
        veloca generation 1: real-da1f742-veloca-storage.json
        repaired: real-da1f742-veloca-storage.json at byte 2099 trigger dangling: trigger 660e8400-e29b-41d4-a716-446655440010 is not in session 550e8400-e29b-41d4-a716-446655440000; the fold covers nothing
        repaired: real-da1f742-veloca-storage.json tool call unanswered: tool call call_123 has no result and is sealed
        compaction: 1 read, 1 mapped, 0 kept or told
        entry: 4 read, 4 mapped, 0 kept or told
        session: 2 read, 2 mapped, 0 kept or told
        aside: entry.is_compaction 4"#]],
    );
}

#[test]
fn the_file_of_the_schema_comes_back_to_the_byte() {
    let Some(path) = fixtures("veloca/schema-veloca-storage.json") else { return };
    check(
        &folder(&path),
        expect![[r#"
        veloca generation 2: schema-veloca-storage.json
        repaired: schema-veloca-storage.json at byte 1168 trigger dangling: trigger uuid-example-10 is not in session uuid-example-1; the fold covers nothing
        repaired: schema-veloca-storage.json tool call unanswered: tool call call_123 has no result and is sealed
        compaction: 1 read, 1 mapped, 0 kept or told
        entry: 2 read, 2 mapped, 0 kept or told
        session: 1 read, 1 mapped, 0 kept or told
        aside: entry.is_compaction 2"#]],
    );
}

#[test]
fn the_file_of_the_typescript_store_comes_back_to_the_byte() {
    let Some(path) = fixtures("veloca/ts-head-written") else { return };
    check(
        &folder(&path),
        expect![[r#"
        veloca generation 3: veloca-storage.json
        repaired: veloca-storage.json question unanswered: session implicit-session ends with a question
        compaction: 1 read, 1 mapped, 0 kept or told
        entry: 9 read, 9 mapped, 0 kept or told
        session: 2 read, 2 mapped, 0 kept or told"#]],
    );
}

#[test]
fn the_file_of_the_rust_crate_comes_back_to_the_byte() {
    let Some(path) = fixtures("veloca/rust-0.5.0-written") else { return };
    check(
        &folder(&path),
        expect![[r#"
        veloca generation 4: otherone-storage.json
        repaired: otherone-storage.json question unanswered: session child-session ends with a question
        compaction: 1 read, 1 mapped, 0 kept or told
        entry: 5 read, 5 mapped, 0 kept or told
        session: 2 read, 2 mapped, 0 kept or told
        aside: entry.is_compaction 5"#]],
    );
}
