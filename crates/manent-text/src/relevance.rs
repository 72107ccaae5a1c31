//! Relevance score of a match: an integer, so that every engine returns the same order.

use super::document::SearchDocument;
use super::field_text::Field;
use super::query::Query;
use manent_model::time::Timestamp;

/// Upper limit of the score of a term in a text.
const TERM: u64 = 1_000;
/// Additional weight of a phrase for each word after the first, up to three.
const PHRASE: u64 = 250;
/// How many times in a text one time in a title is worth.
const TITLE_TIMES: u64 = 4;
/// Additional score of a term in a title.
const TITLE: u64 = 500;
/// Score of recency for a message of this moment; it halves every 30 days.
const RECENT: u64 = 200;
const HALF_LIFE_MICROS: u64 = 30 * 86_400_000_000;
/// Length normalization: at this many bytes a term must occur twice for the score of one occurrence in an empty text.
const LENGTH_BYTES: u64 = 2_000;
/// Texts longer than this are not worse for it.
const LENGTH_BYTES_MAX: u64 = 16_000;

/// Returns the relevance of a matching subject; higher is better.
///
/// For each positive term: with `n` its number of occurrences (one in a title counts 4) and `l` the length of all
/// texts in units of 2,000 bytes, at most 8, the term scores `w * n / (n + (1 + l) / 2)`, where `w` is 1,000 plus 250
/// for each further word of a phrase, at most 750; plus 500 if it occurs in a title. Recency adds up to 200, half of
/// that after 30 days, a quarter after 60.
pub fn relevance(query: &Query, subject: &SearchDocument<'_>, now: Timestamp) -> u64 {
    let mut times = vec![0u64; query.terms().len()];
    let mut in_title = vec![false; query.terms().len()];
    let mut length = 0u64;
    for passage in query.looked_at(subject) {
        length = length.saturating_add(passage.text.len() as u64);
        let title = passage.field == Field::Title;
        for hit in query.hits(&passage.text) {
            times[hit.term] += if title { TITLE_TIMES } else { 1 };
            in_title[hit.term] |= title;
        }
    }
    let length = length.min(LENGTH_BYTES_MAX);
    let mut score = recency(subject.at, now);
    for (term, times) in times.iter().enumerate().filter(|(_, times)| **times > 0) {
        let worth = TERM + PHRASE * (query.terms()[term].words as u64).saturating_sub(1).min(3);
        // Everything times 2 * LENGTH_BYTES, to stay in whole numbers.
        let seen = times * 2 * LENGTH_BYTES;
        score += worth * seen / (seen + LENGTH_BYTES + length);
        score += if in_title[term] { TITLE } else { 0 };
    }
    score
}

/// Halves with every half-life, along straight lines between the halvings.
fn recency(time: Timestamp, now: Timestamp) -> u64 {
    let age = u64::try_from(now.0.saturating_sub(time.0)).unwrap_or(0);
    let (halvings, rest) = (age / HALF_LIFE_MICROS, age % HALF_LIFE_MICROS);
    let whole = RECENT.checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX)).unwrap_or(0);
    whole - whole * (rest / 1_000_000) / (2 * HALF_LIFE_MICROS / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_is_worth_a_little_more() {
        const DAY: i64 = 86_400_000_000;
        let now = 1_000 * DAY;
        for (days, worth) in [(0, 200), (-5, 200), (15, 150), (30, 100), (60, 50), (90, 25), (1_000, 0)] {
            assert_eq!(recency(Timestamp(now - days * DAY), Timestamp(now)), worth, "{days}");
        }
        assert_eq!(recency(Timestamp(i64::MIN), Timestamp(i64::MAX)), 0);
    }
}
