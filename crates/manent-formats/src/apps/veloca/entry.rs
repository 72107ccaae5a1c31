//! Entries: messages, as records and as messages of the model.

use crate::apps::veloca::Generation;
use crate::core::json::{Members, Object};
use crate::core::time::{iso, moment};
use manent_model::{Body, Content, Extra, Json, Part, Time, TimeSource, Timestamp, Visibility};

/// An entry as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub id: Option<String>,
    pub session: Option<String>,
    pub content: Content,
    /// The source text of its time; `None` if it has none.
    pub time: Option<String>,
}

/// Members that a message holds.
pub(crate) const MAPPED: [&str; 12] = [
    "entry_id",
    "session_id",
    "message",
    "content",
    "role",
    "token_consumption",
    "status",
    "tools",
    "create_at",
    "thinking",
    "reasoning_content",
    "metadata",
];

/// Reads an entry; the reason if it is none.
pub(crate) fn read(text: &str) -> Result<Entry, String> {
    of(&Members::parse(text).ok_or("an entry is an object")?)
}

/// Reads an entry from its members.
pub(crate) fn of(members: &Members<'_>) -> Result<Entry, String> {
    let role = members.text("role").ok_or("an entry has a role")?;
    let time = members.text("create_at");
    let at = time.as_deref().and_then(moment);
    let known = if at.is_some() { TimeSource::Exact } else { TimeSource::Unknown };
    let mut content =
        Content::new(role, Time { at: at.unwrap_or(Timestamp(0)), source: known }, Body::of(&parts(members)));
    content.tokens = members.whole("token_consumption").and_then(|tokens| u32::try_from(tokens).ok());
    if members.whole("status") == Some(1) {
        // The format marks it as "not used": stored, but visible neither to readers nor to the model.
        content.seen = Visibility { by_reader: false, by_model: false };
    }
    content.metadata = members.json("metadata");
    Ok(Entry { id: members.text("entry_id"), session: members.text("session_id"), content, time })
}

fn parts(members: &Members<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    if let Some(text) = members.text("thinking").or_else(|| members.text("reasoning_content")) {
        parts.push(Part::Reasoning { text, extra: Extra::new() });
    }
    let text = members.text("content").or_else(|| members.text("message"));
    let tools = members.object("tools");
    let result = tools.as_ref().and_then(tool_result);
    let calls = tools.as_ref().and_then(|tools| tools.list("tool_calls")).unwrap_or_default();
    let calls: Vec<Part> = calls.iter().filter_map(|call| tool_call(call.get())).collect();
    // The text of a tool's answer is the answer again, and beside a call there may be none.
    let repeats = |text: &str| result.as_ref().is_some_and(|(_, words)| words == text);
    let alone = calls.is_empty() && result.is_none();
    parts.extend(text.filter(|text| !repeats(text) && (alone || !text.is_empty())).map(Part::text));
    parts.extend(calls);
    parts.extend(result.map(|(part, _)| part));
    parts
}

fn tool_call(text: &str) -> Option<Part> {
    let call = Members::parse(text)?;
    let function = call.object("function")?;
    let input = match function.text("arguments") {
        Some(arguments) => Json::parse(&arguments).unwrap_or_else(|_| Json::of(&arguments)),
        None => Json::of(&serde_json::Map::new()),
    };
    Some(Part::ToolCall { id: call.text("id")?, name: function.text("name")?, input, extra: Extra::new() })
}

/// Returns the result with the words that `content` repeats.
fn tool_result(tools: &Members<'_>) -> Option<(Part, String)> {
    let call = tools.text("tool_call_id")?;
    let mut extra = Extra::new();
    if let Some(name) = tools.json("function_name") {
        extra.push(("function".to_owned(), name));
    }
    let (content, is_error) = match (tools.json("result"), tools.json("error")) {
        (Some(result), _) => (result, false),
        (None, Some(error)) => (error, true),
        // A tool may answer with nothing.
        (None, None) => (Json::parse(tools.raw("result")?).ok()?, false),
    };
    if is_error {
        extra.push(("error".to_owned(), Json::of(&true)));
    }
    let words = crate::core::json::Style::COMPACT.format(content.text(), 0);
    Some((Part::ToolResult { call, content, extra }, words))
}

