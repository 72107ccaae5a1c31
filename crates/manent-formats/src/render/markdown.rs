//! Markdown export: one file per conversation, with its metadata as front matter.

use super::layout::{MessageHeading, address, count, each_message, layout};
use super::name::file_name;
use crate::core::export::*;
use crate::core::losses::Losses;
use crate::core::names::Names;
use crate::core::time;
use manent_model::{ConversationId, Part};
use std::fmt::Write as _;
use std::io::{BufWriter, Write};

/// Writes conversations, a file for each.
pub fn write(
    library: &mut dyn ExportSource,
    out: &mut dyn FileSink,
    generation: Option<&str>,
) -> Result<Vec<Loss>, WriteError> {
    unsupported_option::<()>(super::MARKDOWN, &[], generation, |_| None)?;
    let (mut losses, mut names) = (Losses::default(), Names::default());
    for place in 0..library.count() {
        let about = library.conversation(place)?;
        let name = file_name(&mut names, &about.conversation.title, &about.conversation.id.to_string(), ".md");
        let failed = |source| WriteError::File { file: name.clone(), source };
        let mut target = BufWriter::new(out.create(&name).map_err(failed)?);
        target.write_all(front(&about).as_bytes()).map_err(failed)?;
        each_message(library, place, &mut losses, &about, |message, _, losses| {
            let mut text = heading(message);
            for part in message.content.body.parts() {
                write_part(&mut text, &part, about.conversation.id, losses);
            }
            for (fold, _) in about.folds.iter().filter(|(fold, _)| fold.after == message.id) {
                if let Some(summary) = &fold.summary {
                    quote(&mut text, "Summary of the messages above", summary);
                }
            }
            target.write_all(text.as_bytes()).map_err(failed)
        })?;
        target.flush().map_err(failed)?;
        drop(target);
        count(&mut losses, library, place, &about)?;
    }
    Ok(losses.told())
}

/// Metadata of a conversation as YAML. A JSON text is YAML too, so that no title can end a line.
fn front(out: &ExportedConversation) -> String {
    let about = &out.conversation;
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = format!("---\nid: {}\ntitle: {}\n", quoted(&about.id.to_string()), quoted(&about.title));
    let mut line = |name: &str, value: String| writeln!(text, "{name}: {value}").unwrap_or_default();
    line("kind", word(&about.kind));
    line("status", word(&about.status));
    line("created", quoted(&time::iso(about.created_at)));
    line("active", quoted(&time::iso(about.active_at)));
    if let Some((project, _)) = &out.project {
        line("project", quoted(&project.name));
    }
    if about.pinned {
        line("pinned", "true".to_owned());
    }
    if !about.tags.is_empty() {
        line("tags", serde_json::to_string(&about.tags).unwrap_or_default());
    }
    let people =
        |author: &manent_model::Author| if author.name.is_empty() { author.id.clone() } else { author.name.clone() };
    if !about.members.is_empty() {
        let names: Vec<String> = about.members.iter().map(people).collect();
        line("members", serde_json::to_string(&names).unwrap_or_default());
    }
    if let Some(creator) = &about.creator {
        line("creator", quoted(&people(creator)));
    }
    if let Some(external) = out.record.as_ref().and_then(|record| record.external.as_ref()) {
        line("external", quoted(external));
    }
    text.push_str("---\n");
    if !about.title.is_empty() {
        let title: String = about.title.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let _ = write!(text, "\n# {}\n", escaped(&title));
    }
    text
}

/// A word of the model, as it is written in JSON.
fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default().trim_matches('"').to_owned()
}

fn heading(message: &ExportedMessage) -> String {
    let heading = MessageHeading::of(&message.content);
    let mut text = format!("\n## {}\n", escaped(&heading.who));
    if !heading.about.is_empty() {
        let _ = write!(text, "\n*{}*\n", escaped(&heading.about.join(" · ")));
    }
    text
}

fn write_part(text: &mut String, part: &Part, conversation: ConversationId, losses: &mut Losses) {
    let _ = match part {
        Part::Text { text: words, .. } => write!(text, "\n{}\n", words.trim_end()),
        Part::Reasoning { text: words, .. } => {
            quote(text, "Reasoning", words);
            Ok(())
        }
        Part::Summary { text: words, .. } => {
            quote(text, "Summary", words);
            Ok(())
        }
        Part::Error { text: words, .. } => {
            quote(text, "Error", words);
            Ok(())
        }
        Part::ToolCall { name, input, .. } => {
            let _ = write!(text, "\n**Called {}**\n", escaped(name));
            fence(text, &layout(input));
            Ok(())
        }
        Part::ToolResult { content, .. } => {
            let _ = write!(text, "\n**Result**\n");
            fence(text, &layout(content));
            Ok(())
        }
        Part::Media { mime, extra, .. } => match address(extra) {
            Some(address) => write!(text, "\n[{}](<{}>)\n", escaped(mime), address.replace(['<', '>', '\n'], "")),
            None => {
                losses.add(conversation, "media", 1);
                write!(text, "\n*Attachment: {}*\n", escaped(mime))
            }
        },
        Part::Source { title, extra } => match address(extra) {
            Some(address) => write!(text, "\n- [{}](<{}>)\n", escaped(title), address.replace(['<', '>', '\n'], "")),
            None => write!(text, "\n- {}\n", escaped(title)),
        },
        Part::Opaque(_) => Ok(()),
    };
}

fn quote(text: &mut String, what: &str, words: &str) {
    let _ = write!(text, "\n> **{what}**\n>\n");
    for line in words.trim_end().lines() {
        let _ = writeln!(text, "> {line}");
    }
}

/// A code block whose fence is longer than any inside it.
fn fence(text: &mut String, code: &str) {
    let longest = code.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = write!(text, "\n{fence}\n{}\n{fence}\n", code.trim_end());
}

/// Takes the meaning out of letters that Markdown would act on.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}
