//! The server, as its callers see it.

mod kit;
mod guard;
mod keys;
mod access;
mod bad_requests;
mod requests;
mod operations;
mod examples;
mod times;
mod files;
mod search;
mod live;
