//! Tenants and users that are erased: all of them goes, also where others are at work.

use super::{Opened, by, draft, person, talk};
use manent::model::{KeyDraft, KeyScope, TenantStatus};
use manent::store::{Change, JournalQuery, MemoriesQuery, UndoScope};
use manent::{ConversationDraft, Json, Location, MemoryDraft, MessageDraft, Refusal, Tenants};
use std::path::Path;
use std::time::Duration;

on_both! {
    an_erased_tenant_leaves_a_receipt_and_nothing_else,
    what_a_crash_left_half_done_is_finished,
    one_that_cannot_be_finished_keeps_no_other_waiting,
    a_half_erased_tenant_does_not_block_others,
    an_erasure_continues_after_its_caller_left,
    two_erase_a_tenant_while_a_third_closes_it,
    one_that_is_erased_while_it_is_made_leaves_nothing,
    what_another_process_erases_is_not_indexed_again,
    an_erased_user_leaves_what_others_wrote,
    an_erased_user_cannot_write_during_the_erasure,
    a_backup_under_way_does_not_outlive_an_erasure,
}

/// Says whether bytes stand in any file below a folder.
fn stands_in_files(folder: &Path, text: &str) -> Option<String> {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let found = match path.is_dir() {
            true => stands_in_files(&path, text),
            false => {
                // A file that another process makes too late and deletes at once may be gone by now.
                let bytes = match std::fs::read(&path) {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                    read => read.expect("readable"),
                };
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
    let pass = tenants.authenticate(&word.reveal()).expect("good");
    tenants.backup_system_if_due(&plan).await.expect("taken").expect("due");
    let erasure = tenants.erase_tenant(acme, by()).await.expect("erased");
    let counts = (erasure.conversations, erasure.messages, erasure.users, erasure.keys, erasure.backups);
    assert_eq!(counts, (1, 2, 1, 1, 2));
    assert!(erasure.audit >= 1 && (erasure.files > 0 || erasure.rows > 0), "{erasure:?}");
    tokio::time::timeout(Duration::from_secs(60), pass.ended()).await.expect("open sessions end");
    assert_eq!(tenants.authenticate(&word.reveal()).map(drop), Err(Refusal::Unknown));
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

/// Checks that no tenant but the first has files or rows any more.
async fn nothing_stays(opened: &Opened) {
    let left = || {
        let names = std::fs::read_dir(opened.folder.path().join("manent.db-tenants")).into_iter().flatten();
        let names = names.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name of ours"));
        names.filter(|name| !name.starts_with("system.db")).collect::<Vec<_>>()
    };
    // An index that another process made too late is there for a moment.
    let gone = async {
        while !left().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let gone = tokio::time::timeout(Duration::from_secs(60), gone).await;
    assert!(gone.is_ok(), "files stay: {:?}", left());
    if let Some(scratch) = &opened._scratch {
        let sql = "do $$
             declare name text; found bigint;
             begin
               for name in select c.table_name from information_schema.columns c
                 where c.table_schema = 'public' and c.column_name = 'tenant'
               loop
                 execute format('select count(*) from %I where tenant <> 1', name) into found;
                 if found > 0 then raise exception 'rows stay: % in %', found, name; end if;
               end loop;
             end $$";
        manent_testing::scratch::run_sql(&scratch.url, sql).expect("no rows stay");
    }
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
        nothing_stays(&opened).await;
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
        nothing_stays(&opened).await;
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
    let restored = Location::File(opened.folder.path().join("restored.db"));
    manent::Database::restore_backup(&newest, &restored).await.expect("it is whole");
    tenants.erase_tenant(acme, by()).await.expect("erased");
    assert!(!plan.folder.exists(), "backups stay");
    opened.tenants.close().await.expect("closed");
}

async fn a_half_erased_tenant_does_not_block_others(opened: Opened) {
    let tenants = &opened.tenants;
    let acme = tenants.create_tenant("acme", by()).await.expect("made").id;
    tenants.put_user(acme, "ada", "Ada", by()).await.expect("known");
    let system = opened.system();
    let (from, to) = (&[TenantStatus::Active], TenantStatus::Erasing);
    system.set_tenant_status(acme, from, to, manent::Timestamp(2), None).await.expect("begun");
    system.close().await.expect("closed");
    // Another process, which has not opened its store before.
    let other = Tenants::open(&opened.place, Some(opened.folder.path().join("backups"))).expect("there");
    let asked = async {
        let tenants = &other;
        assert_eq!(tenants.erase_user(acme, "ada", by()).await.expect_err("it goes").code(), "not_found");
        assert_eq!(tenants.database(acme).await.map(drop).expect_err("it goes").code(), "not_found");
        let backup = opened.folder.path().join("none.backup");
        assert_eq!(tenants.restore_tenant(acme, &backup, by()).await.expect_err("it goes").code(), "not_found");
        tenants.erase_tenant(acme, by()).await.expect("a second request resumes the erasure");
    };
    tokio::time::timeout(Duration::from_secs(60), asked).await.expect("the request ends");
    other.close().await.expect("closed");
    tenants.refresh().await.expect("read");
    nothing_stays(&opened).await;
    opened.tenants.close().await.expect("closed");
}

/// A client may hang up at any moment.
async fn an_erasure_continues_after_its_caller_left(opened: Opened) {
    let tenants = &opened.tenants;
    let acme = tenants.create_tenant("acme", by()).await.expect("made").id;
    tenants.put_user(acme, "ada", "Ada", by()).await.expect("known");
    talk(&tenants.database(acme).await.expect("there"), "ada", &[], &["hello"]).await;
    assert!(tokio::time::timeout(Duration::ZERO, tenants.erase_user(acme, "ada", by())).await.is_err());
    let user = async {
        while tenants.user(acme, "ada").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), user).await.expect("the user is erased");
    assert!(tokio::time::timeout(Duration::ZERO, tenants.erase_tenant(acme, by())).await.is_err());
    let tenant = async {
        while tenants.receipt(acme).await.expect("read").is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), tenant).await.expect("the tenant is erased");
    nothing_stays(&opened).await;
    opened.tenants.close().await.expect("closed");
}

/// Words of a tenant must not come back into the index of a server that has its store open while another process erases it.
async fn what_another_process_erases_is_not_indexed_again(opened: Opened) {
    let other = Tenants::open(&opened.place, None).expect("as another process");
    let following = follow(&other);
    for round in 0..5 {
        let acme = opened.tenants.create_tenant("acme", by()).await.expect("made").id;
        other.refresh().await.expect("known there as well");
        let database = other.database(acme).await.expect("there");
        let texts: Vec<String> = (0..200).map(|n| format!("word-{n} canary")).collect();
        talk(&database, "ada", &[], &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
        opened.tenants.erase_tenant(acme, by()).await.expect("erased");
        // Until the other has noticed.
        let noticed = async {
            while database.list(manent::ListQuery::default()).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), noticed).await.expect("its store is closed");
        drop(database);
        nothing_stays(&opened).await;
        assert_eq!(stands_in_files(&opened.folder.path().join("manent.db-tenants"), "canary"), None, "round {round}");
    }
    following.abort();
    other.close().await.expect("closed");
    opened.tenants.close().await.expect("closed");
}

async fn an_erased_user_cannot_write_during_the_erasure(opened: Opened) {
    let tenants = &opened.tenants;
    // A server that has not heard of it yet, and one that has accepted something before.
    let other = Tenants::open(&opened.place, None).expect("as another process");
    let acme = tenants.create_tenant("acme", by()).await.expect("made").id;
    for round in 0..4 {
        let user = format!("canary-{round}");
        tenants.put_user(acme, &user, "Ada", by()).await.expect("known");
        let hers = KeyDraft { user: Some(user.clone()), ..draft(&[KeyScope::Manage]) };
        let (_, word) = tenants.create_key(acme, hers, by()).await.expect("made");
        other.refresh().await.expect("read");
        let mut writers = tokio::task::JoinSet::new();
        let begun = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
        for (n, tenants) in [tenants, &other, tenants, &other].into_iter().enumerate() {
            let pass = tenants.authenticate(&word.reveal()).expect("a good key");
            let (database, user, begun) = (tenants.granted(&pass).await.expect("there"), user.clone(), begun.clone());
            writers.spawn(async move {
                for written in 0.. {
                    let title = format!("{user} {n}");
                    let made = database.create(ConversationDraft { title, ..ConversationDraft::default() }).await;
                    if written == 3 {
                        begun.add_permits(1);
                    }
                    match made {
                        Ok(made) => drop(database.append(made.id, MessageDraft::user(user.as_str())).await),
                        Err(error) => return error,
                    }
                }
                unreachable!("it ends when it is refused")
            });
        }
        drop(begun.acquire_many(4).await);
        tenants.erase_user(acme, &user, by()).await.expect("erased");
        let refused = tokio::time::timeout(Duration::from_secs(30), writers.join_all()).await.expect("they end");
        for error in refused {
            assert_eq!(error.code(), "forbidden", "round {round}: {error:?}");
        }
        let database = tenants.database(acme).await.expect("there");
        let left = database.list(manent::ListQuery::default()).await.expect("read").conversations;
        assert!(left.is_empty(), "round {round}: {left:?}");
    }
    other.close().await.expect("closed");
    let opened = opened.again().await;
    assert_eq!(stands_in_files(opened.folder.path(), "canary"), None);
    // A user who is created again under the same name has new keys.
    opened.tenants.put_user(acme, "canary-0", "Ada", by()).await.expect("known");
    let hers = KeyDraft { user: Some("canary-0".to_owned()), ..draft(&[KeyScope::Manage]) };
    let (_, word) = opened.tenants.create_key(acme, hers, by()).await.expect("made");
    let pass = opened.tenants.authenticate(&word.reveal()).expect("a good key");
    let database = opened.tenants.granted(&pass).await.expect("there");
    database.create(ConversationDraft::default()).await.expect("it may write");
    drop(database);
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
    let pass = tenants.authenticate(&word.reveal()).expect("a good key");
    let hers = tenants.granted(&pass).await.expect("there");
    hers.append(shared, MessageDraft::user("keyed-canary")).await.expect("kept");
    hers.put_blob(b"blob-canary that nothing shows").await.expect("kept");
    let undone = ConversationDraft { title: "undone-canary".to_owned(), ..ConversationDraft::default() };
    let undone = hers.create(undone).await.expect("made").id;
    hers.append(undone, MessageDraft::assistant("withdrawn-canary")).await.expect("kept");
    hers.undo(UndoScope::Conversation(undone)).await.expect("taken back");
    let of_hers = JournalQuery { conversation: Some(undone), ..JournalQuery::default() };
    let created = hers.journal(of_hers).await.expect("readable").entries[0].first;
    hers.change(Change::Undo { position: created }).await.expect("taken back");
    hers.set_state(shared, "state-canary", None, Some(Json::of(&"set-canary"))).await.expect("set");
    hers.put_input(shared, Json::of(&"input-canary")).await.expect("put");
    let his = database.with_actor(person("bob"));
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
    assert_eq!(tenants.authenticate(&word.reveal()).map(drop), Err(Refusal::Unknown));
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
    assert!(database.undo(UndoScope::Everything).await.is_err() || database.conversation(alone).await.is_err());
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
    assert!(tenants.erase_tenant(stuck, by()).await.is_ok(), "a second request resumes the erasure");
    tenants.close().await.expect("closed");
    opened.tenants.close().await.expect("closed");
}

async fn what_a_crash_left_half_done_is_finished(opened: Opened) {
    let system = opened.system();
    let line = |action: &str, id| manent::store::system::NewAuditRecord::new(action, Some(id), by());
    let made = opened.tenants.home().new_id(manent::model::TenantId::new);
    system
        .create_tenant(made, "begun".to_owned(), manent::Timestamp(1), line("tenant.create", made))
        .await
        .expect("begun");
    let erased = opened.tenants.create_tenant("going", by()).await.expect("made").id;
    talk(&opened.tenants.database(erased).await.expect("there"), "ada", &[], &["gone"]).await;
    let to = TenantStatus::Erasing;
    system.set_tenant_status(erased, &[TenantStatus::Active], to, manent::Timestamp(2), None).await.expect("begun");
    system.close().await.expect("closed");
    let opened = opened.again().await;
    assert_eq!(opened.tenants.tenant("begun").await.expect("there").status, TenantStatus::Active);
    talk(&opened.tenants.database(made).await.expect("there"), "ada", &[], &["works"]).await;
    assert_eq!(opened.tenants.tenant(&erased.to_string()).await.expect("its tombstone").status, TenantStatus::Erased);
    assert_eq!(opened.tenants.receipt(erased).await.expect("read").expect("a receipt").messages, 1);
    assert!(opened.tenants.database(erased).await.is_err(), "an erased tenant has no store");
    opened.tenants.close().await.expect("closed");
}

fn manent_backups(folder: &Path) -> usize {
    std::fs::read_dir(folder).expect("the folder").count()
}
