//! Formats from the outside: what is read, and what is written of it.

mod kit;
mod names;
mod obsidian;
mod personalab;
mod kode;
mod kode_accepted;
mod kode_changes;
mod kode_cut;
mod kode_folder;
mod kode_generations;
mod kode_history;
mod kode_random;
mod kode_sample;
mod kode_wal;
mod veloca;
