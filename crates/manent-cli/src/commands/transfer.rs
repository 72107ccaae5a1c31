//! `manent export` and `manent import`: everything out, everything in, as our own JSON lines or in another's format.

use crate::commands::formats;
use crate::context::CommandContext;
use crate::output::{Output, counted};
use crate::progress::{Reading, Spinner, when_indexed};
use anyhow::{Context, Result, bail};
use clap::Args;
use manent::formats::Format;
use manent::formats::core::redact::RedactedLines;
use manent::transfer::export::{ExportPlan, Replace, StagedFile};
use manent::{ConversationId, ConversationStatus, DamagedRecord, ExportSelection, LinesReport, ListQuery};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The name of our own JSON lines format.
const OWN_FORMAT: &str = "manent";

/// Our own JSON lines, or a format of another program.
#[derive(Clone, Copy)]
enum TargetFormat {
    Ours,
    Other(&'static Format),
}

fn wanted(name: &str) -> Result<TargetFormat, String> {
    match name == OWN_FORMAT {
        true => Ok(TargetFormat::Ours),
        false => formats::format_named(name).map(TargetFormat::Other),
    }
}

/// Export conversations as JSON lines (without loss) or in the format of another program.
#[derive(Args)]
pub struct Export {
    /// Conversations [default: all].
    conversations: Vec<String>,
    /// Export everything (default).
    #[arg(long, conflicts_with = "conversations")]
    all: bool,
    /// Conversations with search results: words, "a phrase", -not, in:title, tag:work, after:7d and so on.
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["conversations", "all"])]
    query: Option<String>,
    /// Output format: manent, or the format of another program.
    #[arg(long, short, default_value = OWN_FORMAT, value_parser = wanted)]
    format: TargetFormat,
    /// Generation of the format [default: as imported, else the newest].
    #[arg(long, requires = "format")]
    generation: Option<String>,
    /// A file, a folder, or a zip if the name ends in .zip; `-` is standard output, as it is for lines, Markdown and HTML if
    /// no path is given.
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Remove API keys and passwords; check the result before you publish it.
    #[arg(long)]
    redact: bool,
    /// Overwrite existing files.
    #[arg(long)]
    force: bool,
}

impl Export {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let chosen = self.chosen(context).await?;
        match self.format {
            TargetFormat::Ours => self.lines(context, chosen).await,
            TargetFormat::Other(format) => {
                let path = match &self.output {
                    Some(path) => path.as_path(),
                    None if manent::formats::readable().all(|other| other.name != format.name) => Path::new("-"),
                    None => bail!("choose where {} is written: --output PATH", format.name),
                };
                let replace = if self.force { Replace::Files } else { Replace::Never };
                let plan = ExportPlan {
                    selection: chosen.map_or(ExportSelection::Everything, ExportSelection::Conversations),
                    format,
                    generation: self.generation.clone(),
                    secrets: formats::secrets(self.redact),
                };
                formats::export(&context.database, &context.output, &plan, (path, replace)).await
            }
        }
    }

    /// The requested conversations; none for all.
    async fn chosen(&self, context: &CommandContext) -> Result<Option<Vec<ConversationId>>> {
        let mut ids = Vec::new();
        for text in &self.conversations {
            ids.push(context.conversation(text).await?);
        }
        match &self.query {
            Some(text) => Ok(Some(context.database.conversations_with(text).await?)),
            None => Ok((!ids.is_empty()).then_some(ids)),
        }
    }

    async fn lines(self, context: &CommandContext, chosen: Option<Vec<ConversationId>>) -> Result<()> {
        let selection = chosen.map_or(ExportSelection::Everything, ExportSelection::Conversations);
        let Some(path) = self.output.as_ref().filter(|path| path.as_os_str() != "-") else {
            let mut out = BufWriter::new(std::io::stdout());
            let report = self.write_lines(context, &selection, &mut out).await?;
            out.flush().context("writing to standard output")?;
            return tell_damaged(&context.output, &report.damaged);
        };
        let replace = if self.force { Replace::Files } else { Replace::Never };
        let (staged, file) = staged_file(path, replace)?;
        let spinner = Spinner::start(&context.output, "exporting");
        let mut out = BufWriter::new(file);
        let exported = self.write_lines(context, &selection, &mut out).await;
        spinner.end();
        let report = exported?;
        out.into_inner()
            .map_err(|error| error.into_error())
            .and_then(|_| staged.place())
            .with_context(|| format!("writing {}", path.display()))?;
        context.output.done(&format!("wrote {} lines to {}", report.lines, path.display()));
        tell_damaged(&context.output, &report.damaged)
    }

    async fn write_lines(
        &self,
        context: &CommandContext,
        selection: &ExportSelection,
        out: impl Write + Send,
    ) -> Result<LinesReport> {
        if !self.redact {
            return Ok(context.database.export_jsonl(selection, out).await?);
        }
        let mut clean = RedactedLines::new(out);
        let report = context.database.export_jsonl(selection, &mut clean).await?;
        formats::tell_redacted(&context.output, clean.count());
        Ok(report)
    }
}

