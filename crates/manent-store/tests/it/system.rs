//! The system store: tenants, users, keys and the audit log, the same on every engine.

use crate::kit::{at, id};
use manent_model::*;
use manent_store::postgres::PostgresOptions;
use manent_store::system::*;
use manent_store::{Conflict, StoreError};
use manent_testing::scratch::{Scratch, run_sql};
use std::path::PathBuf;
use std::time::Duration;

/// A system store of its own, and a way to put a hand on its rows.
struct Opened {
    system: SystemStore,
    place: SystemLocation,
    folder: Option<tempfile::TempDir>,
    scratch: Option<Scratch>,
}

impl Opened {
    fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = SystemLocation::File(folder.path().join("system.db"));
        let system = SystemStore::open(place.clone(), at(0)).expect("an empty folder can hold it");
        Self { system, place, folder: Some(folder), scratch: None }
    }

    fn postgres() -> Option<Self> {
        let scratch = Scratch::make()?;
        let place = SystemLocation::Server(PostgresOptions::new(scratch.url.clone()));
        let system = SystemStore::open(place.clone(), at(0)).expect("an empty database can hold it");
        Some(Self { system, place, folder: None, scratch: Some(scratch) })
    }

    fn file(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.path().join("system.db"))
    }

    /// Alters the data as an attacker with access to the file or the server could.
    fn tamper(&self, sql: &str) {
        match (self.file(), &self.scratch) {
            (Some(file), _) => {
                let connection = rusqlite::Connection::open(file).expect("the file is there");
                connection.execute_batch(sql).expect("the statement runs");
            }
            (_, Some(scratch)) => run_sql(&scratch.url, sql).expect("the statement runs"),
            _ => unreachable!("it is somewhere"),
        }
    }
}

/// Runs each function on every engine.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(&super::Opened::sqlite()).await;
                }
            )*
        }

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let Some(opened) = super::Opened::postgres() else { return };
                    super::$name(&opened).await;
                }
            )*
        }
    };
}

on_both! {
    a_tenant_goes_through_its_life,
    users_are_kept_by_the_tenant_they_belong_to,
    a_key_comes_back_as_it_was_made_and_ends_once,
    what_changed_is_told_to_others,
    what_is_refused_leaves_no_line,
    every_line_of_the_log_is_chained,
    what_the_log_tells_of_people_can_be_erased,
    lines_are_read_in_pages,
    many_at_once_leave_no_gap,
    it_opens_again_as_it_was,
    a_backup_comes_back_on_every_engine,
    a_backup_that_was_altered_does_not_come_back,
}

fn by() -> AuditSubject {
    AuditSubject { actor: AuditActor::Operator, user: None, address: Some("192.0.2.7".to_owned()) }
}

fn line(action: &str, tenant: TenantId) -> NewAuditRecord {
    NewAuditRecord::new(action, Some(tenant), by())
}

async fn tenant(opened: &Opened, name: &str) -> TenantRow {
    let new = id(TenantId::new);
    let made = opened.system.create_tenant(new, name.to_owned(), at(1), line("tenant.create", new)).await;
    made.expect("the name is free");
    let status = TenantStatus::Active;
    let active = opened.system.set_tenant_status(new, &[TenantStatus::Making], status, at(1), None).await;
    active.expect("it was being made")
}

async fn user(opened: &Opened, tenant: TenantId, name: &str) -> User {
    let line = line("user.put", tenant).about(name);
    opened.system.put_user(tenant, name.to_owned(), name.to_uppercase(), at(2), line).await.expect("kept")
}

fn key(tenant: TenantId, user: Option<&str>) -> (Key, ApiKeySecret) {
    let word = ApiKeySecret::new(id(KeyId::new), std::array::from_fn(|_| fastrand::u8(..)));
    let key = Key {
        id: word.id,
        tenant,
        name: "laptop".to_owned(),
        scopes: [KeyScope::Read, KeyScope::Append].into_iter().collect(),
        user: user.map(str::to_owned),
        projects: Some([id(ProjectId::new)].into()),
        rate: Some(7),
        created_at: at(3),
        expires_at: Some(at(1_000)),
        revoked_at: None,
        used_at: None,
    };
    (key, word)
}

