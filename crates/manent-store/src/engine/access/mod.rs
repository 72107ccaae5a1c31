//! Access scopes inside the engine: filters of reads, and the checks that a commit runs in its transaction.
//!
//! Which checks a commit needs is decided above, in `authz`; here they are evaluated. In reading order:

pub(crate) mod access_filter;
pub(crate) mod access_check;
pub(crate) mod authorize;
