//! How a server is run. The defaults need no configuration.

use crate::rates::Rate;
use manent::BackupPlan;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How a server is run.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Host names by which it may be called, beside those of the loopback.
    pub hosts: Vec<String>,
    /// The folder of the token and the sessions.
    pub home: PathBuf,
    /// Scheduled backups; none if they are switched off.
    pub backups: Option<BackupPlan>,
    /// How much is too much.
    pub limits: Limits,
}

/// How much is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a JSON body.
    pub body_bytes: usize,
    /// Bytes of a blob.
    pub blob_bytes: usize,
    /// Bytes of an import.
    pub import_bytes: usize,
    /// Bytes of memory that the bodies of requests and answers may hold together.
    pub held_bytes: usize,
    /// How long a request may take, streams excepted.
    pub request: Duration,
    /// How long a stream of a message stays open without a chunk.
    pub stream_idle: Duration,
    /// Live tails at a time.
    pub tails: usize,
    /// Imports and exports at a time.
    pub transfers: usize,
    /// Requests at a time.
    pub requests: usize,
    /// How often a key may ask, where the key does not say.
    pub key: Rate,
    /// How often an address may ask with keys.
    pub address: Rate,
    /// How often an address may be refused.
    pub refusals: Rate,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 8 << 20,
            blob_bytes: 64 << 20,
            import_bytes: 4 << 30,
            held_bytes: 160 << 20,
            request: Duration::from_secs(60),
            stream_idle: manent::STREAM_LEASE,
            tails: 256,
            transfers: 32,
            requests: 1_024,
            key: Rate { per_second: 500, burst: 1_000 },
            address: Rate { per_second: 2_000, burst: 4_000 },
            refusals: Rate { per_second: 5, burst: 50 },
        }
    }
}
