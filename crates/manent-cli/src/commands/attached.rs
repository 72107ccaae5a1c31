//! What is attached to conversations and runs: notes, bookmarks, state, folds, tool calls, events, inputs, leases, calls.

use crate::commands::conversation::word;
use crate::desk::{Desk, read_json};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use manent::model::{CallOutcome, FoldKind, InputId, NoteId, Stretch, ToolState};
use manent::store::EventsQuery;
use manent::{CallDraft, FoldDraft};

/// Ratings, labels and other things said about a message.
#[derive(Subcommand)]
pub enum Note {
    /// Says something about a message and prints the note's id.
    Add {
        /// The message.
        message: String,
        /// rating, pin, label, or a word of your own.
        kind: String,
        /// What is said, as JSON.
        value: String,
    },
    /// Takes a note back.
    Rm {
        /// The note.
        note: NoteId,
    },
}

impl Note {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        match self {
            Self::Add { message, kind, value } => {
                let message = desk.message(&message).await?;
                desk.made(&[desk.database.add_note(message, &kind, read_json(&value)?).await?])
            }
            Self::Rm { note } => Ok(desk.database.remove_note(note).await?),
        }
    }
}

/// Named places in a conversation.
#[derive(Subcommand)]
pub enum Bookmark {
    /// Names a place; the same name again moves it.
    Set {
        /// The conversation.
        conversation: String,
        /// The name.
        name: String,
        /// The last message of the path that it remembers; the head if it is not given.
        message: Option<String>,
    },
    /// Forgets a named place.
    Rm {
        /// The conversation.
        conversation: String,
        /// The name.
        name: String,
    },
}

impl Bookmark {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        match self {
            Self::Set { conversation, name, message } => {
                let id = desk.conversation(&conversation).await?;
                let head = match message {
                    Some(text) => Some(desk.message(&text).await?),
                    None => desk.database.conversation(id).await?.head,
                };
                Ok(desk.database.set_bookmark(id, &name, head, None).await?)
            }
            Self::Rm { conversation, name } => {
                let id = desk.conversation(&conversation).await?;
                Ok(desk.database.remove_bookmark(id, &name).await?)
            }
        }
    }
}

/// Named values that follow the branch.
#[derive(Subcommand)]
pub enum State {
    /// Prints the value at the end of the shown path, or at a message.
    Get {
        /// The conversation.
        conversation: String,
        /// The name.
        name: String,
        /// At this message.
        #[arg(long, value_name = "MESSAGE")]
        at: Option<String>,
    },
    /// Sets a value; without one it is unset.
    Set {
        /// The conversation.
        conversation: String,
        /// The name.
        name: String,
        /// The value, as JSON.
        value: Option<String>,
        /// After this message; the head if it is not given.
        #[arg(long, value_name = "MESSAGE")]
        after: Option<String>,
    },
}

impl State {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        match self {
            Self::Get { conversation, name, at } => {
                let id = desk.conversation(&conversation).await?;
                let at = match at {
                    Some(text) => Some(desk.message(&text).await?),
                    None => None,
                };
                let value = desk.database.state(id, &name, at).await?;
                let value = value.with_context(|| format!("no state {name} is set there"))?;
                crate::screen::print(&format!("{}\n", value.text()))
            }
            Self::Set { conversation, name, value, after } => {
                let id = desk.conversation(&conversation).await?;
                let after = match after {
                    Some(text) => Some(desk.message(&text).await?),
                    None => desk.database.conversation(id).await?.head,
                };
                let value = value.as_deref().map(read_json).transpose()?;
                Ok(desk.database.set_state(id, &name, after, value).await?)
            }
        }
    }
}

/// Folds messages of a path and prints the fold's id: a summary stands for them, or parts of them are left out.
#[derive(Args)]
pub struct Fold {
    /// The conversation.
    conversation: String,
    /// The first message.
    first: String,
    /// The last message.
    last: String,
    /// summary, tool_clear, media_clear, drop.
    #[arg(long, value_parser = word::<FoldKind>, default_value = "summary")]
    kind: FoldKind,
    /// The summary.
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
}

impl Fold {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        let id = desk.conversation(&self.conversation).await?;
        let covers = Stretch { first: desk.message(&self.first).await?, last: desk.message(&self.last).await? };
        let draft = FoldDraft { summary: self.summary, ..FoldDraft::new(self.kind, covers) };
        desk.made(&[desk.database.add_fold(id, draft).await?])
    }
}

/// Tool calls of runs.
#[derive(Subcommand)]
pub enum Tool {
    /// Lists the calls of all conversations that are not in a final state.
    List {
        /// How many.
        #[arg(long, short = 'n', default_value_t = 100)]
        limit: u32,
    },
    /// Records a call, as JSON: message, part, call_id, name, state, record.
    Put {
        /// The call.
        call: String,
        /// What to write into its trail.
        #[arg(long, default_value = "")]
        note: String,
    },
    /// Moves a call along an allowed transition.
    Move {
        /// The message that asked.
        message: String,
        /// The place of the part in the message, counted from 0.
        part: u32,
        /// The state: approved, executing, completed, …
        #[arg(value_parser = word::<ToolState>)]
        to: ToolState,
        /// What the run keeps about it, as JSON.
        #[arg(long, value_name = "JSON")]
        record: Option<String>,
        /// What to write into its trail.
        #[arg(long, default_value = "")]
        note: String,
    },
}

impl Tool {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        match self {
            Self::List { limit } => desk.screen.json(&desk.database.open_tool_calls(limit).await?),
            Self::Put { call, note } => {
                let call = read_json(&call)?.read().context("the call")?;
                Ok(desk.database.put_tool_call(call, &note).await?)
            }
            Self::Move { message, part, to, record, note } => {
                let message = desk.message(&message).await?;
                let record = record.as_deref().map(read_json).transpose()?;
                Ok(desk.database.move_tool_call(message, part, to, record, &note).await?)
            }
        }
    }
}

