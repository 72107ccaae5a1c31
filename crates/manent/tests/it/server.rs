//! A database on a server, and the way there and back.

use crate::kit::*;
use manent::*;
use manent_testing::scratch::Scratch;

#[tokio::test]
async fn a_store_moves_to_a_server_and_back_and_is_the_same() {
    let Some(scratch) = Scratch::make() else { return };
    let (file, server) = (open(), Location::of(&scratch.url));
    fill(&file).await;
    let (exported, position) = (export(&file).await, file.position());
    let backup = file.folder.path().join("file.backup");
    file.backup(&backup).await.expect("made");

    Database::restore_backup(&backup, &server).await.expect("restored");
    let there = Database::open(&scratch.url).expect("opens");
    assert_eq!(export(&there).await, exported);
    assert_eq!(there.position(), position);
    let refused = Database::restore_backup(&backup, &server).await.expect_err("there is one already");
    assert_eq!(refused.code(), "invalid", "{refused}");

    // Numbers go on where they stopped: nothing new meets anything old.
    let chat = conversation(&there, "made there").await;
    say(&there, chat, &["one", "two"]).await;
    one_more_of_each(&there).await;
    assert_sound(&there).await;
    let exported = export(&there).await;
    let backup = file.folder.path().join("server.backup");
    there.backup(&backup).await.expect("made");
    let back = file.folder.path().join("back.db");
    Database::restore_backup(&backup, &Location::of(&back)).await.expect("restored");
    let back = Database::open(&back).expect("opens");
    assert_eq!(export(&back).await, exported);
    say(&back, chat, &["three"]).await;
    one_more_of_each(&back).await;
    assert_eq!(texts(&back, chat).await, ["one", "two", "three"]);
    assert_sound(&back).await;
}

/// Adds what gets a number of its own in each table that numbers its rows.
async fn one_more_of_each(database: &Database) {
    let chat = conversation(database, "one more of each").await;
    let new = |what: &str| format!("{what} {}", fastrand::u64(..));
    let author = Author { id: new("author"), name: new("name") };
    let message = MessageDraft::user("new").by(author.clone()).by_model(new("model"));
    let message = database.append(chat, message).await.expect("added");
    database.put_blob(new("blob").as_bytes()).await.expect("stored");
    database.create_project(&new("project"), "").await.expect("made");
    let (name, value) = (new("state"), json("1"));
    let changes = [
        Change::AddNote { id: id(NoteId::new), message, kind: new("note"), value: value.clone() },
        Change::SetState { conversation: chat, name, after: Some(message), value: Some(value.clone()) },
        Change::PutDocument { kind: new("kind"), id: new("document"), project: None, body: Some(value) },
    ];
    for change in changes {
        database.change(change).await.expect("changed");
    }
}

#[tokio::test]
async fn two_handles_on_a_server_see_what_the_other_does() {
    let Some(scratch) = Scratch::make() else { return };
    let one = Database::open(&scratch.url).expect("opens");
    let two = Database::open(&scratch.url).expect("opens");
    let chat = conversation(&one, "shared").await;
    for text in ["a", "b", "c"] {
        say(&one, chat, &[text]).await;
        say(&two, chat, &[text]).await;
    }
    assert_eq!(texts(&one, chat).await, ["a", "a", "b", "b", "c", "c"]);
    // A tail of one wakes for what the other wrote.
    let mut position = one.store().watch_position();
    let before = *position.borrow_and_update();
    say(&two, chat, &["d"]).await;
    let woken = tokio::time::timeout(std::time::Duration::from_secs(30), position.wait_for(|now| *now > before)).await;
    woken.expect("it is told").expect("the store is open");
    assert_eq!(texts(&one, chat).await.last().map(String::as_str), Some("d"));
    assert_sound(&two).await;
}

#[tokio::test]
async fn a_new_handle_serves_a_crowd_at_once() {
    let Some(scratch) = Scratch::make() else { return };
    let one = Database::open(&scratch.url).expect("opens");
    let mut chats = Vec::new();
    for number in 0..128 {
        let chat = conversation(&one, &number.to_string()).await;
        say(&one, chat, &["x".repeat(500).as_str()]).await;
        chats.push(chat);
    }
    // What it asks before it has prepared anything is more than a connection holds back.
    let two = Database::open(&scratch.url).expect("opens");
    let crowd = chats.iter().map(|chat| {
        let (two, chat) = (two.clone(), *chat);
        tokio::spawn(async move { two.append(chat, MessageDraft::user("y")).await.map(drop) })
    });
    for answer in crowd.collect::<Vec<_>>() {
        answer.await.expect("it ends").expect("stored");
    }
    assert_eq!(texts(&two, chats[127]).await.len(), 2);
    assert_sound(&two).await;
}

#[test]
fn an_address_that_is_none_is_refused_without_its_password() {
    let Err(refused) = Database::open("postgres://ada:secret@localhost:none/x") else { panic!("it is no address") };
    assert_eq!(refused.code(), "invalid");
    assert!(!format!("{refused:?} {refused}").contains("secret"));
}
