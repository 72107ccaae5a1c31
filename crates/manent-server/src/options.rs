//! Server options. The defaults need no configuration.

use crate::limits::rate::Rate;
use manent::BackupPlan;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Server options.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Allowed `Host` names, in addition to the loopback names.
    pub hosts: Vec<String>,
    /// Folder of the token and the sessions.
    pub home: PathBuf,
    /// Scheduled backups; `None` if they are disabled.
    pub backups: Option<BackupPlan>,
    /// Limits on sizes, times and rates.
    pub limits: Limits,
}

/// Limits on sizes, times and rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a JSON body.
    pub body_bytes: usize,
    /// Maximum size of a blob.
    pub blob_bytes: usize,
    /// Maximum size of an import.
    pub import_bytes: usize,
    /// Byte budget of request and response bodies.
    pub held_bytes: usize,
    /// Request timeout, streams excepted.
    pub request: Duration,
    /// Idle timeout of a streaming message: the time without a chunk after which it ends.
    pub stream_idle: Duration,
    /// Maximum number of concurrent live tails.
    pub tails: usize,
    /// Maximum number of concurrent imports and exports.
    pub transfers: usize,
    /// Maximum number of concurrent requests.
    pub requests: usize,
    /// Default rate limit of a key.
    pub key: Rate,
    /// Rate limit of an address for requests with keys.
    pub address: Rate,
    /// Rate limit of an address for refused requests.
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
            key: Rate::with_burst(500, 2),
            address: Rate::with_burst(2_000, 2),
            refusals: Rate::with_burst(5, 10),
        }
    }
}
