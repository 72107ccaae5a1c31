//! Where exports go: folders, files, zips, standard output.

use crate::kit::Home;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// Two conversations with a message each.
fn two() -> Home {
    let home = Home::new();
    for title in ["first", "second"] {
        let chat = home.good(&["new", title]);
        home.good(&["append", &chat, &format!("Hello {title}")]);
    }
    home
}

fn files_below(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => names.push(path.strip_prefix(folder).expect("below").to_string_lossy().into_owned()),
            }
        }
    }
    names.sort();
    names
}

#[test]
fn export_folder_format_into_name_with_dot_writes_every_file() {
    let home = two();
    for (format, name, count) in
        [("markdown", "backup-2026.11.17", 2), ("obsidian-rag", "My Vault v1.2", 3), ("kode", "agents.d", 4)]
    {
        home.good(&["export", "-f", format, "-o", name]);
        let files = files_below(&home.path().join(name));
        assert!(files.len() >= count, "{format}: {files:?}");
        let taken_in = home.run(&["import", name, "--dry-run"]);
        assert!(format == "markdown" || taken_in.code == 0, "{taken_in:?}");
    }
}

#[test]
fn export_into_name_that_ends_in_zip_writes_a_zip() {
    let home = two();
    home.good(&["export", "-f", "obsidian-rag", "-o", "vault.zip"]);
    let bytes = std::fs::read(home.path().join("vault.zip")).expect("a file");
    assert!(bytes.starts_with(b"PK\x03\x04"), "a zip");
    let other = Home::new();
    std::fs::write(other.path().join("vault.zip"), bytes).expect("written");
    other.good(&["import", "vault.zip"]);
    assert_eq!(other.good(&["list"]).lines().count(), 2);
}

