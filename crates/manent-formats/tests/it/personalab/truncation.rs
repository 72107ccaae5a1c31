//! A file that ends anywhere gives every record before its end, and the rest is told.

use super::*;
use manent_formats::core::source_fs::MemoryTree;

/// Where lines that say something end, found without our reader.
fn ends(bytes: &[u8]) -> Vec<usize> {
    let (mut ends, mut from) = (Vec::new(), 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_start_matches('\u{feff}').trim_end();
        let value: serde_json::Value = serde_json::from_str(&text.replace("\\ud83d", "?")).unwrap_or_default();
        let is_said = value.get("type").is_none() && value["role"].is_string() || value["type"] == "summary";
        if is_said {
            ends.push(from + line.len() - (line.len() - String::from_utf8_lossy(line).trim_end().len()));
        }
        from += line.len();
    }
    ends
}

fn check(tree: &dyn SourceTree) {
    let whole = files(tree);
    let messages = |items: &[Item]| items.iter().filter(|item| matches!(item, Item::Message(_))).count();
    let all = messages(&read(tree));
    for (name, bytes) in whole.iter().filter(|(name, bytes)| name.contains(".json") && bytes.len() <= 16 << 10) {
        let ends = if name.ends_with(".jsonl") { ends(bytes) } else { Vec::new() };
        for cut in 0..bytes.len() {
            let mut files = whole.clone();
            files.insert(name.clone(), bytes[..cut].to_vec());
            let mut items = Vec::new();
            if personalab::read(&MemoryTree::new("cut", files), &mut items).is_err() {
                continue;
            }
            let place = format!("{name} at {cut}");
            assert_accounted(&items, &place);
            let least = all - ends.len() + ends.iter().filter(|end| **end <= cut).count();
            assert!(messages(&items) >= least, "{place}: {} of {least}", messages(&items));
            let (written, _) = write(&mut Shelf::of(&items), None);
            accepts::folder(&written);
        }
    }
}

#[test]
fn every_line_before_the_cut_is_handed_on() {
    [instances(), odd(), odd_conversations(), documents(), oldest()].iter().for_each(|tree| check(tree));
    for fixture in ["personalab/v1-instance-layout", "personalab/v2-conversation-layout"] {
        if let Some(path) = fixtures(fixture) {
            check(&folder(&path));
        }
    }
}
