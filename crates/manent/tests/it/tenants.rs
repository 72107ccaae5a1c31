//! Many owners on one server: made, suspended, erased, and who may come in.

use manent::model::{AuditActor, DEFAULT_TENANT, KeyDraft, KeyScope, KeyWord, TenantStatus};
use manent::store::system::{AuditQuery, By, SystemPlace, SystemStore};
use manent::store::{MemoriesQuery, Scope, StoreError};
use manent::{Author, ConversationDraft, Error, Json, MemoryDraft, MessageDraft, Place, Refusal, Tenants};
use manent_testing::scratch::Scratch;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// Tenants of their own, in a folder or on a server of their own.
struct Opened {
    tenants: Tenants,
    place: Place,
    folder: TempDir,
    _scratch: Option<Scratch>,
}

impl Opened {
    async fn at(place: Place, folder: TempDir, scratch: Option<Scratch>) -> Self {
        let tenants = Tenants::open(&place, Some(folder.path().join("backups"))).expect("an empty place");
        tenants.begin().await.expect("nothing is half done");
        Self { tenants, place, folder, _scratch: scratch }
    }

    async fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self::at(Place::File(folder.path().join("manent.db")), folder, None).await
    }

    async fn postgres() -> Option<Self> {
        let scratch = Scratch::make()?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        Some(Self::at(Place::of(&scratch.url), folder, Some(scratch)).await)
    }

    /// Opens them anew, as the next start does.
    async fn again(self) -> Self {
        self.tenants.close().await.expect("closed");
        Self::at(self.place, self.folder, self._scratch).await
    }

    fn system(&self) -> SystemStore {
        let place = match &self.place {
            Place::File(path) => SystemPlace::File(path.with_file_name("manent.db-tenants").join("system.db")),
            Place::Server(options) => SystemPlace::Server(options.clone()),
        };
        SystemStore::open(place, manent::Micros(0)).expect("it is there")
    }
}

/// Runs each function on every engine.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(super::Opened::sqlite().await).await;
                }
            )*
        }

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let Some(opened) = super::Opened::postgres().await else { return };
                    super::$name(opened).await;
                }
            )*
        }
    };
}

on_both! {
    each_tenant_has_a_store_of_its_own,
    the_first_tenant_is_the_store_itself,
    names_are_unique_and_lists_have_pages,
    a_key_lets_its_holder_in_until_it_ends,
    a_pass_ends_with_its_key_and_with_its_tenant,
    a_key_that_makes_no_sense_is_not_made,
    another_process_ends_a_key,
    what_a_crash_left_half_done_is_finished,
    more_tenants_than_may_be_open_take_turns,
    an_erased_tenant_leaves_a_receipt_and_nothing_else,
    two_erase_a_tenant_while_a_third_closes_it,
    one_that_is_erased_while_it_is_made_leaves_nothing,
    a_backup_under_way_does_not_outlive_an_erasure,
    an_erased_user_leaves_what_others_wrote,
    one_that_cannot_be_finished_keeps_no_other_waiting,
    a_server_comes_back_from_its_backups,
}

fn by() -> By {
    By::actor(AuditActor::Operator)
}

fn draft(scopes: &[KeyScope]) -> KeyDraft {
    let scopes = scopes.iter().copied().collect();
    KeyDraft { name: "a key".to_owned(), scopes, user: None, projects: None, rate: None, expires_at: None }
}

fn person(id: &str) -> Author {
    Author { id: id.to_owned(), name: id.to_uppercase() }
}

async fn talk(database: &manent::Database, creator: &str, members: &[&str], texts: &[&str]) -> manent::ConversationId {
    let draft = ConversationDraft {
        title: format!("of {creator}"),
        creator: Some(person(creator)),
        members: members.iter().map(|member| person(member)).collect(),
        ..ConversationDraft::default()
    };
    let id = database.create(draft).await.expect("made").id;
    for text in texts {
        let mut message = MessageDraft::user(*text);
        message.content.author = Some(person(creator));
        database.append(id, message).await.expect("kept");
    }
    id
}

