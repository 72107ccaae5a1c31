//! Backups as the library schedules them.

use crate::kit::*;
use manent::*;
use std::time::Duration;

#[tokio::test]
async fn a_backup_is_made_when_due_and_only_the_newest_stay() {
    let database = open();
    let chat = conversation(&database, "kept").await;
    say(&database, chat, &["one"]).await;
    let folder = database.folder.path().join("backups");
    let daily = BackupPlan::daily(&folder);
    assert!(database.backup_if_due(&daily).await.expect("made").is_some());
    assert!(database.backup_if_due(&daily).await.expect("looked").is_none());
    let always = BackupPlan { every: Duration::ZERO, keep: 3, ..daily };
    for _ in 0..5 {
        let report = database.backup_if_due(&always).await.expect("made").expect("due");
        assert_eq!(report.messages, 1);
    }
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    let restored = database.folder.path().join("restored.db");
    Database::restore_backup(folder.join(&names[2]), &Location::of(&restored)).await.expect("restored");
    let beside = std::fs::read_dir(database.folder.path()).expect("a folder").flatten().map(|entry| entry.file_name());
    let left: Vec<_> = beside.filter(|name| name.to_string_lossy().contains("partial")).collect();
    assert!(left.is_empty(), "what restoring needed is still there: {left:?}");
    let again = Database::open(&restored).expect("opens");
    assert_eq!(texts(&again, chat).await, ["one"]);
    let refused =
        Database::restore_backup(folder.join(&names[2]), &Location::of(&restored)).await.expect_err("never overwrites");
    assert_eq!(refused.code(), "invalid");
}

#[tokio::test]
async fn the_age_of_a_backup_is_in_its_name() {
    let database = open();
    let folder = database.folder.path().join("backups");
    std::fs::create_dir(&folder).expect("made");
    // As if the folder had been copied a moment ago.
    std::fs::write(folder.join("manent-000000000000001.backup"), "old").expect("written");
    let daily = BackupPlan::daily(&folder);
    assert!(database.backup_if_due(&daily).await.expect("made").is_some());
    assert!(database.backup_if_due(&daily).await.expect("looked").is_none());
}

fn names_in(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

#[tokio::test]
async fn backup_removes_what_a_crashed_one_left() {
    let database = open();
    let folder = database.folder.path().join("backups");
    std::fs::create_dir(&folder).expect("made");
    let left = ["partial", "restored.partial", "restored.partial-wal", "copying", "copying-shm"];
    for suffix in left {
        std::fs::write(folder.join(format!("manent-000000000000001.backup.{suffix}")), "half").expect("written");
    }
    std::fs::write(folder.join("notes.partial"), "not ours").expect("written");
    database.backup_if_due(&BackupPlan::daily(&folder)).await.expect("made").expect("due");
    let names = names_in(&folder);
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.contains(&"notes.partial".to_owned()), "{names:?}");
}

#[tokio::test]
async fn backup_on_demand_removes_none() {
    let database = open();
    let folder = database.folder.path().join("backups");
    std::fs::create_dir(&folder).expect("made");
    let plan = BackupPlan { keep: 3, ..BackupPlan::daily(&folder) };
    let scheduled: Vec<String> = (1..=3).map(|day| format!("manent-{day:015}.backup")).collect();
    for name in &scheduled {
        std::fs::write(folder.join(name), "a backup of another day").expect("written");
    }
    for _ in 0..3 {
        let report = database.backup_on_demand(&plan).await.expect("taken").expect("there is room");
        assert!(report.path.ends_with("-on-demand.backup"), "{}", report.path);
    }
    assert!(database.backup_on_demand(&plan).await.expect("looked").is_none(), "as many as are kept");
    let names = names_in(&folder);
    assert_eq!(names.len(), 6, "{names:?}");
    assert!(scheduled.iter().all(|name| names.contains(name)), "{names:?}");
    // They do not stand for a scheduled one either, which then removes the oldest of its own kind.
    assert!(plan.is_due().expect("readable"));
    database.backup_if_due(&plan).await.expect("taken").expect("due");
    let names = names_in(&folder);
    assert_eq!(names.iter().filter(|name| name.contains("on-demand")).count(), 3, "{names:?}");
    assert!(!names.contains(&scheduled[0]) && names.contains(&scheduled[1]), "{names:?}");
    // Old ones on demand go with the schedule.
    std::fs::write(folder.join("manent-000000000000009-on-demand.backup"), "old").expect("written");
    database.backup_if_due(&BackupPlan { every: Duration::ZERO, ..plan.clone() }).await.expect("taken").expect("due");
    assert!(!names_in(&folder).contains(&"manent-000000000000009-on-demand.backup".to_owned()));
}

