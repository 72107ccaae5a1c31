//! Search: what is found, counted and shown beside it is within.

use super::*;
use manent_text::{Clock, Query};

fn search(text: &str) -> Search {
    let clock = Clock { now: at(0), offset_seconds: 0 };
    Search::new(Query::parse(text, clock).expect("a query"), at(0))
}

async fn found(store: &dyn Store, search: Search) -> SearchPage {
    store.search(search).await.expect("searchable")
}

fn conversations(found: &SearchPage) -> Vec<ConversationId> {
    let mut all: Vec<ConversationId> = found.hits.iter().map(|hit| hit.conversation).collect();
    all.sort_unstable();
    all.dedup();
    all
}

pub async fn a_search_tells_nothing_of_others(whole: &Whole) {
    let world = World::new(whole).await;
    for is_indexed in [false, true] {
        if is_indexed {
            indexed(&**whole).await;
        }
        for (access, mut within) in world.access_scopes() {
            let store = granted(whole, access.clone());
            within.sort_unstable();
            for order in [SearchOrder::Newest, SearchOrder::Relevance] {
                let everything = Search { order, limit: 100, count: CountMode::Exact, ..search("word") };
                let hits = found(&*store, everything.clone()).await;
                assert_eq!(conversations(&hits), within, "{access:?} {order:?}");
                assert_eq!(hits.total, BoundedCount { n: hits.hits.len() as u32, more: false }, "{access:?}");
                let grouped = found(&*store, Search { grouping: Grouping::Conversations, ..everything.clone() }).await;
                assert_eq!(grouped.hits.len(), within.len(), "{access:?}");
                for hit in &grouped.hits {
                    let of_one = hits.hits.iter().filter(|other| other.conversation == hit.conversation).count();
                    assert_eq!(hit.in_conversation, Some(BoundedCount { n: of_one as u32, more: false }));
                }
                // Pages of one go as far.
                let (mut page, mut paged) = (Search { limit: 1, ..everything }, 0);
                loop {
                    let one = found(&*store, page.clone()).await;
                    paged += one.hits.len();
                    page.after = one.next;
                    if page.after.is_none() {
                        break;
                    }
                }
                assert_eq!(paged, hits.hits.len(), "{access:?} {order:?}");
            }
            for conversation in world.conversations() {
                let inside = store.search(Search { conversations: Some(conversation), ..search("word") }).await;
                match within.contains(&conversation) {
                    true => assert_eq!(conversations(&inside.expect("within")), [conversation]),
                    false => {
                        let error = inside.expect_err("outside");
                        assert_eq!(error.to_string(), format!("no conversation {conversation}"), "{access:?}");
                    }
                }
            }
        }
    }
}

/// A message that a conversation within took from one outside is found there, and nothing of where it came from.
pub async fn a_search_finds_what_a_path_within_holds(whole: &Whole) {
    let world = World::new(whole).await;
    let (fork, branch) = (talk(whole, "ann", &[], None).await, id(BranchId::new));
    let open = Change::OpenBranch {
        conversation: fork,
        branch,
        base: Some(BranchBase { parent: world.other.branch, fork: Some(world.other.first) }),
        own: Vec::new(),
        pieces: Vec::new(),
        why: BranchReason::Fork,
        origins: Vec::new(),
    };
    commit(&**whole, open).await;
    commit(&**whole, Change::MoveHead { conversation: fork, to: HeadTarget::End(branch) }).await;
    for is_indexed in [false, true] {
        if is_indexed {
            indexed(&**whole).await;
        }
        let store = granted(whole, user("ann"));
        let hits = found(&*store, search("\"first word\"")).await.hits;
        let mut places: Vec<ConversationId> = hits.iter().map(|hit| hit.conversation).collect();
        places.sort_unstable();
        assert_eq!(places, [world.own.conversation, fork]);
        let hit = hits.iter().find(|hit| hit.conversation == fork).expect("found");
        assert_eq!((hit.after.len(), hit.before.len()), (0, 0), "what follows there is not on this path");
    }
}

/// More conversations than the index is told of by name: they are looked at one by one.
pub async fn a_member_of_many_conversations_finds_all_of_them(whole: &Whole) {
    let mut expected = 0;
    for n in 0..80 {
        let conversation = talk(whole, ["ann", "bob"][usize::from(n % 8 == 7)], &[], None).await;
        say(&**whole, conversation, &["needle"]).await;
        expected += usize::from(n % 8 != 7);
    }
    indexed(&**whole).await;
    let hits = found(&*granted(whole, user("ann")), Search { limit: 100, ..search("needle") }).await;
    assert_eq!(hits.hits.len(), expected);
    let hits = found(&*granted(whole, user("bob")), Search { limit: 100, ..search("needle") }).await;
    assert_eq!(hits.hits.len(), 80 - expected);
}

/// How long a search takes tells how often others used its words; so that is told only roughly.
pub async fn a_search_of_a_limited_key_takes_as_long_as_another(whole: &Whole) {
    let world = World::new(whole).await;
    say(&**whole, world.other.conversation, &["axolotl"; 100]).await;
    indexed(&**whole).await;
    let ann = granted(whole, user("ann"));
    for words in ["axolotl", "nothing", "word"] {
        let started = std::time::Instant::now();
        let micros = found(&*ann, search(words)).await.micros;
        let took = started.elapsed().as_micros();
        assert!(micros >= 20_000 && micros % 20_000 == 0 && took >= u128::from(micros), "{words}: {micros} {took}");
    }
}
