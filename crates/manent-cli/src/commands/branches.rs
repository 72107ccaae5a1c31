//! Paths: `fork`, `rewind`, `switch`, `edit`, `insert`, `remove`, `undo` and what shows them.

use crate::commands::append::MessageArgs;
use crate::commands::conversation::spelled;
use crate::context::{CommandContext, named};
use crate::output::{Cell, ID, Table};
use anyhow::Result;
use clap::Args;
use manent::model::{BranchId, FoldId};
use manent::store::UndoScope;
use manent::{ConversationDraft, FollowUps, MessageRange, UndoStep};

/// List the branches of a conversation.
#[derive(Args)]
pub struct Branches {
    /// The conversation.
    conversation: String,
}

impl Branches {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let id = context.conversation(&self.conversation).await?;
        let branches = context.database.branches(id).await?;
        if context.output.json {
            return context.output.json(&branches);
        }
        let mut table = Table::new(&["BRANCH", "SHOWN", "WHY", "MESSAGES", "LEAVES AT"], 4);
        for branch in &branches {
            table.row(vec![
                Cell::styled(branch.id, ID),
                Cell::new(if branch.is_head { "yes" } else { "" }),
                Cell::new(spelled(&branch.reason)),
                Cell::new(branch.own_messages),
                Cell::new(branch.fork.map(|fork| fork.to_string()).unwrap_or_default()),
            ]);
        }
        context.output.table(&table)
    }
}

/// Continue from an earlier message: on a new branch, or with --new in a new conversation. Nothing is copied.
#[derive(Args)]
pub struct Fork {
    /// The conversation.
    conversation: String,
    /// Last common message.
    after: String,
    /// Create a conversation with this title and print its id.
    #[arg(long, value_name = "TITLE", conflicts_with = "text")]
    new: Option<String>,
    #[command(flatten)]
    message_args: MessageArgs,
}

impl Fork {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let (id, after) = (context.conversation(&self.conversation).await?, context.message(&self.after).await?);
        match self.new {
            Some(title) => {
                let draft = ConversationDraft { title, ..ConversationDraft::default() };
                context.made(&[context.database.fork_to_new(id, after, draft).await?])
            }
            None => {
                let first = self.message_args.draft(context).await?;
                context.made(&[context.database.fork(id, after, first).await?])
            }
        }
    }
}

/// Move the head back to a message; the next append creates a branch there.
#[derive(Args)]
pub struct Rewind {
    /// The conversation.
    conversation: String,
    /// New last message of the current path.
    message: String,
}

impl Rewind {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let (id, message) = (context.conversation(&self.conversation).await?, context.message(&self.message).await?);
        context.database.rewind(id, message).await?;
        context.changed(id, "rewound").await
    }
}

/// Switch to the branch of a message, or to a branch by its id.
#[derive(Args)]
pub struct Switch {
    /// The conversation.
    conversation: String,
    /// Message or branch.
    to: String,
}

impl Switch {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let id = context.conversation(&self.conversation).await?;
        match self.to.parse::<BranchId>() {
            Ok(branch) => context.database.switch_branch(id, branch).await?,
            Err(_) => context.database.switch(id, context.message(&self.to).await?).await?,
        }
        context.changed(id, "switched").await
    }
}

/// Replace a message; the old one stays as an alternative.
#[derive(Args)]
pub struct Edit {
    /// The conversation.
    conversation: String,
    /// The message.
    message: String,
    #[command(flatten)]
    message_args: MessageArgs,
    /// Keep the following messages on the path.
    #[arg(long)]
    keep_tail: bool,
}

impl Edit {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let (id, message) = (context.conversation(&self.conversation).await?, context.message(&self.message).await?);
        let tail = if self.keep_tail { FollowUps::Keep } else { FollowUps::Detach };
        let with = self.message_args.instead(context, message).await?;
        context.made(&[context.database.edit(id, message, with, tail).await?])
    }
}

/// Store another answer as the current alternative.
#[derive(Args)]
pub struct Regenerate {
    /// The conversation.
    conversation: String,
    /// The answer.
    answer: String,
    #[command(flatten)]
    message_args: MessageArgs,
}

impl Regenerate {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let (id, answer) = (context.conversation(&self.conversation).await?, context.message(&self.answer).await?);
        let with = self.message_args.instead(context, answer).await?;
        context.made(&[context.database.regenerate(id, answer, with).await?])
    }
}

/// Insert a message; the following messages come after it.
#[derive(Args)]
pub struct Insert {
    /// The conversation.
    conversation: String,
    /// Previous message, or `start`.
    after: String,
    #[command(flatten)]
    message_args: MessageArgs,
}

