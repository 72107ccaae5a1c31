//! The disk of the server's tables is really full.

use super::{open, owner, server};
use crate::durable::disk_full::refuses_and_recovers;
use manent_testing::{SmallDisk, not_run};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_of_the_server_refuses_writes_serves_reads_and_recovers_by_itself() {
    let Some(disk) = SmallDisk::mount(24) else {
        return not_run("disk full of a PostgreSQL on a tmpfs (needs root)");
    };
    let Some(server) = server(&["fsync=off"]) else { return };
    let space = disk.path().join("space");
    std::fs::create_dir(&space).expect("a folder");
    let data = std::fs::metadata(server.postgres.folder().join("data")).expect("a cluster");
    chown(&space, Some(data.uid()), Some(data.gid())).expect("allowed");
    std::fs::set_permissions(disk.path(), std::fs::Permissions::from_mode(0o711)).expect("allowed");
    let raw = owner(&server.postgres.url()).await;
    let place = format!("create tablespace small location '{}'", space.display());
    raw.batch_execute(&place).await.expect("a place for tables");
    raw.batch_execute("create database small tablespace small").await.expect("a database there");
    let url = server.postgres.url();
    let (before, _) = url.rsplit_once('/').expect("an address names a database");
    let store = open(format!("{before}/small"), 1, Duration::from_secs(10));
    refuses_and_recovers(&*store, &disk).await;
    // The disk goes before the server would let go of it.
    server.postgres.kill().expect("it can be killed");
}
