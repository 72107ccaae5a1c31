//! What people do, in their words.

use crate::kit::*;
use manent::store::StoreError;
use manent::*;

#[tokio::test]
async fn the_same_external_id_again_is_a_retry() {
    let database = open();
    let draft = ConversationDraft { external_id: Some("s-1".to_owned()), ..ConversationDraft::default() };
    let first = database.create(draft.clone()).await.expect("made");
    let again = database.create(draft).await.expect("found");
    assert_eq!(first.id, again.id);
    assert_eq!(database.conversation_by_external_id("s-1").await.expect("found").id, first.id);
}

#[tokio::test]
async fn a_person_cannot_give_a_bad_name_and_the_old_one_stays() {
    let database = open();
    let chat = conversation(&database, "old").await;
    for (name, code) in [("  ", "name_empty"), ("a/b", "name_characters"), (&"字".repeat(51), "name_length")] {
        assert_eq!(database.rename(chat, name).await.expect_err("refused").code(), code);
    }
    assert_eq!(database.conversation(chat).await.expect("there").title, "old");
    database
        .edit_conversation(chat, ConversationPatch { title: Some("10:30".to_owned()), ..Default::default() }, None)
        .await
        .expect("edited");
    database.rename(chat, "at 10:30").await.expect("the colon was there before");
    let refused = database.rename(chat, "at 10:30?").await.expect_err("refused");
    assert!(refused.to_string().contains("“?”"), "{refused}");
    database.rename(chat, "  项目技术讨论 ").await.expect("allowed");
    assert_eq!(database.conversation(chat).await.expect("there").title, "项目技术讨论");
}

#[tokio::test]
async fn archived_and_trashed_conversations_are_listed_only_when_asked_for() {
    let database = open();
    let (kept, archived, trashed) = (
        conversation(&database, "kept").await,
        conversation(&database, "archived").await,
        conversation(&database, "trashed").await,
    );
    database.archive(archived).await.expect("archived");
    database.trash(trashed).await.expect("trashed");
    let titles = |statuses: Vec<ConversationStatus>| {
        let database = database.database.clone();
        async move {
            let page = database.list(ListQuery { statuses, limit: 10, ..ListQuery::default() }).await.expect("listed");
            page.conversations.iter().map(|found| found.title.clone()).collect::<Vec<_>>()
        }
    };
    assert_eq!(titles(Vec::new()).await, ["kept"]);
    assert_eq!(titles(vec![ConversationStatus::Archived]).await, ["archived"]);
    assert_eq!(titles(vec![ConversationStatus::Trashed]).await, ["trashed"]);
    database.restore(trashed).await.expect("restored");
    assert_eq!(titles(Vec::new()).await.len(), 2);
    assert!(database.purge(kept).await.expect_err("not in the trash").code() == "not_trashed");
}

#[tokio::test]
async fn a_page_goes_both_ways_from_any_message() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let names: Vec<String> = (0..10).map(|number| format!("m{number}")).collect();
    let ids = say(&database, chat, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let words = |window: &MessagePage| window.messages.iter().map(|m| m.content.body.words()).collect::<Vec<_>>();
    let back = database.page(chat, Some(ids[5]), Direction::Backward, 3).await.expect("read");
    assert_eq!((words(&back), back.more), (vec!["m2".into(), "m3".into(), "m4".into()], true));
    let on = database.page(chat, Some(ids[5]), Direction::Forward, 10).await.expect("read");
    assert_eq!((words(&on), on.more), (vec!["m6".into(), "m7".into(), "m8".into(), "m9".into()], false));
    let last = database.last(chat, 2).await.expect("read");
    assert_eq!((words(&last), last.more), (vec!["m8".into(), "m9".into()], true));
}

