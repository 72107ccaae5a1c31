//! What people do to conversations shows in exactly those places.

use super::*;
use manent_model::{Author, Extra, Json, Part, Timestamp};

fn check(tree: &dyn SourceTree, change: impl FnOnce(&mut Shelf), expected: Expect) {
    let mut shelf = Shelf::of(&read(tree));
    change(&mut shelf);
    let (written, losses) = write(&mut shelf, None);
    let ours = files(tree);
    let losses: Vec<_> = losses.iter().map(|loss| (loss.what, loss.count)).collect();
    expected.assert_eq(&format!("lost: {losses:?}\n{}", difference(&ours, &written)));
    accepts::folder(&written);
}

fn answer(shelf: &mut Shelf, place: usize) {
    shelf.conversations[place].0.conversation.title = "a name".to_owned();
    shelf.say(place, "user", &[Part::text("然后？")]);
    shelf.say(place, "assistant", &[Part::text("等。")]);
    shelf.remove(place, 1);
    shelf.edit(place, 0, "新");
}

#[test]
fn only_what_changed_looks_different() {
    check(
        &instances(),
        |shelf| {
            answer(shelf, 3);
            shelf.set(
                3,
                "plot_state",
                r#"{"current_plot_index":4,"current_status":"in_progress","no_update_count":2}"#,
            );
            shelf.set(3, "evolved_persona", "\"ruhig\"");
        },
        expect![[r#"
            lost: [("earlier and other values of state", 2), ("names of conversations", 1)]
            instances/inst_001/character_state.json:
            - {"base_persona": "b\u00e9", "evolved_persona": "", "mood": 1}
            + {"base_persona": "b\u00e9", "evolved_persona": "ruhig", "mood": 1}
            instances/inst_001/instance_state.json:
            -     "current_plot_index": 3,
            +     "current_plot_index": 4,
            instances/inst_001/sessions/session_002.jsonl:
            - {"type":"summary","content":"情报交换"}
            - {"role":"user","content":"出发？","turn":1,"timestamp":"2025-10-16T11:01:00Z"}
            + {"type":"summary","content":"新"}
            + {"role":"user","content":"然后？","turn":2,"timestamp":"2025-10-09T08:53:23Z"}
            + {"role":"assistant","content":"等。","turn":2,"timestamp":"2025-10-09T08:53:24Z"}"#]],
    );
}

#[test]
fn a_line_behind_one_without_an_end_begins_anew() {
    check(
        &odd(),
        |shelf| {
            shelf.edit(1, 1, "plain");
            shelf.remove(1, 2);
            shelf.say(1, "user", &[Part::text("more")]);
        },
        expect![[r#"
            lost: []
            data/instances/i/sessions/s.jsonl:
            - {"role":"assistant","content":{"a":[]},"turn":1}
            + {"role":"assistant","content":"plain","turn":1}
            - {"type":"summary","content":"so far","turn":9}␍
            - {"role":"user","content":"end","turn":1,"timestamp":"2025-10-16T10:02:00Z"}
            + {"role":"user","content":"end","turn":1,"timestamp":"2025-10-16T10:02:00Z"}␍
            + {"role":"user","content":"more","turn":2,"timestamp":"2025-10-09T08:53:25Z"}␍"#]],
    );
}

#[test]
fn only_what_changed_of_a_conversation_looks_different() {
    check(
        &odd_conversations(),
        |shelf| {
            answer(shelf, 0);
            shelf.set(0, "plot_state", r#"{"enabled":true,"n":2}"#);
            shelf.set(0, "base_persona", "\"new\"");
            shelf.conversations[0].0.conversation.created_at = Timestamp(1_760_000_000_000_000);
        },
        expect![[r#"
            lost: [("earlier and other values of state", 1), ("names of conversations", 1)]
            conversations/a b/character_snapshot.json:
            + {
            +   "source_preset": "",
            +   "snapshot_created_at": "2025-10-09T08:53:20Z",
            +   "base_persona": "new",
            +   "evolved_persona": ""
            + }
            conversations/a b/conversation.jsonl:
            - {"type":"summary","content":"情报交换"}␍
            - {"role":"user","content":"出发？","turn":1,"timestamp":"2025-10-16T11:01:00Z"}␍
            + {"type":"summary","content":"新"}␍
            + {"role":"user","content":"然后？","turn":2,"timestamp":"2025-10-09T08:53:23Z"}␍
            + {"role":"assistant","content":"等。","turn":2,"timestamp":"2025-10-09T08:53:24Z"}␍
            conversations/a b/metadata.json:
            - {"x":1,"conversation_id":"ab","created_at":"2025-10-16T10:00:00Z"}
            + {"x":1,"conversation_id":"ab","created_at":"2025-10-09T08:53:20Z"}
            conversations/a b/plot_state.json:
            -  {"enabled":true ,"n":1e1} 
            +  {"enabled":true ,"n":2} "#]],
    );
}

#[test]
fn a_changed_document_is_changed_in_its_place() {
    check(
        &documents(),
        |shelf| {
            for (document, _) in &mut shelf.documents {
                let text = document.body.as_ref().expect("a body").text();
                let changed = text.replace("\"x\"", "\"y\"").replace("kind.", "quick.").replace(": ", ":");
                document.body = Json::parse(&changed).ok();
            }
        },
        expect![[r#"
            lost: []
            backgrounds/b/background.json:
            - {"story_outline": [ {"index": 1, "content": "x"} ]}
            + {"story_outline": [ {"index": 1, "content": "y"} ]}
            prompt_templates/system.txt:
            - "Be" kind.
            + "Be" quick."#]],
    );
}

#[test]
fn a_roll_over_opens_the_session_that_it_makes() {
    check(
        &instances(),
        |shelf| {
            let project = shelf.conversations[3].0.project.clone();
            let out = shelf.begin("", Timestamp(1_760_700_000_000_000));
            out.project = project;
            out.continued_from = Some("inst_001/sess_002".to_owned());
            shelf.say(4, "user", &[Part::text("走？")]);
            shelf.set(4, "plot_state", r#"{"current_plot_index":5}"#);
        },
        expect![[r#"
            lost: []
            instances/inst_001/instance_state.json:
            -   "current_session_id": "sess_002",
            +   "current_session_id": "sess_003",
            -     "current_plot_index": 3,
            -     "current_status": "in_progress",
            -     "no_update_count": 2
            +     "current_plot_index": 5
            instances/inst_001/sessions/session_003.jsonl:
            + {"type":"metadata","instance_id":"inst_001","session_id":"sess_003","created_at":"2025-10-17T11:20:00Z","continued_from":"sess_002"}
            + {"role":"user","content":"走？","turn":1,"timestamp":"2025-10-09T08:53:20Z"}"#]],
    );
}

#[test]
fn what_is_known_of_an_instance_changes_in_its_place() {
    check(
        &instances(),
        |shelf| {
            let Some((project, _)) = &mut shelf.conversations[3].0.project else { panic!("no project") };
            let text = project.metadata.as_ref().expect("an instance").text();
            project.metadata = Json::parse(&text.replace("null", "\"bg_wasteland\"")).ok();
            // The first conversation of the instance brings the project.
            shelf.conversations[2].0.project = shelf.conversations[3].0.project.clone();
        },
        expect![[r#"
            lost: []
            instances/inst_001/instance_state.json:
            -   "background_id": null,
            +   "background_id": "bg_wasteland","#]],
    );
}

fn told(shelf: &mut Shelf, generation: &str) -> String {
    let (written, losses) = write(shelf, Some(generation));
    accepts::folder(&written);
    let losses: Vec<_> = losses.iter().map(|loss| (loss.what, loss.count)).collect();
    format!("lost: {losses:?}\n{}", difference(&Files::new(), &written))
}

#[test]
fn instances_become_conversations_when_asked() {
    let mut shelf = Shelf::of(&read(&instances()));
    shelf.conversations.drain(..3);
    expect![[r#"
        lost: [("links to other conversations", 1), ("projects", 1)]
        conversations/conv_001/character_snapshot.json:
        + {
        +   "source_preset": "",
        +   "snapshot_created_at": "2025-10-16T11:00:00Z",
        +   "base_persona": "b\u00e9",
        +   "evolved_persona": ""
        + }
        conversations/conv_001/conversation.jsonl:
        + {"type":"summary","content":"情报交换"}
        + {"role":"user","content":"出发？","turn":1,"timestamp":"2025-10-16T11:01:00Z"}
        + {"role":"assistant","content":"走。","turn":1,"timestamp":"2025-10-16T11:01:07.5Z"}
        conversations/conv_001/metadata.json:
        + {
        +   "conversation_id": "conv_001",
        +   "created_at": "2025-10-16T11:00:00Z",
        +   "presets": {
        +     "character": "char_alserqi",
        +     "background": null,
        +     "summaries": []
        +   },
        +   "rag_scope": {
        +     "mode": "self_only",
        +     "related_conversations": []
        +   }
        + }
        conversations/conv_001/plot_state.json:
        + {
        +   "current_plot_index": 3,
        +   "current_status": "in_progress",
        +   "no_update_count": 2
        + }
        event_library/chroma_db/0/data.bin:
        + nor this
        event_library/chroma_db/chroma.sqlite3:
        + not looked into"#]]
    .assert_eq(&told(&mut shelf, "v2"));
}

#[test]
fn conversations_become_instances_when_asked() {
    expect![[r#"
        lost: []
        characters/c/definition.json:
        + {"character_id":"c"}
        instances/inst_001/character_state.json:
        + {
        +   "base_persona": "",
        +   "evolved_persona": ""
        + }
        instances/inst_001/instance_state.json:
        + {
        +   "instance_id": "inst_001",
        +   "character_id": "",
        +   "background_id": null,
        +   "current_session_id": "sess_001",
        +   "created_at": "2025-10-16T10:00:00Z",
        +   "plot_state": {
        +     "enabled": true,
        +     "n": 1e1
        +   }
        + }
        instances/inst_001/sessions/session_001.jsonl:
        + {"type":"metadata","instance_id":"inst_001","session_id":"sess_001","created_at":"2025-10-16T10:00:00Z","continued_from":null}␍
        + {"type":"summary","content":"情报交换"}␍
        + {"role":"user","content":"出发？","turn":1,"timestamp":"2025-10-16T11:01:00Z"}␍
        + {"role":"assistant","content":"走。","turn":1,"timestamp":"2025-10-16T11:01:07.5Z"}␍
        instances/inst_002/character_state.json:
        + {
        +   "base_persona": "b",
        +   "evolved_persona": ""
        + }
        instances/inst_002/instance_state.json:
        + {
        +   "instance_id": "inst_002",
        +   "character_id": "",
        +   "background_id": null,
        +   "current_session_id": "sess_001",
        +   "created_at": "1970-01-01T00:00:00Z",
        +   "plot_state": {
        +     "current_plot_index": 1,
        +     "current_status": "pending",
        +     "no_update_count": 0
        +   }
        + }
        instances/inst_002/sessions/session_001.jsonl:
        + {"type":"metadata","instance_id":"inst_002","session_id":"sess_001","created_at":"1970-01-01T00:00:00Z","continued_from":null}"#]].assert_eq(&told(&mut Shelf::of(&read(&odd_conversations())), "v0.5"));
}

#[test]
fn a_generation_that_does_not_exist_is_refused() {
    let error = personalab::write(&mut Shelf::default(), &mut Files::new(), Some("v1"));
    assert_eq!(error.expect_err("no such generation").to_string(), "personalab has no generation v1; it has v0.5, v2");
}

fn foreign() -> Shelf {
    let mut shelf = Shelf::default();
    for title in ["", "named"] {
        shelf
            .begin(title, Timestamp(1_760_000_000_000_000))
            .conversation
            .tags
            .extend((!title.is_empty()).then(|| "t".to_owned()));
    }
    shelf.say(0, "system", &[Part::text("be brief")]);
    shelf.say(0, "summary", &[Part::Summary { text: "before".to_owned(), extra: Extra::new() }]);
    shelf.say(0, "user", &[Part::text("one"), Part::text("two")]).content.author =
        Some(Author { id: "u".to_owned(), name: String::new() });
    shelf.say(0, "assistant", &[Part::Reasoning { text: "hm".to_owned(), extra: Extra::new() }, Part::text("yes")]);
    shelf.say(0, "user", &[Part::text("three")]);
    shelf.set(0, "evolved_persona", "\"calm\"");
    shelf.set(0, "todos", "[]");
    shelf
}

#[test]
fn conversations_from_elsewhere_are_written_as_the_documents_say() {
    expect![[r#"
        lost: [("earlier and other values of state", 1), ("messages of other roles", 1), ("authors", 1), ("parts that are no text", 1), ("tags", 1), ("names of conversations", 1)]
        data/config.json:
        + {
        +   "features": {
        +     "director_plot_control": {
        +       "enabled": true,
        +       "rag_fallback_threshold": 3
        +     }
        +   },
        +   "summary": {
        +     "order": "summary_first",
        +     "last_n_turns": 5
        +   },
        +   "conversation_file": {
        +     "load_all": true,
        +     "max_tokens": 100000
        +   }
        + }
        data/instances/inst_001/character_state.json:
        + {
        +   "base_persona": "",
        +   "evolved_persona": "calm"
        + }
        data/instances/inst_001/instance_state.json:
        + {
        +   "instance_id": "inst_001",
        +   "character_id": "",
        +   "background_id": null,
        +   "current_session_id": "sess_001",
        +   "created_at": "2025-10-09T08:53:20Z",
        +   "plot_state": {
        +     "current_plot_index": 1,
        +     "current_status": "pending",
        +     "no_update_count": 0
        +   }
        + }
        data/instances/inst_001/sessions/session_001.jsonl:
        + {"type":"metadata","instance_id":"inst_001","session_id":"sess_001","created_at":"2025-10-09T08:53:20Z","continued_from":null}
        + {"type":"summary","content":"before"}
        + {"role":"user","content":"one\n\ntwo","turn":1,"timestamp":"2025-10-09T08:53:22Z"}
        + {"role":"assistant","content":"yes","turn":1,"timestamp":"2025-10-09T08:53:23Z"}
        + {"role":"user","content":"three","turn":2,"timestamp":"2025-10-09T08:53:24Z"}
        data/instances/inst_002/character_state.json:
        + {
        +   "base_persona": "",
        +   "evolved_persona": ""
        + }
        data/instances/inst_002/instance_state.json:
        + {
        +   "instance_id": "inst_002",
        +   "character_id": "",
        +   "background_id": null,
        +   "current_session_id": "sess_001",
        +   "created_at": "2025-10-09T08:53:20Z",
        +   "plot_state": {
        +     "current_plot_index": 1,
        +     "current_status": "pending",
        +     "no_update_count": 0
        +   }
        + }
        data/instances/inst_002/sessions/session_001.jsonl:
        + {"type":"metadata","instance_id":"inst_002","session_id":"sess_001","created_at":"2025-10-09T08:53:20Z","continued_from":null}"#]].assert_eq(&told(&mut foreign(), "v0.5"));
    expect![[r#"
        lost: [("earlier and other values of state", 1), ("messages of other roles", 1), ("authors", 1), ("parts that are no text", 1), ("tags", 1), ("names of conversations", 1)]
        data/config.json:
        + {
        +   "features": {
        +     "director_plot_control": {
        +       "enabled": true,
        +       "rag_fallback_threshold": 3
        +     }
        +   },
        +   "summary": {
        +     "order": "summary_first",
        +     "last_n_turns": 5
        +   },
        +   "conversation_file": {
        +     "load_all": true,
        +     "max_tokens": 100000
        +   }
        + }
        data/conversations/conv_001/character_snapshot.json:
        + {
        +   "source_preset": "",
        +   "snapshot_created_at": "2025-10-09T08:53:20Z",
        +   "base_persona": "",
        +   "evolved_persona": "calm"
        + }
        data/conversations/conv_001/conversation.jsonl:
        + {"type":"summary","content":"before"}
        + {"role":"user","content":"one\n\ntwo","turn":1,"timestamp":"2025-10-09T08:53:22Z"}
        + {"role":"assistant","content":"yes","turn":1,"timestamp":"2025-10-09T08:53:23Z"}
        + {"role":"user","content":"three","turn":2,"timestamp":"2025-10-09T08:53:24Z"}
        data/conversations/conv_001/metadata.json:
        + {
        +   "conversation_id": "conv_001",
        +   "created_at": "2025-10-09T08:53:20Z",
        +   "presets": {
        +     "character": "",
        +     "background": null,
        +     "summaries": []
        +   },
        +   "rag_scope": {
        +     "mode": "self_only",
        +     "related_conversations": []
        +   }
        + }
        data/conversations/conv_002/character_snapshot.json:
        + {
        +   "source_preset": "",
        +   "snapshot_created_at": "2025-10-09T08:53:20Z",
        +   "base_persona": "",
        +   "evolved_persona": ""
        + }
        data/conversations/conv_002/conversation.jsonl:
        data/conversations/conv_002/metadata.json:
        + {
        +   "conversation_id": "conv_002",
        +   "created_at": "2025-10-09T08:53:20Z",
        +   "presets": {
        +     "character": "",
        +     "background": null,
        +     "summaries": []
        +   },
        +   "rag_scope": {
        +     "mode": "self_only",
        +     "related_conversations": []
        +   }
        + }"#]].assert_eq(&told(&mut foreign(), "v2"));
    for generation in personalab::GENERATIONS {
        accepts::written_anew(&write(&mut foreign(), Some(generation)).0, generation);
    }
}

#[test]
fn whatever_is_said_is_read_back_as_it_was() {
    for (seed, generation) in (0..200).flat_map(|seed| [(seed, "v0.5"), (seed, "v2")]) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut shelf = Shelf::default();
        for place in 0..random.usize(1..5) {
            shelf.begin("", Timestamp(random.i64(0..2_000_000_000_000_000)));
            for _ in 0..random.usize(..8) {
                let text = odd_text(&mut random);
                if random.u8(..6) == 0 {
                    shelf.say(place, "summary", &[Part::Summary { text, extra: Extra::new() }]);
                    continue;
                }
                let role = if random.bool() { "user" } else { "assistant" };
                let message = shelf.say(place, role, &[Part::text(text)]);
                message.content.turn = Some(random.u32(..9));
                message.content.time.at = Timestamp(random.i64(0..2_000_000_000_000_000));
            }
            for name in ["base_persona", "evolved_persona"] {
                shelf.set(place, name, Json::of(&odd_text(&mut random)).text());
            }
            // An instance without a plot gets one when it is written.
            if random.bool() || generation == "v0.5" {
                shelf.set(place, "plot_state", "{\"current_plot_index\":1}");
                shelf.set(place, "plot_state", &format!("{{\"current_plot_index\":{}}}", random.u8(..)));
            }
        }
        let (written, _) = write(&mut shelf, Some(generation));
        accepts::written_anew(&written, generation);
        let items = read(&manent_formats::core::source_fs::MemoryTree::new("written", written));
        assert_accounted(&items, &seed);
        assert_eq!(held(&Shelf::of(&items)), held(&shelf), "seed {seed} {generation}");
    }
}

/// What must come back; summaries have no times.
fn held(shelf: &Shelf) -> Vec<String> {
    let one = |(out, messages, _): &(manent_formats::ExportedConversation, Vec<manent_formats::ExportedMessage>, _)| {
        let messages = messages.iter().map(|message| {
            let content = &message.content;
            let time = (content.role != "summary").then_some(content.time);
            format!("{:?}", (&content.role, content.turn, time, content.body.text()))
        });
        let messages: Vec<String> = messages.collect();
        let mut states: BTreeMap<&str, String> = BTreeMap::new();
        for state in &out.states {
            let value: Option<serde_json::Value> = state.value.as_ref().and_then(|value| value.read().ok());
            states.insert(&state.name, format!("{value:?}"));
        }
        format!("{:?}", (out.conversation.created_at, messages, states))
    };
    shelf.conversations.iter().map(one).collect()
}
