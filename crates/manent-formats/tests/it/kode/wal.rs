//! Kode after a crash: write-ahead files that are newer, older, torn or different, and logs that were cut off.

use super::sample::*;
use crate::kit::report;
use crate::kode::{difference, read, written};
use expect_test::{Expect, expect};

const MESSAGES: &str = "agt-1/runtime/messages.json";

/// Reads files with something beside them, and shows the report and what is different afterwards.
fn check_with(more: &[(&str, String)], expected: Expect) {
    let mut files = small("agt-1");
    files.extend(more.iter().map(|(name, text)| (format!("agt-1/{name}"), text.clone())));
    let items = read(&tree(&files));
    let report = report(&items);
    let report: Vec<&str> = report.lines().filter(|line| !line.starts_with("unmapped")).collect();
    expected.assert_eq(&format!("{}\n--\n{}", report.join("\n"), difference(&files, &written(&items))));
}

fn ahead(records: &[String]) -> String {
    format!(r#"{{"data":[{}],"timestamp":1767323045006}}"#, records.join(","))
}

#[test]
fn a_newer_write_ahead_file_is_taken_in() {
    let records = [said("user", "hi"), said("assistant", "ho"), said("user", "more")];
    check_with(
        &[("runtime/messages.wal", ahead(&records)), ("runtime/messages.json.tmp", list(&records))],
        expect![[r#"
            kode generation current: sample
            repaired: agt-1/runtime/messages.json.tmp wal torn: it repeats the file or its write-ahead file and is left out
            repaired: agt-1/runtime/messages.json wal applied: 1 of 3 messages were only in the write-ahead file
            agent: 1 read, 1 mapped, 0 kept or told
            message: 5 read, 3 mapped, 2 kept or told
            wal: 2 read, 0 mapped, 2 kept or told
            --
            changed: agt-1/runtime/messages.json
            +  },
            +  {
            +    "role": "user",
            +    "content": [
            +      {
            +        "type": "text",
            +        "text": "more"
            +      }
            +    ]
            gone: agt-1/runtime/messages.json.tmp
            gone: agt-1/runtime/messages.wal"#]],
    );
}

#[test]
fn a_write_ahead_file_that_is_older_does_not_undo_what_was_said_since() {
    check_with(
        &[("runtime/messages.wal", ahead(&[said("user", "hi")]))],
        expect![[r#"
        kode generation current: sample
        repaired: agt-1/runtime/messages.json wal stale: 1 messages of the write-ahead file stand in the file already
        agent: 1 read, 1 mapped, 0 kept or told
        message: 3 read, 2 mapped, 1 kept or told
        wal: 1 read, 0 mapped, 1 kept or told
        --
        gone: agt-1/runtime/messages.wal"#]],
    );
}

#[test]
fn a_write_ahead_file_that_says_something_else_leaves_both() {
    check_with(
        &[("runtime/messages.wal", ahead(&[said("user", "hi"), said("assistant", "he")]))],
        expect![[r#"
        kode generation current: sample
        repaired: agt-1/runtime/messages.json wal applied: 2 messages of the write-ahead file took the place of 2, as the program does; those are kept
        agent: 1 read, 1 mapped, 0 kept or told
        message: 4 read, 3 mapped, 1 kept or told
        wal: 1 read, 0 mapped, 1 kept or told
        --
        changed: agt-1/runtime/messages.json
        -        "text": "ho"
        +        "text": "he"
        gone: agt-1/runtime/messages.wal"#]],
    );
    let mut files = small("agt-1");
    files.insert(MESSAGES.replace(".json", ".wal"), ahead(&[said("user", "hi"), said("assistant", "he")]));
    expect![[r#"
        agt-1 "tpl"
          0: user hi
          1: assistant he
          2 behind Some(0): assistant ho
          bookmark "runtime/messages.json" at Some(2)
          state breakpoint after Some(1): "READY"
          head 1"#]]
    .assert_eq(&outline(&read(&tree(&files))));
}

#[test]
fn a_write_ahead_file_beside_a_file_that_was_cut_off_saves_it() {
    let mut files = small("agt-1");
    let whole = files[MESSAGES].clone();
    files.insert(MESSAGES.to_owned(), whole[..whole.len() - 20].to_owned());
    files.insert(MESSAGES.replace(".json", ".wal"), ahead(&[said("user", "hi"), said("assistant", "ho")]));
    assert_eq!(written(&read(&tree(&files)))[MESSAGES], whole);
    files.remove(MESSAGES);
    assert_eq!(written(&read(&tree(&files)))[MESSAGES], whole);
}

#[test]
fn what_of_a_write_ahead_file_cannot_be_read_is_told() {
    check_with(
        &[
            ("runtime/messages.wal", r#"{"data":[{"role":"us"#.to_owned()),
            ("runtime/tool-calls.wal", String::new()),
            ("runtime/messages.json.tmp", "[]".to_owned()),
            ("events/monitor.wal.corrupted", "x".to_owned()),
            ("notes.txt", "who put this here".to_owned()),
        ],
        expect![[r#"
            kode generation current: sample
            repaired: agt-1/runtime/messages.wal wal torn: the file was cut off while it was written; the one beside it stays
            skipped: agt-1/runtime/messages.wal wal: no whole list is in it
            skipped: agt-1/runtime/messages.json.tmp wal: a file that was never put in its place holds something else
            repaired: agt-1/runtime/tool-calls.wal wal empty: nothing is in it; it is left out
            skipped: agt-1/events/monitor.wal.corrupted wal: its program could not read it
            skipped: agt-1/notes.txt file: no file of this format has this name
            agent: 1 read, 1 mapped, 0 kept or told
            file: 1 read, 0 mapped, 1 kept or told
            message: 2 read, 2 mapped, 0 kept or told
            wal: 4 read, 0 mapped, 4 kept or told
            --
            gone: agt-1/events/monitor.wal.corrupted
            gone: agt-1/notes.txt
            gone: agt-1/runtime/messages.json.tmp
            gone: agt-1/runtime/messages.wal
            gone: agt-1/runtime/tool-calls.wal"#]],
    );
}

/// A call that went through these states, one each millisecond.
fn call(id: &str, states: &[&str]) -> String {
    let steps = states.iter().enumerate();
    let steps: Vec<String> = steps.map(|(at, state)| format!(r#"{{"state":"{state}","timestamp":{at}}}"#)).collect();
    format!(
        r#"{{"id":"{id}","name":"n","input":{{}},"state":"{}","updatedAt":{},"auditTrail":[{}]}}"#,
        states[states.len() - 1],
        states.len(),
        steps.join(",")
    )
}

#[test]
fn of_two_lists_of_tool_calls_the_one_that_was_written_last_counts() {
    let old = [call("c", &["PENDING"])];
    let new = [call("c", &["PENDING", "COMPLETED"])];
    check_with(
        &[("runtime/tool-calls.json", list(&old)), ("runtime/tool-calls.wal", ahead(&new))],
        expect![[r#"
            kode generation current: sample
            repaired: agt-1/runtime/tool-calls.json wal applied: 1 tool calls of the write-ahead file took the place of 1, as the program does; those are kept
            agent: 1 read, 1 mapped, 0 kept or told
            message: 2 read, 2 mapped, 0 kept or told
            tool call: 2 read, 1 mapped, 1 kept or told
            wal: 1 read, 0 mapped, 1 kept or told
            --
            changed: agt-1/runtime/tool-calls.json
            -    "state": "PENDING",
            -    "updatedAt": 1,
            +    "state": "COMPLETED",
            +    "updatedAt": 2,
            +      },
            +      {
            +        "state": "COMPLETED",
            +        "timestamp": 1
            gone: agt-1/runtime/tool-calls.wal"#]],
    );
    check_with(
        &[("runtime/tool-calls.json", list(&new)), ("runtime/tool-calls.wal", ahead(&old))],
        expect![[r#"
        kode generation current: sample
        repaired: agt-1/runtime/tool-calls.json wal stale: 1 tool calls of the write-ahead file stand in the file already
        agent: 1 read, 1 mapped, 0 kept or told
        message: 2 read, 2 mapped, 0 kept or told
        tool call: 2 read, 1 mapped, 1 kept or told
        wal: 1 read, 0 mapped, 1 kept or told
        --
        gone: agt-1/runtime/tool-calls.wal"#]],
    );
}

#[test]
fn tool_calls_that_a_write_ahead_file_does_not_know_are_told() {
    let (old, new) = ([call("a", &["PENDING"])], [call("b", &["PENDING", "SEALED"])]);
    check_with(
        &[("runtime/tool-calls.json", list(&old)), ("runtime/tool-calls.wal", ahead(&new))],
        expect![[r#"
            kode generation current: sample
            repaired: agt-1/runtime/tool-calls.json wal applied: 1 tool calls of the write-ahead file took the place of 1, as the program does; those are kept
            skipped: agt-1/runtime/tool-calls.json tool call: the write-ahead file says something else, and its program takes that
            agent: 1 read, 1 mapped, 0 kept or told
            message: 2 read, 2 mapped, 0 kept or told
            tool call: 2 read, 1 mapped, 1 kept or told
            wal: 1 read, 0 mapped, 1 kept or told
            --
            changed: agt-1/runtime/tool-calls.json
            -    "id": "a",
            +    "id": "b",
            -    "state": "PENDING",
            -    "updatedAt": 1,
            +    "state": "SEALED",
            +    "updatedAt": 2,
            +      },
            +      {
            +        "state": "SEALED",
            +        "timestamp": 1
            gone: agt-1/runtime/tool-calls.wal"#]],
    );
}

#[test]
fn a_log_that_was_cut_off_gives_every_line_before_the_cut() {
    let line = |cursor| event("progress", cursor, 10);
    let log = format!("{}\n{}\n{}", line(0), line(1), &line(2)[..30]);
    let ahead = format!("{}\n{}\n", line(2), line(3));
    check_with(
        &[("events/progress.log", log), ("events/progress.wal", ahead)],
        expect![[r#"
        kode generation current: sample
        skipped: agt-1/events/progress.log line 3 event: no JSON: EOF while parsing a value at byte 29
        repaired: agt-1/events/progress.wal wal applied: 2 events of the write-ahead file are added to the log
        agent: 1 read, 1 mapped, 0 kept or told
        event: 5 read, 4 mapped, 1 kept or told
        message: 2 read, 2 mapped, 0 kept or told
        wal: 1 read, 0 mapped, 1 kept or told
        --
        changed: agt-1/events/progress.log
        -{"cursor":2,"bookmark":{"seq":
        +{"cursor":2,"bookmark":{"seq":2,"timestamp":10},"event":{"channel":"progress","type":"done","step":2,"bookmark":{"seq":2,"timestamp":10}}}
        +{"cursor":3,"bookmark":{"seq":3,"timestamp":10},"event":{"channel":"progress","type":"done","step":3,"bookmark":{"seq":3,"timestamp":10}}}
        +
        gone: agt-1/events/progress.wal"#]],
    );
}

#[test]
fn the_lines_that_a_log_ends_with_are_not_added_again() {
    let line = |cursor| event("progress", cursor, 10);
    let log = format!("{}\n{}\n{}\n", line(0), line(1), line(2));
    let ahead = format!("{}\n{}\n{}", line(1), line(2), line(3));
    check_with(
        &[("events/progress.log", log), ("events/progress.wal", ahead)],
        expect![[r#"
        kode generation current: sample
        repaired: agt-1/events/progress.wal events doubled: the log ends with 2 of its 3 events; they are not added again
        repaired: agt-1/events/progress.wal wal applied: 1 events of the write-ahead file are added to the log
        agent: 1 read, 1 mapped, 0 kept or told
        event: 6 read, 4 mapped, 2 kept or told
        message: 2 read, 2 mapped, 0 kept or told
        wal: 1 read, 0 mapped, 1 kept or told
        --
        changed: agt-1/events/progress.log
        +{"cursor":3,"bookmark":{"seq":3,"timestamp":10},"event":{"channel":"progress","type":"done","step":3,"bookmark":{"seq":3,"timestamp":10}}}
        gone: agt-1/events/progress.wal"#]],
    );
}

#[test]
fn ends_of_lines_and_doubled_lines_come_back_as_they_were() {
    let line = |cursor| event("control", cursor, 10);
    let logs = [
        format!("{}\r\n{}\r\n", line(0), line(1)),
        format!("{}\n{}", line(0), line(1)),
        format!("\u{feff}{}\n\n  {}\t\n\n", line(0), line(1)),
        format!("{}\r\n{}\n{}\r\n", line(0), line(1), line(2)),
        format!("{0}\n{1}\n{0}\n{1}\n{0}\n{1}\n{2}\n", line(0), line(1), line(2)),
        format!("{0}\n{1}\n{1}\n{0}\n{1}\n{1}\n{2}", line(0), line(1), line(2)),
        String::new(),
        "\r\n\n".to_owned(),
    ];
    for log in logs {
        let mut files = small("agt-1");
        files.insert("agt-1/events/control.log".to_owned(), log);
        assert_eq!(written(&read(&tree(&files))), files);
    }
}

#[test]
fn events_of_several_logs_come_by_time_and_in_their_own_order() {
    let mut files = small("agt-1");
    let log = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    files.insert(
        "agt-1/events/monitor.log".to_owned(),
        log(&[event("monitor", 0, 10), event("monitor", 3, 5), event("monitor", 0, 40)]),
    );
    files.insert("agt-1/events/progress.log".to_owned(), log(&[event("progress", 1, 7), event("progress", 2, 20)]));
    check(
        &files,
        expect![[r#"
        kode generation current: sample
        repaired: agt-1/events/monitor.log id repeated: 1 cursors are used again; the line says which event it is
        agent: 1 read, 1 mapped, 0 kept or told
        event: 5 read, 5 mapped, 0 kept or told
        message: 2 read, 2 mapped, 0 kept or told
        unmapped: agent.configVersion 1
        unmapped: agent.lastSfpIndex 1
        unmapped: agent.lineage 1
        unmapped: agent.metadata 1"#]],
    );
    expect![[r#"
        agt-1 "tpl"
          0: user hi
          1: assistant ho
          state breakpoint after Some(1): "READY"
          event progress 1970-01-01T00:00:00.007Z
          event monitor 1970-01-01T00:00:00.01Z
          event monitor 1970-01-01T00:00:00.005Z
          event progress 1970-01-01T00:00:00.02Z
          event monitor 1970-01-01T00:00:00.04Z"#]]
    .assert_eq(&outline(&read(&tree(&files))));
}
