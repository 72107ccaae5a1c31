//! Errors of a query, with their position.

/// Why a query cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}, at character {at}")]
pub struct QueryProblem {
    /// Where, in characters from 0.
    pub at: usize,
    /// The reason.
    pub why: QueryWhy,
}

/// Errors of a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryWhy {
    /// It contains no word.
    #[error("there is nothing to search for")]
    Empty,
    /// It has more characters than anybody types.
    #[error("a query has at most {} characters", super::parse::CHARACTERS_MAX)]
    Length,
    /// It has too many words, phrases and filters.
    #[error("a query has at most {} words, phrases and filters", super::parse::TERMS_MAX)]
    Terms,
    /// Its parentheses are nested too deeply.
    #[error("parentheses lie at most {} deep", super::parse::DEPTH_MAX)]
    Depth,
    /// One word occurs too often.
    #[error("one word stands in a query at most {} times", super::parse::REPEATS_MAX)]
    Repeats,
    /// A phrase has no end.
    #[error("this quotation mark is not closed")]
    Quote,
    /// A group has no end.
    #[error("this parenthesis is not closed")]
    Open,
    /// A group has no beginning.
    #[error("this parenthesis was not opened")]
    Close,
    /// `OR` has nothing before or behind it.
    #[error("OR stands between two terms")]
    Or,
    /// A filter has no value.
    #[error("{key}: needs a value")]
    Missing {
        /// The filter.
        key: &'static str,
    },
    /// A filter has a value that it does not know.
    #[error("{key}: takes {expected}")]
    Value {
        /// The filter.
        key: &'static str,
        /// The accepted values.
        expected: &'static str,
    },
}
