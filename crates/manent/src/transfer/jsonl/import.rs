//! JSON lines import: commits at low priority; a broken line is reported with its number, and the import continues.

use crate::database::{Database, only};
use crate::error::{Error, Result};
use crate::transfer::jsonl::branch::Waiting;
use crate::transfer::jsonl::existing::ExistingLibrary;
use crate::transfer::jsonl::group::*;
use crate::transfer::jsonl::line::{LINE_MAX, Read, read_line};
use crate::transfer::jsonl::record::*;
use manent_model::{
    Bookmark, Call, ConversationId, ConversationPatch, ConversationStatus, Document, Event, Fold, Input, Memory,
    MessageId, Note, Origin, Project, Quarantined, Scratch, Source, State, Timestamp,
};
use manent_store::{
    Change, ChangeResult, ConversationRef, DamagedRecord, HeadTarget, MessagesQuery, NewEvent, NewFold, ToolCallTrail,
};
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use std::io::BufRead;

const NOT_OURS: &str = "this is no file of ours: its first line does not say so";

/// A line that could not be imported.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct ImportProblem {
    /// Line number, from 1.
    pub line: u64,
    /// The reason.
    pub why: String,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct JsonlImportReport {
    /// Lines that were read.
    pub lines: u64,
    /// Conversations that were added.
    pub conversations: u64,
    /// Conversations that existed already and were left unchanged.
    pub unchanged: u64,
    /// Messages that were added.
    pub messages: u64,
    /// Lines that could not be imported.
    pub problems: Vec<ImportProblem>,
}

pub(crate) struct Importer<'a> {
    pub database: &'a Database,
    pub report: JsonlImportReport,
    pub line: u64,
    /// The conversation that is being imported.
    pub open: Option<ConversationImport>,
    /// Conversations that existed before; their lines are skipped.
    skipped: HashSet<ConversationId>,
    known: ExistingLibrary,
    state: Progress,
}

/// State of the reader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// The header line has not been read yet.
    Unknown,
    Begun,
    Ended,
    /// The file has an unsupported version or is not in this format.
    Refused,
}

/// A conversation that is being imported.
pub(crate) struct ConversationImport {
    pub record: ConversationRecord,
    /// A branch whose first messages are pending.
    pub branch: Option<Waiting>,
    /// Pending messages, each with its line number.
    pub waiting: Vec<(u64, MessageRecord)>,
    pub bytes: usize,
    head: Option<HeadRecord>,
    /// Pending events.
    events: Vec<NewEvent>,
    event_bytes: usize,
}

impl Database {
    /// Imports JSON lines that `export_jsonl` wrote, of this store or another.
    ///
    /// A conversation that exists is left unchanged. One whose import was interrupted is imported again.
    pub async fn import_jsonl<R: BufRead + Send>(&self, mut reader: R) -> Result<JsonlImportReport> {
        let plain = self.detached();
        let mut importer = Importer {
            database: &plain,
            report: JsonlImportReport::default(),
            line: 0,
            open: None,
            skipped: HashSet::new(),
            known: ExistingLibrary::default(),
            state: Progress::Unknown,
        };
        let mut bytes = Vec::new();
        while importer.state != Progress::Refused {
            let read = read_line(&mut reader, &mut bytes, LINE_MAX).map_err(|source| Error::File {
                doing: "reading",
                path: "the import".to_owned(),
                source,
            })?;
            if read == Read::End {
                break;
            }
            importer.line += 1;
            importer.report.lines += 1;
            match read {
                Read::TooLong => importer.problem("the line is longer than any of ours"),
                _ => importer.take(&bytes).await?,
            }
        }
        // The end line closes the last conversation. Without it, an unknown amount is missing, so that conversation
        // stays unfinished and the complete file can be imported over it.
        if matches!(importer.state, Progress::Unknown | Progress::Begun) {
            importer.store_messages().await?;
            importer.store_events().await?;
            importer.problem("the file is cut: it has no end line, and its last conversation is not finished");
        }
        Ok(importer.report)
    }
}

