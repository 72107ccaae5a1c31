//! Tool call records: a state machine with its trail.

use crate::apps::kode::Generation;
use crate::core::json::{Members, Object, Style, merge};
use crate::core::time::{millis, moment, to_millis};
use manent_model::{Json, Timestamp, ToolCall, ToolState, ToolStep};

/// A tool call as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub id: String,
    pub name: String,
    pub state: ToolState,
    pub steps: Vec<ToolStep>,
    /// The newest time in the record.
    pub updated_at: i64,
}

/// Spelling of a state in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Upper,
    Camel,
    Number,
}

const CAMEL: [&str; 8] =
    ["pending", "approvalRequired", "approved", "executing", "completed", "failed", "denied", "sealed"];

/// Reads a record; the reason if it is none.
pub(crate) fn read(text: &str) -> Result<Call, String> {
    let members = Members::parse(text).ok_or("a tool call is an object")?;
    let first = |names: [&str; 2]| names.iter().find_map(|name| members.text(name));
    let id = first(["id", "callId"]).ok_or("a tool call has an id")?;
    let name = first(["name", "toolName"]).unwrap_or_default();
    let (state, _) = members.raw("state").and_then(state).ok_or("a tool call has a state that is known")?;
    let mut steps = Vec::new();
    for step in members.list("auditTrail").unwrap_or_default() {
        let Some(step) = Members::parse(step.get()) else { continue };
        let Some((state, _)) = step.raw("state").and_then(crate::apps::kode::call_record::state) else { continue };
        let note = step.text("note").unwrap_or_default();
        steps.push(ToolStep { state, at: time(&step, "timestamp").unwrap_or(Timestamp(0)), actor: None, note });
    }
    let newest = ["createdAt", "updatedAt", "completedAt"].iter().filter_map(|name| time(&members, name)).max();
    let updated_at = newest.max(steps.iter().map(|step| step.at).max()).map_or(0, to_millis);
    Ok(Call { id, name, state, steps, updated_at })
}

/// A time in milliseconds, or as a text.
pub(crate) fn time(members: &Members<'_>, name: &str) -> Option<Timestamp> {
    match members.whole(name) {
        Some(number) => millis(number),
        None => {
            let number = members.given(name)?.parse::<f64>().ok().filter(|number| number.abs() < 9e15);
            number.map(|number| Timestamp((number * 1_000.0) as i64)).or_else(|| moment(&members.text(name)?))
        }
    }
}

fn state(raw: &str) -> Option<(ToolState, Spelling)> {
    if let Ok(number) = raw.parse::<usize>() {
        return Some((*ToolState::ALL.get(number)?, Spelling::Number));
    }
    let word: String = serde_json::from_str(raw).ok()?;
    if let Some(place) = CAMEL.iter().position(|known| *known == word) {
        return Some((ToolState::ALL[place], Spelling::Camel));
    }
    Some((serde_json::from_str(raw).ok()?, Spelling::Upper))
}

fn spelled(state: ToolState, spelling: Spelling) -> String {
    let place = ToolState::ALL.iter().position(|known| *known == state).unwrap_or_default();
    match spelling {
        Spelling::Upper => Json::of(&state).text().to_owned(),
        Spelling::Camel => Json::of(&CAMEL[place]).text().to_owned(),
        Spelling::Number => place.to_string(),
    }
}

/// A generation's own spelling; a record that counts its states goes on doing so.
fn spelling(generation: Generation, source: Spelling) -> Spelling {
    match (generation, source) {
        (Generation::CSharp, Spelling::Number) => Spelling::Number,
        (Generation::CSharp, _) => Spelling::Camel,
        _ => Spelling::Upper,
    }
}

fn step(step: &ToolStep, spelling: Spelling) -> String {
    let mut object = Object(vec![("state".to_owned(), spelled(step.state, spelling))]);
    object = object.with("timestamp", &to_millis(step.at));
    object.with_some("note", Some(&step.note).filter(|note| !note.is_empty())).text()
}

/// Writes a tool call: in its own record, with what has happened since.
pub(crate) fn write(
    call: &ToolCall,
    steps: &[ToolStep],
    input: impl FnOnce() -> Option<Json>,
    generation: Generation,
    style: Style,
) -> String {
    let raw = call.record.text();
    let Ok(was) = read(raw) else { return style.format(&fresh(call, steps, input(), generation), 1) };
    let members = Members::parse(raw).unwrap_or_default();
    let source = members.raw("state").and_then(state).map_or(Spelling::Upper, |(_, spelling)| spelling);
    let target = spelling(generation, source);
    let more = steps.get(was.steps.len()..).unwrap_or_default();
    let word = |state, spelling| ("state".to_owned(), spelled(state, spelling));
    let mut before = Object(vec![word(was.state, source)]);
    let mut now = Object(vec![word(call.state, target)]);
    if let (Some(trail), Some(last)) = (members.raw("auditTrail"), more.last()) {
        // Unknown fields of a step stay in it.
        let old = members.list("auditTrail").unwrap_or_default();
        let old = old.iter().map(|element| element.get().to_owned());
        let all: Vec<String> = old.chain(more.iter().map(|more| step(more, target))).collect();
        if let Some(updated) = members.raw("updatedAt") {
            before.0.push(("updatedAt".to_owned(), updated.to_owned()));
            now.0.push(("updatedAt".to_owned(), to_millis(last.at).to_string()));
        }
        before.0.push(("auditTrail".to_owned(), trail.to_owned()));
        now.0.push(("auditTrail".to_owned(), format!("[{}]", all.join(","))));
    }
    merge(raw, &before, &now, style, 1)
}

/// The record of a call that the program never saw.
fn fresh(call: &ToolCall, steps: &[ToolStep], input: Option<Json>, generation: Generation) -> String {
    let spelling = spelling(generation, Spelling::Upper);
    let at = |step: Option<&ToolStep>| step.map_or(0, |step| to_millis(step.at));
    let approval = Object::new().with("required", &steps.iter().any(|step| step.state == ToolState::ApprovalRequired));
    let mut object = Object::new().with("id", &call.call_id).with("name", &call.name);
    object = object.with("input", &input.unwrap_or_else(|| Json::of(&serde_json::Map::new())));
    object.0.push(("state".to_owned(), spelled(call.state, spelling)));
    object.0.push(("approval".to_owned(), approval.text()));
    object = object.with("createdAt", &at(steps.first())).with("updatedAt", &at(steps.last()));
    let trail: Vec<String> = steps.iter().map(|one| step(one, spelling)).collect();
    object.0.push(("auditTrail".to_owned(), format!("[{}]", trail.join(","))));
    object.text()
}
