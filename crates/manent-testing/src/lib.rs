//! Storage for tests: it behaves like the disk, and then like a disk on a bad day.
//!
//! The tools are SQLite file systems (VFS) that sit on the default one. A test installs one, opens its database
//! with that file system's name, works as usual, and then asks what would have happened:
//!
//! - [`Recording`] remembers every change in order and lays out what the disk could hold after a power cut.
//! - [`Faults`] makes the Nth write, sync or truncate fail.
//!
//! They see the database, its WAL and its rollback journals. Temporary files and the shared memory of the WAL go
//! straight to the default file system: neither outlives a crash.
//!
//! [`http`] talks to a server as a program on the other side would; [`terminal`] watches a program as a person would;
//! [`postgres`] is a server to store in, [`scratch`] an empty database on one, [`patroni`] three of them, [`proxy`] a bad wire to one; [`SmallDisk`] is a disk
//! that is soon full; [`foreign`] knows where other programs' files lie.
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