async fn each_tenant_has_a_store_of_its_own(opened: Opened) {
    let tenants = &opened.tenants;
    let acme = tenants.create_tenant("acme", by()).await.expect("made");
    let umbrella = tenants.create_tenant("umbrella", by()).await.expect("made");
    assert_eq!(acme.status, TenantStatus::Active);
    let (a, b) = (tenants.database(acme.id).await.expect("there"), tenants.database(umbrella.id).await.expect("there"));
    let of_acme = talk(&a, "ada", &[], &["天气怎么样"]).await;
    talk(&b, "bob", &[], &["hello"]).await;
    for other in [&b, tenants.home()] {
        let unknown = other.conversation(of_acme).await.expect_err("it is another's");
        assert!(matches!(unknown, Error::Store(StoreError::NotFound { .. })));
    }
    let opened = opened.again().await;
    let a = opened.tenants.database(acme.id).await.expect("there");
    assert_eq!(a.last(of_acme, 10).await.expect("read").messages.len(), 1);
    opened.tenants.close().await.expect("closed");
}

async fn the_first_tenant_is_the_store_itself(opened: Opened) {
    let tenants = &opened.tenants;
    let kept = talk(tenants.home(), "ada", &[], &["hello"]).await;
    let database = tenants.database(DEFAULT_TENANT).await.expect("always there");
    assert_eq!(database.conversation(kept).await.expect("there").id, kept);
    assert_eq!(tenants.tenant("default").await.expect("there").id, DEFAULT_TENANT);
    for outcome in [
        tenants.suspend(DEFAULT_TENANT, by()).await.map(drop),
        tenants.erase_tenant(DEFAULT_TENANT, by()).await.map(drop),
    ] {
        assert!(matches!(outcome, Err(Error::Store(StoreError::Invalid(_)))));
    }
    let place = opened.place.clone();
    opened.tenants.close().await.expect("closed");
    let alone = manent::Database::open_at(&place).expect("the store needs no tenants");
    assert_eq!(alone.conversation(kept).await.expect("there").id, kept);
    alone.close().await.expect("closed");
}

async fn names_are_unique_and_lists_have_pages(opened: Opened) {
    let tenants = &opened.tenants;
    for name in ["acme", "天", "umbrella"] {
        tenants.create_tenant(name, by()).await.expect("made");
    }
    let taken = tenants.create_tenant(" acme ", by()).await.expect_err("taken");
    assert_eq!(taken.code(), "exists");
    for wrong in ["", "  ", "a\nb", &"x".repeat(101)] {
        assert_eq!(tenants.create_tenant(wrong, by()).await.expect_err("no name").code(), "invalid", "{wrong:?}");
    }
    let first = tenants.tenants(None, 2).await.expect("read");
    let names = |page: &[manent::model::Tenant]| page.iter().map(|tenant| tenant.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&first), ["default", "acme"]);
    assert_eq!(names(&tenants.tenants(Some(first[1].id), 9).await.expect("read")), ["天", "umbrella"]);
    tenants.erase_tenant(first[1].id, by()).await.expect("erased");
    assert_eq!(names(&tenants.tenants(None, 2).await.expect("read")), ["default", "天"]);
    opened.tenants.close().await.expect("closed");
}

