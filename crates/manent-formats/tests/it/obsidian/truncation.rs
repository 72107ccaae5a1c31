//! A file that ends anywhere gives every record before its end, and the rest is told.

use super::*;

/// Where the messages of a vault end in their files, found without our reader: by parsing ever longer pieces.
fn ends(text: &[u8]) -> Vec<usize> {
    let text = String::from_utf8_lossy(text);
    let mut ends = Vec::new();
    for (at, _) in text.match_indices("\"role\"") {
        let start = text[..at].rfind('{').expect("an object begins before its member");
        let whole = text[start..].match_indices('}').map(|(end, _)| start + end + 1);
        ends.extend(
            whole.into_iter().find(|end| serde_json::from_str::<serde_json::Value>(&text[start..*end]).is_ok()),
        );
    }
    ends
}

fn check(tree: &dyn SourceTree) {
    let whole = files(tree);
    for (name, bytes) in whole.iter().filter(|(name, bytes)| name.contains(".json") && bytes.len() <= 16 << 10) {
        let ends = if name.contains("sessions/") || name.contains("trash/") { ends(bytes) } else { Vec::new() };
        let others = read(tree).iter().filter(|item| matches!(item, Item::Message(_))).count() - ends.len();
        for cut in 0..bytes.len() {
            let mut files = whole.clone();
            files.insert(name.clone(), bytes[..cut].to_vec());
            let mut items = Vec::new();
            if obsidian::read(&MemoryTree::new("cut", files), &mut items).is_err() {
                continue;
            }
            let place = format!("{name} at {cut}");
            assert_accounted(&items, &place);
            let messages = items.iter().filter(|item| matches!(item, Item::Message(_))).count();
            let least = ends.iter().filter(|end| **end <= cut).count();
            assert!(messages >= least + others, "{place}: {messages} of {}", least + others);
            write(&mut Shelf::of(&items), None);
        }
    }
}

#[test]
fn every_message_before_the_cut_is_handed_on() {
    [several(), trash_index(), windows(), migrated()].iter().for_each(|tree| check(tree));
    if let Some(path) = fixtures("obsidian-rag/migrated") {
        check(&folder(&path));
    }
}

#[test]
fn a_legacy_file_gives_every_message_before_the_cut() {
    for cut in 0..LEGACY.len() {
        let items = read(&memory(&[("chat_history.json", LEGACY.get(..cut).unwrap_or_default())]));
        assert_accounted(&items, &cut);
        let messages = items.iter().filter(|item| matches!(item, Item::Message(_))).count();
        let least = ends(LEGACY.as_bytes()).iter().filter(|end| **end <= cut).count();
        assert!(messages >= least || !LEGACY.is_char_boundary(cut), "{cut}");
    }
}
