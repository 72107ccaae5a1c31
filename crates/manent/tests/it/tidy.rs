//! Rules that a test can read: layers, where SQL is allowed, how long a file may be, what must be documented.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is two folders up")
}

/// Returns the files below a folder with an ending, with their texts.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the project") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root()).expect("below the root").display().to_string();
            if path.is_dir() && !name.ends_with("target") && !name.ends_with("src/bin") {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push((name, std::fs::read_to_string(&path).expect("UTF-8")));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no {ending} below {folder}");
    found
}

fn check(offenders: Vec<String>, rule: &str) {
    assert!(offenders.is_empty(), "{rule}:\n  {}", offenders.join("\n  "));
}

/// The crates by layer, the lowest first. A crate may depend on every layer below its own, except where a layer hides
/// those below it; crates of one layer are independent of each other.
const LAYERS: [(&[&str], Hides); 6] = [
    (&["manent-model"], Hides::Nothing),
    (&["manent-text"], Hides::Nothing),
    (&["manent-store", "manent-formats"], Hides::Nothing),
    // Programs use the library, never a crate below it.
    (&["manent"], Hides::LayersBelow),
    (&["manent-server"], Hides::Nothing),
    (&["manent-cli"], Hides::Nothing),
];

/// Crates of tests and measurements: they may use the library and each other, and no product crate depends on them
/// outside its tests.
const TOOLS: [&str; 2] = ["manent-testing", "manent-bench"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hides {
    Nothing,
    LayersBelow,
}

fn layer_of(krate: &str) -> Option<usize> {
    LAYERS.iter().position(|(crates, _)| crates.contains(&krate))
}

fn may_depend(krate: &str, other: &str) -> bool {
    let library = LAYERS.iter().rposition(|(_, hides)| *hides == Hides::LayersBelow).expect("the library");
    match (layer_of(krate), layer_of(other)) {
        (Some(own), Some(other)) => other < own && (own <= library || other >= library),
        (None, Some(other)) => other == library,
        (own, None) => own.is_none() && TOOLS.contains(&other),
    }
}

#[test]
fn crates_depend_only_on_lower_layers() {
    let mut offenders = Vec::new();
    for (name, manifest) in files("crates", "Cargo.toml") {
        let krate = name.trim_start_matches("crates/").trim_end_matches("/Cargo.toml");
        let is_known = layer_of(krate).is_some() || TOOLS.contains(&krate);
        assert!(is_known, "{krate} has no layer: add it to ARCHITECTURE.md and here");
        let section = manifest.split("\n[").find(|part| part.starts_with("dependencies]")).unwrap_or("");
        for line in section.lines().filter(|line| line.starts_with("manent")) {
            let other = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if !may_depend(krate, other) {
                offenders.push(format!("{krate} -> {other}"));
            }
        }
    }
    check(offenders, "a crate depends on a layer that it must not know");
}

/// What the modules of a crate must not use: folder of the module, paths.
const MODULE_LAYERS: [(&str, &[&str]); 8] = [
    (
        "crates/manent-store/src/api",
        &["crate::engine", "crate::authz", "crate::sqlite", "crate::postgres", "crate::system"],
    ),
    ("crates/manent-store/src/runtime", &["crate::authz", "crate::sqlite", "crate::postgres", "crate::system"]),
    ("crates/manent-store/src/engine", &["crate::authz", "crate::system"]),
    ("crates/manent-store/src/engine/sql", &["engine::commit", "engine::apply", "engine::read", "engine::search"]),
    ("crates/manent-formats/src/core", &["crate::apps", "crate::render"]),
    ("crates/manent/src/database", &["crate::tenants", "crate::transfer::import", "crate::transfer::export"]),
    ("crates/manent-server/src/limits", &["crate::wire", "crate::http", "crate::middleware"]),
    ("crates/manent-server/src/wire", &["crate::http::router", "crate::serve"]),
];

#[test]
fn modules_use_only_lower_layers() {
    let mut offenders = Vec::new();
    for (folder, hidden) in MODULE_LAYERS {
        for (name, text) in files(folder, ".rs") {
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            offenders.extend(hidden.iter().filter(|path| code.contains(*path)).map(|path| format!("{name}: {path}")));
        }
    }
    check(offenders, "a module uses a layer above its own");
}

#[test]
fn documents_name_files_that_exist() {
    let text = ["ARCHITECTURE.md", "CONTRIBUTING.md"]
        .map(|file| std::fs::read_to_string(root().join(file)).expect("UTF-8"))
        .join("\n");
    let named = text.split('`').skip(1).step_by(2).filter(|name| {
        let is_path = name.contains('/') && !name.contains([' ', '<', '{']);
        is_path && (name.starts_with("manent") || name.starts_with("web/"))
    });
    let (mut offenders, mut count) = (Vec::new(), 0);
    for name in named {
        count += 1;
        let path = if name.starts_with("manent") { root().join("crates").join(name) } else { root().join(name) };
        if !path.exists() {
            offenders.push(name.to_owned());
        }
    }
    assert!(count > 30, "only {count} paths were found");
    check(offenders, "a document names files that do not exist");
}

/// Modules that may contain SQL.
const ENGINES: [&str; 4] = [
    "crates/manent-store/src/engine",
    "crates/manent-store/src/system",
    "crates/manent-store/src/sqlite",
    "crates/manent-store/src/postgres",
];

#[test]
fn sql_stands_only_in_the_engines() {
    // Files of other programs are SQLite's too: this is where they are opened and made, and their names are quoted.
    let may = ENGINES.into_iter().chain(["crates/manent-formats/src/core/sqlite"]);
    let may: Vec<&str> = may.collect();
    let words = ["\"select ", "\"insert into", "\"update ", "\"delete from", "\"create table", "\"pragma "];
    let mut offenders = Vec::new();
    let folders = [
        "crates/manent-model/src",
        "crates/manent-text/src",
        "crates/manent-formats/src",
        "crates/manent-store/src",
        "crates/manent/src",
    ];
    for folder in folders {
        for (name, text) in files(folder, ".rs") {
            if !may.iter().any(|engine| name.starts_with(engine)) && words.iter().any(|word| text.contains(word)) {
                offenders.push(name);
            }
        }
    }
    check(offenders, "SQL outside the engines");
}

#[test]
fn sql_is_never_put_together_from_values() {
    let mut offenders = Vec::new();
    for (name, text) in ENGINES.iter().flat_map(|engine| files(engine, ".rs")) {
        for (number, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            let sql = ["select ", "insert into", "update ", "delete from"].iter().any(|word| lower.contains(word));
            if sql && line.contains("format!") {
                offenders.push(format!("{name}:{}", number + 1));
            }
        }
    }
    check(offenders, "SQL is bound, not formatted");
}

#[test]
fn the_model_is_pure() {
    let words = ["std::fs", "std::net", "async fn", "SystemTime", "Instant::now", "tokio", "rusqlite"];
    let mut offenders = Vec::new();
    let pure = ["crates/manent-model/src", "crates/manent-text/src"];
    for (name, text) in pure.into_iter().flat_map(|folder| files(folder, ".rs")) {
        offenders.extend(words.iter().filter(|word| text.contains(*word)).map(|word| format!("{name}: {word}")));
    }
    check(offenders, "the model has no I/O, no clock and no async");
}

#[test]
fn files_are_about_one_noun() {
    let long = files("crates", ".rs").into_iter().filter(|(_, text)| text.lines().count() > 600);
    check(long.map(|(name, text)| format!("{name}: {} lines", text.lines().count())).collect(), "above 600 lines");
}

#[test]
fn nothing_panics_by_unwrap_outside_tests() {
    let mut offenders = Vec::new();
    for folder in ["crates/manent-model/src", "crates/manent-store/src", "crates/manent/src"] {
        for (name, text) in files(folder, ".rs") {
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
            offenders.extend(
                lines.filter(|(_, line)| line.contains(".unwrap()")).map(|(at, _)| format!("{name}:{}", at + 1)),
            );
        }
    }
    check(offenders, "say with expect why it cannot happen");
}

#[test]
fn every_kind_of_change_has_a_contract_test() {
    let source = std::fs::read_to_string(root().join("crates/manent-store/src/api/transaction.rs")).expect("readable");
    let variants = source.split("pub enum Change {").nth(1).expect("the list of changes");
    let variants = variants.split("\n}").next().expect("its end");
    let contract: String = files("crates/manent-store/tests/it", ".rs").into_iter().map(|(_, text)| text).collect();
    let mut missing = Vec::new();
    for line in variants.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     ")) {
        let name: String = line.trim().chars().take_while(|letter| letter.is_alphanumeric()).collect();
        let is_variant = name.chars().next().is_some_and(char::is_uppercase);
        if is_variant && !contract.contains(&format!("Change::{name}")) {
            missing.push(name);
        }
    }
    check(missing, "changes without a contract test");
}

