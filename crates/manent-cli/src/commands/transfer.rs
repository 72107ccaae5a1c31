//! `manent export` and `manent import`: everything out, everything in.

use crate::desk::Desk;
use crate::progress::{Reading, Spinner};
use anyhow::{Context, Result};
use clap::Args;
use manent::{ConversationStatus, ExportSelection, ListQuery};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

/// Writes conversations as JSON lines that an import takes in without loss.
#[derive(Args)]
pub struct Export {
    /// Which conversations; everything if none is given.
    conversations: Vec<String>,
    /// A file that is not there yet; standard output if it is not given.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Export {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        let mut chosen = Vec::new();
        for text in &self.conversations {
            chosen.push(desk.conversation(text).await?);
        }
        let selection = match chosen.is_empty() {
            true => ExportSelection::Everything,
            false => ExportSelection::Conversations(chosen),
        };
        let Some(path) = self.output else {
            let mut out = BufWriter::new(std::io::stdout());
            desk.database.export_jsonl(&selection, &mut out).await?;
            return out.flush().context("writing to standard output");
        };
        let file = File::create_new(&path).with_context(|| format!("making {}", path.display()))?;
        let spinner = Spinner::start(&desk.screen, "exporting");
        let mut out = BufWriter::new(file);
        let exported = desk.database.export_jsonl(&selection, &mut out).await;
        spinner.end();
        let lines = exported?;
        out.into_inner()
            .map_err(|error| error.into_error())
            .and_then(|file| file.sync_all())
            .context("writing the file")?;
        desk.screen.done(&format!("wrote {lines} lines to {}", path.display()));
        Ok(())
    }
}

/// Takes JSON lines in; what cannot be taken in is reported with its place, and the rest goes on.
#[derive(Args)]
pub struct Import {
    /// The file; `-` reads standard input.
    file: PathBuf,
}

/// Some lines could not be taken in.
#[derive(Debug, thiserror::Error)]
#[error("{problems} of {lines} lines could not be taken in")]
pub struct Partial {
    problems: usize,
    lines: u64,
}

impl Import {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        let (input, size): (Box<dyn Read + Send>, Option<u64>) = match self.file.as_os_str() == "-" {
            true => (Box::new(std::io::stdin()), None),
            false => {
                let file = File::open(&self.file).with_context(|| format!("opening {}", self.file.display()))?;
                let size = file.metadata().ok().map(|metadata| metadata.len());
                (Box::new(file), size)
            }
        };
        let reading = Reading::start(&desk.screen, input, size);
        let report = desk.database.import_jsonl(BufReader::with_capacity(1 << 16, reading)).await?;
        if desk.screen.json {
            desk.screen.json(&report)?;
        } else {
            let (conversations, unchanged, messages) = (report.conversations, report.unchanged, report.messages);
            desk.screen.done(&format!(
                "{conversations} conversations with {messages} messages, {unchanged} were here already"
            ));
            let unfinished = ListQuery { statuses: vec![ConversationStatus::Importing], ..ListQuery::default() };
            let unfinished = desk.database.count(unfinished).await?.n;
            if unfinished > 0 {
                desk.screen.warn(&format!(
                    "{unfinished} not shown, because the file ends before they do: `manent list --status importing`; \
                     import the whole file to finish them, or `manent rm` them"
                ));
            }
            for problem in &report.problems {
                desk.screen.warn(&format!("line {}: {}", problem.line, problem.why));
            }
        }
        match report.problems.len() {
            0 => Ok(()),
            problems => Err(Partial { problems, lines: report.lines }.into()),
        }
    }
}
