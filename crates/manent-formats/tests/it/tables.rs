//! Conversation tables: those of the design, and those that the plugin makes.

mod accepts;
mod changes;
mod hostile;
mod random;
mod repairs;
pub mod samples;
mod statements;

pub use changes::path;

use crate::kit::*;
use crate::sqlite::{difference, dump, tree};
use expect_test::{Expect, expect};
use manent_formats::apps::tables;
use manent_formats::core::source_fs::SourceTree;
use manent_formats::{Item, Loss};
use samples::*;
use std::collections::BTreeMap;

fn read(tree: &dyn SourceTree) -> Vec<Item> {
    let mut items = Vec::new();
    tables::read(tree, &mut items).expect("readable");
    items
}

fn write(shelf: &mut Shelf, generation: Option<&str>) -> (Vec<u8>, Vec<Loss>) {
    let mut written = BTreeMap::new();
    let losses = tables::write(shelf, &mut written, generation).expect("writable");
    assert_eq!(written.len(), 1, "one file");
    (written.into_values().next().expect("a file"), losses)
}

/// Checks the report, and that no row differs in what is written back.
fn check(bytes: &[u8], expected: Expect) {
    let items = read(&tree("chat.sqlite", bytes));
    assert_accounted(&items, &"tables");
    expected.assert_eq(&report(&items));
    let (written, losses) = write(&mut Shelf::of(&items), None);
    assert_eq!(difference(bytes, &written), "");
    assert_eq!(losses, []);
    accepts::file(&written);
}

/// How the messages of each conversation stand, with those that are shown marked.
fn shown(items: &[Item]) -> String {
    let mut words = Vec::new();
    let (mut messages, mut parents): (Vec<String>, Vec<Option<u32>>) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::Conversation(item) => {
                words.push(format!("{} {:?} {:?} {:?}", item.external, item.title, item.status, item.project));
                messages.clear();
                parents.clear();
            }
            Item::Message(item) => {
                let next = (messages.len() as u32).checked_sub(1);
                parents.push(match item.follows {
                    manent_formats::Follows::Last => next,
                    manent_formats::Follows::At(at) => at,
                });
                messages.push(format!("{}: {}", item.content.role, item.content.body.words()));
            }
            Item::End { head } => {
                let head = head.or((messages.len() as u32).checked_sub(1));
                let path: Vec<u32> = std::iter::successors(head, |at| parents[*at as usize]).collect();
                for (at, text) in messages.iter().enumerate() {
                    let mark = if path.contains(&(at as u32)) { '*' } else { ' ' };
                    let behind = parents[at].map_or("-".to_owned(), |parent| parent.to_string());
                    words.push(format!(" {mark} {at} behind {behind} {text}"));
                }
            }
            _ => {}
        }
    }
    words.join("\n")
}

#[test]
fn the_file_of_the_plugin_comes_back_row_by_row() {
    let Some(path) = fixtures("conversation-tables/d1-v0.0.4.sqlite") else { return };
    let tree = folder(&path);
    let items = read(&tree);
    expect![[r#"
        conv-1 "" Active None
         * 0 behind - user: Hello 你好
         * 1 behind 0 assistant: Hi! How can I help?
         * 2 behind 1 assistant: reply
        conv-2 "" Active None
         * 0 behind - user: He <b>x</b> & y
        conv-3 "" Active None
        conv-4 "" Active None
        tree-1 "" Active Some("proj")
           0 behind - user: q v1
           1 behind 0 assistant: a v1
         * 2 behind - user: q v2 (edit)
         * 3 behind 2 assistant: a v2"#]]
    .assert_eq(&shown(&items));
    check(
        &files(&tree)["d1-v0.0.4.sqlite"],
        expect![[r#"
        conversation-tables generation shipped: chat.sqlite
        repaired: chat.sqlite Conversation row 3 pointer dangling: the newest message e43986db-9bf0-4d0d-9c57-9dcbafdc6faa of conversation conv-3 is not there
        repaired: chat.sqlite Conversation row 4 pointer dangling: the newest message 5830bbcd-ff99-408b-83be-1225fdcaae53 of conversation conv-4 is not there
        conversation: 5 read, 5 mapped, 0 kept or told
        message: 8 read, 8 mapped, 0 kept or told
        unmapped: conversation.brand 1"#]],
    );
}

#[test]
fn the_tables_of_the_design_come_back_row_by_row() {
    let bytes = draft();
    expect![[r#"
        line "写作" Active Some("小说")
         * 0 behind - user: "quoted"
         * 1 behind 0 assistant: 你好！
        mixed "" Archived Some("小说")
         * 0 behind - user: first
         * 1 behind 0 assistant: second
        tree "" Active None
           0 behind - user: 问题
           1 behind 0 assistant: 回答
           2 behind 0 assistant: 再答
         * 3 behind - user: 改过的问题
         * 4 behind 3 assistant: 新的回答
         * 5 behind 4 user: 还有
        gone "" Trashed None
         * 0 behind - system: "#]]
    .assert_eq(&shown(&read(&tree("chat.sqlite", &bytes))));
    check(
        &bytes,
        expect![[r#"
        conversation-tables generation draft: chat.sqlite
        conversation: 4 read, 4 mapped, 0 kept or told
        message: 11 read, 11 mapped, 0 kept or told
        unmapped: conversation.metadata 1"#]],
    );
}

#[test]
fn a_tree_names_its_head_even_where_that_came_last() {
    let items = read(&tree("chat.sqlite", &draft()));
    let heads: Vec<Option<u32>> =
        items.iter().filter_map(|item| if let Item::End { head } = item { Some(*head) } else { None }).collect();
    assert_eq!(heads, [None, None, Some(5), None]);
}

#[test]
fn settings_other_tables_and_columns_come_back() {
    let bytes = odd();
    check(
        &bytes,
        expect![[r#"
            conversation-tables generation shipped: chat.sqlite
            conversation: 1 read, 1 mapped, 0 kept or told
            message: 1 read, 1 mapped, 0 kept or told
            table: 3 read, 0 mapped, 3 kept or told
            unmapped: conversation.brand 1
            unmapped: conversation.extra "column 1
            unmapped: conversation.sequence 1
            unmapped: conversation.status 1
            unmapped: message.metadata 1
            unmapped: message.score 1"#]],
    );
    assert!(dump(&bytes).contains("user_version 7"));
}
