//! manent-model
