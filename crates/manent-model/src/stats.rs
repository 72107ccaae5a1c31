//! Statistics over the messages of paths.

use crate::message::Content;
use crate::time::{Day, Known, Micros};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of a group of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Messages.
    pub messages: i64,
    /// Words.
    pub words: i64,
    /// Tokens, where known.
    pub tokens: i64,
    /// Answers whose response time is known.
    pub timed: i64,
    /// The sum of their response times.
    pub response_micros: i64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.words += other.words;
        self.tokens += other.tokens;
        self.timed += other.timed;
        self.response_micros = self.response_micros.saturating_add(other.response_micros);
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

/// What statistics need to know of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Its role.
    pub role: String,
    /// Its model.
    pub model: Option<String>,
    /// When, if that is known exactly.
    pub at: Option<Micros>,
    /// The day it belongs to.
    pub day: i64,
    /// Its words.
    pub words: i64,
    /// Its tokens.
    pub tokens: i64,
}

impl Counted {
    /// Takes what statistics need from a message; `None` if it is not counted.
    pub fn of(content: &Content) -> Option<Self> {
        let sums = content.sums();
        (sums.visible > 0).then(|| Self {
            role: content.role.clone(),
            model: content.model.clone(),
            at: (content.time.known == Known::Exact).then_some(content.time.at),
            day: content.time.at.day(),
            words: sums.words,
            tokens: sums.tokens,
        })
    }
}

/// Adds up the messages of one path in order.
#[derive(Debug, Default)]
pub struct Counter {
    asked_at: Option<Micros>,
}

impl Counter {
    /// Adds the next message of the path.
    pub fn add(&mut self, stats: &mut Stats, message: &Counted) {
        let mut tally = Tally { messages: 1, words: message.words, tokens: message.tokens, ..Tally::default() };
        match message.role.as_str() {
            "user" => self.asked_at = message.at,
            // The first answer after a question has a response time; tool rounds after it do not.
            "assistant" | "bot" => {
                if let (Some(asked), Some(answered)) = (self.asked_at.take(), message.at)
                    && answered >= asked
                {
                    tally.timed = 1;
                    // Imported times may lie at the ends of what can be counted.
                    tally.response_micros = answered.0.saturating_sub(asked.0);
                }
            }
            _ => {}
        }
        stats.total.add(&tally);
        stats.by_day.entry(message.day).or_default().add(&tally);
        stats.by_role.entry(message.role.clone()).or_default().add(&tally);
        if let Some(model) = &message.model {
            stats.by_model.entry(model.clone()).or_default().add(&tally);
        }
    }
}
