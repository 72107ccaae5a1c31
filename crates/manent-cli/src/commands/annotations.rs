//! Annotations and runs: notes, bookmarks, state, folds, tool calls, events, inputs, leases, calls.

use crate::commands::conversation::word;
use crate::context::{CommandContext, read_json};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use manent::model::{CallOutcome, FoldKind, InputId, MessageRange, NoteId, ToolState};
use manent::store::EventsQuery;
use manent::{CallDraft, FoldDraft};

/// Add or remove ratings, labels and comments on messages.
#[derive(Subcommand)]
pub enum Note {
    /// Add a note to a message and print its id.
    Add {
        /// The message.
        message: String,
        /// rating, pin, label, or any word.
        kind: String,
        /// Value as JSON.
        value: String,
    },
    /// Remove a note.
    Rm {
        /// The note.
        note: NoteId,
    },
}

impl Note {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        match self {
            Self::Add { message, kind, value } => {
                let message = context.message(&message).await?;
                context.made(&[context.database.add_note(message, &kind, read_json(&value)?).await?])
            }
            Self::Rm { note } => Ok(context.database.remove_note(note).await?),
        }
    }
}

/// Set or remove named positions in a conversation.
#[derive(Subcommand)]
pub enum Bookmark {
    /// Set a bookmark, or move it.
    Set {
        /// The conversation.
        conversation: String,
        /// The name.
        name: String,
        /// Last message of the bookmarked path [default: the head].
        message: Option<String>,
    },
    /// Remove a bookmark.
    Rm {
        /// The conversation.
        conversation: String,
        /// The name.
        name: String,
    },
}

impl Bookmark {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        match self {
            Self::Set { conversation, name, message } => {
                let id = context.conversation(&conversation).await?;
                let head = match message {
                    Some(text) => Some(context.message(&text).await?),
                    None => context.database.conversation(id).await?.head,
                };
                Ok(context.database.set_bookmark(id, &name, head, None).await?)
            }
            Self::Rm { conversation, name } => {
                let id = context.conversation(&conversation).await?;
                Ok(context.database.remove_bookmark(id, &name).await?)
            }
        }
    }
}

/// Get or set values that belong to a position on a branch.
#[derive(Subcommand)]
pub enum State {
    /// Print the value at the head or at a message.
    Get {
        /// The conversation.
        conversation: String,
        /// The name.
        name: String,
        /// Value at this message.
        #[arg(long, value_name = "MESSAGE")]
        at: Option<String>,
    },
    /// Set a value; without a value, unset it.
    Set {
        /// The conversation.
        conversation: String,
        /// The name.
        name: String,
        /// Value as JSON.
        value: Option<String>,
        /// Set after this message [default: the head].
        #[arg(long, value_name = "MESSAGE")]
        after: Option<String>,
    },
}

impl State {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        match self {
            Self::Get { conversation, name, at } => {
                let id = context.conversation(&conversation).await?;
                let at = match at {
                    Some(text) => Some(context.message(&text).await?),
                    None => None,
                };
                let value = context.database.state(id, &name, at).await?;
                let value = value.with_context(|| format!("no state {name} is set there"))?;
                crate::output::print(&format!("{}\n", value.text()))
            }
            Self::Set { conversation, name, value, after } => {
                let id = context.conversation(&conversation).await?;
                let after = match after {
                    Some(text) => Some(context.message(&text).await?),
                    None => context.database.conversation(id).await?.head,
                };
                let value = value.as_deref().map(read_json).transpose()?;
                Ok(context.database.set_state(id, &name, after, value).await?)
            }
        }
    }
}

/// Fold messages: the model sees a summary instead, or not the omitted parts. Print the id of the fold.
#[derive(Args)]
pub struct Fold {
    /// The conversation.
    conversation: String,
    /// The first message.
    first: String,
    /// The last message.
    last: String,
    /// Kind: summary, tool_clear, media_clear, drop.
    #[arg(long, value_parser = word::<FoldKind>, default_value = "summary")]
    kind: FoldKind,
    /// Summary text.
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
}

