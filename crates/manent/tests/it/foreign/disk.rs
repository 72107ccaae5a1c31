//! A disk that is full while something is imported or exported.

use super::*;
use manent::store::sqlite::{SqliteOptions, SqliteStore};
use manent_testing::{SmallDisk, not_run};
use std::path::Path;
use std::sync::Arc;

/// A file of about a megabyte that cannot be packed.
fn large() -> Files {
    let noise = |_| char::from(fastrand::alphanumeric() as u8);
    let text: String = (0..400_000).map(noise).collect();
    let other: String = (0..600_000).map(noise).collect();
    sessions(&SESSIONS.replace("再见", &text).replace("你好", &other))
}

fn out_at(path: &Path, plan: &ExportPlan, replace: Replace) -> DiskOut {
    DiskOut::new(path, plan.format, replace).expect("a place")
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn an_import_on_a_full_disk_is_finished_when_there_is_room() {
    let Some(disk) = SmallDisk::mount(8) else { return not_run("disk full during an import (needs root)") };
    // The WAL must not be grown ahead: this disk is smaller.
    let options = SqliteOptions { grow_wal: false, ..SqliteOptions::new(disk.path().join("test.db")) };
    let database = Database::from_store(Arc::new(SqliteStore::open(options).expect("opens")));
    let (files, filler) = (large(), disk.path().join("filler"));
    disk.fill(&filler).expect("filled");
    let format = formats::format("veloca").expect("veloca");
    let refused = database.import_tree(memory(&files), format, ImportMode::Store, |_| {}).await;
    assert_eq!(refused.expect_err("there is no room").code(), "disk_full");
    assert_sound(&database).await;
    std::fs::remove_file(&filler).expect("removed");
    import(&database, &files).await;
    assert!(files == written(&database, "veloca").await, "everything is there as it was");
    assert_sound(&database).await;
}

#[tokio::test]
async fn an_export_onto_a_full_disk_leaves_nothing_and_takes_nothing() {
    let Some(disk) = SmallDisk::mount(4) else { return not_run("disk full during an export (needs root)") };
    let (database, files) = (open(), large());
    import(&database, &files).await;
    let (filler, target) = (disk.path().join("filler"), disk.path().join("veloca-storage.json"));
    std::fs::write(&target, "the old one").expect("written");
    let plan = ExportPlan::everything(formats::format("veloca").expect("veloca"));
    for path in [disk.path(), &target] {
        disk.fill(&filler).expect("filled");
        let full = match database.export_tree(&plan, out_at(path, &plan, Replace::Files)).await {
            Err(error) => error.code().to_owned(),
            Ok(exported) => exported.out.finish().expect_err("there is no room").kind().to_string(),
        };
        assert_eq!(full, "unwritable");
        assert_eq!(names(disk.path()), ["filler", "veloca-storage.json"]);
        assert_eq!(std::fs::read(&target).expect("there"), b"the old one");
        std::fs::remove_file(&filler).expect("removed");
    }
    let exported = database.export_tree(&plan, out_at(&target, &plan, Replace::Files)).await.expect("there is room");
    exported.out.finish().expect("in place");
    assert!(std::fs::read(&target).expect("there") == files["veloca-storage.json"]);
    assert_eq!(names(disk.path()), ["veloca-storage.json"]);
}

/// One file that is in the way takes the others back too, those that were put in place before it included.
#[tokio::test]
async fn export_blocked_by_one_file_leaves_everything_as_it_was() {
    let database = open();
    for title in ["a", "b", "c"] {
        say(&database, conversation(&database, title).await, &["x"]).await;
    }
    let plan = ExportPlan::everything(formats::format("markdown").expect("markdown"));
    for (blocked, replace) in [("a.md", Replace::Never), ("b.md", Replace::Never), ("b.md", Replace::Files)] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        if replace == Replace::Files {
            std::fs::write(folder.path().join("a.md"), "the old one").expect("written");
        }
        let before = names(folder.path());
        let exported = database.export_tree(&plan, out_at(folder.path(), &plan, replace)).await.expect("written");
        // A folder that is not empty cannot be replaced by a file.
        std::fs::create_dir_all(folder.path().join(blocked).join("in the way")).expect("made");
        exported.out.finish().expect_err("something is in the way");
        std::fs::remove_dir_all(folder.path().join(blocked)).expect("removed");
        assert_eq!(names(folder.path()), before);
        if replace == Replace::Files {
            assert_eq!(std::fs::read(folder.path().join("a.md")).expect("there"), b"the old one");
        }
    }
}

#[tokio::test]
async fn export_that_fails_removes_the_folders_it_made() {
    let database = open();
    say(&database, conversation(&database, "a").await, &["x"]).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plan = ExportPlan::everything(formats::format("obsidian-rag").expect("obsidian-rag"));
    let out = out_at(&folder.path().join("new/vault v1.2"), &plan, Replace::Never);
    drop(database.export_tree(&plan, out).await.expect("written"));
    assert_eq!(names(folder.path()), [""; 0]);
}
