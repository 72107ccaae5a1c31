//! What each question is answered.

use super::super::question::{Answer, Question, Said, said};
use super::annotations::Fastened;
use super::undo::ScopeOf;
use super::*;

impl Model {
    /// Answers a question.
    pub fn answer(&self, question: &Question) -> Said {
        let data = &self.data;
        said(match question {
            Question::RequestAt(key) => Ok(Answer::Time(self.request_at(key))),
            Question::Conversation(which) => Ok(Answer::Conversation(data.conversation(which))),
            Question::List(query) => data.list(query).map(Answer::List),
            Question::Count(query) => data.count(query).map(Answer::Count),
            Question::Ids { after, limit } => data.ids(*after, *limit).map(Answer::Ids),
            Question::Prefix { kind, prefix, limit } => data.by_prefix(*kind, prefix, *limit).map(Answer::Prefix),
            Question::Branches(conversation) => data.branches(*conversation).map(Answer::Branches),
            Question::Window(query) => data.window(query).map(Answer::Window),
            Question::Messages(query) => data.messages(query).map(Answer::Messages),
            Question::Related(query) => data.related(query).map(|page| Answer::Messages(page.messages)),
            Question::Annotations(conversation) => data.annotations(*conversation).map(Answer::Annotations),
            Question::State { conversation, name, at } => data.state(*conversation, name, *at).map(Answer::State),
            Question::LastChanged => {
                let seen = |row: &Arc<Row>| {
                    data.threads.iter().find(|thread| Some(thread.serial) == row.thread && thread.is_seen())
                };
                Ok(Answer::Ids(data.journal.iter().rev().find_map(seen).map(|thread| thread.id).into_iter().collect()))
            }
            Question::OpenToolCalls(limit) => Ok(Answer::ToolCalls(data.open_tool_calls(*limit))),
            Question::Events(query) => data.events(query).map(Answer::Events),
            Question::Documents(query) => Ok(Answer::Documents(data.documents(query))),
            Question::Memories(query) => data.memories(query).map(Answer::Memories),
            Question::Project(id) => {
                Ok(Answer::Project(data.library.seen_project(*id).ok().map(|plan| plan.project.clone())))
            }
            Question::Projects => {
                let seen = data.library.projects.iter().filter(|plan| !plan.withdrawn);
                Ok(Answer::Projects(seen.map(|plan| plan.project.clone()).collect()))
            }
            Question::Scratch(query) => Ok(Answer::Scratch(data.scratch(query))),
            Question::Blob(sha256) => {
                let found = data.library.blobs.iter().find(|blob| blob.sha256 == *sha256 && blob.complete);
                Ok(Answer::Blob(found.map(|blob| blob.bytes())))
            }
            Question::Blobs => {
                let complete = data.library.blobs.iter().filter(|blob| blob.complete);
                Ok(Answer::Blobs(complete.map(|blob| (blob.sha256, blob.size)).collect()))
            }
            Question::Sources => Ok(Answer::Sources(Fastened::seen(&data.library.sources))),
            Question::Origins(query) => data.origins(query).map(Answer::Origins),
            Question::MessageOrigins(messages) => {
                let kept = messages.iter().filter_map(|message| data.message(*message).ok());
                Ok(Answer::MessageOrigins(kept.filter_map(|(_, kept)| kept.origin.clone()).collect()))
            }
            Question::Quarantined(source) => data.quarantined(*source).map(Answer::Quarantined),
            Question::Journal(query) => data.journal_page(query).map(Answer::Journal),
            Question::UndoTarget(scope, step) => {
                data.scope(scope).map(|scope| Answer::Position(data.target_for_caller(scope, *step)))
            }
            Question::Stats(query) => data.stats(query).map(Answer::Stats),
        })
    }
}

impl Data {
    fn annotations(&self, conversation: ConversationId) -> Result<Annotations> {
        let thread = self.seen(conversation)?;
        let bookmarks = thread.bookmarks.iter().map(|(name, mark)| Bookmark {
            name: name.clone(),
            head: mark.place.at,
            metadata: mark.metadata.clone(),
            at: mark.at,
        });
        let lease = thread
            .lease
            .as_ref()
            .and_then(|held| Some(Lease { owner: held.owner.clone()?, token: held.token, until: held.until }));
        let streaming = thread.in_order().into_iter().filter(|kept| !kept.chunks.is_empty());
        Ok(Annotations {
            next: None,
            notes: Fastened::seen(&thread.notes),
            bookmarks: bookmarks.collect(),
            states: Fastened::seen(&thread.states),
            folds: Fastened::seen(&thread.folds),
            calls: Fastened::seen(&thread.calls),
            tool_calls: thread.trails(),
            inputs: Fastened::seen(&thread.inputs),
            lease,
            streams: streaming.map(|kept| (kept.id, kept.chunks.concat())).collect(),
        })
    }

