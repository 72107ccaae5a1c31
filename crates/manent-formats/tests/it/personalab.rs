//! PersonaLab: role-plays as lines, and what their characters have become.

mod accepts;
mod changes;
pub mod samples;
mod truncation;

use crate::kit::*;
use expect_test::{Expect, expect};
use manent_formats::apps::personalab;
use manent_formats::core::source_fs::SourceTree;
use manent_formats::{Item, Loss};
use samples::*;
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

fn read(tree: &dyn SourceTree) -> Vec<Item> {
    let mut items = Vec::new();
    personalab::read(tree, &mut items).expect("readable");
    items
}

fn write(shelf: &mut Shelf, generation: Option<&str>) -> (Files, Vec<Loss>) {
    let mut written = BTreeMap::new();
    let losses = personalab::write(shelf, &mut written, generation).expect("writable");
    (written, losses)
}

/// Checks the report, and that nothing differs in what is written back.
fn check(tree: &dyn SourceTree, expected: Expect) {
    let items = read(tree);
    assert_accounted(&items, &tree.label());
    // Where the folder lies is not the same everywhere.
    expected.assert_eq(&report(&items).replace(tree.label(), "here"));
    let (written, losses) = write(&mut Shelf::of(&items), None);
    assert_eq!(difference(&files(tree), &written), "");
    assert_eq!(losses, []);
    accepts::folder(&written);
}

/// The states that are set, by conversation.
fn states(items: &[Item]) -> Vec<String> {
    let mut open = String::new();
    let mut states = Vec::new();
    for item in items {
        match item {
            Item::Conversation(item) => open.clone_from(&item.external),
            Item::State(item) => states.push(format!("{open} {} after {:?}: {:?}", item.name, item.after, item.value)),
            _ => {}
        }
    }
    states
}

