//! Slots: members of a small file that are stored as states, removed from the skeleton so that nothing is stored
//! twice.

use crate::core::json::{Frame, Members, Object, merge};
use manent_model::Json;
use serde::{Deserialize, Serialize};

/// A file without the values that were cut out of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateFieldFrame {
    #[serde(flatten)]
    pub frame: Frame,
    /// The members whose values were removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<String>,
}

impl StateFieldFrame {
    /// Replaces the values of members with null and returns them.
    pub(crate) fn cut(frame: Frame, names: &[&str]) -> (Self, Vec<(String, Json)>) {
        let (mut slots, mut values) = (Self { frame, cut: Vec::new() }, Vec::new());
        for name in names {
            if let Some(value) = slots.put(name, "null") {
                slots.cut.push((*name).to_owned());
                values.push(((*name).to_owned(), value));
            }
        }
        (slots, values)
    }

    /// Replaces a JSON value with another one, and returns the old value.
    fn put(&mut self, name: &str, value: &str) -> Option<Json> {
        let text = &self.frame.skeleton.text;
        let raw = Members::parse(text)?.raw(name)?;
        let (at, length) = (raw.as_ptr() as usize - text.as_ptr() as usize, raw.len());
        let was = Json::parse(raw).ok()?;
        self.frame.skeleton.text.replace_range(at..at + length, value);
        Some(was)
    }

    /// Fills in the present values. Values that were unset are removed; new ones are appended.
    pub(crate) fn filled(&self, names: &[&str], value: impl Fn(&str) -> Option<String>) -> String {
        let mut slots = self.clone();
        for name in names {
            let is_cut = slots.cut.iter().any(|cut| cut == name);
            match value(name) {
                Some(value) if is_cut => {
                    slots.put(name, &value);
                }
                Some(value) => {
                    let mut now = members(&slots.frame.skeleton.text);
                    now.0.retain(|(key, _)| key != name);
                    let was = now.clone();
                    now.0.push(((*name).to_owned(), value));
                    slots.frame.skeleton.text = merge(&slots.frame.skeleton.text, &was, &now, slots.frame.style, 0);
                }
                None if is_cut => {
                    let was = Object::new().with(name, &());
                    slots.frame.skeleton.text =
                        merge(&slots.frame.skeleton.text, &was, &Object::new(), slots.frame.style, 0);
                }
                None => {}
            }
        }
        format!("{}{}{}", slots.frame.before, slots.frame.skeleton.text, slots.frame.after)
    }
}

/// The members of an object by name only, to say where a new one comes.
fn members(text: &str) -> Object {
    let members = Members::parse(text).unwrap_or_default();
    Object(members.0.iter().map(|(key, _)| (key.clone().into_owned(), "0".to_owned())).collect())
}
