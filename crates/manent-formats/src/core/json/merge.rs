//! Minimal edit of a JSON record: changes its source text only where its value has changed.
//!
//! A writer serializes the record both as it was read and as it is now. Where both agree, the source text is kept:
//! unknown members, number format, order and spaces. Where they differ, the source text is replaced.

use crate::core::json::members::{Members, Object};
use crate::core::json::style::Style;
use serde_json::value::RawValue;

/// Returns the source text with the changes from one object to the other made in it.
pub fn merge(source: &str, was: &Object, now: &Object, style: Style, level: usize) -> String {
    if was == now {
        return source.to_owned();
    }
    let Some(mut pieces) = Pieces::of(source) else {
        return style.format(&now.text(), level);
    };
    let find =
        |object: &Object, name: &str| object.0.iter().rev().find(|(key, _)| key == name).map(|(_, text)| text.clone());
    for (name, _) in &was.0 {
        if find(now, name).is_none() {
            pieces.remove(name);
        }
    }
    let mut before: Option<&str> = None;
    for (name, value) in &now.0 {
        let earlier = find(was, name);
        if earlier.as_ref() != Some(value) {
            match pieces.place(name) {
                Some(place) => {
                    let source = &pieces.entries[place].value;
                    let earlier = earlier.as_deref().unwrap_or("null");
                    pieces.entries[place].value = merge_value(source, earlier, value, style, level + 1);
                }
                None => pieces.insert(before, name, style.format(value, level + 1), style, level + 1),
            }
        }
        // A member that is neither in the source nor changed does not determine the position of the next one.
        before = Some(name.as_str()).filter(|name| pieces.place(name).is_some()).or(before);
    }
    pieces.text()
}

/// Returns a source text with the changes made in it that lead to another value, whatever the layout of that.
pub fn merge_text(source: &str, now: &str, style: Style, level: usize) -> String {
    let (was, now) = (Style::COMPACT.format(source, 0), Style::COMPACT.format(now, 0));
    merge_value(source, &was, &now, style, level)
}

fn merge_value(source: &str, was: &str, now: &str, style: Style, level: usize) -> String {
    if was == now {
        return source.to_owned();
    }
    if let (Some(_), Some(was), Some(now)) = (Members::parse(source), object(was), object(now)) {
        return merge(source, &was, &now, style, level);
    }
    let elements = |text: &str| serde_json::from_str::<Vec<Box<RawValue>>>(text).ok();
    let borrowed: Option<Vec<&RawValue>> = serde_json::from_str(source).ok();
    if let (Some(old), Some(was), Some(now)) = (borrowed, elements(was), elements(now))
        && old.len() == was.len()
        && was.len() == now.len()
        && !old.is_empty()
    {
        let (mut text, mut from) = (String::new(), 0);
        for (place, element) in old.iter().enumerate() {
            let at = element.get().as_ptr() as usize - source.as_ptr() as usize;
            text.push_str(&source[from..at]);
            text.push_str(&merge_value(element.get(), was[place].get(), now[place].get(), style, level + 1));
            from = at + element.get().len();
        }
        text.push_str(&source[from..]);
        return text;
    }
    style.format(now, level)
}

fn object(text: &str) -> Option<Object> {
    let members = Members::parse(text)?;
    Some(Object(members.0.iter().map(|(key, value)| (key.clone().into_owned(), value.get().to_owned())).collect()))
}

/// An object cut at its members.
struct Pieces {
    entries: Vec<Entry>,
    tail: String,
}

struct Entry {
    /// The bytes before the value: comma, space, name, colon.
    lead: String,
    name: String,
    value: String,
}

