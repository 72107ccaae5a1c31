//! Branches: forks, rewinds, switches, splices, and counts that always are what the path shows.

use crate::kit::*;
use manent_model::*;
use manent_store::*;

async fn shows(store: &dyn Store, conversation: ConversationId, expected: &str) {
    assert_eq!(texts(store, conversation).await.join(" "), expected);
    counts_hold(store, conversation).await;
}

async fn siblings(store: &dyn Store, message: MessageId) -> String {
    let found = related(store, Related::Siblings, message).await.expect("readable");
    found.iter().map(|placed| placed.message.content.body.words()).collect::<Vec<_>>().join(" ")
}

fn on_branch(conversation: ConversationId, branch: BranchId, head: HeadMove, text: &str) -> Change {
    Change::AppendMessages {
        conversation,
        at: MessageAt::Branch { branch },
        head,
        why: BranchReason::Fork,
        messages: vec![message("user", text)],
        origins: Vec::new(),
    }
}

pub async fn a_fork_leaves_the_old_path_as_it_was(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b", "c"]).await;
    let (branch, _) = fork(store, conversation, Some(ids[0]), "x").await;
    say(store, conversation, &["y"]).await;
    shows(store, conversation, "a x y").await;
    let branches = store.branches(conversation).await.expect("readable");
    assert_eq!(branches.len(), 2);
    let new = &branches[1];
    assert_eq!((new.id, new.parent, new.fork, new.own_messages), (branch, Some(branches[0].id), Some(ids[0]), 2));
    assert_eq!((new.is_head, new.reason, branches[0].is_head), (true, BranchReason::Fork, false));
    assert_eq!((branches[0].reason, branches[0].own_messages, branches[0].fork), (BranchReason::Start, 3, None));
    commit(store, Change::MoveHead { conversation, to: HeadTarget::End(branches[0].id) }).await;
    shows(store, conversation, "a b c").await;
    sound(store).await;
}

pub async fn a_rewind_then_an_append_opens_a_branch(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b", "c"]).await;
    commit(store, head_to(conversation, ids[1])).await;
    shows(store, conversation, "a b").await;
    let x = say(store, conversation, &["x"]).await;
    shows(store, conversation, "a b x").await;
    commit(store, head_to(conversation, ids[2])).await;
    shows(store, conversation, "a b c").await;
    say(store, conversation, &["d"]).await;
    shows(store, conversation, "a b c d").await;
    commit(store, head_to(conversation, x[0])).await;
    shows(store, conversation, "a b x").await;
    assert_eq!(store.branches(conversation).await.expect("readable").len(), 2);
    refused(store, head_to(conversation, id(MessageId::new)), "not_found").await;
    let unknown = Change::MoveHead { conversation, to: HeadTarget::End(id(BranchId::new)) };
    refused(store, unknown, "not_found").await;
    let elsewhere = crate::kit::conversation(store, "b").await;
    refused(store, head_to(elsewhere, ids[0]), "not_found").await;
    sound(store).await;
}

pub async fn a_cleared_path_begins_anew(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b"]).await;
    let cleared = id(BranchId::new);
    commit(store, Change::MoveHead { conversation, to: HeadTarget::Empty(cleared) }).await;
    shows(store, conversation, "").await;
    assert_eq!(shown(store, conversation).await.head, None);
    say(store, conversation, &["new"]).await;
    shows(store, conversation, "new").await;
    refused(store, Change::MoveHead { conversation, to: HeadTarget::Empty(cleared) }, "exists").await;
    commit(store, head_to(conversation, ids[1])).await;
    shows(store, conversation, "a b").await;
    sound(store).await;
}

pub async fn an_append_to_a_branch_follows_or_stays(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b", "c d"]).await;
    let first = store.branches(conversation).await.expect("readable")[0].id;
    commit(store, head_to(conversation, ids[0])).await;
    commit(store, on_branch(conversation, first, HeadMove::Stay, "e")).await;
    shows(store, conversation, "a").await;
    commit(store, on_branch(conversation, first, HeadMove::Follow, "f")).await;
    shows(store, conversation, "a b c d e f").await;
    sound(store).await;
}

