//! Proves the harness right on bare SQLite, whose promises are known.

mod crashes;
mod faults;
mod workload;
