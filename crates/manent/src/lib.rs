//! Manent, the database for AI conversations: one durable store for chats, agent runs and role-play.
//!
//! ```
//! # async fn example() -> manent::Result<()> {
//! # let folder = std::env::temp_dir().join(format!("manent-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).expect("a temporary folder");
//! # let path = folder.join("chats.db");
//! use manent::{ConversationDraft, Database, MessageDraft, UndoScope};
//!
//! let database = Database::open(&path)?;
//! let draft = ConversationDraft { title: "天气".into(), ..Default::default() };
//! let chat = database.create(draft).await?.id;
//!
//! database.append(chat, MessageDraft::user("北京今天天气怎么样？")).await?;
//! let answer = database.append(chat, MessageDraft::assistant("晴，25 度。")).await?;
//!
//! // Ask again: the old answer stays as an alternative.
//! database.regenerate(chat, answer, MessageDraft::assistant("多云，22 度。")).await?;
//! assert_eq!(database.siblings(answer).await?.len(), 2);
//!
//! // Undo restores the path as it was.
//! database.undo(UndoScope::Conversation(chat)).await?;
//! let page = database.last(chat, 50).await?;
//! assert_eq!(page.messages[1].content.body.words(), "晴，25 度。");
//! # database.close().await?;
//! # std::fs::remove_dir_all(&folder).expect("our own folder");
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```

mod error;
mod location;
mod database;
pub mod private_files;
pub mod transfer;
mod tenants;

pub use database::Database;
pub use database::annotations::FoldDraft;
pub use database::blob::BlobReader;
pub use database::erase::{ErasedContent, OldBackups, RemainingContent};
pub use database::library::MemoryDraft;
pub use database::message::FollowUps;
pub use database::message_draft::MessageDraft;
pub use database::run::CallDraft;
pub use database::search::SearchQuery;
pub use database::stream::STREAM_LEASE;
pub use database::ulid::request_key;
pub use database::undo::{UndoStep, UndoSteps};
pub use error::{Error, Result};
pub use location::Location;
pub use manent_formats as formats;
pub use manent_model as model;
pub use manent_model::{
    Author, Body, BranchId, CallId, CallOutcome, Conversation, ConversationDraft, ConversationId, ConversationKind,
    ConversationPatch, ConversationStatus, Document, Event, FoldId, FoldKind, InputId, Json, Memory, MemoryId, Message,
    MessageId, MessageRange, MessageStatus, NoteId, Origin, Part, Project, ProjectId, ProjectPatch, Quarantined,
    Source, SourceId, Stats, Time, Timestamp, ToolCall, ToolState,
};
pub use manent_store as store;
pub use manent_store::{
    Annotations, AnnotationsCursor, AnnotationsQuery, BackupReport, BoundedCount, BranchInfo, Change, Committed,
    Conflict, ContextMessage, ConversationPage, CountMode, Coverage, CursorProblem, DamagedRecord, Direction,
    DoctorReport, EraseTarget, EventsQuery, Expect, Finish, Grouping, Hit, Include, IndexStatus, JournalEntry,
    JournalKind, JournalPage, JournalQuery, ListCursor, ListOrder, ListQuery, LocatedMessage, MemoriesQuery,
    MessagePage, OriginsQuery, Position, Receipt, SearchCursor, SearchOrder, SearchPage, StatsQuery, StoreError,
    ToolCallTrail, Transaction, UndoScope, VerifyReport,
};
pub use manent_text as text;
pub use tenants::{AuthenticatedKey, Erasure, Refusal, Tenants};
pub use transfer::backup::BackupPlan;
pub use transfer::export::{DiskOut, DownloadBundle, ExportPlan, Exported, Lost, Replace, StagedFile};
pub use transfer::import::{FileImportReport, ImportMode};
pub use transfer::jsonl::{ExportSelection, ImportProblem, JsonlImportReport, LinesReport};