async fn a_key_lets_its_holder_in_until_it_ends(opened: Opened) {
    let tenants = &opened.tenants;
    let acme = tenants.create_tenant("acme", by()).await.expect("made").id;
    tenants.put_user(acme, "ada", "Ada", by()).await.expect("known");
    let limited = KeyDraft { user: Some("ada".to_owned()), ..draft(&[KeyScope::Read]) };
    let (key, word) = tenants.create_key(acme, limited, by()).await.expect("made");
    let pass = tenants.admit(&word.reveal()).expect("a good key");
    assert_eq!((pass.key.id, pass.key.tenant, pass.key.realm().user), (key.id, acme, Some("ada".to_owned())));
    let wrong = KeyWord::new(key.id, [1; 32]).reveal();
    let unknown = KeyWord::new(manent::model::KeyId::new(1, [1; 10]), [1; 32]).reveal();
    for refused in [&wrong, &unknown, "", "manent_", "x", &word.reveal()[1..]] {
        assert_eq!(tenants.admit(refused).map(drop), Err(Refusal::Unknown), "{refused}");
    }
    let soon = manent::Micros(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("now").as_micros() as i64 + 300_000,
    );
    let short = KeyDraft { expires_at: Some(soon), ..draft(&[KeyScope::Read]) };
    let (_, short) = tenants.create_key(acme, short, by()).await.expect("made");
    let expired = async {
        while tenants.admit(&short.reveal()).is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), expired).await.expect("it expires");
    assert_eq!(tenants.admit(&short.reveal()).map(drop), Err(Refusal::Expired));
    assert!(tenants.keys(acme, None, 10).await.expect("read")[0].used_at.is_some());
    tenants.revoke_key(acme, key.id, by()).await.expect("there");
    assert_eq!(tenants.admit(&word.reveal()).map(drop), Err(Refusal::Revoked));
    assert_eq!(tenants.admit_again(key.id).map(drop), Err(Refusal::Revoked));
    let opened = opened.again().await;
    assert_eq!(opened.tenants.admit(&word.reveal()).map(drop), Err(Refusal::Revoked));
    let lines =
        opened.tenants.audit_page(AuditQuery { tenant: Some(acme), before: None, limit: 10 }).await.expect("read");
    let actions: Vec<&str> = lines.entries.iter().map(|line| line.action.as_str()).collect();
    assert_eq!(actions, ["key.revoke", "key.create", "key.create", "user.put", "tenant.create"]);
    opened.tenants.close().await.expect("closed");
}

async fn a_pass_ends_with_its_key_and_with_its_tenant(opened: Opened) {
    let tenants = &opened.tenants;
    let acme = tenants.create_tenant("acme", by()).await.expect("made").id;
    let (key, word) = tenants.create_key(acme, draft(&[KeyScope::Read]), by()).await.expect("made");
    let pass = tenants.admit(&word.reveal()).expect("good");
    assert!(tokio::time::timeout(Duration::ZERO, pass.clone().ended()).await.is_err(), "it ended by itself");
    tenants.suspend(acme, by()).await.expect("active");
    tokio::time::timeout(Duration::from_secs(20), pass.ended()).await.expect("it ends with the tenant");
    assert_eq!(tenants.admit(&word.reveal()).map(drop), Err(Refusal::Suspended));
    tenants.resume(acme, by()).await.expect("suspended");
    let pass = tenants.admit(&word.reveal()).expect("good again");
    assert!(tokio::time::timeout(Duration::ZERO, pass.clone().ended()).await.is_err(), "it ended by itself");
    tenants.revoke_key(acme, key.id, by()).await.expect("there");
    tokio::time::timeout(Duration::from_secs(20), pass.ended()).await.expect("it ends with the key");
    opened.tenants.close().await.expect("closed");
}

async fn a_key_that_makes_no_sense_is_not_made(opened: Opened) {
    let tenants = &opened.tenants;
    let acme = tenants.create_tenant("acme", by()).await.expect("made").id;
    let project = tenants.home().create_project("elsewhere", "").await.expect("made").id;
    let read = || draft(&[KeyScope::Read]);
    let refused = [
        (draft(&[]), "invalid"),
        (KeyDraft { name: " ".to_owned(), ..read() }, "invalid"),
        (KeyDraft { rate: Some(0), ..read() }, "invalid"),
        (KeyDraft { expires_at: Some(manent::Micros(1)), ..read() }, "invalid"),
        (KeyDraft { user: Some("nobody".to_owned()), ..read() }, "not_found"),
        (KeyDraft { projects: Some([project].into()), ..read() }, "not_found"),
        (KeyDraft { projects: Some([].into()), ..read() }, "invalid"),
    ];
    for (draft, code) in refused {
        let said = format!("{draft:?}");
        assert_eq!(tenants.create_key(acme, draft, by()).await.expect_err(&said).code(), code, "{said}");
    }
    assert_eq!(tenants.keys(acme, None, 10).await.expect("read"), []);
    for wrong in ["", " ada", "a\nb", &"x".repeat(201)] {
        assert_eq!(tenants.put_user(acme, wrong, "", by()).await.expect_err("no id").code(), "invalid", "{wrong:?}");
    }
    opened.tenants.close().await.expect("closed");
}

