//! Every command once, in one story, with what it says on record.

use crate::kit::Home;
use expect_test::expect_file;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Runs commands and writes down what they say.
struct Story {
    home: Home,
    told: BTreeSet<String>,
    text: String,
    names: BTreeMap<String, String>,
}

impl Story {
    fn run(&mut self, arguments: &[&str]) -> String {
        self.fed(arguments, "")
    }

    fn fed(&mut self, arguments: &[&str], input: &str) -> String {
        let said = self.home.fed(arguments, input);
        assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
        self.told.insert(arguments[0].to_owned());
        let shown: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
        let plain = format!("$ manent {}\n{}{}", shown.join(" "), said.out, said.err);
        let anonymous = self.anonymous(&untimed(&plain));
        let _ = writeln!(self.text, "{anonymous}");
        said.out.trim_end_matches('\n').to_owned()
    }

    /// Runs a command whose output is another on every machine.
    fn unrecorded(&mut self, arguments: &[&str]) -> String {
        let before = self.text.len();
        let out = self.run(arguments);
        self.text.truncate(before);
        out
    }

    /// Numbers ids in the order they appear, and forgets times and folders: the next run has others.
    fn anonymous(&mut self, text: &str) -> String {
        let text = text.replace(self.home.path().to_str().expect("a path in text"), "HOME");
        let is_part = |character: char| character.is_ascii_alphanumeric() || "_-:.".contains(character);
        let mut shown = String::new();
        let mut word = String::new();
        for character in text.chars().chain(['\0']) {
            if is_part(character) {
                word.push(character);
                continue;
            }
            shown.push_str(&self.name(&word));
            word.clear();
            if character != '\0' {
                shown.push(character);
            }
        }
        shown
    }

    fn name(&mut self, word: &str) -> String {
        let is_time = word.len() >= 20 && word.starts_with("20") && word.contains('T') && word.ends_with('Z');
        let is_day = word.len() == 10 && word.starts_with("20") && word.matches('-').count() == 2;
        let is_clock = word.len() == 5 && word.as_bytes()[2] == b':';
        let (prefix, tail) = word.rsplit_once('_').unwrap_or(("", word));
        match (is_time || is_day || is_clock, tail.len() == 26 && !prefix.is_empty()) {
            (true, _) => "TIME".to_owned(),
            (_, true) => {
                let next = self.names.keys().filter(|known| known.starts_with(prefix)).count() + 1;
                self.names.entry(word.to_owned()).or_insert_with(|| format!("{prefix}_{next}")).clone()
            }
            _ => word.to_owned(),
        }
    }
}

/// Forgets how long a search took.
fn untimed(text: &str) -> String {
    let Some((before, behind)) = text.split_once("\"micros\":") else { return text.to_owned() };
    format!("{before}\"micros\":SOME{}", behind.trim_start_matches(|character: char| character.is_ascii_digit()))
}

fn quoted(word: &str) -> String {
    match word.is_empty() || word.contains([' ', '"', '{', '*']) {
        true => format!("'{word}'"),
        false => word.to_owned(),
    }
}

#[test]
fn every_command_says_what_is_on_record() {
    let mut story = Story { home: Home::new(), told: BTreeSet::new(), text: String::new(), names: BTreeMap::new() };
    tell(&mut story);
    let all: BTreeSet<String> = commands(&story.home).into_iter().collect();
    // These need a terminal, a browser or a signal to end; `serve` and `behaviour` try them.
    let elsewhere = ["serve", "help"];
    let untold: Vec<&String> =
        all.difference(&story.told).filter(|command| !elsewhere.contains(&command.as_str())).collect();
    assert!(untold.is_empty(), "untested commands: {untold:?}");
    expect_file!["said.txt"].assert_eq(&story.text);
}

/// Tenants, users and keys.
fn tell_of_people(story: &mut Story) {
    story.run(&["tenant", "new", "acme"]);
    story.run(&["tenant", "suspend", "acme"]);
    story.run(&["tenant", "resume", "acme"]);
    story.run(&["tenant", "list"]);
    story.run(&["user", "add", "ada", "Ada", "--tenant", "acme"]);
    story.run(&["user", "list", "--tenant", "acme"]);
    let key = ["key", "new", "laptop", "--scope", "read", "--user", "ada", "--expires", "30d", "--tenant", "acme"];
    let word = story.unrecorded(&key);
    assert!(word.starts_with("manent_") && word.len() == 92, "{word}");
    story.unrecorded(&["key", "revoke", &word, "--tenant", "acme"]);
    let listed = story.unrecorded(&["key", "list", "--tenant", "acme"]);
    assert!(listed.contains("laptop\tread\tuser ada\trevoked\tnever"), "{listed}");
    let lines = story.unrecorded(&["audit", "--tenant", "acme", "-n", "2"]);
    assert!(lines.contains("key.revoke\toperator") && lines.contains("key.create"), "{lines}");
    story.run(&["tenant", "export", "acme"]);
    story.unrecorded(&["user", "erase", "ada", "--tenant", "acme", "--yes"]);
    story.unrecorded(&["tenant", "erase", "acme", "--yes"]);
    let checked = story.unrecorded(&["verify"]);
    assert!(checked.contains("audit log: 11 lines, 5 erased: no problems"), "{checked}");
}

