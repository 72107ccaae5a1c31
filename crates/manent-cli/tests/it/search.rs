//! `manent search` in a pipe and on a terminal, and the index behind it.

use crate::kit::Home;
use expect_test::expect;

fn seeded() -> (Home, String) {
    let home = Home::new();
    let chat = home.good(&["new", "去西安"]);
    home.good(&["append", &chat, "从北京到西安坐高铁要多久？", "--time", "2026-01-01T08:00:00Z"]);
    let answer = "About four and a half hours.";
    home.good(&["append", &chat, answer, "--role", "assistant", "--time", "2026-01-01T08:00:05Z"]);
    (home, chat)
}

#[test]
fn a_hit_is_a_line_in_a_pipe_and_a_place_on_a_terminal() {
    let (home, chat) = seeded();
    let piped = home.good(&["search", "高铁", "北京"]);
    let columns: Vec<&str> = piped.split('\t').collect();
    assert_eq!((columns.len(), columns[0], columns[2]), (6, chat.as_str(), "2026-01-01T08:00:00Z"), "{piped}");
    assert_eq!(columns[3..], ["user", "去西安", "从北京到西安坐高铁要多久？"]);
    let seen = home.on_terminal(&["search", "高铁 OR hours", "--no-pager"], &[("TZ", "UTC")]);
    assert!(seen.contains("\u{1b}[1m\u{1b}[4m\u{1b}[33m高铁"), "{seen:?}");
    let plain = home.on_terminal(&["search", "高铁 OR hours", "--no-pager"], &[("NO_COLOR", "1")]);
    let hidden: Vec<String> = plain.lines().map(|line| line.replace(&chat, "CONV")).collect();
    let hidden: Vec<&str> = hidden.iter().map(|line| line.split("msg_").next().unwrap_or_default()).collect();
    expect![[r#"
        去西安  CONV
          ● assistant  2026-01-01 · #2 · 
            About four and a half hours.

          ● user  2026-01-01 · #1 · 
            从北京到西安坐高铁要多久？

        read on there: manent show --around "#]]
    .assert_eq(&hidden.join("\n"));
    let place = plain.rsplit("--around ").next().expect("a place").trim();
    assert!(home.good(&["show", "--around", place]).contains("▶ assistant"));
}

#[test]
fn more_is_said_to_be_there_and_how_to_get_it() {
    let (home, chat) = seeded();
    for number in 0..5 {
        home.good(&["append", &chat, &format!("needle {number}")]);
    }
    let seen = home.on_terminal(&["search", "needle", "-n", "2", "--no-pager"], &[("NO_COLOR", "1")]);
    assert!(seen.contains("more than 2; for the next ones add --after "), "{seen}");
    let cursor = seen.split("--after ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a cursor");
    let next = home.good(&["search", "needle", "-n", "2", "--after", cursor]);
    assert!(next.contains("needle 2") && next.contains("needle 1"), "{next}");
    assert_eq!(home.good(&["search", "needle", "-n", "0"]).lines().count(), 5);
    assert_eq!(home.good(&["search", "needle", "--count"]), "5");
    assert_eq!(home.run(&["search", "needle", "--after", "rubbish"]).code, 2);
    let nothing = home.run(&["search", "no-such-word"]);
    assert_eq!((nothing.code, nothing.out.as_str(), nothing.err.as_str()), (0, "", ""), "nothing found is no failure");
    let seen = home.on_terminal(&["search", "no-such-word", "--no-color"], &[]);
    assert!(seen.contains("nothing was found"), "{seen}");
}

#[test]
fn a_query_that_cannot_be_read_is_pointed_at() {
    let (home, _) = seeded();
    let said = home.run(&["search", "天气 \"北京"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""));
    assert_eq!(said.err, "manent: this quotation mark is not closed\n  天气 \"北京\n       ^\n");
    for rubbish in ["", " ", "(", "role:", "after:\u{1b}[2J", "\"", "OR", &"a ".repeat(80), &"长".repeat(5_000)] {
        let said = home.run(&["search", rubbish]);
        assert_eq!(said.code, 2, "{rubbish}: {said:?}");
        assert!(said.err.ends_with("^\n") && !said.err.contains('\u{1b}'), "{said:?}");
    }
    for fine in ["-a", "--", "* *", "'; drop table message; --", "a:b:c", "\u{202e}x", "needle -half"] {
        assert_eq!(home.run(&["search", "--", fine]).code, if fine == "--" || fine == "* *" { 2 } else { 0 }, "{fine}");
    }
    assert!(home.good(&["search", "hours -half"]).is_empty() && !home.good(&["search", "hours -quarter"]).is_empty());
    assert!(!home.good(&["search", "--", "-quarter", "hours"]).is_empty());
    assert_eq!(home.run(&["search"]).code, 2);
}

#[test]
fn an_import_is_indexed_when_it_ends() {
    let (home, chat) = seeded();
    // Some that take a moment.
    let lines: String =
        (0..1_500).map(|number| format!("{{\"role\":\"user\",\"text\":\"words {number} 字\"}}\n")).collect();
    assert_eq!(home.fed(&["append", &chat, "--lines"], &lines).code, 0);
    home.good(&["export", "--output", "all.jsonl"]);
    let other = Home::new();
    let from = home.path().join("all.jsonl");
    other.good(&["import", from.to_str().expect("a path")]);
    // Nothing has run since the import but this search, and it finds nothing left to look through.
    let found = other.good(&["search", "高铁", "--json"]);
    let number = |name: &str| -> i64 {
        let behind = found.rsplit(&format!("\"{name}\":")).next().expect("a number");
        behind.split([',', '}']).next().expect("digits").parse().expect("digits")
    };
    assert_eq!((number("position"), number("waiting")), (number("last"), 0), "{found}");
    let indexed = other.good(&["reindex", "--json"]);
    assert!(indexed.contains("\"waiting\":0,\"idle\":true,\"is_failing\":false"), "{indexed}");
    let seen = other.on_terminal(&["reindex"], &[("NO_COLOR", "1")]);
    assert!(seen.contains("the index is new"), "{seen}");
    assert_eq!(other.good(&["search", "高铁"]).lines().count(), 1);
}

#[test]
fn what_others_wrote_does_not_paint_on_the_terminal() {
    let home = Home::new();
    let chat = home.good(&["new", "\u{1b}[31mneedle\u{7}\u{202e}"]);
    home.good(&["append", &chat, "needle \u{1b}]0;owned\u{7}text\u{1b}[2J\u{9b}2J", "--author", "a=\u{1b}[2J"]);
    let seen = home.on_terminal(&["search", "needle", "--no-pager"], &[("NO_COLOR", "1")]);
    assert!(seen.contains("needle") && !seen.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}']), "{seen:?}");
    // In colours only our own sequences are there, and they end in m.
    let seen = home.on_terminal(&["search", "needle", "--no-pager"], &[]);
    assert!(!seen.contains(['\u{7}', '\u{202e}', '\u{9b}']) && !seen.contains("\u{1b}[31m"), "{seen:?}");
    let is_style = |rest: &str| {
        rest.starts_with('[') && rest[1..].trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('m')
    };
    assert!(seen.split('\u{1b}').skip(1).all(is_style), "{seen:?}");
}

#[test]
fn a_message_on_another_branch_is_found_there_and_shown_there() {
    let (home, chat) = seeded();
    let last = home.good(&["append", &chat, "the old needle"]);
    home.good(&["edit", &chat, &last, "the new pin"]);
    assert!(home.good(&["search", "needle"]).is_empty());
    let found = home.good(&["search", "needle", "--branches"]);
    assert!(found.contains(&last), "{found}");
    let shown = home.good(&["show", "--around", &last]);
    assert!(shown.contains("the old needle") && shown.contains("half hours"), "{shown}");
    assert!(!shown.contains("the new pin"), "{shown}");
    home.good(&["rm", &chat]);
    assert!(home.good(&["search", "pin"]).is_empty());
    assert_eq!(home.good(&["search", "pin", "--trashed"]).lines().count(), 1);
}