/// Lists damaged records that an export left out; the command then fails.
pub fn tell_damaged(output: &Output, damaged: &[DamagedRecord]) -> Result<()> {
    for DamagedRecord { conversation, what, id } in damaged {
        let place = conversation.map(|id| format!(" in {id}")).unwrap_or_default();
        output.warn(&format!("{what} {id}{place} is damaged and was left out"));
    }
    match damaged.len() {
        0 => Ok(()),
        many => Err(PartialFile(format!("{many} damaged records could not be written")).into()),
    }
}

/// Import JSON lines or the files of another program. Records that cannot be read are reported with their position, and the
/// rest is imported.
#[derive(Args)]
pub struct Import {
    /// Files or folders; `-` reads standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Format, if it cannot be detected.
    #[arg(long = "as", value_name = "FORMAT", value_parser = wanted)]
    read_as: Option<TargetFormat>,
    /// Report what would be imported; change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Like --dry-run, with the number of records of each kind.
    #[arg(long)]
    explain: bool,
}

/// Part of the import was skipped.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PartialFile(String);

/// Returns an error if something was skipped.
pub fn in_part(skipped: usize) -> Result<()> {
    match skipped {
        0 => Ok(()),
        skipped => Err(PartialFile(format!("{} could not be imported", counted(skipped, "record"))).into()),
    }
}

impl Import {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let format = match self.read_as {
            Some(TargetFormat::Other(format)) => Some(format),
            _ => None,
        };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for path in &self.paths {
            match matches!(self.read_as, Some(TargetFormat::Ours)) || (self.read_as.is_none() && is_own(path)?) {
                true => ours.push(path.clone()),
                false => theirs.push(path.clone()),
            }
        }
        let dry = (self.dry_run || self.explain).then_some(self.explain);
        if dry.is_some() && !ours.is_empty() {
            bail!("our own lines are taken in as they are; --dry-run is for other programs' files");
        }
        let taken_in = async {
            // A file that cannot be taken in does not keep the others out.
            let mut outcome = Ok(());
            for path in ours {
                outcome = outcome.and(lines_in(context, &path).await);
            }
            match theirs.is_empty() {
                true => outcome,
                false => outcome.and(formats::import_all(context, &theirs, format, dry).await.and_then(in_part)),
            }
        };
        let outcome = taken_in.await;
        if dry.is_none() {
            index(context).await;
        }
        outcome
    }
}

/// Waits for the index, so that the first search after an import is fast. The data is stored either way.
async fn index(context: &CommandContext) {
    if let Err(error) = when_indexed(&context.database, &context.output).await {
        context.output.warn(&format!("everything is stored, but not indexed yet: {error}; a search goes on with that"));
    }
}

/// Detects our own JSON lines by the first line. Standard input is ours unless `--as` says otherwise, because it is not read
/// twice.
fn is_own(path: &Path) -> Result<bool> {
    if path.as_os_str() == "-" {
        return Ok(true);
    }
    if path.is_dir() {
        return Ok(false);
    }
    let mut start = [0; 16];
    let mut file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let read = file.read(&mut start).with_context(|| format!("reading {}", path.display()))?;
    Ok(start[..read].starts_with(br#"{"type":"manent""#) || path.extension().is_some_and(|ending| ending == "jsonl"))
}

async fn lines_in(context: &CommandContext, path: &Path) -> Result<()> {
    let (input, size): (Box<dyn Read + Send>, Option<u64>) = match path.as_os_str() == "-" {
        true => (Box::new(std::io::stdin()), None),
        false => {
            let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
            let size = file.metadata().ok().map(|metadata| metadata.len());
            (Box::new(file), size)
        }
    };
    let reading = Reading::start(&context.output, input, size);
    let report = context.database.import_jsonl(BufReader::with_capacity(1 << 16, reading)).await?;
    if context.output.json {
        context.output.json(&report)?;
    } else {
        let conversations = counted(report.conversations, "conversation");
        let messages = counted(report.messages, "message");
        context.output.done(&format!("{conversations} with {messages}, {} unchanged", report.unchanged));
        let unfinished = ListQuery { statuses: vec![ConversationStatus::Importing], ..ListQuery::default() };
        let unfinished = context.database.count(unfinished).await?.n;
        if unfinished > 0 {
            context.output.warn(&format!(
                "{unfinished} not shown, because the file ends before they do: `manent list --status importing`; \
                 import the whole file to finish them, or `manent rm` them"
            ));
        }
        for problem in &report.problems {
            context.output.warn(&format!("line {}: {}", problem.line, problem.why));
        }
    }
    match report.problems.len() {
        0 => Ok(()),
        problems => {
            Err(PartialFile(format!("{problems} of {} could not be imported", counted(report.lines, "line"))).into())
        }
    }
}

/// Creates a file that only its owner can read, moved into place when it is complete.
pub(super) fn staged_file(path: &Path, replace: Replace) -> Result<(StagedFile, File)> {
    StagedFile::create(path, replace).with_context(|| format!("writing {}", path.display()))
}
