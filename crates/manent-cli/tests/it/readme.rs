//! What the README tells people to type, typed.

use crate::kit::Home;
use crate::serve::Served;
use std::path::Path;
use std::process::{Command, Output};

const FILES: [&str; 2] = ["README.md", "README.zh-CN.md"];
const HINT: &str = "paste what the command says now";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Returns the blocks of one language, each as its lines.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.strip_prefix("```") == Some(language) {
            found.push(lines.by_ref().take_while(|line| *line != "```").collect());
        } else if line.starts_with("```") {
            lines.by_ref().find(|line| *line == "```");
        }
    }
    found
}

/// Runs a script as a person at a shell would, in a home of its own.
fn bash(home: &Home, script: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_manent"));
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", program.parent().expect("a folder").display());
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", script]).current_dir(home.path());
    bash.env_clear().env("PATH", path).env("MANENT_HOME", home.path()).env("TZ", "UTC");
    bash.output().expect("bash runs")
}

/// Hides what differs from run to run: ids, times and how many rows the journal has.
fn hidden(text: &str) -> String {
    let word = |word: &str| match word {
        id if id.starts_with("conv_") || id.starts_with("msg_") => id[..5].to_owned(),
        time if time.starts_with("20") && time.ends_with('Z') => "time".to_owned(),
        other => other.to_owned(),
    };
    let line = |line: &str| line.split('\t').map(word).collect::<Vec<_>>().join("\t");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_terminal_at_the_top_shows_what_is_really_said() {
    for file in FILES {
        let text = read(file);
        let sessions = blocks(&text, "console");
        assert_eq!(sessions.len(), 1, "{file} begins with one terminal");
        let session = &sessions[0];
        let mark = "the next command";
        let script: String = session
            .iter()
            .filter_map(|line| line.strip_prefix("$ "))
            .map(|command| format!("echo '{mark}'\n{command}\n"))
            .collect();
        let output = bash(&Home::new(), &script);
        assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
        let said = hidden(&String::from_utf8_lossy(&output.stdout));
        let shown: Vec<&str> = session.iter().map(|line| if line.starts_with("$ ") { mark } else { line }).collect();
        assert_eq!(said, hidden(&shown.join("\n")), "{file}: {HINT}:\n{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn every_command_works_beside_a_running_server() {
    for file in FILES {
        let home = Home::new();
        let served = Served::start(&home);
        let text = read(file).replace("127.0.0.1:7317", &served.address.to_string());
        let commands: Vec<&str> = blocks(&text, "sh").concat();
        let is_make = |line: &&&str| line.starts_with("make ");
        let script: Vec<&str> = commands.iter().filter(|line| !is_make(line)).copied().collect();
        assert!(script.len() > 10, "{file} has commands");
        let output = bash(&home, &script.join("\n"));
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && err.is_empty(), "{file}: {}\n{out}\n{err}", output.status);
        // curl is content with any answer.
        assert!(!out.contains("\"code\""), "{file}: {out}");
        assert!(out.contains("你好"), "{file}: what was sent comes back: {out}");
        served.kill();
    }
}

#[test]
fn the_examples_of_the_api_work() {
    let home = Home::new();
    let served = Served::start(&home);
    let text = read("docs/http-api.md").replace("127.0.0.1:7317", &served.address.to_string());
    let output = bash(&home, &blocks(&text, "sh").concat().join("\n"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && err.is_empty(), "{}\n{out}\n{err}", output.status);
    assert!(!out.contains("\"code\""), "{out}");
    assert!(out.contains("晴") && out.contains("Weather") && out.contains("messages_appended"), "{out}");
    assert_eq!(out.matches("\"highlights\":[[").count(), 2, "a hit, and the second one of two: {out}");
    for said in ["Nearly three kilometres.", "the highest in Germany", "A mountain."] {
        assert!(out.contains(said), "{said}: {out}");
    }
    served.kill();
}

#[test]
fn every_query_in_the_documents_can_be_asked() {
    let home = Home::new();
    home.good(&["new", "first"]);
    let text = read("docs/search.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next().map(str::to_owned));
    let queries: Vec<String> = rows
        .flat_map(|cell| cell.split('`').step_by(2).map(|query| query.replace("\\|", "|")).collect::<Vec<_>>())
        .filter(|query| !query.trim().is_empty())
        .collect();
    assert!(queries.len() > 15, "{queries:?}");
    for query in &queries {
        home.good(&["search", "--", query]);
    }
}

#[test]
fn every_make_command_is_one_of_the_makefile() {
    let makefile = read("Makefile");
    for file in FILES {
        let text = read(file);
        let commands: Vec<&str> = blocks(&text, "sh").concat();
        let targets: Vec<&str> = commands.iter().filter_map(|line| line.strip_prefix("make ")).collect();
        assert_eq!(targets.len(), 2, "{file}: two commands do everything");
        for target in targets {
            let name = target.split_whitespace().next().expect("a name");
            assert!(
                makefile.lines().any(|line| line.starts_with(&format!("{name}:")) && line.contains("##")),
                "{name}"
            );
        }
    }
}

#[test]
fn the_rust_is_the_example_that_the_library_runs() {
    let library = read("crates/manent/src/lib.rs");
    let example: Vec<&str> = library.lines().filter_map(|line| line.strip_prefix("//! ")).collect();
    for file in FILES {
        let text = read(file);
        let code = blocks(&text, "rust").concat();
        assert!(!code.is_empty(), "{file} has an example");
        // A comment may be in the language of the page.
        for line in code.into_iter().filter(|line| !line.is_empty() && !line.starts_with("//")) {
            assert!(example.contains(&line), "{file}: the library's example does not have: {line}");
        }
    }
}

#[test]
fn both_languages_link_to_the_same_documents() {
    let links = |text: &str| {
        let parts = text.split("](").skip(1).filter_map(|rest| rest.split(')').next().map(str::to_owned));
        let mut links: Vec<String> =
            parts.filter(|link| !link.starts_with("README") && !link.contains("page-")).collect();
        links.sort();
        links
    };
    assert_eq!(links(&read(FILES[0])), links(&read(FILES[1])));
}

#[test]
fn what_is_said_of_keys_users_and_tenants_can_be_typed() {
    let text = read("docs/tenants.md");
    let script: Vec<String> = blocks(&text, "sh").into_iter().map(|block| block.join("\n")).collect();
    assert!(script.len() >= 4, "the document shows commands");
    let output = bash(&Home::new(), &script.join("\n"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("tenant.erased") && said.contains("no problems"), "{said}");
}