async fn another_process_ends_a_key(opened: Opened) {
    let tenants = opened.tenants.clone();
    let (key, word) = tenants.create_key(DEFAULT_TENANT, draft(&[KeyScope::Read]), by()).await.expect("made");
    let pass = tenants.admit(&word.reveal()).expect("good");
    let following = tokio::spawn({
        let tenants = tenants.clone();
        async move { tenants.follow().await }
    });
    let other = Tenants::open(&opened.place, None).expect("several may");
    other.begin().await.expect("nothing is half done");
    assert!(other.admit(&word.reveal()).is_ok(), "another process knows the key");
    other.revoke_key(DEFAULT_TENANT, key.id, by()).await.expect("there");
    tokio::time::timeout(Duration::from_secs(20), pass.ended()).await.expect("the pass ends");
    assert_eq!(tenants.admit(&word.reveal()).map(drop), Err(Refusal::Revoked));
    following.abort();
    other.close().await.expect("closed");
    opened.tenants.close().await.expect("closed");
}

async fn more_tenants_than_may_be_open_take_turns(opened: Opened) {
    let tenants = &opened.tenants;
    let mut all = Vec::new();
    for number in 0..12 {
        all.push(tenants.create_tenant(&format!("tenant {number}"), by()).await.expect("made").id);
    }
    for round in 0..2 {
        for id in &all {
            let database = tenants.database(*id).await.expect("there is room");
            talk(&database, "ada", &[], &["天气"]).await;
            let kept = database.list(manent::ListQuery::default()).await.expect("read").conversations.len();
            assert_eq!(kept, round + 1, "each has its own, also after it was closed");
        }
    }
    if matches!(opened.place, Place::Server(_)) {
        assert!(tenants.open_stores().len() <= 9, "{} are open", tenants.open_stores().len());
    }
    opened.tenants.close().await.expect("closed");
}

async fn what_a_crash_left_half_done_is_finished(opened: Opened) {
    let system = opened.system();
    let line = |action: &str, id| manent::store::system::AuditDraft::new(action, Some(id), by());
    let made = opened.tenants.home().new_id(manent::model::TenantId::new);
    system
        .create_tenant(made, "begun".to_owned(), manent::Micros(1), line("tenant.create", made))
        .await
        .expect("begun");
    let erased = opened.tenants.create_tenant("going", by()).await.expect("made").id;
    talk(&opened.tenants.database(erased).await.expect("there"), "ada", &[], &["gone"]).await;
    let to = TenantStatus::Erasing;
    system.set_tenant_status(erased, &[TenantStatus::Active], to, manent::Micros(2), None).await.expect("begun");
    system.close().await.expect("closed");
    let opened = opened.again().await;
    assert_eq!(opened.tenants.tenant("begun").await.expect("there").status, TenantStatus::Active);
    talk(&opened.tenants.database(made).await.expect("there"), "ada", &[], &["works"]).await;
    assert_eq!(opened.tenants.tenant(&erased.to_string()).await.expect("its tombstone").status, TenantStatus::Erased);
    assert_eq!(opened.tenants.receipt(erased).await.expect("read").expect("a receipt").messages, 1);
    assert!(opened.tenants.database(erased).await.is_err(), "an erased tenant has no store");
    opened.tenants.close().await.expect("closed");
}

