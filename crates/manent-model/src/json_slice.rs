//! Zero-copy reader of validated JSON: members, elements, and the end of a value.
//!
//! Only strings with escapes are copied. Invalid JSON gives wrong results, but no panic.

use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// Returns the values of an array, as they are written.
pub fn elements(array: &str) -> impl Iterator<Item = &str> {
    let bytes = array.as_bytes();
    let mut at = skip_space(bytes, 0) + 1;
    std::iter::from_fn(move || {
        at = skip_space(bytes, at);
        if bytes.get(at) == Some(&b',') {
            at = skip_space(bytes, at + 1);
        }
        let from = at;
        at = value_end(bytes, from);
        array.get(from..at).map(str::trim_ascii_end).filter(|value| !value.is_empty())
    })
}

/// Returns the members of an object in their order, with values as they are written; nothing for another value, and
/// where a name is no text.
pub fn members(object: &str) -> Option<Vec<(Cow<'_, str>, &str)>> {
    let bytes = object.as_bytes();
    let mut found = Vec::with_capacity(4);
    let mut at = skip_space(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    at += 1;
    loop {
        at = skip_space(bytes, at);
        match bytes.get(at)? {
            b'}' => return Some(found),
            b'"' => {}
            _ => {
                at += 1;
                continue;
            }
        }
        let end = string_end(bytes, at);
        let name = string(object.get(at..end)?)?;
        let from = skip_space(bytes, skip_space(bytes, end) + 1);
        at = value_end(bytes, from);
        found.push((name, object.get(from..at)?.trim_ascii_end()));
    }
}

/// Returns the text of a string; nothing for another value, and for one that no Rust string can hold.
pub fn string(value: &str) -> Option<Cow<'_, str>> {
    let inside = value.strip_prefix('"')?.strip_suffix('"')?;
    match memchr(b'\\', inside.as_bytes()) {
        None => Some(Cow::Borrowed(inside)),
        Some(_) => serde_json::from_str::<String>(value).ok().map(Cow::Owned),
    }
}

/// Returns the index of the next byte that is not white space.
pub fn skip_space(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Returns the index after the closing quote of the string that opens here.
pub fn string_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        match bytes[at + found] {
            b'"' => return at + found + 1,
            _ => at += found + 2,
        }
    }
    bytes.len()
}

/// Returns the index after the value that begins here, after white space.
pub fn value_end(bytes: &[u8], from: usize) -> usize {
    let mut at = skip_space(bytes, from);
    let mut depth = 0usize;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = string_end(bytes, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth == 0 => return at,
            b']' | b'}' if depth == 1 => return at + 1,
            b']' | b'}' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    at.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_and_objects_are_read_as_they_lie() {
        let all = |array| elements(array).collect::<Vec<_>>();
        assert_eq!(
            all(r#" [ {"a":[1,"]"]} , "x\"],", 7e-1,[[]],null ] "#),
            [r#"{"a":[1,"]"]}"#, r#""x\"],""#, "7e-1", "[[]]", "null"]
        );
        assert!(all("[]").is_empty() && all(" [ ] ").is_empty());
        let shown = |object| {
            members(object)
                .map(|all| all.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(
            shown(r#"{ "a" : 1.50 ,"b\n":{"c":"}"}, "a":"" }"#).as_deref(),
            Some("a=1.50 b\n={\"c\":\"}\"} a=\"\"")
        );
        assert_eq!(shown("{}").as_deref(), Some(""));
        for other in ["[]", "1", "\"{}\"", r#"{"\ud800":1}"#] {
            assert_eq!(shown(other), None, "{other}");
        }
        for (value, text) in [(r#""""#, Some("")), (r#""a\u00e9\/""#, Some("aé/")), (r#""\ud800""#, None), ("1", None)]
        {
            assert_eq!(string(value).as_deref(), text, "{value}");
        }
    }

    #[test]
    fn what_was_not_checked_does_no_harm() {
        let whole = r#"[{"a":"b\"c","d":[1,{"e":null}]},"f"]"#;
        for end in 0..whole.len() {
            let cut = &whole[..end];
            for element in elements(cut) {
                let _ = (members(element), string(element));
            }
            let _ = members(&cut[cut.len().min(1)..]);
        }
    }
}
