//! Visibility of blobs: a key sees those that a visible message shows, and those that it uploaded. A SHA-256 alone
//! gives no access.

use super::*;
use sha2::{Digest as _, Sha256};

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// A blob in pieces of some bytes.
fn pieces(bytes: &[u8], length: usize) -> Vec<Change> {
    let (sha256, size) = (digest(bytes), bytes.len() as i64);
    let all: Vec<&[u8]> = bytes.chunks(length).collect();
    let piece = |(n, bytes): (usize, &&[u8])| Change::PutBlobPiece {
        sha256,
        size,
        n: n as i64,
        last: n + 1 == all.len(),
        bytes: bytes.to_vec(),
    };
    all.iter().enumerate().map(piece).collect()
}

async fn put(store: &dyn Store, bytes: &[u8]) {
    for piece in pieces(bytes, 4) {
        assert_eq!(commit(store, piece).await.results, [ChangeResult::Applied], "what was added to it is not told");
    }
}

fn showing(bytes: &[u8]) -> NewMessage {
    let mut message = message("user", "look");
    let (mime, blob) = ("image/png".to_owned(), Some(hex::encode(&digest(bytes))));
    message.content.body = Body::of(&[Part::Media { mime, blob, extra: Vec::new() }]);
    message
}

async fn seen(store: &dyn Store, bytes: &[u8]) -> bool {
    let whole = store.blob(digest(bytes)).await.expect("readable");
    let piece = store.blob_piece(digest(bytes), 0).await.expect("readable");
    assert_eq!(whole.is_some(), piece.is_some());
    whole.as_deref().inspect(|found| assert_eq!(*found, bytes)).is_some()
}

pub async fn a_blob_is_seen_by_those_who_reach_what_shows_it(whole: &Whole) {
    let world = World::new(whole).await;
    let (ann, bob, cleo) = (granted(whole, user("ann")), granted(whole, user("bob")), granted(whole, user("cleo")));
    let (his, theirs, nobodys) = (b"his picture".as_slice(), b"their picture".as_slice(), b"nobody's".as_slice());
    for bytes in [his, theirs, nobodys] {
        put(&**whole, bytes).await;
    }
    commit(&**whole, append(world.other.conversation, vec![showing(his)])).await;
    commit(&**whole, append(world.shared, vec![showing(theirs)])).await;
    let of = async |store: &dyn Store| (seen(store, his).await, seen(store, theirs).await, seen(store, nobodys).await);
    assert_eq!(of(&**whole).await, (true, true, true));
    assert_eq!(of(&*bob).await, (true, true, false));
    assert_eq!(of(&*cleo).await, (false, true, false));
    assert_eq!(of(&*granted(whole, projects(&[world.own_project]))).await, (false, false, false));
    assert_eq!(of(&*granted(whole, projects(&[world.other_project]))).await, (true, true, false));
    assert_eq!(ann.blobs().await.expect("readable"), []);
    assert_eq!(granted(whole, AccessScope::default()).blobs().await.expect("readable").len(), 3);
    // A former member no longer sees it.
    set_members(&**whole, world.shared, &["ann"]).await;
    assert_eq!(of(&*cleo).await, (false, false, false));
    assert_eq!(of(&*ann).await, (false, true, false));
}

pub async fn a_hash_alone_shows_nothing(whole: &Whole) {
    let world = World::new(whole).await;
    let ann = granted(whole, user("ann"));
    let (his, theirs, never) = (b"his picture".as_slice(), b"their picture".as_slice(), b"there is none".as_slice());
    put(&**whole, his).await;
    put(&**whole, theirs).await;
    commit(&**whole, append(world.other.conversation, vec![showing(his)])).await;
    commit(&**whole, append(world.shared, vec![showing(theirs)])).await;
    let own = world.own.conversation;
    // In a message, in a new branch, in the middle, at the end of a stream, and beside what is said.
    let marked = |bytes: &[u8]| {
        let mut message = message("user", "marked");
        let text = blob_placeholder::BlobPlaceholder { form: b'a', sha256: digest(bytes) }.text();
        message.content.metadata = Some(Json::of(&text));
        message
    };
    let ways = |bytes: &[u8]| {
        let body = showing(bytes).content.body;
        let finish = Finish { status: MessageStatus::Complete, body: Some(body), tokens: None, usage: None };
        let (branch, at) = (id(BranchId::new), SplicePosition::After(None));
        vec![
            append(own, vec![showing(bytes)]),
            append(own, vec![marked(bytes)]),
            Change::Splice { conversation: own, branch, at, messages: vec![showing(bytes)], origins: Vec::new() },
            Change::OpenBranch {
                conversation: own,
                branch: id(BranchId::new),
                base: None,
                own: vec![showing(bytes)],
                pieces: Vec::new(),
                why: BranchReason::Fork,
                origins: Vec::new(),
            },
            Change::FinishMessage { message: world.own.stream, finish },
        ]
    };
    for (outside, unknown) in ways(his).into_iter().zip(ways(never)) {
        let outside = try_commit(&*ann, outside).await.expect_err("outside").to_string();
        let unknown = try_commit(&*ann, unknown).await.expect_err("unknown").to_string();
        let masked = |text: String, bytes: &[u8]| text.replace(&hex::encode(&digest(bytes)), "HASH");
        assert_eq!(masked(outside.clone(), his), masked(unknown, never));
        assert_eq!(masked(outside, his), "no blob HASH");
    }
    assert!(!seen(&*ann, his).await);
    for way in ways(theirs) {
        commit(&*ann, way).await;
    }
}

