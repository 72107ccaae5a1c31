//! Conversations as people see them, in lists and counts.

use super::thread::About;
use super::*;
use manent_model::stats::{Counted, Counter};

impl Data {
    /// Returns a conversation as people see it.
    pub fn shown(&self, thread: &Thread) -> Conversation {
        let About { life, title, pinned, created_at, active_at, trashed_at, members, metadata, tags, project } =
            thread.about.clone();
        let Life::Is(status) = life else { panic!("a purged conversation is never shown") };
        let sums = self.path(thread.head).iter().fold(Sums::default(), |sums, id| sums + self.sums(*id));
        Conversation {
            id: thread.id,
            external_id: thread.external_id.clone(),
            title,
            kind: thread.kind,
            status,
            pinned,
            project: self.library.shown_project(project),
            creator: thread.creator.clone(),
            members,
            tags: tags.iter().map(|number| self.tags[*number].clone()).collect(),
            metadata,
            continued_from: thread.continued_from,
            forked_from: thread.forked_from,
            created_at,
            active_at,
            trashed_at,
            version: thread.version,
            head: thread.head.at,
            messages: sums.visible,
            words: sums.words,
            tokens: sums.tokens,
        }
    }

    fn sums(&self, id: MessageId) -> Sums {
        self.message(id).map_or_else(|_| Sums::default(), |(_, kept)| kept.sums)
    }

    pub fn conversation(&self, which: &ConversationRef) -> Option<Conversation> {
        let mut seen = self.threads.iter().filter(|thread| thread.is_seen());
        let found = seen.find(|thread| match which {
            ConversationRef::Id(id) => thread.id == *id,
            ConversationRef::External(external) => thread.external_id.as_ref() == Some(external),
        });
        found.map(|thread| self.shown(thread))
    }

    /// Returns all conversations of a list, whatever its page, in its order.
    fn listed(&self, query: &ListQuery) -> Result<Vec<&Thread>> {
        if let Some(project) = query.project {
            self.library.seen_project(project)?;
        }
        let seen = self.threads.iter().map(|thread| &**thread).filter(|thread| thread.is_seen());
        let mut listed: Vec<&Thread> = seen.filter(|thread| self.fits(query, thread)).collect();
        match query.order {
            ListOrder::Activity => listed.sort_by_key(|thread| cursor_key(&cursor_of(thread))),
            ListOrder::Created => listed.sort_by_key(|thread| thread.id),
        }
        listed.reverse();
        Ok(listed)
    }

    fn fits(&self, query: &ListQuery, thread: &Thread) -> bool {
        let about = &thread.about;
        let statuses = match query.statuses.is_empty() {
            true => vec![ConversationStatus::Active],
            false => query.statuses.clone(),
        };
        let tags: Vec<&String> = about.tags.iter().map(|number| &self.tags[*number]).collect();
        let creator = thread.creator.as_ref().map(|creator| &creator.id);
        statuses.iter().any(|status| about.life == Life::Is(*status))
            && query.kind.is_none_or(|kind| thread.kind == kind)
            && query.project.is_none_or(|project| about.project == Some(project))
            && query.pinned.is_none_or(|pinned| about.pinned == pinned)
            && query.tag.as_ref().is_none_or(|tag| tags.contains(&tag))
            && query.creator.as_ref().is_none_or(|id| creator == Some(id))
            && query.member.as_ref().is_none_or(|id| about.members.iter().any(|member| member.id == *id))
            && query.since.is_none_or(|since| about.active_at >= since)
            && query.until.is_none_or(|until| about.active_at < until)
            && query.title.as_ref().is_none_or(|text| about.title.to_lowercase().contains(&text.to_lowercase()))
            && query.metadata.as_ref().is_none_or(|(key, value)| has_metadata(&about.metadata, key, value.as_deref()))
    }

    pub fn list(&self, query: &ListQuery) -> Result<ConversationPage> {
        let limit = query.limit.clamp(1, PAGE_MAX) as usize;
        let mut listed = self.listed(query)?;
        if let Some(after) = &query.after {
            listed.retain(|thread| match query.order {
                ListOrder::Activity => cursor_key(&cursor_of(thread)) < cursor_key(after),
                ListOrder::Created => thread.id < after.id,
            });
        }
        let page = &listed[..limit.min(listed.len())];
        let next = page.last().filter(|_| listed.len() > limit).map(|thread| cursor_of(thread));
        Ok(ConversationPage { conversations: page.iter().map(|thread| self.shown(thread)).collect(), next })
    }

