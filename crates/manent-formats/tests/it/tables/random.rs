//! Any conversations, written and read, say the same.

use super::*;
use fastrand::Rng;
use manent_model::*;

fn any_time(rng: &mut Rng) -> Time {
    Time::exact(1_700_000_000_000_000 + rng.i64(0..1_000_000) * 1_000_003)
}

fn shelf(rng: &mut Rng) -> Shelf {
    let mut shelf = Shelf::default();
    for place in 0..rng.usize(1..5) {
        let title = odd_text(rng);
        let out = shelf.begin(&title, any_time(rng).at);
        out.conversation.status =
            [ConversationStatus::Active, ConversationStatus::Archived, ConversationStatus::Trashed][rng.usize(..3)];
        let mut time = any_time(rng);
        for _ in 0..rng.usize(..8) {
            let text = odd_text(rng);
            let role = ["user", "assistant", "system", "角色"][rng.usize(..4)];
            let message = shelf.say(place, role, &[Part::text(text)]);
            time.at.0 += rng.i64(0..3) * 500_000;
            message.content.time = time;
            if rng.bool() {
                message.content.metadata = Json::parse(r#"{"k" : 1.50,"\u006b":[]}"#).ok();
            }
        }
    }
    shelf
}

/// What is said, without where it stands.
fn essence(shelf: &Shelf) -> Vec<String> {
    let mut lines = Vec::new();
    for (out, messages, _) in &shelf.conversations {
        let it = &out.conversation;
        lines.push(format!("{:?} {:?} {}", it.title, it.status, it.created_at));
        lines.extend(messages.iter().map(|message| format!("{:?}", message.content)));
    }
    lines
}

#[test]
fn any_conversation_that_is_written_and_read_is_the_same() {
    for seed in 0..50 {
        let mut rng = Rng::with_seed(seed);
        let mut shelf = shelf(&mut rng);
        let generation = tables::GENERATIONS[rng.usize(..2)];
        let (written, losses) = write(&mut shelf, Some(generation));
        assert_eq!(losses, [], "seed {seed}");
        accepts::enforced(&written);
        let items = read(&tree("chat.sqlite", &written));
        assert_accounted(&items, &seed);
        let mut again = Shelf::of(&items);
        assert_eq!(essence(&again), essence(&shelf), "seed {seed}");
        let (same, losses) = write(&mut again, None);
        assert_eq!((difference(&written, &same).as_str(), losses), ("", Vec::new()), "seed {seed}");
    }
}

/// A tree of rows, as the plugin would have written it.
fn rows(rng: &mut Rng) -> String {
    let mut sql = String::from(
        "insert into conversation (conv_id, sequence, created_at) values ('t', 'tree', '2026-01-01 00:00:00');",
    );
    let count = rng.usize(1..12);
    for row in 0..count {
        let parent = match rng.usize(..10) {
            0 => "null".to_owned(),
            1 => "'nobody'".to_owned(),
            _ => format!("'m{}'", rng.usize(..count)),
        };
        let role = ["user", "bot"][rng.usize(..2)];
        sql += &format!(
            "insert into message values ('m{row}', {parent}, '2026-01-01 00:00:{row:02}', 't', '{role}', 'text {row}', null);"
        );
    }
    sql
}

#[test]
fn any_tree_comes_back_and_can_be_changed() {
    for seed in 0..50 {
        let mut rng = Rng::with_seed(seed);
        let bytes = crate::sqlite::file(&format!("{}{}", design(), rows(&mut rng)));
        let items = read(&tree("chat.sqlite", &bytes));
        assert_accounted(&items, &seed);
        let mut shelf = Shelf::of(&items);
        let (written, losses) = write(&mut shelf, None);
        assert_eq!((difference(&bytes, &written).as_str(), losses), ("", Vec::new()), "seed {seed}");
        let shown = changes::path(&mut shelf, 0);
        let role = if shown.last().is_some_and(|(role, _)| role == "user") { "assistant" } else { "user" };
        shelf.append(0, Content::new(role, Time::exact(1_800_000_000_000_000), Body::of(&[Part::text("new")])));
        let (written, losses) = write(&mut shelf, None);
        assert_eq!(losses, [], "seed {seed}");
        let mut again = Shelf::of(&read(&tree("chat.sqlite", &written)));
        assert_eq!(changes::path(&mut again, 0), changes::path(&mut shelf, 0), "seed {seed}");
        assert_eq!(
            difference(&bytes, &written).lines().filter(|line| line.starts_with("- ")).count(),
            0,
            "seed {seed}"
        );
    }
}

#[test]
fn anything_may_be_taken_out_of_any_tree_or_line() {
    let mut told = 0;
    for seed in 0..100 {
        let mut rng = Rng::with_seed(seed);
        let sequence = if rng.bool() { "'tree'" } else { "'sequential'" };
        let bytes = crate::sqlite::file(&format!("{}{}", design(), rows(&mut rng).replace("'tree'", sequence)));
        let mut shelf = Shelf::of(&read(&tree("chat.sqlite", &bytes)));
        for _ in 0..rng.usize(1..4) {
            let message = rng.usize(..shelf.conversations[0].1.len());
            shelf.remove(0, message);
        }
        let (written, losses) = write(&mut shelf, None);
        accepts::file(&written);
        let left = "select count(*) from message
            where parent_message_id <> 'nobody' and parent_message_id not in (select message_id from message)";
        let broken: i64 = crate::sqlite::open(&written).query_row(left, [], |row| row.get(0)).expect("a count");
        assert_eq!(broken, 0, "seed {seed}: rows that hang on what is gone");
        let mut again = Shelf::of(&read(&tree("chat.sqlite", &written)));
        let is_same = changes::path(&mut again, 0) == changes::path(&mut shelf, 0);
        assert_eq!(is_same, losses.is_empty(), "seed {seed}: {losses:?}");
        told += usize::from(!is_same);
    }
    assert!(told < 50, "{told}");
}
