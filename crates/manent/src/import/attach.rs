//! What is attached to a conversation: folds, values, tool calls, events, bookmarks.

use super::filling::Filling;
use super::importer::Importer;
use crate::error::Result;
use crate::ids::now;
use manent_formats::{BookmarkItem, FoldItem, Item, StateItem, ToolCallItem};
use manent_model::{FoldId, OriginObject, Stretch, ToolCall};
use manent_store::{Attached, Change, EventsQuery, NewEvent, NewFold, PAGE_MAX};
use std::collections::HashMap;

const GROUP: usize = 500;
const GROUP_BYTES: usize = 1 << 20;

impl Filling {
    /// Stores what is attached, where it is not here yet.
    pub(super) async fn attach(&mut self, importer: &mut Importer<'_>) -> Result<()> {
        let here = match self.stored.is_some() {
            true => importer.database.store.attached(self.id).await?,
            false => Attached::default(),
        };
        for (place, item) in std::mem::take(&mut self.attached).into_iter().enumerate() {
            match item {
                Item::Fold(item) => self.fold(importer, item, place as i64).await?,
                Item::State(item) => self.state(importer, item).await?,
                Item::ToolCall(item) => self.tool_call(importer, item, &here).await?,
                Item::Bookmark(item) => self.bookmark(importer, item, &here).await?,
                _ => {}
            }
        }
        if self.stored.is_some() {
            self.leave_known_events(importer).await?;
        }
        self.store_events(importer).await
    }

    /// Stores one thing, and counts it or says why not.
    async fn put(
        &mut self,
        importer: &mut Importer<'_>,
        at: manent_model::Micros,
        changes: Vec<Change>,
        record: &str,
    ) -> Result<()> {
        match importer.commit(at, changes).await? {
            None => {
                self.report.attached += 1;
                importer.mapped(record);
            }
            Some(error) => self.skip(importer, record, error.to_string()),
        }
        Ok(())
    }

    async fn fold(&mut self, importer: &mut Importer<'_>, item: FoldItem, ordinal: i64) -> Result<()> {
        let Some(after) = self.spot(item.after) else {
            self.skip(importer, item.record, "the message that it hangs on was skipped".to_owned());
            return Ok(());
        };
        if self.stored.is_some() && self.knows_fold(importer, &item).await? {
            importer.mapped(item.record);
            return Ok(());
        }
        let covers =
            item.covers.and_then(|(first, last)| Some(Stretch { first: self.spot(first)?, last: self.spot(last)? }));
        let id = importer.database.new_id(FoldId::new);
        let at = item.at.map_or_else(now, |time| time.at);
        let fold = NewFold {
            id,
            after,
            kind: item.kind,
            covers: covers.into_iter().collect(),
            summary: item.summary,
            parent: None,
            made_by: item.made_by,
        };
        let mut changes = vec![Change::AddFold { conversation: self.id, fold }];
        if !item.active {
            changes.push(Change::SetFoldActive { fold: id, active: false });
        }
        changes.extend(importer.origin(OriginObject::Fold(id), ordinal, item.external, Some(item.raw)).await?);
        self.put(importer, at, changes, item.record).await
    }

    async fn knows_fold(&self, importer: &Importer<'_>, item: &FoldItem) -> Result<bool> {
        let (Some(known), Some(external)) = (&importer.known, &item.external) else { return Ok(false) };
        let named = known.named(importer.database, importer.format.name, external).await?;
        Ok(named
            .iter()
            .any(|origin| matches!(origin.object, OriginObject::Fold(_)) && origin.raw.as_ref() == Some(&item.raw)))
    }

    async fn state(&mut self, importer: &mut Importer<'_>, item: StateItem) -> Result<()> {
        if self.stored.is_some() {
            let value = importer.database.store.state(self.id, item.name.clone(), None).await?;
            if value.as_ref() == Some(&item.value) {
                importer.mapped(item.record);
                return Ok(());
            }
        }
        let after = item.after.and_then(|after| self.spot(after));
        let change = Change::SetState { conversation: self.id, name: item.name, after, value: Some(item.value) };
        self.put(importer, now(), vec![change], item.record).await
    }