/// Says whether bytes stand in any file below a folder.
fn stands_in_files(folder: &Path, text: &str) -> Option<String> {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let found = match path.is_dir() {
            true => stands_in_files(&path, text),
            false => {
                let bytes = std::fs::read(&path).expect("readable");
                let found = bytes.windows(text.len()).any(|part| part == text.as_bytes());
                found.then(|| path.display().to_string())
            }
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

async fn an_erased_tenant_leaves_a_receipt_and_nothing_else(opened: Opened) {
    let tenants = &opened.tenants;
    let acme = tenants.create_tenant("acme-canary", by()).await.expect("made").id;
    let other = tenants.create_tenant("other", by()).await.expect("made").id;
    let kept = talk(&tenants.database(other).await.expect("there"), "bob", &[], &["stays"]).await;
    tenants.put_user(acme, "ada-canary", "Ada", by()).await.expect("known");
    let (_, word) = tenants.create_key(acme, draft(&[KeyScope::Admin]), by()).await.expect("made");
    let database = tenants.database(acme).await.expect("there");
    talk(&database, "ada-canary", &[], &["word-canary 天气", "two"]).await;
    let plan = manent::BackupPlan::daily(tenants.backups_of(acme).expect("a folder"));
    database.backup_if_due(&plan).await.expect("taken").expect("due");
    let pass = tenants.admit(&word.reveal()).expect("good");
    tenants.backup_system_if_due(&plan).await.expect("taken").expect("due");
    let erasure = tenants.erase_tenant(acme, by()).await.expect("erased");
    let counts = (erasure.conversations, erasure.messages, erasure.users, erasure.keys, erasure.backups);
    assert_eq!(counts, (1, 2, 1, 1, 2));
    assert!(erasure.audit >= 1 && (erasure.files > 0 || erasure.rows > 0), "{erasure:?}");
    tokio::time::timeout(Duration::from_secs(20), pass.ended()).await.expect("whoever is in is sent out");
    assert_eq!(tenants.admit(&word.reveal()).map(drop), Err(Refusal::Unknown));
    assert!(database.list(manent::ListQuery::default()).await.is_err(), "an old handle still reads");
    assert_eq!(tenants.receipt(acme).await.expect("read"), Some(erasure));
    assert!(tenants.erase_tenant(acme, by()).await.is_err(), "it is gone already");
    assert!(tenants.verify_audit().await.expect("read").problems.is_empty());
    assert_eq!(tenants.database(other).await.expect("there").last(kept, 9).await.expect("read").messages.len(), 1);
    let again = tenants.create_tenant("acme-canary", by()).await.expect("the name is free again").id;
    let empty = tenants.database(again).await.expect("there").list(manent::ListQuery::default()).await.expect("read");
    assert!(empty.conversations.is_empty());
    tenants.erase_tenant(again, by()).await.expect("erased");
    for canary in ["ada-canary", "word-canary", "acme-canary"] {
        assert_eq!(stands_in_files(opened.folder.path(), canary), None, "{canary}");
    }
    opened.tenants.close().await.expect("closed");
}

/// Follows what changes, as a server does all the time; so its stores are closed as soon as they are not served.
fn follow(tenants: &Tenants) -> tokio::task::JoinHandle<()> {
    let tenants = tenants.clone();
    tokio::spawn(async move { tenants.follow().await })
}

/// Returns the files of tenants that are there, those of the system store left out.
fn files_of_tenants(opened: &Opened) -> Vec<String> {
    let names = std::fs::read_dir(opened.folder.path().join("manent.db-tenants")).into_iter().flatten();
    let names = names.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name of ours"));
    names.filter(|name| !name.starts_with("system.db")).collect()
}

async fn two_erase_a_tenant_while_a_third_closes_it(opened: Opened) {
    let tenants = &opened.tenants;
    let following = follow(tenants);
    for round in 0..20 {
        let acme = tenants.create_tenant("acme", by()).await.expect("made").id;
        let database = tenants.database(acme).await.expect("there");
        talk(&database, "ada", &[], &["gone"]).await;
        let plan = manent::BackupPlan::daily(tenants.backups_of(acme).expect("a folder"));
        database.backup_if_due(&plan).await.expect("taken").expect("due");
        drop(database);
        let (first, second) = tokio::join!(tenants.erase_tenant(acme, by()), tenants.erase_tenant(acme, by()));
        let late = match (first, second) {
            (Ok(erasure), late) | (late, Ok(erasure)) => {
                assert!(erasure.messages == 1 && erasure.backups >= 1, "round {round}: {erasure:?}");
                assert_eq!(tenants.receipt(acme).await.expect("read"), Some(erasure), "round {round}");
                late
            }
            (Err(first), Err(second)) => panic!("round {round}: {first:?}, {second:?}"),
        };
        assert_eq!(late.map(drop).expect_err("it is erased once").code(), "not_found", "round {round}");
        assert_eq!(files_of_tenants(&opened), [""; 0], "round {round}");
    }
    following.abort();
    opened.tenants.close().await.expect("closed");
}

async fn one_that_is_erased_while_it_is_made_leaves_nothing(opened: Opened) {
    let tenants = &opened.tenants;
    let following = follow(tenants);
    let other = Tenants::open(&opened.place, None).expect("as another process");
    for round in 0..40 {
        let maker = if round % 2 == 0 { tenants } else { &other };
        let erase = async {
            let mut found = tenants.tenant("acme").await;
            while found.is_err() {
                tokio::task::yield_now().await;
                found = tenants.tenant("acme").await;
            }
            tenants.erase_tenant(found.expect("it is there").id, by()).await
        };
        let (made, erased) = tokio::join!(maker.create_tenant("acme", by()), erase);
        erased.expect("erased");
        if let Err(error) = made {
            assert!(["not_found", "invalid"].contains(&error.code()), "round {round}: {error:?}");
        }
        assert_eq!(files_of_tenants(&opened), [""; 0], "round {round}");
    }
    following.abort();
    other.close().await.expect("closed");
    opened.tenants.close().await.expect("closed");
}

async fn a_backup_under_way_does_not_outlive_an_erasure(opened: Opened) {
    let tenants = &opened.tenants;
    let acme = tenants.create_tenant("acme", by()).await.expect("made").id;
    let database = tenants.database(acme).await.expect("there");
    // So much that a backup takes longer than an erasure.
    let padding = (0..400).map(|n| format!("{n} {}", "padding ".repeat(500))).collect::<Vec<_>>();
    talk(&database, "bob", &[], &padding.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let plan = manent::BackupPlan {
        every: Duration::ZERO,
        ..manent::BackupPlan::daily(tenants.backups_of(acme).expect("a folder"))
    };
    database.backup_if_due(&plan).await.expect("taken").expect("due");
    for round in 0..8 {
        let canary = format!("canary-{round}");
        tenants.put_user(acme, &canary, "Ada", by()).await.expect("known");
        talk(&database, &canary, &[], &[&canary]).await;
        let begun = tokio::sync::Notify::new();
        // As another process takes it: it knows nothing of who erases here.
        let backup = async {
            begun.notify_one();
            database.backup_if_due(&plan).await
        };
        let erase = async {
            begun.notified().await;
            tokio::time::sleep(Duration::from_millis(5 * round)).await;
            tenants.erase_user(acme, &canary, by()).await
        };
        let (taken, erased) = tokio::join!(backup, erase);
        erased.expect("erased");
        if let Err(error) = taken {
            assert_eq!(error.code(), "busy", "round {round}: {error:?}");
        }
        assert_eq!(stands_in_files(&plan.folder, &canary), None, "round {round}");
    }
    let newest = std::fs::read_dir(&plan.folder).expect("the folder").next().expect("one stays").expect("read").path();
    let restored = Place::File(opened.folder.path().join("restored.db"));
    manent::Database::restore_backup(&newest, &restored).await.expect("it is whole");
    tenants.erase_tenant(acme, by()).await.expect("erased");
    assert!(!plan.folder.exists(), "backups stay");
    opened.tenants.close().await.expect("closed");
}

async fn an_erased_user_leaves_what_others_wrote(opened: Opened) {
    let tenants = &opened.tenants;
    let acme = tenants.create_tenant("acme", by()).await.expect("made").id;
    for user in ["ada-canary", "bob"] {
        tenants.put_user(acme, user, user, by()).await.expect("known");
    }
    let database = tenants.database(acme).await.expect("there");
    let alone = talk(&database, "ada-canary", &["ada-canary"], &["alone-canary"]).await;
    let shared = talk(&database, "bob", &["ada-canary"], &["hers and his"]).await;
    let mut hers = MessageDraft::user("shared-canary");
    hers.content.author = Some(person("ada-canary"));
    database.append(shared, hers).await.expect("kept");
    database.save_draft(shared, "ada-canary", "draft-canary").await.expect("kept");
    let plan = manent::BackupPlan::daily(tenants.backups_of(acme).expect("a folder"));
    database.backup_if_due(&plan).await.expect("taken").expect("due");
    let for_ada = KeyDraft { user: Some("ada-canary".to_owned()), ..draft(&[KeyScope::Manage]) };
    let (_, word) = tenants.create_key(acme, for_ada, by()).await.expect("made");
    // What she does with a key of her own, without saying who she is.
    let pass = tenants.admit(&word.reveal()).expect("a good key");
    let hers = tenants.granted(&pass).await.expect("there");
    hers.append(shared, MessageDraft::user("keyed-canary")).await.expect("kept");
    hers.put_blob(b"blob-canary that nothing shows").await.expect("kept");
    let undone = ConversationDraft { title: "undone-canary".to_owned(), ..ConversationDraft::default() };
    let undone = hers.create(undone).await.expect("made").id;
    hers.append(undone, MessageDraft::assistant("withdrawn-canary")).await.expect("kept");
    for _ in 0..2 {
        hers.undo(Scope::Conversation(undone)).await.expect("taken back");
    }
    hers.set_state(shared, "state-canary", None, Some(Json::of(&"set-canary"))).await.expect("set");
    hers.put_input(shared, Json::of(&"input-canary")).await.expect("put");
    let his = database.acting_as(person("bob"));
    let remembered = |id, text: &str| MemoryDraft {
        id,
        collection: "facts".to_owned(),
        conversation: Some(shared),
        text: text.to_owned(),
        ..MemoryDraft::default()
    };
    hers.put_memory(remembered(None, "memory-canary")).await.expect("kept");
    let anew = hers.put_memory(remembered(None, "former-canary")).await.expect("kept");
    his.put_memory(remembered(Some(anew), "his")).await.expect("kept");
    tenants.backup_system_if_due(&plan).await.expect("taken").expect("due");
    let erasure = tenants.erase_user(acme, "ada-canary", by()).await.expect("erased");
    let counts = (erasure.conversations, erasure.messages, erasure.users, erasure.keys, erasure.backups);
    assert_eq!(counts, (2, 4, 1, 1, 2));
    assert_eq!(tenants.admit(&word.reveal()).map(drop), Err(Refusal::Unknown));
    assert!(database.conversation(alone).await.is_err(), "her own conversation is still there");
    let left = database.conversation(shared).await.expect("his is still there");
    assert!(left.members.is_empty());
    let page = database.last(shared, 9).await.expect("read");
    let texts: Vec<String> = page.messages.iter().map(|message| message.content.body.words().to_string()).collect();
    assert_eq!(texts, ["hers and his", "", ""]);
    assert!(tenants.user(acme, "ada-canary").await.is_err() && tenants.user(acme, "bob").await.is_ok());
    assert!(
        database.verify().await.expect("read").is_sound()
            && tenants.verify_audit().await.expect("read").problems.is_empty()
    );
    assert!(database.undo(Scope::Everything).await.is_err() || database.conversation(alone).await.is_err());
    assert_eq!(manent_backups(&plan.folder), 1, "one backup stands for those that went");
    assert_eq!(manent_backups(&opened.folder.path().join("backups/system")), 1);
    let canaries = [
        "ada-canary",
        "alone-canary",
        "shared-canary",
        "draft-canary",
        "keyed-canary",
        "undone-canary",
        "withdrawn-canary",
        "state-canary",
        "set-canary",
        "input-canary",
        "memory-canary",
        "former-canary",
        "blob-canary",
    ];
    let memories = database.memories(MemoriesQuery::default()).await.expect("read");
    assert_eq!(memories.iter().map(|memory| memory.text.as_str()).collect::<Vec<_>>(), ["his"]);
    for canary in canaries {
        assert_eq!(stands_in_files(opened.folder.path(), canary), None, "{canary}");
    }
    opened.tenants.close().await.expect("closed");
}

async fn one_that_cannot_be_finished_keeps_no_other_waiting(opened: Opened) {
    let tenants = &opened.tenants;
    let stuck = tenants.create_tenant("stuck", by()).await.expect("made").id;
    let acme = tenants.create_tenant("acme", by()).await.expect("made").id;
    // Where its backups would be lies something that is no folder.
    let backups = tenants.backups_of(stuck).expect("a folder");
    std::fs::create_dir_all(backups.parent().expect("above it")).expect("a folder");
    std::fs::write(&backups, "in the way").expect("a file");
    assert!(tenants.erase_tenant(stuck, by()).await.is_err());
    let tenants = Tenants::open(&opened.place, Some(opened.folder.path().join("backups"))).expect("there");
    let left = tenants.begin().await.expect("the others are served");
    assert_eq!(left.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [stuck]);
    assert!(tenants.database(acme).await.is_ok());
    std::fs::remove_file(&backups).expect("out of the way");
    assert!(tenants.erase_tenant(stuck, by()).await.is_ok(), "whoever asks again goes on");
    tenants.close().await.expect("closed");
    opened.tenants.close().await.expect("closed");
}

async fn a_server_comes_back_from_its_backups(opened: Opened) {
    let tenants = &opened.tenants;
    let plan = manent::BackupPlan::daily(opened.folder.path().join("backups"));
    assert_eq!(tenants.backup_system_if_due(&plan).await.expect("looked"), None, "nothing was made yet");
    let acme = tenants.create_tenant("acme", by()).await.expect("made").id;
    let (_, word) = tenants.create_key(acme, draft(&[KeyScope::Read]), by()).await.expect("made");
    let database = tenants.database(acme).await.expect("there");
    let said = talk(&database, "ada", &[], &["kept"]).await;
    let system = tenants.backup_system_if_due(&plan).await.expect("taken").expect("due");
    assert_eq!(tenants.backup_system_if_due(&plan).await.expect("looked"), None, "it is not due again");
    let store = opened.folder.path().join("acme.backup");
    database.backup(&store).await.expect("taken");
    assert!(Tenants::is_system_backup(&system) && !Tenants::is_system_backup(&store));
    let exists = tenants.restore_tenant(acme, &store, by()).await;
    assert!(exists.is_err(), "a store that is there is not written over");
    opened.tenants.close().await.expect("closed");
    // Another machine, of either engine.
    for new in [Some(Opened::sqlite().await), Opened::postgres().await].into_iter().flatten() {
        // One that somebody has open is not all there.
        let live = new.folder.path().join("live.db");
        std::fs::copy(&system, &live).expect("a copy");
        std::fs::write(new.folder.path().join("live.db-wal"), "more of it").expect("a file");
        let half = Tenants::restore_system(&live, &new.place, by()).await.expect_err("a part of it lies beside");
        assert!(half.to_string().contains("live.db-wal"), "{half}");
        Tenants::restore_system(&system, &new.place, by()).await.expect("nothing is there");
        let new = new.again().await;
        let tenants = &new.tenants;
        assert_eq!(tenants.tenant("acme").await.expect("known").id, acme);
        if new.place.file().is_some() {
            let lost = tenants.database(acme).await.map(drop);
            assert!(matches!(lost, Err(Error::File { .. })), "a lost file was made anew");
        }
        tenants.restore_tenant(acme, &store, by()).await.expect("it is not there");
        let pass = tenants.admit(&word.reveal()).expect("the key is known again");
        let page = tenants.granted(&pass).await.expect("there").last(said, 9).await.expect("read");
        assert_eq!(page.messages.len(), 1);
        tenants.erase_tenant(acme, by()).await.expect("erased");
        let erased = tenants.restore_tenant(acme, &store, by()).await.expect_err("it does not come back");
        assert_eq!(erased.code(), "not_found");
        assert!(tenants.verify_audit().await.expect("read").problems.is_empty());
        new.tenants.close().await.expect("closed");
    }
}

fn manent_backups(folder: &Path) -> usize {
    std::fs::read_dir(folder).expect("the folder").count()
}