async fn keep(opened: &Opened, (key, word): &(Key, ApiKeySecret)) -> Result<(), StoreError> {
    opened.system.create_key(key.clone(), word.digest(), line("key.create", key.tenant)).await
}

async fn a_tenant_goes_through_its_life(opened: &Opened) {
    let system = &opened.system;
    let first =
        system.tenant(TenantRef::Name("default".to_owned())).await.expect("read").expect("there from the start");
    assert_eq!((first.no, first.tenant.id, first.tenant.status), (1, DEFAULT_TENANT, TenantStatus::Active));
    let acme = tenant(opened, "acme").await;
    let umbrella = tenant(opened, "umbrella").await;
    assert_eq!((acme.no, umbrella.no), (2, 3));
    let again =
        system.create_tenant(id(TenantId::new), "acme".to_owned(), at(1), line("tenant.create", acme.tenant.id));
    assert!(matches!(again.await, Err(StoreError::Conflict(Conflict::Exists { .. }))));
    let names = |rows: Vec<TenantRow>| rows.into_iter().map(|row| row.tenant.name).collect::<Vec<_>>();
    assert_eq!(names(system.tenants(0, 2).await.expect("read")), ["default", "acme"]);
    assert_eq!(names(system.tenants(2, 2).await.expect("read")), ["umbrella"]);
    let of = acme.tenant.id;
    use TenantStatus::{Active, Erased, Erasing, Making, Suspended};
    let moved = async |from, to| system.set_tenant_status(of, from, to, at(2), Some(line("tenant.suspend", of))).await;
    assert_eq!(moved(&[Active], Suspended).await.expect("active").tenant.status, Suspended);
    assert!(matches!(moved(&[Making], Active).await, Err(StoreError::Invalid(_))));
    assert_eq!(moved(&[Active, Suspended], Erasing).await.expect("suspended").tenant.status, Erasing);
    system.finish_erasing(of, "{}".to_owned(), at(3), line("tenant.erase", of)).await.expect("erased");
    let gone = system.tenant(TenantRef::Id(of)).await.expect("read").expect("its tombstone");
    assert_eq!((gone.tenant.status, gone.tenant.name.as_str(), gone.receipt.as_deref()), (Erased, "", Some("{}")));
    system.finish_erasing(of, "late".to_owned(), at(3), line("tenant.erase", of)).await.expect("by another");
    let gone = system.tenant(TenantRef::Id(of)).await.expect("read").expect("its tombstone");
    assert_eq!(gone.receipt.as_deref(), Some("{}"), "the first receipt stays");
    let late = system.put_user(of, "ada".to_owned(), String::new(), at(4), line("user.put", of)).await;
    assert!(matches!(late, Err(StoreError::NotFound { what: "tenant", .. })), "an erased tenant gets no users");
    assert!(matches!(keep(opened, &key(of, None)).await, Err(StoreError::NotFound { what: "tenant", .. })));
    assert_eq!(system.tenant(TenantRef::Name("acme".to_owned())).await.expect("read"), None);
    assert_eq!(system.tenant(TenantRef::Name(String::new())).await.expect("read"), None);
    assert_eq!(tenant(opened, "acme").await.no, 4);
}

async fn users_are_kept_by_the_tenant_they_belong_to(opened: &Opened) {
    let (acme, umbrella) = (tenant(opened, "acme").await.tenant.id, tenant(opened, "umbrella").await.tenant.id);
    for name in ["ada", "bob", "天"] {
        user(opened, acme, name).await;
    }
    user(opened, umbrella, "ada").await;
    let system = &opened.system;
    let renamed = system.put_user(acme, "ada".to_owned(), "Ada L".to_owned(), at(9), line("user.put", acme)).await;
    assert_eq!(renamed.expect("kept"), User { id: "ada".to_owned(), name: "Ada L".to_owned(), created_at: at(2) });
    let found = system.user(umbrella, "ada".to_owned()).await.expect("read").expect("there");
    assert_eq!(found.name, "ADA");
    let ids = |users: Vec<User>| users.into_iter().map(|user| user.id).collect::<Vec<_>>();
    assert_eq!(ids(system.users(acme, String::new(), 2).await.expect("read")), ["ada", "bob"]);
    assert_eq!(ids(system.users(acme, "bob".to_owned(), 2).await.expect("read")), ["天"]);
    assert_eq!(system.user(umbrella, "bob".to_owned()).await.expect("read"), None);
    let outcome =
        system.put_user(id(TenantId::new), "x".to_owned(), String::new(), at(1), line("user.put", acme)).await;
    assert!(matches!(outcome, Err(StoreError::NotFound { what: "tenant", .. })));
}

