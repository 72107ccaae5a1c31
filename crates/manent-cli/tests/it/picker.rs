//! `manent search -i`, driven by keys.

use crate::kit::Home;
use crate::watched::{Shown, Watched};

/// Three conversations, one of them Chinese.
fn seeded() -> (Home, [String; 3]) {
    let home = Home::new();
    let trip = home.good(&["new", "去西安的旅行"]);
    home.good(&["append", &trip, "从北京到西安坐高铁要多久？", "--time", "2026-01-01T08:00:00Z"]);
    home.good(&["append", &trip, "大约四个半小时。", "--role", "assistant", "--time", "2026-01-01T08:00:05Z"]);
    let code = home.good(&["new", "Rust"]);
    home.good(&["append", &code, "first needle", "--time", "2026-01-02T08:00:00Z"]);
    home.good(&["append", &code, "second needle", "--role", "assistant", "--time", "2026-01-02T08:00:05Z"]);
    let other = home.good(&["new", "Other"]);
    home.good(&["append", &other, "a needle elsewhere", "--time", "2026-01-03T08:00:00Z"]);
    (home, [trip, code, other])
}

fn chosen(shown: &Shown) -> String {
    shown.lines().into_iter().skip(1).find(|line| line.starts_with('❯')).unwrap_or_default()
}

#[test]
fn what_is_typed_is_found_chosen_and_opened() {
    let (home, [_, code, _]) = seeded();
    let mut watched = Watched::start(&home, &["search", "-i", "--no-pager"], 100, 30);
    watched.sees("type to search");
    watched.types("nee");
    watched.sees("3 hits");
    watched.until("the newest is chosen", |shown| chosen(shown).contains("a needle elsewhere"));
    watched.types("\u{1b}[B");
    watched.until("the next is chosen", |shown| chosen(shown).contains("second needle"));
    watched.until("what stands before it", |shown| shown.text().contains("  user: first needle"));
    watched.types("\r");
    let (exit, shown) = watched.ended();
    let text = shown.text();
    assert_eq!(exit, 0, "{text}");
    let place = text.lines().position(|line| line.starts_with(&code) && line.contains("msg_")).expect("its ids");
    let around: Vec<&str> = text.lines().skip(place).collect();
    assert!(around.iter().any(|line| line.starts_with("● user")), "{text}");
    assert!(around.iter().any(|line| line.starts_with("▶ assistant")), "{text}");
    assert!(!shown.overflowed && shown.commands.is_empty(), "{text}");
}

#[test]
fn chinese_is_typed_found_and_lines_up() {
    let (home, _) = seeded();
    let mut watched = Watched::start(&home, &["search", "-i", "--no-pager"], 61, 14);
    watched.types("北京 高");
    watched.until("the hit", |shown| chosen(shown).contains("从北京到西安坐高铁"));
    watched.sees("  assistant: 大约四个半小时。");
    assert!(watched.shown.lines()[0].starts_with("❯ 北京 高"), "{}", watched.shown.text());
    assert!(watched.shown.raw.contains("\u{1b}[1m\u{1b}[4m\u{1b}[33m北京"), "what was found is marked");
    // Backspace takes a character, not a byte.
    watched.types("\u{7f}\u{7f}\u{7f}西");
    watched.until("a shorter query", |shown| shown.lines()[0] == "❯ 北西");
    watched.sees("nothing found");
    watched.types("\u{15}西安");
    watched.sees("2 hits");
    watched.types("\u{3}");
    let (code, shown) = watched.ended();
    assert_eq!((code, shown.overflowed), (0, false));
    assert!(!shown.text().contains("西安"), "nothing was opened: {}", shown.text());
}

#[test]
fn enter_waits_for_what_was_typed_last() {
    let (home, [trip, ..]) = seeded();
    let mut watched = Watched::start(&home, &["search", "-i", "--no-pager", "needle"], 100, 30);
    watched.sees("3 hits");
    watched.types("\u{15}小时\r");
    let (code, shown) = watched.ended();
    assert_eq!(code, 0);
    assert!(shown.text().contains(&trip), "{}", shown.text());
}

#[test]
fn any_size_is_filled_and_none_overflows() {
    let (home, _) = seeded();
    let mut watched = Watched::start(&home, &["search", "-i", "西安 OR needle"], 100, 30);
    watched.sees("5 hits");
    for (columns, rows) in [(40, 12), (20, 5), (7, 4), (3, 2), (1, 1), (200, 60), (72, 11)] {
        watched.resize(columns, rows);
        watched.until("the query", |shown| shown.lines()[0].starts_with(if columns > 1 { '❯' } else { '…' }));
        if rows > 2 {
            watched.until("a hit", |shown| chosen(shown).starts_with('❯'));
        }
        assert!(!watched.shown.overflowed, "{columns}x{rows}:\n{}", watched.shown.text());
    }
    watched.sees("5 hits");
    watched.types("\u{1b}");
    assert_eq!(watched.ended().0, 0);
}

#[test]
fn keys_say_where_and_in_which_order_is_looked() {
    let (home, [_, code, other]) = seeded();
    home.good(&["rm", &other]);
    let mut watched = Watched::start(&home, &["search", "-i", "needle"], 120, 30);
    watched.sees("2 hits · all conversations · newest first");
    watched.types("\t");
    watched.sees("2 hits · in Rust · newest first");
    watched.types("\u{12}");
    watched.sees("3 hits · with other branches and the trash");
    watched.sees("in the trash");
    watched.types("\u{13}");
    watched.sees("best first");
    watched.types("\u{19}");
    watched.sees("copied");
    assert_eq!(watched.shown.commands.len(), 1, "{:?}", watched.shown.commands);
    assert!(watched.shown.commands[0].starts_with("]52;c;"), "{:?}", watched.shown.commands);
    watched.terminate();
    assert_eq!(watched.ended().0, 0);
    let mut watched = Watched::start(&home, &["search", "-i", "--in", &code, "needle"], 120, 30);
    watched.sees("in Rust");
    watched.types("\u{1b}");
    assert_eq!(watched.ended().0, 0);
}

#[test]
fn what_others_wrote_does_not_reach_the_terminal() {
    let home = Home::new();
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[31m\u{202e} needle \u{9b}2J\u{7}\r\n\u{1b}[5;5Hnext";
    let chat = home.good(&["new", hostile]);
    home.good(&["append", &chat, "before \u{1b}[2J"]);
    home.good(&["append", &chat, hostile, "--author", "a=\u{1b}[2J\u{7}"]);
    home.good(&["append", &chat, "after \u{1b}]0;owned\u{7}"]);
    // A sequence that the picker itself does not use makes the terminal of this test panic.
    let mut watched = Watched::start(&home, &["search", "-i", "--no-pager", "needle"], 100, 30);
    watched.sees("2 hits");
    watched.types("\u{1b}[B\u{1b}[A\u{1b}[200~ \u{1b}[2J\r\n\u{1b}[201~");
    watched.until("pasted text", |shown| shown.lines()[0].starts_with("❯ needle  [2J"));
    watched.types("\u{15}needle\r");
    let (code, shown) = watched.ended();
    assert_eq!((code, &shown.commands), (0, &Vec::new()), "{}", shown.text());
    assert!(!shown.raw.contains('\u{7}') && !shown.raw.contains('\u{202e}') && !shown.raw.contains('\u{9b}'));
}

#[test]
fn without_a_terminal_it_says_so() {
    let (home, _) = seeded();
    let said = home.run(&["search", "-i"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("-i needs a terminal"), "{said:?}");
}
