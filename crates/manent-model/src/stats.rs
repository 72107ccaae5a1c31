//! Statistics over the messages of paths.

use crate::message::Content;
use crate::time::{Day, TimeSource, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of a group of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Messages.
    pub messages: i64,
    /// Word count.
    pub words: i64,
    /// Tokens, where known.
    pub tokens: i64,
    /// Answers with a known response time.
    pub timed: i64,
    /// The sum of their response times.
    pub response_micros: i64,
}

impl Tally {
    /// Adds another tally.
    pub fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.words += other.words;
        self.tokens += other.tokens;
        self.timed += other.timed;
        self.response_micros += other.response_micros;
    }

    /// Returns the tally with every number negated: adding it takes the original away.
    pub fn negated(self) -> Self {
        Self {
            messages: -self.messages,
            words: -self.words,
            tokens: -self.tokens,
            timed: -self.timed,
            response_micros: -self.response_micros,
        }
    }
}

/// Statistics of a conversation or of many.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// Conversations that were counted.
    pub conversations: i64,
    /// Everything together.
    pub total: Tally,
    /// By day in UTC, counted from 1970-01-01; in JSON its date, as `2026-11-16`.
    #[serde(with = "dates")]
    #[schemars(with = "BTreeMap<String, Tally>")]
    pub by_day: BTreeMap<i64, Tally>,
    /// By model, where known.
    pub by_model: BTreeMap<String, Tally>,
    /// By role.
    pub by_role: BTreeMap<String, Tally>,
}

/// Days as dates.
mod dates {
    use super::{BTreeMap, Day, Tally};
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(by_day: &BTreeMap<i64, Tally>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(by_day.iter().map(|(day, tally)| (Day(*day).to_string(), tally)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<i64, Tally>, D::Error> {
        let by_date = BTreeMap::<String, Tally>::deserialize(deserializer)?;
        let by_day = by_date.into_iter().map(|(date, tally)| Ok((date.parse::<Day>()?.0, tally)));
        by_day.collect::<Result<_, crate::time::TimeProblem>>().map_err(D::Error::custom)
    }
}

/// The properties of one message that statistics need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Its role.
    pub role: String,
    /// Its model.
    pub model: Option<String>,
    /// When, if that is known exactly.
    pub at: Option<Timestamp>,
    /// The day it belongs to.
    pub day: i64,
    /// Word count.
    pub words: i64,
    /// Its tokens.
    pub tokens: i64,
}

impl Counted {
    /// Extracts these properties from a message; `None` if it is not counted.
    pub fn of(content: &Content) -> Option<Self> {
        let sums = content.sums();
        (sums.visible > 0).then(|| Self {
            role: content.role.clone(),
            model: content.model.clone(),
            at: (content.time.source == TimeSource::Exact).then_some(content.time.at),
            day: content.time.at.day(),
            words: sums.words,
            tokens: sums.tokens,
        })
    }
}

/// A later answer has no response time: the gap is an absence, or an imported time that is wrong. The bound also keeps sums exact:
/// a hundred million answers fit into 64 bits.
const RESPONSE_MICROS_MAX: i64 = 86_400_000_000;

impl Stats {
    /// Adds a tally of messages that share a day, a role and a model.
    pub fn add(&mut self, day: i64, role: &str, model: Option<&str>, tally: &Tally) {
        self.total.add(tally);
        self.by_day.entry(day).or_default().add(tally);
        entry(&mut self.by_role, role).add(tally);
        if let Some(model) = model {
            entry(&mut self.by_model, model).add(tally);
        }
    }
}

fn entry<'a>(tallies: &'a mut BTreeMap<String, Tally>, name: &str) -> &'a mut Tally {
    if !tallies.contains_key(name) {
        tallies.insert(name.to_owned(), Tally::default());
    }
    tallies.get_mut(name).expect("inserted above")
}

/// Tallies the messages of one path in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counter {
    /// The time of a question that has no answer yet. A counter made with it continues where another one stopped.
    pub asked_at: Option<Timestamp>,
}

impl Counter {
    /// Adds the next message of the path to statistics.
    pub fn add(&mut self, stats: &mut Stats, message: &Counted) {
        let tally = self.tally(&message.role, message.at, message.words, message.tokens);
        stats.add(message.day, &message.role, message.model.as_deref(), &tally);
    }

    /// Returns the tally of the next message of the path. `at` is its time, if known exactly.
    pub fn tally(&mut self, role: &str, at: Option<Timestamp>, words: i64, tokens: i64) -> Tally {
        let mut tally = Tally { messages: 1, words, tokens, ..Tally::default() };
        match role {
            "user" => self.asked_at = at,
            // The first answer after a question has a response time; tool rounds after it do not.
            "assistant" | "bot" => {
                let response =
                    self.asked_at.take().zip(at).and_then(|(asked, answered)| answered.0.checked_sub(asked.0));
                if let Some(micros @ 0..=RESPONSE_MICROS_MAX) = response {
                    (tally.timed, tally.response_micros) = (1, micros);
                }
            }
            _ => {}
        }
        tally
    }
}
