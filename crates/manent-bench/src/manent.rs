//! Manent on SQLite, through the embedded library.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::manent::model::{BranchId, MessageId};
use ::manent::store::sqlite::{SqliteOptions, SqliteStore};
use ::manent::store::{Direction, MessagePageQuery};
use ::manent::{ConversationDraft, ConversationId, Database, MessageDraft, Part};
use anyhow::{Context, Result};
use tokio::runtime::Runtime;

use crate::corpus::{Corpus, Message, Role};
use crate::drive;
use crate::measure::{LAST, Measure, WRITERS};
use crate::subject::{Side, Subject};
use crate::summary::Summary;

/// The name in the table.
pub const NAME: &str = "Manent";

/// How many conversations of each length are appended to, and how often each in one round.
const AT_LENGTH: usize = 40;
const EACH: usize = 5;
/// Messages that loading stores with one commit.
const LOAD: usize = 500;
/// Branches in the path whose end is compared with a path of one.
const BRANCHES: usize = 1_000;
/// Pages that are timed on the reading thread before it lets others in.
const PAGES: usize = 64;

/// A store that holds the corpus, and another that is written to.
pub struct Manent {
    runtime: Runtime,
    read: Database,
    reader: Arc<SqliteStore>,
    conversations: Vec<ConversationId>,
    path: PathBuf,
    write: Database,
    writers: Vec<ConversationId>,
    records: Vec<Message>,
    of_length: Vec<(usize, Vec<ConversationId>)>,
    one_branch: ConversationId,
    many_branches: ConversationId,
}

impl Manent {
    /// Loads the corpus and makes the conversations that are appended to.
    pub fn load(directory: &Path, corpus: &Corpus, lengths: &[usize]) -> Result<Manent> {
        let runtime = Runtime::new()?;
        let path = directory.join("manent-read.db");
        let reader = Arc::new(SqliteStore::open(SqliteOptions::new(&path))?);
        let read = Database::from_store(reader.clone());
        let write = Database::open(directory.join("manent-write.db"))?;
        let mut conversations = Vec::new();
        for number in 0..corpus.conversations {
            conversations.push(runtime.block_on(fill(&read, corpus.conversation(number)))?);
        }
        let (one_branch, many_branches) = runtime.block_on(branches(&read, corpus))?;
        let mut writers = Vec::new();
        for _ in 0..WRITERS {
            writers.push(runtime.block_on(write.create(ConversationDraft::default()))?.id);
        }
        let mut of_length = Vec::new();
        for &length in lengths {
            let mut filled = Vec::new();
            for number in 0..AT_LENGTH {
                let messages = corpus.all().skip(number).take(length);
                filled.push(runtime.block_on(fill(&write, messages))?);
            }
            of_length.push((length, filled));
        }
        let records = corpus.all().take(4_096).collect();
        Ok(Manent {
            runtime,
            read,
            reader,
            conversations,
            path,
            write,
            writers,
            records,
            of_length,
            one_branch,
            many_branches,
        })
    }

    /// The file that holds the corpus.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn append(&self, conversation: ConversationId, message: &Message) -> Result<()> {
        self.runtime.block_on(self.write.append(conversation, draft(message)))?;
        Ok(())
    }

    fn at_length(&self, length: usize) -> Result<Summary> {
        let (_, filled) = self.of_length.iter().find(|(known, _)| *known == length).context("not a length we have")?;
        let mut latencies = Vec::new();
        let started = Instant::now();
        for round in 0..EACH {
            for (number, conversation) in filled.iter().enumerate() {
                let message = draft(&self.records[(round * AT_LENGTH + number) % self.records.len()]);
                let before = Instant::now();
                self.runtime.block_on(self.write.append(*conversation, message))?;
                latencies.push(before.elapsed());
            }
        }
        Ok(Summary::of(latencies, started.elapsed()))
    }

    /// Times pages as bytes on the reading thread, as LMDB's are timed on the calling one.
    fn pages(&self, window: Duration, pick: impl Fn(usize) -> ConversationId, limit: u32) -> Result<Summary> {
        let mut latencies = Vec::new();
        let started = Instant::now();
        let mut next = 0;
        while started.elapsed() < window {
            let queries = (next..next + PAGES).map(|number| page(pick(number), limit)).collect();
            latencies.extend(self.runtime.block_on(self.reader.time_windows(queries))?);
            next += PAGES;
        }
        // Only the pages themselves count, not the way to the reading thread.
        let elapsed = latencies.iter().sum();
        Ok(Summary::of(latencies, elapsed))
    }

    fn random(&self) -> impl Fn(usize) -> ConversationId + '_ {
        let mut random = fastrand::Rng::with_seed(50);
        let order: Vec<usize> = (0..4_096).map(|_| random.usize(0..self.conversations.len())).collect();
        move |number| self.conversations[order[number % order.len()]]
    }
}