impl Pieces {
    fn of(source: &str) -> Option<Self> {
        let members = Members::parse(source)?;
        let (mut entries, mut from) = (Vec::new(), 0);
        for (name, value) in &members.0 {
            let at = value.get().as_ptr() as usize - source.as_ptr() as usize;
            let lead = source[from..at].to_owned();
            entries.push(Entry { lead, name: name.clone().into_owned(), value: value.get().to_owned() });
            from = at + value.get().len();
        }
        Some(Self { entries, tail: source[from..].to_owned() })
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.name == name)
    }

    fn remove(&mut self, name: &str) {
        while let Some(place) = self.place(name) {
            let gone = self.entries.remove(place);
            if let (0, Some(first)) = (place, self.entries.first_mut()) {
                // The first has the brace before its name, where the others have a comma.
                let opening = gone.lead.split('"').next().unwrap_or("{").to_owned();
                let name = first.lead.find('"').map_or("", |at| &first.lead[at..]).to_owned();
                first.lead = opening + &name;
            } else if self.entries.is_empty() {
                self.tail = format!("{{{}", self.tail.trim_start());
            }
        }
    }

    fn insert(&mut self, before: Option<&str>, name: &str, value: String, style: Style, level: usize) {
        let quoted = serde_json::to_string(name).expect("a text is JSON");
        if self.entries.is_empty() {
            let lead = format!("{{{}{quoted}{}", style.line(level), style.colon());
            self.entries.push(Entry { lead, name: name.to_owned(), value });
            self.tail = format!("{}}}", style.line(level.saturating_sub(1)));
            return;
        }
        // It looks like its neighbours: their space before the name, their colon behind it.
        let space = self.entries[0].lead[1..].split('"').next().unwrap_or_default().to_owned();
        let colon = self.entries[0].lead.rsplit('"').next().unwrap_or(":").to_owned();
        let place = before.and_then(|name| self.place(name)).map_or(0, |place| place + 1);
        let lead = match place {
            0 => format!("{{{space}{quoted}{colon}"),
            _ => format!(",{space}{quoted}{colon}"),
        };
        if let (0, Some(first)) = (place, self.entries.first_mut()) {
            first.lead.replace_range(..1, ",");
        }
        self.entries.insert(place, Entry { lead, name: name.to_owned(), value });
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            text.push_str(&entry.lead);
            text.push_str(&entry.value);
        }
        text + &self.tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, was: &str, now: &str, expected: &str) {
        let (was, now) = (object(was).expect("an object"), object(now).expect("an object"));
        assert_eq!(merge(source, &was, &now, Style::of(source), 0), expected);
    }

    #[test]
    fn only_the_changed_place_differs() {
        let source =
            "{\n  \"x\" : 1.50,\n  \"name\": \"a\",\n  \"tags\": [ 1, 2 ],\n  \"deep\": {\"k\":null , \"u\":0}\n}";
        check(source, r#"{"name":"a"}"#, r#"{"name":"a"}"#, source);
        check(source, r#"{"name":"a"}"#, r#"{"name":"b"}"#, &source.replace("\"a\"", "\"b\""));
        check(source, r#"{"tags":[1,2]}"#, r#"{"tags":[1,3]}"#, &source.replace(", 2 ]", ", 3 ]"));
        check(source, r#"{"deep":{"k":null}}"#, r#"{"deep":{"k":[]}}"#, &source.replace(":null", ":[]"));
        check(source, r#"{"name":"a"}"#, "{}", &source.replace("\n  \"name\": \"a\",", ""));
        check(source, r#"{"x":1}"#, "{}", &source.replace("\n  \"x\" : 1.50,", ""));
        check(
            source,
            r#"{"name":"a","gone":0}"#,
            r#"{"name":"a","gone":0,"new":1}"#,
            &source.replace("\"a\",", "\"a\",\n  \"new\" : 1,"),
        );
        check(
            source,
            r#"{"name":"a"}"#,
            r#"{"name":"a","status":{"n":1}}"#,
            &source.replace("\"a\",", "\"a\",\n  \"status\" : {\n    \"n\": 1\n  },"),
        );
    }

    #[test]
    fn another_value_is_reached_whatever_its_layout() {
        let source = "{\n  \"a\": [ {\"b\": 1, \"c\": 2} ],\n  \"d\": 1.0\n}";
        let style = Style::of(source);
        assert_eq!(merge_text(source, r#"{"a":[{"b":1,"c":2}],"d":1.0}"#, style, 0), source);
        let changed = merge_text(source, "{\"d\":1.0, \"a\":[{\"b\":1,\n\"c\":3}]}", style, 0);
        assert_eq!(changed, source.replace("2}", "3}"));
        assert_eq!(merge_text("\"x\"", "\"y\"", style, 0), "\"y\"");
    }

    #[test]
    fn members_come_and_go_at_the_ends_too() {
        check(r#"{"a":1}"#, r#"{"a":1}"#, "{}", "{}");
        check("{}", "{}", r#"{"a":1}"#, r#"{"a":1}"#);
        check(r#"{"b":1}"#, r#"{"b":1}"#, r#"{"a":0,"b":1,"c":2}"#, r#"{"a":0,"b":1,"c":2}"#);
        check("{ \"b\":1 }", r#"{"b":1}"#, "{}", "{}");
        check("not an object", "{}", r#"{"a":1}"#, r#"{"a":1}"#);
    }
}