    pub fn count(&self, query: &ListQuery) -> Result<BoundedCount> {
        Ok(BoundedCount { n: self.listed(query)?.len() as u32, more: false })
    }

    pub fn ids(&self, after: Option<ConversationId>, limit: u32) -> Result<Vec<ConversationId>> {
        let start = match after {
            Some(id) => {
                let place = self.threads.iter().position(|thread| thread.id == id);
                place.ok_or_else(|| not_found("conversation", id))? + 1
            }
            None => 0,
        };
        let seen = self.threads[start..].iter().filter(|thread| thread.is_seen());
        Ok(seen.map(|thread| thread.id).take(limit.min(PAGE_MAX) as usize).collect())
    }

    pub fn by_prefix(&self, kind: IdKind, prefix: &str, limit: u32) -> Result<Vec<[u8; 16]>> {
        let seen = || self.threads.iter().filter(|thread| thread.is_seen());
        let mut found: Vec<[u8; 16]> = match kind {
            IdKind::Conversation => {
                let span = ConversationId::span(prefix)?;
                seen().map(|thread| thread.id).filter(|id| span.contains(id)).map(|id| *id.as_bytes()).collect()
            }
            IdKind::Message => {
                let span = MessageId::span(prefix)?;
                let ids = seen().flat_map(|thread| thread.messages.keys());
                ids.filter(|id| span.contains(id)).map(|id| *id.as_bytes()).collect()
            }
            IdKind::Project => {
                let span = ProjectId::span(prefix)?;
                let ids = self.library.projects.iter().filter(|plan| !plan.withdrawn).map(|plan| plan.project.id);
                ids.filter(|id| span.contains(id)).map(|id| *id.as_bytes()).collect()
            }
        };
        found.sort_unstable();
        found.truncate(limit.min(PAGE_MAX) as usize);
        Ok(found)
    }

    pub fn stats(&self, query: &StatsQuery) -> Result<Stats> {
        let live = vec![ConversationStatus::Active, ConversationStatus::Archived];
        let (project, tag) = (query.project, query.tag.clone());
        let threads = match query.conversation {
            Some(id) => vec![self.seen(id)?],
            None => self.listed(&ListQuery { statuses: live, project, tag, ..Default::default() })?,
        };
        let is_wanted =
            |day: i64| query.since.is_none_or(|since| day >= since.0) && query.until.is_none_or(|until| day < until.0);
        let has_days = query.since.is_some() || query.until.is_some();
        let mut stats = Stats::default();
        for thread in threads {
            let before = stats.total.messages;
            let mut counter = Counter::default();
            for id in self.path(thread.head) {
                let (_, kept) = self.message(id)?;
                // What was erased is counted as it was.
                if let Some(counted) = Counted::of(&kept.shown().content) {
                    let counted = Counted { words: kept.sums.words, tokens: kept.sums.tokens, ..counted };
                    match is_wanted(counted.day) {
                        true => counter.add(&mut stats, &counted),
                        false => counter.add(&mut Stats::default(), &counted),
                    }
                }
            }
            let is_one = !has_days || query.conversation.is_some() || stats.total.messages > before;
            stats.conversations += i64::from(is_one);
        }
        Ok(stats)
    }
}

fn cursor_of(thread: &Thread) -> ListCursor {
    ListCursor { pinned: thread.about.pinned, active_at: thread.about.active_at, id: thread.id }
}

fn cursor_key(cursor: &ListCursor) -> (bool, Timestamp, ConversationId) {
    (cursor.pinned, cursor.active_at, cursor.id)
}

fn has_metadata(metadata: &Option<Json>, key: &str, value: Option<&str>) -> bool {
    let members = metadata.as_ref().and_then(|json| json.read::<BTreeMap<String, Json>>().ok());
    match (members.as_ref().and_then(|members| members.get(key)), value) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(found), Some(value)) => match found.read::<serde_json::Value>() {
            Ok(serde_json::Value::String(text)) => text == value,
            Ok(other) => other.to_string().as_str() == value,
            Err(_) => found.text() == value,
        },
    }
}
