//! Examples for the description, recorded from the story of all operations.

use serde_json::{Map, Value, json};

/// The time of every example.
const TIME: &str = "2026-11-16T08:00:00Z";

/// Writes down one call.
pub fn example(template: &str, path: &[&str], query: &str, request: &Value, response: &Value) -> Value {
    let names = template.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Map<String, Value> =
        names.zip(path).map(|(name, value)| (name.to_owned(), json!(value))).collect();
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        parameters.insert(name.to_owned(), json!(decoded(value)));
    }
    let mut example = json!({});
    if !parameters.is_empty() {
        example["parameters"] = Value::Object(parameters);
    }
    // Lines and bytes are no JSON.
    if request.is_object() {
        example["request"] = request.clone();
    }
    if !response.is_null() {
        example["response"] = response.clone();
    }
    example
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let hex = behind.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).expect("a story asks in UTF-8")
}

/// Replaces ids, times, keys and durations by ones that are the same in every run. `name` numbers ids: `conv_1`.
pub fn stable(value: &Value, mut name: impl FnMut(&str) -> String) -> Value {
    replaced(value, &mut name)
}

fn replaced(value: &Value, name: &mut impl FnMut(&str) -> String) -> Value {
    match value {
        Value::String(text) => json!(text.split(' ').map(|word| word_of(word, name)).collect::<Vec<_>>().join(" ")),
        Value::Array(items) => items.iter().map(|item| replaced(item, name)).collect(),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| match key.as_str() {
                "micros" => (key.clone(), json!(850)),
                _ => (key.clone(), replaced(value, name)),
            };
            Value::Object(members.iter().map(member).collect())
        }
        other => other.clone(),
    }
}

fn word_of(word: &str, name: &mut impl FnMut(&str) -> String) -> String {
    if word == crate::kit::TOKEN {
        return "TOKEN".to_owned();
    }
    let named = name(word);
    match named.rsplit_once('_') {
        _ if named == "TIME" => TIME.to_owned(),
        // An id that could be one.
        Some((prefix, number)) if named != word => format!("{prefix}_01K7H1RY3B{number:0>16}"),
        _ => named,
    }
}
