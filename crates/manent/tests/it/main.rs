//! Tests of the library as its users see it.

mod kit;
mod operations;
mod annotations;
mod handles;
mod resolve;
mod server;
mod json;
mod jsonl;
mod damage;
mod foreign;
mod paper;
mod backup;
mod full_disk;
mod tenants;
mod tidy;