#[test]
fn the_instances_of_the_seed_come_back_to_the_byte() {
    let Some(path) = fixtures("personalab/v1-instance-layout") else { return };
    check(
        &folder(&path),
        expect![[r#"
        personalab generation v0.5: data/
        repaired: data/instances/inst_001/ pointer dangling: the open session sess_003 is not there; the last one stands for it
        repaired: data/instances/inst_001/sessions/session_001.jsonl question unanswered: inst_001/sess_001 ends with a question
        repaired: data/instances/inst_001/sessions/session_002.jsonl question unanswered: inst_001/sess_002 ends with a question
        background: 1 read, 1 mapped, 0 kept or told
        character_state: 2 read, 2 mapped, 0 kept or told
        instance: 1 read, 1 mapped, 0 kept or told
        line: 8 read, 8 mapped, 0 kept or told
        plot_state: 1 read, 1 mapped, 0 kept or told
        session: 2 read, 2 mapped, 0 kept or told
        settings: 1 read, 1 mapped, 0 kept or told"#]],
    );
}

#[test]
fn the_conversations_of_the_second_version_come_back_to_the_byte() {
    let Some(path) = fixtures("personalab/v2-conversation-layout") else { return };
    check(
        &folder(&path),
        expect![[r#"
        personalab generation v2: data/
        background: 1 read, 1 mapped, 0 kept or told
        character: 1 read, 1 mapped, 0 kept or told
        character_snapshot: 2 read, 2 mapped, 0 kept or told
        conversation: 2 read, 2 mapped, 0 kept or told
        line: 8 read, 8 mapped, 0 kept or told
        plot_state: 1 read, 1 mapped, 0 kept or told
        settings: 1 read, 1 mapped, 0 kept or told
        summary: 1 read, 1 mapped, 0 kept or told
        unmapped: character_snapshot.snapshot_created_at 1
        unmapped: character_snapshot.source_preset 1
        unmapped: metadata.presets 1
        unmapped: metadata.rag_scope 1"#]],
    );
}

#[test]
fn the_open_session_carries_what_the_characters_are() {
    let items = read(&instances());
    expect![[r#"
        other/sess_001 plot_state after Some(1): {}
        inst_001/sess_002 plot_state after Some(2): {
            "current_plot_index": 3,
            "current_status": "in_progress",
            "no_update_count": 2
          }
        inst_001/sess_002 base_persona after Some(2): "b\u00e9"
        inst_001/sess_002 evolved_persona after Some(2): """#]]
    .assert_eq(&states(&items).join("\n"));
    let links = items.iter().filter_map(|item| match item {
        Item::Conversation(item) => {
            Some(format!("{} <- {:?} in {:?}", item.external, item.continued_from, item.project))
        }
        _ => None,
    });
    expect![[r#"
        other/sess_001 <- None in Some("other")
        other/b <- None in Some("other")
        inst_001/sess_001 <- None in Some("inst_001")
        inst_001/sess_002 <- Some("inst_001/sess_001") in Some("inst_001")"#]]
    .assert_eq(&links.collect::<Vec<_>>().join("\n"));
    check(
        &instances(),
        expect![[r#"
        personalab generation v0.5: here
        repaired: instances/folder/sessions/b.jsonl line 1 time missing: the line has no time that can be read; it has that of the line before
        repaired: instances/folder/sessions/b.jsonl question unanswered: other/b ends with a question
        character_state: 2 read, 2 mapped, 0 kept or told
        chroma_db: 2 read, 2 mapped, 0 kept or told
        instance: 2 read, 2 mapped, 0 kept or told
        line: 8 read, 8 mapped, 0 kept or told
        plot_state: 2 read, 2 mapped, 0 kept or told
        session: 4 read, 4 mapped, 0 kept or told
        unmapped: character_state.mood 1"#]],
    );
}

#[test]
fn odd_lines_come_back_to_the_byte() {
    check(
        &odd(),
        expect![[r#"
        personalab generation v0.5: data/
        repaired: data/instances/i/sessions/s.jsonl pointer dangling: session s goes on from gone, which is not there
        repaired: data/instances/i/sessions/s.jsonl line 4 half a character: half a character stands in a text; a mark stands for it here
        repaired: data/instances/i/sessions/s.jsonl line 6 time missing: the line has no time that can be read; it has that of the line before
        repaired: data/instances/i/sessions/s.jsonl line 10 time missing: the line has no time that can be read; it has that of the line before
        repaired: data/instances/i/sessions/s.jsonl question unanswered: i/s ends with a question
        character_state: 3 read, 3 mapped, 0 kept or told
        instance: 2 read, 2 mapped, 0 kept or told
        line: 8 read, 5 mapped, 3 kept or told
        session: 2 read, 2 mapped, 0 kept or told
        unmapped: line.n 1
        unmapped: metadata.mood 1"#]],
    );
}

#[test]
fn odd_conversations_come_back_to_the_byte() {
    check(
        &odd_conversations(),
        expect![[r#"
        personalab generation v2: here
        character: 1 read, 1 mapped, 0 kept or told
        character_snapshot: 1 read, 1 mapped, 0 kept or told
        conversation: 2 read, 2 mapped, 0 kept or told
        line: 3 read, 3 mapped, 0 kept or told
        plot_state: 1 read, 1 mapped, 0 kept or told
        unmapped: character_snapshot.more 1
        unmapped: metadata.x 1"#]],
    );
}

#[test]
fn documents_alone_come_back_to_the_byte() {
    check(
        &documents(),
        expect![[r#"
        personalab generation v2: here
        repaired: presets/characters/c.json id repeated: character c is there again and is c+ here
        background: 1 read, 1 mapped, 0 kept or told
        character: 2 read, 2 mapped, 0 kept or told
        prompt_template: 2 read, 2 mapped, 0 kept or told
        settings: 1 read, 1 mapped, 0 kept or told"#]],
    );
}

#[test]
fn the_layout_of_version_0_2_is_read_too() {
    check(
        &oldest(),
        expect![[r#"
        personalab generation v0.5: here
        instance: 1 read, 1 mapped, 0 kept or told
        line: 1 read, 1 mapped, 0 kept or told
        plot_state: 0 read, 0 mapped, 0 kept or told
        session: 1 read, 1 mapped, 0 kept or told"#]],
    );
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_goes_on() {
    let tree = broken();
    let items = read(&tree);
    assert_accounted(&items, &"broken");
    expect![[r#"
        personalab generation v0.5: here
        skipped: characters/c/definition.json character: the file is cut off, or no JSON
        skipped: config.json settings: the file is cut off, or no JSON
        skipped: instances/i/instance_state.json instance: the file is cut off, or no JSON object in UTF-8
        skipped: instances/i/character_state.json character_state: the file is cut off, or no JSON object in UTF-8
        repaired: instances/j/ pointer dangling: the open session sess_999 is not there; the last one stands for it
        skipped: instances/i/sessions/one.jsonl line 4 line: the line is no JSON object
        skipped: instances/i/sessions/one.jsonl line 5 line: the line is no JSON object
        skipped: instances/i/sessions/one.jsonl line 9 line: the line is no JSON object
        repaired: instances/i/sessions/one.jsonl question unanswered: i/sess_001 ends with a question
        repaired: instances/j/sessions/two.jsonl id repeated: session inst_001/sess_001 is there again and is inst_001/sess_001+ here
        character: 1 read, 0 mapped, 1 kept or told
        character_state: 1 read, 0 mapped, 1 kept or told
        instance: 2 read, 1 mapped, 1 kept or told
        line: 12 read, 8 mapped, 4 kept or told
        plot_state: 1 read, 1 mapped, 0 kept or told
        session: 3 read, 3 mapped, 0 kept or told
        settings: 1 read, 0 mapped, 1 kept or told"#]].assert_eq(&report(&items).replace("memory", "here"));
    let (written, _) = write(&mut Shelf::of(&items), None);
    expect![[r#"
        characters/c/definition.json:
        - not JSON
        config.json:
        - {"a":
        instances/i/character_state.json:
        - []
        instances/i/instance_state.json:
        -   "instance_id": "inst_001",
        -   "character_id": "char_alserqi",
        +   "instance_id": "i",
        +   "character_id": "",
        -   "current_session_id": "sess_
        +   "current_session_id": "sess_001",
        +   "created_at": "2025-10-16T10:00:00Z"
        + }
        instances/i/sessions/one.jsonl:
        - rubbish
        - [1]
        - {"role":"assistant","content":"走。","turn":1,"timesta"#]]
    .assert_eq(&difference(&files(&tree), &written));
    accepts::folder(&written);
}
