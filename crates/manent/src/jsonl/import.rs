//! Reading: line by line through the low lane; a broken line is reported with its place, and the rest goes on.

use super::group::*;
use super::record::*;
use crate::database::{Database, only};
use crate::error::{Error, Result};
use crate::ids::now;
use base64::Engine as _;
use manent_model::{
    Bookmark, Call, ConversationId, ConversationPatch, ConversationStatus, Document, Event, Fold, Input, Memory,
    MessageId, Micros, Note, Origin, Project, Quarantined, Scratch, Source, State,
};
use manent_store::{
    BranchBase, Change, ConversationRef, DocumentsQuery, Done, Erase, HeadTo, MessagesQuery, NewEvent, NewFold,
    OriginsQuery, ToolCallTrail,
};
use serde::de::DeserializeOwned;
use std::collections::{HashMap, HashSet};
use std::io::BufRead;

/// A longer line is not one of ours.
const LINE_MAX: usize = 256 << 20;
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

/// A conversation that is being filled.
struct Filling {
    record: ConversationRecord,
    /// A branch that waits for the messages that stand in its pieces.
    branch: Option<BranchRecord>,
    /// Messages that wait to be stored together, each with its line.
    waiting: Vec<(u64, MessageRecord)>,
    bytes: usize,
    head: Option<HeadRecord>,
    /// Events that wait to be stored together.
    events: Vec<NewEvent>,
    event_bytes: usize,
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
            importer.store_messages().await?;
            importer.store_events().await?;
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
        self.problem_at(self.line, why);
    }

    fn problem_at(&mut self, line: u64, why: impl ToString) {
        self.report.problems.push(ImportProblem { line, why: why.to_string() });
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
        match serde_json::from_str(line.value.get()) {
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
        self.open = Some(Filling {
            record,
            branch: None,
            waiting: Vec::new(),
            bytes: 0,
            head: None,
            events: Vec::new(),
            event_bytes: 0,
        });
        Ok(())
    }

    async fn branch(&mut self, line: &Line) -> Result<()> {
        self.store_messages().await?;
        let Some(record) = self.read::<BranchRecord>(line) else { return Ok(()) };
        if record.own_in_pieces > OWN_IN_PIECES_MAX {
            self.problem(format!("a branch has at most {OWN_IN_PIECES_MAX} messages of its own in its pieces"));
            return Ok(());
        }
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
            own: own.iter().map(|(_, record)| new_message(record)).collect(),
            pieces: branch.pieces,
            why: branch.why,
        };
        match self.attempt(now(), None, change).await? {
            None => self.stored(&own).await,
            Some(error) => {
                self.problem(error);
                Ok(())
            }
        }
    }

    async fn message(&mut self, line: &Line) -> Result<()> {
        let Some(record) = self.read::<MessageRecord>(line) else { return Ok(()) };
        let Some(open) = &mut self.open else { return Ok(()) };
        let other_branch = open.waiting.last().is_some_and(|(_, last)| last.branch != record.branch);
        if let Some(branch) = &open.branch {
            let complete = open.waiting.len() as i64 + 1 == branch.own_in_pieces;
            open.waiting.push((self.line, record));
            return if complete { self.open_branch().await } else { Ok(()) };
        }
        let size = size_of(&record);
        if other_branch || open.waiting.len() >= GROUP || open.bytes + size > GROUP_BYTES {
            self.store_messages().await?;
        }
        if let Some(open) = &mut self.open {
            open.bytes += size;
            open.waiting.push((self.line, record));
        }
        Ok(())
    }

    /// Stores the messages that wait, at the end of their branch; one that is refused does not take the others along.
    async fn store_messages(&mut self) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let waiting = std::mem::take(&mut open.waiting);
        open.bytes = 0;
        let conversation = open.record.id;
        if waiting.is_empty() {
            return Ok(());
        }
        if self.attempt(now(), None, appending(conversation, &waiting)).await?.is_none() {
            return self.stored(&waiting).await;
        }
        for alone in waiting.chunks(1) {
            match self.attempt(now(), None, appending(conversation, alone)).await? {
                None => self.stored(alone).await?,
                Some(error) => self.problem_at(alone[0].0, error),
            }
        }
        Ok(())
    }

    /// Counts messages that were stored. What was erased where it came from is erased here: only its place comes along.
    ///
    /// Never for messages that were refused: their ids may be those of somebody else's messages.
    async fn stored(&mut self, records: &[(u64, MessageRecord)]) -> Result<()> {
        self.report.messages += records.len() as u64;
        for (_, record) in records.iter().filter(|(_, record)| record.erased) {
            self.database.erase(Erase::Message(record.id)).await?;
        }
        Ok(())
    }

    /// Does something and returns why the store refused it, if it did because of the line.
    async fn attempt(
        &mut self,
        at: Micros,
        actor: Option<manent_model::Author>,
        change: Change,
    ) -> Result<Option<manent_store::StoreError>> {
        match self.database.change_low(at, actor, change).await {
            Err(Error::Store(error)) if is_about_the_line(&error) => Ok(Some(error)),
            outcome => outcome.map(|_| None),
        }
    }

    /// Reports a line about a message that the conversation does not own; others are left as they are.
    async fn owns(&mut self, conversation: ConversationId, message: MessageId) -> Result<bool> {
        let found = self.database.store.messages(MessagesQuery::Ids(vec![message])).await?;
        let owns = found.first().is_some_and(|placed| placed.conversation == conversation);
        if !owns {
            self.problem(format!("the conversation has no message {message}"));
        }
        Ok(owns)
    }

    async fn low(&mut self, at: Micros, change: Change) -> Result<()> {
        self.low_by(at, None, change).await
    }

    async fn low_by(&mut self, at: Micros, actor: Option<manent_model::Author>, change: Change) -> Result<()> {
        if let Some(error) = self.attempt(at, actor, change).await? {
            self.problem(error);
        }
        Ok(())
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
        open.event_bytes = 0;
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
                if self.owns(conversation, message).await? {
                    for delta in pieces_of(&text) {
                        self.low(now(), Change::AppendChunk { message, delta: delta.to_owned() }).await?;
                    }
                }
                Ok(())
            }
            Kind::Note => {
                let Some(Note { id, message, kind, actor, value, at }) = self.read(line) else { return Ok(()) };
                match self.owns(conversation, message).await? {
                    true => self.low_by(at, actor, Change::AddNote { id, message, kind, value }).await,
                    false => Ok(()),
                }
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
                match self.owns(conversation, call.message).await? {
                    true => self.low(now(), Change::PutToolTrail { call, steps }).await,
                    false => Ok(()),
                }
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
                let size = channel.len() + body.text().len() + 32;
                let full = |open: &Filling| open.events.len() >= GROUP || open.event_bytes + size > GROUP_BYTES;
                if self.open.as_ref().is_some_and(full) {
                    self.store_events().await?;
                }
                if let Some(open) = &mut self.open {
                    open.event_bytes += size;
                    open.events.push(NewEvent { channel, at, body });
                }
                Ok(())
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
        // A fold that was refused may have the id of one that was here before, and that one stays as it is.
        if let Some(error) = self.attempt(fold.at, None, Change::AddFold { conversation, fold: new }).await? {
            self.problem(error);
            return Ok(());
        }
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

/// What the store refuses because of the line itself is reported; the rest is no fault of the file.
fn is_about_the_line(error: &manent_store::StoreError) -> bool {
    use manent_store::StoreError;
    matches!(
        error,
        StoreError::NotFound { .. } | StoreError::Conflict(_) | StoreError::Invalid(_) | StoreError::TooLarge { .. }
    )
}
