//! Many owners on one server: made, suspended, and who may come in.

use manent::model::{ApiKeySecret, AuditActor, DEFAULT_TENANT, KeyDraft, KeyScope, TenantStatus};
use manent::store::StoreError;
use manent::store::system::{AuditQuery, AuditSubject, SystemLocation, SystemStore};
use manent::{Author, ConversationDraft, Error, Location, MessageDraft, Refusal, Tenants};
use manent_testing::scratch::Scratch;
use std::time::Duration;
use tempfile::TempDir;

/// Tenants of their own, in a folder or on a server of their own.
struct Opened {
    tenants: Tenants,
    place: Location,
    folder: TempDir,
    _scratch: Option<Scratch>,
}

impl Opened {
    async fn at(place: Location, folder: TempDir, scratch: Option<Scratch>) -> Self {
        let tenants = Tenants::open(&place, Some(folder.path().join("backups"))).expect("an empty place");
        tenants.begin().await.expect("nothing is half done");
        Self { tenants, place, folder, _scratch: scratch }
    }

    async fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self::at(Location::File(folder.path().join("manent.db")), folder, None).await
    }

    async fn postgres() -> Option<Self> {
        let scratch = Scratch::make()?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        Some(Self::at(Location::of(&scratch.url), folder, Some(scratch)).await)
    }

    /// Opens them anew, as the next start does.
    async fn again(self) -> Self {
        self.tenants.close().await.expect("closed");
        Self::at(self.place, self.folder, self._scratch).await
    }

    fn system(&self) -> SystemStore {
        let place = match &self.place {
            Location::File(path) => SystemLocation::File(path.with_file_name("manent.db-tenants").join("system.db")),
            Location::Server(options) => SystemLocation::Server(options.clone()),
        };
        SystemStore::open(place, manent::Timestamp(0)).expect("it is there")
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

// Behind the macro, which it uses.
mod erase;

on_both! {
    each_tenant_has_a_store_of_its_own,
    the_first_tenant_is_the_store_itself,
    names_are_unique_and_lists_have_pages,
    a_key_lets_its_holder_in_until_it_ends,
    a_pass_ends_with_its_key_and_with_its_tenant,
    a_key_that_makes_no_sense_is_not_made,
    another_process_ends_a_key,
    more_tenants_than_may_be_open_take_turns,
    a_server_comes_back_from_its_backups,
}

fn by() -> AuditSubject {
    AuditSubject::actor(AuditActor::Operator)
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
    let pass = tenants.authenticate(&word.reveal()).expect("a good key");
    assert_eq!((pass.key.id, pass.key.tenant, pass.key.access_scope().user), (key.id, acme, Some("ada".to_owned())));
    let wrong = ApiKeySecret::new(key.id, [1; 32]).reveal();
    let unknown = ApiKeySecret::new(manent::model::KeyId::new(1, [1; 10]), [1; 32]).reveal();
    for refused in [&wrong, &unknown, "", "manent_", "x", &word.reveal()[1..]] {
        assert_eq!(tenants.authenticate(refused).map(drop), Err(Refusal::Unknown), "{refused}");
    }
    let soon = manent::Timestamp(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("now").as_micros() as i64 + 300_000,
    );
    let short = KeyDraft { expires_at: Some(soon), ..draft(&[KeyScope::Read]) };
    let (_, short) = tenants.create_key(acme, short, by()).await.expect("made");
    let expired = async {
        while tenants.authenticate(&short.reveal()).is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), expired).await.expect("it expires");
    assert_eq!(tenants.authenticate(&short.reveal()).map(drop), Err(Refusal::Expired));
    assert!(tenants.keys(acme, None, 10).await.expect("read")[0].used_at.is_some());
    tenants.revoke_key(acme, key.id, by()).await.expect("there");
    assert_eq!(tenants.authenticate(&word.reveal()).map(drop), Err(Refusal::Revoked));
    assert_eq!(tenants.authenticate_session(key.id).map(drop), Err(Refusal::Revoked));
    let opened = opened.again().await;
    assert_eq!(opened.tenants.authenticate(&word.reveal()).map(drop), Err(Refusal::Revoked));
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
    let pass = tenants.authenticate(&word.reveal()).expect("good");
    assert!(tokio::time::timeout(Duration::ZERO, pass.clone().ended()).await.is_err(), "it ended by itself");
    tenants.suspend(acme, by()).await.expect("active");
    tokio::time::timeout(Duration::from_secs(20), pass.ended()).await.expect("it ends with the tenant");
    assert_eq!(tenants.authenticate(&word.reveal()).map(drop), Err(Refusal::Suspended));
    tenants.resume(acme, by()).await.expect("suspended");
    let pass = tenants.authenticate(&word.reveal()).expect("good again");
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
        (KeyDraft { expires_at: Some(manent::Timestamp(1)), ..read() }, "invalid"),
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
    let pass = tenants.authenticate(&word.reveal()).expect("good");
    let following = tokio::spawn({
        let tenants = tenants.clone();
        async move { tenants.follow().await }
    });
    let other = Tenants::open(&opened.place, None).expect("several may");
    other.begin().await.expect("nothing is half done");
    assert!(other.authenticate(&word.reveal()).is_ok(), "another process knows the key");
    other.revoke_key(DEFAULT_TENANT, key.id, by()).await.expect("there");
    tokio::time::timeout(Duration::from_secs(20), pass.ended()).await.expect("the pass ends");
    assert_eq!(tenants.authenticate(&word.reveal()).map(drop), Err(Refusal::Revoked));
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
    if matches!(opened.place, Location::Server(_)) {
        assert!(tenants.open_databases().len() <= 9, "{} are open", tenants.open_databases().len());
    }
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
        // A store that is open may have data outside the file.
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
        let pass = tenants.authenticate(&word.reveal()).expect("the key is known again");
        let page = tenants.granted(&pass).await.expect("there").last(said, 9).await.expect("read");
        assert_eq!(page.messages.len(), 1);
        tenants.erase_tenant(acme, by()).await.expect("erased");
        let erased = tenants.restore_tenant(acme, &store, by()).await.expect_err("it does not come back");
        assert_eq!(erased.code(), "not_found");
        assert!(tenants.verify_audit().await.expect("read").problems.is_empty());
        new.tenants.close().await.expect("closed");
    }
}
