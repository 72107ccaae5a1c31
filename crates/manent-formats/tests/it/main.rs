//! Formats from the outside: what is read, and what is written of it.

mod bombs;
mod fuzz;
mod kit;
mod kode;
mod media;
mod names;
mod obsidian;
mod personalab;
mod sqlite;
mod tables;
mod veloca;
mod zip;
