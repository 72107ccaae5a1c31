//! What an import says of every real file.

use super::*;
use expect_test::expect_file;
use manent::transfer::import::{Counts, ImportedConversation, Repaired, Skipped};
use std::fmt::Write as _;

/// A report in as few lines as tell everything; `read = mapped + unmapped + reported`.
fn told(report: &FileImportReport) -> String {
    let mut told = String::new();
    for root in &report.roots {
        writeln!(told, "  {} {}", root.format, root.generation).expect("text");
    }
    for (record, Counts { read, mapped, unmapped, reported }) in &report.records {
        writeln!(told, "  {record}: {read} = {mapped} + {unmapped} + {reported}").expect("text");
    }
    let unmapped: Vec<String> =
        report.unmapped.iter().map(|one| format!("{}.{} {}", one.record, one.key, one.count)).collect();
    if !unmapped.is_empty() {
        writeln!(told, "  unmapped: {}", unmapped.join(", ")).expect("text");
    }
    if report.library > 0 {
        writeln!(told, "  library: {}", report.library).expect("text");
    }
    beside(&mut told, "  ", &report.repaired, &report.skipped);
    for one in &report.conversations {
        let ImportedConversation { external, added, annotations, .. } = one;
        writeln!(told, "  {external}: {added} added, {annotations} attached").expect("text");
        assert!(one.is_new && one.updated == 0 && one.unchanged == 0, "{one:#?}");
        beside(&mut told, "    ", &one.repaired, &one.skipped);
    }
    told
}

fn beside(told: &mut String, indent: &str, repaired: &[Repaired], skipped: &[Skipped]) {
    for Repaired { place, what, why } in repaired {
        writeln!(told, "{indent}repaired {place}: {what}: {why}").expect("text");
    }
    for Skipped { place, record, why } in skipped {
        writeln!(told, "{indent}skipped {place}: {record}: {why}").expect("text");
    }
}

#[tokio::test]
async fn every_real_file_is_counted_record_by_record() {
    let mut all = String::new();
    for (folder, _) in REAL {
        let Some(files) = real(folder) else { return };
        let report = told(&import(&open(), &files).await);
        write!(all, "{folder}\n{report}").expect("text");
    }
    expect_file!["../../data/reports.txt"].assert_eq(&all);
}
