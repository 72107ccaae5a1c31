//! Tests of the store: the contract that every engine keeps, and what is special about one.

mod contract;
mod differential;
mod durable;
mod kit;
mod system;