impl Fold {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let id = context.conversation(&self.conversation).await?;
        let covers =
            MessageRange { first: context.message(&self.first).await?, last: context.message(&self.last).await? };
        let draft = FoldDraft { summary: self.summary, ..FoldDraft::new(self.kind, covers) };
        context.made(&[context.database.add_fold(id, draft).await?])
    }
}

/// Tool calls and their states.
#[derive(Subcommand)]
pub enum Tool {
    /// List open tool calls of all conversations.
    List {
        /// Maximum number.
        #[arg(long, short = 'n', default_value_t = 100)]
        limit: u32,
    },
    /// Record a call as JSON: message, part, call_id, name, state, record.
    Put {
        /// The call.
        call: String,
        /// Note for the audit trail.
        #[arg(long, default_value = "")]
        note: String,
    },
    /// Move a call to another state.
    Move {
        /// Message that contains the call.
        message: String,
        /// Index of the part in the message, from 0.
        part: u32,
        /// New state: approved, executing, completed, …
        #[arg(value_parser = word::<ToolState>)]
        to: ToolState,
        /// Record of the call as JSON.
        #[arg(long, value_name = "JSON")]
        record: Option<String>,
        /// Note for the audit trail.
        #[arg(long, default_value = "")]
        note: String,
    },
}

impl Tool {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        match self {
            Self::List { limit } => context.output.json(&context.database.open_tool_calls(limit).await?),
            Self::Put { call, note } => {
                let call = read_json(&call)?.read().context("the call")?;
                Ok(context.database.put_tool_call(call, &note).await?)
            }
            Self::Move { message, part, to, record, note } => {
                let message = context.message(&message).await?;
                let record = record.as_deref().map(read_json).transpose()?;
                Ok(context.database.move_tool_call(message, part, to, record, &note).await?)
            }
        }
    }
}

/// Event log.
#[derive(Subcommand)]
pub enum Event {
    /// Log an event and print its cursor.
    Log {
        /// The conversation.
        conversation: String,
        /// Channel: progress, control, monitor, or any word.
        channel: String,
        /// Event as JSON.
        body: String,
    },
    /// List events after a cursor.
    List {
        /// The conversation.
        conversation: String,
        /// Only this channel (repeatable).
        #[arg(long)]
        channel: Vec<String>,
        /// After this cursor.
        #[arg(long, default_value_t = 0)]
        after: i64,
        /// Maximum number.
        #[arg(long, short = 'n', default_value_t = 100)]
        limit: u32,
    },
}

impl Event {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        match self {
            Self::Log { conversation, channel, body } => {
                let id = context.conversation(&conversation).await?;
                context.made(&[context.database.log(id, &channel, vec![read_json(&body)?]).await?])
            }
            Self::List { conversation, channel, after, limit } => {
                let conversation = context.conversation(&conversation).await?;
                let query = EventsQuery { conversation, channels: channel, after, limit };
                context.output.json(&context.database.events(query).await?)
            }
        }
    }
}

/// Input queue.
#[derive(Subcommand)]
pub enum Input {
    /// Queue an input and print its id.
    Put {
        /// The conversation.
        conversation: String,
        /// Input as JSON.
        body: String,
    },
    /// Take inputs out of the queue.
    Take {
        /// The conversation.
        conversation: String,
        /// The inputs.
        #[arg(required = true)]
        inputs: Vec<InputId>,
    },
}

impl Input {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        match self {
            Self::Put { conversation, body } => {
                let id = context.conversation(&conversation).await?;
                context.made(&[context.database.put_input(id, read_json(&body)?).await?])
            }
            Self::Take { conversation, inputs } => {
                let id = context.conversation(&conversation).await?;
                Ok(context.database.take_inputs(id, inputs).await?)
            }
        }
    }
}

