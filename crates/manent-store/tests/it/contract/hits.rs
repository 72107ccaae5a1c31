//! Hits: how they come in pages, and how they are counted.

use super::search::{clock, found, search, shown, tell};
use crate::kit::*;
use manent_model::*;
use manent_store::*;
use std::time::Duration;

const DAY: i64 = 86_400;

pub async fn ranked_pages_go_on_as_they_began_whatever_the_clock_says(store: &dyn Store) {
    let conversation = conversation(store, "").await;
    for place in 0..12 {
        let text = format!("needle {place}");
        tell(store, conversation, place * 5 * DAY, &[&text]).await;
    }
    let mut next = Search { order: SearchOrder::Relevance, now: at(60 * DAY), limit: 3, ..search("needle") };
    let whole = shown(&found(store, Search { limit: 100, ..next.clone() }).await);
    assert_eq!(whole.len(), 12);
    let mut pages = Vec::new();
    loop {
        let page = found(store, next.clone()).await;
        pages.extend(shown(&page));
        assert!(pages.len() <= 12, "{pages:?}");
        next.now = Timestamp(next.now.0 + 40 * DAY * 1_000_000);
        match page.next {
            Some(cursor) => next.after = Some(cursor),
            None => break,
        }
    }
    assert_eq!(pages, whole);
}

/// Goes through all pages; each says how many there are in all.
async fn every_page_counts_five(store: &dyn Store, mut page: Search) {
    loop {
        let counted = found(store, page.clone()).await;
        assert_eq!(counted.total, BoundedCount { n: 5, more: false }, "{:?}", page.order);
        match counted.next {
            Some(cursor) => page.after = Some(cursor),
            None => return,
        }
    }
}

pub async fn conversations_are_counted_when_hits_are_put_together(store: &dyn Store) {
    for place in 0..5 {
        let conversation = conversation(store, "").await;
        tell(store, conversation, 100 * place, &["needle one", "other", "needle two"]).await;
    }
    for order in [SearchOrder::Newest, SearchOrder::Relevance] {
        let grouping = Grouping::Conversations;
        let page = Search { order, grouping, limit: 2, count: CountMode::Exact, ..search("needle") };
        every_page_counts_five(store, page).await;
    }
    let page = Search { grouping: Grouping::Conversations, limit: 2, ..search("needle") };
    assert_eq!(found(store, page).await.total, BoundedCount { n: 2, more: true });
}

pub async fn all_hits_are_counted_from_every_page(store: &dyn Store) {
    let conversation = conversation(store, "").await;
    tell(store, conversation, 0, &["needle 1", "needle 2", "needle 3", "needle 4", "needle 5"]).await;
    for order in [SearchOrder::Newest, SearchOrder::Relevance] {
        let page = Search { order, limit: 2, count: CountMode::Exact, ..search("needle") };
        every_page_counts_five(store, page).await;
    }
}

pub async fn counting_has_time_of_its_own(store: &dyn Store) {
    let conversation = conversation(store, "").await;
    // They have both words and not the phrase, which takes longer to know than anybody waits.
    let slow = "beta, alpha; nothing ".repeat(50_000);
    for place in 0..8 {
        tell(store, conversation, place, &[&slow]).await;
    }
    tell(store, conversation, 10, &["alpha beta"]).await;
    indexed(store).await;
    let phrase = Search { limit: 1, ..search("\"alpha beta\"") };
    // The first page ends before the slow ones.
    let after = SearchCursor { score: 0, at: at(9), arrival: 0, key: 0, newest: at(10), now: clock().now };
    let hurried = Search { after: Some(after), count: CountMode::Exact, timeout: Duration::from_millis(20), ..phrase };
    // A machine that is busy may take the time of the counting as well.
    for _ in 0..50 {
        let page = store.search(hurried.clone()).await.expect("readable");
        assert!(page.timed_out && page.hits.is_empty(), "{page:?}");
        if page.total == (BoundedCount { n: 1, more: true }) {
            return;
        }
    }
    panic!("nothing is counted");
}

pub async fn a_query_as_deep_as_may_be_is_answered(store: &dyn Store) {
    let conversation = conversation(store, "").await;
    tell(store, conversation, 0, &["alpha beta", "alpha gamma", "delta"]).await;
    let mut deep = "al*".to_owned();
    for level in 0..8 {
        deep = match level % 2 {
            0 => format!("({deep} -none{level})"),
            _ => format!("({deep} OR \"no such thing {level}\" OR 检索)"),
        };
    }
    assert_eq!(shown(&found(store, search(&deep)).await), ["alpha gamma", "alpha beta"], "{deep}");
}