pub fn page(conversation: ConversationId, limit: u32) -> MessagePageQuery {
    MessagePageQuery { conversation, branch: None, from: None, direction: Direction::Backward, limit }
}

/// Turns a message of the corpus into one of ours: text and tool calls as parts.
pub fn draft(message: &Message) -> MessageDraft {
    let mut parts = vec![Part::text(message.content.clone())];
    for call in &message.tool_calls {
        parts.push(Part::ToolCall {
            id: call.id.clone(),
            name: call.name.to_owned(),
            input: ::manent::Json::of(&call.arguments),
            extra: Vec::new(),
        });
    }
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    MessageDraft::new(role, &parts)
}

/// Makes a conversation of these messages.
pub async fn fill(database: &Database, messages: impl Iterator<Item = Message>) -> Result<ConversationId> {
    let conversation = database.create(ConversationDraft::default()).await?.id;
    let drafts: Vec<MessageDraft> = messages.map(|message| draft(&message)).collect();
    for part in drafts.chunks(LOAD) {
        database.append_many(conversation, part.to_vec()).await?;
    }
    Ok(conversation)
}

/// Makes two equal paths: one of a single branch, one that forks at every message.
async fn branches(database: &Database, corpus: &Corpus) -> Result<(ConversationId, ConversationId)> {
    let messages: Vec<Message> = corpus.all().take(BRANCHES).collect();
    let one = fill(database, messages.iter().cloned()).await?;
    let many = database.create(ConversationDraft::default()).await?.id;
    let mut last: Option<MessageId> = None;
    for message in &messages {
        let id = database.append(many, draft(message)).await?;
        // A second message that is rewound makes the next append open a branch.
        if last.is_some() {
            database.append(many, MessageDraft::user("x")).await?;
            database.rewind(many, id).await?;
        }
        last = Some(id);
    }
    let opened: Vec<BranchId> = database.branches(many).await?.into_iter().map(|branch| branch.id).collect();
    anyhow::ensure!(opened.len() + 2 >= BRANCHES, "{} branches", opened.len());
    Ok((one, many))
}

impl Subject for Manent {
    fn name(&self) -> &str {
        NAME
    }

    fn side(&self) -> Side {
        Side::Ours
    }

    fn description(&self) -> String {
        format!(
            "the library on SQLite {}, WAL, synchronous=FULL; {} conversations loaded; pages as bytes are timed on the \
             reading thread, \"through Database\" is what a caller waits: the hop there and back, the read, the check of \
             every digest and the decoding of the parts; each round makes the conversations that are appended to {EACH} \
             messages longer, whatever their length",
            ::manent::store::sqlite::version(),
            self.conversations.len()
        )
    }

    fn measure(&mut self, measure: Measure, window: Duration) -> Option<Result<Summary>> {
        Some(match measure {
            Measure::SingleAppend => {
                let conversation = self.writers[0];
                drive::one_after_another(window, &self.records, |message| self.append(conversation, message))
            }
            Measure::GroupAppend => drive::all_together(window, WRITERS, &self.records, |writer, message| {
                self.append(self.writers[writer], message)
            }),
            Measure::AppendAtLength(length) => self.at_length(length),
            Measure::LastMessages => self.pages(window, self.random(), LAST as u32),
            Measure::WholeConversation => self.pages(window, self.random(), 1_000),
            Measure::LastThroughDatabase => {
                let pick = self.random();
                let numbers: Vec<usize> = (0..4_096).collect();
                drive::one_after_another(window, &numbers, |number| {
                    let page = self.runtime.block_on(self.read.last(pick(*number), LAST as u32))?;
                    for message in &page.messages {
                        std::hint::black_box(message.content.body.parts());
                    }
                    Ok(())
                })
            }
            Measure::EndOfBranches(1) => self.pages(window, |_| self.one_branch, LAST as u32),
            Measure::HttpAppend | Measure::HttpPage | Measure::ServerAppend | Measure::ServerPage => return None,
            Measure::EndOfBranches(_) => self.pages(window, |_| self.many_branches, LAST as u32),
        })
    }
}
