//! Self-contained HTML page: no scripts, no external resources, all content escaped.

use super::layout::{MessageHeading, address, count, each_message, layout};
use crate::core::export::*;
use crate::core::losses::Losses;
use crate::core::time;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use manent_model::{ConversationId, Part};
use pulldown_cmark::html::push_html;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::io::{BufWriter, Write};

const NAME: &str = "conversations.html";
/// Pictures of these kinds are shown; none of them can hold a script.
const PICTURES: [&str; 5] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

const STYLE: &str = include_str!("page.css");

/// Writes conversations into one page.
pub fn write(
    library: &mut dyn ExportSource,
    out: &mut dyn FileSink,
    generation: Option<&str>,
) -> Result<Vec<Loss>, WriteError> {
    unsupported_option::<()>(super::HTML, &[], generation, |_| None)?;
    let failed = |source| WriteError::File { file: NAME.to_owned(), source };
    let mut losses = Losses::default();
    let mut target = BufWriter::new(out.create(NAME).map_err(failed)?);
    let mut titles = Vec::new();
    for place in 0..library.count() {
        let about = library.conversation(place)?.conversation;
        titles.push(if about.title.is_empty() { about.id.to_string() } else { about.title });
    }
    target.write_all(beginning(&titles).as_bytes()).map_err(failed)?;
    for (place, title) in titles.iter().enumerate() {
        let about = library.conversation(place)?;
        let (made, last) = (time::iso(about.conversation.created_at), time::iso(about.conversation.active_at));
        let tags: Vec<String> = about.conversation.tags.iter().map(|tag| format!("#{tag}")).collect();
        let line = [vec![made, last], tags].concat().join(" · ");
        let head =
            format!("<section id=\"c{place}\"><h2>{}</h2><p class=\"about\">{}</p>\n", escaped(title), escaped(&line),);
        target.write_all(head.as_bytes()).map_err(failed)?;
        each_message(library, place, &mut losses, &about, |message, library, losses| {
            let mut text = begin_message(message);
            for part in message.content.body.parts() {
                write_part(&mut text, &part, about.conversation.id, library, losses)?;
            }
            for (fold, _) in about.folds.iter().filter(|(fold, _)| fold.after == message.id) {
                if let Some(summary) = &fold.summary {
                    aside(&mut text, "Summary of the messages above", summary);
                }
            }
            text.push_str("</article>\n");
            target.write_all(text.as_bytes()).map_err(failed)
        })?;
        target.write_all(b"</section>\n").map_err(failed)?;
        count(&mut losses, library, place, &about)?;
        losses.add(about.conversation.id, "project", usize::from(about.project.is_some()));
        losses.add(about.conversation.id, "members", about.conversation.members.len());
    }
    target.write_all(b"</main></body></html>\n").and_then(|()| target.flush()).map_err(failed)?;
    Ok(losses.told())
}

fn beginning(titles: &[String]) -> String {
    let title = match titles {
        [only] => escaped(only),
        all => format!("{} conversations", all.len()),
    };
    let links =
        |(place, title): (usize, &String)| format!("<li><a href=\"#c{place}\"><bdi>{}</bdi></a></li>", escaped(title));
    let contents = match titles {
        [] | [_] => String::new(),
        all => format!("<nav><ol>{}</ol></nav>", all.iter().enumerate().map(links).collect::<String>()),
    };
    format!(
        "<!doctype html>\n<html><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\
         <meta name=\"referrer\" content=\"no-referrer\"><title>{title}</title><style>{STYLE}</style></head>\n\
         <body><main><h1>{title}</h1>{contents}\n"
    )
}

fn begin_message(message: &ExportedMessage) -> String {
    let heading = MessageHeading::of(&message.content);
    // The role chooses a colour, so only those that have one are named.
    let role = match message.content.role.as_str() {
        role @ ("user" | "assistant" | "system" | "tool") => role,
        _ => "other",
    };
    let (who, about) = (escaped(&heading.who), escaped(&heading.about.join(" · ")));
    format!("<article class=\"{role}\"><h3><bdi>{who}</bdi> <small>{about}</small></h3>\n")
}

fn write_part(
    text: &mut String,
    part: &Part,
    conversation: ConversationId,
    library: &mut dyn ExportSource,
    losses: &mut Losses,
) -> Result<(), WriteError> {
    match part {
        Part::Text { text: words, .. } => text.push_str(&format!("<div dir=\"auto\">{}</div>\n", rendered(words))),
        Part::Reasoning { text: words, .. } => aside(text, "Reasoning", words),
        Part::Summary { text: words, .. } => aside(text, "Summary", words),
        Part::Error { text: words, .. } => {
            text.push_str(&format!("<p class=\"error\" dir=\"auto\">{}</p>\n", escaped(words)))
        }
        Part::ToolCall { name, input, .. } => code(text, &format!("Called {name}"), &layout(input)),
        Part::ToolResult { content, .. } => code(text, "Result", &layout(content)),
        Part::Media { mime, blob, extra } => {
            let is_picture = PICTURES.contains(&mime.as_str());
            let bytes = match blob {
                Some(blob) if is_picture => library.blob(blob)?,
                _ => None,
            };
            match (bytes, address(extra)) {
                (Some(bytes), _) => {
                    text.push_str(&format!("<img alt=\"\" src=\"data:{mime};base64,{}\">\n", STANDARD.encode(bytes)));
                }
                (None, Some(address)) => text.push_str(&link(&address, mime)),
                (None, None) => {
                    losses.add(conversation, "media", 1);
                    text.push_str(&format!("<p class=\"about\">Attachment: {}</p>\n", escaped(mime)));
                }
            }
        }
        Part::Source { title, extra } => match address(extra) {
            Some(address) => text.push_str(&link(&address, title)),
            None => text.push_str(&format!("<p class=\"about\" dir=\"auto\">{}</p>\n", escaped(title))),
        },
        Part::Opaque(_) => {}
    }
    Ok(())
}

fn link(address: &str, title: &str) -> String {
    format!("<p><a rel=\"noopener noreferrer\" href=\"{}\">{}</a></p>\n", escaped(address), escaped(title))
}

fn aside(text: &mut String, what: &str, words: &str) {
    text.push_str(&format!(
        "<details><summary>{what}</summary><div dir=\"auto\">{}</div></details>\n",
        rendered(words)
    ));
}

fn code(text: &mut String, what: &str, code: &str) {
    text.push_str(&format!(
        "<details><summary>{}</summary><pre dir=\"auto\">{}</pre></details>\n",
        escaped(what),
        escaped(code)
    ));
}

/// Markdown as HTML. What looks like HTML in it is shown as it was written; pictures become links.
fn rendered(words: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(words, options).map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::SoftBreak => Event::HardBreak,
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Image { link_type, dest_url, title, id } | Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = if is_harmless(&dest_url) { dest_url } else { "#".into() };
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        Event::End(TagEnd::Image | TagEnd::Link) => Event::End(TagEnd::Link),
        event => event,
    });
    let mut html = String::with_capacity(words.len() * 2);
    push_html(&mut html, events);
    html
}

fn is_harmless(address: &str) -> bool {
    let address = address.trim_start().to_ascii_lowercase();
    ["https://", "http://", "mailto:"].iter().any(|scheme| address.starts_with(scheme))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}
