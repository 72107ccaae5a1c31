//! Full-text search, the part that needs no store: what can be found in a text, what the index holds of it, what a
//! person asks, and whether it is there.
//!
//! Read in this order: a text falls into [`mod@units`]; the index holds their [`mod@tokens`]; a [`passage`] is a text of
//! a message or a conversation, and a [`subject`] is all that a query is asked of. A [`query`] is read by [`parse`] from
//! what a person types, into [`term`]s and [`filter`]s; the index gives [`candidates`], and the subject's texts decide.
//! A [`mod@snippet`] shows why something was found, and its [`mod@relevance`] says how well it answers.

mod script;
mod fold;
mod word;
pub mod units;
pub mod tokens;
mod strings;
pub mod passage;
pub mod subject;
pub mod filter;
pub mod term;
mod matcher;
pub mod candidates;
pub mod query;
pub mod dates;
pub mod parse;
pub mod problem;
pub mod snippet;
pub mod relevance;

pub use candidates::Candidates;
pub use dates::Clock;
pub use filter::{Filter, Name};
pub use fold::fold_name;
pub use passage::{Field, Passage, conversation_passages, passages};
pub use problem::{QueryProblem, QueryWhy};
pub use query::{Node, Query};
pub use relevance::relevance;
pub use snippet::{Snippet, snippet};
pub use subject::{Subject, Thing, conversation_tokens, message_filters, message_tokens};
pub use term::{Element, Term, Whole};
pub use tokens::{ANALYZER_VERSION, RESERVED, distinct_tokens, tokens};
pub use units::{Form, Unit, units};
