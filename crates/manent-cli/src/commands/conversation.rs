//! Conversations: `new`, `list`, `rename`, `tag`, `pin`, `archive`, `rm` and what undoes them.

use crate::context::{CommandContext, named, read_json, title_of};
use crate::output::{BOLD, Cell, DIM, ID, Table, counted};
use crate::time;
use anyhow::{Result, bail};
use clap::Args;
use manent::store::{EraseTarget, IdKind, ListCursor};
use manent::{
    Author, Conversation, ConversationDraft, ConversationId, ConversationKind, ConversationPatch, ConversationStatus,
    ListQuery, OldBackups,
};

/// Arguments that name one conversation.
#[derive(Args)]
pub struct ConversationArg {
    /// Id, unique prefix of an id, external id, or @last.
    conversation: String,
}

/// Create a conversation and print its id.
#[derive(Args)]
pub struct New {
    /// Name.
    #[arg(default_value = "")]
    title: String,
    /// Kind: chat, agent, roleplay, group, channel.
    #[arg(long, value_parser = word::<ConversationKind>, default_value = "chat")]
    kind: ConversationKind,
    /// Project.
    #[arg(long)]
    project: Option<String>,
    /// Tag (repeatable).
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Id of the conversation in your own system; using it again returns the same conversation.
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
    /// Metadata as JSON.
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
}

impl New {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let project = match &self.project {
            Some(text) => Some(context.database.resolve_project(text).await?),
            None => None,
        };
        let draft = ConversationDraft {
            title: self.title,
            kind: self.kind,
            project,
            tags: self.tag.into_iter().collect(),
            external_id: self.external_id,
            metadata: self.metadata.as_deref().map(read_json).transpose()?,
            ..ConversationDraft::default()
        };
        let conversation = context.database.create(draft).await?;
        match context.output.json {
            true => context.output.json(&conversation),
            false => context.made(&[conversation.id]),
        }
    }
}

/// List conversations: pinned first, then most recently active.
#[derive(Args)]
pub struct List {
    /// active, archived, trashed, importing (comma-separated), or all.
    #[arg(long, value_delimiter = ',', default_value = "active")]
    status: Vec<String>,
    /// Only this kind.
    #[arg(long, value_parser = word::<ConversationKind>)]
    kind: Option<ConversationKind>,
    /// Only this project.
    #[arg(long)]
    project: Option<String>,
    /// Only with this tag.
    #[arg(long)]
    tag: Option<String>,
    /// Only this creator.
    #[arg(long, value_name = "ID")]
    creator: Option<String>,
    /// Active since this time: 2026-11-16, yesterday, 90m, 7d, 3mo.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Active before this time.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only with this metadata: KEY or KEY=VALUE.
    #[arg(long, value_name = "KEY[=VALUE]")]
    meta: Option<String>,
    /// Only with this text in the title.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Maximum number; 0 for all.
    #[arg(long, short = 'n', default_value_t = 50)]
    limit: u32,
    /// Print only the number of conversations.
    #[arg(long)]
    count: bool,
}

const STATUSES: [ConversationStatus; 4] = [
    ConversationStatus::Active,
    ConversationStatus::Archived,
    ConversationStatus::Trashed,
    ConversationStatus::Importing,
];

impl List {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let (limit, count) = (self.limit, self.count);
        let query = self.query(context).await?;
        if count {
            let count = context.database.count(query).await?;
            return match context.output.json {
                true => context.output.json(&count),
                false => context.made(&[format!("{}{}", count.n, if count.more { "+" } else { "" })]),
            };
        }
        let (conversations, more) = all(context, query.clone(), limit).await?;
        if context.output.json {
            return context.output.json(&conversations);
        }
        let mut table = Table::new(&["ID", "TITLE", "KIND", "MESSAGES", "ACTIVE"], 1);
        let ids: Vec<ConversationId> = conversations.iter().map(|conversation| conversation.id).collect();
        let ids = context.short_ids(IdKind::Conversation, &ids).await?;
        for (conversation, id) in conversations.iter().zip(ids) {
            table.row(row(conversation, id, context));
        }
        context.output.table(&table)?;
        if more {
            let count = context.database.count(query).await?;
            let total = format!("{}{}", grouped(count.n), if count.more { "+" } else { "" });
            context
                .output
                .note(&format!("{} of {total} conversations; -n 0 lists all", grouped(conversations.len() as u32)));
        }
        Ok(())
    }

    async fn query(self, context: &CommandContext) -> Result<ListQuery> {
        let time = |text: Option<String>| text.map(|text| time::read(&text, &context.now)).transpose();
        let statuses = match self.status.iter().any(|status| status == "all") {
            true => STATUSES.to_vec(),
            false => self
                .status
                .iter()
                .map(|status| word(status))
                .collect::<Result<_, String>>()
                .map_err(anyhow::Error::msg)?,
        };
        Ok(ListQuery {
            statuses,
            kind: self.kind,
            project: match &self.project {
                Some(text) => Some(context.database.resolve_project(text).await?),
                None => None,
            },
            tag: self.tag,
            creator: self.creator,
            since: time(self.since)?,
            until: time(self.until)?,
            metadata: self.meta.map(|meta| match meta.split_once('=') {
                Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                None => (meta, None),
            }),
            title: self.title,
            ..ListQuery::default()
        })
    }
}

