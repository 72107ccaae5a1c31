//! Chance with a seed: ids, words, texts, times, JSON.

use fastrand::Rng;
use manent_model::*;
use std::ops::RangeBounds;

/// Everything that a run leaves to chance; the same seed gives the same run.
pub struct Chance {
    rng: Rng,
}

/// Words that repeat, plain and odd.
const WORDS: [&str; 14] =
    ["a", "b", "c", "draft", "plan", "天气", "", "\0", "x\0y", "\u{10FFFF}", "😀", "Ärger", "x", "\u{10FFFF}0"];

const TEXTS: [&str; 12] = [
    "hello",
    "what is the weather",
    "",
    "\0",
    "nul \0 inside",
    "天气很好，我们出去吧",
    "😀 👩‍👩‍👧 e\u{301}",
    "\u{10FFFF}",
    "\u{10FFFF}0 and \u{10FFFF}1",
    "don't stop at 3.14",
    "line\nline\r\nline\u{2028}",
    "ends with a space ",
];

const JSONS: [&str; 12] = [
    "1",
    "null",
    r#""text""#,
    r#""\ud800""#,
    r#"{"a":1}"#,
    r#"{"a":"\udc00","b":"x"}"#,
    r#"{"b" : 1.50, "a":null,"a":1e400}"#,
    r#"{"a":"\u0000","天":"气"}"#,
    "[]",
    r#"[1,[2,[3]],{"x":{}}]"#,
    "-0.0",
    r#"{"a":"x","b":true}"#,
];

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed) }
    }

    /// Returns true once in `times` calls on average.
    pub fn once_in(&mut self, times: u32) -> bool {
        self.rng.u32(..times) == 0
    }

    pub fn number(&mut self, range: impl RangeBounds<usize>) -> usize {
        self.rng.usize(range)
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.rng.usize(..from.len())].clone())
    }

    /// Picks one of a few that are written down.
    pub fn of<T: Clone, const N: usize>(&mut self, from: [T; N]) -> T {
        from[self.rng.usize(..N)].clone()
    }

    /// Something half the time.
    pub fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.rng.bool().then(|| make(self))
    }

    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.rng.u8(..))
    }

    /// An id that nothing has; ids are not in the order in which they are made.
    pub fn id<T>(&mut self, make: fn(u64, [u8; 10]) -> T) -> T {
        let milliseconds = 1_700_000_000_000 + self.rng.u64(..4_000_000);
        make(milliseconds, self.bytes())
    }

    pub fn word(&mut self) -> String {
        self.of(WORDS).to_owned()
    }

    pub fn text(&mut self) -> String {
        match self.rng.u32(..12) {
            0 => TEXTS[self.number(..TEXTS.len())].repeat(self.number(1..400)),
            1..6 => format!("text {} of {}", self.rng.u16(..), self.word()),
            _ => self.of(TEXTS).to_owned(),
        }
    }

    /// Sometimes longer than anything short may be.
    pub fn title(&mut self) -> String {
        match self.once_in(200) {
            true => "long ".repeat(14_000),
            false => self.text().chars().take(300).collect(),
        }
    }

    pub fn json(&mut self) -> Json {
        let text = match self.once_in(4) {
            true => serde_json::to_string(&self.text()).expect("a string is JSON"),
            false => self.of(JSONS).to_owned(),
        };
        Json::parse(&text).expect("written as JSON")
    }

    /// Mostly within an hour, so that times meet; sometimes at the ends of what can be counted.
    pub fn time(&mut self) -> Timestamp {
        Timestamp(match self.rng.u32(..60) {
            0 => self.of([i64::MIN, i64::MAX, 0, -1, i64::MIN + 1, i64::MAX - 1]),
            1 => self.rng.i64(..),
            _ => 1_700_000_000_000_000 + self.rng.i64(0..3_600) * 1_000_000,
        })
    }

    pub fn limit(&mut self) -> u32 {
        match self.rng.u32(..8) {
            0 => self.of([0, 1_000, 1_001, u32::MAX]),
            1..5 => self.rng.u32(1..6),
            _ => self.rng.u32(1..60),
        }
    }

    pub fn author(&mut self) -> Author {
        let id = match self.once_in(10) {
            true => self.word(),
            false => format!("person {}", self.rng.u8(..24)),
        };
        Author { id, name: self.of(["", "Ada", "名字"]).to_owned() }
    }

    pub fn sub_list<T: Clone>(&mut self, from: &[T], most: usize) -> Vec<T> {
        (0..self.number(..=most)).filter_map(|_| self.pick(from)).collect()
    }
}