async fn a_key_comes_back_as_it_was_made_and_ends_once(opened: &Opened) {
    let acme = tenant(opened, "acme").await.tenant.id;
    let umbrella = tenant(opened, "umbrella").await.tenant.id;
    user(opened, acme, "ada").await;
    let made = key(acme, Some("ada"));
    keep(opened, &made).await.expect("ada is there");
    let for_nobody = keep(opened, &key(umbrella, Some("ada"))).await;
    assert!(matches!(for_nobody, Err(StoreError::NotFound { what: "user", .. })));
    let system = &opened.system;
    let plain =
        (Key { projects: None, rate: None, expires_at: None, user: None, ..key(acme, None).0 }, key(acme, None).1);
    keep(opened, &plain).await.expect("kept");
    assert_eq!(system.keys(acme, None, 10).await.expect("read"), [made.0.clone(), plain.0.clone()]);
    assert_eq!(system.keys(acme, Some(made.0.id), 10).await.expect("read"), [plain.0]);
    assert_eq!(system.keys(umbrella, None, 10).await.expect("read"), []);
    let elsewhere = system.revoke_key(umbrella, made.0.id, at(5), line("key.revoke", umbrella)).await;
    assert!(matches!(elsewhere, Err(StoreError::NotFound { what: "key", .. })));
    let revoked = system.revoke_key(acme, made.0.id, at(5), line("key.revoke", acme)).await.expect("it is there");
    assert_eq!(revoked.revoked_at, Some(at(5)));
    let again = system.revoke_key(acme, made.0.id, at(6), line("key.revoke", acme)).await.expect("it is there");
    assert_eq!(again.revoked_at, Some(at(5)));
    system.note_use(vec![(made.0.id, at(7)), (id(KeyId::new), at(7))]).await.expect("noted");
    system.note_use(vec![(made.0.id, at(6))]).await.expect("noted");
    assert_eq!(system.keys(acme, None, 1).await.expect("read")[0].used_at, Some(at(7)));
}

async fn what_changed_is_told_to_others(opened: &Opened) {
    let other = SystemStore::open(opened.place.clone(), at(9)).expect("it is there");
    let mut changes = other.changes();
    let acme = tenant(opened, "acme").await.tenant.id;
    let before = opened.system.changed_since(0).await.expect("read");
    let made = key(acme, None);
    keep(opened, &made).await.expect("kept");
    let told = tokio::time::timeout(Duration::from_secs(20), changes.wait_for(|change| *change > before.change));
    assert!(told.await.expect("told in time").is_ok());
    let changed = other.changed_since(before.change).await.expect("read");
    assert_eq!(changed.keys, [KeyRow { key: made.0.clone(), digest: made.1.digest(), user_name: None }]);
    assert_eq!(changed.key_ids, [made.0.id]);
    assert_eq!(changed.tenants.len(), 2);
    assert!(other.changed_since(changed.change).await.expect("read").keys.is_empty());
    opened.system.revoke_key(acme, made.0.id, at(5), line("key.revoke", acme)).await.expect("it is there");
    let keys = other.changed_since(changed.change).await.expect("read").keys;
    assert_eq!(keys[0].key.revoked_at, Some(at(5)));
    other.close().await.expect("closed");
}

