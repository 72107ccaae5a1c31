//! Measures Manent, the limit and the peers in one run, side by side.

mod corpus;
mod drive;
mod group_log;
mod lmdb;
mod measure;
mod options;
mod peer;
mod python;
mod raw_log;
mod subject;
mod summary;

fn main() {}