/// Formats a number with thousands separators.
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// Reads pages up to the limit; returns whether there are more.
async fn all(context: &CommandContext, query: ListQuery, limit: u32) -> Result<(Vec<Conversation>, bool)> {
    let wanted = if limit == 0 { usize::MAX } else { limit as usize };
    let (mut found, mut after): (Vec<Conversation>, Option<ListCursor>) = (Vec::new(), None);
    while found.len() < wanted {
        let limit = (wanted - found.len()).min(500) as u32;
        let page = context.database.list(ListQuery { after, limit, ..query.clone() }).await?;
        found.extend(page.conversations);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok((found, after.is_some()))
}

fn row(conversation: &Conversation, id: String, context: &CommandContext) -> Vec<Cell> {
    let title = match (conversation.pinned, context.output.is_terminal()) {
        (true, true) => format!("★ {}", title_of(conversation)),
        (_, true) => title_of(conversation).to_owned(),
        _ => conversation.title.clone(),
    };
    let (kind, active) = match context.output.is_terminal() {
        true => (spelled(&conversation.kind), time::ago(conversation.active_at, &context.now)),
        false => (spelled(&conversation.kind), conversation.active_at.to_string()),
    };
    vec![
        Cell::styled(id, ID),
        Cell::styled(title, BOLD),
        Cell::styled(kind, DIM),
        Cell::new(conversation.messages),
        Cell::styled(active, DIM),
    ]
}

/// Rename a conversation.
#[derive(Args)]
pub struct Rename {
    #[command(flatten)]
    one: ConversationArg,
    /// 1 to 50 characters.
    name: String,
}

impl Rename {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let id = context.conversation(&self.one.conversation).await?;
        context.database.rename(id, &self.name).await?;
        context.changed(id, "renamed").await
    }
}

/// Add and remove tags.
#[derive(Args)]
pub struct Tag {
    #[command(flatten)]
    one: ConversationArg,
    /// Tags to add.
    add: Vec<String>,
    /// Tag to remove (repeatable).
    #[arg(long, short, value_name = "TAG")]
    remove: Vec<String>,
}

impl Tag {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let id = context.conversation(&self.one.conversation).await?;
        let words = |tags: &[String]| tags.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        if self.add.is_empty() && self.remove.is_empty() {
            bail!("say which tags to add, or --remove some");
        }
        let add: Vec<&str> = self.add.iter().map(String::as_str).collect();
        let remove: Vec<&str> = self.remove.iter().map(String::as_str).collect();
        context.database.tag(id, &add, &remove).await?;
        let done = match (self.add.is_empty(), self.remove.is_empty()) {
            (false, true) => format!("added the tags {} to", words(&self.add)),
            (true, _) => format!("removed the tags {} from", words(&self.remove)),
            (false, false) => format!("added {} and removed {} from", words(&self.add), words(&self.remove)),
        };
        context.changed(id, &done).await
    }
}

/// A status change without further arguments.
#[derive(Clone, Copy)]
pub enum StatusChange {
    Pin,
    Unpin,
    Archive,
    Trash,
    Restore,
    Clear,
}

impl ConversationArg {
    pub async fn run(self, context: &CommandContext, what: StatusChange) -> Result<()> {
        let id = context.conversation(&self.conversation).await?;
        let done = match what {
            StatusChange::Pin => context.database.pin(id).await.map(|()| "pinned"),
            StatusChange::Unpin => context.database.unpin(id).await.map(|()| "unpinned"),
            StatusChange::Archive => context.database.archive(id).await.map(|()| "archived"),
            StatusChange::Trash => context.database.trash(id).await.map(|()| "moved to the trash:"),
            StatusChange::Restore => context.database.restore(id).await.map(|()| "restored"),
            StatusChange::Clear => context.database.clear(id).await.map(|()| "cleared"),
        };
        context.changed(id, done?).await
    }
}

