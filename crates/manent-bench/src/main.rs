//! Measures Manent, the limit and the peers in one run, side by side.

mod corpus;

fn main() {}
