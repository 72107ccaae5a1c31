//! Import of what is attached to a conversation: folds, state, tool calls, events, bookmarks.

use crate::error::Result;
use crate::transfer::import::calls::KnownCalls;
use crate::transfer::import::conversation_import::ConversationImport;
use crate::transfer::import::importer::Importer;
use manent_formats::{BookmarkItem, Item, StateItem};
use manent_store::{Annotations, Change, EventsQuery, NewEvent, PAGE_MAX};
use std::collections::{HashMap, VecDeque};

const GROUP: usize = 500;
const GROUP_BYTES: usize = 1 << 20;

impl ConversationImport {
    /// Stores attached records that are not stored yet.
    pub(crate) async fn attach(&mut self, importer: &mut Importer<'_>) -> Result<()> {
        let here = match self.stored.is_some() {
            true => importer.database.annotations(self.id).await?,
            false => Annotations::default(),
        };
        let mut calls = KnownCalls::of(&here, &self.annotations, |index| self.message_id_at(index));
        let items = std::mem::take(&mut self.annotations);
        self.leave_superseded_bookmarks(importer, &items, &here).await?;
        for (place, item) in items.into_iter().enumerate() {
            match item {
                Item::Fold(item) => self.fold(importer, item, place as i64, &here).await?,
                Item::State(item) => self.state(importer, item).await?,
                Item::ToolCall(item) => self.tool_call(importer, item, &mut calls).await?,
                Item::Bookmark(item) => self.bookmark(importer, item, &here).await?,
                _ => {}
            }
        }
        if self.stored.is_some() {
            self.leave_known_events(importer).await?;
        }
        self.store_events(importer).await
    }

    /// Stores one record, and counts it or reports why it was refused.
    pub(crate) async fn put(
        &mut self,
        importer: &mut Importer<'_>,
        at: manent_model::Timestamp,
        changes: Vec<Change>,
        record: &str,
    ) -> Result<()> {
        match importer.commit(at, changes).await? {
            None => {
                self.report.annotations += 1;
                importer.mapped(record);
            }
            Some(error) => self.skip(importer, record, error.to_string()),
        }
        Ok(())
    }

    async fn state(&mut self, importer: &mut Importer<'_>, item: StateItem) -> Result<()> {
        if self.stored.is_some() {
            let value = importer.database.store.state(self.id, item.name.clone(), None).await?;
            if value.as_ref() == Some(&item.value) {
                importer.mapped(item.record);
                return Ok(());
            }
        }
        let after = item.after.and_then(|after| self.message_id_at(after));
        let change = Change::SetState { conversation: self.id, name: item.name, after, value: Some(item.value) };
        self.put(importer, manent_store::now(), vec![change], item.record).await
    }

    async fn bookmark(&mut self, importer: &mut Importer<'_>, item: BookmarkItem, here: &Annotations) -> Result<()> {
        let head = item.head.and_then(|head| self.message_id_at(head));
        let same = |known: &&manent_model::Bookmark| {
            known.name == item.name && known.metadata == item.metadata && known.head == head
        };
        if here.bookmarks.iter().find(same).is_some() {
            importer.mapped(item.record);
            return Ok(());
        }
        let change = Change::SetBookmark { conversation: self.id, name: item.name, head, metadata: item.metadata };
        self.put(importer, manent_store::now(), vec![change], item.record).await
    }

    /// Skips events that are stored already. A log grows at its end and may lose its beginning, so the stored events
    /// of a channel end with the beginning of the file's. Without such an overlap, events that are stored anywhere are
    /// skipped.
    async fn leave_known_events(&mut self, importer: &mut Importer<'_>) -> Result<()> {
        let mut here: HashMap<String, Vec<[u8; 32]>> = HashMap::new();
        let mut query = EventsQuery { conversation: self.id, channels: Vec::new(), after: 0, limit: PAGE_MAX };
        loop {
            let page = importer.database.store.events(query.clone()).await?;
            let Some(last) = page.last() else { break };
            query.after = last.cursor;
            for event in &page {
                here.entry(event.channel.clone()).or_default().push(event_digest(event.body.text()));
            }
        }
        let mut file: HashMap<String, Vec<[u8; 32]>> = HashMap::new();
        for event in &self.events {
            file.entry(event.channel.clone()).or_default().push(event_digest(event.body.text()));
        }
        let mut known: HashMap<String, VecDeque<bool>> = HashMap::new();
        for (channel, file) in file {
            known
                .insert(channel.clone(), known_events(here.get(&channel).map_or(&[][..], Vec::as_slice), &file).into());
        }
        for event in std::mem::take(&mut self.events) {
            match known.get_mut(&event.channel).and_then(VecDeque::pop_front) {
                Some(true) => importer.mapped(event.record),
                _ => self.events.push(event),
            }
        }
        Ok(())
    }

    /// Stores the pending events.
    pub(crate) async fn store_events(&mut self, importer: &mut Importer<'_>) -> Result<()> {
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
            match importer.commit(manent_store::now(), vec![change]).await? {
                None => {
                    self.report.annotations += count;
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

fn event_digest(body: &str) -> [u8; 32] {
    *blake3::hash(body.as_bytes()).as_bytes()
}

/// Marks which events of a file are stored already.
fn known_events(here: &[[u8; 32]], file: &[[u8; 32]]) -> Vec<bool> {
    // Length of the file's longest prefix that ends at each stored event (Knuth–Morris–Pratt).
    let mut borders = vec![0; file.len()];
    let next = |borders: &[usize], mut length: usize, event: &[u8; 32]| loop {
        if file.get(length) == Some(event) {
            return length + 1;
        }
        match length.checked_sub(1) {
            Some(shorter) => length = borders[shorter],
            None => return 0,
        }
    };
    for place in 1..file.len() {
        borders[place] = next(&borders, borders[place - 1], &file[place]);
    }
    let mut length = 0;
    for event in here {
        length = next(&borders, length, event);
        if length == file.len() {
            return vec![true; file.len()];
        }
    }
    if length > 0 || here.is_empty() {
        return (0..file.len()).map(|place| place < length).collect();
    }
    let mut left: HashMap<[u8; 32], usize> = HashMap::new();
    here.iter().for_each(|event| *left.entry(*event).or_default() += 1);
    let mut is_here =
        |event: &[u8; 32]| left.get_mut(event).filter(|count| **count > 0).map(|count| *count -= 1).is_some();
    file.iter().map(&mut is_here).collect()
}