/// Leases on agent runs.
#[derive(Subcommand)]
pub enum Lease {
    /// Acquire a free or expired lease and print its token.
    Take {
        /// The conversation.
        conversation: String,
        /// Owner.
        owner: String,
        /// Duration in seconds.
        #[arg(long, default_value_t = 60)]
        seconds: i64,
    },
    /// Extend a lease.
    Renew {
        /// The conversation.
        conversation: String,
        /// Token of the lease.
        token: i64,
        /// Duration in seconds, from now.
        #[arg(long, default_value_t = 60)]
        seconds: i64,
    },
    /// Release a lease.
    Release {
        /// The conversation.
        conversation: String,
        /// Token of the lease.
        token: i64,
    },
}

impl Lease {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let until = |seconds: i64| {
            let now = context.now.timestamp().as_microsecond();
            manent::model::Timestamp(now.saturating_add(seconds.saturating_mul(1_000_000)))
        };
        match self {
            Self::Take { conversation, owner, seconds } => {
                let id = context.conversation(&conversation).await?;
                context.made(&[context.database.take_lease(id, &owner, until(seconds)).await?])
            }
            Self::Renew { conversation, token, seconds } => {
                let id = context.conversation(&conversation).await?;
                Ok(context.database.renew_lease(id, token, until(seconds)).await?)
            }
            Self::Release { conversation, token } => {
                let id = context.conversation(&conversation).await?;
                Ok(context.database.release_lease(id, token).await?)
            }
        }
    }
}

/// Record a request to a model and print its id.
#[derive(Args)]
pub struct Call {
    /// The conversation.
    conversation: String,
    /// The model.
    #[arg(long)]
    model: Option<String>,
    /// Outcome: answered, failed, stopped.
    #[arg(long, value_parser = word::<CallOutcome>, default_value = "answered")]
    outcome: CallOutcome,
    /// Last message in its context [default: the head].
    #[arg(long, value_name = "MESSAGE")]
    after: Option<String>,
    /// Input tokens.
    #[arg(long, value_name = "N")]
    tokens_in: Option<i64>,
    /// Output tokens.
    #[arg(long, value_name = "N")]
    tokens_out: Option<i64>,
    /// Cost in millionths of your currency.
    #[arg(long, value_name = "N")]
    cost_micros: Option<i64>,
    /// Manifest as JSON: what was sent.
    #[arg(long, value_name = "JSON")]
    manifest: Option<String>,
}

impl Call {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let id = context.conversation(&self.conversation).await?;
        let after = match self.after {
            Some(text) => Some(context.message(&text).await?),
            None => context.database.conversation(id).await?.head,
        };
        let draft = CallDraft {
            after,
            model: self.model,
            outcome: self.outcome,
            tokens_in: self.tokens_in,
            tokens_out: self.tokens_out,
            cost_micros: self.cost_micros,
            sent: Vec::new(),
            manifest: self.manifest.as_deref().map(read_json).transpose()?,
        };
        context.made(&[context.database.record_call(id, draft).await?])
    }
}

/// Print, save or delete an unsent draft.
#[derive(Args)]
pub struct Draft {
    /// The conversation.
    conversation: String,
    /// Text to save.
    text: Option<String>,
    /// User of the draft.
    #[arg(long, default_value = "")]
    actor: String,
    /// Delete the draft.
    #[arg(long, conflicts_with = "text")]
    clear: bool,
}

impl Draft {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let id = context.conversation(&self.conversation).await?;
        match (self.text, self.clear) {
            (_, true) => Ok(context.database.clear_draft(id, &self.actor).await?),
            (Some(text), _) => Ok(context.database.save_draft(id, &self.actor, &text).await?),
            (None, _) => match context.database.draft(id, &self.actor).await? {
                Some(text) => crate::output::print(&format!("{text}\n")),
                None => Ok(()),
            },
        }
    }
}
