//! Tests skipped because the machine cannot run them.

use std::io::Write;

/// Says what this machine cannot run: into the list that the test run ends with, and red where everything must run.
pub fn not_run(what: &str) {
    eprintln!("not run: {what}");
    if let Ok(list) = std::env::var("MANENT_NOT_RUN") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(list);
        writeln!(file.expect("the list can be opened"), "{what}").expect("the list can be written");
    }
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI runs every test");
}