#[tokio::test]
async fn clear_shows_nothing_and_undo_shows_it_again() {
    let database = open();
    let chat = conversation(&database, "a").await;
    say(&database, chat, &["one", "two"]).await;
    database.clear(chat).await.expect("cleared");
    assert!(texts(&database, chat).await.is_empty());
    say(&database, chat, &["new"]).await;
    assert_eq!(texts(&database, chat).await, ["new"]);
    for _ in 0..2 {
        database.undo(UndoScope::Conversation(chat)).await.expect("undone");
    }
    assert_eq!(texts(&database, chat).await, ["one", "two"]);
}

#[tokio::test]
async fn a_failed_send_is_kept_beside_the_path() {
    let database = open();
    let chat = conversation(&database, "a").await;
    say(&database, chat, &["one"]).await;
    let failed = database.keep_failed(chat, MessageDraft::user("lost?")).await.expect("kept");
    assert_eq!(texts(&database, chat).await, ["one"]);
    assert_eq!(database.conversation(chat).await.expect("there").messages, 1);
    let placed = database.message(failed).await.expect("there");
    assert!(!placed.on_path);
    assert_eq!(placed.message.content.status, MessageStatus::Failed);
}

#[tokio::test]
async fn drafts_are_kept_until_they_are_cleared() {
    let database = open();
    let chat = conversation(&database, "a").await;
    database.save_draft(chat, "me", "half a sent").await.expect("kept");
    database.save_draft(chat, "me", "half a sentence").await.expect("kept");
    assert_eq!(database.draft(chat, "me").await.expect("read").as_deref(), Some("half a sentence"));
    assert_eq!(database.draft(chat, "you").await.expect("read"), None);
    database.clear_draft(chat, "me").await.expect("cleared");
    assert_eq!(database.draft(chat, "me").await.expect("read"), None);
}

#[tokio::test]
async fn statistics_count_the_shown_path_by_day_model_and_role() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let day = 86_400_000_000;
    let ask = MessageDraft::user("北京 today").at(Time::exact(day * 10));
    let answer = MessageDraft::assistant("sunny").at(Time::exact(day * 10 + 2_500_000)).by_model("glm").with_tokens(7);
    database.append_many(chat, vec![ask, answer]).await.expect("added");
    let late = MessageDraft::user("thanks").at(Time::exact(day * 11));
    database.append(chat, late).await.expect("added");
    let stats = database.stats(StatsQuery::default()).await.expect("counted");
    assert_eq!((stats.conversations, stats.total.messages, stats.total.words, stats.total.tokens), (1, 3, 5, 7));
    assert_eq!((stats.total.timed, stats.total.response_micros), (1, 2_500_000));
    assert_eq!((stats.by_day[&10].messages, stats.by_day[&11].messages), (2, 1));
    assert_eq!((stats.by_role["user"].words, stats.by_model["glm"].tokens), (4, 7));
    assert_eq!(database.stats(StatsQuery::conversation(chat)).await.expect("counted"), stats);
}

#[tokio::test]
async fn what_cannot_be_undone_or_redone_says_which() {
    let database = open();
    let chat = conversation(&database, "a").await;
    say(&database, chat, &["one"]).await;
    let redo = database.redo(UndoScope::Conversation(chat)).await.expect_err("nothing was undone");
    assert_eq!(redo.code(), "nothing_to_redo");
    let undo = database.undo(UndoScope::Workspace).await.expect_err("nothing was done");
    assert_eq!(undo.code(), "nothing_to_undo");
}

#[tokio::test]
async fn a_list_without_wishes_is_a_page() {
    let database = open();
    for title in ["a", "b", "c"] {
        conversation(&database, title).await;
    }
    let page = database.list(ListQuery::default()).await.expect("listed");
    assert_eq!((page.conversations.len(), page.next), (3, None));
}

#[tokio::test]
async fn a_note_gets_an_id_from_the_database() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let message = say(&database, chat, &["one"]).await[0];
    let id = database.new_id(manent::model::NoteId::new);
    database.change(Change::AddNote { id, message, kind: "rating".to_owned(), value: json("5") }).await.expect("noted");
    assert_eq!(database.annotations(chat).await.expect("read").notes[0].id, id);
}

