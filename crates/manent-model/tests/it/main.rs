//! Tests of the model through its public API.

mod paths;
