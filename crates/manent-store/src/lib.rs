//! manent-store
