//! Full-text search and maintenance of its index.

use crate::database::Database;
use crate::error::{Error, Result};
use manent_model::ConversationId;
use manent_store::{
    CountMode, Grouping, HITS_MAX, Include, IndexStatus, Position, Search, SearchCursor, SearchOrder, SearchPage,
    StoreError,
};
use manent_text::{Clock, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use tokio::sync::watch;

/// Default page size.
const HITS_DEFAULT: u32 = 20;

/// A search query; the default one is empty and finds nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchQuery {
    /// Search query. All words must match. Supports `"a phrase"`, `-not`, `one OR other`, `begin*`, and filters such
    /// as `role:user`, `tag:work`, `after:7d`, `in:title`, `has:code`.
    pub text: String,
    /// Sort order.
    pub order: SearchOrder,
    /// Whether to return single hits or one per conversation.
    pub grouping: Grouping,
    /// Only in this conversation.
    pub within: Option<ConversationId>,
    /// Content to search in addition to the current paths of conversations outside the trash.
    pub include: Include,
    /// Number of context messages before and after each hit.
    pub neighbours: u32,
    /// Whether hits after the page are counted too.
    pub counting: CountMode,
    /// Search as you type: the last word matches as a prefix.
    pub typing: bool,
    /// Seconds that local time is ahead of UTC, for days such as `yesterday`.
    pub offset_seconds: i32,
    /// Cursor: the end of the previous page.
    pub after: Option<SearchCursor>,
    /// Maximum number of hits; at most [`manent_store::HITS_MAX`].
    pub limit: u32,
}

impl Default for SearchQuery {
    fn default() -> Self {
        Self {
            text: String::new(),
            order: SearchOrder::Newest,
            grouping: Grouping::Flat,
            within: None,
            include: Include::default(),
            neighbours: 1,
            counting: CountMode::Bounded,
            typing: false,
            offset_seconds: 0,
            after: None,
            limit: HITS_DEFAULT,
        }
    }
}

impl SearchQuery {
    /// Creates a query for the first page, newest hits first.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl Database {
    /// Searches messages, and conversations by title and tags. Messages that are not indexed yet are found as well.
    pub async fn search(&self, query: &SearchQuery) -> Result<SearchPage> {
        let now = manent_store::now();
        let clock = Clock { now, offset_seconds: query.offset_seconds };
        let parsed = match query.typing {
            true => Query::typing(&query.text, clock),
            false => Query::parse(&query.text, clock),
        };
        let search = Search {
            order: query.order,
            grouping: query.grouping,
            conversations: query.within,
            include: query.include,
            neighbours: query.neighbours,
            count: query.counting,
            after: query.after,
            limit: query.limit,
            ..Search::new(parsed?, now)
        };
        Ok(self.store.search(search).await?)
    }

    /// Returns every conversation with a hit, ordered by its newest hit.
    ///
    /// It waits for the index, so that the result is complete.
    pub async fn conversations_with(&self, text: &str) -> Result<Vec<ConversationId>> {
        self.when_indexed().await?;
        let mut query = SearchQuery { neighbours: 0, limit: HITS_MAX, ..SearchQuery::new(text) };
        let mut known = HashSet::new();
        let mut ids = Vec::new();
        loop {
            let found = self.search(&query).await?;
            ids.extend(found.hits.iter().map(|hit| hit.conversation).filter(|id| known.insert(*id)));
            query.after = found.next;
            if query.after.is_none() {
                return Ok(ids);
            }
        }
    }

    /// Rebuilds the index and reports progress until it is done.
    ///
    /// The rebuild continues if this future is dropped, and resumes after a restart.
    pub async fn reindex(&self, mut told: impl FnMut(IndexStatus)) -> Result<()> {
        let last = *self.store.watch_position().borrow();
        let mut known = self.store.watch_index();
        self.store.reindex().await?;
        self.wait_for_index(&mut known, last, &mut told).await
    }

    /// Returns the progress of the index.
    pub fn indexed(&self) -> IndexStatus {
        *self.store.watch_index().borrow()
    }

    /// Returns a watch channel with the progress of the index.
    pub fn watch_index(&self) -> watch::Receiver<IndexStatus> {
        self.store.watch_index()
    }

    /// Waits until all content stored so far is indexed.
    pub async fn when_indexed(&self) -> Result<()> {
        let last = *self.store.watch_position().borrow();
        self.wait_for_index(&mut self.store.watch_index(), last, &mut |_| {}).await
    }

    async fn wait_for_index(
        &self,
        known: &mut watch::Receiver<IndexStatus>,
        last: Position,
        told: &mut impl FnMut(IndexStatus),
    ) -> Result<()> {
        loop {
            let now = *known.borrow_and_update();
            told(now);
            if now.is_failing {
                return Err(Error::Store(StoreError::Busy("the index cannot be written now")));
            }
            if now.idle && now.position >= last {
                return Ok(());
            }
            // A store without an index has nothing to wait for.
            if known.changed().await.is_err() {
                return Ok(());
            }
        }
    }
}
