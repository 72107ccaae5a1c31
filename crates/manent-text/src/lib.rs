//! Full-text search without a store: analysis of texts, index tokens, the query language, and matching.
//!
//! Read in this order: a text is split into [`mod@units`]; the index stores their [`mod@tokens`]; a [`passage`] is a
//! text of a message or a conversation, and a [`subject`] is everything that a query is matched against. [`parse`]
//! reads a [`query`] entered by a user into [`term`]s and [`filter`]s; the index finds [`candidates`], and the
//! subject's texts decide. A [`mod@snippet`] shows the match, and [`mod@relevance`] ranks it.

mod char_class;
mod normalize;
mod split;
pub mod tokenize;
pub mod tokens;
mod strings;
pub mod field_text;
pub mod document;
pub mod filter;
pub mod term;
mod matcher;
pub mod index_query;
pub mod query;
pub mod dates;
pub mod parse;
pub mod problem;
pub mod snippet;
pub mod relevance;

pub use dates::{Clock, parse_future_time, parse_time};
pub use document::{ContentKind, SearchDocument, conversation_tokens, message_filters, message_tokens};
pub use field_text::{Field, FieldText, conversation_field_texts, field_texts};
pub use filter::{Filter, Name};
pub use index_query::IndexQuery;
pub use normalize::fold_name;
pub use problem::{QueryProblem, QueryWhy};
pub use query::{Node, Query};
pub use relevance::relevance;
pub use snippet::{Snippet, snippet};
pub use term::{Element, Term, Whole};
pub use tokenize::{Form, Token, tokenize};
pub use tokens::{ANALYZER_VERSION, RESERVED, distinct_tokens, tokens};