    async fn tool_call(&mut self, importer: &mut Importer<'_>, item: ToolCallItem, here: &Attached) -> Result<()> {
        let Some(message) = self.spot(item.part.0) else {
            self.skip(importer, item.record, "the message that asks for it was skipped".to_owned());
            return Ok(());
        };
        let part = item.part.1;
        let known = here.tool_calls.iter().find(|trail| trail.call.message == message && trail.call.part == part);
        let change = match known {
            Some(trail) if trail.call.record == item.body => {
                importer.mapped(item.record);
                return Ok(());
            }
            Some(trail) if trail.call.state.may_become(item.state) => {
                let note = item.steps.last().map(|step| step.note.clone()).unwrap_or_default();
                Change::MoveToolCall { message, part, to: item.state, record: Some(item.body), note }
            }
            Some(trail) => {
                let why = format!("it was {:?} and cannot become {:?}", trail.call.state, item.state);
                self.skip(importer, item.record, why);
                return Ok(());
            }
            None => {
                let (call_id, name, state, record) = (item.call_id, item.name, item.state, item.body);
                let call = ToolCall { message, part, call_id, name, state, record };
                Change::PutToolTrail { call, steps: item.steps, instead_of: None }
            }
        };
        self.put(importer, now(), vec![change], item.record).await
    }

    async fn bookmark(&mut self, importer: &mut Importer<'_>, item: BookmarkItem, here: &Attached) -> Result<()> {
        let head = item.head.and_then(|head| self.spot(head));
        let same = |known: &&manent_model::Bookmark| {
            known.name == item.name && known.metadata == item.metadata && known.head == head
        };
        if here.bookmarks.iter().find(same).is_some() {
            importer.mapped(item.record);
            return Ok(());
        }
        let change = Change::SetBookmark { conversation: self.id, name: item.name, head, metadata: item.metadata };
        self.put(importer, now(), vec![change], item.record).await
    }

    /// A log only grows: what is here of a channel is its beginning, and is passed over as long as it is.
    async fn leave_known_events(&mut self, importer: &mut Importer<'_>) -> Result<()> {
        let mut here: HashMap<String, Vec<[u8; 32]>> = HashMap::new();
        let mut query = EventsQuery { conversation: self.id, channels: Vec::new(), after: 0, limit: PAGE_MAX };
        loop {
            let page = importer.database.store.events(query.clone()).await?;
            let Some(last) = page.last() else { break };
            query.after = last.cursor;
            for event in &page {
                let digest = *blake3::hash(event.body.text().as_bytes()).as_bytes();
                here.entry(event.channel.clone()).or_default().push(digest);
            }
        }
        let mut passed: HashMap<String, usize> = HashMap::new();
        for event in std::mem::take(&mut self.events) {
            let digest = *blake3::hash(event.body.text().as_bytes()).as_bytes();
            let place = passed.entry(event.channel.clone()).or_default();
            match here.get(&event.channel).and_then(|known| known.get(*place)) {
                Some(known) if *known == digest => {
                    *place += 1;
                    importer.mapped(event.record);
                }
                _ => {
                    *place = usize::MAX;
                    self.events.push(event);
                }
            }
        }
        Ok(())
    }

    /// Stores the events that wait.
    pub(super) async fn store_events(&mut self, importer: &mut Importer<'_>) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.events).into_iter().peekable();
        while waiting.peek().is_some() {
            let (mut events, mut bytes, mut record) = (Vec::new(), 0, "");
            while let Some(event) = waiting.next_if(|event| {
                events.len() < GROUP && (events.is_empty() || bytes + event.body.text().len() < GROUP_BYTES)
            }) {
                bytes += event.body.text().len();
                record = event.record;
                events.push(NewEvent { channel: event.channel, at: event.at, body: event.body });
            }
            let count = events.len() as u64;
            let change = Change::AppendEvents { conversation: self.id, events };
            match importer.commit(now(), vec![change]).await? {
                None => {
                    self.report.attached += count;
                    importer.counts(record).mapped += count;
                }
                Some(error) => {
                    self.skip(importer, "", format!("{count} events: {error}"));
                    importer.counts(record).reported += count;
                }
            }
        }
        Ok(())
    }
}