#[tokio::test]
async fn a_fork_begins_with_what_its_conversation_shows() {
    let database = open();
    let first = conversation(&database, "first").await;
    let ids = say(&database, first, &["one", "two", "three", "four"]).await;
    let second = database.fork_to_new(first, ids[3], ConversationDraft::default()).await.expect("forked");
    database.edit(second, ids[1], MessageDraft::user("TWO"), FollowUps::Keep).await.expect("edited");
    // Where the first conversation stands says nothing about what the second one shows.
    database.rewind(first, ids[0]).await.expect("rewound");
    let third = database.fork_to_new(second, ids[2], ConversationDraft::default()).await.expect("forked");
    assert_eq!(texts(&database, third).await, ["one", "TWO", "three"]);
    let off_path = database.fork_to_new(first, ids[2], ConversationDraft::default()).await.expect("forked");
    assert_eq!(texts(&database, off_path).await, ["one", "two", "three"]);
    let stranger = conversation(&database, "stranger").await;
    for message in [ids[0], ids[2]] {
        let refused = database.fork_to_new(stranger, message, ConversationDraft::default()).await.expect_err("not its");
        assert_eq!(refused.code(), "not_found");
    }
}

#[tokio::test]
async fn an_append_after_another_head_is_a_conflict() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let first = say(&database, chat, &["one"]).await[0];
    say(&database, chat, &["two"]).await;
    let refused = database.append_after(chat, Some(first), vec![MessageDraft::user("x")]).await.expect_err("refused");
    assert_eq!(refused.code(), "head_conflict");
    assert_eq!(texts(&database, chat).await, ["one", "two"]);
}

#[tokio::test]
async fn a_tail_wakes_when_something_is_committed() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let other = conversation(&database, "b").await;
    let query = JournalQuery { conversation: Some(chat), ..JournalQuery::default() };
    let after = database.journal(query.clone()).await.expect("read").scanned_to;
    let waiting = {
        let database = database.database.clone();
        tokio::spawn(async move { database.tail(JournalQuery { after, ..query }).await })
    };
    say(&database, other, &["elsewhere"]).await;
    say(&database, chat, &["one"]).await;
    let entries = waiting.await.expect("joined").expect("read").entries;
    assert_eq!(entries.iter().map(|entry| entry.kind).collect::<Vec<_>>(), [JournalKind::MessagesAppended]);
    assert_eq!(entries[0].conversation, Some(chat));
}

#[tokio::test]
async fn purge_leaves_forks_whole_and_erase_reaches_them() {
    let database = open();
    let parent = conversation(&database, "parent").await;
    let ids = say(&database, parent, &["one", "two", "three"]).await;
    let child = database.fork_to_new(parent, ids[1], ConversationDraft::default()).await.expect("forked");
    say(&database, child, &["four"]).await;
    database.trash(parent).await.expect("trashed");
    database.purge(parent).await.expect("purged");
    assert!(matches!(
        database.conversation(parent).await,
        Err(Error::Store(StoreError::NotFound { what: "conversation", .. }))
    ));
    assert_eq!(texts(&database, child).await, ["one", "two", "four"]);
    assert_sound(&database).await;
    let receipt = database.erase(EraseTarget::Conversation(child)).await.expect("erased");
    assert_eq!((receipt.messages, receipt.conversations), (1, 1));
    assert_sound(&database).await;
}

#[tokio::test]
async fn what_one_handle_closes_is_closed_for_all() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let other = database.database.clone();
    database.close().await.expect("closed");
    let refused = other.append(chat, MessageDraft::user("late")).await.expect_err("closed");
    assert_eq!(refused.code(), "closed");
    assert_eq!(other.conversation(chat).await.expect_err("closed").code(), "closed");
}

