//! Kode's other writers: before 2.7.0, in C#, and as the study note describes them.

use super::sample::*;
use crate::kit::Shelf;
use crate::kode::{read, text, written};
use expect_test::expect;
use manent_formats::Item;
use manent_formats::apps::kode;
use std::collections::BTreeMap;

#[test]
fn folders_of_the_first_generation_come_back_to_the_byte() {
    let home = "org-a/team-b/user-c/agent-d/session-x1";
    let mut files = Files::new();
    for folder in [home.to_owned(), format!("{home}/fork-5")] {
        let messages = [said("user", "hi"), said("assistant", "ho")];
        files.insert(format!("{folder}/messages.json"), list(&messages));
        let events = "{\"cursor\":0,\"timestamp\":5,\"event\":{\"type\":\"text\"}}\n{\"type\":\"done\"}\n";
        files.insert(format!("{folder}/events.jsonl"), events.to_owned());
        files.insert(
            format!("{folder}/info.json"),
            pretty(&format!(r#"{{"sessionId":"{folder}","createdAt":"2025-10-04T00:00:00.000Z"}}"#)),
        );
        files.insert(
            format!("{folder}/snapshot-s1.json"),
            pretty(&format!(r#"{{"messages":[{}],"n":1}}"#, messages[0])),
        );
        files.insert(format!("{folder}/snapshot-s2.json"), list(&messages));
    }
    let items = check(
        &files,
        expect![[r#"
        kode generation 1.5: sample
        agent: 2 read, 2 mapped, 0 kept or told
        event: 4 read, 4 mapped, 0 kept or told
        message: 10 read, 4 mapped, 6 kept or told
        snapshot: 4 read, 4 mapped, 0 kept or told"#]],
    );
    expect![[r#"
        org-a/team-b/user-c/agent-d/session-x1 ""
          0: user hi
          1: assistant ho
          bookmark "s1" at Some(0)
          bookmark "s2" at Some(1)
          event events 1970-01-01T00:00:00.005Z
          event events 1970-01-01T00:00:00.005Z
        org-a/team-b/user-c/agent-d/session-x1/fork-5 "" from org-a/team-b/user-c/agent-d/session-x1
          0: user hi
          1: assistant ho
          bookmark "s1" at Some(0)
          bookmark "s2" at Some(1)
          event events 1970-01-01T00:00:00.005Z
          event events 1970-01-01T00:00:00.005Z"#]]
    .assert_eq(&outline(&items));
}

#[test]
fn folders_of_the_port_to_c_sharp_come_back_to_the_byte() {
    let mut files = small("agt-1");
    let calls = r#"[{"id":"a","name":"n","input":{},"state":"approvalRequired","approval":{"required":true},"auditTrail":[{"state":"pending","timestamp":"2026-01-02T03:04:05Z"}]},{"callId":"b","toolName":"m","arguments":{},"state":4}]"#;
    files.insert("agt-1/runtime/tool-calls.json".to_owned(), pretty(calls).replace('\n', "\r\n"));
    files.insert("agt-1/runtime/skills.json".to_owned(), pretty(r#"{"skills":[{"name":"s"}]}"#));
    files.insert("agt-1/history/recovered/x.json".to_owned(), pretty(r#"{"path":"x","content":"y"}"#));
    files.insert("agt-1/snapshots/index.json".to_owned(), "[]".to_owned());
    files.insert("agt-1/events/control.log".to_owned(), format!("{}\r\n", event("control", 0, 5)));
    let items = check(
        &files,
        expect![[r#"
        kode generation csharp: sample
        agent: 1 read, 1 mapped, 0 kept or told
        event: 1 read, 1 mapped, 0 kept or told
        message: 2 read, 2 mapped, 0 kept or told
        recovered: 1 read, 1 mapped, 0 kept or told
        skills: 1 read, 1 mapped, 0 kept or told
        snapshot_index: 1 read, 1 mapped, 0 kept or told
        tool call: 2 read, 2 mapped, 0 kept or told
        unmapped: agent.configVersion 1
        unmapped: agent.lastSfpIndex 1
        unmapped: agent.lineage 1
        unmapped: agent.metadata 1"#]],
    );
    expect![[r#"
        agt-1 "tpl"
          0: user hi
          1: assistant ho
          state skills after Some(1): {
          "skills": [
            {
              "name": "s"
            }
          ]
        }
          state breakpoint after Some(1): "READY"
          call a (1, 65536) ApprovalRequired steps 1
          call b (1, 65537) Completed steps 0
          event control 1970-01-01T00:00:00.005Z"#]]
    .assert_eq(&outline(&items));
    let ahead = format!("[{},{},{}]", said("user", "hi"), said("assistant", "ho"), said("user", "more"));
    files.insert("agt-1/runtime/messages.json.wal".to_owned(), ahead);
    let after = written(&read(&tree(&files)));
    assert!(after["agt-1/runtime/messages.json"].contains("more"));
    assert!(!after.contains_key("agt-1/runtime/messages.json.wal"));
}

#[test]
fn what_the_study_note_describes_is_read_and_comes_back() {
    let mut files = small("agt:01K7H1RY3BNE1D3YX3C01SM0R1");
    files.insert(
        "agt:01K7H1RY3BNE1D3YX3C01SM0R1/meta.json".to_owned(),
        pretty(r#"{"agentId":"agt:01K7H1RY3BNE1D3YX3C01SM0R1","templateId":"html-creator","status":"READY","createdAt":"2025-10-14T17:45:00.000Z","lastActiveAt":"2025-10-14T17:45:30.000Z","modelConfig":{"provider":"glm","model":"glm-4.5-air","apiKey":"secret"}}"#),
    );
    let items = check(
        &files,
        expect![[r#"
        kode generation 2.7.0: sample
        agent: 1 read, 1 mapped, 0 kept or told
        message: 2 read, 2 mapped, 0 kept or told
        unmapped: agent.status 1"#]],
    );
    let conversation = items.iter().find_map(|item| match item {
        Item::Conversation(item) => Some(item),
        _ => None,
    });
    let conversation = conversation.expect("an agent");
    expect![[r#"{"templateId":"html-creator","provider":"glm","model":"glm-4.5-air"} Some("2025-10-14T17:45:00Z") Some("2025-10-14T17:45:30Z")"#]].assert_eq(&format!(
        "{} {:?} {:?}",
        conversation.metadata.as_ref().expect("metadata").text(),
        conversation.created_at.map(|at| at.to_string()),
        conversation.active_at.map(|at| at.to_string())
    ));
}

#[test]
fn a_key_of_a_provider_never_reaches_the_metadata() {
    for item in read(&tree(&small("agt-1"))) {
        if let Item::Conversation(item) = item {
            let metadata = item.metadata.expect("metadata").text().to_owned();
            assert!(!metadata.contains("secret") && metadata.contains("\"model\":\"m\""), "{metadata}");
        }
    }
}

#[test]
fn forks_of_forks_lie_in_their_parents() {
    let mut files = small("agt-1");
    files.extend(small("agt-1/fork-5"));
    files.extend(small("agt-1/fork-5/fork-6"));
    files.extend(small("agt-10"));
    files.remove("agt-1/fork-5/meta.json");
    let items = check(
        &files,
        expect![[r#"
        kode generation current: sample
        agent: 3 read, 3 mapped, 0 kept or told
        message: 8 read, 8 mapped, 0 kept or told
        unmapped: agent.configVersion 3
        unmapped: agent.lastSfpIndex 3
        unmapped: agent.lineage 3
        unmapped: agent.metadata 3"#]],
    );
    expect![[r#"
        agt-1 "tpl"
          0: user hi
          1: assistant ho
          state breakpoint after Some(1): "READY"
        agt-1/fork-5 "" from agt-1
          0: user hi
          1: assistant ho
        agt-1/fork-5/fork-6 "tpl" from agt-1/fork-5
          0: user hi
          1: assistant ho
          state breakpoint after Some(1): "READY"
        agt-10 "tpl"
          0: user hi
          1: assistant ho
          state breakpoint after Some(1): "READY""#]]
    .assert_eq(&outline(&items));
}

#[test]
fn one_agent_is_read_from_its_own_folder() {
    let files: Files = small("x").into_iter().map(|(name, text)| (name[2..].to_owned(), text)).collect();
    check(
        &files,
        expect![[r#"
        kode generation current: sample
        agent: 1 read, 1 mapped, 0 kept or told
        message: 2 read, 2 mapped, 0 kept or told
        unmapped: agent.configVersion 1
        unmapped: agent.lastSfpIndex 1
        unmapped: agent.lineage 1
        unmapped: agent.metadata 1"#]],
    );
}

#[test]
fn files_around_the_agents_belong_to_no_agent() {
    let mut files: Files = small("agt-1").into_iter().map(|(name, text)| (format!(".kode/{name}"), text)).collect();
    let agents = files.clone();
    for name in
        ["snapshots/x.json", "events/notes.log", "runtime/main.rs", "meta.json", "src/meta.json", "history/a.json"]
    {
        files.insert(name.to_owned(), "{}".to_owned());
    }
    assert_eq!(written(&read(&tree(&files))), agents);
    files.retain(|name, _| !name.starts_with(".kode"));
    assert!(!kode::finds(&tree(&files)));
    assert!(kode::read(&tree(&files), &mut Vec::new()).is_err());
}

#[test]
fn a_name_from_outside_is_never_a_path() {
    let files: Files = ["../up", "/etc", "a\\b", "a/../b"].iter().flat_map(|id| small(id)).collect();
    let after = written(&read(&tree(&files)));
    assert_eq!(after.len(), files.len());
    let leads_out = |name: &&String| name.starts_with('/') || name.contains("..") || name.contains('\\');
    assert_eq!(after.keys().filter(leads_out).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn an_agent_moves_to_another_generation() {
    let mut files = small("agt:1");
    files.extend(small("agt:1/fork:5"));
    let fork = files.get_mut("agt:1/fork:5/meta.json").expect("a fork");
    *fork = fork.replace("\"lineage\": []", "\"lineage\": [\n    \"agt:1\"\n  ]");
    files.insert("agt:1/snapshots/sfp:1.json".to_owned(), pretty(r#"{"id":"sfp:1","messages":[]}"#));
    let calls = r#"[{"id":"a","name":"n","input":{},"state":"APPROVAL_REQUIRED","approval":{"required":true},"auditTrail":[]}]"#;
    files.insert("agt:1/runtime/tool-calls.json".to_owned(), pretty(calls));
    let items = read(&tree(&files));
    let moved = |generation: &str| {
        let mut out = BTreeMap::new();
        kode::write(&mut Shelf::of(&items), &mut out, Some(generation)).expect("writable");
        text(out)
    };
    let dashed = |text: &str| {
        ["agt", "fork", "sfp"]
            .iter()
            .fold(text.to_owned(), |text, word| text.replace(&format!("{word}:"), &format!("{word}-")))
    };
    let expected: Files = files.iter().map(|(name, text)| (dashed(name), dashed(text))).collect();
    assert_eq!(moved("current"), expected);
    assert!(moved("csharp")["agt-1/runtime/tool-calls.json"].contains("\"approvalRequired\""));
    expect![[r#"
        agt-1/fork-5/info.json
        agt-1/fork-5/messages.json
        agt-1/info.json
        agt-1/messages.json
        agt-1/snapshot-sfp-1.json"#]]
    .assert_eq(&moved("1.5").keys().cloned().collect::<Vec<_>>().join("\n"));
    assert!(kode::write(&mut Shelf::of(&items), &mut BTreeMap::new(), Some("9")).is_err());
}
