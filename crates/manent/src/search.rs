//! Search: what was said, found again.

use crate::database::Database;
use crate::error::{Error, Result};
use crate::ids::now;
use manent_model::ConversationId;
use manent_model::search::{Clock, Query};
use manent_store::{
    Also, Counting, Found, Grouping, HITS_MAX, Indexed, Position, Search, SearchCursor, SearchOrder, StoreError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use tokio::sync::watch;

/// How many hits a page has when nobody says how many.
const HITS_DEFAULT: u32 = 20;

/// What to look for; the default finds nothing, since it names no word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchQuery {
    /// Words that all must be there, `"a phrase"`, `-not`, `one OR other`, `begin*`, and filters such as `role:user`,
    /// `tag:work`, `after:7d`, `in:title`, `has:code`.
    pub text: String,
    /// In which order.
    pub order: SearchOrder,
    /// Each hit for itself, or the conversations that have one.
    pub grouping: Grouping,
    /// Only in this conversation.
    pub within: Option<ConversationId>,
    /// What is looked at besides the shown paths of conversations that are not in the trash.
    pub also: Also,
    /// How many messages before and after a hit are shown with it.
    pub neighbours: u32,
    /// Whether hits behind the page are counted too.
    pub counting: Counting,
    /// The last word is still being typed.
    pub typing: bool,
    /// How far local time is ahead of UTC, for days such as `yesterday`.
    pub offset_seconds: i32,
    /// Where the last page ended.
    pub after: Option<SearchCursor>,
    /// How many; at most [`manent_store::HITS_MAX`].
    pub limit: u32,
}

impl Default for SearchQuery {
    fn default() -> Self {
        Self {
            text: String::new(),
            order: SearchOrder::Newest,
            grouping: Grouping::Flat,
            within: None,
            also: Also::default(),
            neighbours: 1,
            counting: Counting::Shown,
            typing: false,
            offset_seconds: 0,
            after: None,
            limit: HITS_DEFAULT,
        }
    }
}

impl SearchQuery {
    /// Returns the first page for some words, newest first.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl Database {
    /// Finds messages, and conversations by their names and tags. What was just appended is found as well.
    pub async fn search(&self, query: &SearchQuery) -> Result<Found> {
        let now = now();
        let clock = Clock { now, offset_seconds: query.offset_seconds };
        let parsed = match query.typing {
            true => Query::typing(&query.text, clock),
            false => Query::parse(&query.text, clock),
        };
        let search = Search {
            order: query.order,
            grouping: query.grouping,
            within: query.within,
            also: query.also,
            neighbours: query.neighbours,
            counting: query.counting,
            after: query.after,
            limit: query.limit,
            ..Search::new(parsed?, now)
        };
        Ok(self.store.search(search).await?)
    }

    /// Returns every conversation with a hit, the one with the newest first.
    ///
    /// It waits for the index, so that none is left out.
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

    /// Has the index made anew, and tells how far that has come until it is done.
    ///
    /// It goes on if nobody waits for it, and after a restart where it had come to.
    pub async fn reindex(&self, mut told: impl FnMut(Indexed)) -> Result<()> {
        let last = *self.store.position().borrow();
        let mut known = self.store.indexed();
        self.store.reindex().await?;
        self.wait_for_index(&mut known, last, &mut told).await
    }

    /// Says how far the index has come.
    pub fn indexed(&self) -> Indexed {
        *self.store.indexed().borrow()
    }

    /// Returns a watch on how far the index has come.
    pub fn watch_index(&self) -> watch::Receiver<Indexed> {
        self.store.indexed()
    }

    /// Waits until everything that is stored now is in the index.
    pub async fn when_indexed(&self) -> Result<()> {
        let last = *self.store.position().borrow();
        self.wait_for_index(&mut self.store.indexed(), last, &mut |_| {}).await
    }

    async fn wait_for_index(
        &self,
        known: &mut watch::Receiver<Indexed>,
        last: Position,
        told: &mut impl FnMut(Indexed),
    ) -> Result<()> {
        loop {
            let now = *known.borrow_and_update();
            told(now);
            if now.in_trouble {
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
