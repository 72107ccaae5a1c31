//! A file that ends anywhere gives every record before its end, and the rest is told.

use super::*;
use manent_formats::core::source_fs::MemoryTree;

/// Where the complete records of a file end, found without our reader: objects by the names of their members.
fn ends(text: &[u8], of: impl Fn(&[&str]) -> bool) -> Vec<usize> {
    let text = String::from_utf8_lossy(text);
    let (mut ends, mut open, mut at) = (Vec::new(), Vec::<Vec<&str>>::new(), 0);
    while at < text.len() {
        match text.as_bytes()[at] {
            b'"' => {
                let from = at + 1;
                at = from;
                while at < text.len() && text.as_bytes()[at] != b'"' {
                    at += if text.as_bytes()[at] == b'\\' { 2 } else { 1 };
                }
                let is_key = text.get(at + 1..).is_some_and(|rest| rest.trim_start().starts_with(':'));
                if let (true, Some(keys)) = (is_key, open.last_mut()) {
                    keys.push(&text[from..at]);
                }
            }
            b'{' => open.push(Vec::new()),
            b'}' => ends.extend(open.pop().filter(|keys| of(keys)).map(|_| at + 1)),
            _ => {}
        }
        at += 1;
    }
    ends
}

/// What is complete before a cut: entries, compactions and workspaces.
fn complete(bytes: &[u8]) -> [Vec<usize>; 3] {
    let has = |member: &'static str| move |keys: &[&str]| keys.contains(&member);
    [ends(bytes, has("role")), ends(bytes, has("summary")), ends(bytes, has("workspace_key"))]
}

/// What was handed on of each, or told.
fn handed(items: &[Item]) -> [usize; 3] {
    let told = |item: &Item, word: &str| matches!(item, Item::Problem(problem) if problem.record == word);
    let count = |of: &dyn Fn(&Item) -> bool| items.iter().filter(|item| of(item)).count();
    [
        count(&|item| matches!(item, Item::Message(_))),
        count(&|item| matches!(item, Item::Fold(_)) || told(item, "compaction")),
        count(&|item| matches!(item, Item::Project(_)) || told(item, "workspace")),
    ]
}

fn check(tree: &dyn SourceTree) {
    let whole = files(tree);
    let all = handed(&read(tree));
    for (name, bytes) in &whole {
        let mut random = fastrand::Rng::with_seed(7);
        let cuts: Vec<usize> = match bytes.len() {
            0..=16_384 => (0..bytes.len()).collect(),
            length => (0..500).map(|_| random.usize(..length)).collect(),
        };
        let complete = complete(bytes);
        let end = bytes.trim_ascii_end().len();
        for cut in cuts {
            let place = format!("{name} at {cut}");
            let mut files = whole.clone();
            files.insert(name.clone(), bytes[..cut].to_vec());
            let least: [usize; 3] = std::array::from_fn(|kind| {
                let before = complete[kind].iter().filter(|end| **end <= cut).count();
                // What stands in the other file is handed on whole, unless it needs the sessions of this one.
                let is_elsewhere = complete[kind].is_empty() && name.contains("workspaces");
                if is_elsewhere { all[kind] } else { before }
            });
            let mut items = Vec::new();
            if veloca::read(&MemoryTree::new("cut", files), &mut items).is_err() {
                assert_eq!(least[0] + least[1], 0, "{place}: refused");
                continue;
            }
            assert_accounted(&items, &place);
            let handed = handed(&items);
            for kind in 0..3 {
                assert!(handed[kind] >= least[kind], "{place}: {handed:?} of {least:?}\n{}", report(&items));
            }
            let is_told = items.iter().any(|item| matches!(item, Item::Problem(problem) if problem.record == "file"));
            assert!(is_told || cut >= end, "{place}: the end is not told");
            again(&items, &place);
        }
    }
}

/// What was read of a file that is cut off is written, and nothing of it is lost on that way.
fn again(items: &[Item], place: &str) {
    let Some(Item::Root(root)) = items.first() else { panic!("{place}: no root") };
    let mut shelf = Shelf::of(items);
    let written = write(&mut shelf, None).0;
    accepts::readable(&written, &root.generation);
    // An empty file under another name could be anybody's.
    if shelf.conversations.is_empty() {
        return;
    }
    let items = read(&MemoryTree::new("again", written));
    assert_eq!(told(&Shelf::of(&items)), told(&shelf), "{place}");
}

#[test]
fn every_record_before_the_cut_is_handed_on() {
    samples::all().iter().chain([&samples::mixed()]).for_each(|tree| check(tree));
    let fixed =
        ["real-da1f742-veloca-storage.json", "schema-veloca-storage.json", "ts-head-written", "rust-0.5.0-written"];
    for fixture in fixed {
        if let Some(path) = fixtures(&format!("veloca/{fixture}")) {
            check(&folder(&path));
        }
    }
}