#[test]
fn export_of_several_files_into_one_file_is_an_error_and_writes_nothing() {
    let home = two();
    for (format, name) in [("obsidian-rag", "vault.json"), ("markdown", "notes.md")] {
        let said = home.run(&["export", "-f", format, "-o", name]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.err.contains(".zip"), "{said:?}");
        assert!(!home.path().join(name).exists());
    }
    let said = home.run(&["export", "-f", "obsidian-rag", "-o", "-"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
}

#[test]
fn export_files_are_readable_by_the_owner_only() {
    let home = two();
    home.good(&["export", "-f", "markdown", "-o", "notes"]);
    home.good(&["export", "-f", "html", "-o", "page.html"]);
    home.good(&["export", "-f", "obsidian-rag", "-o", "vault.zip"]);
    home.good(&["export", "-o", "all.jsonl"]);
    for name in ["notes/first.md", "notes/second.md", "page.html", "vault.zip", "all.jsonl"] {
        let metadata = std::fs::metadata(home.path().join(name)).expect(name);
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

#[test]
fn export_to_standard_output_without_path_or_with_a_dash() {
    let home = two();
    let plain = home.good(&["export", "-f", "markdown"]);
    assert!(plain.contains("Hello first") && plain.contains("Hello second"), "{plain}");
    assert_eq!(home.good(&["export", "-f", "markdown", "-o", "-"]), plain);
    assert!(home.good(&["export", "-f", "html"]).contains("Hello second"));
    assert!(home.good(&["export", "-f", "veloca", "-o", "-"]).contains("Hello second"));
    assert_eq!(home.good(&["export", "-o", "-"]), home.good(&["export"]));
    assert!(!home.path().join("-").exists());
    let said = home.run(&["export", "-f", "veloca"]);
    assert!(said.code == 1 && said.err.contains("--output"), "{said:?}");
}

#[test]
fn export_with_force_does_not_follow_symbolic_links() {
    let home = two();
    let outside = tempfile::tempdir().expect("a temporary folder");
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "keep me").expect("written");
    symlink(&secret, home.path().join("all.jsonl")).expect("linked");
    symlink(&secret, home.path().join("page.html")).expect("linked");
    symlink(&secret, home.path().join("vault.zip")).expect("linked");
    std::fs::create_dir_all(home.path().join("vault/Assets")).expect("made");
    symlink(outside.path(), home.path().join("vault/Assets/History")).expect("linked");
    for arguments in [
        ["export", "--force", "-f", "manent", "-o", "all.jsonl"],
        ["export", "--force", "-f", "html", "-o", "page.html"],
        ["export", "--force", "-f", "obsidian-rag", "-o", "vault.zip"],
        ["export", "--force", "-f", "obsidian-rag", "-o", "vault"],
    ] {
        let said = home.run(&arguments);
        assert_eq!(said.code, 1, "{arguments:?}: {said:?}");
        assert!(said.err.contains("symbolic link"), "{said:?}");
    }
    assert_eq!(files_below(outside.path()), ["secret"]);
    assert_eq!(std::fs::read_to_string(&secret).expect("there"), "keep me");
}

#[test]
fn export_over_a_file_needs_force() {
    let home = two();
    std::fs::write(home.path().join("all.jsonl"), "old").expect("written");
    let said = home.run(&["export", "-o", "all.jsonl"]);
    assert!(said.code == 1 && said.err.contains("--force"), "{said:?}");
    assert_eq!(std::fs::read_to_string(home.path().join("all.jsonl")).expect("there"), "old");
    home.good(&["export", "--force", "-o", "all.jsonl"]);
    assert!(std::fs::read_to_string(home.path().join("all.jsonl")).expect("there").contains("Hello first"));
}

#[test]
fn import_of_a_good_and_a_bad_path_reports_the_good_one() {
    let home = Home::new();
    let sessions = r#"{"sessions":[{"session_id":"s1","name":"good","status":0,"create_at":"2024-01-01T00:00:00.000Z"}],
        "entries":[{"entry_id":"e1","session_id":"s1","message":"hi","role":"assistant","create_at":"2024-01-01T00:00:00.000Z"}],
        "compacted_dialogues":[]}"#;
    std::fs::create_dir(home.path().join("good")).expect("made");
    std::fs::write(home.path().join("good/veloca-storage.json"), sessions).expect("written");
    std::fs::write(home.path().join("good/notes.md"), "milk").expect("written");
    symlink("/etc/hostname", home.path().join("good/link")).expect("linked");
    std::fs::write(home.path().join("bad.txt"), "nothing that is known").expect("written");
    let said = home.run(&["import", "bad.txt", "good"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("good") && said.err.contains("bad.txt"), "{said:?}");
    for left in ["left out notes.md", "left out link: a symbolic link"] {
        assert!(said.err.contains(left), "{said:?}");
    }
    assert_eq!(home.good(&["list"]).lines().count(), 1);
}

#[test]
fn export_into_a_foreign_format_names_damaged_messages_and_ends_with_3() {
    let home = Home::new();
    let chat = home.good(&["new", "a chat"]);
    for text in ["first words", "second words", "third words"] {
        home.good(&["append", &chat, text]);
    }
    let store = files_below(home.path()).into_iter().find(|name| name.ends_with(".db")).expect("a store");
    let store = home.path().join(store);
    let mut bytes = std::fs::read(&store).expect("a file");
    let place = bytes.windows(12).position(|window| window == b"second words").expect("the text is in the file");
    bytes[place] = b'#';
    std::fs::write(&store, bytes).expect("written");

    for format in ["veloca", "kode", "obsidian-rag", "personalab", "conversation-tables", "markdown", "html"] {
        let said = home.run(&["export", "-f", format, "-o", &format!("{format}/")]);
        assert_eq!(said.code, 3, "{format}: {said:?}");
        assert!(said.err.contains("is damaged and was left out") && said.err.contains(&chat), "{format}: {said:?}");
        let written = files_below(&home.path().join(format));
        let written: Vec<u8> = written
            .iter()
            .flat_map(|name| std::fs::read(home.path().join(format).join(name)).expect("a file"))
            .collect();
        let holds = |text: &str| written.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(holds("first words") && holds("third words") && !holds("econd words"), "{format}");
    }
}
