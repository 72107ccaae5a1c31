//! Reading: line by line through the low lane; a broken line is reported with its place, and the rest goes on.

use super::record::*;
use crate::database::{Database, only};
use crate::error::{Error, Result};
use crate::ids::now;
use base64::Engine as _;
use manent_model::{
    Author, Bookmark, Call, ConversationId, ConversationPatch, ConversationStatus, Document, Event, Fold, Input,
    Memory, MessageStatus, Micros, NewMessage, Note, Origin, Project, Quarantined, Scratch, Source, State,
};
use manent_store::{
    At, BranchBase, Change, ConversationRef, DocumentsQuery, Done, Erase, HeadMove, HeadTo, NewEvent, NewFold,
    OriginsQuery, ToolCallTrail, Why,
};
use serde::de::DeserializeOwned;
use std::collections::{HashMap, HashSet};
use std::io::BufRead;

/// A longer line is not one of ours.
const LINE_MAX: usize = 256 << 20;
/// Messages are stored in groups of this many, or of this many bytes.
const GROUP: usize = 200;
const GROUP_BYTES: usize = 1 << 20;

/// A line that could not be taken in.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct ImportProblem {
    /// The line, counted from 1.
    pub line: u64,
    /// Why.
    pub why: String,
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct ImportReport {
    /// Lines that were read.
    pub lines: u64,
    /// Conversations that were added.
    pub conversations: u64,
    /// Conversations that were there already and were left as they are.
    pub unchanged: u64,
    /// Messages that were added.
    pub messages: u64,
    /// Lines that could not be taken in.
    pub problems: Vec<ImportProblem>,
}

struct Importer<'a> {
    database: &'a Database,
    report: ImportReport,
    line: u64,
    /// The conversation that is being filled.
    open: Option<Filling>,
    /// Conversations that were there before; their lines are passed over.
    skipped: HashSet<ConversationId>,
    /// How many versions of a document the file has given so far.
    documents: HashMap<(String, String), usize>,
    ended: bool,
}

/// What became of a change that a line asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    In,
    /// The store refused it, and the report says why.
    Refused,
}

/// A conversation that is being filled.
struct Filling {
    record: ConversationRecord,
    /// A branch that waits for the messages that stand in its pieces.
    branch: Option<BranchRecord>,
    /// Messages that wait to be stored together.
    waiting: Vec<MessageRecord>,
    bytes: usize,
    head: Option<HeadRecord>,
    /// Events that wait to be stored together.
    events: Vec<NewEvent>,
}

impl Database {
    /// Reads JSON lines that `export_jsonl` wrote, of this store or another.
    ///
    /// A conversation that exists is left as it is. One whose import was cut off is imported anew.
    pub async fn import_jsonl<R: BufRead + Send>(&self, mut reader: R) -> Result<ImportReport> {
        let plain = self.plain();
        let mut importer = Importer {
            database: &plain,
            report: ImportReport::default(),
            line: 0,
            open: None,
            skipped: HashSet::new(),
            documents: HashMap::new(),
            ended: false,
        };
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let read = read_line(&mut reader, &mut bytes).map_err(|source| Error::File {
                doing: "reading",
                path: "the import".to_owned(),
                source,
            })?;
            if read == 0 {
                break;
            }
            importer.line += 1;
            importer.report.lines += 1;
            importer.take(&bytes).await?;
        }
        // The end line closes the last conversation. Without it, nobody knows how much is missing, so that one stays
        // unfinished and the whole file can be imported over it.
        if !importer.ended {
            importer.problem("the file is cut: it has no end line, and its last conversation is not finished");
        }
        Ok(importer.report)
    }
}

fn read_line(reader: &mut impl BufRead, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut limited = std::io::Read::take(reader, LINE_MAX as u64);
    limited.read_until(b'\n', bytes)
}