    fn state(&self, conversation: ConversationId, name: &str, at: Option<MessageId>) -> Result<Option<Json>> {
        let thread = self.seen(conversation)?;
        if !self.state_names.contains(name) {
            return Ok(None);
        }
        let place = match at {
            Some(message) => self.place_at(thread, message)?,
            None => thread.head,
        };
        let path = self.path(place);
        let newest = |thread: &Thread, after: Option<MessageId>| {
            let set = |one: &&Fastened<State>| !one.withdrawn && one.value.name == name && one.value.after == after;
            thread.states.iter().rfind(set).map(|one| (one.number, one.value.value.clone()))
        };
        for message in path.iter().rev() {
            // What another conversation set on a path that it took from here is its own.
            let owner = self.message(*message).map_or(thread, |(owner, _)| owner);
            let (own, owners) = (newest(thread, Some(*message)), newest(owner, Some(*message)));
            if let Some((_, value)) = own.into_iter().chain(owners).max_by_key(|(number, _)| *number) {
                return Ok(value);
            }
        }
        let first_owner = path.first().and_then(|first| self.message(*first).ok()).map(|(owner, _)| owner);
        let mut starts = [Some(thread), first_owner].into_iter().flatten();
        Ok(starts.find_map(|thread| newest(thread, None)).and_then(|(_, value)| value))
    }

    fn open_tool_calls(&self, limit: u32) -> Vec<(ConversationId, ToolCallTrail)> {
        let live = [Life::Is(ConversationStatus::Active), Life::Is(ConversationStatus::Archived)];
        let threads = self.threads.iter().filter(|thread| thread.is_seen() && live.contains(&thread.about.life));
        let trails = threads.flat_map(|thread| thread.trails().into_iter().map(|trail| (thread.id, trail)));
        trails.filter(|(_, trail)| !trail.call.state.is_final()).take(limit.min(PAGE_MAX) as usize).collect()
    }

    fn events(&self, query: &EventsQuery) -> Result<Events> {
        let events = Fastened::seen(&self.seen(query.conversation)?.events);
        let wanted = |event: &Event| {
            event.cursor > query.after && (query.channels.is_empty() || query.channels.contains(&event.channel))
        };
        Ok(events.into_iter().filter(wanted).take(query.limit.clamp(1, PAGE_MAX) as usize).collect())
    }

    fn documents(&self, query: &DocumentsQuery) -> Documents {
        let mut seen = Fastened::seen(&self.library.documents);
        for document in &mut seen {
            document.project = self.library.shown_project(document.project);
        }
        let named = |kind: &str, id: &str| {
            let mut versions: Vec<Document> =
                seen.iter().filter(|one| one.kind == kind && one.id == id).cloned().collect();
            versions.sort_by_key(|document| document.version);
            versions
        };
        match query {
            DocumentsQuery::All => seen,
            DocumentsQuery::Versions { kind, id } => named(kind, id),
            DocumentsQuery::Newest { kind, id } => named(kind, id).pop().into_iter().collect(),
            DocumentsQuery::Kind(kind) => {
                let of_kind = seen.iter().filter(|document| document.kind == *kind);
                let ids: BTreeSet<&String> = of_kind.map(|document| &document.id).collect();
                let newest = ids.into_iter().filter_map(|id| named(kind, id).pop());
                newest.filter(|document| document.body.is_some()).collect()
            }
        }
    }

    fn memories(&self, query: &MemoriesQuery) -> Result<Memories> {
        if query.collection.as_ref().is_some_and(|name| !self.collections.contains(name)) {
            return Ok(Vec::new());
        }
        let all = &self.library.memories;
        let start = match query.after {
            Some(id) => {
                let place = all.iter().position(|memory| memory.value.id == id);
                place.ok_or_else(|| not_found("memory", id))? + 1
            }
            None => 0,
        };
        let wanted = |memory: &Memory| {
            query.collection.as_ref().is_none_or(|name| *name == memory.collection)
                && query.project.is_none_or(|project| memory.project == Some(project))
                && query.external.as_ref().is_none_or(|external| memory.external.as_ref() == Some(external))
        };
        let seen = Fastened::seen(&all[start..]).into_iter().filter(wanted);
        Ok(seen.take(query.limit.clamp(1, PAGE_MAX) as usize).collect())
    }

