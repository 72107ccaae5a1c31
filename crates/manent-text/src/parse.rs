//! The query language: words, "phrases", -not, OR, parentheses, prefix*, and filters such as role:user.

use super::dates::{self, Clock};
use super::document::ContentKind;
use super::filter::{Filter, Name};
use super::problem::{QueryProblem, QueryWhy};
use super::query::{Node, Query};
use super::term::Term;
use manent_model::conversation::ConversationKind;
use std::collections::HashMap;

/// The longest query, in characters.
pub const CHARACTERS_MAX: usize = 1_000;
/// Maximum number of words, phrases and filters in a query.
pub const TERMS_MAX: usize = 64;
/// Maximum nesting depth of parentheses.
pub const DEPTH_MAX: usize = 8;
/// Maximum number of occurrences of one word or character in a query; it bounds the work per word of a text.
pub const REPEATS_MAX: usize = 64;

/// Marks that open a phrase, and those that close it.
const QUOTES: [(char, &str); 6] = [('"', "\""), ('“', "”\""), ('„', "“”\""), ('「', "」"), ('『', "』"), ('«', "»")];

impl Query {
    /// Reads a query.
    pub fn parse(text: &str, clock: Clock) -> Result<Self, QueryProblem> {
        Parser::new(text, clock, Text::Finished).query()
    }

    /// Parses a query for search as you type: the last word is a prefix, and unclosed or incomplete elements are not
    /// errors.
    pub fn typing(text: &str, clock: Clock) -> Result<Self, QueryProblem> {
        Parser::new(text, clock, Text::Growing).query()
    }
}

/// Whether the query may be continued.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    Finished,
    Growing,
}

struct Parser {
    characters: Vec<char>,
    at: usize,
    clock: Clock,
    text: Text,
    depth: usize,
    /// Terms and filters so far.
    count: usize,
    /// Terms so far.
    numbers: usize,
    repeats: HashMap<String, usize>,
}

type Parsed<T> = Result<T, QueryProblem>;

impl Parser {
    fn new(text: &str, clock: Clock, growing: Text) -> Self {
        // One more than is allowed is enough to see that it is too long.
        let characters = text.chars().take(CHARACTERS_MAX + 1).collect();
        Self { characters, at: 0, clock, text: growing, depth: 0, count: 0, numbers: 0, repeats: HashMap::new() }
    }

    fn query(mut self) -> Parsed<Query> {
        if self.characters.len() > CHARACTERS_MAX {
            return problem(CHARACTERS_MAX, QueryWhy::Length);
        }
        let root = self.all(None)?;
        let first = self.characters.iter().position(|character| !character.is_whitespace());
        match root {
            Some(root) => Ok(Query::new(root)),
            None => problem(first.unwrap_or(0), QueryWhy::Empty),
        }
    }

