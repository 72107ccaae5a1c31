//! Filters on messages and conversations.

use crate::kit::{asked_of, asked_of_conversation, query};
use manent_model::{Body, Content, Time, Timestamp};

fn message() -> Content {
    let body = r#"[{"type":"text","text":"words\n```rust\n"},
        {"type":"tool_call","id":"c","name":"Read_File","input":{"path":"main.rs"}}]"#;
    let at: Timestamp = "2026-11-16T21:59:59Z".parse().expect("a time");
    let mut content = Content::new("Assistant", Time::exact(at.0), Body::parse(body).expect("parts"));
    content.model = Some("claude-Sonnet 4".to_owned());
    content
}

#[test]
fn filters_ask_about_the_message_and_its_conversation() {
    for (asked, found) in [
        ("words role:ASSISTANT", true),
        ("role：assistant", true),
        ("Role:assistant", true),
        ("role:user", false),
        ("-role:user", true),
        ("role:ass*", true),
        (r#"model:"claude-sonnet 4""#, true),
        ("model:claude*", true),
        ("model:claude", false),
        ("tool:read_file", true),
        ("tool:read", false),
        ("has:tool", true),
        ("has:code has:tool", true),
        ("has:media", false),
        ("kind:agent", true),
        ("kind:private", false),
        (r#"tag:"two words""#, true),
        ("tag:检索", true),
        ("tag:two", false),
        ("tag:two*", true),
        (r#"project:"big plan""#, true),
        ("project:small", false),
        ("meta.team:blue", true),
        ("meta.team:*", true),
        ("meta.team:red", false),
        ("meta.n:1.50", true),
        ("meta.list:b", true),
        ("meta.deep.x.y:true", true),
        ("meta.dot.ted:z", true),
        ("meta.none:*", false),
        ("meta.other:*", false),
        ("in:title", false),
        ("after:yesterday", true),
        ("after:today", false),
        ("before:today", true),
        ("before:2026-11-17", true),
        ("before:2026-11-16", false),
        ("after:2026-11-16 before:2026-12", true),
        ("after:24h", true),
        ("after:12h", false),
        ("-after:2026", false),
        ("words OR tag:nothing", true),
        ("nothing OR tag:检索", true),
        ("nothing (tag:检索 OR words)", false),
        ("main", true),
        ("path", true),
    ] {
        assert_eq!(asked_of(&query(asked), &message()), found, "{asked}");
    }
}

#[test]
fn a_conversation_is_found_by_its_title_and_never_by_its_messages() {
    for (asked, found) in [
        ("notes", true),
        ("notes in:title", true),
        ("检索", true),
        ("检索 in:title", false),
        ("notes -检索 in:title", true),
        ("notes -检索", false),
        ("in:title", true),
        ("-in:title", false),
        ("has:code", false),
        ("role:user", false),
        ("tool:*", false),
        ("notes tag:检索 kind:agent", true),
        ("notes before:2026-11-10", false),
        ("notes after:2026-11-10", true),
    ] {
        assert_eq!(asked_of_conversation(&query(asked)), found, "{asked}");
    }
}

#[test]
fn a_query_bounds_the_time_of_its_answers() {
    for (asked, expected) in [
        ("x", "- -"),
        ("x after:2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z -"),
        ("before:2026-01-01T00:00:00Z after:2025-01-01T00:00:00Z", "2025-01-01T00:00:00Z 2026-01-01T00:00:00Z"),
        ("-before:2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z -"),
        ("before:2026-01-01T00:00:00Z | before:2025-01-01T00:00:00Z", "- 2026-01-01T00:00:00Z"),
        ("after:2026-01-01T00:00:00Z | after:2025-01-01T00:00:00Z", "2025-01-01T00:00:00Z -"),
        ("x | before:2025-01-01T00:00:00Z", "- -"),
        ("x | after:2025-01-01T00:00:00Z", "- -"),
        ("before:2026-01-01T00:00:00Z before:2025-01-01T00:00:00Z", "- 2025-01-01T00:00:00Z"),
        ("-(before:2026-01-01T00:00:00Z x)", "- -"),
    ] {
        let (from, until) = query(asked).time_range();
        let shown = |bound: Option<Timestamp>| bound.map_or("-".to_owned(), |bound| bound.to_string());
        assert_eq!(format!("{} {}", shown(from), shown(until)), expected, "{asked}");
    }
}
