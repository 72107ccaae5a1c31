//! The command as people and scripts use it.

mod kit;
mod commands;
mod behaviour;
mod exports;
mod watched;
mod search;
mod picker;
mod serve;
mod tenants;
mod canary;
mod server;
mod readme;
