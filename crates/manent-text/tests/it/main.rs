//! Search: what a query finds, what it says when it cannot be read, and that the index never hides an answer.

mod kit;
mod finding;
mod filters;
mod language;
mod ranking;
mod random;
