//! One module for each program whose files are read and written.

pub mod personalab;
pub mod obsidian;
pub mod veloca;
pub mod tables;
pub mod kode;
