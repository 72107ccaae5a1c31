//! Parsed queries, and matching them against a subject.

use super::document::{MessageAttributes, SearchDocument};
use super::field_text::{Field, FieldText};
use super::filter::Filter;
use super::index_query::IndexQuery;
use super::matcher::{Hit, Matcher};
use super::term::Term;
use super::tokens::TOKEN_CHARACTERS_MAX;
use manent_model::time::Timestamp;
use std::cell::OnceCell;
use std::ops::{ControlFlow, Range};

/// The expression tree of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// All of these.
    All(Vec<Node>),
    /// At least one of these.
    Any(Vec<Node>),
    /// Not this.
    Not(Box<Node>),
    /// A word or a phrase occurs in one of the texts.
    Term(Term),
    /// The subject is as a filter asks.
    Filter(Filter),
}

/// A query that can be asked of any number of subjects.
#[derive(Debug, Clone)]
pub struct Query {
    root: Node,
    matcher: Matcher,
    /// Properties of each term, by number.
    terms: Vec<Known>,
    /// Only titles are looked at.
    titles_only: bool,
}

/// Properties of a term.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// It is to be there; other terms are not to be there.
    pub(crate) wished: bool,
    /// Its number of words; two characters of a script without spaces count as one.
    pub(crate) words: usize,
}

impl Query {
    pub(crate) fn new(root: Node) -> Self {
        let mut terms = Vec::new();
        gather(&root, true, &mut terms);
        terms.sort_by_key(|(term, _)| term.number);
        let known = terms.iter().map(|(term, wished)| Known { wished: *wished, words: term.words() }).collect();
        let matcher = Matcher::new(&terms.iter().map(|(term, _)| *term).collect::<Vec<_>>());
        let titles_only = conjuncts(&root).contains(&Node::Filter(Filter::InTitle));
        Self { root, matcher, terms: known, titles_only }
    }

    /// Returns the tree.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Returns whether the subject matches.
    pub fn matches(&self, subject: &SearchDocument<'_>) -> bool {
        if !self.admits(subject) {
            return false;
        }
        let mut found = vec![false; self.terms.len()];
        let mut missing = found.len();
        for passage in self.looked_at(subject) {
            if missing == 0 {
                break;
            }
            let _ = self.matcher.find(&passage.text, &mut |hit| {
                missing -= usize::from(!std::mem::replace(&mut found[hit.term], true));
                if missing == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        }
        holds(&self.root, &found, subject, &OnceCell::new())
    }

    /// Returns whether the mutable properties of the conversation and the time conditions match; texts are not
    /// checked.
    ///
    /// With [`index_is_exact`](Self::index_is_exact), this and the [`candidates`](Self::candidates) are the result.
    pub fn admits(&self, subject: &SearchDocument<'_>) -> bool {
        let facts = OnceCell::new();
        let mut decided = conjuncts(&self.root).iter().filter(|node| needs_no_index(node));
        decided.all(|node| holds(node, &[], subject, &facts))
    }

    /// Returns the index condition that every matching subject satisfies.
    pub fn candidates(&self) -> IndexQuery {
        self.node_candidates(&self.root)
    }

    /// Returns whether the index decides about words and messages, so that no text must be read.
    ///
    /// Mutable properties of a conversation and time conditions are left to [`admits`](Self::admits).
    pub fn index_is_exact(&self) -> bool {
        let exact = conjuncts(&self.root).iter().all(|node| needs_no_index(node) || is_exact(node));
        exact && (!self.titles_only || self.terms.is_empty())
    }

    /// Returns the start (inclusive) and end (exclusive) of the time range that contains every match, as far as the
    /// query limits it.
    pub fn time_range(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        time_range(&self.root)
    }

    /// Returns the matches of positive terms in a text: ordered and without overlaps.
    pub fn highlights(&self, text: &str) -> Vec<Range<usize>> {
        merged(&self.hits(text))
    }

    /// Returns every match of every positive term, in order.
    pub(crate) fn hits(&self, text: &str) -> Vec<Hit> {
        let mut hits = Vec::new();
        let _ = self.matcher.find(text, &mut |hit| {
            if self.terms[hit.term].wished {
                hits.push(hit);
            }
            ControlFlow::Continue(())
        });
        hits.sort_by_key(|hit| (hit.at.start, hit.at.end));
        hits
    }

    /// Returns the matches of positive terms, in order, up to the end of the first window of this many characters that
    /// contains all of them: a text may be long, and a snippet shows no other window.
    pub(crate) fn first_hits(&self, text: &str, width: usize) -> Vec<Hit> {
        let mut hits = Vec::new();
        let wished = self.terms.iter().filter(|term| term.wished).count();
        if wished == 0 {
            return hits;
        }
        let mut last: Vec<Option<Range<usize>>> = vec![None; self.terms.len()];
        let mut missing = wished;
        self.matcher.find_until(text, &mut |hit| {
            if !self.terms[hit.term].wished {
                return None;
            }
            missing -= usize::from(last[hit.term].replace(hit.at.clone()).is_none());
            hits.push(hit);
            if missing > 0 {
                return None;
            }
            let start = last.iter().flatten().map(|at| at.start).min()?;
            let end = last.iter().flatten().map(|at| at.end).max()?;
            // No character takes more than four bytes, so most stretches that are too long are not counted.
            if end - start > 4 * width {
                return None;
            }
            let room = text[start..].char_indices().nth(width).map_or(text.len(), |(at, _)| start + at);
            (end <= room).then_some(room)
        });
        hits.sort_by_key(|hit| (hit.at.start, hit.at.end));
        hits
    }

    /// Returns the properties of each term, by number.
    pub(crate) fn terms(&self) -> &[Known] {
        &self.terms
    }

    /// Returns the passages that terms are looked for in.
    pub(crate) fn looked_at<'s>(&self, subject: &SearchDocument<'s>) -> impl Iterator<Item = &'s FieldText<'s>> {
        let titles_only = self.titles_only;
        subject.fields.iter().filter(move |passage| !titles_only || passage.field == Field::Title)
    }

    fn node_candidates(&self, node: &Node) -> IndexQuery {
        match node {
            Node::All(nodes) => IndexQuery::all(nodes.iter().map(|node| self.node_candidates(node)).collect()),
            Node::Any(nodes) => IndexQuery::any(nodes.iter().map(|node| self.node_candidates(node)).collect()),
            // A word that is not in the title may still be a tag, and then the index would exclude the subject.
            Node::Not(inner) if is_exact(inner) && !self.titles_only => {
                IndexQuery::Except(Box::new(IndexQuery::Every), Box::new(self.node_candidates(inner)))
            }
            Node::Not(_) => IndexQuery::Every,
            Node::Term(term) => term.candidates(),
            Node::Filter(filter) => match filter.token() {
                Some((token, true)) => IndexQuery::Prefix(token),
                Some((token, false)) => IndexQuery::Token(token),
                None => IndexQuery::Every,
            },
        }
    }
}

/// Returns the places of hits, in order and apart from each other. The hits are in order.
pub(crate) fn merged(hits: &[Hit]) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for hit in hits {
        match merged.last_mut() {
            Some(last) if hit.at.start <= last.end => last.end = last.end.max(hit.at.end),
            _ => merged.push(hit.at.clone()),
        }
    }
    merged
}