/// Delete a conversation in the trash for good.
#[derive(Args)]
pub struct Purge {
    #[command(flatten)]
    one: ConversationArg,
}

impl Purge {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let id = context.conversation(&self.one.conversation).await?;
        let found = context.database.conversation(id).await?;
        if found.status != ConversationStatus::Trashed {
            bail!("only a conversation in the trash can be purged; `manent rm {id}` puts it there");
        }
        let (title, messages) = (named(&found), counted(found.messages, "message"));
        context.output.confirm(&format!("Destroy {title} with {messages}? This cannot be undone."))?;
        context.database.purge(id).await?;
        context.output.done(&format!("purged {title}"));
        Ok(())
    }
}

/// Erase content without a trace in the files, and print a receipt.
#[derive(Args)]
pub struct EraseArgs {
    #[command(flatten)]
    target: EraseTargetArgs,
    /// Also erase it from managed backups: take a new backup and remove older ones.
    #[arg(long)]
    backups: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct EraseTargetArgs {
    /// A conversation with all its content.
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// A message, on every branch.
    #[arg(long, value_name = "ID")]
    message: Option<String>,
    /// Everything an author wrote, by external id.
    #[arg(long, value_name = "ID")]
    author: Option<String>,
}

impl EraseArgs {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let EraseTargetArgs { conversation, message, author } = self.target;
        let (target, named) = match (conversation, message, author) {
            (Some(text), ..) => {
                let id = context.conversation(&text).await?;
                let found = context.database.conversation(id).await?;
                (
                    EraseTarget::Conversation(id),
                    format!("{} with {}", named(&found), counted(found.messages, "message")),
                )
            }
            (_, Some(text), _) => {
                let id = context.message(&text).await?;
                (EraseTarget::Message(id), format!("message {id}"))
            }
            (.., author) => {
                let author = author.unwrap_or_default();
                let named = format!("everything that {author} wrote");
                (EraseTarget::Person(author), named)
            }
        };
        context.output.confirm(&format!("Erase {named}? This cannot be undone."))?;
        let old_backups = if self.backups { OldBackups::Replace } else { OldBackups::Keep };
        let erased = context.database.erase_content(target, Some(&context.backups), old_backups).await?;
        context.output.json(&erased)?;
        if erased.kept.backups > 0 {
            let (count, folder) = (erased.kept.backups, context.backups.display());
            context.output.warn(&format!("{count} managed backups in {folder} still hold it; --backups replaces them"));
        }
        Ok(())
    }
}

/// Change project, members, metadata or title of a conversation.
#[derive(Args)]
pub struct Set {
    #[command(flatten)]
    one: ConversationArg,
    /// Project; an empty value removes it.
    #[arg(long)]
    project: Option<String>,
    /// Members as ID or ID=NAME; replaces the list.
    #[arg(long, value_name = "ID[=NAME]")]
    member: Vec<String>,
    /// Metadata as JSON; an empty value removes it.
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Title, without the restrictions of `rename`.
    #[arg(long)]
    title: Option<String>,
    /// Fail unless the conversation has this version.
    #[arg(long, value_name = "N")]
    version: Option<i64>,
}

impl Set {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let id = context.conversation(&self.one.conversation).await?;
        let project = match self.project.as_deref() {
            None => None,
            Some("") => Some(None),
            Some(text) => Some(Some(context.database.resolve_project(text).await?)),
        };
        let metadata = match self.metadata.as_deref() {
            None => None,
            Some("") => Some(None),
            Some(text) => Some(Some(read_json(text)?)),
        };
        let members = (!self.member.is_empty()).then(|| self.member.iter().map(|text| author(text)).collect());
        let patch = ConversationPatch { title: self.title, project, members, metadata, ..ConversationPatch::default() };
        let conversation = context.database.edit_conversation(id, patch, self.version).await?;
        context.changed(conversation.id, "changed").await
    }
}

/// Parses `id` or `id=name`.
pub fn author(text: &str) -> Author {
    let (id, name) = text.split_once('=').unwrap_or((text, ""));
    Author { id: id.to_owned(), name: name.to_owned() }
}

/// Parses a value of an enum of the model.
pub fn word<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}

/// Formats a value of an enum of the model.
pub fn spelled<T: serde::Serialize>(word: &T) -> String {
    serde_json::to_value(word).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
