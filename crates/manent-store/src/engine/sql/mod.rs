//! SQL values, connections and rows of both engines, and the errors of a transaction.

pub(crate) mod connection;
pub(crate) mod tx_error;
pub(crate) mod value;
