//! Export to other programs' formats.
//!
//! A writer runs on a blocking thread and reads the store page by page through [`store_source::StoreSource`].

mod disk;
mod store_source;
mod bundle;
mod sequence;
mod staged;

use crate::database::Database;
use crate::error::{Error, Result};
use crate::transfer::jsonl::ExportSelection;
pub use bundle::DownloadBundle;
pub use disk::{DiskOut, Replace};
use manent_formats::core::media::MediaRestorer;
use manent_formats::core::redact::{RedactedSource, Secrets};
use manent_formats::{ExportSource, FileSink, Format, Loss};
use manent_model::{ConversationId, ConversationStatus};
use manent_store::{ConversationRef, DamagedRecord, PAGE_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use staged::StagedFile;
use std::collections::BTreeMap;
use store_source::{CancelOnDrop, StoreSource};

/// Selection, format and options of an export.
#[derive(Debug, Clone)]
pub struct ExportPlan {
    /// The conversations to write.
    pub selection: ExportSelection,
    /// The target format.
    pub format: &'static Format,
    /// Generation of the format; `None` for the one that the conversations were imported from, else the default.
    pub generation: Option<String>,
    /// Whether keys and passwords are taken out.
    pub secrets: Secrets,
}

impl ExportPlan {
    /// Everything, in a format.
    pub fn everything(format: &'static Format) -> Self {
        Self { selection: ExportSelection::Everything, format, generation: None, secrets: Secrets::Keep }
    }
}

/// Result of an export.
#[derive(Debug)]
pub struct Exported<O> {
    /// The sink.
    pub out: O,
    /// Number of conversations that were written.
    pub conversations: usize,
    /// Content that the format cannot represent.
    pub losses: Vec<Lost>,
    /// Redacted keys and passwords.
    pub redacted: u64,
    /// Records that could not be read and were left out.
    pub damaged: Vec<DamagedRecord>,
}

impl<O> Exported<O> {
    /// Separates the sink, which the caller finishes, from the report.
    pub fn split(self) -> (O, Exported<()>) {
        let Self { out, conversations, losses, redacted, damaged } = self;
        (out, Exported { out: (), conversations, losses, redacted, damaged })
    }
}

/// Content that a format cannot represent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lost {
    /// What.
    pub what: String,
    /// How many.
    pub count: u64,
    /// In how many conversations.
    pub conversations: u64,
}

impl Database {
    /// Writes conversations in a format, and says what it cannot hold.
    ///
    /// What came from this format and was not changed is written as it was. Damaged records are left out and named.
    pub async fn export_tree<O: FileSink + Send + 'static>(&self, plan: &ExportPlan, out: O) -> Result<Exported<O>> {
        let strict = self.detached();
        let (plain, damage) = strict.skipping_damaged();
        let (ids, trashed) = match &plan.selection {
            ExportSelection::Everything if plan.format.holds_trash => (plain.all_conversations().await?, 0),
            ExportSelection::Everything => plain.not_trashed().await?,
            ExportSelection::Conversations(ids) => (ids.clone(), 0),
        };
        let cancel = CancelOnDrop::default();
        let reads = (plain, strict, damage.clone());
        let mut source = StoreSource::open(reads, plan.format.name, &ids, &cancel).await?;
        let conversations = source.count();
        let plan = plan.clone();
        let writer = tokio::task::spawn_blocking(move || {
            let (mut out, mut redacted) = (out, 0);
            let mut safe = SafeNames(&mut out);
            let mut write = |source: &mut dyn ExportSource| {
                (plan.format.write)(&mut MediaRestorer::new(source), &mut safe, plan.generation.as_deref())
            };
            let losses = match plan.secrets {
                Secrets::Keep => write(&mut source)?,
                Secrets::Remove => {
                    let mut clean = RedactedSource::new(&mut source)?;
                    let losses = write(&mut clean)?;
                    redacted = clean.count();
                    losses
                }
            };
            let mut losses = sums(&losses);
            if trashed > 0 {
                let what = "conversations in the trash".to_owned();
                losses.push(Lost { what, count: trashed, conversations: trashed });
            }
            Ok(Exported { out, conversations, losses, redacted, damaged: Vec::new() })
        });
        let defect = |_| Err(manent_formats::WriteError::Internal("the writer panicked".to_owned()));
        let written = writer.await.unwrap_or_else(defect);
        let written = written.map_err(|source| Error::Unwritable { source })?;
        Ok(Exported { damaged: damage.records(), ..written })
    }

    /// Returns every conversation that is not in the trash, and how many are.
    async fn not_trashed(&self) -> Result<(Vec<ConversationId>, u64)> {
        let (mut ids, mut trashed) = (Vec::new(), 0);
        for id in self.all_conversations().await? {
            let found = self.store.conversation(ConversationRef::Id(id)).await?;
            match found.is_some_and(|conversation| conversation.status == ConversationStatus::Trashed) {
                true => trashed += 1,
                false => ids.push(id),
            }
        }
        Ok((ids, trashed))
    }

    /// Returns every conversation, in the order they were made.
    async fn all_conversations(&self) -> Result<Vec<ConversationId>> {
        let mut ids: Vec<ConversationId> = Vec::new();
        loop {
            let page = self.store.conversation_ids(ids.last().copied(), PAGE_MAX).await?;
            if page.is_empty() {
                return Ok(ids);
            }
            ids.extend(page);
        }
    }
}

/// Writes files below safe names: what an upload was called once may lead outside.
struct SafeNames<'a, O>(&'a mut O);

impl<O: FileSink> FileSink for SafeNames<'_, O> {
    fn create<'a>(&'a mut self, name: &str) -> std::io::Result<Box<dyn std::io::Write + 'a>> {
        self.0.create(&manent_formats::core::names::safe(name))
    }
}

fn sums(losses: &[Loss]) -> Vec<Lost> {
    let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for loss in losses {
        let (count, conversations) = sums.entry(loss.what).or_default();
        (*count, *conversations) = (*count + loss.count, *conversations + 1);
    }
    let lost = |(what, (count, conversations)): (&str, _)| Lost { what: what.to_owned(), count, conversations };
    sums.into_iter().map(lost).collect()
}
