//! manent