pub async fn alternatives_stand_side_by_side(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b", "c"]).await;
    let again = |message_id: MessageId, text: &str| Change::AppendMessages {
        conversation,
        at: MessageAt::InsteadOf { message: message_id, branch: id(BranchId::new) },
        head: HeadMove::Follow,
        why: BranchReason::Retry,
        messages: vec![message("user", text)],
        origins: Vec::new(),
    };
    commit(store, again(ids[1], "b2")).await;
    shows(store, conversation, "a b2").await;
    commit(store, again(ids[1], "b3")).await;
    assert_eq!(siblings(store, ids[1]).await, "b b2 b3");
    commit(store, again(ids[0], "a2")).await;
    shows(store, conversation, "a2").await;
    fork(store, conversation, None, "a3").await;
    assert_eq!(siblings(store, ids[0]).await, "a a2 a3");
    assert_eq!(siblings(store, shown(store, conversation).await.head.expect("a3")).await, "a a2 a3");
    assert_eq!(siblings(store, ids[2]).await, "c");
    let placed = related(store, Related::Siblings, ids[0]).await.expect("readable");
    assert_eq!(placed.iter().map(|placed| placed.on_path).collect::<Vec<_>>(), [false, false, true]);
    sound(store).await;
}

pub async fn what_is_said_after_an_edit_is_no_alternative_of_the_kept_tail(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b", "c"]).await;
    commit(store, splice(conversation, instead_of(ids[1], ids[1]), &["b2"])).await;
    say(store, conversation, &["d"]).await;
    shows(store, conversation, "a b2 c d").await;
    assert_eq!(siblings(store, ids[2]).await, "c");
    assert_eq!(siblings(store, ids[1]).await, "b b2");
    // At the end of the path the next open slot does follow what was put in.
    let d = shown(store, conversation).await.head.expect("d");
    commit(store, splice(conversation, instead_of(d, d), &["d2"])).await;
    let e = say(store, conversation, &["e"]).await[0];
    shows(store, conversation, "a b2 c d2 e").await;
    let d2 = path(store, conversation, None).await[3].id;
    commit(store, head_to(conversation, d2)).await;
    let f = say(store, conversation, &["f"]).await[0];
    assert_eq!((siblings(store, e).await, siblings(store, f).await), ("e f".to_owned(), "e f".to_owned()));
}

pub async fn a_splice_keeps_the_tail_wherever_it_cuts(store: &dyn Store) {
    // Each case: what is cut by place (none: nothing, after the place), what is put in, what is shown then.
    let none = |after: Option<usize>| (after, None);
    let cases: &[((Option<usize>, Option<(usize, usize)>), &[&str], &str)] = &[
        ((None, Some((0, 0))), &["x"], "x b c d"),
        ((None, Some((1, 1))), &["x"], "a x c d"),
        ((None, Some((3, 3))), &["x"], "a b c x"),
        ((None, Some((1, 2))), &["x", "y", "z"], "a x y z d"),
        ((None, Some((0, 0))), &[], "b c d"),
        ((None, Some((1, 2))), &[], "a d"),
        ((None, Some((2, 3))), &[], "a b"),
        ((None, Some((0, 3))), &[], ""),
        ((None, Some((0, 3))), &["x"], "x"),
        (none(None), &["x", "y"], "x y a b c d"),
        (none(Some(1)), &["x"], "a b x c d"),
        (none(Some(3)), &["x"], "a b c d x"),
    ];
    for ((after, cut), put, expected) in cases {
        let conversation = conversation(store, "a").await;
        let ids = say(store, conversation, &["a", "b", "c", "d"]).await;
        let place = match cut {
            Some((first, last)) => instead_of(ids[*first], ids[*last]),
            None => SplicePosition::After(after.map(|place| ids[place])),
        };
        commit(store, splice(conversation, place, put)).await;
        shows(store, conversation, expected).await;
        say(store, conversation, &["next"]).await;
        shows(store, conversation, format!("{expected} next").trim()).await;
        let first = store.branches(conversation).await.expect("readable")[0].id;
        assert_eq!(words_of(&path(store, conversation, Some(first)).await).join(" "), "a b c d");
    }
    sound(store).await;
}

pub async fn a_splice_of_a_splice_of_a_fork_holds(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b", "c", "d", "e"]).await;
    fork(store, conversation, Some(ids[3]), "f").await;
    commit(store, splice(conversation, instead_of(ids[1], ids[1]), &["b2 b2"])).await;
    shows(store, conversation, "a b2 b2 c d f").await;
    let b2 = path(store, conversation, None).await[1].id;
    commit(store, splice(conversation, instead_of(ids[2], ids[3]), &[])).await;
    shows(store, conversation, "a b2 b2 f").await;
    commit(store, splice(conversation, SplicePosition::After(Some(b2)), &["c3", "d3"])).await;
    shows(store, conversation, "a b2 b2 c3 d3 f").await;
    say(store, conversation, &["g"]).await;
    commit(store, splice(conversation, instead_of(ids[0], b2), &["A"])).await;
    shows(store, conversation, "A c3 d3 f g").await;
    let middle = path(store, conversation, None).await[2].id;
    commit(store, head_to(conversation, middle)).await;
    shows(store, conversation, "A c3 d3").await;
    say(store, conversation, &["h"]).await;
    shows(store, conversation, "A c3 d3 h").await;
    sound(store).await;
}

