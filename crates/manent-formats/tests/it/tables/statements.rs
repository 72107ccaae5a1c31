//! The statements of the design are its own, run, and make a file that is known again.

use super::*;
use crate::sqlite::{file, open};
use manent_formats::apps::tables::{Dialect, Projects, statements};

#[test]
fn sqlite_runs_the_statements_of_the_design() {
    let statements = statements(Dialect::Sqlite, Projects::Defined);
    assert_eq!(statements.len(), 9);
    let bytes = file(&statements.concat());
    assert_eq!(manent_formats::sniff(&tree("any", &bytes)).map(|format| format.name), Some("conversation-tables"));
    // SQLite keeps a statement as it was given, but for its last mark.
    let connection = open(&bytes);
    let mut kept =
        connection.prepare("select sql from sqlite_schema where sql is not null order by rowid").expect("a schema");
    let kept: Vec<String> =
        kept.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a statement")).collect();
    assert_eq!(kept, statements.iter().map(|statement| statement.trim_end_matches(';')).collect::<Vec<_>>());
}

#[test]
fn a_new_file_has_the_statements_of_the_design() {
    let (written, _) = write(&mut Shelf::default(), None);
    assert_eq!(dump(&written), dump(&file(&design())));
}
