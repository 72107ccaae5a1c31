//! The measured operations.

use std::fmt;

use crate::load::CONNECTIONS;

/// How many writers append at the same time in [`Measure::GroupAppend`].
pub const WRITERS: usize = 64;

/// How many messages [`Measure::LastMessages`] reads.
pub const LAST: usize = 50;

/// The conversation lengths at which appends are compared.
pub const LENGTHS: [usize; 3] = [10, 1_000, 10_000];

/// One thing that is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// One writer; the next message goes out when the last one is durable.
    SingleAppend,
    /// [`WRITERS`] writers at once, each waiting until its own message is durable.
    GroupAppend,
    /// One writer, into conversations that already hold this many messages.
    ///
    /// The length must hold for every timed append: spread the appends over several conversations of that length, or
    /// take the message away again outside the timed part.
    AppendAtLength(usize),
    /// The [`LAST`] messages of a random conversation out of a warm store, as owned bytes.
    LastMessages,
    /// The same, as a caller of a library waits for it: the way there and back, checks, decoded parts.
    LastThroughDatabase,
    /// The [`LAST`] messages at the end of a path of this many branches.
    EndOfBranches(usize),
    /// All messages of a random conversation out of a warm store, as owned bytes.
    WholeConversation,
    /// A message sent to a server over HTTP, on disk before the answer, from many connections.
    HttpAppend,
    /// The [`LAST`] messages of a conversation over HTTP, on as many connections.
    HttpPage,
    /// A message sent to PostgreSQL, committed before the answer, from many callers at once.
    ServerAppend,
    /// The [`LAST`] messages of a random conversation out of a warm PostgreSQL, in a transaction, as owned bytes.
    ServerPage,
}

impl Measure {
    /// Every measure, in the order a round takes them.
    pub fn all() -> Vec<Measure> {
        let mut all = vec![Measure::SingleAppend, Measure::GroupAppend];
        all.extend(LENGTHS.map(Measure::AppendAtLength));
        all.extend([Measure::LastMessages, Measure::LastThroughDatabase, Measure::WholeConversation]);
        all.extend([Measure::EndOfBranches(1), Measure::EndOfBranches(1_000)]);
        all.extend([Measure::HttpAppend, Measure::HttpPage]);
        all.extend([Measure::ServerAppend, Measure::ServerPage]);
        all
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measure::SingleAppend => write!(formatter, "durable append, 1 writer"),
            Measure::GroupAppend => write!(formatter, "durable append, {WRITERS} writers"),
            Measure::AppendAtLength(length) => {
                write!(formatter, "append to a conversation of {length}")
            }
            Measure::LastMessages => write!(formatter, "last {LAST} of a conversation"),
            Measure::LastThroughDatabase => write!(formatter, "last {LAST}, through Database"),
            Measure::EndOfBranches(branches) => write!(formatter, "last {LAST} of a path of {branches} branches"),
            Measure::WholeConversation => write!(formatter, "whole conversation"),
            Measure::HttpAppend => write!(formatter, "durable POST, {CONNECTIONS} connections"),
            Measure::HttpPage => write!(formatter, "GET of the last {LAST}, {CONNECTIONS} connections"),
            Measure::ServerAppend => write!(formatter, "durable append to PostgreSQL, {WRITERS} callers"),
            Measure::ServerPage => write!(formatter, "last {LAST} out of PostgreSQL"),
        }
    }
}