pub async fn a_splice_off_the_path_is_refused(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b", "c"]).await;
    commit(store, head_to(conversation, ids[1])).await;
    let elsewhere = crate::kit::conversation(store, "b").await;
    let foreign = say(store, elsewhere, &["x"]).await[0];
    for (place, code) in [
        (SplicePosition::After(Some(ids[2])), "invalid"),
        (SplicePosition::After(Some(foreign)), "invalid"),
        (instead_of(ids[2], ids[2]), "invalid"),
        (instead_of(ids[1], ids[0]), "invalid"),
        (instead_of(ids[0], foreign), "invalid"),
        (instead_of(ids[0], id(MessageId::new)), "not_found"),
    ] {
        refused(store, splice(conversation, place, &["new"]), code).await;
    }
    let taken = store.branches(conversation).await.expect("readable")[0].id;
    let at = SplicePosition::After(None);
    refused(
        store,
        Change::Splice { conversation, branch: taken, at, messages: Vec::new(), origins: Vec::new() },
        "exists",
    )
    .await;
    shows(store, conversation, "a b").await;
    sound(store).await;
}

pub async fn a_splice_again_with_the_same_messages_is_a_retry(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b"]).await;
    let change = splice(conversation, instead_of(ids[0], ids[0]), &["x"]);
    let first = commit(store, change.clone()).await;
    assert_eq!(commit(store, change).await, Committed { is_replay: true, ..first });
    shows(store, conversation, "x b").await;
}

pub async fn a_conversation_can_fork_into_another_one(store: &dyn Store) {
    let a = conversation(store, "a").await;
    let ids = say(store, a, &["a", "b", "c"]).await;
    let parent = store.branches(a).await.expect("readable")[0].id;
    let b = conversation(store, "b").await;
    let branch = id(BranchId::new);
    let open = |fork: Option<MessageId>, own: Vec<NewMessage>| Change::OpenBranch {
        conversation: b,
        branch,
        base: Some(BranchBase { parent, fork }),
        own,
        pieces: Vec::new(),
        why: BranchReason::Fork,
        origins: Vec::new(),
    };
    commit(store, open(Some(ids[1]), vec![message("user", "x")])).await;
    shows(store, b, "").await;
    commit(store, Change::MoveHead { conversation: b, to: HeadTarget::End(branch) }).await;
    shows(store, b, "a b x").await;
    say(store, b, &["y"]).await;
    say(store, a, &["d"]).await;
    shows(store, b, "a b x y").await;
    shows(store, a, "a b c d").await;
    commit(store, head_to(b, ids[0])).await;
    say(store, b, &["z"]).await;
    shows(store, b, "a z").await;
    commit(store, splice(b, instead_of(ids[0], ids[0]), &["A"])).await;
    shows(store, b, "A z").await;
    refused(store, head_to(b, ids[2]), "not_found").await;
    sound(store).await;
}

pub async fn a_branch_from_elsewhere_is_opened_as_it_is_described(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b", "c"]).await;
    let parent = store.branches(conversation).await.expect("readable")[0].id;
    let (branch, own) = (id(BranchId::new), vec![message("user", "x"), message("user", "y")]);
    let stretch = |first: MessageId, last: MessageId| MessageRange { first, last };
    let pieces = vec![stretch(own[0].id, own[1].id), stretch(ids[1], ids[2])];
    let open = |branch: BranchId, base: BranchBase, own: &[NewMessage], pieces: &[MessageRange]| Change::OpenBranch {
        conversation,
        branch,
        base: Some(base),
        own: own.to_vec(),
        pieces: pieces.to_vec(),
        why: BranchReason::Import,
        origins: Vec::new(),
    };
    let base = BranchBase { parent, fork: Some(ids[0]) };
    let first = commit(store, open(branch, base.clone(), &own, &pieces)).await;
    let again = commit(store, open(branch, base.clone(), &own, &pieces)).await;
    assert_eq!(again, Committed { is_replay: true, ..first });
    assert_eq!(words_of(&path(store, conversation, Some(branch)).await).join(" "), "a x y b c");
    let info = store.branches(conversation).await.expect("readable").pop().expect("the new one");
    assert_eq!((info.own_in_ranges, info.own_messages, info.ranges, info.reason), (2, 2, pieces, BranchReason::Import));
    commit(store, Change::MoveHead { conversation, to: HeadTarget::End(branch) }).await;
    say(store, conversation, &["end"]).await;
    shows(store, conversation, "a x y b c end").await;
    let new = || [message("user", "n")];
    let backward = [stretch(ids[2], ids[1])];
    refused(store, open(id(BranchId::new), base.clone(), &new(), &backward), "invalid").await;
    let across = [stretch(ids[0], own[0].id)];
    refused(store, open(id(BranchId::new), base.clone(), &new(), &across), "invalid").await;
    refused(store, open(branch, base.clone(), &new(), &[]), "exists").await;
    let far = BranchBase { parent, fork: Some(own[0].id) };
    refused(store, open(id(BranchId::new), far, &new(), &[]), "invalid").await;
    let unknown = BranchBase { parent: id(BranchId::new), fork: None };
    refused(store, open(id(BranchId::new), unknown, &new(), &[]), "not_found").await;
    shows(store, conversation, "a x y b c end").await;
    sound(store).await;
}

