//! Filters: the conditions of a query besides its words.

use super::document::{ContentKind, MessageAttributes, SearchDocument, filter_token};
use super::normalize::fold_name;
use manent_model::conversation::ConversationKind;
use manent_model::json::Json;
use manent_model::time::Timestamp;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Something that a subject is, has or belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// `role:`, of a message.
    Role(Name),
    /// `model:`, of a message.
    Model(Name),
    /// `tool:`, a tool that a message calls.
    Tool(Name),
    /// `has:`, of a message.
    Has(ContentKind),
    /// `kind:`, of the conversation.
    Kind(ConversationKind),
    /// `tag:`, of the conversation.
    Tag(Name),
    /// `project:`, of the conversation, by name or id.
    Project(Name),
    /// `meta.KEY:`, of the conversation. The key is a member, or a path of members with points between them.
    Metadata {
        /// The key.
        key: String,
        /// The value, or nothing if any will do.
        value: Option<Name>,
    },
    /// `in:title`: the conversation itself, and only its title is looked at.
    InTitle,
    /// `before:`: earlier than this moment.
    Before(Timestamp),
    /// `after:`: at this moment or later.
    After(Timestamp),
}

/// A name that a filter compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The name, folded.
    pub text: String,
    /// The name only begins so.
    pub prefix: bool,
}

impl Name {
    /// Creates a name pattern; a trailing star makes it a prefix.
    pub fn new(written: &str) -> Self {
        match written.strip_suffix(['*', '＊']) {
            Some(beginning) => Self { text: fold_name(beginning), prefix: true },
            None => Self::exact(written),
        }
    }

    /// Creates an exact name pattern; a star has no special meaning.
    pub fn exact(written: &str) -> Self {
        Self { text: fold_name(written), prefix: false }
    }

    /// Returns whether it matches a folded name.
    fn takes(&self, folded: &str) -> bool {
        match self.prefix {
            true => folded.starts_with(&self.text),
            false => folded == self.text,
        }
    }
}

impl Filter {
    /// Returns the index token of the filter, and whether it is a prefix; `None` for a filter on mutable properties,
    /// which the index cannot decide.
    pub(crate) fn token(&self) -> Option<(String, bool)> {
        let named = |key: &str, name: &Name| Some((filter_token(key, &name.text), name.prefix));
        match self {
            Self::Role(name) => named("role", name),
            Self::Model(name) => named("model", name),
            Self::Tool(name) => named("tool", name),
            Self::Has(thing) => Some((filter_token("has", thing.word()), false)),
            _ => None,
        }
    }

    /// Returns whether the filter matches the subject. The facts of the message are computed on first use.
    pub(crate) fn takes(&self, subject: &SearchDocument<'_>, facts: &OnceCell<Option<MessageAttributes>>) -> bool {
        let conversation = subject.conversation;
        let of_message = |ask: &dyn Fn(&MessageAttributes) -> bool| {
            let gather = || {
                subject
                    .message
                    .map(|message| MessageAttributes::of(message, &message.body.borrowed().collect::<Vec<_>>()))
            };
            facts.get_or_init(gather).as_ref().is_some_and(ask)
        };
        match self {
            Self::Role(name) => subject.message.is_some_and(|message| name.takes(&fold_name(&message.role))),
            Self::Model(name) => {
                let model = subject.message.and_then(|message| message.model.as_deref());
                model.is_some_and(|model| name.takes(&fold_name(model)))
            }
            Self::Tool(name) => of_message(&|facts| facts.tools.iter().any(|tool| name.takes(tool))),
            Self::Has(thing) => of_message(&|facts| facts.contents.contains(thing)),
            Self::Kind(kind) => conversation.kind == *kind,
            Self::Tag(name) => conversation.tags.iter().any(|tag| name.takes(&fold_name(tag))),
            Self::Project(name) => {
                let id = conversation.project.map(|id| id.to_string());
                subject.project.map(fold_name).is_some_and(|project| name.takes(&project))
                    || id.is_some_and(|id| name.text == fold_name(&id))
            }
            Self::Metadata { key, value } => {
                conversation.metadata.as_ref().is_some_and(|metadata| has_member(metadata, key, value.as_ref()))
            }
            Self::InTitle => subject.message.is_none(),
            Self::Before(moment) => subject.at < *moment,
            Self::After(moment) => subject.at >= *moment,
        }
    }
}

/// Looks for a member by its name, or by a path of names, that is not null and has the value.
fn has_member(json: &Json, key: &str, value: Option<&Name>) -> bool {
    let Ok(members) = json.read::<BTreeMap<String, Json>>() else { return false };
    let direct = members.get(key).is_some_and(|member| match value {
        Some(value) => is_value(member, value),
        None => member.text() != "null",
    });
    direct
        || key.match_indices('.').any(|(point, _)| {
            let inner = members.get(&key[..point]);
            inner.is_some_and(|inner| has_member(inner, &key[point + 1..], value))
        })
}

/// Compares a text, a number or a truth value; of an array, each of its elements.
fn is_value(json: &Json, value: &Name) -> bool {
    match json.text().as_bytes().first() {
        Some(b'"') => json.read::<String>().is_ok_and(|text| value.takes(&fold_name(&text))),
        Some(b'[') => json.read::<Vec<Json>>().is_ok_and(|all| all.iter().any(|one| is_value(one, value))),
        Some(b'{') => false,
        _ => value.takes(&fold_name(json.text())),
    }
}
