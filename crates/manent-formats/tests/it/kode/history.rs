//! Kode's memory: windows, compressions, snapshots and recovered files.

use super::sample::*;
use crate::kit::Shelf;
use crate::kode::{difference, read, text, written};
use expect_test::expect;
use manent_formats::apps::kode;
use manent_model::{Body, Content, Part, Time, TimeSource, Timestamp};
use std::collections::BTreeMap;

pub fn summary(ms: u64, text: &str) -> String {
    format!(
        r#"{{"role":"system","content":[{{"type":"text","text":"<context-summary timestamp=\"2026-01-02T03:04:05.006Z\" window=\"window-{ms}\">\n{text}\n</context-summary>"}}]}}"#
    )
}

/// Compresses as the program does: a window with everything, a record, and the summary before what is kept.
pub fn compress(files: &mut Files, messages: &mut Vec<String>, events: &[String], ms: u64, keep: usize) {
    files.insert(
        format!("agt-1/history/windows/{ms}.json"),
        pretty(&format!(
            r#"{{"id":"window-{ms}","messages":[{}],"events":[{}],"stats":{{"messageCount":{},"tokenCount":1,"eventCount":{}}},"timestamp":{ms}}}"#,
            messages.join(","),
            events.join(","),
            messages.len(),
            events.len()
        )),
    );
    files.insert(
        format!("agt-1/history/compressions/{ms}.json"),
        pretty(&format!(
            r#"{{"id":"comp-{ms}","windowId":"window-{ms}","config":{{"model":"claude-haiku-4-5","prompt":"p","threshold":50000}},"summary":"s","ratio":0.6,"recoveredFiles":[],"timestamp":{ms}}}"#
        )),
    );
    let kept = messages.split_off(messages.len() - keep);
    *messages = vec![summary(ms, "1. [user]")];
    messages.extend(kept);
}

pub fn snapshot(files: &mut Files, id: &str, messages: &[String]) {
    let text = format!(
        r#"{{"id":"{id}","messages":[{}],"lastSfpIndex":1,"lastBookmark":{{"seq":-1,"timestamp":5}},"createdAt":"2026-01-02T03:04:05.006Z","metadata":{{"stepCount":0}}}}"#,
        messages.join(",")
    );
    files.insert(format!("agt-1/snapshots/{id}.json"), pretty(&text));
}

fn numbered(place: usize) -> String {
    said(["user", "assistant"][place % 2], &format!("m{place}"))
}

/// Ten messages, compressed twice, with a snapshot before, between and behind.
fn long() -> Files {
    let mut files = small("agt-1");
    let mut messages: Vec<String> = (0..10).map(numbered).collect();
    let events: Vec<String> = (0..4).map(|cursor| event("progress", cursor, 10 + u64::from(cursor))).collect();
    files.insert("agt-1/events/progress.log".to_owned(), events.iter().map(|line| format!("{line}\n")).collect());
    snapshot(&mut files, "early", &messages[..4]);
    snapshot(&mut files, "meta", &messages[..2]);
    let unlogged = event("monitor", 9, 1);
    compress(&mut files, &mut messages, &[events[0].clone(), events[1].clone(), unlogged], 1000, 6);
    messages.extend([said("user", "m10"), said("assistant", "m11")]);
    snapshot(&mut files, "between", &messages);
    compress(&mut files, &mut messages, &events, 2000, 5);
    messages.extend([said("user", "m12"), said("assistant", "m13")]);
    snapshot(&mut files, "late", &messages);
    let mut other = messages.clone();
    other.truncate(3);
    other.push(said("assistant", "otherwise"));
    snapshot(&mut files, "left", &other);
    files.insert("agt-1/runtime/messages.json".to_owned(), list(&messages));
    files
}