impl Importer<'_> {
    pub(crate) fn problem(&mut self, why: impl ToString) {
        self.problem_at(self.line, why);
    }

    pub(crate) fn problem_at(&mut self, line: u64, why: impl ToString) {
        self.report.problems.push(ImportProblem { line, why: why.to_string() });
    }

    /// Imports a line. A problem of the line is reported; a failure of the store ends the import.
    async fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        if bytes.is_empty() {
            return Ok(());
        }
        let line: Line = match serde_json::from_slice(bytes) {
            Ok(line) if self.state == Progress::Unknown => return self.begin(&line),
            Ok(line) => line,
            Err(_) if self.state == Progress::Unknown => return self.refuse(NOT_OURS),
            Err(error) => {
                self.problem(error);
                return Ok(());
            }
        };
        if line.conversation.is_some_and(|id| self.skipped.contains(&id)) {
            return Ok(());
        }
        match self.dispatch(&line).await {
            Err(Error::Store(error)) if error.is_rejection() => self.problem(error),
            outcome => outcome?,
        }
        Ok(())
    }

    /// Reads the header line.
    fn begin(&mut self, line: &Line) -> Result<()> {
        let format = (line.kind == Kind::Manent).then(|| serde_json::from_str::<Beginning>(&line.text()));
        match format {
            Some(Ok(Beginning { format })) if format > FORMAT => {
                self.refuse(&format!("format {format} is newer than {FORMAT}, which this program knows"))
            }
            Some(Ok(_)) => {
                self.state = Progress::Begun;
                Ok(())
            }
            _ => self.refuse(NOT_OURS),
        }
    }

    fn refuse(&mut self, why: &str) -> Result<()> {
        self.problem(why);
        self.state = Progress::Refused;
        Ok(())
    }

    async fn dispatch(&mut self, line: &Line) -> Result<()> {
        let same = |open: &ConversationImport| Some(open.record.id) == line.conversation;
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
                self.problem("a file begins once");
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
                self.state = Progress::Ended;
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

    pub(crate) fn read<T: DeserializeOwned>(&mut self, line: &Line) -> Option<T> {
        match serde_json::from_str(&line.text()) {
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
                // An earlier import was interrupted here; its incomplete conversation is replaced.
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
            Some(project) => self.known.projects(self.database).await?.contains(&project),
            None => true,
        };
        if !known {
            self.problem("its project is not here; the conversation is imported without it");
            draft.project = None;
        }
        let made = self.database.commit_background(record.times.created_at, None, change(draft)).await?;
        if only(made) != ChangeResult::Conversation(record.id) {
            self.problem("another conversation has its external id");
            self.skipped.insert(record.id);
            return Ok(());
        }
        self.report.conversations += 1;
        self.open = Some(ConversationImport {
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

    /// Commits a change and returns the reason if the store refused it because of the line.
    pub(crate) async fn attempt(
        &mut self,
        at: Timestamp,
        actor: Option<manent_model::Author>,
        change: Change,
    ) -> Result<Option<manent_store::StoreError>> {
        match self.database.commit_background(at, actor, change).await {
            Err(Error::Store(error)) if error.is_rejection() => Ok(Some(error)),
            outcome => outcome.map(|_| None),
        }
    }

    /// Reports a line about a message that the conversation does not own; such messages are left unchanged.
    async fn owns(&mut self, conversation: ConversationId, message: MessageId) -> Result<bool> {
        let found = self.database.store.messages(MessagesQuery::Ids(vec![message])).await?;
        let owns = found.first().is_some_and(|placed| placed.conversation == conversation);
        if !owns {
            self.problem(format!("the conversation has no message {message}"));
        }
        Ok(owns)
    }

    pub(crate) async fn commit_background(&mut self, at: Timestamp, change: Change) -> Result<()> {
        self.commit_background_as(at, None, change).await
    }

    async fn commit_background_as(
        &mut self,
        at: Timestamp,
        actor: Option<manent_model::Author>,
        change: Change,
    ) -> Result<()> {
        if let Some(error) = self.attempt(at, actor, change).await? {
            self.problem(error);
        }
        Ok(())
    }

    async fn set_head(&mut self) -> Result<()> {
        self.store_messages().await?;
        let Some(open) = &self.open else { return Ok(()) };
        let Some(head) = &open.head else { return Ok(()) };
        let to = HeadTarget::On { branch: head.branch, message: head.message };
        let conversation = open.record.id;
        self.commit_background(manent_store::now(), Change::MoveHead { conversation, to }).await
    }

    /// Sets the status and times of a conversation after its last line.
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
        self.commit_background(manent_store::now(), Change::EditConversation { id: open.record.id, patch }).await
    }

    async fn store_events(&mut self) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let events = std::mem::take(&mut open.events);
        open.event_bytes = 0;
        let conversation = open.record.id;
        match events.is_empty() {
            true => Ok(()),
            false => self.commit_background(manent_store::now(), Change::AppendEvents { conversation, events }).await,
        }
    }

    /// Imports a record that is not a conversation, branch or message.
    async fn thing(&mut self, line: &Line) -> Result<()> {
        self.store_messages().await?;
        match line.conversation {
            Some(conversation) => self.annotations(conversation, line).await,
            None => self.workspace_record(line).await,
        }
    }

    async fn annotations(&mut self, conversation: ConversationId, line: &Line) -> Result<()> {
        match line.kind {
            Kind::Note => {
                let Some(Note { id, message, kind, actor, value, at }) = self.read(line) else { return Ok(()) };
                match self.owns(conversation, message).await? {
                    true => self.commit_background_as(at, actor, Change::AddNote { id, message, kind, value }).await,
                    false => Ok(()),
                }
            }
            Kind::Bookmark => {
                let Some(Bookmark { name, head, metadata, at }) = self.read(line) else { return Ok(()) };
                self.commit_background(at, Change::SetBookmark { conversation, name, head, metadata }).await
            }
            Kind::State => {
                let Some(State { name, after, value, at }) = self.read(line) else { return Ok(()) };
                self.commit_background(at, Change::SetState { conversation, name, after, value }).await
            }
            Kind::Fold => {
                let Some(fold) = self.read::<Fold>(line) else { return Ok(()) };
                self.fold(conversation, fold).await
            }
            Kind::Call => {
                let Some(call) = self.read::<Call>(line) else { return Ok(()) };
                self.commit_background(call.at, Change::RecordCall { conversation, call }).await
            }
            Kind::ToolCall => {
                let Some(ToolCallTrail { call, steps }) = self.read(line) else { return Ok(()) };
                match self.owns(conversation, call.message).await? {
                    true => {
                        self.commit_background(
                            manent_store::now(),
                            Change::PutToolTrail { call, steps, instead_of: None },
                        )
                        .await
                    }
                    false => Ok(()),
                }
            }
            Kind::Input => {
                let Some(Input { id, at, body, taken }) = self.read(line) else { return Ok(()) };
                self.commit_background(at, Change::PutInput { conversation, id, body }).await?;
                match taken {
                    true => self.commit_background(at, Change::TakeInputs { conversation, ids: vec![id] }).await,
                    false => Ok(()),
                }
            }
            Kind::Event => {
                let Some(Event { channel, at, body, .. }) = self.read(line) else { return Ok(()) };
                let size = channel.len() + body.text().len() + 32;
                let full =
                    |open: &ConversationImport| open.events.len() >= GROUP || open.event_bytes + size > GROUP_BYTES;
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
        // A refused fold may have the id of an existing one, which stays unchanged.
        if let Some(error) = self.attempt(fold.at, None, Change::AddFold { conversation, fold: new }).await? {
            self.problem(error);
            return Ok(());
        }
        match fold.active {
            true => Ok(()),
            false => self.commit_background(fold.at, Change::SetFoldActive { fold: fold.id, active: false }).await,
        }
    }

    /// Adds a version of a document, unless it exists already.
    async fn document(&mut self, document: Document) -> Result<()> {
        let Document { kind, id, project, body, at, .. } = document;
        let same = self.known.next_version(self.database, &kind, &id).await?;
        let same = same.is_some_and(|known| known.body == body && known.at == at);
        if same { Ok(()) } else { self.commit_background(at, Change::PutDocument { kind, id, project, body }).await }
    }

    async fn workspace_record(&mut self, line: &Line) -> Result<()> {
        match line.kind {
            Kind::Project => {
                let Some(project) = self.read::<Project>(line) else { return Ok(()) };
                self.known.projects(self.database).await?.insert(project.id);
                self.commit_background(manent_store::now(), Change::CreateProject { project }).await
            }
            Kind::Blob => self.blob(line).await,
            Kind::Source => {
                let Some(source) = self.read::<Source>(line) else { return Ok(()) };
                let known = self.known.has_source(self.database, &source).await?;
                if known { Ok(()) } else { self.commit_background(source.at, Change::PutSource { source }).await }
            }
            Kind::Quarantined => {
                let Some(quarantined) = self.read::<Quarantined>(line) else { return Ok(()) };
                let known = self.known.has_quarantined(self.database, &quarantined).await?;
                if known {
                    Ok(())
                } else {
                    self.commit_background(manent_store::now(), Change::Quarantine { quarantined }).await
                }
            }
            Kind::Document => {
                let Some(document) = self.read::<Document>(line) else { return Ok(()) };
                self.document(document).await
            }
            Kind::Memory => {
                let Some(memory) = self.read::<Memory>(line) else { return Ok(()) };
                self.commit_background(manent_store::now(), Change::PutMemory { memory }).await
            }
            Kind::Origin => {
                let Some(origin) = self.read::<Origin>(line) else { return Ok(()) };
                let known = self.known.has_origin(self.database, &origin).await?;
                if known {
                    Ok(())
                } else {
                    self.commit_background(manent_store::now(), Change::PutOrigin { origin }).await
                }
            }
            Kind::Scratch => {
                let Some(scratch) = self.read::<Scratch>(line) else { return Ok(()) };
                self.commit_background(scratch.at, Change::PutScratch { scratch }).await
            }
            Kind::Damaged => {
                if let Some(DamagedRecord { what, id, .. }) = self.read(line) {
                    self.problem(format!("{what} {id} was damaged when the file was written, and is not in it"));
                }
                Ok(())
            }
            _ => {
                self.problem("the line does not say which conversation it belongs to");
                Ok(())
            }
        }
    }
}