#[tokio::test]
async fn a_damaged_backup_is_not_restored() {
    let database = open();
    let chat = conversation(&database, "kept").await;
    say(&database, chat, &["a text that will be damaged"]).await;
    let backup = database.folder.path().join("one.backup");
    database.backup(&backup).await.expect("made");
    let mut bytes = std::fs::read(&backup).expect("readable");
    let place = bytes.windows(7).position(|window| window == b"damaged").expect("the text is in the file");
    bytes[place] = b'D';
    std::fs::write(&backup, bytes).expect("writable");
    let to = database.folder.path().join("restored.db");
    let refused = Database::restore_backup(&backup, &Location::of(&to)).await.expect_err("damaged");
    assert_eq!(refused.code(), "altered");
    assert!(!to.exists());
}

#[tokio::test]
async fn a_backup_is_not_restored_beside_what_an_older_store_left() {
    let database = open();
    let chat = conversation(&database, "kept").await;
    say(&database, chat, &["one"]).await;
    let backup = database.folder.path().join("one.backup");
    database.backup(&backup).await.expect("made");
    say(&database, chat, &["later"]).await;
    let to = database.folder.path().join("restored.db");
    let left = database.folder.path().join("restored.db-wal");
    std::fs::copy(database.folder.path().join("test.db-wal"), &left).expect("copied");
    let refused =
        Database::restore_backup(&backup, &Location::of(&to)).await.expect_err("the WAL would be played over it");
    assert_eq!(refused.code(), "invalid");
    std::fs::remove_file(&left).expect("removed");
    Database::restore_backup(&backup, &Location::of(&to)).await.expect("restored");
    assert_eq!(texts(&Database::open(&to).expect("opens"), chat).await, ["one"]);
}

#[tokio::test]
async fn a_store_in_use_is_not_taken_for_a_backup() {
    let database = open();
    let chat = conversation(&database, "kept").await;
    say(&database, chat, &["only in the WAL"]).await;
    let to = database.folder.path().join("restored.db");
    let refused = Database::restore_backup(database.folder.path().join("test.db"), &Location::of(&to))
        .await
        .expect_err("half a copy");
    assert_eq!(refused.code(), "invalid");
    assert!(!to.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn restoring_writes_through_no_link() {
    let database = open();
    let backup = database.folder.path().join("one.backup");
    database.backup(&backup).await.expect("made");
    let victim = database.folder.path().join("victim");
    std::fs::write(&victim, "precious").expect("written");
    let to = database.folder.path().join("restored.db");
    std::os::unix::fs::symlink(&victim, database.folder.path().join("restored.db.partial")).expect("linked");
    Database::restore_backup(&backup, &Location::of(&to)).await.expect("restored");
    assert_eq!(std::fs::read(&victim).expect("readable"), b"precious");
    assert!(!std::fs::symlink_metadata(&to).expect("there").is_symlink());
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let database = open();
    let chat = conversation(&database, "private").await;
    say(&database, chat, &["private"]).await;
    let folder = database.folder.path();
    database.backup(folder.join("one.backup")).await.expect("made");
    for name in ["test.db", "test.db-wal", "test.db-shm", "one.backup"] {
        let mode = std::fs::metadata(folder.join(name)).expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} {mode:o}");
    }
}
