//! Streaming messages: stored while they are generated.

use crate::database::Database;
use crate::database::message_draft::MessageDraft;
use crate::error::{Error, Result};
use manent_model::{ConversationId, MessageId, MessageStatus, Timestamp};
use manent_store::{Change, Expect, Finish, OpenStream, StoreError};
use std::time::Duration;

/// Default idle timeout of a stream: the time without a chunk after which it ends.
pub const STREAM_LEASE: Duration = Duration::from_secs(120);

/// Page size of idle streams.
const PAGE: u32 = 100;

impl Database {
    /// Begins a message that is stored while it is generated; it can be read and searched from the first chunk on.
    pub async fn begin_stream(&self, conversation: ConversationId, message: MessageDraft) -> Result<MessageId> {
        self.append(conversation, message.with_status(MessageStatus::Streaming)).await
    }

    /// Appends text to a streaming message and renews its lease. An empty delta only renews the lease.
    pub async fn stream(&self, message: MessageId, delta: impl Into<String>) -> Result<()> {
        self.change(Change::AppendChunk { message, delta: delta.into() }).await.map(drop)
    }

    /// Ends a streaming message, once; the same ending again is a retry. Without a body it keeps the text of its
    /// chunks.
    pub async fn finish_stream(&self, message: MessageId, finish: Finish) -> Result<()> {
        self.change(Change::FinishMessage { message, finish }).await.map(drop)
    }

    /// Ends streams that got no chunk for this long as `incomplete`, with the text they have. Returns how many ended.
    ///
    /// The server does this itself. A program that embeds the database calls it at start and periodically, with
    /// [`STREAM_LEASE`] or a timeout of its own.
    pub async fn end_idle_streams(&self, idle: Duration) -> Result<u64> {
        let idle = i64::try_from(idle.as_micros()).unwrap_or(i64::MAX);
        let before = Timestamp(manent_store::now().0.saturating_sub(idle));
        let mut ended = 0;
        loop {
            let page = self.store.idle_streams(before, PAGE).await?;
            let mut progress = 0;
            for stream in &page {
                progress += u64::from(self.end_idle(stream).await?);
            }
            ended += progress;
            // Streams that were renewed meanwhile are not on the next page; stops when there is no progress.
            if page.len() < PAGE as usize || progress == 0 {
                return Ok(ended);
            }
        }
    }

    /// Ends one stream unless its conversation has changed since it was found idle: a chunk may have arrived.
    async fn end_idle(&self, stream: &OpenStream) -> Result<bool> {
        let OpenStream { conversation, version, message, .. } = *stream;
        let finish = Finish { status: MessageStatus::Incomplete, body: None, tokens: None, usage: None };
        let expect = vec![Expect::Version { conversation, version }];
        let ended = self.detached().commit(vec![Change::FinishMessage { message, finish }], expect).await;
        match ended {
            Ok(_) => Ok(true),
            Err(Error::Store(StoreError::Conflict(_) | StoreError::NotFound { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
