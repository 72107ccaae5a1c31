//! Small folders as the programs write them.

use crate::kit::report;
use crate::kode::{read, written};
use expect_test::Expect;
use manent_formats::Item;
use manent_formats::core::json::Style;
use manent_formats::core::source_fs::MemoryTree;
use std::collections::BTreeMap;

pub type Files = BTreeMap<String, String>;

pub fn tree(files: &Files) -> MemoryTree {
    MemoryTree::new("sample", files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes())).collect())
}

/// `JSON.stringify(value, null, 2)`.
pub fn pretty(json: &str) -> String {
    Style::PRETTY.format(json, 0)
}

pub fn meta(id: &str) -> String {
    pretty(&format!(
        r#"{{"agentId":"{id}","templateId":"tpl","createdAt":"2026-01-02T03:04:05.006Z","lineage":[],"configVersion":"v2.7.0","messageCount":2,"lastSfpIndex":1,"metadata":{{"agentId":"{id}","templateId":"tpl","modelConfig":{{"provider":"p","model":"m","apiKey":"secret"}},"tools":[],"createdAt":"2026-01-02T03:04:05.006Z","updatedAt":"2026-01-02T03:04:06.006Z","configVersion":"v2.7.0","lineage":[],"breakpoint":"READY"}}}}"#
    ))
}

pub fn said(role: &str, text: &str) -> String {
    format!(r#"{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}"#)
}

pub fn list(records: &[String]) -> String {
    pretty(&format!("[{}]", records.join(",")))
}

pub fn event(channel: &str, cursor: u32, at: u64) -> String {
    format!(
        r#"{{"cursor":{cursor},"bookmark":{{"seq":{cursor},"timestamp":{at}}},"event":{{"channel":"{channel}","type":"done","step":{cursor},"bookmark":{{"seq":{cursor},"timestamp":{at}}}}}}}"#
    )
}

/// Two messages and what is said about them.
pub fn small(id: &str) -> Files {
    let mut files = Files::new();
    files.insert(format!("{id}/meta.json"), meta(id));
    let messages = [said("user", "hi"), said("assistant", "ho")];
    files.insert(format!("{id}/runtime/messages.json"), list(&messages));
    files
}

/// Reads files, looks at the report, and writes them again to the byte.
pub fn check(files: &Files, expected: Expect) -> Vec<Item> {
    let items = read(&tree(files));
    expected.assert_eq(&report(&items));
    assert_eq!(written(&items), *files);
    items
}

/// Shows the messages of a conversation with what each stands behind, and its folds and bookmarks.
pub fn outline(items: &[Item]) -> String {
    use manent_formats::Follows;
    let mut lines = Vec::new();
    let mut count = 0;
    for item in items {
        match item {
            Item::Conversation(item) => {
                count = 0;
                let fork = item.forked_from.as_ref().map_or(String::new(), |parent| format!(" from {parent}"));
                lines.push(format!("{} {:?}{fork}", item.external, item.title));
            }
            Item::Message(item) => {
                let behind = match item.follows {
                    Follows::Last => String::new(),
                    Follows::At(parent) => format!(" behind {parent:?}"),
                };
                lines.push(format!("  {count}{behind}: {} {}", item.content.role, item.content.body.words()));
                count += 1;
            }
            Item::Fold(item) => lines.push(format!(
                "  fold {:?} covers {:?} after {}: {:?}",
                item.external, item.covers, item.after, item.summary
            )),
            Item::Bookmark(item) => lines.push(format!("  bookmark {:?} at {:?}", item.name, item.head)),
            Item::State(item) => {
                lines.push(format!("  state {} after {:?}: {}", item.name, item.after, item.value.text()))
            }
            Item::ToolCall(item) => lines.push(format!(
                "  call {} {:?} {:?} steps {}",
                item.call_id,
                item.part,
                item.state,
                item.steps.len()
            )),
            Item::Event(item) => lines.push(format!("  event {} {}", item.channel, item.at)),
            Item::End { head: Some(head) } => lines.push(format!("  head {head}")),
            _ => {}
        }
    }
    lines.join("\n")
}
