//! Test tools for storage: fault injection and crash simulation below SQLite, test servers and clients.
//!
//! The storage tools are SQLite file systems (VFS) layered on the default one. A test installs one, opens its database
//! with that file system's name, works as usual, and then examines the possible outcomes:
//!
//! - [`Recording`] records every change in order and computes what the disk could hold after a power cut.
//! - [`Faults`] makes the Nth write, sync or truncate fail.
//!
//! They handle the database, its WAL and its rollback journals. Temporary files and the shared memory of the WAL are
//! passed to the default file system: neither survives a crash.
//!
//! [`http`] is a client for servers; [`terminal`] is a pseudo terminal; [`postgres`] is a PostgreSQL server,
//! [`scratch`] an empty database on one, [`patroni`] a cluster of three, [`proxy`] a faulty connection to one;
//! [`SmallDisk`] is a file system that fills up quickly; [`foreign`] finds files of other programs.
#![cfg(unix)]

mod crash;
mod disk;
mod faults;
pub mod foreign;
pub mod http;
mod inode;
mod log;
mod not_run;
pub mod patroni;
pub mod postgres;
pub mod proxy;
mod recording;
pub mod scratch;
pub mod terminal;
mod vfs;

pub use crash::CrashState;
pub use disk::SmallDisk;
pub use faults::{Failure, Fault, Faults, Lasting, Operation};
pub use not_run::not_run;
pub use recording::Recording;
