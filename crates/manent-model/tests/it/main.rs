//! Tests of the model through its public face.

mod paths;
mod search;
