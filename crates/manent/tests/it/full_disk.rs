//! Tenants on a disk that is full: what is known of them stays whole, and goes on once there is room.

use manent::model::{AuditActor, KeyDraft, KeyScope};
use manent::store::EraseTarget;
use manent::store::system::{AuditSubject, NewAuditRecord};
use manent::{BackupPlan, ConversationDraft, Database, ListQuery, Location, MessageDraft, OldBackups, Tenants};
use manent_testing::{SmallDisk, not_run};

fn by() -> AuditSubject {
    AuditSubject::actor(AuditActor::Operator)
}

fn draft(name: &str) -> KeyDraft {
    let scopes = [KeyScope::Read].into_iter().collect();
    KeyDraft { name: name.to_owned(), scopes, user: None, projects: None, rate: None, expires_at: None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tenants_and_keys_outlive_a_full_disk() {
    let Some(disk) = SmallDisk::mount(32) else {
        return not_run("tenants on a full disk (needs root)");
    };
    let (place, folder) = (Location::File(disk.path().join("manent.db")), disk.path().join("backups"));
    let tenants = Tenants::open(&place, Some(folder.clone())).expect("an empty place");
    tenants.begin().await.expect("nothing is half done");
    let acme = tenants.create_tenant("acme", by()).await.expect("made").id;
    let (_, word) = tenants.create_key(acme, draft("first"), by()).await.expect("made");
    let plan = BackupPlan { every: std::time::Duration::ZERO, ..BackupPlan::daily(folder.clone()) };
    let first = tenants.backup_system_if_due(&plan).await.expect("taken").expect("due");

    let filler = disk.path().join("filler");
    disk.fill(&filler).expect("filled");
    let (mut made, mut refused) = (1, None);
    for n in 0..10_000 {
        match tenants.create_key(acme, draft(&format!("number {n}")), by()).await {
            Ok(_) => made += 1,
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    assert_eq!(refused.expect("the disk is full").code(), "disk_full");
    assert!(tenants.create_tenant("umbrella", by()).await.is_err());
    // What a purge or an erasure tells the log before it begins uses the reserve.
    let line = |action| NewAuditRecord::new(action, Some(acme), by());
    tenants.audit(line("purge")).await.expect("a purge is told on a full disk");
    tenants.audit(line("erase")).await.expect("and an erasure");
    // What was refused gives room back, now or a moment later: that is filled as well.
    let (mut fillers, mut taken) = (vec![filler], 1);
    loop {
        let more = disk.path().join(format!("filler-{taken}"));
        disk.fill(&more).expect("filled");
        fillers.push(more);
        match tenants.backup_system_if_due(&plan).await {
            Ok(_) => taken += 1,
            Err(_) => break,
        }
        assert!(taken < 6, "there is always room for another backup");
    }
    let kept: Vec<_> = std::fs::read_dir(first.parent().expect("a folder")).expect("read").collect();
    assert_eq!(kept.len(), taken, "what could not be finished lies about: {kept:?}");
    assert!(tenants.authenticate(&word.reveal()).is_ok(), "a known key is accepted");

    for filler in fillers {
        std::fs::remove_file(filler).expect("removed");
    }
    tenants.create_key(acme, draft("last"), by()).await.expect("there is room again");
    tenants.close().await.expect("closed");
    let tenants = Tenants::open(&place, Some(folder)).expect("it opens again");
    assert_eq!(tenants.begin().await.expect("finished").len(), 0, "what was half made is finished or gone");
    assert_eq!(tenants.keys(acme, None, 10_000).await.expect("read").len(), made + 1, "what was answered is there");
    for tenant in tenants.tenants(None, 10).await.expect("read").into_iter().filter(|tenant| tenant.is_in_use()) {
        let database = tenants.database(tenant.id).await.expect("there");
        assert!(database.list(ListQuery::default()).await.is_ok(), "{tenant:?}");
    }
    assert!(tenants.verify_audit().await.expect("read").problems.is_empty());
    tenants.create_tenant("umbrella", by()).await.expect("it was never made, or is gone");
    tenants.backup_system_if_due(&plan).await.expect("taken").expect("due");
    tenants.close().await.expect("closed");
}

#[tokio::test]
async fn a_backup_that_has_no_room_leaves_nothing_behind() {
    let Some(disk) = SmallDisk::mount(8) else {
        return not_run("a backup that comes back to a full disk (needs root)");
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = Database::open(folder.path().join("manent.db")).expect("opens");
    let chat = database.create(ConversationDraft::default()).await.expect("made").id;
    for _ in 0..8 {
        let noise: String = (0..1_000_000).map(|_| fastrand::alphanumeric()).collect();
        database.append(chat, MessageDraft::user(noise)).await.expect("kept");
    }
    let backup = folder.path().join("backup");
    database.backup(&backup).await.expect("taken");
    disk.fill(&disk.path().join("filler")).expect("filled");
    let refused = Database::restore_backup(&backup, &Location::File(disk.path().join("manent.db"))).await;
    assert!(refused.is_err(), "the disk is full");
    let left: Vec<_> = std::fs::read_dir(disk.path()).expect("read").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["filler"]);
}

#[tokio::test]
async fn old_backups_stay_when_a_full_disk_refuses_the_new_one_of_an_erasure() {
    let Some(disk) = SmallDisk::mount(8) else {
        return not_run("an erasure that replaces backups on a full disk (needs root)");
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = Database::open(folder.path().join("manent.db")).expect("opens");
    let chat = database.create(ConversationDraft::default()).await.expect("made").id;
    let secret = database.append(chat, MessageDraft::user("secret")).await.expect("kept");
    let noise: String = (0..1_000_000).map(|_| fastrand::alphanumeric()).collect();
    database.append(chat, MessageDraft::user(noise)).await.expect("kept");
    let old = disk.path().join("manent-000001700000000.backup");
    database.backup(&old).await.expect("taken");
    let bytes = std::fs::read(&old).expect("read");
    let filler = disk.path().join("filler");
    disk.fill(&filler).expect("filled");
    let erase = || database.erase_content(EraseTarget::Message(secret), Some(disk.path()), OldBackups::Replace);
    assert!(erase().await.is_err(), "there is no room for another backup");
    assert_eq!(std::fs::read(&old).expect("it is there"), bytes, "the old one is as it was");
    let names = || {
        let listed = std::fs::read_dir(disk.path()).expect("read").flatten();
        let mut names: Vec<String> = listed.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(), ["filler", "manent-000001700000000.backup"], "nothing half written is left");
    assert!(database.message(secret).await.expect("its place").message.erased, "the store has forgotten it");
    // With room the same erasure replaces it.
    std::fs::remove_file(filler).expect("removed");
    assert_eq!(erase().await.expect("there is room").backups_removed, 1);
    assert!(!old.exists() && names().len() == 1, "{:?}", names());
}