/// The log of a run.
#[derive(Subcommand)]
pub enum Event {
    /// Logs an event and prints its cursor.
    Log {
        /// The conversation.
        conversation: String,
        /// progress, control, monitor, or a word of your own.
        channel: String,
        /// What happened, as JSON.
        body: String,
    },
    /// Prints events after a cursor.
    List {
        /// The conversation.
        conversation: String,
        /// Only of this channel; may be given several times.
        #[arg(long)]
        channel: Vec<String>,
        /// After this cursor.
        #[arg(long, default_value_t = 0)]
        after: i64,
        /// How many.
        #[arg(long, short = 'n', default_value_t = 100)]
        limit: u32,
    },
}

impl Event {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        match self {
            Self::Log { conversation, channel, body } => {
                let id = desk.conversation(&conversation).await?;
                desk.made(&[desk.database.log(id, &channel, vec![read_json(&body)?]).await?])
            }
            Self::List { conversation, channel, after, limit } => {
                let conversation = desk.conversation(&conversation).await?;
                let query = EventsQuery { conversation, channels: channel, after, limit };
                desk.screen.json(&desk.database.events(query).await?)
            }
        }
    }
}

/// What waits for a run.
#[derive(Subcommand)]
pub enum Input {
    /// Queues an input and prints its id.
    Put {
        /// The conversation.
        conversation: String,
        /// What it is, as JSON.
        body: String,
    },
    /// Takes inputs out of the queue.
    Take {
        /// The conversation.
        conversation: String,
        /// The inputs.
        #[arg(required = true)]
        inputs: Vec<InputId>,
    },
}

impl Input {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        match self {
            Self::Put { conversation, body } => {
                let id = desk.conversation(&conversation).await?;
                desk.made(&[desk.database.put_input(id, read_json(&body)?).await?])
            }
            Self::Take { conversation, inputs } => {
                let id = desk.conversation(&conversation).await?;
                Ok(desk.database.take_inputs(id, inputs).await?)
            }
        }
    }
}

/// Who owns a run.
#[derive(Subcommand)]
pub enum Lease {
    /// Takes a lease that is free or has run out, and prints its token.
    Take {
        /// The conversation.
        conversation: String,
        /// Who takes it.
        owner: String,
        /// For how many seconds.
        #[arg(long, default_value_t = 60)]
        seconds: i64,
    },
    /// Extends a lease that the token still holds.
    Renew {
        /// The conversation.
        conversation: String,
        /// The token.
        token: i64,
        /// For how many seconds from now.
        #[arg(long, default_value_t = 60)]
        seconds: i64,
    },
    /// Gives a lease back.
    Release {
        /// The conversation.
        conversation: String,
        /// The token.
        token: i64,
    },
}

impl Lease {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        let until = |seconds: i64| {
            let now = desk.now.timestamp().as_microsecond();
            manent::model::Micros(now.saturating_add(seconds.saturating_mul(1_000_000)))
        };
        match self {
            Self::Take { conversation, owner, seconds } => {
                let id = desk.conversation(&conversation).await?;
                desk.made(&[desk.database.take_lease(id, &owner, until(seconds)).await?])
            }
            Self::Renew { conversation, token, seconds } => {
                let id = desk.conversation(&conversation).await?;
                Ok(desk.database.renew_lease(id, token, until(seconds)).await?)
            }
            Self::Release { conversation, token } => {
                let id = desk.conversation(&conversation).await?;
                Ok(desk.database.release_lease(id, token).await?)
            }
        }
    }
}

/// Records a request to a model and prints its id.
#[derive(Args)]
pub struct Call {
    /// The conversation.
    conversation: String,
    /// The model.
    #[arg(long)]
    model: Option<String>,
    /// answered, failed, stopped.
    #[arg(long, value_parser = word::<CallOutcome>, default_value = "answered")]
    outcome: CallOutcome,
    /// The last message that it saw; the head if it is not given.
    #[arg(long, value_name = "MESSAGE")]
    after: Option<String>,
    /// Tokens sent.
    #[arg(long, value_name = "N")]
    tokens_in: Option<i64>,
    /// Tokens received.
    #[arg(long, value_name = "N")]
    tokens_out: Option<i64>,
    /// Cost in millionths of your currency.
    #[arg(long, value_name = "N")]
    cost_micros: Option<i64>,
    /// What was sent and the rest, as JSON.
    #[arg(long, value_name = "JSON")]
    manifest: Option<String>,
}

impl Call {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        let id = desk.conversation(&self.conversation).await?;
        let after = match self.after {
            Some(text) => Some(desk.message(&text).await?),
            None => desk.database.conversation(id).await?.head,
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
        desk.made(&[desk.database.record_call(id, draft).await?])
    }
}

/// What somebody is typing: prints it, keeps another text, or forgets it.
#[derive(Args)]
pub struct Draft {
    /// The conversation.
    conversation: String,
    /// The text to keep.
    text: Option<String>,
    /// Whose it is.
    #[arg(long, default_value = "")]
    actor: String,
    /// Forget it.
    #[arg(long, conflicts_with = "text")]
    clear: bool,
}

impl Draft {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        let id = desk.conversation(&self.conversation).await?;
        match (self.text, self.clear) {
            (_, true) => Ok(desk.database.clear_draft(id, &self.actor).await?),
            (Some(text), _) => Ok(desk.database.save_draft(id, &self.actor, &text).await?),
            (None, _) => match desk.database.draft(id, &self.actor).await? {
                Some(text) => crate::screen::print(&format!("{text}\n")),
                None => Ok(()),
            },
        }
    }
}