/// Writes a message as an entry of a generation.
pub(crate) fn write(entry: &Entry, generation: Generation) -> Object {
    let content = &entry.content;
    let parts = content.body.parts();
    let (tools, words) = (tools(&parts), words(&parts));
    let thinking = thinking(&parts);
    let status = i32::from(!content.seen.by_reader);
    let time = entry.time.clone().unwrap_or_else(|| time_text(content.time.at, generation));
    let object = Object::new().with("entry_id", &entry.id);
    match generation {
        Generation::Message | Generation::Content | Generation::Thinking => {
            let text = if generation == Generation::Message { "message" } else { "content" };
            let object = object
                .with("session_id", &entry.session)
                .with(text, &words)
                .with("role", &content.role)
                .with("token_consumption", &content.tokens.unwrap_or(0))
                .with("status", &status)
                .with("tools", &tools);
            let object = match generation {
                Generation::Thinking => object.with("thinking", &thinking),
                _ => object,
            };
            object.with("create_at", &time).with("is_compaction", &1)
        }
        Generation::Nested => object
            .with("role", &content.role)
            .with("content", &words)
            .with("create_at", &time)
            .with_some("tools", tools)
            .with_some("token_consumption", content.tokens)
            .with_some("reasoning_content", thinking)
            // Its programs show and send everything; ours reads what others said.
            .with_some("status", Some(status).filter(|status| *status != 0)),
        Generation::Rust => object
            .with("session_id", &entry.session)
            .with("content", &words)
            .with("role", &content.role)
            .with_some("token_consumption", content.tokens)
            .with("status", &status)
            .with_some("tools", tools)
            .with("create_at", &time)
            .with("is_compaction", &1)
            .with_some("metadata", content.metadata.as_ref()),
    }
}

/// Writes a time as the programs of a generation do.
pub(crate) fn time_text(at: Timestamp, generation: Generation) -> String {
    match (generation, jiff::Timestamp::from_microsecond(at.0)) {
        (Generation::Rust, Ok(timestamp)) => format!("{timestamp:.6}").replace('Z', "+00:00"),
        _ => iso(at),
    }
}

fn thinking(parts: &[Part]) -> Option<String> {
    let thoughts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Reasoning { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    (!thoughts.is_empty()).then(|| thoughts.join("\n\n"))
}

fn words(parts: &[Part]) -> String {
    let words: Vec<&str> = parts.iter().filter_map(Part::words).collect();
    match words.is_empty() {
        false => words.join("\n\n"),
        true => parts
            .iter()
            .find_map(|part| match part {
                Part::ToolResult { content, .. } => Some(crate::core::json::Style::COMPACT.format(content.text(), 0)),
                _ => None,
            })
            .unwrap_or_default(),
    }
}

/// The calls that a message asks for, or the answer that it brings.
fn tools(parts: &[Part]) -> Option<Json> {
    let calls: Vec<String> = parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { id, name, input, .. } => {
                let function = Object::new().with("name", name).with("arguments", &arguments(input));
                let call = Object::new().with("id", id).with("type", "function");
                Some(call.with("function", &Json::parse(&function.text()).ok()?).text())
            }
            _ => None,
        })
        .collect();
    if !calls.is_empty() {
        return Json::parse(&format!("{{\"tool_calls\":[{}]}}", calls.join(","))).ok();
    }
    parts.iter().find_map(|part| match part {
        Part::ToolResult { call, content, extra } => {
            let member = |name: &str| extra.iter().find(|(key, _)| key == name).map(|(_, value)| value);
            let object = Object::new().with("tool_call_id", call).with_some("function_name", member("function"));
            let name = if member("error").is_some() { "error" } else { "result" };
            Json::parse(&object.with(name, content).text()).ok()
        }
        _ => None,
    })
}

/// Arguments travel as a text. One that is no JSON was kept as a JSON string, and goes back as it was.
fn arguments(input: &Json) -> String {
    match input.read::<String>() {
        Ok(text) if Json::parse(&text).is_err() => text,
        _ => input.text().to_owned(),
    }
}