async fn what_is_refused_leaves_no_line(opened: &Opened) {
    let acme = tenant(opened, "acme").await.tenant.id;
    let lines = opened.system.verify_audit().await.expect("read").lines;
    keep(opened, &key(acme, Some("nobody"))).await.expect_err("there is no such user");
    keep(opened, &key(id(TenantId::new), None)).await.expect_err("there is no such tenant");
    assert_eq!(opened.system.verify_audit().await.expect("read").lines, lines);
    assert_eq!(opened.system.keys(acme, None, 10).await.expect("read"), []);
}

async fn every_line_of_the_log_is_chained(opened: &Opened) {
    let acme = tenant(opened, "acme").await.tenant.id;
    for count in 0..6 {
        let line = line("export", acme).about("ada").detail([count]);
        opened.system.audit(at(10 + count), line).await.expect("kept");
    }
    opened
        .system
        .audit(at(20), NewAuditRecord::new("server.start", None, AuditSubject::actor(AuditActor::Server)))
        .await
        .expect("kept");
    let whole = opened.system.verify_audit().await.expect("read");
    assert_eq!((whole.lines, whole.erased, &whole.problems[..]), (8, 0, &[][..]));
    let breaks = [
        (
            "update system_audit set action = 'nothing' where no = 3",
            "update system_audit set action = 'export' where no = 3",
        ),
        ("update system_audit set at = at + 1 where no = 3", "update system_audit set at = at - 1 where no = 3"),
        (
            "update system_audit set payload = payload || ' ' where no = 3",
            "update system_audit set payload = trim(payload) where no = 3",
        ),
        (
            "update system_audit set about_user = 'bob' where no = 3",
            "update system_audit set about_user = 'ada' where no = 3",
        ),
        ("update system_audit set actor = 1 where no = 3", "update system_audit set actor = 0 where no = 3"),
        ("update system_audit set tenant_id = null where no = 3", ""),
    ];
    for (broken, mended) in breaks {
        opened.tamper(broken);
        let report = opened.system.verify_audit().await.expect("read");
        assert_eq!(report.problems, [AuditProblem::Altered { no: 3 }], "{broken}");
        opened.tamper(mended);
    }
    opened.tamper("delete from system_audit where no = 5");
    let report = opened.system.verify_audit().await.expect("read");
    assert_eq!(report.problems, [AuditProblem::Altered { no: 3 }, AuditProblem::Lost { no: 5 }]);
    opened.tamper("delete from system_audit where no > 6");
    let report = opened.system.verify_audit().await.expect("read");
    let cut = [AuditProblem::Altered { no: 3 }, AuditProblem::Lost { no: 5 }, AuditProblem::Lost { no: 7 }];
    assert_eq!(report.problems, cut);
}

async fn what_the_log_tells_of_people_can_be_erased(opened: &Opened) {
    let acme = tenant(opened, "acme").await.tenant.id;
    let umbrella = tenant(opened, "umbrella").await.tenant.id;
    for of in [acme, umbrella] {
        user(opened, of, "ada-canary").await;
        keep(opened, &key(of, Some("ada-canary"))).await.expect("kept");
    }
    let by_ada = AuditSubject { user: Some("ada-canary".to_owned()), ..by() };
    opened.system.audit(at(4), NewAuditRecord::new("export", Some(acme), by_ada)).await.expect("kept");
    let erase = line("user.erase", acme).detail("1 user");
    let gone = opened.system.forget_user(acme, "ada-canary".to_owned(), at(5), erase).await.expect("there");
    assert_eq!(gone, PurgeCounts { users: 1, keys: 1, audit: 2 });
    let report = opened.system.verify_audit().await.expect("read");
    assert_eq!((report.erased, &report.problems[..]), (2, &[][..]));
    assert!(opened.system.user(umbrella, "ada-canary".to_owned()).await.expect("read").is_some());
    let gone = opened.system.forget_tenant(umbrella).await.expect("there");
    assert_eq!((gone.users, gone.keys), (1, 1));
    let report = opened.system.verify_audit().await.expect("read");
    assert_eq!((report.erased, &report.problems[..]), (5, &[][..]));
    if let Some(file) = opened.file() {
        for suffix in ["", "-wal"] {
            let bytes = std::fs::read(format!("{}{suffix}", file.display())).unwrap_or_default();
            assert!(!bytes.windows(10).any(|part| part == b"ada-canary"), "the name is still in system.db{suffix}");
        }
    }
}

