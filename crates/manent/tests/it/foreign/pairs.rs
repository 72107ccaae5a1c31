//! Every real file in every format: what cannot be held is told, and what is written can be read.

use super::*;
use expect_test::expect_file;
use std::fmt::Write as _;

/// Reads what was written with its own reader; nothing in it may be unknown to that.
async fn reads(files: &Files, format: &'static formats::Format, conversations: usize, what: &str) {
    let other = open();
    let report = other.import_tree(memory(files), format, ImportMode::Store, |_| {}).await.expect("read");
    assert_eq!(report.skipped(), 0, "{what}: {report:#?}");
    assert_eq!(report.conversations.len(), conversations, "{what}: {report:#?}");
    assert!(report.conversations.iter().all(|one| one.is_new), "{what}: {report:#?}");
}

#[tokio::test]
async fn every_real_file_is_written_in_every_format_and_read_again() {
    let mut all = String::new();
    for (folder, own) in REAL {
        let Some(files) = real(folder) else { return };
        let database = open();
        let report = import(&database, &files).await;
        let count = report.conversations.len();
        for format in formats::FORMATS {
            let exported = database.export_tree(&ExportPlan::everything(format), Files::new()).await.expect("written");
            assert_eq!(exported.conversations, count);
            let what = format!("{folder} in {}", format.name);
            if !format.generations.is_empty() {
                reads(&exported.out, format, count, &what).await;
            }
            let lost: Vec<String> =
                exported.losses.iter().map(|lost| format!("{} {}", lost.count, lost.what)).collect();
            if format.name == *own {
                assert_eq!(lost, [""; 0], "{what}");
                continue;
            }
            let lost = if lost.is_empty() { "nothing".to_owned() } else { lost.join(", ") };
            writeln!(all, "{what}: {lost}").expect("text");
        }
    }
    expect_file!["../../data/losses.txt"].assert_eq(&all);
}
