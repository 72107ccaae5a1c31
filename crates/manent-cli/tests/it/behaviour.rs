//! Terminals and pipes, exit codes, ids, colours.

use crate::kit::Home;

fn seeded() -> (Home, String) {
    let home = Home::new();
    let chat = home.good(&["new", "北京的天气 and more"]);
    home.good(&["append", &chat, "Hello"]);
    (home, chat)
}

#[test]
fn a_table_on_a_terminal_is_lines_in_a_pipe() {
    let (home, chat) = seeded();
    let seen = home.on_terminal(&["list", "--no-pager"], &[]);
    assert!(seen.contains("TITLE") && seen.contains("\u{1b}["), "{seen:?}");
    let plain = home.on_terminal(&["list", "--no-pager"], &[("NO_COLOR", "1")]);
    assert!(plain.contains("TITLE") && !plain.contains('\u{1b}'), "{plain:?}");
    assert!(home.on_terminal(&["list", "--no-pager", "--no-color"], &[]).find('\u{1b}').is_none());
    let piped = home.good(&["list"]);
    assert!(
        !piped.contains("TITLE") && piped.starts_with(&format!("{chat}\t北京的天气 and more\tchat\t1\t")),
        "{piped:?}"
    );
}

#[test]
fn columns_line_up_under_chinese() {
    let (home, _) = seeded();
    home.good(&["new", "plain"]);
    let seen = home.on_terminal(&["list", "--no-pager"], &[("NO_COLOR", "1")]);
    let place = |line: &str| unicode_width::UnicodeWidthStr::width(line.split("chat").next().expect("a kind"));
    let places: Vec<usize> = seen.lines().skip(1).filter(|line| line.contains("chat")).map(place).collect();
    assert_eq!(places.len(), 2, "{seen}");
    assert_eq!(places[0], places[1], "{seen}");
}

#[test]
fn a_long_page_goes_through_the_pager() {
    let (home, chat) = seeded();
    for number in 0..30 {
        home.good(&["append", &chat, &format!("message {number}")]);
    }
    let seen = home.on_terminal(&["show", &chat], &[("MANENT_PAGER", "sed s/^/PAGED:/")]);
    assert!(seen.contains("PAGED:"), "{seen}");
    let seen = home.on_terminal(&["show", &chat, "--no-pager"], &[("MANENT_PAGER", "sed s/^/PAGED:/")]);
    assert!(!seen.contains("PAGED:"), "{seen}");
}

#[test]
fn exit_codes_tell_scripts_what_happened() {
    let (home, chat) = seeded();
    assert_eq!(home.run(&["show", "conv_01K7H1RY3BNE1D3YX3C01SM0R1"]).code, 4);
    assert_eq!(home.run(&["show", "nothing-like-it"]).code, 4);
    assert_eq!(home.run(&["nonsense"]).code, 2);
    assert_eq!(home.run(&["rename", &chat, "a/b"]).code, 1);
    std::fs::write(home.path().join("half.jsonl"), "{\"type\":\"manent\",\"value\":{\"format\":1}}\nrubbish\n")
        .expect("a file");
    let said = home.run(&["import", "half.jsonl"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("line 2"), "{said:?}");
}

#[test]
fn nothing_is_destroyed_without_being_asked_for() {
    let (home, chat) = seeded();
    home.good(&["rm", &chat]);
    let said = home.run(&["purge", &chat]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("--yes"), "{said:?}");
    home.good(&["restore", &chat]);
    home.good(&["rm", &chat]);
    home.good(&["purge", &chat, "--yes"]);
    assert_eq!(home.run(&["show", &chat]).code, 4);
}

#[test]
fn the_beginning_of_an_id_is_enough() {
    let (home, chat) = seeded();
    let short = &chat[..chat.len() - 2];
    assert!(home.good(&["show", short]).contains("Hello"));
    assert!(home.good(&["show", "@last"]).contains("Hello"));
    let again = home.run(&["show", &chat[..7]]);
    assert_eq!(again.code, 4, "too short to be a name: {again:?}");
}

#[test]
fn other_peoples_words_do_not_paint_on_the_terminal() {
    let home = Home::new();
    let chat = home.good(&["new", "\u{1b}[31mred\u{7}\u{202e}"]);
    home.good(&["append", &chat, "\u{1b}]0;owned\u{7}text\u{1b}[2J"]);
    for arguments in [["list", "--no-pager"], ["show", "--no-pager"]] {
        let seen = home.on_terminal(&arguments, &[("NO_COLOR", "1")]);
        assert!(!seen.contains('\u{1b}') && !seen.contains('\u{7}') && !seen.contains('\u{202e}'), "{seen:?}");
    }
}

#[test]
fn the_store_is_where_it_was_said_to_be() {
    let home = Home::new();
    home.good(&["--db", "other.db", "new", "x"]);
    assert!(home.path().join("other.db").exists());
    assert!(!home.path().join("manent.db").exists());
    let config = home.good(&["config", "--json"]);
    assert!(config.contains("MANENT_HOME"), "{config}");
}

#[test]
fn files_of_the_owner_are_nobody_elses() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let inner = home.path().join("inner");
    let mut command = home.command(&["token"]);
    assert!(command.env("MANENT_HOME", &inner).output().expect("runs").status.success());
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&inner), mode(&inner.join("token"))), (0o700, 0o600));
}

