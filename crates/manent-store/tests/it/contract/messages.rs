//! Messages: appended, retried, paged, kept as given.

use crate::kit::*;
use manent_model::*;
use manent_store::*;

pub async fn appended_messages_are_read_back_in_order(store: &dyn Store) {
    let conversation = conversation(store, "天气").await;
    say(store, conversation, &["你好", "again"]).await;
    let last = say(store, conversation, &["third"]).await;
    assert_eq!(texts(store, conversation).await, ["你好", "again", "third"]);
    let shown = shown(store, conversation).await;
    assert_eq!((shown.messages, shown.words, shown.title.as_str()), (3, 4, "天气"));
    assert_eq!((shown.head, shown.active_at), (Some(last[0]), at(1)));
    assert_eq!(sound(store).await.messages, 3);
}

pub async fn a_message_comes_back_as_it_was_given(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let first = say(store, conversation, &["question"]).await[0];
    let body = r#"[ {"type":"text","text":"a\u0000b 🙂","cache":{"x" : 1.0}},
        {"type":"novel", "b":1e400,"b":2, "s":"\ud83d"}, {"type":"tool_call","id":"c","name":"n","input":{ "q":1}}, 7]"#;
    let mut given = Vec::new();
    for (place, role) in ["bot", "tool", "developer", "système\0", ""].into_iter().enumerate() {
        let content = Content {
            role: role.to_owned(),
            author: Some(Author { id: format!("id{place}"), name: String::new() }),
            time: Time {
                at: Timestamp(1_700_000_000_000_001 - 9_000_000_000_000_000 * (place as i64 % 2)),
                source: TimeSource::File,
            },
            status: [MessageStatus::Complete, MessageStatus::Incomplete, MessageStatus::Failed][place % 3],
            seen: Visibility { by_reader: place % 2 == 0, by_model: place < 3 },
            turn: Some(place as u32),
            model: Some("model/😀".to_owned()),
            tokens: Some(u32::MAX),
            usage: Some(json(r#"{"in":1.0}"#)),
            metadata: Some(json(r#"{"deep":[[["\ud800"]]]}"#)),
            reply_to: Some(first),
            body: Body::parse(body).expect("an array of parts"),
        };
        given.push(NewMessage { id: id(MessageId::new), content });
    }
    commit(store, append(conversation, given.clone())).await;
    let found = path(store, conversation, None).await;
    for (given, found) in given.iter().zip(&found[1..]) {
        assert_eq!((given.id, &given.content), (found.id, &found.content));
        assert_eq!(given.content.body.text(), found.content.body.text());
    }
    counts_hold(store, conversation).await;
    assert_eq!(shown(store, conversation).await.messages, 3, "failed and hidden ones are not counted");
    let ids = vec![given[2].id, id(MessageId::new), first];
    let placed = store.messages(MessagesQuery::Ids(ids)).await.expect("readable");
    assert_eq!(placed.iter().map(|placed| placed.message.id).collect::<Vec<_>>(), [given[2].id, first]);
    assert!(placed.iter().all(|placed| placed.on_path && placed.conversation == conversation));
    sound(store).await;
}

pub async fn the_same_messages_again_are_a_retry(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    say(store, conversation, &["zero"]).await;
    let messages = vec![message("user", "one"), message("bot", "two"), message("user", "three")];
    let head = shown(store, conversation).await.head;
    let mut transaction = Transaction::of(at(1), append(conversation, messages));
    transaction.expect = vec![Expect::Head { conversation, head }];
    let first = store.commit(transaction.clone()).await.expect("it may");
    assert_eq!(first.position, first.first + 2);
    let version = shown(store, conversation).await.version;
    let again = store.commit(transaction).await.expect("a retry is answered though the head has moved");
    assert_eq!(again, Committed { is_replay: true, ..first });
    assert_eq!(texts(store, conversation).await, ["zero", "one", "two", "three"]);
    assert_eq!(shown(store, conversation).await.version, version);
    sound(store).await;
}

pub async fn a_retry_of_a_longer_transaction_answers_the_same(store: &dyn Store) {
    let conversation = id(ConversationId::new);
    let draft = ConversationDraft { external_id: Some("e".to_owned()), ..Default::default() };
    let create = Change::CreateConversation { id: conversation, branch: id(BranchId::new), draft, importing: false };
    let mut transaction = Transaction::of(at(1), create);
    transaction.changes.push(append(conversation, vec![message("user", "one"), message("bot", "two")]));
    let first = store.commit(transaction.clone()).await.expect("it may");
    let again = store.commit(transaction).await.expect("it is a retry");
    assert_eq!(again, Committed { is_replay: true, ..first });
}

pub async fn other_content_under_the_same_id_is_a_conflict(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let one = message("user", "one");
    commit(store, append(conversation, vec![one.clone()])).await;
    let mut other = message("user", "other");
    other.id = one.id;
    refused(store, append(conversation, vec![other]), "exists").await;
    let mixed = vec![one.clone(), message("user", "new")];
    refused(store, append(conversation, mixed), "key_conflict").await;
    let twin = message("user", "twin");
    refused(store, append(conversation, vec![twin.clone(), twin]), "exists").await;
    let elsewhere = crate::kit::conversation(store, "b").await;
    refused(store, append(elsewhere, vec![one]), "exists").await;
    refused(store, append(elsewhere, Vec::new()), "invalid").await;
    refused(store, append(id(ConversationId::new), vec![message("user", "x")]), "not_found").await;
    assert_eq!(texts(store, conversation).await, ["one"]);
    assert_eq!(texts(store, elsewhere).await, [""; 0]);
    sound(store).await;
}

pub async fn an_append_is_refused_where_it_cannot_stand(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["one"]).await;
    let elsewhere = crate::kit::conversation(store, "b").await;
    let foreign = say(store, elsewhere, &["foreign"]).await[0];
    let foreign_branch = store.branches(elsewhere).await.expect("readable")[0].id;
    let own_branch = store.branches(conversation).await.expect("readable")[0].id;
    let new = || id(BranchId::new);
    for (place, code) in [
        (MessageAt::After { message: Some(foreign), branch: new() }, "not_found"),
        (MessageAt::After { message: Some(id(MessageId::new)), branch: new() }, "not_found"),
        (MessageAt::InsteadOf { message: foreign, branch: new() }, "not_found"),
        (MessageAt::Branch { branch: foreign_branch }, "not_found"),
        (MessageAt::Branch { branch: new() }, "not_found"),
        (MessageAt::After { message: Some(ids[0]), branch: own_branch }, "exists"),
    ] {
        let change = Change::AppendMessages {
            conversation,
            at: place,
            head: HeadMove::Follow,
            why: BranchReason::Fork,
            messages: vec![message("user", "x")],
            origins: Vec::new(),
        };
        refused(store, change, code).await;
    }
    assert_eq!(texts(store, conversation).await, ["one"]);
    sound(store).await;
}

pub async fn a_refused_change_leaves_no_trace_of_its_actor(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let mut transaction = Transaction::of(at(1), head_to(conversation, id(MessageId::new)));
    transaction.actor = Some(Author { id: "nobody knows me yet".to_owned(), name: String::new() });
    refused_as(store.commit(transaction.clone()).await, "not_found");
    transaction.changes = vec![append(conversation, vec![message("user", "one")])];
    store.commit(transaction).await.expect("the writer goes on");
    assert_eq!(texts(store, conversation).await, ["one"]);
    sound(store).await;
}

pub async fn what_is_expected_must_be_true(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let empty = Expect::Head { conversation, head: None };
    let with = |expect: Vec<Expect>, text: &str| {
        let mut transaction = Transaction::of(at(1), append(conversation, vec![message("user", text)]));
        transaction.expect = expect;
        transaction
    };
    store.commit(with(vec![empty.clone()], "one")).await.expect("it is empty");
    refused_as(store.commit(with(vec![empty], "two")).await, "head_conflict");
    let now = shown(store, conversation).await;
    let (version, head) = (now.version, Expect::Head { conversation, head: now.head });
    let right = Expect::Version { conversation, version };
    let wrong = Expect::Version { conversation, version: version - 1 };
    refused_as(store.commit(with(vec![head.clone(), wrong], "two")).await, "version_conflict");
    store.commit(with(vec![head.clone(), right.clone()], "two")).await.expect("both are true");
    refused_as(store.commit(with(vec![right], "three")).await, "version_conflict");
    refused_as(store.commit(with(vec![head], "three")).await, "head_conflict");
    let unknown = Expect::Version { conversation: id(ConversationId::new), version: 1 };
    refused_as(store.commit(with(vec![unknown], "three")).await, "not_found");
    assert_eq!(texts(store, conversation).await, ["one", "two"]);
}

pub async fn a_key_answers_the_same_request_the_same_way(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let note = |title: &str| {
        let patch = ConversationPatch { title: Some(title.to_owned()), ..Default::default() };
        let mut transaction = Transaction::of(at(1), Change::EditConversation { id: conversation, patch });
        transaction.key = Some(vec![0, 255, 7]);
        transaction
    };
    let first = store.commit(note("b")).await.expect("it may");
    let renamed = ConversationPatch { title: Some("c".to_owned()), ..Default::default() };
    patch(store, conversation, renamed).await;
    let mut later = note("b");
    later.at = at(500);
    let again = store.commit(later).await.expect("the same request");
    assert_eq!(again, Committed { is_replay: true, ..first });
    assert_eq!(shown(store, conversation).await.title, "c", "a retry does nothing again");
    refused_as(store.commit(note("d")).await, "key_conflict");
    for key in [Vec::new(), vec![0; 256]] {
        refused_as(store.commit(Transaction { key: Some(key), ..note("e") }).await, "invalid");
    }
    sound(store).await;
}

pub async fn a_refused_request_does_not_use_its_key_up(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let one = message("user", "one");
    let mut transaction = Transaction::of(at(1), head_to(conversation, one.id));
    transaction.key = Some(b"key".to_vec());
    refused_as(store.commit(transaction.clone()).await, "not_found");
    commit(store, append(conversation, vec![one])).await;
    assert!(!store.commit(transaction).await.expect("now it may").is_replay);
}

pub async fn a_key_is_known_since_it_was_first_used(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let key = b"key".to_vec();
    assert_eq!(store.idempotent_request_time(key.clone()).await.expect("readable"), None);
    let refused = Transaction { key: Some(key.clone()), ..Transaction::of(at(3), Change::Purge { conversation }) };
    refused_as(store.commit(refused).await, "not_trashed");
    assert_eq!(store.idempotent_request_time(key.clone()).await.expect("readable"), None, "a refusal uses no key up");
    let change = append(conversation, vec![message("user", "one")]);
    for seconds in [7, 9] {
        let transaction = Transaction { key: Some(key.clone()), ..Transaction::of(at(seconds), change.clone()) };
        store.commit(transaction).await.expect("it may");
        assert_eq!(store.idempotent_request_time(key.clone()).await.expect("readable"), Some(at(7)));
    }
    assert_eq!(store.idempotent_request_time(b"other".to_vec()).await.expect("readable"), None);
}

pub async fn pages_go_both_ways_from_any_message(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["0", "1", "2", "3", "4", "5", "6"]).await;
    let (branch, _) = fork(store, conversation, Some(ids[2]), "x").await;
    say(store, conversation, &["y"]).await;
    let main = ["0", "1", "2", "3", "4", "5", "6"];
    let side = ["0", "1", "2", "x", "y"];
    let all: Vec<MessageId> =
        ids.iter().copied().chain(path(store, conversation, None).await[3..].iter().map(|m| m.id)).collect();
    for (place, from) in all.iter().enumerate() {
        // What is off the shown path is read on its own branch.
        let (line, at): (&[&str], usize) = match place {
            0..3 => (&side, place),
            3..7 => (&main, place),
            _ => (&side, place - 4),
        };
        for limit in 1..4 {
            let query = MessagePageQuery {
                conversation,
                branch: None,
                from: Some(*from),
                direction: Direction::Forward,
                limit,
            };
            let window = store.message_page(query.clone()).await.expect("readable");
            let end = (at + 1 + limit as usize).min(line.len());
            assert_eq!(words_of(&window.messages), line[at + 1..end]);
            assert_eq!(window.more, end < line.len());
            let window = store
                .message_page(MessagePageQuery { direction: Direction::Backward, ..query })
                .await
                .expect("readable");
            let start = at.saturating_sub(limit as usize);
            assert_eq!(words_of(&window.messages), line[start..at]);
            assert_eq!(window.more, start > 0);
        }
    }
    let query = MessagePageQuery { conversation, branch: None, from: None, direction: Direction::Backward, limit: 2 };
    let window = store.message_page(query.clone()).await.expect("readable");
    assert_eq!((words_of(&window.messages), window.more), (vec!["x".to_owned(), "y".to_owned()], true));
    let first = store.branches(conversation).await.expect("readable")[0].id;
    let window = store.message_page(MessagePageQuery { branch: Some(first), ..query.clone() }).await.expect("readable");
    assert_eq!(words_of(&window.messages), ["5", "6"]);
    assert_eq!(words_of(&path(store, conversation, Some(branch)).await), side);
    let own = store.messages(MessagesQuery::Branch { branch, after: None, limit: 1 }).await.expect("readable");
    let after = Some(own[0].message.id);
    let rest = store.messages(MessagesQuery::Branch { branch, after, limit: 9 }).await.expect("readable");
    assert_eq!((own[0].message.content.body.words(), rest.len()), ("x".to_owned(), 1));
}

/// Walks a path in pages, checks that each is small, and returns the ids in reading order.
async fn pages_by_bytes(store: &dyn Store, conversation: ConversationId, direction: Direction) -> Vec<Vec<MessageId>> {
    let (mut pages, mut from) = (Vec::new(), None);
    loop {
        let query = MessagePageQuery { conversation, branch: None, from, direction, limit: PAGE_MAX };
        let window = store.message_page(query).await.expect("readable");
        let bytes: usize = window.messages.iter().map(|message| message.content.body.text().len()).sum();
        assert!(bytes <= PAGE_BYTES || window.messages.len() == 1, "{bytes} bytes on one page");
        let ids: Vec<MessageId> = window.messages.iter().map(|message| message.id).collect();
        from = match direction {
            Direction::Forward => ids.last().copied(),
            Direction::Backward => ids.first().copied(),
        };
        pages.push(ids);
        if !window.more {
            break;
        }
    }
    if direction == Direction::Backward {
        pages.reverse();
    }
    pages
}

pub async fn a_page_is_cut_by_bytes_and_goes_on_behind_the_cut(store: &dyn Store) {
    let conversation = conversation(store, "large").await;
    let mut ids = Vec::new();
    // Three of the larger ones do not fit onto a page, and the largest is a page of its own.
    for (size, count) in [(1_500_000, 5), (4_190_000, 2), (10, 30), (2_000_000, 3)] {
        for _ in 0..count {
            ids.extend(say(store, conversation, &[&"x".repeat(size)]).await);
        }
    }
    for direction in [Direction::Forward, Direction::Backward] {
        let pages = pages_by_bytes(store, conversation, direction).await;
        assert_eq!(pages.concat(), ids);
        assert!(pages.len() > 5, "{direction:?}: {} pages", pages.len());
    }
    let branch = store.branches(conversation).await.expect("readable")[0].id;
    let (mut copied, mut after) = (Vec::new(), None);
    loop {
        let query = MessagesQuery::Branch { branch, after, limit: PAGE_MAX };
        let page = store.messages(query).await.expect("readable");
        let bytes: usize = page.iter().map(|placed| placed.message.content.body.text().len()).sum();
        assert!(bytes <= PAGE_BYTES || page.len() == 1, "{bytes} bytes on one page");
        let Some(last) = page.last() else { break };
        after = Some(last.message.id);
        copied.extend(page.iter().map(|placed| placed.message.id));
    }
    assert_eq!(copied, ids);
    // A path of several runs is cut in the same way.
    commit(store, splice(conversation, instead_of(ids[2], ids[2]), &[&"y".repeat(3_000_000)])).await;
    let forward = pages_by_bytes(store, conversation, Direction::Forward).await.concat();
    assert_eq!(forward.len(), ids.len());
    assert_eq!((&forward[..2], &forward[3..]), (&ids[..2], &ids[3..]));
    assert_eq!(pages_by_bytes(store, conversation, Direction::Backward).await.concat(), forward);
}

pub async fn a_page_of_something_unknown_is_refused(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    say(store, conversation, &["one"]).await;
    let elsewhere = crate::kit::conversation(store, "b").await;
    let foreign = say(store, elsewhere, &["secret", "more"]).await;
    let query = MessagePageQuery { conversation, branch: None, from: None, direction: Direction::Forward, limit: 9 };
    let foreign_branch = store.branches(elsewhere).await.expect("readable")[0].id;
    for query in [
        MessagePageQuery { conversation: id(ConversationId::new), ..query.clone() },
        MessagePageQuery { from: Some(id(MessageId::new)), ..query.clone() },
        MessagePageQuery { from: Some(foreign[0]), ..query.clone() },
        MessagePageQuery { from: Some(foreign[1]), direction: Direction::Backward, ..query.clone() },
        MessagePageQuery { branch: Some(foreign_branch), ..query.clone() },
        MessagePageQuery { branch: Some(id(BranchId::new)), ..query },
    ] {
        let code = store.message_page(query.clone()).await.map_err(|error| error.code());
        assert_eq!(code, Err("not_found"), "{query:?}");
    }
}

pub async fn a_thread_is_what_answers_and_what_is_answered(store: &dyn Store) {
    let conversation = conversation(store, "group").await;
    let mut ids = Vec::new();
    // Each replies to an earlier one by position; the last replies to a message that does not exist.
    for (text, answers) in
        [("a", None), ("b", None), ("a1", Some(0)), ("a2", Some(0)), ("a11", Some(2)), ("b1", Some(1))]
    {
        let mut message = message("user", text);
        message.content.reply_to = answers.map(|place: usize| ids[place]);
        ids.push(message.id);
        commit(store, append(conversation, vec![message])).await;
    }
    let mut dangling = message("user", "dangling");
    dangling.content.reply_to = Some(id(MessageId::new));
    ids.push(dangling.id);
    commit(store, append(conversation, vec![dangling])).await;
    for (place, expected) in [(0, "a a1 a2 a11"), (4, "a a1 a2 a11"), (5, "b b1"), (6, "dangling")] {
        let found = related(store, Related::Thread, ids[place]).await.expect("readable");
        let texts: Vec<String> = found.iter().map(|placed| placed.message.content.body.words()).collect();
        assert_eq!(texts.join(" "), expected);
    }
    let unknown = related(store, Related::Thread, id(MessageId::new)).await.expect_err("unknown");
    assert_eq!(unknown.code(), "not_found");
}

/// A text of this many kibibytes.
pub(super) fn long(kibibytes: usize) -> String {
    "x".repeat(kibibytes << 10)
}

pub async fn related_page_is_cut_by_bytes_and_goes_on_behind_the_cut(store: &dyn Store) {
    let chat = conversation(store, "a").await;
    let first = say(store, chat, &["question", "answer"]).await;
    let mut ids = vec![first[1]];
    for _ in 0..4 {
        let mut answer = message("assistant", &long(1_500));
        answer.content.reply_to = Some(first[0]);
        ids.push(answer.id);
        let again = Change::AppendMessages {
            conversation: chat,
            at: MessageAt::InsteadOf { message: first[1], branch: id(BranchId::new) },
            head: HeadMove::Follow,
            why: BranchReason::Retry,
            messages: vec![answer],
            origins: Vec::new(),
        };
        commit(store, again).await;
    }
    let of_thread = [&first[..1], &ids[1..]].concat();
    for (which, of, all) in [(Related::Siblings, first[1], &ids), (Related::Thread, first[0], &of_thread)] {
        let mut query = RelatedQuery { message: of, related: which, after: None };
        let (mut read, mut pages) = (Vec::new(), 0);
        loop {
            let page = store.related(query.clone()).await.expect("readable");
            let bytes: usize = page.messages.iter().map(|placed| placed.message.content.body.text().len()).sum();
            assert!(bytes <= PAGE_BYTES, "{which:?}: a page of {bytes} bytes");
            read.extend(page.messages.iter().map(|placed| placed.message.id));
            pages += 1;
            if !page.more {
                break;
            }
            query.after = read.last().copied();
        }
        assert_eq!((&read, pages), (all, 2), "{which:?}");
    }
    let elsewhere = RelatedQuery { message: ids[1], related: Related::Siblings, after: Some(first[0]) };
    assert_eq!(store.related(elsewhere).await.expect_err("it is none of them").code(), "not_found");
}