/// Returns the names of all commands, as `manent --help` lists them in groups: names with commas, then a description.
fn commands(home: &Home) -> Vec<String> {
    let help = home.good(&["--help"]);
    let (listed, _) = help.split_once("Global options:").expect("a list");
    let rows = listed.lines().filter_map(|line| line.strip_prefix("  ")).filter_map(|row| row.split("  ").next());
    rows.flat_map(|names| names.split(", ")).map(str::to_owned).collect()
}

/// Returns the names of the subcommands that a command lists.
fn subcommands(help: &str) -> Vec<&str> {
    let listed = help.split("\nCommands:").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    let rows = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    rows.filter_map(|row| row.split_whitespace().next()).filter(|name| *name != "help").collect()
}

/// Documents a command and its subcommands. The global options are documented once.
fn document(home: &Home, path: &[&str], text: &mut String) {
    let help = home.good(&[path, &["--help"]].concat());
    let own = help.split("\nGlobal options:").next().unwrap_or_default();
    let level = "#".repeat(path.len() + 1);
    let _ = write!(text, "\n{level} manent {}\n\n```text\n{}\n```\n", path.join(" "), own.trim_end());
    for name in subcommands(&help) {
        document(home, &[path, &[name]].concat(), text);
    }
}

fn tell(story: &mut Story) {
    let chat = story.run(&["new", "Weather", "--tag", "sky", "--external-id", "ext-1", "--metadata", r#"{"k":1.50}"#]);
    let question = story.run(&["append", "ext-1", "北京今天天气怎么样？", "--author", "ann=Ann"]);
    let answer = story.fed(&["append", &chat, "-", "--role", "assistant", "--model", "m-1", "--tokens", "7"], "晴\n");
    story.run(&["rename", &chat, "天气"]);
    story.run(&["tag", &chat, "a", "b", "--remove", "sky"]);
    story.run(&["pin", &chat]);
    story.run(&["list"]);
    story.run(&["list", "--count", "--status", "all"]);
    story.run(&["show", &chat]);
    story.run(&["show", "@last", "--json", "-n", "1"]);
    story.run(&["unpin", &chat]);
    story.run(&["set", &chat, "--member", "ann=Ann", "--title", "a: b?"]);
    let other = story.run(&["regenerate", &chat, &answer, "多云", "--role", "assistant"]);
    story.run(&["siblings", &answer]);
    story.run(&["branches", &chat]);
    story.run(&["switch", &chat, &answer]);
    story.run(&["message", &other]);
    story.run(&["edit", &chat, &question, "上海呢？", "--keep-tail"]);
    story.run(&["undo", &chat]);
    story.run(&["redo", &chat, "--json"]);
    story.run(&["undo", "--any"]);
    let between = story.run(&["insert", &chat, &question, "between"]);
    story.run(&["remove", &chat, &between]);
    let fold = story.run(&["hide", &chat, &question]);
    story.run(&["unhide", &fold]);
    story.run(&["fold", &chat, &question, &answer, "--summary", "weather"]);
    story.run(&["rewind", &chat, &question]);
    let reply = story.run(&["fork", &chat, &question, "and then?", "--reply-to", &question]);
    story.run(&["thread", &reply]);
    let forked = story.run(&["fork", &chat, &question, "--new", "Fork"]);
    story.run(&["draft", &chat, "half a", "--actor", "ann"]);
    story.run(&["draft", &chat, "--actor", "ann"]);
    let note = story.run(&["note", "add", &answer, "rating", "5"]);
    story.run(&["note", "rm", &note]);
    story.run(&["bookmark", "set", &chat, "here"]);
    story.run(&["bookmark", "rm", &chat, "here"]);
    story.run(&["state", "set", &chat, "mood", r#"{"n":1e2}"#]);
    story.run(&["state", "get", &chat, "mood"]);
    let called = story.run(&[
        "append",
        &chat,
        "--role",
        "assistant",
        "--parts",
        r#"[{"type":"tool_call","id":"c1","name":"w","input":{}}]"#,
    ]);
    let call =
        format!(r#"{{"message":"{called}","part":0,"call_id":"c1","name":"w","state":"PENDING","record":{{}}}}"#);
    story.run(&["run", "tool", "put", &call, "--note", "asked"]);
    story.run(&["run", "tool", "move", &called, "0", "APPROVED"]);
    story.run(&["run", "tool", "list"]);
    story.run(&["run", "event", "log", &chat, "progress", r#"{"step":1}"#]);
    story.run(&["run", "event", "list", &chat]);
    let input = story.run(&["run", "input", "put", &chat, "\"go on\""]);
    story.run(&["run", "input", "take", &chat, &input]);
    story.run(&["run", "lease", "take", &chat, "me"]);
    story.run(&["run", "lease", "renew", &chat, "1"]);
    story.run(&["run", "lease", "release", &chat, "1"]);
    story.run(&["run", "call", &chat, "--model", "m-1", "--tokens-in", "3"]);
    story.run(&["show", &chat, "--annotations"]);
    story.fed(&["append", &chat, "--stream", "--role", "assistant"], "Once upon");
    story.run(&["append", &chat, "lost", "--failed"]);
    story.fed(
        &["append", &chat, "--lines"],
        "{\"role\":\"user\",\"text\":\"one\"}\n{\"role\":\"user\",\"text\":\"two\"}\n",
    );

    let project = story.run(&["project", "new", "Home", "--instructions", "Be kind."]);
    story.run(&["project", "edit", &project, "--fact", "city=北京"]);
    story.run(&["project", "list"]);
    story.run(&["project", "show", &project]);
    story.run(&["set", &chat, "--project", &project]);
    story.run(&["project", "rm", &project]);
    story.run(&["library", "document", "put", "character", "ann", r#"{"name":"Ann"}"#]);
    story.run(&["library", "document", "get", "character", "ann"]);
    story.run(&["library", "document", "list", "character"]);
    story.run(&["library", "document", "rm", "character", "ann"]);
    story.run(&["library", "document", "versions", "character", "ann"]);
    let memory = story.run(&["library", "memory", "put", "facts", "She likes tea."]);
    story.run(&["library", "memory", "list", "facts"]);
    story.run(&["library", "memory", "rm", &memory]);
    let blob = story.fed(&["library", "blob", "put", "-"], "some bytes");
    story.run(&["library", "blob", "get", &blob]);
    story.run(&["library", "source", "list"]);

    story.run(&["archive", &forked]);
    story.run(&["restore", &forked]);
    story.run(&["clear", &forked]);
    story.run(&["rm", &forked]);
    story.run(&["purge", &forked, "--yes"]);
    let timed = story.run(&["new", "Timed"]);
    story.run(&["append", &timed, "How long?", "--time", "2026-01-01T08:00:00Z"]);
    story.run(&["append", &timed, "五秒", "--role", "assistant", "--model", "m-1", "--time", "2026-01-01T08:00:05Z"]);
    story.run(&["stats", &timed]);
    story.run(&["stats", "--tag", "unused", "--since", "2026-11-01", "--until", "2026-11-02"]);
    story.run(&["tail", "-n", "3"]);
    story.run(&["search", "五秒"]);
    story.run(&["search", "in:title", "天气", "OR", "timed"]);
    story.run(&["search", "上海", "--branches", "--order", "relevance", "--in", &chat]);
    story.run(&["search", "--count", "one OR two", "-n", "1"]);
    story.run(&["search", "nothing-like-it"]);
    story.run(&["reindex"]);
    story.run(&["search", "long", "--group", "--json"]);
    story.run(&["show", "--around", &question, "-n", "4"]);
    story.run(&["export", &chat, "--output", "out.jsonl"]);
    story.run(&["import", "out.jsonl", "--json"]);
    let sessions = r#"{"sessions":[{"session_id":"s1","name":"检索","status":0,"create_at":"2024-01-01T00:00:00.000Z"}],
        "entries":[{"entry_id":"e1","session_id":"s1","message":"什么是 RAG？","role":"user","create_at":"2024-01-01T00:00:00.000Z"},
        {"entry_id":"e2","session_id":"s1","message":"检索增强生成。","role":"assistant","mood":7}],"compacted_dialogues":[]}"#;
    std::fs::write(story.home.path().join("veloca-storage.json"), sessions).expect("a file");
    story.run(&["import", "veloca-storage.json", "--explain"]);
    story.run(&["import", "veloca-storage.json"]);
    story.run(&["import", "veloca-storage.json", "--json"]);
    // The words stand in a message, the title has others.
    story.run(&["export", "--query", "增强 role:assistant", "--format", "obsidian-rag", "--output", "vault"]);
    story.run(&["convert", "vault", "again.json", "--format", "veloca", "--generation", "3"]);
    story.run(&["export", &timed, "--format", "markdown", "--redact", "--output", "notes"]);
    story.run(&["export", &timed, "--redact", "--output", "clean.jsonl"]);
    story.run(&["schema", "conversation-tables"]);
    story.run(&["schema", "conversation-tables", "--dialect", "postgres", "--project", "--json"]);
    story.run(&["convert", "vault", "tables.sqlite", "--format", "conversation-tables"]);
    story.unrecorded(&["import", "tables.sqlite", "--explain"]);
    story.run(&["backup", "copy.db", "--json"]);
    story.run(&["restore-backup", "copy.db", "restored.db"]);
    story.run(&["erase", "--message", &answer, "--yes"]);
    story.run(&["verify"]);
    tell_of_people(story);
    story.unrecorded(&["doctor"]);
    story.unrecorded(&["config"]);
    story.unrecorded(&["token"]);
    story.unrecorded(&["completion", "bash"]);
    story.run(&["man", "man"]);
}

#[test]
fn the_commands_are_documented() {
    let home = Home::new();
    let mut text = String::from("# Commands\n\nWhat `manent --help` says, for every command.\n\n```text\n");
    text.push_str(&home.good(&["--help"]));
    text.push_str("\n```\n");
    for command in commands(&home).iter().filter(|command| *command != "help") {
        document(&home, &[command], &mut text);
    }
    expect_file!["../../../../docs/cli.md"].assert_eq(&text);
}

/// What commands reach by another name.
const BY_ANOTHER_NAME: [(&str, &str); 26] = [
    ("annotations_page", "`manent show --annotations` reads all pages"),
    ("related", "`manent siblings` and `manent thread` read all pages"),
    ("set_project", "`manent set --project`"),
    ("set_members", "`manent set --member`"),
    ("set_metadata", "`manent set --metadata`"),
    ("last", "`manent show` pages backward from the end"),
    ("conversation_by_external_id", "an external id names a conversation in every command"),
    ("import_tree", "`manent import` reads every store of a path"),
    ("backup_if_due", "`manent serve` takes scheduled backups"),
    ("backup_on_demand", "`manent backup` writes where it is told"),
    ("backup_system_if_due", "`manent serve` takes scheduled backups"),
    ("restore_system", "`manent restore-backup` sees what it is given"),
    ("begin", "`manent serve` finishes what a crash left"),
    ("idempotent", "a key protects a request over a network; a command that was killed is run again by hand"),
    ("send", "commits are sent by every command"),
    ("receipt", "`manent tenant erase` prints it"),
    ("user", "`manent user list` shows them"),
    ("tenants_in_use", "`manent serve` backs them up"),
    ("put_blob_from", "`manent blob put`"),
    ("next_piece", "`manent blob get`"),
    ("refresh", "every command reads who may come in when it begins"),
    ("follow", "`manent serve` does while it runs"),
    ("erase", "`manent erase` also tells what is kept"),
    ("end_idle_streams", "`manent serve` does while it runs"),
    ("granted", "the user of the command line has access to the files"),
    ("ended", "`manent serve` ends responses of callers that lost their access"),
];

#[test]
fn every_operation_of_the_library_has_a_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = sources(&root.join("src"));
    let known: BTreeSet<String> = sources(&root.join("../manent/src"))
        .lines()
        .filter_map(|line| line.strip_prefix("    pub async fn "))
        .map(|line| line.split(['(', '<']).next().unwrap_or_default().to_owned())
        .collect();
    assert!(known.len() > 60, "found only {known:?}");
    let called = |name: &String| {
        ["database.", "Database::", "tenants."].iter().any(|before| own.contains(&format!("{before}{name}(")))
    };
    let excepted = |name: &String| {
        BY_ANOTHER_NAME.iter().any(|(other, _)| other == name) || ["change", "commit"].contains(&name.as_str())
    };
    let missing: Vec<&String> = known.iter().filter(|name| !called(name) && !excepted(name)).collect();
    assert!(missing.is_empty(), "no command does these: {missing:?}");
}

fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path().is_dir() {
            true => text.push_str(&sources(&entry.path())),
            false => text.push_str(&std::fs::read_to_string(entry.path()).expect("text")),
        }
    }
    text
}
