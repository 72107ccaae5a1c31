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
fn import_of_a_folder_with_a_bad_member_exits_with_3_and_names_file_and_member() {
    let home = Home::new();
    let runtime = home.path().join("agents/agt-1/runtime");
    std::fs::create_dir_all(&runtime).expect("a folder");
    let messages = r#"[
  {"role": "user", "content": [{"type": "text", "text": "kept"}]},
  {"role": "assistant", "content": [{"type": "text", "text": "kept too"}], "metadata": {"usage": nonsense}}
]"#;
    std::fs::write(runtime.join("messages.json"), messages).expect("a file");
    let said = home.run(&["import", "agents"]);
    assert_eq!(said.code, 3, "{said:?}");
    let told = format!("{}{}", said.out, said.err);
    assert!(told.contains("runtime/messages.json") && told.contains("metadata"), "{said:?}");
    assert!(home.good(&["show", "@last"]).contains("kept too"), "the rest is taken in");
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
fn files_are_readable_by_their_owner_only() {
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
fn a_replacement_keeps_the_author() {
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
    let reads = [
        &["list"][..],
        &["stats"],
        &["show", "@last"],
        &["search", "words"],
        &["verify"],
        &["doctor"],
        &["export"],
        &["audit"],
        &["tenant", "list"],
        &["user", "list"],
        &["key", "list"],
        &["backup", "copy.backup"],
    ];
    for command in reads {
        // Also without --db, as on a new machine.
        for store in [&["--db", path][..], &[]] {
            let said = home.run(&[store, command].concat());
            assert_eq!(said.code, 1, "{command:?}");
            assert!(said.err.contains("no store at"), "{}", said.err);
        }
    }
    assert!(!home.path().join("none").exists(), "nothing was made");
    assert!(std::fs::read_dir(home.path()).expect("a folder").next().is_none(), "nothing was made");
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

#[test]
fn last_is_the_conversation_used_last_whatever_its_status() {
    let home = Home::new();
    let (first, second) = (home.good(&["new", "first"]), home.good(&["new", "second"]));
    home.good(&["append", &second, "newer"]);
    home.good(&["archive", &first]);
    home.good(&["restore", "@last"]);
    let status = |chat: &str| home.good(&["show", chat, "--json"]).replace(' ', "").contains("\"status\":\"trashed\"");
    assert!(home.good(&["list"]).contains(&first), "the archived one came back");
    home.good(&["rm", "@last"]);
    home.good(&["rm", "@last"]);
    assert!(status(&first) && !status(&second), "only the one used last is in the trash");
    home.good(&["rename", &second, "renamed"]);
    assert_eq!(home.good(&["list", "--title", "renamed"]).split('\t').next(), Some(second.as_str()));
    let seen = home.on_terminal(&["pin", "@last"], &[("NO_COLOR", "1")]);
    assert!(seen.contains("pinned “renamed”"), "{seen}");
}

#[test]
fn undo_needs_a_scope_and_says_what_it_undid() {
    let home = Home::new();
    let chat = home.good(&["new", "before"]);
    assert_eq!(home.run(&["undo"]).code, 2);
    home.good(&["rename", &chat, "after"]);
    home.good(&["rename", &chat, "after"]);
    let seen = home.on_terminal(&["undo", &chat], &[("NO_COLOR", "1")]);
    assert!(seen.contains("undone: conversation edited in “before”"), "{seen}");
    let nothing = home.run(&["undo", &chat]);
    assert!(nothing.code == 1 && nothing.err.contains("nothing to undo"), "{nothing:?}");
    assert_eq!(home.good(&["list"]).lines().count(), 1, "undo in a conversation never removes it");
    home.good(&["undo", "--any"]);
    assert_eq!(home.good(&["list"]), "");
}

#[test]
fn append_reads_a_pipe_and_refuses_an_empty_message() {
    let home = Home::new();
    let chat = home.good(&["new", "pipes"]);
    assert_eq!(home.fed(&["append", &chat], "从管道来\n").code, 0);
    assert!(home.good(&["show", &chat]).contains("从管道来"));
    for empty in [&["append", &chat, ""][..], &["append", &chat, " \n"], &["append", &chat, "--parts", "[]"]] {
        let said = home.run(empty);
        assert!(said.code == 1 && said.err.contains("empty"), "{empty:?} {said:?}");
    }
    let said = home.run(&["append", &chat, "--parts", r#"[{"type":"hologram","x":1}]"#]);
    assert!(said.code == 0 && said.err.contains("unknown part"), "{said:?}");
}

#[test]
fn a_list_says_how_many_it_leaves_out() {
    let home = Home::new();
    (0..4).for_each(|number| drop(home.good(&["new", &format!("chat {number}")])));
    assert!(home.run(&["list", "-n", "3"]).err.contains("3 of 4 conversations"));
    assert_eq!(home.run(&["list"]).err, "");
}

#[test]
fn a_backup_is_restored_on_a_machine_that_has_no_folder_yet() {
    let home = Home::new();
    let chat = home.good(&["new", "precious"]);
    home.good(&["append", &chat, "words"]);
    home.good(&["backup", "x.backup"]);
    let backup = home.path().join("x.backup");
    let fresh = home.path().join("new/machine");
    let on_fresh = |arguments: &[&str]| {
        let output = home.command(arguments).env("MANENT_HOME", &fresh).output().expect("the command starts");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert!(!on_fresh(&["verify"]).0, "there is nothing to verify");
    assert!(on_fresh(&["restore-backup", backup.to_str().expect("a path")]).0);
    assert!(on_fresh(&["verify"]).0);
    assert!(on_fresh(&["show", &chat]).1.contains("words"));
}

#[test]
fn an_erasure_names_the_backups_that_still_hold_it_and_replaces_them_if_asked() {
    let home = Home::new();
    let chat = home.good(&["new", "secret"]);
    let (first, second) = (home.good(&["append", &chat, "canary-one"]), home.good(&["append", &chat, "canary-two"]));
    let folder = home.path().join("backups");
    std::fs::create_dir_all(&folder).expect("a folder");
    let managed = folder.join("manent-000001700000000.backup");
    home.good(&["backup", managed.to_str().expect("a path")]);
    let kept = home.run(&["erase", "--message", &first, "--yes"]);
    assert_eq!(kept.code, 0, "{kept:?}");
    assert!(kept.out.replace(' ', "").contains("\"backups\":1"), "{}", kept.out);
    assert!(kept.err.contains("1 managed backups in") && kept.err.contains("--backups"), "{}", kept.err);
    let holds = |word: &str| {
        let files = std::fs::read_dir(&folder).expect("a folder").flatten();
        let texts: Vec<Vec<u8>> = files.filter_map(|file| std::fs::read(file.path()).ok()).collect();
        assert!(!texts.is_empty(), "there is a backup");
        texts.iter().any(|bytes| bytes.windows(word.len()).any(|window| window == word.as_bytes()))
    };
    assert!(holds("canary-one") && holds("canary-two"));
    let replaced = home.run(&["erase", "--message", &second, "--backups", "--yes"]);
    assert!(replaced.out.replace(' ', "").contains("\"backups_removed\":1"), "{replaced:?}");
    assert!(!managed.exists() && !holds("canary-one") && !holds("canary-two"));
}