#[tokio::test]
async fn a_purge_that_was_cut_off_goes_on() {
    let database = open();
    let chat = conversation(&database, "large").await;
    for _ in 0..2 {
        say(&database, chat, &["again"; 400]).await;
    }
    database.trash(chat).await.expect("trashed");
    database.change(Change::Purge { conversation: chat }).await.expect("one step");
    database.purge(chat).await.expect("the rest");
    let gone = database.purge(chat).await.expect_err("gone");
    assert_eq!(gone.code(), "not_found");
}

#[tokio::test]
async fn a_conversation_forks_only_from_what_it_shows_or_owns() {
    let database = open();
    let (one, other) = (conversation(&database, "one").await, conversation(&database, "other").await);
    let ids = say(&database, one, &["of one"]).await;
    database.clear(one).await.expect("cleared");
    let refused =
        database.fork_to_new(other, ids[0], ConversationDraft::default()).await.expect_err("not of the other");
    assert_eq!(refused.code(), "not_found");
    let child = database.fork_to_new(one, ids[0], ConversationDraft::default()).await.expect("forked");
    assert_eq!(texts(&database, child).await, ["of one"]);
}

#[tokio::test]
async fn a_key_is_remembered_whatever_times_a_file_names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("test.db");
    let keyed = || Transaction {
        key: Some(b"key".to_vec()),
        ..Transaction::of(
            Time::exact(1_700_000_000_000_000).at,
            Change::PutDocument { kind: "k".to_owned(), id: "i".to_owned(), project: None, body: Some(json("1")) },
        )
    };
    let late = Transaction {
        key: Some(b"late".to_vec()),
        ..Transaction::of(
            Time::exact(i64::MAX).at,
            Change::PutDocument { kind: "k".to_owned(), id: "late".to_owned(), project: None, body: None },
        )
    };
    let database = Database::open(&path).expect("opens");
    database.send(keyed()).await.expect("stored");
    database.send(late).await.expect("stored");
    database.close().await.expect("closed");
    drop(database);
    let database = Database::open(&path).expect("opens");
    assert!(database.send(keyed()).await.expect("answered").is_replay);
}

/// How long this process has worked, in hundredths of a second.
#[cfg(target_os = "linux")]
fn worked() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("the system tells");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name in brackets").split_whitespace().collect();
    fields[11].parse::<u64>().expect("a number") + fields[12].parse::<u64>().expect("a number")
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_tail_that_begins_inside_a_commit_waits_without_working() {
    let database = open();
    let chat = conversation(&database, "a").await;
    say(&database, chat, &["one", "two", "three"]).await;
    let page = database.journal(JournalQuery::default()).await.expect("readable");
    let inside = page.entries.last().expect("a change").position;
    assert!(inside < page.scanned_to, "the last change owns several positions");
    let waiting = {
        let database = database.database.clone();
        tokio::spawn(async move { database.tail(JournalQuery { after: inside, ..JournalQuery::default() }).await })
    };
    let before = worked();
    tokio::time::sleep(std::time::Duration::from_millis(1_000)).await;
    assert!(worked() - before < 25, "{} hundredths of a second of work for nothing", worked() - before);
    let next = say(&database, chat, &["four"]).await;
    let found = waiting.await.expect("joined").expect("a page");
    assert_eq!((found.entries.len(), next.len()), (1, 1));
}

#[tokio::test]
async fn a_tail_says_that_the_store_is_closed() {
    let database = open();
    let waiting = {
        let database = database.database.clone();
        tokio::spawn(async move { database.tail(JournalQuery::default()).await })
    };
    tokio::task::yield_now().await;
    database.close().await.expect("closed");
    assert_eq!(waiting.await.expect("joined").expect_err("closed").code(), "closed");
    assert_eq!(database.tail(JournalQuery::default()).await.expect_err("closed").code(), "closed");
}

