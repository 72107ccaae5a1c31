//! Reads of one conversation, and of messages.

use super::*;

fn window(conversation: ConversationId) -> MessagePageQuery {
    MessagePageQuery { conversation, branch: None, from: None, direction: Direction::Backward, limit: 10 }
}

fn events(conversation: ConversationId) -> EventsQuery {
    EventsQuery { conversation, channels: Vec::new(), after: 0, limit: 10 }
}

/// Asks everything that can be asked of one conversation, and returns what each answer says.
async fn asked(store: &dyn Store, conversation: ConversationId) -> Vec<String> {
    let journal = JournalQuery { conversation: Some(conversation), ..JournalQuery::default() };
    fn said<T: std::fmt::Debug>(outcome: Result<T>) -> String {
        outcome.map_or_else(|error| format!("{}: {error}", error.code()), |answer| format!("{answer:?}"))
    }
    vec![
        said(store.conversation(ConversationRef::Id(conversation)).await),
        said(store.branches(conversation).await),
        said(store.message_page(window(conversation)).await),
        said(store.message_page(MessagePageQuery { direction: Direction::Forward, ..window(conversation) }).await),
        said(store.annotations(conversation.into()).await),
        said(store.state(conversation, "plot".to_owned(), None).await),
        said(store.events(events(conversation)).await),
        said(store.stats(StatsQuery::conversation(conversation)).await),
        said(store.journal(journal).await),
        said(store.undo_target(UndoScope::Conversation(conversation), UndoDirection::Undo).await),
        said(store.conversation_ids(Some(conversation), 10).await.map(|_| ())),
    ]
}

pub async fn a_conversation_outside_answers_as_one_that_never_was(whole: &Whole) {
    let world = World::new(whole).await;
    for (access, within) in world.access_scopes() {
        let store = granted(whole, access.clone());
        let unknown = id(ConversationId::new);
        let never = asked(&*store, unknown).await;
        for conversation in world.conversations() {
            let answers = asked(&*store, conversation).await;
            match within.contains(&conversation) {
                true => assert_eq!(answers, asked(&**whole, conversation).await, "{access:?}"),
                false => {
                    let answers: Vec<String> = answers
                        .iter()
                        .map(|said| said.replace(&conversation.to_string(), &unknown.to_string()))
                        .collect();
                    assert_eq!(answers, never, "{access:?}");
                }
            }
        }
    }
}

pub async fn a_conversation_is_named_from_outside_only_within(whole: &Whole) {
    let world = World::new(whole).await;
    let store = granted(whole, user("ann"));
    for (things, is_seen) in [(&world.own, true), (&world.other, false)] {
        let named = ConversationRef::External(format!("external {}", things.conversation));
        let found = store.conversation(named).await.expect("readable");
        assert_eq!(found.map(|found| found.id), is_seen.then_some(things.conversation));
    }
}

pub async fn messages_outside_are_left_out_or_unknown(whole: &Whole) {
    let world = World::new(whole).await;
    let store = granted(whole, user("ann"));
    let ids = |found: Vec<LocatedMessage>| found.into_iter().map(|placed| placed.message.id).collect::<Vec<_>>();
    let all = MessagesQuery::Ids(vec![world.other.first, world.own.second, id(MessageId::new), world.own.first]);
    assert_eq!(ids(store.messages(all).await.expect("readable")), [world.own.second, world.own.first]);
    let never = Things::unknown();
    type Ask = fn(&Things) -> MessagesQuery;
    let asks: [(&str, Ask); 2] = [
        ("branch", |things| MessagesQuery::Branch { branch: things.branch, after: None, limit: 10 }),
        ("branch after", |things| MessagesQuery::Branch {
            branch: things.branch,
            after: Some(things.first),
            limit: 10,
        }),
    ];
    for (what, ask) in asks {
        let own = store.messages(ask(&world.own)).await.expect("one's own can be read");
        assert_eq!(own, whole.messages(ask(&world.own)).await.expect("readable"), "{what}");
        assert!(!own.is_empty(), "{what}");
        let outside = world.other.refusal(what, store.messages(ask(&world.other)).await);
        assert_eq!(outside, never.refusal(what, store.messages(ask(&never)).await), "{what}");
    }
    for which in [Related::Siblings, Related::Thread] {
        let own = related(&*store, which, world.own.first).await.expect("one's own can be read");
        assert_eq!(own, related(&**whole, which, world.own.first).await.expect("readable"), "{which:?}");
        let outside = world.other.refusal("related", related(&*store, which, world.other.first).await);
        assert_eq!(outside, never.refusal("related", related(&*store, which, never.first).await), "{which:?}");
        // Nor does a page go on behind what is outside.
        let after = |after| RelatedQuery { message: world.own.first, related: which, after: Some(after) };
        let outside = world.other.refusal("after", store.related(after(world.other.first)).await);
        assert_eq!(outside, never.refusal("after", store.related(after(never.first)).await), "{which:?}");
    }
}