    /// Reports a problem, unless further input may resolve it.
    fn unfinished(&self, at: usize, why: QueryWhy) -> Parsed<()> {
        match self.text {
            Text::Finished => problem(at, why),
            Text::Growing => Ok(()),
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    /// Reads until the end, or until the parenthesis closes that was opened.
    fn all(&mut self, opened: Option<usize>) -> Parsed<Option<Node>> {
        let mut nodes = Vec::new();
        let mut group: Vec<Node> = Vec::new();
        let mut any_left = false;
        let mut or_at = None;
        loop {
            let Some(character) = self.peek(0) else {
                if let Some(open) = opened {
                    self.unfinished(open, QueryWhy::Open)?;
                }
                break;
            };
            if character.is_whitespace() {
                self.at += 1;
            } else if is_close(character) {
                if opened.is_none() {
                    self.unfinished(self.at, QueryWhy::Close)?;
                }
                self.at += 1;
                if opened.is_some() {
                    break;
                }
            } else if let Some(length) = self.or_length() {
                if !any_left || or_at.is_some() {
                    self.unfinished(self.at, QueryWhy::Or)?;
                }
                or_at = Some(self.at);
                self.at += length;
            } else {
                let node = self.unary()?;
                if or_at.take().is_none() {
                    nodes.extend(joined(std::mem::take(&mut group), Node::Any));
                }
                group.extend(node);
                any_left = true;
            }
        }
        if let Some(at) = or_at {
            self.unfinished(at, QueryWhy::Or)?;
        }
        nodes.extend(joined(group, Node::Any));
        Ok(joined(nodes, Node::All))
    }

    /// Returns the length of the OR at this position, if there is one.
    fn or_length(&self) -> Option<usize> {
        match (self.peek(0)?, self.peek(1), self.peek(2)) {
            ('|' | '｜', _, _) => Some(1),
            ('O', Some('R'), next) if next.is_none_or(|next| next.is_whitespace() || is_paren(next)) => Some(2),
            _ => None,
        }
    }

    fn unary(&mut self) -> Parsed<Option<Node>> {
        // `--verbose` is a word to search for, and a dash alone is a dash.
        let negates = self.peek(0).is_some_and(is_dash)
            && self.peek(1).is_some_and(|next| !next.is_whitespace() && !is_dash(next) && !is_close(next));
        if !negates {
            return self.primary();
        }
        self.at += 1;
        Ok(self.primary()?.map(|node| Node::Not(Box::new(node))))
    }

    fn primary(&mut self) -> Parsed<Option<Node>> {
        let start = self.at;
        if self.peek(0).is_some_and(is_open) {
            if self.depth == DEPTH_MAX {
                return problem(start, QueryWhy::Depth);
            }
            self.at += 1;
            self.depth += 1;
            let node = self.all(Some(start))?;
            self.depth -= 1;
            return Ok(node);
        }
        if let Some((phrase, grows)) = self.quoted()? {
            let star = self.peek(0).is_some_and(is_star);
            self.at += usize::from(star);
            let begins = phrase.trim_end().ends_with(is_star);
            return self.term(start, &phrase, star || begins || grows);
        }
        if let Some(key) = self.key() {
            return self.filter(start, key);
        }
        let word = self.word();
        let grows = self.text == Text::Growing && self.at == self.characters.len();
        let prefix = word.ends_with(is_star) || grows;
        self.term(start, &word, prefix)
    }

    fn term(&mut self, at: usize, text: &str, prefix: bool) -> Parsed<Option<Node>> {
        let Some(term) = Term::new(text.trim_end_matches(is_star), prefix, self.numbers) else { return Ok(None) };
        self.counted(at)?;
        self.numbers += 1;
        for element in &term.elements {
            let repeats = self.repeats.entry(element.text.clone()).or_default();
            *repeats += 1;
            if *repeats > REPEATS_MAX {
                return problem(at, QueryWhy::Repeats);
            }
        }
        Ok(Some(Node::Term(term)))
    }

    fn counted(&mut self, at: usize) -> Parsed<()> {
        self.count += 1;
        if self.count > TERMS_MAX { problem(at, QueryWhy::Terms) } else { Ok(()) }
    }

    /// Reads a phrase if one opens here, and returns whether it is unclosed.
    fn quoted(&mut self) -> Parsed<Option<(String, bool)>> {
        let Some((_, closing)) = QUOTES.iter().find(|(open, _)| self.peek(0) == Some(*open)) else { return Ok(None) };
        let start = self.at;
        let rest = &self.characters[start + 1..];
        let length = rest.iter().position(|character| closing.contains(*character));
        if length.is_none() {
            self.unfinished(start, QueryWhy::Quote)?;
        }
        let phrase = rest[..length.unwrap_or(rest.len())].iter().collect();
        self.at = length.map_or(self.characters.len(), |length| start + length + 2);
        Ok(Some((phrase, length.is_none())))
    }

    /// Reads up to white space, a quotation mark, an OR, or a parenthesis that was opened before the word.
    fn word(&mut self) -> String {
        let mut inside = 0;
        let start = self.at;
        while let Some(character) = self.peek(0) {
            match character {
                '"' | '|' | '｜' => break,
                _ if character.is_whitespace() => break,
                _ if is_open(character) => inside += 1,
                _ if is_close(character) && inside == 0 => break,
                _ if is_close(character) => inside -= 1,
                _ => {}
            }
            self.at += 1;
        }
        self.characters[start..self.at].iter().collect()
    }

    /// Reads a known key with its colon, if there is one at this position.
    fn key(&mut self) -> Option<Key> {
        let rest = &self.characters[self.at..];
        let length = rest.iter().position(|character| matches!(character, ':' | '：'))?;
        let written: String = rest[..length].iter().collect();
        let key = match written.to_ascii_lowercase().as_str() {
            "role" => Key::Role,
            "kind" => Key::Kind,
            "tag" => Key::Tag,
            "project" => Key::Project,
            "model" => Key::Model,
            "tool" => Key::Tool,
            "before" => Key::Before,
            "after" => Key::After,
            "in" => Key::In,
            "has" => Key::Has,
            lower if lower.starts_with("meta.") => {
                let name = &written["meta.".len()..];
                let plain = |character: char| !character.is_whitespace() && !is_paren(character) && character != '"';
                if name.is_empty() || !name.chars().all(plain) {
                    return None;
                }
                Key::Metadata(name.to_owned())
            }
            _ => return None,
        };
        self.at += length + 1;
        Some(key)
    }

    fn filter(&mut self, at: usize, key: Key) -> Parsed<Option<Node>> {
        let value_at = self.at;
        let quoted = self.quoted()?;
        let is_quoted = quoted.is_some();
        let value = quoted.map_or_else(|| self.word(), |(value, _)| value);
        if value.trim().is_empty() {
            self.unfinished(value_at, QueryWhy::Missing { key: key.name() })?;
            return Ok(None);
        }
        let mut name = match is_quoted {
            true => Name::exact(&value),
            false => Name::new(&value),
        };
        name.prefix |= self.text == Text::Growing && self.at == self.characters.len();
        match key.filter(&value, name, self.clock) {
            Ok(filter) => {
                self.counted(at)?;
                Ok(Some(Node::Filter(filter)))
            }
            Err(why) => self.unfinished(value_at, why).map(|()| None),
        }
    }
}

/// A known key of a filter.
enum Key {
    Role,
    Kind,
    Tag,
    Project,
    Model,
    Tool,
    Before,
    After,
    In,
    Has,
    Metadata(String),
}

impl Key {
    const fn name(&self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Kind => "kind",
            Self::Tag => "tag",
            Self::Project => "project",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Before => "before",
            Self::After => "after",
            Self::In => "in",
            Self::Has => "has",
            Self::Metadata(_) => "meta",
        }
    }

    fn filter(self, value: &str, name: Name, clock: Clock) -> Result<Filter, QueryWhy> {
        let key = self.name();
        let wrong = |expected| QueryWhy::Value { key, expected };
        let word = name.text.clone();
        Ok(match self {
            Self::Role => Filter::Role(name),
            Self::Model => Filter::Model(name),
            Self::Tool => Filter::Tool(name),
            Self::Tag => Filter::Tag(name),
            Self::Project => Filter::Project(name),
            Self::Metadata(key) => {
                let any = name.prefix && name.text.is_empty();
                Filter::Metadata { key, value: (!any).then_some(name) }
            }
            Self::Kind => Filter::Kind(match word.as_str() {
                "chat" | "private" => ConversationKind::Chat,
                "agent" => ConversationKind::Agent,
                "roleplay" => ConversationKind::Roleplay,
                "group" => ConversationKind::Group,
                "channel" => ConversationKind::Channel,
                _ => return Err(wrong("chat, agent, roleplay, group or channel")),
            }),
            Self::Has => Filter::Has(match word.as_str() {
                "tool" => ContentKind::Tool,
                "media" => ContentKind::Media,
                "code" => ContentKind::Code,
                _ => return Err(wrong("tool, media or code")),
            }),
            Self::In => match word.as_str() {
                "title" => Filter::InTitle,
                _ => return Err(wrong("title")),
            },
            Self::Before => Filter::Before(clock.timestamp(value.trim()).ok_or(wrong(dates::EXPECTED))?),
            Self::After => Filter::After(clock.timestamp(value.trim()).ok_or(wrong(dates::EXPECTED))?),
        })
    }
}

fn problem<T>(at: usize, why: QueryWhy) -> Parsed<T> {
    Err(QueryProblem { at, why })
}

/// Returns one node as it is, several joined, and nothing of none.
fn joined(mut nodes: Vec<Node>, join: impl Fn(Vec<Node>) -> Node) -> Option<Node> {
    match nodes.len() {
        0 | 1 => nodes.pop(),
        _ => Some(join(nodes)),
    }
}

fn is_open(character: char) -> bool {
    matches!(character, '(' | '（')
}

fn is_close(character: char) -> bool {
    matches!(character, ')' | '）')
}

fn is_paren(character: char) -> bool {
    is_open(character) || is_close(character)
}

fn is_dash(character: char) -> bool {
    matches!(character, '-' | '－' | '−')
}

fn is_star(character: char) -> bool {
    matches!(character, '*' | '＊')
}
