//! The RAG assistant for Obsidian: sessions, their index, their trash, and the array from before.

mod accepts;
mod changes;
mod repairs;
pub mod samples;
mod truncation;

use crate::kit::*;
use expect_test::{Expect, expect};
use manent_formats::apps::obsidian;
use manent_formats::core::source_fs::{MemoryTree, SourceTree};
use manent_formats::{Item, Loss};
use samples::*;
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

fn read(tree: &dyn SourceTree) -> Vec<Item> {
    let mut items = Vec::new();
    obsidian::read(tree, &mut items).expect("readable");
    items
}

fn write(shelf: &mut Shelf, generation: Option<&str>) -> (Files, Vec<Loss>) {
    let mut written = BTreeMap::new();
    let losses = obsidian::write(shelf, &mut written, generation).expect("writable");
    (written, losses)
}

/// The files of the program; what else lies in a vault is not its business.
fn ours(tree: &dyn SourceTree) -> Files {
    files(tree).into_iter().filter(|(name, _)| name != "data.json").collect()
}

/// Checks the report, and that nothing differs in what is written back.
fn check(tree: &dyn SourceTree, expected: Expect) {
    let items = read(tree);
    assert_accounted(&items, &tree.label());
    expected.assert_eq(&report(&items));
    let (written, losses) = write(&mut Shelf::of(&items), None);
    assert_eq!(difference(&ours(tree), &written), "");
    assert_eq!(losses, []);
    accepts::vault(&written);
}

#[test]
fn the_migrated_vault_comes_back_to_the_byte() {
    let Some(path) = fixtures("obsidian-rag/migrated") else { return };
    let Some(Item::Root(root)) = read(&folder(&path)).into_iter().next() else { panic!("no root") };
    assert!(!root.style.text().contains("Retrieval"), "what a session holds is not kept again: {:?}", root.style);
    check(
        &folder(&path),
        expect![[r#"
        obsidian-rag generation 1.0: Assets/History/sessions_index.json
        message: 6 read, 2 mapped, 4 kept or told
        session: 1 read, 1 mapped, 0 kept or told"#]],
    );
}

#[test]
fn several_sessions_come_back_to_the_byte() {
    check(
        &several(),
        expect![[r#"
        obsidian-rag generation 1.0: Assets/History/sessions_index.json
        repaired: Assets/History/trash/session_2.json id repeated: session session_2 is there again and becomes a conversation of its own
        repaired: Assets/History/trash/session_3_1733423999999.json id repeated: session session_3 is there again and becomes a conversation of its own
        message: 12 read, 12 mapped, 0 kept or told
        session: 5 read, 5 mapped, 0 kept or told"#]],
    );
}

#[test]
fn the_index_of_the_trash_says_when_something_was_deleted() {
    let items = read(&trash_index());
    let trashed: Vec<_> = items
        .iter()
        .filter_map(|item| match item {
            Item::Conversation(item) => Some((item.external.clone(), item.trashed_at.map(|at| at.0))),
            _ => None,
        })
        .collect();
    let expected = [("open", None), ("second", Some(5_000_000)), ("first", Some(4_000_000)), ("third", Some(77_000))];
    assert_eq!(trashed, expected.map(|(id, at)| (id.to_owned(), at)));
    check(
        &trash_index(),
        expect![[r#"
        obsidian-rag generation 1.0: sessions_index.json
        message: 16 read, 16 mapped, 0 kept or told
        session: 4 read, 4 mapped, 0 kept or told"#]],
    );
}

#[test]
fn odd_layout_and_unknown_members_come_back_to_the_byte() {
    check(
        &odd(),
        expect![[r#"
        obsidian-rag generation 1.0: sessions_index.json
        repaired: sessions/a b.json at byte 15 half a character: half a character stands in a text; a mark stands for it here
        message: 4 read, 4 mapped, 0 kept or told
        session: 2 read, 2 mapped, 0 kept or told
        unmapped: index.more 1
        unmapped: index entry.x 1
        unmapped: message.n 1
        unmapped: session.a 2
        unmapped: session.messages2 1"#]],
    );
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_come_back_to_the_byte() {
    check(
        &windows(),
        expect![[r#"
            obsidian-rag generation 1.0: sessions_index.json
            message: 4 read, 4 mapped, 0 kept or told
            session: 2 read, 2 mapped, 0 kept or told"#]],
    );
}

#[test]
fn a_session_file_alone_comes_back_alone() {
    check(
        &memory(&[("talk.json", SESSION)]),
        expect![[r#"
        obsidian-rag generation 1.0: talk.json
        message: 4 read, 4 mapped, 0 kept or told
        session: 1 read, 1 mapped, 0 kept or told"#]],
    );
}

#[test]
fn a_legacy_file_comes_back_to_the_byte() {
    check(
        &memory(&[("Assets/History/chat_history.json", LEGACY)]),
        expect![[r#"
        obsidian-rag generation legacy: Assets/History/chat_history.json
        message: 2 read, 2 mapped, 0 kept or told"#]],
    );
    check(
        &memory(&[("copy of history.json", LEGACY)]),
        expect![[r#"
        obsidian-rag generation legacy: copy of history.json
        message: 2 read, 2 mapped, 0 kept or told"#]],
    );
}

#[test]
fn a_legacy_file_that_was_migrated_is_not_taken_in_again() {
    check(
        &migrated(),
        expect![[r#"
        obsidian-rag generation 1.0: sessions_index.json
        message: 7 read, 2 mapped, 5 kept or told
        session: 1 read, 1 mapped, 0 kept or told"#]],
    );
}

#[test]
fn a_legacy_file_may_differ_from_its_session_anywhere() {
    let more = LEGACY.replace("[\n", "[\n  {\"role\": \"user\"},\n");
    for history in
        [LEGACY.replace("从前", "以前"), LEGACY.replace("有一座山", "x"), LEGACY.replace(": null", ":null"), more]
    {
        let mut files = files(&migrated());
        files.insert("chat_history.json".to_owned(), history.into_bytes());
        let (written, _) = write(&mut Shelf::of(&read(&MemoryTree::new("memory", files.clone()))), None);
        assert_eq!(difference(&files, &written), "");
    }
}
