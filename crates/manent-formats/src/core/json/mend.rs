//! Repair of broken JSON: removes invalid members and elements from a value and keeps the rest.

use crate::core::json::scan::{Outline, Shape, Span, outline};
use serde::de::IgnoredAny;

/// Deeper values are taken out whole.
const DEPTH_MAX: usize = 64;

/// A value without its invalid members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// The value; what remains is unchanged.
    pub text: String,
    /// Removed members, in order.
    pub removed: Vec<Removed>,
}

/// A member or element that is no JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Its name, with those of the objects around it: `plot_state.no_update_count`.
    pub path: String,
    /// The span of its value in the repaired text.
    pub span: Span,
}

/// Takes out of an object or array what is no JSON; none if the text is neither, or nothing of it is left.
pub fn mend(text: &str) -> Option<Mended> {
    let mut removed = Vec::new();
    let mended = value(text, 0, "", 0, &mut removed)?;
    is_json(&mended).then_some(Mended { text: mended, removed })
}

pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Returns a value without its invalid members; none if nothing of it is left.
fn value(text: &str, base: u64, path: &str, depth: usize, removed: &mut Vec<Removed>) -> Option<String> {
    if is_json(text) {
        return Some(text.to_owned());
    }
    if depth > DEPTH_MAX {
        return None;
    }
    const OBJECT: Shape = Shape::Object(&[]);
    const LIST: Shape = Shape::List(&Shape::Value);
    let bytes = text.as_bytes().to_vec();
    let outlined = |shape| outline(&bytes, shape).ok().filter(|outlined| outlined.torn_at.is_none());
    let (close, children): (_, Vec<(Option<String>, Span)>) = match text.as_bytes().first()? {
        b'{' => match outlined(&OBJECT)?.root? {
            Outline::Object { members, .. } => {
                ("}", members.into_iter().map(|(key, value)| (Some(key), value.span())).collect())
            }
            _ => return None,
        },
        b'[' => match outlined(&LIST)?.root? {
            Outline::List { items, .. } => ("]", items.iter().map(|item| (None, item.span())).collect()),
            _ => return None,
        },
        _ => return None,
    };
    let (mut kept, mut end, mut is_first) = (text[..1].to_owned(), 1, true);
    for (place, (key, span)) in children.iter().enumerate() {
        let (from, to) = (span.from as usize, span.to as usize);
        let name = key.clone().unwrap_or_else(|| place.to_string());
        let path = if path.is_empty() { name } else { format!("{path}.{name}") };
        match value(&text[from..to], base + span.from, &path, depth + 1, removed) {
            Some(child) => {
                // The bytes before it begin with the comma after the previous one.
                let before = &text[end..from];
                kept.push_str(match is_first && place > 0 {
                    true => before.trim_start().trim_start_matches(','),
                    false => before,
                });
                kept.push_str(&child);
                is_first = false;
            }
            None => {
                removed.push(Removed { path, span: Span { from: base + span.from, to: base + span.to } });
            }
        }
        end = to;
    }
    if is_first && depth == 0 {
        return None;
    }
    let behind = text[end..text.len() - 1].trim_start_matches(|letter: char| letter == ',' || letter.is_whitespace());
    let inside = &text[..text.len() - 1];
    let space = &inside[inside.trim_end().len()..];
    kept.push_str(if behind.is_empty() { space } else { behind });
    kept.push_str(close);
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mend_takes_out_what_is_no_json_and_keeps_the_rest() {
        let check = |text: &str, mended: &str, removed: &[(&str, &str)]| {
            let found = mend(text).expect(text);
            assert_eq!(found.text, mended);
            let taken = |one: &Removed| (one.path.clone(), &text[one.span.from as usize..one.span.to as usize]);
            let found: Vec<_> = found.removed.iter().map(taken).collect();
            let removed: Vec<_> = removed.iter().map(|(path, text)| ((*path).to_owned(), *text)).collect();
            assert_eq!(found, removed);
        };
        check(r#"{"a":1}"#, r#"{"a":1}"#, &[]);
        check(r#"{"a":x, "b" : 2}"#, r#"{ "b" : 2}"#, &[("a", "x")]);
        check(r#"{"a":1, "b": 17!2}"#, r#"{"a":1}"#, &[("b", "17!2")]);
        check("{\n  \"a\": 1,\n  \"b\": ,\n  \"c\": 3\n}", "{\n  \"a\": 1,\n  \"c\": 3\n}", &[("b", "")]);
        check("{\n  \"a\": 1,\n  \"b\": no\n}", "{\n  \"a\": 1\n}", &[("b", "no")]);
        check(r#"{"a":{"b":[1,x,{"c":y,"d":4}]}}"#, r#"{"a":{"b":[1,{"d":4}]}}"#, &[("a.b.1", "x"), ("a.b.2.c", "y")]);
        assert_eq!(mend("x"), None);
        assert_eq!(mend(r#"{"a":x}"#), None);
    }
}
