//! `manent show`: a conversation, pleasant to read.

use crate::context::{CommandContext, title_of};
use crate::output::{BAD, BOLD, DIM, ID, WARN, counted, one_line, plain};
use crate::time;
use anstyle::{AnsiColor, Style};
use anyhow::{Result, bail};
use clap::Args;
use manent::model::BranchId;
use manent::store::{BranchInfo, Direction, IdKind, LocatedMessage, MessagePage};
use manent::{Conversation, ConversationId, Message, MessageId, MessageStatus, Part};
use std::collections::HashMap;
use std::fmt::Write;

/// Show the messages of a conversation.
#[derive(Args)]
pub struct Show {
    /// Id, unique prefix of an id, external id, or @last (default; with --around, the conversation of that message).
    conversation: Option<String>,
    /// Maximum number of messages; 0 for all.
    #[arg(long, short = 'n', default_value_t = 50)]
    limit: u32,
    /// Start before this message instead of at the end.
    #[arg(long, value_name = "MESSAGE")]
    from: Option<String>,
    /// Read towards the end.
    #[arg(long)]
    forward: bool,
    /// This message, the two before it, and the following ones.
    #[arg(long, value_name = "MESSAGE", conflicts_with_all = ["from", "forward", "branch"])]
    around: Option<String>,
    /// Path of this branch instead of the current path.
    #[arg(long, value_name = "BRANCH")]
    branch: Option<BranchId>,
    /// Expand tool calls and reasoning.
    #[arg(long, short)]
    all: bool,
    /// Print only the first code block.
    #[arg(long, short = 'x')]
    extract: bool,
    /// Print notes, bookmarks, state, folds, calls and inputs as JSON.
    #[arg(long)]
    annotations: bool,
}

/// Number of messages shown before the requested one, so that it stays on the screen.
const BEFORE: u32 = 2;

impl Show {
    /// Shows a conversation at a message, or at its end.
    pub fn at(conversation: ConversationId, message: Option<MessageId>) -> Self {
        Self {
            conversation: Some(conversation.to_string()),
            limit: 50,
            from: None,
            forward: false,
            around: message.map(|message| message.to_string()),
            branch: None,
            all: false,
            extract: false,
            annotations: false,
        }
    }

    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let around = match &self.around {
            Some(text) => Some(context.database.message(context.message(text).await?).await?),
            None => None,
        };
        let id = match (&self.conversation, &around) {
            (Some(text), _) => context.conversation(text).await?,
            (None, Some(placed)) => placed.conversation,
            (None, None) => context.conversation("@last").await?,
        };
        if self.annotations {
            return context.output.json(&context.database.annotations(id).await?);
        }
        let conversation = context.database.conversation(id).await?;
        let window = match &around {
            Some(placed) => self.window_around(context, id, placed).await?,
            None => self.window(context, &conversation).await?,
        };
        if self.extract {
            let Some(code) = window.messages.iter().rev().find_map(first_code) else {
                bail!("there is no code block in these messages");
            };
            return crate::output::print(&code);
        }
        if context.output.json {
            return context.output.json(&ShowOutput {
                conversation: &conversation,
                messages: &window.messages,
                more: window.more,
            });
        }
        let branches = context.database.branches(id).await?;
        let place = around.map(|placed| placed.message.id);
        let messages: Vec<MessageId> = window.messages.iter().map(|message| message.id).collect();
        let ids = context.short_ids(IdKind::Message, &messages).await?;
        context.output.page(&self.rendered(context, &conversation, (&window, &ids), &branches, place))
    }

    /// Reads the messages around a message, on its own branch if it is not on the current path.
    async fn window_around(
        &self,
        context: &CommandContext,
        id: ConversationId,
        placed: &LocatedMessage,
    ) -> Result<MessagePage> {
        let message = placed.message.id;
        let after = self.limit.saturating_sub(BEFORE + 1).clamp(1, 500);
        let before = context.database.page(id, Some(message), Direction::Backward, BEFORE).await?;
        let behind = context.database.page(id, Some(message), Direction::Forward, after).await?;
        let mut messages = before.messages;
        messages.push(placed.message.clone());
        messages.extend(behind.messages);
        Ok(MessagePage { messages, more: before.more })
    }

    /// Reads pages up to the limit.
    async fn window(&self, context: &CommandContext, conversation: &Conversation) -> Result<MessagePage> {
        let wanted = if self.limit == 0 { usize::MAX } else { self.limit as usize };
        let mut from = match &self.from {
            Some(text) => Some(context.message(text).await?),
            None => None,
        };
        let direction = if self.forward { Direction::Forward } else { Direction::Backward };
        let mut window = MessagePage { messages: Vec::new(), more: true };
        while window.more && window.messages.len() < wanted {
            let limit = (wanted - window.messages.len()).min(500) as u32;
            let page = match self.branch {
                Some(branch) => {
                    context.database.page_of_branch(conversation.id, branch, from, direction, limit).await?
                }
                None => context.database.page(conversation.id, from, direction, limit).await?,
            };
            window.more = page.more && !page.messages.is_empty();
            match direction {
                Direction::Forward => window.messages.extend(page.messages),
                Direction::Backward => drop(window.messages.splice(0..0, page.messages)),
            }
            from = match direction {
                Direction::Forward => window.messages.last(),
                Direction::Backward => window.messages.first(),
            }
            .map(|message| message.id);
        }
        Ok(window)
    }

    fn rendered(
        &self,
        context: &CommandContext,
        conversation: &Conversation,
        (window, ids): (&MessagePage, &[String]),
        branches: &[BranchInfo],
        place: Option<MessageId>,
    ) -> String {
        let mut text = head(context, conversation);
        let mut forks: HashMap<manent::MessageId, usize> = HashMap::new();
        for fork in branches.iter().filter_map(|branch| branch.fork) {
            *forks.entry(fork).or_default() += 1;
        }
        if window.more {
            let _ = writeln!(text, "{}   … more {}{}\n", DIM.render(), way(self.forward), DIM.render_reset());
        }
        for (message, id) in window.messages.iter().zip(ids) {
            self.message(&mut text, context, (message, id), place == Some(message.id));
            if let Some(count) = forks.get(&message.id) {
                let word = if *count == 1 { "branch leaves" } else { "branches leave" };
                let _ = writeln!(text, "{}   ⑂ {count} {word} here{}\n", WARN.render(), WARN.render_reset());
            }
        }
        if window.messages.is_empty() {
            let _ = writeln!(text, "No messages yet. Add one: manent append {} \"Hello\"", conversation.id);
        }
        text
    }

    fn message(
        &self,
        text: &mut String,
        context: &CommandContext,
        (message, id): (&Message, &str),
        is_the_place: bool,
    ) {
        let content = &message.content;
        let who = content.author.as_ref().map(|author| if author.name.is_empty() { &author.id } else { &author.name });
        let style = role_style(&content.role);
        let mark = if is_the_place { '▶' } else { '●' };
        let _ = write!(text, "{}{mark} {}{}", style.render(), one_line(&content.role), style.render_reset());
        if let Some(who) = who {
            let _ = write!(text, " {}", one_line(who));
        }
        let model = content.model.as_deref().map(one_line).unwrap_or_default();
        let time = match context.output.is_terminal() {
            true => time::ago(content.time.at, &context.now),
            false => time::exact(content.time.at, &context.now),
        };
        let _ = writeln!(text, "  {}{time}  {model}  {id}{}", DIM.render(), DIM.render_reset());
        if message.erased {
            let _ = writeln!(text, "  {}(erased){}", DIM.render(), DIM.render_reset());
        }
        for part in content.body.parts() {
            self.part(text, &part);
        }
        match content.status {
            MessageStatus::Complete => {}
            MessageStatus::Streaming => note(text, WARN, "still being written"),
            MessageStatus::Incomplete => note(text, WARN, "ended early"),
            MessageStatus::Failed => note(text, BAD, "could not be sent"),
        }
        text.push('\n');
    }

    fn part(&self, text: &mut String, part: &Part) {
        match part {
            Part::Text { text: words, .. } | Part::Summary { text: words, .. } => indented(text, &plain(words)),
            Part::Error { text: words, .. } => note(text, BAD, &one_line(words)),
            Part::Reasoning { text: words, .. } if self.all => {
                note(text, DIM, "thought");
                indented(text, &plain(words));
            }
            Part::Reasoning { text: words, .. } => {
                note(text, DIM, &format!("▸ thought, {} characters", words.chars().count()))
            }
            Part::ToolCall { name, input, .. } => {
                let shown =
                    if self.all { plain(input.text()) } else { crate::output::cut(&one_line(input.text()), 72) };
                note(text, DIM, &format!("▸ {} {shown}", one_line(name)));
            }
            Part::ToolResult { content, .. } => {
                let shown =
                    if self.all { plain(content.text()) } else { crate::output::cut(&one_line(content.text()), 72) };
                note(text, DIM, &format!("◂ {shown}"));
            }
            Part::Media { mime, blob, .. } => {
                note(text, DIM, &format!("▣ {} {}", one_line(mime), blob.as_deref().unwrap_or_default()));
            }
            Part::Source { title, .. } => note(text, DIM, &format!("↗ {}", one_line(title))),
            Part::Opaque(json) => note(text, DIM, &crate::output::cut(&one_line(json.text()), 72)),
        }
    }
}