impl Importer<'_> {
    fn problem(&mut self, why: impl ToString) {
        self.report.problems.push(ImportProblem { line: self.line, why: why.to_string() });
    }

    /// Takes a line in. What is wrong with the line is reported; what is wrong with the store ends the import.
    async fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        if bytes.is_empty() {
            return Ok(());
        }
        let line: Line = match serde_json::from_slice(bytes) {
            Ok(line) => line,
            Err(error) => {
                self.problem(error);
                return Ok(());
            }
        };
        if line.conversation.is_some_and(|id| self.skipped.contains(&id)) {
            return Ok(());
        }
        match self.dispatch(&line).await {
            Err(Error::Store(error)) if is_about_the_line(&error) => self.problem(error),
            outcome => outcome?,
        }
        Ok(())
    }

    async fn dispatch(&mut self, line: &Line) -> Result<()> {
        let same = |open: &Filling| Some(open.record.id) == line.conversation;
        let belongs = self.open.as_ref().is_some_and(same);
        if line.kind == Kind::Conversation || (!belongs && self.open.is_some()) {
            self.finish_conversation().await?;
        }
        if line.kind != Kind::Conversation && line.conversation.is_some() && !belongs {
            self.problem("the line belongs to a conversation that was not begun");
            return Ok(());
        }
        match line.kind {
            Kind::Manent => {
                if let Some(Beginning { format }) = self.read(line)
                    && format > FORMAT
                {
                    self.problem(format!("format {format} is newer than {FORMAT}, which this program knows"));
                }
                Ok(())
            }
            Kind::Conversation => self.begin_conversation(line).await,
            Kind::Branch => self.branch(line).await,
            Kind::Message => self.message(line).await,
            Kind::Head => {
                let head = self.read(line);
                if let Some(open) = &mut self.open {
                    open.head = head;
                }
                self.set_head().await
            }
            Kind::End => {
                self.ended = true;
                if let Some(End { lines }) = self.read(line)
                    && lines != self.line
                {
                    self.problem(format!("the file had {lines} lines when it was written"));
                }
                Ok(())
            }
            _ => self.thing(line).await,
        }
    }

    fn read<T: DeserializeOwned>(&mut self, line: &Line) -> Option<T> {
        match line.value.read() {
            Ok(value) => Some(value),
            Err(error) => {
                self.problem(error);
                None
            }
        }
    }

    async fn begin_conversation(&mut self, line: &Line) -> Result<()> {
        let Some(record) = self.read::<ConversationRecord>(line) else {
            self.skipped.extend(line.conversation);
            return Ok(());
        };
        match self.database.store.conversation(ConversationRef::Id(record.id)).await? {
            Some(there) if there.status == ConversationStatus::Importing => {
                // An earlier import was cut off here; half a conversation is no conversation.
                self.database.trash(record.id).await?;
                self.database.purge(record.id).await?;
            }
            Some(_) => {
                self.skipped.insert(record.id);
                self.report.unchanged += 1;
                return Ok(());
            }
            None => {}
        }
        let mut draft = record.draft.clone();
        let change =
            |draft| Change::CreateConversation { id: record.id, branch: record.branch, draft, importing: true };
        let known = match draft.project {
            Some(project) => self.database.projects().await?.iter().any(|known| known.id == project),
            None => true,
        };
        if !known {
            self.problem("its project is not here; the conversation is imported without it");
            draft.project = None;
        }
        let made = self.database.change_low(record.times.created_at, None, change(draft)).await?;
        if only(made) != Done::Conversation(record.id) {
            self.problem("another conversation has its external id");
            self.skipped.insert(record.id);
            return Ok(());
        }
        self.report.conversations += 1;
        self.open =
            Some(Filling { record, branch: None, waiting: Vec::new(), bytes: 0, head: None, events: Vec::new() });
        Ok(())
    }

    async fn branch(&mut self, line: &Line) -> Result<()> {
        self.store_messages().await?;
        let Some(record) = self.read::<BranchRecord>(line) else { return Ok(()) };
        let waits = record.own_in_pieces > 0;
        if let Some(open) = &mut self.open {
            open.branch = Some(record);
        }
        if waits { Ok(()) } else { self.open_branch().await }
    }

    /// Opens the branch that waits, with the messages that stand in its pieces.
    async fn open_branch(&mut self) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let Some(branch) = open.branch.take() else { return Ok(()) };
        let own = std::mem::take(&mut open.waiting);
        open.bytes = 0;
        let change = Change::OpenBranch {
            conversation: open.record.id,
            branch: branch.id,
            base: branch.parent.map(|parent| BranchBase { parent, fork: branch.fork }),
            own: own.iter().map(new_message).collect(),
            pieces: branch.pieces,
            why: branch.why,
        };
        self.add_messages(change, &own).await
    }

    async fn message(&mut self, line: &Line) -> Result<()> {
        let Some(record) = self.read::<MessageRecord>(line) else { return Ok(()) };
        let Some(open) = &mut self.open else { return Ok(()) };
        let other_branch = open.waiting.last().is_some_and(|last| last.branch != record.branch);
        if let Some(branch) = &open.branch {
            let complete = open.waiting.len() as i64 + 1 == branch.own_in_pieces;
            open.waiting.push(record);
            return if complete { self.open_branch().await } else { Ok(()) };
        }
        if other_branch || open.waiting.len() >= GROUP || open.bytes >= GROUP_BYTES {
            self.store_messages().await?;
        }
        if let Some(open) = &mut self.open {
            open.bytes += record.content.body.text().len();
            open.waiting.push(record);
        }
        Ok(())
    }

    /// Stores the messages that wait, at the end of their branch.
    async fn store_messages(&mut self) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let waiting = std::mem::take(&mut open.waiting);
        open.bytes = 0;
        let Some(first) = waiting.first() else { return Ok(()) };
        let change = Change::AppendMessages {
            conversation: open.record.id,
            at: At::Branch { branch: first.branch },
            head: HeadMove::Stay,
            why: Why::Import,
            messages: waiting.iter().map(new_message).collect(),
            origins: waiting.iter().filter_map(|record| record.origin.clone()).collect(),
        };
        self.add_messages(change, &waiting).await
    }

    /// Stores messages and counts them. What was erased where it came from is erased here: only its place comes along.
    async fn add_messages(&mut self, change: Change, records: &[MessageRecord]) -> Result<()> {
        if self.try_low(now(), None, change).await? == Taken::Refused {
            return Ok(());
        }
        self.report.messages += records.len() as u64;
        for record in records.iter().filter(|record| record.erased) {
            self.database.erase(Erase::Message(record.id)).await?;
        }
        Ok(())
    }

    async fn low(&mut self, at: Micros, change: Change) -> Result<()> {
        self.low_by(at, None, change).await
    }

    async fn low_by(&mut self, at: Micros, actor: Option<Author>, change: Change) -> Result<()> {
        self.try_low(at, actor, change).await.map(drop)
    }

    /// Does a change between what is more urgent; a refusal is reported with the line.
    async fn try_low(&mut self, at: Micros, actor: Option<Author>, change: Change) -> Result<Taken> {
        match self.database.change_low(at, actor, change).await {
            Err(Error::Store(error)) if is_about_the_line(&error) => {
                self.problem(error);
                Ok(Taken::Refused)
            }
            outcome => outcome.map(|_| Taken::In),
        }
    }

    async fn set_head(&mut self) -> Result<()> {
        self.store_messages().await?;
        let Some(open) = &self.open else { return Ok(()) };
        let Some(head) = &open.head else { return Ok(()) };
        let to = HeadTo::On { branch: head.branch, message: head.message };
        let conversation = open.record.id;
        self.low(now(), Change::MoveHead { conversation, to }).await
    }

    /// Gives a filled conversation the life and the times it had.
    async fn finish_conversation(&mut self) -> Result<()> {
        self.store_messages().await?;
        self.store_events().await?;
        let Some(open) = self.open.take() else { return Ok(()) };
        let patch = ConversationPatch {
            status: Some(match open.record.status {
                ConversationStatus::Importing => ConversationStatus::Active,
                status => status,
            }),
            pinned: Some(open.record.pinned),
            times: Some(open.record.times),
            ..ConversationPatch::default()
        };
        self.low(now(), Change::EditConversation { id: open.record.id, patch }).await
    }

    async fn store_events(&mut self) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let events = std::mem::take(&mut open.events);
        let conversation = open.record.id;
        match events.is_empty() {
            true => Ok(()),
            false => self.low(now(), Change::AppendEvents { conversation, events }).await,
        }
    }

    /// Takes in what is neither a conversation nor a branch nor a message.
    async fn thing(&mut self, line: &Line) -> Result<()> {
        self.store_messages().await?;
        match line.conversation {
            Some(conversation) => self.attached(conversation, line).await,
            None => self.beside(line).await,
        }
    }

    async fn attached(&mut self, conversation: ConversationId, line: &Line) -> Result<()> {
        match line.kind {
            Kind::Chunk => {
                let Some(ChunkRecord { message, text }) = self.read(line) else { return Ok(()) };
                self.low(now(), Change::AppendChunk { message, delta: text }).await
            }
            Kind::Note => {
                let Some(Note { id, message, kind, actor, value, at }) = self.read(line) else { return Ok(()) };
                self.low_by(at, actor, Change::AddNote { id, message, kind, value }).await
            }
            Kind::Bookmark => {
                let Some(Bookmark { name, head, metadata, at }) = self.read(line) else { return Ok(()) };
                self.low(at, Change::SetBookmark { conversation, name, head, metadata }).await
            }
            Kind::State => {
                let Some(State { name, after, value, at }) = self.read(line) else { return Ok(()) };
                self.low(at, Change::SetState { conversation, name, after, value }).await
            }
            Kind::Fold => {
                let Some(fold) = self.read::<Fold>(line) else { return Ok(()) };
                self.fold(conversation, fold).await
            }
            Kind::Call => {
                let Some(call) = self.read::<Call>(line) else { return Ok(()) };
                self.low(call.at, Change::RecordCall { conversation, call }).await
            }
            Kind::ToolCall => {
                let Some(ToolCallTrail { call, steps }) = self.read(line) else { return Ok(()) };
                self.low(now(), Change::PutToolTrail { call, steps }).await
            }
            Kind::Input => {
                let Some(Input { id, at, body, taken }) = self.read(line) else { return Ok(()) };
                self.low(at, Change::PutInput { conversation, id, body }).await?;
                match taken {
                    true => self.low(at, Change::TakeInputs { conversation, ids: vec![id] }).await,
                    false => Ok(()),
                }
            }
            Kind::Event => {
                let Some(Event { channel, at, body, .. }) = self.read(line) else { return Ok(()) };
                let full = match &mut self.open {
                    Some(open) => {
                        open.events.push(NewEvent { channel, at, body });
                        open.events.len() >= GROUP
                    }
                    None => false,
                };
                if full { self.store_events().await } else { Ok(()) }
            }
            _ => {
                self.problem("the line belongs to no conversation");
                Ok(())
            }
        }
    }

    async fn fold(&mut self, conversation: ConversationId, fold: Fold) -> Result<()> {
        let new = NewFold {
            id: fold.id,
            after: fold.after,
            kind: fold.kind,
            covers: fold.covers,
            summary: fold.summary,
            parent: fold.parent,
            made_by: fold.made_by,
        };
        self.low(fold.at, Change::AddFold { conversation, fold: new }).await?;
        match fold.active {
            true => Ok(()),
            false => self.low(fold.at, Change::SetFoldActive { fold: fold.id, active: false }).await,
        }
    }

    /// A version of a document that is there already is not added again.
    async fn document(&mut self, document: Document) -> Result<()> {
        let Document { kind, id, project, body, at, .. } = document;
        let place = self.documents.entry((kind.clone(), id.clone())).or_insert(0);
        let query = DocumentsQuery::Versions { kind: kind.clone(), id: id.clone() };
        let known = self.database.store.documents(query).await?;
        let same = known.get(*place).is_some_and(|known| known.body == body && known.at == at);
        *place += 1;
        if same { Ok(()) } else { self.low(at, Change::PutDocument { kind, id, project, body }).await }
    }

    async fn beside(&mut self, line: &Line) -> Result<()> {
        match line.kind {
            Kind::Project => {
                let Some(project) = self.read::<Project>(line) else { return Ok(()) };
                self.low(now(), Change::CreateProject { project }).await
            }
            Kind::Blob => {
                let Some(BlobRecord { base64, .. }) = self.read(line) else { return Ok(()) };
                match base64::engine::general_purpose::STANDARD.decode(base64) {
                    Ok(bytes) => self.database.put_blob(&bytes).await.map(drop),
                    Err(error) => {
                        self.problem(error);
                        Ok(())
                    }
                }
            }
            Kind::Source => {
                let Some(source) = self.read::<Source>(line) else { return Ok(()) };
                let known = self.database.store.sources().await?.contains(&source);
                if known { Ok(()) } else { self.low(source.at, Change::PutSource { source }).await }
            }
            Kind::Quarantined => {
                let Some(quarantined) = self.read::<Quarantined>(line) else { return Ok(()) };
                let known = self.database.store.quarantined(quarantined.source).await?.contains(&quarantined);
                if known { Ok(()) } else { self.low(now(), Change::Quarantine { quarantined }).await }
            }
            Kind::Document => {
                let Some(document) = self.read::<Document>(line) else { return Ok(()) };
                self.document(document).await
            }
            Kind::Memory => {
                let Some(memory) = self.read::<Memory>(line) else { return Ok(()) };
                self.low(now(), Change::PutMemory { memory }).await
            }
            Kind::Origin => {
                let Some(origin) = self.read::<Origin>(line) else { return Ok(()) };
                let known = self.database.store.origins(OriginsQuery::Source(origin.source)).await?;
                if known.contains(&origin) { Ok(()) } else { self.low(now(), Change::PutOrigin { origin }).await }
            }
            Kind::Scratch => {
                let Some(scratch) = self.read::<Scratch>(line) else { return Ok(()) };
                self.low(scratch.at, Change::PutScratch { scratch }).await
            }
            _ => {
                self.problem("the line does not say which conversation it belongs to");
                Ok(())
            }
        }
    }
}

fn new_message(record: &MessageRecord) -> NewMessage {
    let mut content = record.content.clone();
    // An erased message has nothing to stream.
    if record.erased && content.status == MessageStatus::Streaming {
        content.status = MessageStatus::Incomplete;
    }
    NewMessage { id: record.id, content }
}

/// What the store refuses because of the line itself is reported; the rest is no fault of the file.
fn is_about_the_line(error: &manent_store::StoreError) -> bool {
    use manent_store::StoreError;
    matches!(
        error,
        StoreError::NotFound { .. } | StoreError::Conflict(_) | StoreError::Invalid(_) | StoreError::TooLarge { .. }
    )
}