async fn lines_are_read_in_pages(opened: &Opened) {
    let acme = tenant(opened, "acme").await.tenant.id;
    for count in 0..5 {
        let of = if count % 2 == 0 { acme } else { DEFAULT_TENANT };
        opened.system.audit(at(count), line("export", of).detail(count)).await.expect("kept");
    }
    let page =
        async |tenant, before| opened.system.audit_page(AuditQuery { tenant, before, limit: 2 }).await.expect("read");
    let numbers = |page: &AuditPage| page.entries.iter().map(|entry| entry.no).collect::<Vec<_>>();
    let first = page(None, None).await;
    assert_eq!((numbers(&first), first.next), (vec![6, 5], Some(5)));
    assert_eq!(first.entries[0].payload.as_ref().map(Json::text), Some(r#"{"address":"192.0.2.7","detail":4}"#));
    let of_acme = page(Some(acme), None).await;
    assert_eq!((numbers(&of_acme), of_acme.next), (vec![6, 4], Some(4)));
    let rest = page(Some(acme), of_acme.next).await;
    assert_eq!((numbers(&rest), rest.next), (vec![2, 1], None));
}

async fn many_at_once_leave_no_gap(opened: &Opened) {
    let other = SystemStore::open(opened.place.clone(), at(9)).expect("it is there");
    let (ours, theirs) = tokio::join!(twenty_lines(&opened.system, 0), twenty_lines(&other, 100));
    ours.and(theirs).expect("all are kept");
    let report = opened.system.verify_audit().await.expect("read");
    assert_eq!((report.lines, &report.problems[..]), (40, &[][..]));
}

async fn twenty_lines(system: &SystemStore, from: i64) -> Result<(), StoreError> {
    for count in 0..20 {
        system.audit(at(from + count), line("export", DEFAULT_TENANT)).await?;
    }
    Ok(())
}

async fn it_opens_again_as_it_was(opened: &Opened) {
    let acme = tenant(opened, "acme").await;
    let before = opened.system.verify_audit().await.expect("read");
    opened.system.close().await.expect("closed");
    assert!(matches!(opened.system.verify_audit().await, Err(StoreError::Closed)));
    let again = SystemStore::open(opened.place.clone(), at(99)).expect("it is there");
    assert_eq!(again.verify_audit().await.expect("read"), before);
    assert_eq!(again.tenant(TenantRef::Id(acme.tenant.id)).await.expect("read"), Some(acme));
    assert_eq!(again.tenants(0, 10).await.expect("read").len(), 2);
    again.close().await.expect("closed");
}

#[test]
fn a_store_is_not_taken_for_the_system_store_nor_the_other_way_round() {
    use manent_store::sqlite::{SqliteOptions, SqliteStore};
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (system, store) = (folder.path().join("system.db"), folder.path().join("store.db"));
    drop(SystemStore::open(SystemLocation::File(system.clone()), at(0)).expect("made"));
    drop(SqliteStore::open(SqliteOptions::new(&store)).expect("made"));
    let as_store = SqliteStore::open(SqliteOptions::new(&system));
    assert!(matches!(as_store.err(), Some(StoreError::NotOurs { .. })));
    let as_system = SystemStore::open(SystemLocation::File(store), at(0));
    assert!(matches!(as_system.err(), Some(StoreError::NotOurs { .. })));
}

#[tokio::test]
async fn on_a_server_neither_role_reads_the_rows_of_the_other() {
    use manent_store::postgres::PostgresStore;
    let Some(opened) = Opened::postgres() else { return };
    let url = &opened.scratch.as_ref().expect("on a server").url;
    drop(PostgresStore::open(PostgresOptions::new(url.clone())).expect("an empty tenant"));
    for (role, table) in [("manent_app", "system_key"), ("manent_app", "system_audit"), ("manent_system", "message")] {
        let sql = format!("set role {role}; select count(*) from {table}");
        let denied = format!("{:?}", run_sql(url, &sql).expect_err("refused"));
        assert!(denied.contains("permission denied"), "{role} reads {table}: {denied}");
    }
    let sql = "set role manent_system; delete from system_audit";
    assert!(run_sql(url, sql).is_err(), "lines of the log were deleted");
}

/// Everything that can be asked of it, but the log.
async fn everything(system: &SystemStore) -> (Vec<TenantRow>, Vec<KeyRow>, Vec<User>) {
    let changed = system.changed_since(0).await.expect("read");
    let mut users = Vec::new();
    for row in &changed.tenants {
        users.extend(system.users(row.tenant.id, String::new(), 100).await.expect("read"));
    }
    (changed.tenants, changed.keys, users)
}

async fn a_backup_comes_back_on_every_engine(opened: &Opened) {
    let system = &opened.system;
    assert!(system.is_new().await.expect("read"));
    let acme = tenant(opened, "acme").await.tenant.id;
    user(opened, acme, "ada").await;
    let held = key(acme, Some("ada"));
    keep(opened, &held).await.expect("kept");
    system.note_use(vec![(held.0.id, at(5))]).await.expect("noted");
    system.forget_user(acme, "ada".to_owned(), at(6), line("user.erase", acme).about("ada")).await.expect("erased");
    keep(opened, &key(acme, None)).await.expect("kept");
    // More lines than travel at a time.
    for number in 0..600 {
        system.audit(at(7 + number), line("export", acme)).await.expect("told");
    }
    assert!(!system.is_new().await.expect("read"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let backup = folder.path().join("one.backup");
    system.backup(&backup).await.expect("taken");
    assert!(manent_store::sqlite::is_system(&backup));
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).expect("there").map(|entry| entry.expect("read").path()).collect();
    assert_eq!(names, std::slice::from_ref(&backup), "one file and nothing beside it");
    assert!(matches!(system.backup(&backup).await, Err(StoreError::Invalid(_))), "it is not written over");
    let before = system.verify_audit().await.expect("read");
    for other in [Some(Opened::sqlite()), Opened::postgres()].into_iter().flatten() {
        let copy = folder.path().join("copy");
        std::fs::copy(&backup, &copy).expect("copied");
        other.system.restore(&copy, at(9), line("system.restore", acme)).await.expect("empty");
        assert_eq!(everything(&other.system).await, everything(system).await);
        let after = other.system.verify_audit().await.expect("read");
        assert_eq!((after.problems.len(), after.lines, after.erased), (0, before.lines + 1, before.erased));
        let again = other.system.restore(&copy, at(9), line("system.restore", acme)).await;
        assert!(matches!(again, Err(StoreError::Invalid(_))), "what is there is not written over");
        // Numbers of tenants go on where they were.
        assert_eq!(tenant(&other, "umbrella").await.no, 3);
    }
}

async fn a_backup_that_was_altered_does_not_come_back(opened: &Opened) {
    let acme = tenant(opened, "acme").await.tenant.id;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let backup = folder.path().join("one.backup");
    opened.system.backup(&backup).await.expect("taken");
    let file = rusqlite::Connection::open(&backup).expect("a file");
    file.execute_batch("update system_audit set action = 'nothing'").expect("altered");
    drop(file);
    let other = Opened::sqlite();
    let restored = other.system.restore(&backup, at(9), line("system.restore", acme)).await;
    assert!(matches!(restored, Err(StoreError::Altered { .. })), "{restored:?}");
    assert!(other.system.is_new().await.expect("read"));
    // A store of a tenant, and rubbish.
    for bytes in [vec![0u8; 5000], b"SQLite format 3\0".to_vec()] {
        std::fs::write(&backup, bytes).expect("written");
        assert!(!manent_store::sqlite::is_system(&backup));
        assert!(other.system.restore(&backup, at(9), line("system.restore", acme)).await.is_err());
    }
    assert!(other.system.is_new().await.expect("read"));
}