/// JSON output of `show`.
#[derive(serde::Serialize)]
struct ShowOutput<'a> {
    conversation: &'a Conversation,
    messages: &'a [Message],
    more: bool,
}

fn way(forward: bool) -> &'static str {
    if forward { "below" } else { "above" }
}

fn head(context: &CommandContext, conversation: &Conversation) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}{}{}", BOLD.render(), one_line(title_of(conversation)), BOLD.render_reset());
    let mut facts = vec![
        counted(conversation.messages, "message"),
        format!("active {}", time::ago(conversation.active_at, &context.now)),
    ];
    facts.extend(conversation.tags.iter().map(|tag| format!("#{}", one_line(tag))));
    let (id, dim) = (ID, DIM);
    let facts = facts.join(" · ");
    let _ = writeln!(
        text,
        "{}{}{}  {}{facts}{}\n",
        id.render(),
        conversation.id,
        id.render_reset(),
        dim.render(),
        dim.render_reset()
    );
    text
}

/// Style of a role.
pub fn role_style(role: &str) -> Style {
    match role {
        "user" => AnsiColor::Green.on_default().bold(),
        "assistant" | "bot" => AnsiColor::Blue.on_default().bold(),
        "tool" => AnsiColor::Magenta.on_default().bold(),
        _ => Style::new().bold(),
    }
}

fn note(text: &mut String, style: Style, words: &str) {
    let _ = writeln!(text, "  {}{words}{}", style.render(), style.render_reset());
}

fn indented(text: &mut String, words: &str) {
    for line in words.lines() {
        let _ = writeln!(text, "  {line}");
    }
}

/// Returns the content of the first code block.
fn first_code(message: &Message) -> Option<String> {
    let words = message.content.body.words();
    let (_, rest) = words.split_once("```")?;
    let (_, code) = rest.split_once('\n')?;
    let (code, _) = code.split_once("```")?;
    Some(code.to_owned())
}