pub async fn a_branch_without_a_parent_may_take_pieces(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b", "c"]).await;
    let branch = id(BranchId::new);
    let pieces = vec![MessageRange { first: ids[1], last: ids[2] }];
    let change = Change::OpenBranch {
        conversation,
        branch,
        base: None,
        own: Vec::new(),
        pieces,
        why: BranchReason::Import,
        origins: Vec::new(),
    };
    commit(store, change).await;
    commit(store, Change::MoveHead { conversation, to: HeadTarget::End(branch) }).await;
    say(store, conversation, &["end"]).await;
    shows(store, conversation, "b c end").await;
    let (branch, from, direction) = (None, None, Direction::Backward);
    let window = store
        .message_page(MessagePageQuery { conversation, branch, from, direction, limit: 10 })
        .await
        .expect("readable");
    assert_eq!(words_of(&window.messages), ["b", "c", "end"]);
}

pub async fn the_head_can_be_put_on_any_message_of_any_branch(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b", "c"]).await;
    let (branch, _) = fork(store, conversation, Some(ids[0]), "x").await;
    let first = store.branches(conversation).await.expect("readable")[0].id;
    let on = |branch, message| Change::MoveHead { conversation, to: HeadTarget::On { branch, message } };
    commit(store, on(first, Some(ids[1]))).await;
    shows(store, conversation, "a b").await;
    commit(store, on(branch, Some(ids[0]))).await;
    shows(store, conversation, "a").await;
    commit(store, on(first, None)).await;
    shows(store, conversation, "").await;
    refused(store, on(branch, Some(ids[1])), "invalid").await;
    refused(store, on(id(BranchId::new), None), "not_found").await;
    shows(store, conversation, "").await;
    sound(store).await;
}

pub async fn a_path_holds_a_message_once(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b", "c"]).await;
    let parent = store.branches(conversation).await.expect("readable")[0].id;
    let stretch = |first: usize, last: usize| MessageRange { first: ids[first], last: ids[last] };
    let open = |fork: Option<MessageId>, pieces| Change::OpenBranch {
        conversation,
        branch: id(BranchId::new),
        base: Some(BranchBase { parent, fork }),
        own: Vec::new(),
        pieces,
        why: BranchReason::Import,
        origins: Vec::new(),
    };
    refused(store, open(None, vec![stretch(0, 1), stretch(1, 2)]), "invalid").await;
    refused(store, open(Some(ids[1]), vec![stretch(1, 2)]), "invalid").await;
    commit(store, open(Some(ids[0]), vec![stretch(2, 2), stretch(1, 1)])).await;
    sound(store).await;
}

pub async fn a_branch_is_read_only_from_its_own_messages(store: &dyn Store) {
    let first = conversation(store, "first").await;
    let ids = say(store, first, &["a"]).await;
    let between = conversation(store, "between").await;
    say(store, between, &["of nobody's concern"]).await;
    let last = conversation(store, "last").await;
    say(store, last, &["b"]).await;
    let branch = store.branches(last).await.expect("readable")[0].id;
    let query = MessagesQuery::Branch { branch, after: Some(ids[0]), limit: 10 };
    let refused = store.messages(query).await.expect_err("a message of another branch");
    assert_eq!(refused.code(), "not_found");
}

pub async fn a_branch_reaches_its_own_messages(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b"]).await;
    let own = message("user", "own");
    let taken = MessageRange { first: ids[0], last: ids[1] };
    let open = |pieces| Change::OpenBranch {
        conversation,
        branch: id(BranchId::new),
        base: None,
        own: vec![own.clone()],
        pieces,
        why: BranchReason::Import,
        origins: Vec::new(),
    };
    refused(store, open(vec![taken.clone()]), "invalid").await;
    commit(store, open(vec![MessageRange { first: own.id, last: own.id }, taken])).await;
    commit(store, head_to(conversation, own.id)).await;
    assert_eq!(texts(store, conversation).await, ["own"]);
    sound(store).await;
}
