//! Any conversation, written and read: the same conversation, in every generation and on the way from each to each.

use super::*;
use fastrand::Rng;
use manent_formats::core::source_fs::MemoryTree;
use manent_model::*;

/// What the programs of a generation hold.
#[derive(Clone, Copy)]
struct Holds {
    thoughts: bool,
    metadata: bool,
    micros: bool,
}

fn holds(generation: &str) -> Holds {
    let is_rust = generation == "4";
    Holds { thoughts: matches!(generation, "2" | "3"), metadata: is_rust, micros: is_rust }
}

fn both(one: Holds, other: Holds) -> Holds {
    Holds {
        thoughts: one.thoughts && other.thoughts,
        metadata: one.metadata && other.metadata,
        micros: one.micros && other.micros,
    }
}

fn json(rng: &mut Rng, depth: usize) -> Json {
    let text = match rng.usize(..if depth == 0 { 4 } else { 6 }) {
        0 => "1.50".to_owned(),
        1 => "null".to_owned(),
        2 => Json::of(&odd_text(rng)).text().to_owned(),
        3 => "-0e5".to_owned(),
        4 => format!("[{}]", json(rng, depth - 1).text()),
        _ => format!("{{\"k\":{},\"\\u006b\":{}}}", json(rng, depth - 1).text(), json(rng, 0).text()),
    };
    Json::parse(&text).expect("JSON")
}

fn time(rng: &mut Rng, holds: Holds) -> Timestamp {
    let micros = if holds.micros { rng.i64(0..1_000) } else { 0 };
    Timestamp(rng.i64(0..2_000_000_000_000) * 1_000 + micros)
}

fn parts(rng: &mut Rng, role: &str, calls: &mut Vec<String>, holds: Holds) -> Vec<Part> {
    let mut parts = Vec::new();
    if holds.thoughts && rng.u8(..3) == 0 {
        parts.push(Part::Reasoning { text: odd_text(rng), extra: Extra::new() });
    }
    let asked = if role == "assistant" { rng.usize(..3) } else { 0 };
    let text = odd_text(rng);
    let is_result = role == "tool";
    if (asked == 0 && !is_result) || (!text.is_empty() && rng.bool()) {
        // Beside a result the same text could only be the result again.
        parts.push(Part::text(if is_result { format!("says {text}") } else { text }));
    }
    for _ in 0..asked {
        let id = format!("call {}", calls.len());
        calls.push(id.clone());
        parts.push(Part::ToolCall { id, name: odd_text(rng), input: json(rng, 3), extra: Extra::new() });
    }
    if is_result {
        let call = if calls.is_empty() { odd_text(rng) } else { calls[rng.usize(..calls.len())].clone() };
        let (mut content, mut extra) = (json(rng, 3), Extra::new());
        if rng.bool() {
            extra.push(("function".to_owned(), Json::of(&odd_text(rng))));
        }
        if rng.bool() {
            extra.push(("error".to_owned(), Json::of(&true)));
            content = Json::of(&odd_text(rng));
        }
        parts.push(Part::ToolResult { call, content, extra });
    }
    parts
}

fn fold(rng: &mut Rng, shelf: &mut Shelf, place: usize, holds: Holds) {
    let (out, messages, _) = &mut shelf.conversations[place];
    let trigger = rng.usize(..messages.len());
    let covers = trigger.checked_sub(1).map(|last| MessageRange { first: messages[0].id, last: messages[last].id });
    let mut chance = [0; 10];
    rng.fill(&mut chance);
    let fold = Fold {
        id: FoldId::new(1_700_000_000_000, chance),
        after: messages[trigger].id,
        kind: FoldKind::Summary,
        covers: covers.into_iter().collect(),
        summary: Some(odd_text(rng)),
        parent: None,
        made_by: None,
        active: rng.bool(),
        at: time(rng, holds),
    };
    out.folds.push((fold, None));
}

fn library(rng: &mut Rng, holds: Holds) -> Shelf {
    let mut shelf = Shelf::default();
    for place in 0..rng.usize(..5) {
        let (title, created) = (odd_text(rng), time(rng, holds));
        let out = shelf.begin(&title, created);
        if rng.u8(..4) == 0 {
            out.conversation.status = ConversationStatus::Trashed;
        }
        if holds.metadata && rng.bool() {
            out.conversation.metadata = Json::parse(r#"{"k":[1.50]}"#).ok();
        }
        let mut calls = Vec::new();
        for _ in 0..rng.usize(..9) {
            let role = ["user", "assistant", "tool", "system", "developer"][rng.usize(..5)];
            let parts = parts(rng, role, &mut calls, holds);
            let message = shelf.say(place, role, &parts);
            message.content.time = Time { at: time(rng, holds), source: TimeSource::Exact };
            message.content.tokens = Some(rng.u32(..));
            if rng.u8(..5) == 0 {
                message.content.seen = Visibility { by_reader: false, by_model: false };
            }
            if holds.metadata && rng.bool() {
                message.content.metadata = Some(json(rng, 2)).filter(|json| json.text() != "null");
            }
        }
        for _ in 0..rng.usize(..3) {
            if !shelf.conversations[place].1.is_empty() {
                fold(rng, &mut shelf, place, holds);
            }
        }
    }
    shelf
}

#[test]
fn any_conversation_that_is_written_and_read_is_the_same() {
    for generation in veloca::GENERATIONS {
        for seed in 0..100 {
            let mut shelf = library(&mut Rng::with_seed(seed), holds(generation));
            let (written, _) = write(&mut shelf, Some(generation));
            accepts::written_anew(&written, generation);
            let items = read(&MemoryTree::new("written", written.clone()));
            assert_accounted(&items, &seed);
            let mut again = Shelf::of(&items);
            assert_eq!(told(&again), told(&shelf), "generation {generation} seed {seed}");
            if !shelf.conversations.iter().all(|(_, messages, _)| messages.is_empty()) {
                let (same, _) = write(&mut again, None);
                assert_eq!(difference(&written, &same), "", "generation {generation} seed {seed}");
            }
        }
    }
}

#[test]
fn any_conversation_goes_from_each_generation_to_each() {
    for from in veloca::GENERATIONS {
        for to in veloca::GENERATIONS {
            for seed in 0..20 {
                let mut shelf = library(&mut Rng::with_seed(seed), both(holds(from), holds(to)));
                let (written, _) = write(&mut shelf, Some(from));
                let mut there = Shelf::of(&read(&MemoryTree::new("from", written)));
                let (written, _) = write(&mut there, Some(to));
                accepts::readable(&written, to);
                let again = Shelf::of(&read(&MemoryTree::new("to", written)));
                assert_eq!(told(&again), told(&shelf), "from {from} to {to} seed {seed}");
            }
        }
    }
}
