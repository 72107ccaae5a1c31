//! The writer's side: it asks, and waits for the answer.

use manent_formats::{ExportSource, ExportedConversation, ExportedMessage, ExportedRoot, Record, WriteError};
use manent_model::{Document, Event, MessageId};
use tokio::sync::{mpsc, oneshot};

/// What a writer may ask.
pub(crate) enum Question {
    Conversation(usize),
    Messages(usize, usize),
    PathTo(usize, MessageId),
    Events(usize, i64),
    Documents(String),
    BlobPiece(String, i64),
}

/// What it hears.
pub(crate) enum Answer {
    Conversation(Box<ExportedConversation>),
    Messages(Vec<ExportedMessage>),
    Events(Vec<Event>),
    Documents(Vec<(Document, Option<Record>)>),
    BlobPiece(Option<(i64, Vec<u8>)>),
}

type Heard = Result<Answer, Box<dyn std::error::Error + Send + Sync>>;

/// Asks.
pub(crate) struct Asking {
    root: Option<ExportedRoot>,
    count: usize,
    questions: mpsc::Sender<(Question, oneshot::Sender<Heard>)>,
}

impl Asking {
    pub(crate) fn new(
        root: Option<ExportedRoot>,
        count: usize,
    ) -> (Self, mpsc::Receiver<(Question, oneshot::Sender<Heard>)>) {
        let (questions, asked) = mpsc::channel(1);
        (Self { root, count, questions }, asked)
    }

    fn ask(&self, question: Question) -> Result<Answer, WriteError> {
        let (answer, heard) = oneshot::channel();
        let gone = || WriteError::Library("the export was given up".into());
        self.questions.blocking_send((question, answer)).map_err(|_| gone())?;
        heard.blocking_recv().map_err(|_| gone())?.map_err(WriteError::Library)
    }
}

/// The answer to another question is a defect of this program.
fn other<T>() -> Result<T, WriteError> {
    Err(WriteError::Library("the answer to another question".into()))
}

impl ExportSource for Asking {
    fn root(&self) -> Option<&ExportedRoot> {
        self.root.as_ref()
    }

    fn count(&self) -> usize {
        self.count
    }

    fn conversation(&mut self, place: usize) -> Result<ExportedConversation, WriteError> {
        match self.ask(Question::Conversation(place))? {
            Answer::Conversation(out) => Ok(*out),
            _ => other(),
        }
    }

    fn messages(&mut self, place: usize, from: usize) -> Result<Vec<ExportedMessage>, WriteError> {
        match self.ask(Question::Messages(place, from))? {
            Answer::Messages(page) => Ok(page),
            _ => other(),
        }
    }

    fn path_to(&mut self, place: usize, head: MessageId) -> Result<Vec<ExportedMessage>, WriteError> {
        match self.ask(Question::PathTo(place, head))? {
            Answer::Messages(path) => Ok(path),
            _ => other(),
        }
    }

    fn events(&mut self, place: usize, after: i64) -> Result<Vec<Event>, WriteError> {
        match self.ask(Question::Events(place, after))? {
            Answer::Events(page) => Ok(page),
            _ => other(),
        }
    }

    fn documents(&mut self, kind: &str) -> Result<Vec<(Document, Option<Record>)>, WriteError> {
        match self.ask(Question::Documents(kind.to_owned()))? {
            Answer::Documents(documents) => Ok(documents),
            _ => other(),
        }
    }

    fn blob_piece(&mut self, sha256: &str, from: i64) -> Result<Option<(i64, Vec<u8>)>, WriteError> {
        match self.ask(Question::BlobPiece(sha256.to_owned(), from))? {
            Answer::BlobPiece(piece) => Ok(piece),
            _ => other(),
        }
    }
}
