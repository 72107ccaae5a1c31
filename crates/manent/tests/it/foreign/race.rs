//! Two imports at once: they follow each other, and the second finds what the first brought.

use super::*;

/// Imports the same files twice at once, and says whether everything is here once.
async fn check(one: &Database, other: &Database, files: &Files, format: &str) {
    let (first, second) = tokio::join!(import(one, files), import(other, files));
    let (mut counts, ids) = (Vec::new(), one.store().conversation_ids(None, 99).await.expect("readable"));
    for report in [&first, &second] {
        assert_eq!(report.conversations.len(), ids.len(), "nothing is doubled: {report:#?}");
        counts.push(report.conversations.iter().filter(|one| one.is_new).count());
    }
    counts.sort_unstable();
    assert_eq!(counts, [0, ids.len()], "one of them brought everything");
    assert_eq!(one.sources().await.expect("readable").len(), 1);
    // Calls that an import sealed have their results in what is written, so one import alone says what to expect.
    let alone = open();
    import(&alone, files).await;
    assert_same(&written(&alone, format).await, &written(one, format).await);
    assert_sound(one).await;
}

/// By two handles of one store, and by two stores in one place, as two processes have them.
async fn at(place: &str, files: &Files, format: &str, is_shared: bool) {
    let one = Database::open(place).expect("opens");
    let other = if is_shared { one.clone() } else { Database::open(place).expect("opens again") };
    check(&one, &other, files, format).await;
}

async fn everywhere(files: &Files, format: &str) {
    for is_shared in [true, false] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("test.db");
        at(file.to_str().expect("a path"), files, format, is_shared).await;
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").flatten().collect();
        assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().contains("import")), "{left:?}");
        if let Some(scratch) = Scratch::make() {
            at(&scratch.url, files, format, is_shared).await;
        }
    }
}

#[tokio::test]
async fn two_imports_at_once_bring_a_file_once() {
    everywhere(&sessions(SESSIONS), "veloca").await;
}

#[tokio::test]
async fn two_imports_at_once_bring_projects_events_and_values_once() {
    for (folder, format) in [("personalab/v1-instance-layout", "personalab"), ("kode/store-level", "kode")] {
        let Some(files) = real(folder) else { return };
        everywhere(&files, format).await;
    }
}

#[tokio::test]
async fn an_import_that_was_given_up_lets_the_next_one_begin() {
    on_each_engine(async |database| {
        let turn = database.store().acquire_import_lock().await.expect("a turn");
        let waits = tokio::time::timeout(std::time::Duration::from_millis(50), database.store().acquire_import_lock());
        assert!(waits.await.is_err(), "it is not the other's turn");
        drop(turn);
        import(&database, &sessions(SESSIONS)).await;
    })
    .await;
}
