//! What both engines do alike: how a change becomes rows, and how rows become answers.
//!
//! Everything here speaks through [`connection`], which is a file or a server. What differs between those (opening,
//! locking, committing, recovering, backups) lives in the folders of the engines.
//!
//! A table is joined by columns, not by what is worked out of the columns of another: under its policies PostgreSQL uses
//! no index for that. So a number is worked out first, in a part of the statement that is done by itself: one
//! that is `materialized`, has a limit, or gives a single value. In reading order:

pub(crate) mod cell;
pub(crate) mod connection;
pub(crate) mod codes;
pub(crate) mod seal;
pub(crate) mod row_mac;
pub(crate) mod raw;
pub(crate) mod facts;
pub(crate) mod fault;
pub(crate) mod recent;
pub(crate) mod cache;
pub(crate) mod prepare;
pub(crate) mod participant;
pub(crate) mod writer;
pub(crate) mod within;
pub(crate) mod document_name;
pub(crate) mod tx;
pub(crate) mod apply;
pub(crate) mod steps;
pub(crate) mod ahead;
pub(crate) mod read;
pub(crate) mod search;
pub(crate) mod statistics;
pub(crate) mod verify;
pub(crate) mod turns;
pub(crate) mod queue;
pub(crate) mod answers;
pub(crate) mod known;
pub(crate) mod readers;
pub(crate) mod store;
pub(crate) mod system;
pub(crate) mod view;