#[test]
fn a_summary_is_put_back_to_the_messages_that_it_stands_for() {
    let items = check(
        &long(),
        expect![[r#"
            kode generation current: sample
            agent: 1 read, 1 mapped, 0 kept or told
            compression: 2 read, 0 mapped, 2 kept or told
            event: 4 read, 4 mapped, 0 kept or told
            message: 54 read, 15 mapped, 39 kept or told
            snapshot: 5 read, 5 mapped, 0 kept or told
            window: 2 read, 2 mapped, 0 kept or told
            window event: 7 read, 0 mapped, 7 kept or told
            unmapped: agent.configVersion 1
            unmapped: agent.lastSfpIndex 1
            unmapped: agent.lineage 1
            unmapped: agent.metadata 1"#]],
    );
    expect![[r#"
        agt-1 "tpl"
          0: user m0
          1: assistant m1
          2: user m2
          3: assistant m3
          4: user m4
          5: assistant m5
          6: user m6
          7: assistant m7
          8: user m8
          9: assistant m9
          10: user m10
          11: assistant m11
          12: user m12
          13: assistant m13
          14 behind Some(8): assistant otherwise
          fold Some("window-1000") covers Some((0, 3)) after 9: Some("<context-summary timestamp=\"2026-01-02T03:04:05.006Z\" window=\"window-1000\">\n1. [user]\n</context-summary>")
          fold Some("window-2000") covers Some((0, 6)) after 11: Some("<context-summary timestamp=\"2026-01-02T03:04:05.006Z\" window=\"window-2000\">\n1. [user]\n</context-summary>")
          bookmark "between" at Some(11)
          bookmark "early" at Some(3)
          bookmark "late" at Some(13)
          bookmark "left" at Some(14)
          bookmark "meta" at Some(1)
          state breakpoint after Some(13): "READY"
          event progress 1970-01-01T00:00:00.01Z
          event progress 1970-01-01T00:00:00.011Z
          event progress 1970-01-01T00:00:00.012Z
          event progress 1970-01-01T00:00:00.013Z
          head 13"#]].assert_eq(&outline(&items));
}

#[test]
fn a_fold_that_is_not_in_force_is_written_as_its_messages() {
    let files = long();
    let mut shelf = Shelf::of(&read(&tree(&files)));
    let after = |shelf: &mut Shelf| {
        let mut out = BTreeMap::new();
        kode::write(shelf, &mut out, None).expect("writable");
        text(out)["agt-1/runtime/messages.json"].clone()
    };
    shelf.conversations[0].0.folds[1].0.active = false;
    let mut messages = vec![summary(1000, "1. [user]")];
    messages.extend((4..14).map(numbered));
    assert_eq!(after(&mut shelf), list(&messages));
    shelf.conversations[0].0.folds[0].0.active = false;
    assert_eq!(after(&mut shelf), list(&(0..14).map(numbered).collect::<Vec<_>>()));
}

#[test]
fn what_is_said_behind_a_summary_is_the_only_difference() {
    let files = long();
    let mut shelf = Shelf::of(&read(&tree(&files)));
    let time = Time { at: Timestamp(0), source: TimeSource::Inherited };
    shelf.append(0, Content::new("user", time, Body::of(&[Part::text("m14")])));
    shelf.conversations[0].0.folds[1].0.summary = Some("shorter".to_owned());
    let mut out = BTreeMap::new();
    kode::write(&mut shelf, &mut out, None).expect("writable");
    expect![[r#"
        changed: agt-1/meta.json
        -  "messageCount": 2,
        -  "lastSfpIndex": 1,
        +  "messageCount": 9,
        +  "lastSfpIndex": 8,
        changed: agt-1/runtime/messages.json
        -        "text": "<context-summary timestamp=\"2026-01-02T03:04:05.006Z\" window=\"window-2000\">\n1. [user]\n</context-summary>"
        +        "text": "<context-summary timestamp=\"2026-01-02T03:04:05.006Z\" window=\"window-2000\">\nshorter\n</context-summary>"
        +  },
        +  {
        +    "role": "user",
        +    "content": [
        +      {
        +        "type": "text",
        +        "text": "m14"
        +      }
        +    ]
        changed: agt-1/snapshots/late.json
        -          "text": "<context-summary timestamp=\"2026-01-02T03:04:05.006Z\" window=\"window-2000\">\n1. [user]\n</context-summary>"
        +          "text": "<context-summary timestamp=\"2026-01-02T03:04:05.006Z\" window=\"window-2000\">\nshorter\n</context-summary>"
        changed: agt-1/snapshots/left.json
        -          "text": "<context-summary timestamp=\"2026-01-02T03:04:05.006Z\" window=\"window-2000\">\n1. [user]\n</context-summary>"
        +          "text": "<context-summary timestamp=\"2026-01-02T03:04:05.006Z\" window=\"window-2000\">\nshorter\n</context-summary>""#]].assert_eq(&difference(&files, &text(out)));
}

#[test]
fn files_that_are_laid_out_otherwise_come_back_to_the_byte() {
    let mut files = long();
    for (name, text) in &mut files {
        if name.contains("1000.json") || name.contains("late") {
            *text = manent_formats::core::json::Style { indent: Some(4), crlf: true }.format(text, 0) + "\n";
        }
        if name.contains("early") || name.contains("2000") {
            *text = text.replace("\"text\": ", "\"text\" :  ").replace("m1\"", "\\u006d1\"");
        }
        if name.contains("between") {
            *text = manent_formats::core::json::Style::COMPACT.format(text, 0);
        }
    }
    assert_eq!(written(&read(&tree(&files))), files);
}

#[test]
fn a_window_that_no_summary_leads_to_becomes_a_branch_with_its_name() {
    let mut files = long();
    files.insert("agt-1/runtime/messages.json".to_owned(), list(&[said("user", "m0"), said("assistant", "anew")]));
    files.retain(|name, _| !name.contains("snapshots"));
    let items = check(
        &files,
        expect![[r#"
        kode generation current: sample
        agent: 1 read, 1 mapped, 0 kept or told
        compression: 2 read, 0 mapped, 2 kept or told
        event: 4 read, 4 mapped, 0 kept or told
        message: 21 read, 20 mapped, 1 kept or told
        window: 2 read, 2 mapped, 0 kept or told
        window event: 7 read, 0 mapped, 7 kept or told
        unmapped: agent.configVersion 1
        unmapped: agent.lastSfpIndex 1
        unmapped: agent.lineage 1
        unmapped: agent.metadata 1"#]],
    );
    expect![[r#"
        agt-1 "tpl"
          0: user m0
          1: assistant anew
          2 behind Some(0): assistant m1
          3: user m2
          4: assistant m3
          5: user m4
          6: assistant m5
          7: user m6
          8: assistant m7
          9: user m8
          10: assistant m9
          11 behind None: system <context-summary timestamp="2026-01-02T03:04:05.006Z" window="window-1000">
        1. [user]
        </context-summary>
          12: user m4
          13: assistant m5
          14: user m6
          15: assistant m7
          16: user m8
          17: assistant m9
          18: user m10
          19: assistant m11
          bookmark "window-1000" at Some(10)
          bookmark "window-2000" at Some(19)
          state breakpoint after Some(1): "READY"
          event progress 1970-01-01T00:00:00.01Z
          event progress 1970-01-01T00:00:00.011Z
          event progress 1970-01-01T00:00:00.012Z
          event progress 1970-01-01T00:00:00.013Z
          head 1"#]]
    .assert_eq(&outline(&items));
}

#[test]
fn a_summary_whose_window_is_lost_is_a_message_like_any_other() {
    let mut files = long();
    files.retain(|name, _| !name.contains("windows"));
    let items = check(
        &files,
        expect![[r#"
            kode generation current: sample
            agent: 1 read, 1 mapped, 0 kept or told
            compression: 2 read, 0 mapped, 2 kept or told
            event: 4 read, 4 mapped, 0 kept or told
            message: 35 read, 22 mapped, 13 kept or told
            snapshot: 5 read, 5 mapped, 0 kept or told
            unmapped: agent.configVersion 1
            unmapped: agent.lastSfpIndex 1
            unmapped: agent.lineage 1
            unmapped: agent.metadata 1"#]],
    );
    expect![[r#"
        agt-1 "tpl"
          0: system <context-summary timestamp="2026-01-02T03:04:05.006Z" window="window-2000">
        1. [user]
        </context-summary>
          1: assistant m7
          2: user m8
          3: assistant m9
          4: user m10
          5: assistant m11
          6: user m12
          7: assistant m13
          8 behind None: system <context-summary timestamp="2026-01-02T03:04:05.006Z" window="window-1000">
        1. [user]
        </context-summary>
          9: user m4
          10: assistant m5
          11: user m6
          12: assistant m7
          13: user m8
          14: assistant m9
          15: user m10
          16: assistant m11
          17 behind None: user m0
          18: assistant m1
          19: user m2
          20: assistant m3
          21 behind Some(2): assistant otherwise
          bookmark "between" at Some(16)
          bookmark "early" at Some(20)
          bookmark "late" at Some(7)
          bookmark "left" at Some(21)
          bookmark "meta" at Some(18)
          state breakpoint after Some(7): "READY"
          event progress 1970-01-01T00:00:00.01Z
          event progress 1970-01-01T00:00:00.011Z
          event progress 1970-01-01T00:00:00.012Z
          event progress 1970-01-01T00:00:00.013Z
          head 7"#]]
    .assert_eq(&outline(&items));
}

#[test]
fn windows_that_lead_to_each_other_end_somewhere() {
    let mut files = small("agt-1");
    for (ms, other) in [(1000, 2000), (2000, 1000)] {
        let mut messages = vec![summary(other, "x"), said("user", "a"), said("user", "b")];
        compress(&mut files, &mut messages, &[], ms, 1);
        files.insert("agt-1/runtime/messages.json".to_owned(), list(&messages));
    }
    assert_eq!(written(&read(&tree(&files))), files);
}

#[test]
fn recovered_files_are_documents() {
    let mut files = small("agt-1");
    files.insert(
        "agt-1/history/recovered/src_a b.ts_5.txt".to_owned(),
        "# Recovered: src/a b.ts\n# Timestamp: 5\n# Mtime: 4.5\n\nline 1\n\nline 3".to_owned(),
    );
    files.insert("agt-1/history/recovered/odd.txt".to_owned(), "no header".to_owned());
    check(
        &files,
        expect![[r#"
        kode generation current: sample
        agent: 1 read, 1 mapped, 0 kept or told
        message: 2 read, 2 mapped, 0 kept or told
        recovered: 2 read, 2 mapped, 0 kept or told
        unmapped: agent.configVersion 1
        unmapped: agent.lastSfpIndex 1
        unmapped: agent.lineage 1
        unmapped: agent.metadata 1"#]],
    );
}
