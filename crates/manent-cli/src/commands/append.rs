//! `manent append` and the other commands that add messages.

use crate::commands::conversation::author;
use crate::context::{CommandContext, read_text};
use crate::time;
use anyhow::{Context, Result, bail};
use clap::Args;
use manent::model::Time;
use manent::{Body, Database, Finish, Json, MessageDraft, MessageId, MessageStatus, Part};
use std::io::{BufRead, IsTerminal, Read};

/// Content and properties of a message.
#[derive(Args)]
pub struct MessageArgs {
    /// Text; `-`, or no text with piped input, reads standard input.
    text: Option<String>,
    /// Role: user, assistant, tool, or any word [default: user, or the role of the replaced message].
    #[arg(long, short)]
    role: Option<String>,
    /// Author as ID or ID=NAME.
    #[arg(long, value_name = "ID[=NAME]")]
    author: Option<String>,
    /// Model that wrote the message.
    #[arg(long)]
    model: Option<String>,
    /// Parts as JSON, instead of text.
    #[arg(long, value_name = "JSON", conflicts_with = "text")]
    parts: Option<String>,
    /// Time of the message.
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Token count.
    #[arg(long, value_name = "N")]
    tokens: Option<u32>,
    /// Message that this one replies to.
    #[arg(long, value_name = "MESSAGE")]
    reply_to: Option<String>,
    /// Metadata as JSON.
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Message id; repeating a command with the same id is a retry.
    #[arg(long, value_name = "ID")]
    id: Option<MessageId>,
}

impl MessageArgs {
    /// Converts the arguments into a replacement of another message.
    pub async fn instead(mut self, context: &CommandContext, of: MessageId) -> Result<MessageDraft> {
        if self.role.is_none() {
            self.role = Some(context.database.message(of).await?.message.content.role);
        }
        self.draft(context).await
    }

    /// Converts the arguments into a message draft.
    pub async fn draft(self, context: &CommandContext) -> Result<MessageDraft> {
        let role = self.role.as_deref().unwrap_or("user");
        let mut draft = match (&self.text, &self.parts) {
            (_, Some(parts)) => MessageDraft::from_json(role, &read_text(parts)?).context("the parts")?,
            (Some(text), None) => MessageDraft::new(role, &[Part::text(without_last_newline(&read_text(text)?))]),
            // Without a text the words come from a pipe, as for other commands that read.
            (None, None) if !std::io::stdin().is_terminal() => {
                MessageDraft::new(role, &[Part::text(without_last_newline(&read_text("-")?))])
            }
            (None, None) => bail!("give a text, or pipe one in"),
        };
        for part in draft.content.body.parts() {
            if let Part::Opaque(json) = part {
                let shown: String = json.text().chars().take(60).collect();
                context.output.warn(&format!("unknown part, stored as it is and not shown or searched: {shown}"));
            }
        }
        draft.id = self.id;
        if let Some(text) = &self.time {
            draft = draft.at(Time::exact(time::read(text, &context.now)?.0));
        }
        if let Some(text) = &self.reply_to {
            draft = draft.replying_to(context.message(text).await?);
        }
        draft.content.author = self.author.as_deref().map(author);
        draft.content.model = self.model;
        draft.content.tokens = self.tokens;
        draft.content.metadata = self.metadata.as_deref().map(Json::parse).transpose().context("the metadata")?;
        Ok(draft)
    }
}

/// Removes the line end that a shell adds to piped text.
fn without_last_newline(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

/// Append a message and print its id.
#[derive(Args)]
pub struct Append {
    /// Conversation: id, unique prefix of an id, external id, or @last.
    conversation: String,
    #[command(flatten)]
    message: MessageArgs,
    /// Fail unless this message is the last one on the current path.
    #[arg(long, value_name = "MESSAGE")]
    after: Option<String>,
    /// Read messages from standard input, one JSON object `{"role", "text"}` per line; all or none.
    #[arg(long, conflicts_with_all = ["text", "parts", "stream"])]
    lines: bool,
    /// Store the text while it arrives on standard input.
    #[arg(long, conflicts_with_all = ["text", "parts", "after"])]
    stream: bool,
    /// Store it outside the current path, as a message that could not be sent.
    #[arg(long, conflicts_with_all = ["lines", "stream", "after"])]
    failed: bool,
}

impl Append {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let conversation = context.conversation(&self.conversation).await?;
        let database = &context.database;
        if self.lines {
            return context.made(&database.append_many(conversation, read_lines()?).await?);
        }
        if self.stream {
            let mut message = self.message;
            message.text = Some(String::new());
            let id = database.begin_stream(conversation, message.draft(context).await?).await?;
            stream(database, id).await?;
            return context.made(&[id]);
        }
        let draft = self.message.draft(context).await?;
        let id = match (self.failed, &self.after) {
            (true, _) => database.keep_failed(conversation, draft).await?,
            (_, None) => database.append(conversation, draft).await?,
            (_, Some(after)) => {
                let after = context.message(after).await?;
                database.append_after(conversation, Some(after), vec![draft]).await?[0]
            }
        };
        context.made(&[id])
    }
}

/// Stores chunks as they arrive; they are kept even if the input ends early.
async fn stream(database: &Database, id: MessageId) -> Result<()> {
    let (mut input, mut all, mut waiting) = (std::io::stdin().lock(), String::new(), Vec::new());
    let mut piece = vec![0u8; 4_096];
    let status = loop {
        let read = match input.read(&mut piece) {
            Ok(0) => break MessageStatus::Complete,
            Ok(read) => read,
            Err(_) => break MessageStatus::Incomplete,
        };
        waiting.extend_from_slice(&piece[..read]);
        // A character may be cut in two by the pipe.
        let whole = match std::str::from_utf8(&waiting) {
            Ok(_) => waiting.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => break MessageStatus::Incomplete,
        };
        let rest = waiting.split_off(whole);
        let delta = String::from_utf8(std::mem::replace(&mut waiting, rest)).context("text in UTF-8")?;
        all.push_str(&delta);
        database.stream(id, delta).await?;
    };
    let body = Some(Body::of(&[Part::text(without_last_newline(&all))]));
    database.finish_stream(id, Finish { status, body, tokens: None, usage: None }).await?;
    match status {
        MessageStatus::Complete => Ok(()),
        _ => bail!("standard input ended in the middle of a character; what came is kept as {id}"),
    }
}

fn read_lines() -> Result<Vec<MessageDraft>> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Line {
        role: String,
        text: Option<String>,
        parts: Option<Body>,
        id: Option<MessageId>,
        model: Option<String>,
    }
    let mut drafts = Vec::new();
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.context("reading standard input")?;
        if line.trim().is_empty() {
            continue;
        }
        let read: Line = serde_json::from_str(&line).with_context(|| format!("line {}", number + 1))?;
        let mut draft = MessageDraft::new(read.role, &[Part::text(read.text.unwrap_or_default())]);
        if let Some(parts) = read.parts {
            draft.content.body = parts;
        }
        draft.id = read.id;
        draft.content.model = read.model;
        drafts.push(draft);
    }
    if drafts.is_empty() {
        bail!("standard input has no messages");
    }
    Ok(drafts)
}