impl Insert {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let id = context.conversation(&self.conversation).await?;
        let after = match self.after.as_str() {
            "start" => None,
            text => Some(context.message(text).await?),
        };
        let message = self.message_args.draft(context).await?;
        context.made(&context.database.insert(id, after, vec![message]).await?)
    }
}

/// A range of messages.
#[derive(Args)]
pub struct RangeArgs {
    /// The conversation.
    conversation: String,
    /// The first message.
    first: String,
    /// Last message [default: the first].
    last: Option<String>,
}

impl RangeArgs {
    async fn stretch(&self, context: &CommandContext) -> Result<MessageRange> {
        let first = context.message(&self.first).await?;
        let last = match &self.last {
            Some(text) => context.message(text).await?,
            None => first,
        };
        Ok(MessageRange { first, last })
    }

    /// Removes the messages from the current path.
    pub async fn remove(self, context: &CommandContext) -> Result<()> {
        let id = context.conversation(&self.conversation).await?;
        context.database.remove(id, self.stretch(context).await?).await?;
        context.changed(id, "removed messages from").await
    }

    /// Hides the messages from the model and prints the id of the fold.
    pub async fn hide(self, context: &CommandContext) -> Result<()> {
        let id = context.conversation(&self.conversation).await?;
        context.made(&[context.database.hide(id, self.stretch(context).await?).await?])
    }
}

/// Disable a fold: the model sees its messages again.
#[derive(Args)]
pub struct Unhide {
    /// The fold.
    fold: FoldId,
    /// Enable the fold again.
    #[arg(long)]
    again: bool,
}

impl Unhide {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        match self.again {
            true => context.database.refold(self.fold).await?,
            false => context.database.unfold(self.fold).await?,
        }
        context.output.done(&format!("changed {}", self.fold));
        Ok(())
    }
}

/// A message.
#[derive(Args)]
pub struct MessageArg {
    /// Id, unique prefix of an id, or @last.
    message: String,
}

impl MessageArg {
    /// Shows the message with its location.
    pub async fn message(self, context: &CommandContext) -> Result<()> {
        let id = context.message(&self.message).await?;
        context.output.json(&context.database.message(id).await?)
    }

    /// Shows the alternatives of the message.
    pub async fn siblings(self, context: &CommandContext) -> Result<()> {
        let id = context.message(&self.message).await?;
        context.output.json(&context.database.siblings(id).await?)
    }

    /// Shows the thread of replies that contains the message.
    pub async fn thread(self, context: &CommandContext) -> Result<()> {
        let id = context.message(&self.message).await?;
        context.output.json(&context.database.thread(id).await?)
    }
}

/// Scope of an undo.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct Steps {
    /// Conversation: id, unique prefix of an id, external id, or @last.
    conversation: Option<String>,
    /// Changes of projects, documents and memories.
    #[arg(long)]
    workspace: bool,
    /// All changes of the store.
    #[arg(long)]
    any: bool,
}

impl Steps {
    async fn scope(&self, context: &CommandContext) -> Result<UndoScope> {
        Ok(match (&self.conversation, self.workspace) {
            (Some(text), _) => UndoScope::Conversation(context.conversation(text).await?),
            (None, true) => UndoScope::Workspace,
            (None, false) => UndoScope::Everything,
        })
    }

    /// Undoes the last change.
    pub async fn undo(self, context: &CommandContext) -> Result<()> {
        let scope = self.scope(context).await?;
        let step = context.database.undo_steps(scope.clone()).await?.undo;
        let committed = context.database.undo(scope.clone()).await?;
        done(context, "undone", &scope, step, committed.position).await
    }

    /// Redo the last undone change.
    pub async fn redo(self, context: &CommandContext) -> Result<()> {
        let scope = self.scope(context).await?;
        let step = context.database.undo_steps(scope.clone()).await?.redo;
        let committed = context.database.redo(scope.clone()).await?;
        done(context, "redone", &scope, step, committed.position).await
    }
}

/// Reports what was undone or redone.
async fn done(
    context: &CommandContext,
    word: &str,
    scope: &UndoScope,
    step: Option<UndoStep>,
    position: i64,
) -> Result<()> {
    let kinds = step.map(|step| step.kinds).unwrap_or_default();
    if context.output.json {
        return context.output.json(&serde_json::json!({ "position": position, "kinds": kinds }));
    }
    let what = kinds.iter().map(|kind| spelled(kind).replace('_', " ")).collect::<Vec<_>>().join(", ");
    let place = match scope {
        UndoScope::Conversation(id) => format!(" in {}", named(&context.database.conversation(*id).await?)),
        UndoScope::Everything | UndoScope::Workspace => String::new(),
    };
    context.output.done(&format!("{word}: {what}{place}"));
    Ok(())
}
