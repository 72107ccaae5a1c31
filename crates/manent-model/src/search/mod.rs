//! Full-text search without a store: analysis of texts, index tokens, the query language, and matching.
//!
//! Read in this order: a text is split into [`mod@units`]; the index stores their [`mod@tokens`]; a [`passage`] is a
//! text of a message or a conversation, and a [`subject`] is everything that a query is matched against. [`parse`]
//! reads a [`query`] entered by a user into [`term`]s and [`filter`]s; the index finds [`candidates`], and the
//! subject's texts decide. A [`mod@snippet`] shows the match, and [`mod@relevance`] ranks it.

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