/// Collects the terms, and whether each is wished for.
fn gather<'n>(node: &'n Node, wished: bool, into: &mut Vec<(&'n Term, bool)>) {
    match node {
        Node::All(nodes) | Node::Any(nodes) => nodes.iter().for_each(|node| gather(node, wished, into)),
        Node::Not(inner) => gather(inner, !wished, into),
        Node::Term(term) => into.push((term, wished)),
        Node::Filter(_) => {}
    }
}

/// Returns the nodes that must all hold.
fn conjuncts(root: &Node) -> &[Node] {
    match root {
        Node::All(nodes) => nodes,
        other => std::slice::from_ref(other),
    }
}

fn holds(
    node: &Node,
    found: &[bool],
    subject: &SearchDocument<'_>,
    facts: &OnceCell<Option<MessageAttributes>>,
) -> bool {
    match node {
        Node::All(nodes) => nodes.iter().all(|node| holds(node, found, subject, facts)),
        Node::Any(nodes) => nodes.iter().any(|node| holds(node, found, subject, facts)),
        Node::Not(inner) => !holds(inner, found, subject, facts),
        Node::Term(term) => found[term.number],
        Node::Filter(filter) => filter.takes(subject, facts),
    }
}

/// Returns whether a node only has conditions that the index does not store.
fn needs_no_index(node: &Node) -> bool {
    match node {
        Node::All(nodes) | Node::Any(nodes) => nodes.iter().all(needs_no_index),
        Node::Not(inner) => needs_no_index(inner),
        Node::Term(_) => false,
        Node::Filter(filter) => filter.token().is_none(),
    }
}

/// Returns whether the candidates of a node are exactly the subjects that match it.
fn is_exact(node: &Node) -> bool {
    match node {
        Node::All(nodes) | Node::Any(nodes) => nodes.iter().all(is_exact),
        Node::Not(inner) => is_exact(inner),
        Node::Term(term) => term.is_one_token(),
        Node::Filter(filter) => filter.token().is_some_and(|(token, _)| token.chars().count() < TOKEN_CHARACTERS_MAX),
    }
}

fn time_range(node: &Node) -> (Option<Timestamp>, Option<Timestamp>) {
    let negated = match node {
        Node::Not(inner) => Some(&**inner),
        _ => None,
    };
    match (node, negated) {
        (Node::Filter(Filter::After(moment)), _) | (_, Some(Node::Filter(Filter::Before(moment)))) => {
            (Some(*moment), None)
        }
        (Node::Filter(Filter::Before(moment)), _) | (_, Some(Node::Filter(Filter::After(moment)))) => {
            (None, Some(*moment))
        }
        (Node::All(nodes), _) => nodes.iter().map(time_range).fold((None, None), |(from, until), next| {
            // An absent bound is less than any for `max`, which is right; for `min` it must not win.
            (from.max(next.0), [until, next.1].into_iter().flatten().min())
        }),
        (Node::Any(nodes), _) => {
            let ranges: Vec<_> = nodes.iter().map(time_range).collect();
            let from = ranges.iter().map(|range| range.0).min().flatten();
            let until = ranges.iter().map(|range| range.1).collect::<Option<Vec<_>>>();
            (from, until.and_then(|until| until.into_iter().max()))
        }
        _ => (None, None),
    }
}