#[test]
fn programs_that_start_at_once_agree_on_one_token() {
    for _ in 0..10 {
        let home = Home::new();
        let mut children = Vec::new();
        for _ in 0..8 {
            children.push(home.command(&["token"]).stdout(std::process::Stdio::piped()).spawn().expect("starts"));
        }
        let said = children.into_iter().map(|child| child.wait_with_output().expect("ends").stdout);
        let tokens: std::collections::BTreeSet<Vec<u8>> = said.collect();
        assert_eq!(tokens.len(), 1, "{tokens:?}");
    }
}

#[test]
fn what_replaces_a_message_is_said_by_whoever_said_it() {
    let home = Home::new();
    let chat = home.good(&["new", "roles"]);
    home.good(&["append", &chat, "question"]);
    let answer = home.good(&["append", &chat, "answer", "--role", "assistant"]);
    let better = home.good(&["edit", &chat, &answer, "better"]);
    let again = home.good(&["regenerate", &chat, &better, "again"]);
    let tool = home.good(&["regenerate", &chat, &again, "a tool", "--role", "tool"]);
    for (message, role) in [(&better, "assistant"), (&again, "assistant"), (&tool, "tool")] {
        let shown = home.good(&["message", message]).replace(": ", ":");
        assert!(shown.contains(&format!("\"role\":\"{role}\"")), "{role}: {shown}");
    }
}

#[test]
fn a_store_that_is_not_there_is_made_only_by_what_begins_one() {
    let home = Home::new();
    let path = home.path().join("none/typo.db");
    let path = path.to_str().expect("a path");
    for command in [&["list"][..], &["stats"], &["show"], &["verify"]] {
        let said = home.run(&[&["--db", path], command].concat());
        assert_eq!(said.code, 1, "{command:?}");
        assert!(said.err.contains("there is no store at"), "{}", said.err);
    }
    assert!(!home.path().join("none").exists(), "nothing was made");
    home.good(&["--db", path, "new", "first"]);
    assert_eq!(home.good(&["--db", path, "list"]).lines().count(), 1);
}

#[test]
fn only_what_is_in_the_trash_is_asked_about_before_it_is_destroyed() {
    let home = Home::new();
    let chat = home.good(&["new", "keep me"]);
    let refused = home.run(&["purge", &chat, "--yes"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("manent rm"), "{}", refused.err);
    home.good(&["rm", &chat]);
    let asked = home.run(&["purge", &chat]).err;
    assert!(asked.contains("keep me") && asked.contains("0 messages"), "{asked}");
}

#[test]
fn an_import_that_stops_in_the_middle_says_what_is_not_shown() {
    let home = Home::new();
    let chat = home.good(&["new", "cut"]);
    home.good(&["append", &chat, "one"]);
    let whole = home.good(&["export"]);
    let other = Home::new();
    let lines: Vec<&str> = whole.lines().collect();
    let cut = lines.iter().position(|line| line.contains("\"one\"")).expect("the message") + 1;
    let said = other.fed(&["import", "-"], &format!("{}\n", lines[..cut].join("\n")));
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("list --status importing"), "{}", said.err);
}
