//! Multi-pattern matcher: finds all terms of a query in one pass over a text.
//!
//! It is an automaton over units. A state records how much of a term has matched up to the previous unit, and where
//! the match began; a unit advances only the states that wait for it. So a text of a megabyte that repeats the
//! beginning of a phrase costs no more than any other, times the number of occurrences of the unit in the query, which
//! the parser limits.

use super::term::Term;
use super::tokenize::{Form, Token, scan};
use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

/// A match of a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The number of the term.
    pub(crate) term: usize,
    /// Where, in bytes.
    pub(crate) at: Range<usize>,
}

/// All terms of a query, ready to be found.
#[derive(Debug, Clone)]
pub(crate) struct Matcher {
    states: usize,
    /// The last bytes of all words: most units of a text end with another byte and need no lookup.
    last_bytes: [bool; 256],
    words: HashMap<String, Vec<Edge>>,
    beginnings: Vec<(String, Edge)>,
}

/// Transition on a token.
#[derive(Debug, Clone, Copy)]
struct Edge {
    from: usize,
    to: usize,
    glued: bool,
    /// The term that is complete then.
    ends: Option<usize>,
}

/// Start state, active at every position.
const START: usize = 0;

impl Matcher {
    pub(crate) fn new(terms: &[&Term]) -> Self {
        let (words, beginnings) = (HashMap::new(), Vec::new());
        let mut matcher = Self { states: 1, last_bytes: [false; 256], words, beginnings };
        for term in terms {
            matcher.add(term);
        }
        // A state must be read before the same unit writes it, and edges only lead upwards.
        for (word, edges) in &mut matcher.words {
            matcher.last_bytes[last_byte(word)] = true;
            edges.sort_by_key(|edge| std::cmp::Reverse(edge.from));
        }
        matcher
    }

    fn add(&mut self, term: &Term) {
        let first = self.states;
        let last = term.elements.len() - 1;
        self.states += term.elements.len();
        let mut edge = |text: &str, begin: usize, end: usize, glued: bool| {
            let from = if begin == 0 { START } else { first + begin - 1 };
            let edge = Edge { from, to: first + end, glued, ends: (end == last).then_some(term.number) };
            match term.prefix && end == last {
                true => self.beginnings.push((text.to_owned(), edge)),
                false => self.words.entry(text.to_owned()).or_default().push(edge),
            }
        };
        for (place, element) in term.elements.iter().enumerate() {
            edge(&element.text, place, place, element.glued && place > 0);
        }
        for whole in &term.wholes {
            edge(&whole.text, whole.first, whole.last, false);
        }
    }

    /// Calls the visitor with every match, until it breaks. Matches are ordered by their ends, except that a whole
    /// word comes before its parts.
    pub(crate) fn find(&self, text: &str, visit: &mut impl FnMut(Hit) -> ControlFlow<()>) -> ControlFlow<()> {
        let mut walk = Walk::new(self);
        scan(text, &mut |unit| walk.step(&unit, visit))
    }

    /// Calls the visitor with every match. Once it has returned a byte offset, matches that begin there or later may
    /// be omitted.
    pub(crate) fn find_until(&self, text: &str, visit: &mut impl FnMut(Hit) -> Option<usize>) {
        let mut walk = Walk::new(self);
        let mut enough = usize::MAX;
        let _ = scan(text, &mut |unit| {
            if unit.at.start >= enough && !walk.is_inside(enough) {
                return ControlFlow::Break(());
            }
            walk.step(&unit, &mut |hit| {
                enough = visit(hit).unwrap_or(usize::MAX).min(enough);
                ControlFlow::Continue(())
            })
        });
    }
}

fn last_byte(text: &str) -> usize {
    text.as_bytes().last().map_or(0, |byte| usize::from(*byte))
}

/// One pass over a text.
struct Walk<'m> {
    matcher: &'m Matcher,
    /// For each state the position at which it holds, and where its term began.
    reached: Vec<(usize, usize)>,
    /// Counts units, but not a whole besides its parts.
    position: usize,
    run: u32,
    /// States to set at the end of the word whose parts are being read.
    waiting: Vec<(usize, usize)>,
    waiting_for: usize,
}

impl<'m> Walk<'m> {
    fn new(matcher: &'m Matcher) -> Self {
        let reached = vec![(0, 0); matcher.states];
        Self { matcher, reached, position: 1, run: 0, waiting: Vec::new(), waiting_for: 0 }
    }

    /// Returns whether a match may have begun before an offset and still be incomplete.
    fn is_inside(&self, place: usize) -> bool {
        let is_alive = |(position, start): &(usize, usize)| *position == self.position && *start < place;
        !self.waiting.is_empty() || self.reached.iter().any(is_alive)
    }

    fn step(&mut self, unit: &Token<'_>, visit: &mut impl FnMut(Hit) -> ControlFlow<()>) -> ControlFlow<()> {
        let before = self.position;
        let glued = unit.run == self.run;
        let whole = match unit.form {
            Form::Whole { parts } => {
                self.waiting_for = before + usize::from(parts);
                true
            }
            _ => {
                self.position += 1;
                self.run = unit.run;
                false
            }
        };
        let matcher = self.matcher;
        // The last state of a term is never read, so these may be set first.
        let beginnings =
            matcher.beginnings.iter().filter(|(text, _)| unit.text.starts_with(text)).map(|(_, edge)| edge);
        let words = match matcher.last_bytes[last_byte(unit.text)] {
            true => matcher.words.get(unit.text).map_or(&[][..], Vec::as_slice),
            false => &[],
        };
        for edge in beginnings.chain(words) {
            let start = match self.reached[edge.from] {
                _ if edge.from == START => unit.at.start,
                (position, start) if position == before => start,
                _ => continue,
            };
            if edge.glued && !glued {
                continue;
            }
            match edge.ends {
                Some(term) => visit(Hit { term, at: start..unit.at.end })?,
                None if whole => self.waiting.push((edge.to, start)),
                None => self.reached[edge.to] = (self.position, start),
            }
        }
        if self.position == self.waiting_for {
            for (state, start) in self.waiting.drain(..) {
                self.reached[state] = (self.position, start);
            }
        }
        ControlFlow::Continue(())
    }
}