    fn scratch(&self, query: &ScratchQuery) -> Vec<Scratch> {
        let fits = |wanted: &Option<String>, value: &String| wanted.as_ref().is_none_or(|wanted| wanted == value);
        let all =
            self.library.scratch.values().filter(|one| {
                fits(&query.kind, &one.kind) && fits(&query.id, &one.id) && fits(&query.actor, &one.actor)
            });
        all.cloned().collect()
    }

    fn origins(&self, query: &OriginsQuery) -> Result<Vec<Origin>> {
        let seen = Fastened::seen(&self.library.origins).into_iter();
        Ok(match query {
            OriginsQuery::Source(id) => {
                self.library.source(*id)?;
                seen.filter(|origin| origin.source == *id).collect()
            }
            OriginsQuery::Object(object) => seen.filter(|origin| origin.object == *object).collect(),
            OriginsQuery::External(external) => {
                seen.filter(|origin| origin.external.as_ref() == Some(external)).collect()
            }
        })
    }

    fn quarantined(&self, source: SourceId) -> Result<Vec<Quarantined>> {
        self.library.source(source)?;
        let seen = Fastened::seen(&self.library.quarantined).into_iter();
        Ok(seen.filter(|piece| piece.source == source).collect())
    }

    fn journal_page(&self, query: &JournalQuery) -> Result<JournalPage> {
        let scope = match query.conversation {
            Some(id) => self.scope(&UndoScope::Conversation(id))?,
            None => ScopeOf::Everything,
        };
        let limit = query.limit.clamp(1, PAGE_MAX) as usize;
        let after = self.journal.iter().filter(|row| row.position > query.after && scope.holds(row));
        let rows: Vec<&Arc<Row>> = after.collect();
        let more = rows.len() > limit;
        let page = &rows[..limit.min(rows.len())];
        let reached = match page.last() {
            Some(row) if more || scope == ScopeOf::Everything => row.position + row.count - 1,
            _ if scope == ScopeOf::Everything => query.after,
            _ => query.after.max(self.next() - 1),
        };
        Ok(JournalPage { entries: page.iter().map(|row| self.entry(row)).collect(), scanned_to: reached, more })
    }

    /// Returns the commit that changed something first, where undos and redos follow each other.
    fn original(&self, mut first: Position) -> Position {
        let undone = |first| self.journal.iter().find(|row| row.first == first).and_then(|row| row.undoes);
        while let Some(earlier) = undone(first) {
            first = earlier;
        }
        first
    }

    fn entry(&self, row: &Row) -> JournalEntry {
        let owner = |serial: Serial| self.threads.iter().find(|thread| thread.serial == serial);
        let mut messages: Vec<MessageId> = match row.undoes {
            Some(undone) => {
                let original = self.original(undone);
                let of_commit =
                    self.journal.iter().filter(|other| other.first == original && other.thread == row.thread);
                of_commit.flat_map(|row| row.messages.iter().copied()).collect()
            }
            None => row.messages.clone(),
        };
        messages.retain(|id| row.thread.is_some() && self.message(*id).is_ok());
        let messages_cut = messages.len() > ENTRY_MESSAGES_MAX;
        messages.truncate(ENTRY_MESSAGES_MAX);
        JournalEntry {
            position: row.position,
            count: row.count,
            first: row.first,
            at: row.at,
            kind: row.kind,
            conversation: row.thread.and_then(owner).map(|thread| thread.id),
            actor: row.actor.clone(),
            undoes: row.undoes,
            messages,
            messages_cut,
        }
    }
}

impl Thread {
    /// Returns its messages in the order of branches and slots.
    pub fn in_order(&self) -> Vec<&Kept> {
        let own = self.branches.iter().flat_map(|branch| &branch.own);
        own.filter_map(|id| self.messages.get(id)).map(|kept| &**kept).collect()
    }

    fn trails(&self) -> Vec<ToolCallTrail> {
        let mut trails = Vec::new();
        for kept in self.in_order() {
            for ((message, part), tool) in self.tools.range((kept.id, 0)..=(kept.id, u32::MAX)) {
                let call = ToolCall {
                    message: *message,
                    part: *part,
                    call_id: tool.call_id.clone(),
                    name: tool.name.clone(),
                    state: tool.state,
                    record: tool.record.clone(),
                };
                let steps = self.steps.iter().filter(|step| step.message == *message && step.part == *part);
                let steps = steps.filter(|step| !step.withdrawn).map(|step| step.step.clone()).collect();
                trails.push(ToolCallTrail { call, steps });
            }
        }
        trails
    }
}
