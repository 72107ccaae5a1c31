//! Scheduling shared by the engines: a fair scheduler for worker threads, the read queue, and the position watch.

pub(crate) mod position_watch;
pub(crate) mod read_queue;
pub(crate) mod scheduler;