#[test]
fn migrations_are_numbered_without_gaps_and_comment_their_tables() {
    for (place, (name, text)) in files("crates/manent-store/src/sqlite/migrations", ".sql").iter().enumerate() {
        let number = format!("/{:04}_", place + 1);
        assert!(name.contains(&number), "{name} should be number {}", place + 1);
        assert!(text.starts_with("--"), "{name} begins with what it is for");
    }
}

#[test]
fn both_engines_have_the_same_migrations() {
    let of = |engine: &str| {
        let folder = format!("crates/manent-store/src/{engine}/migrations");
        let named = |(name, text): (String, String)| {
            let tables = text.lines().filter_map(|line| line.strip_prefix("create table "));
            let tables: Vec<String> =
                tables.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect();
            (name.rsplit('/').next().unwrap_or_default().to_owned(), tables)
        };
        files(&folder, ".sql").into_iter().map(named).collect::<Vec<_>>()
    };
    let (mut sqlite, postgres) = (of("sqlite"), of("postgres"));
    // A file knows its last numbers by itself.
    sqlite[0].1.insert(1, "counter".to_owned());
    // Its index is a file of its own.
    for (migration, tables) in [
        ("0006_search.sql", &["search_cursor", "search_doc"][..]),
        ("0011_statistics.sql", &["stat_conversation", "stat_member", "stat_cell", "stat_total"]),
        ("0012_active_days.sql", &["stat_active"]),
    ] {
        let index = sqlite.iter_mut().find(|(name, _)| name == migration).expect("a migration");
        index.1.extend(tables.iter().map(|table| (*table).to_owned()));
    }
    assert_eq!(sqlite, postgres);
}

