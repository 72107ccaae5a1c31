//! HTTP transport: connections, routes, assets of the page, and the bridge to blocking readers and writers.

pub(crate) mod connections;
pub(crate) mod router;
pub(crate) mod assets;
pub(crate) mod io_bridge;