#[tokio::test]
async fn closing_does_not_hold_up_the_worker_that_asks() {
    let database = open();
    let chat = conversation(&database, "a").await;
    // On the only worker there is, an append is under way while the store is closed and while it is dropped.
    let appends: Vec<_> = (0..50)
        .map(|number| {
            let database = database.database.clone();
            tokio::spawn(async move { database.append(chat, MessageDraft::user(number.to_string())).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let (closed, mut ticks) = (database.close(), 0);
    tokio::pin!(closed);
    loop {
        tokio::select! {
            biased;
            outcome = &mut closed => break outcome.expect("closed"),
            () = tokio::task::yield_now() => ticks += 1,
        }
    }
    assert!(ticks > 0, "the worker did something else meanwhile");
    for append in appends {
        append.await.expect("joined").map_or_else(|error| assert_eq!(error.code(), "closed"), drop);
    }
}

#[tokio::test]
async fn an_idle_stream_ends_incomplete_with_its_words() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let begin = || async { database.begin_stream(chat, MessageDraft::new("assistant", &[])).await.expect("begun") };
    let (idle, finished) = (begin().await, begin().await);
    database.stream(idle, "half an ").await.expect("streamed");
    database.stream(idle, "answer").await.expect("streamed");
    let finish = Finish { status: MessageStatus::Complete, body: None, tokens: None, usage: None };
    database.stream(finished, "whole").await.expect("streamed");
    database.finish_stream(finished, finish).await.expect("finished");
    assert_eq!(database.end_idle_streams(STREAM_LEASE).await.expect("looked"), 0, "its writer was just heard of");
    assert_eq!(database.end_idle_streams(std::time::Duration::ZERO).await.expect("ended"), 1);
    let ended = database.message(idle).await.expect("there").message.content;
    assert_eq!((ended.status, ended.body.words().as_str()), (MessageStatus::Incomplete, "half an answer"));
    assert_eq!(database.end_idle_streams(std::time::Duration::ZERO).await.expect("looked"), 0);
    assert_eq!(database.stream(idle, "late").await.expect_err("refused").code(), "not_streaming");
    assert!(database.verify().await.expect("verified").is_sound());
}

#[tokio::test]
async fn what_undo_would_do_is_told_before_it_is_done() {
    use manent::store::JournalKind::{ConversationEdited, MessagesAppended};
    let database = open();
    let chat = conversation(&database, "a").await;
    let scope = || UndoScope::Conversation(chat);
    let steps = || async {
        let steps = database.undo_steps(scope()).await.expect("readable");
        (steps.undo.map(|step| step.kinds), steps.redo.map(|step| step.kinds))
    };
    assert_eq!(steps().await, (None, None), "the conversation itself stays");
    database.append(chat, MessageDraft::user("hello")).await.expect("appended");
    database.pin(chat).await.expect("pinned");
    database.pin(chat).await.expect("pinned again, which changes nothing");
    assert_eq!(steps().await, (Some(vec![ConversationEdited]), None));
    database.undo(scope()).await.expect("undone");
    assert_eq!(steps().await, (Some(vec![MessagesAppended]), Some(vec![ConversationEdited])));
    database.undo(scope()).await.expect("undone");
    assert_eq!(steps().await, (None, Some(vec![MessagesAppended])));
    assert_eq!(database.undo(scope()).await.expect_err("nothing").code(), "nothing_to_undo");
    database.redo(scope()).await.expect("redone");
    assert_eq!(texts(&database, chat).await, ["hello"]);
}

#[tokio::test]
async fn an_empty_message_is_refused() {
    let database = open();
    let chat = conversation(&database, "a").await;
    for text in ["", " \n\t　"] {
        let refused = database.append(chat, MessageDraft::user(text)).await.expect_err("refused");
        assert_eq!(refused.code(), "invalid");
    }
    database.append(chat, MessageDraft::new("user", &[])).await.expect_err("refused");
    assert_eq!(texts(&database, chat).await, Vec::<String>::new());
}