#[test]
fn sqlite_is_pinned_to_one_that_cannot_corrupt_a_file() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("readable");
    assert!(manifest.contains("libsqlite3-sys = \"="), "libsqlite3-sys is pinned exactly");
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).expect("readable");
    assert_eq!(lock.matches("name = \"libsqlite3-sys\"").count(), 1, "one SQLite in the program");
    let parts: Vec<u32> =
        manent::store::sqlite::version().split('.').map(|part| part.parse().expect("a number")).collect();
    assert!(parts >= vec![3, 51, 3], "{parts:?}");
}

#[test]
fn links_in_the_documents_lead_somewhere() {
    let mut broken = Vec::new();
    let mut documents = files("docs", ".md");
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        documents.push((name.to_owned(), std::fs::read_to_string(root().join(name)).expect("readable")));
    }
    for (name, text) in documents {
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let folder = root().join(&name).parent().expect("a folder").to_owned();
            if !target.contains("://") && !folder.join(target.split('#').next().unwrap_or_default()).exists() {
                broken.push(format!("{name}: {target}"));
            }
        }
    }
    check(broken, "dead links");
}

#[test]
fn sql_parameters_are_numbered_in_order_of_first_use() {
    // SQLite binds `$2` by appearance, PostgreSQL by number; only in this order do both mean the same.
    let mut offenders = Vec::new();
    for (name, text) in ENGINES.iter().flat_map(|engine| files(engine, ".rs")) {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for literal in code.split('"').skip(1).step_by(2).filter(|literal| literal.contains("$1")) {
            let mut largest = 0;
            for rest in literal.split('$').skip(1) {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                let Ok(number) = digits.parse::<u32>() else { continue };
                if number > largest + 1 {
                    offenders.push(format!("{name}: {}", literal.trim().lines().next().unwrap_or_default()));
                    break;
                }
                largest = largest.max(number);
            }
        }
    }
    check(offenders, "parameters out of order");
}
