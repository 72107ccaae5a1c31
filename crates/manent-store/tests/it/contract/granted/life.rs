//! Changes of membership and visibility; destroyed objects are visible to no key.

use super::*;

async fn reaches(whole: &Whole, name: &str, conversation: ConversationId) -> bool {
    let store = granted(whole, user(name));
    let seen = store.conversation(ConversationRef::Id(conversation)).await.expect("readable").is_some();
    let listed = store.conversations(ListQuery::default()).await.expect("readable").conversations;
    assert_eq!(listed.iter().any(|one| one.id == conversation), seen, "{name}");
    let written = try_commit(&*store, append(conversation, vec![message("user", name)])).await;
    assert_eq!(written.is_ok(), seen, "{name}: {written:?}");
    seen
}

pub async fn a_membership_counts_from_the_moment_it_is_given_to_that_it_is_taken(whole: &Whole) {
    let conversation = talk(whole, "ann", &[], None).await;
    let of = async || (reaches(whole, "ann", conversation).await, reaches(whole, "bob", conversation).await);
    assert_eq!(of().await, (true, false));
    set_members(&**whole, conversation, &["bob", "cleo"]).await;
    assert_eq!(of().await, (true, true));
    // A member may leave, and is then no member.
    let bob = granted(whole, user("bob"));
    set_members(&*bob, conversation, &["cleo"]).await;
    assert_eq!(of().await, (true, false));
    refused(&*bob, Change::EditConversation { id: conversation, patch: ConversationPatch::default() }, "not_found")
        .await;
    let last = journal(&**whole, 0, 1_000).await;
    let edited = last.iter().rev().find(|entry| entry.kind == JournalKind::ConversationEdited).expect("an edit").first;
    refused(&*bob, Change::Undo { position: edited }, "cannot_undo").await;
    set_members(&**whole, conversation, &["bob"]).await;
    undo(&**whole, UndoScope::Conversation(conversation)).await;
    assert_eq!(of().await, (true, false), "what was taken back is as it was");
    sound(&**whole).await;
}

pub async fn what_was_taken_back_is_reached_again_when_it_comes_again(whole: &Whole) {
    let conversation = talk(whole, "ann", &["bob"], None).await;
    uncreate(&**whole, conversation).await;
    assert!(!reaches(whole, "ann", conversation).await && !reaches(whole, "bob", conversation).await);
    sound(&**whole).await;
    redo(&**whole, UndoScope::Conversation(conversation)).await;
    assert!(reaches(whole, "ann", conversation).await && reaches(whole, "bob", conversation).await);
    sound(&**whole).await;
}

pub async fn an_erased_person_reaches_nothing_and_leaves_no_name(whole: &Whole) {
    let made = talk(whole, "ann", &["bob"], None).await;
    let part = talk(whole, "bob", &["ann", "cleo"], None).await;
    loop {
        let erased = commit(&**whole, Change::Erase { target: EraseTarget::Person("ann".to_owned()) }).await;
        if matches!(erased.results.as_slice(), [ChangeResult::Erased(receipt)] if receipt.finished) {
            break;
        }
    }
    for conversation in [made, part] {
        assert!(!reaches(whole, "ann", conversation).await && reaches(whole, "bob", conversation).await);
    }
    let creator = shown(&**whole, made).await.creator.expect("it has a creator").id;
    assert!(creator.starts_with("erased:"), "{creator}");
    assert!(reaches(whole, &creator, made).await, "what is left of the name is what it is found by");
    sound(&**whole).await;
}

pub async fn destroyed_content_is_unreachable(whole: &Whole) {
    let (purged, erased) = (talk(whole, "ann", &["bob"], None).await, talk(whole, "ann", &["bob"], None).await);
    let forked = talk(whole, "cleo", &[], None).await;
    let messages = say(&**whole, purged, &["kept by a fork"]).await;
    let parent = whole.branches(purged).await.expect("readable")[0].id;
    let open = Change::OpenBranch {
        conversation: forked,
        branch: id(BranchId::new),
        base: Some(BranchBase { parent, fork: Some(messages[0]) }),
        own: Vec::new(),
        pieces: Vec::new(),
        why: BranchReason::Fork,
        origins: Vec::new(),
    };
    commit(&**whole, open).await;
    patch(&**whole, purged, ConversationPatch { status: Some(ConversationStatus::Trashed), ..Default::default() })
        .await;
    commit(&**whole, Change::Purge { conversation: purged }).await;
    commit(&**whole, Change::Erase { target: EraseTarget::Conversation(erased) }).await;
    let ann = granted(whole, user("ann"));
    for conversation in [purged, erased] {
        assert!(!reaches(whole, "ann", conversation).await && !reaches(whole, "bob", conversation).await);
        refused(&*ann, Change::Purge { conversation }, "not_found").await;
        refused(&*ann, Change::Erase { target: EraseTarget::Conversation(conversation) }, "not_found").await;
    }
    let found = ann.messages(MessagesQuery::Ids(messages)).await.expect("readable");
    assert_eq!(found, [], "what a fork has kept is not handed out as a message of its own");
    sound(&**whole).await;
}

/// A deletion that takes many commits runs to its end: after the first one, the row no longer tells the owner.
pub async fn a_large_conversation_of_ones_own_is_destroyed_in_one_go(whole: &Whole) {
    let ann = granted(whole, user("ann"));
    let outside = talk(whole, "bob", &[], None).await;
    for is_erased in [false, true] {
        let conversation = talk(whole, "ann", &[], None).await;
        let texts: Vec<String> = (0..1_200).map(|n| format!("message {n}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        say(&*ann, conversation, &texts).await;
        let change = match is_erased {
            true => Change::Erase { target: EraseTarget::Conversation(conversation) },
            false => {
                refused(&*ann, Change::Purge { conversation }, "not_trashed").await;
                let status = Some(ConversationStatus::Trashed);
                patch(&*ann, conversation, ConversationPatch { status, ..Default::default() }).await;
                Change::Purge { conversation }
            }
        };
        let committed = commit(&*ann, change).await;
        match committed.results.as_slice() {
            [ChangeResult::Purged(true)] if !is_erased => {}
            [ChangeResult::Erased(receipt)] if is_erased => {
                assert_eq!((receipt.finished, receipt.messages, receipt.conversations), (true, 1_200, 1));
            }
            done => panic!("{done:?}"),
        }
        assert!(committed.position >= committed.first);
        assert_eq!(whole.conversation(ConversationRef::Id(conversation)).await.expect("readable"), None);
    }
    let unknown = id(ConversationId::new);
    for conversation in [outside, unknown] {
        let error = try_commit(&*ann, Change::Purge { conversation }).await.expect_err("outside");
        assert_eq!(error.to_string(), format!("no conversation {conversation}"));
    }
    sound(&**whole).await;
}