pub async fn a_thread_ends_at_the_access_scope(whole: &Whole) {
    let world = World::new(whole).await;
    let reply = |to: MessageId, text: &str| {
        let mut reply = message("user", text);
        reply.content.reply_to = Some(to);
        reply
    };
    // From ann's to bob's, and back: ann sees hers on this side alone.
    let (mine, his, back) = (reply(world.own.first, "mine"), reply(world.own.first, "his"), id(MessageId::new));
    let beyond = NewMessage { id: back, ..reply(his.id, "beyond") };
    let (mine_id, his_id) = (mine.id, his.id);
    commit(&**whole, append(world.own.conversation, vec![mine])).await;
    commit(&**whole, append(world.other.conversation, vec![his])).await;
    commit(&**whole, append(world.own.conversation, vec![beyond])).await;
    let store = granted(whole, user("ann"));
    let thread = async |store: &dyn Store, id: MessageId| {
        let found = related(store, Related::Thread, id).await.expect("readable");
        found.into_iter().map(|placed| placed.message.id).collect::<Vec<_>>()
    };
    assert_eq!(thread(&**whole, mine_id).await, [world.own.first, mine_id, his_id, back]);
    assert_eq!(thread(&*store, mine_id).await, [world.own.first, mine_id]);
    assert_eq!(thread(&*store, back).await, [back]);
}

/// A path may contain messages that another conversation owns; a key that can see the path sees all of it.
pub async fn a_path_is_whole_for_those_who_reach_it(whole: &Whole) {
    let world = World::new(whole).await;
    let (fork, branch) = (talk(whole, "ann", &[], None).await, id(BranchId::new));
    let base = Some(BranchBase { parent: world.other.branch, fork: Some(world.other.second) });
    let own = vec![message("user", "mine behind his")];
    let (pieces, origins) = (Vec::new(), Vec::new());
    let open = Change::OpenBranch { conversation: fork, branch, base, own, pieces, why: BranchReason::Fork, origins };
    commit(&**whole, open).await;
    commit(&**whole, Change::MoveHead { conversation: fork, to: HeadTarget::End(branch) }).await;
    let store = granted(whole, user("ann"));
    assert_eq!(texts(&*store, fork).await, ["the first word", "the second word", "mine behind his"]);
    // What the path shows can be gone on from, in this conversation alone.
    let after = |message| Change::AppendMessages {
        conversation: fork,
        at: MessageAt::After { message: Some(message), branch: id(BranchId::new) },
        head: HeadMove::Follow,
        why: BranchReason::Fork,
        messages: vec![message_after()],
        origins: Vec::new(),
    };
    fn message_after() -> NewMessage {
        message("user", "another way")
    }
    refused(&*store, after(world.other.third), "not_found").await;
    commit(&*store, after(world.other.first)).await;
    assert_eq!(texts(&*store, fork).await, ["the first word", "another way"]);
    let note =
        Change::AddNote { id: id(NoteId::new), message: world.other.first, kind: "pin".to_owned(), value: json("1") };
    refused(&*store, note, "not_found").await;
    // Alternatives that its owner has are not among those that are seen.
    let siblings = related(&*store, Related::Siblings, world.own.first).await.expect("readable");
    assert_eq!(siblings.len(), 1);
}

/// Names of other programs repeat; a page is full of those within, however many others have the same name.
pub async fn a_page_of_messages_is_full_of_those_within(whole: &Whole) {
    let world = World::new(whole).await;
    let source = Source {
        id: id(SourceId::new),
        format: "f".to_owned(),
        generation: "g".to_owned(),
        path: "p".to_owned(),
        sha256: "s".to_owned(),
        style: json("{}"),
        at: at(1),
    };
    let file = source.id;
    commit(&**whole, Change::PutSource { source }).await;
    for (conversation, many) in [(world.other.conversation, 1_001), (world.own.conversation, 2)] {
        let messages: Vec<NewMessage> = (0..many).map(|_| message("user", "x")).collect();
        let origin = |(ordinal, message): (i64, &NewMessage)| {
            let external = Some("same".to_owned());
            MessageOrigin { message: message.id, source: file, ordinal, external, raw: None }
        };
        let origins = (0..).zip(&messages).map(origin).collect();
        let change = Change::AppendMessages {
            conversation,
            at: MessageAt::Head { branch: id(BranchId::new) },
            head: HeadMove::Follow,
            why: BranchReason::Import,
            messages,
            origins,
        };
        commit(&**whole, change).await;
    }
    let named = MessagesQuery::External("same".to_owned());
    assert_eq!(granted(whole, user("ann")).messages(named.clone()).await.expect("readable").len(), 2);
    assert_eq!(granted(whole, user("bob")).messages(named.clone()).await.expect("readable").len(), 1_000);
    assert_eq!(whole.messages(named).await.expect("readable").len(), 1_000);
}