/// To bring a blob is to have all of its bytes; that others have brought it before changes nothing about that.
pub async fn an_uploader_of_a_blob_has_all_of_its_bytes(whole: &Whole) {
    let world = World::new(whole).await;
    let his = b"a picture of his".as_slice();
    put(&**whole, his).await;
    commit(&**whole, append(world.other.conversation, vec![showing(his)])).await;
    let ann = granted(whole, user("ann"));
    let (sha256, size) = (digest(his), his.len() as i64);
    let piece = |n, last, bytes: &[u8]| Change::PutBlobPiece { sha256, size, n, last, bytes: bytes.to_vec() };
    refused(&*ann, piece(0, true, b""), "invalid").await;
    refused(&*ann, piece(0, true, b"a picture of hes"), "invalid").await;
    refused(&*ann, piece(3, true, b" his"), "invalid").await;
    commit(&*ann, piece(0, false, b"a pi")).await;
    refused(&*ann, piece(2, false, b"re o"), "invalid").await;
    refused(&*ann, piece(2, true, b" his"), "invalid").await;
    refused(&*ann, piece(1, true, b" his"), "invalid").await;
    let wrong_size = Change::PutBlobPiece { sha256, size: size + 1, n: 0, last: true, bytes: his.to_vec() };
    refused(&*ann, wrong_size, "invalid").await;
    assert!(!seen(&*ann, his).await);
    refused(&*ann, append(world.own.conversation, vec![showing(his)]), "not_found").await;
    // Every piece in order, the last one twice, as in a retry after an unknown outcome.
    let all = pieces(his, 4);
    for change in all.iter().take(3) {
        commit(&*ann, change.clone()).await;
    }
    let [.., last] = all.as_slice() else { panic!("four pieces") };
    commit(&*ann, last.clone()).await;
    assert!(seen(&*ann, his).await);
    commit(&*ann, append(world.own.conversation, vec![showing(his)])).await;
    // It is this key's: another one of the same person has not brought it, though now she shows it herself.
    let another = b"brought by one key".as_slice();
    put(&*ann, another).await;
    let second = whole.clone().authorized(grant("another", user("ann")));
    assert!(seen(&*ann, another).await && !seen(&*second, another).await);
    // A view of a view cannot take the name of that key.
    let named = second.clone().authorized(grant("key", user("ann")));
    assert!(!seen(&*named, another).await);
    commit(&*ann, append(world.own.conversation, vec![showing(another)])).await;
    assert!(seen(&*second, another).await);
    // All pieces in one commit do as well.
    let together = b"all of it together".as_slice();
    let changes = pieces(together, 7);
    let many = changes.len();
    let transaction = Transaction { changes, ..Transaction::of(at(1), append(world.own.conversation, Vec::new())) };
    assert_eq!(ann.commit(transaction).await.expect("allowed").results.len(), many);
    assert!(seen(&*ann, together).await);
    sound(&**whole).await;
}

pub async fn who_brought_a_blob_is_forgotten_with_it(whole: &Whole) {
    let world = World::new(whole).await;
    let ann = granted(whole, user("ann"));
    let bytes = b"to be forgotten".as_slice();
    put(&*ann, bytes).await;
    let shown = showing(bytes);
    let message = shown.id;
    commit(&*ann, append(world.own.conversation, vec![shown])).await;
    let brought = async || {
        let query = ScratchQuery { kind: Some("upload".to_owned()), ..ScratchQuery::default() };
        whole.scratch(query).await.expect("readable").len()
    };
    assert_eq!(brought().await, 1);
    commit(&*ann, Change::Erase { target: EraseTarget::Message(message) }).await;
    assert_eq!(brought().await, 0);
    // Another user uploads the same bytes: the copy is his.
    put(&*granted(whole, user("bob")), bytes).await;
    let other = whole.clone().authorized(grant("other", user("ann")));
    assert!(!seen(&*other, bytes).await);
}
