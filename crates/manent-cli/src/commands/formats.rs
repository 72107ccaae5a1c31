//! Other programs' files for `import`, `export` and `convert`: detection of the format of a path, and reports.

use crate::context::CommandContext;
use crate::output::{Cell, Output, Table, counted};
use crate::progress::Spinner;
use anyhow::{Context, Result, bail};
use clap::Args;
use manent::formats::core::redact::Secrets;
use manent::formats::core::source_fs::{self, SourceTree};
use manent::formats::{self, FORMATS, Format};
use manent::transfer::export::{DiskOut, DownloadBundle, ExportPlan, Exported, Lost, Replace};
use manent::transfer::import::FileImportReport;
use manent::{Database, ImportMode};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Limit for standard input that is not our own format.
const STDIN_MAX: u64 = 4 << 30;

/// Maximum number of listed files that were left out.
const LEFT_OUT_SHOWN: usize = 10;

/// Parses the name of a format.
pub fn format_named(name: &str) -> Result<&'static Format, String> {
    let known = || FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
    formats::format(name).ok_or_else(|| format!("there is no format {name}; there are {}", known()))
}

/// Opens the file or folder at a path.
fn tree_at(path: &Path) -> Result<Box<dyn SourceTree + Send>> {
    match path.as_os_str() == "-" {
        true => Ok(source_fs::of("standard input", vec![("standard input".to_owned(), standard_input()?)])?),
        false => source_fs::at(path).with_context(|| format!("opening {}", path.display())),
    }
}

/// Copies standard input into a temporary file.
fn standard_input() -> Result<File> {
    let mut file = tempfile::tempfile().context("making a temporary file")?;
    let read = std::io::copy(&mut std::io::stdin().take(STDIN_MAX + 1), &mut file).context("reading standard input")?;
    if read > STDIN_MAX {
        bail!("standard input is larger than {} GiB; import the file itself", STDIN_MAX >> 30);
    }
    Ok(file)
}

/// Imports the files at a path and reports the result.
pub async fn import(
    database: &Database,
    output: &Output,
    path: &Path,
    format: Option<&'static Format>,
    mode: ImportMode,
) -> Result<FileImportReport> {
    let tree = tree_at(path)?;
    let spinner = Spinner::start(output, &format!("reading {}", path.display()));
    let report = database.import_everything(tree, format, mode, |records| spinner.tell(records)).await;
    spinner.end();
    report.with_context(|| format!("importing {}", path.display()))
}

/// Prints a report: a line per conversation, then repairs and skipped records.
pub fn show(output: &Output, report: &FileImportReport, explains: bool) -> Result<()> {
    for root in &report.roots {
        output.done(&format!("{} generation {}: {}", root.format, root.generation, root.path));
    }
    let columns = ["CONVERSATION", "TITLE", "NEW", "ADDED", "UPDATED", "UNCHANGED", "ATTACHED", "REPAIRED", "SKIPPED"];
    let mut table = Table::new(&columns, 1);
    for one in &report.conversations {
        let id = one.id.map_or_else(|| one.external.clone(), |id| id.to_string());
        let counts = [one.added, one.updated, one.unchanged, one.annotations].map(|count| count.to_string());
        let [added, updated, unchanged, annotations] = counts;
        let is_new = if one.is_new { "new" } else { "" }.to_owned();
        let (repaired, skipped) = (one.repaired.len().to_string(), one.skipped.len().to_string());
        table.row(cells([id, one.title.clone(), is_new, added, updated, unchanged, annotations, repaired, skipped]));
    }
    output.table(&table)?;
    if explains {
        explain(output, report)?;
    }
    let repaired = report.repaired.iter().chain(report.conversations.iter().flat_map(|one| &one.repaired));
    for repair in repaired {
        output.warn(&format!("repaired {}: {}: {}", repair.place, repair.what, repair.why));
    }
    let skipped = report.skipped.iter().chain(report.conversations.iter().flat_map(|one| &one.skipped));
    for skip in skipped {
        output.warn(&format!("skipped {}: {}: {}", skip.place, skip.record, skip.why));
    }
    for left in report.left_out.iter().take(LEFT_OUT_SHOWN) {
        output.warn(&format!("left out {}: {}", left.name, left.why));
    }
    let more = report.left_out.len().saturating_sub(LEFT_OUT_SHOWN) as u64 + report.left_out_more;
    if more > 0 {
        output.warn(&format!("left out {more} more files; --json names them"));
    }
    Ok(())
}

fn cells(texts: impl IntoIterator<Item = String>) -> Vec<Cell> {
    texts.into_iter().map(Cell::new).collect()
}

/// Record counts per kind, and unmapped fields.
fn explain(output: &Output, report: &FileImportReport) -> Result<()> {
    let mut table = Table::new(&["RECORD", "READ", "MAPPED", "UNMAPPED", "REPORTED"], 0);
    for (record, counts) in &report.records {
        let counts = [counts.read, counts.mapped, counts.unmapped, counts.reported].map(|count| count.to_string());
        table.row(cells([vec![record.clone()], counts.to_vec()].concat()));
    }
    output.table(&table)?;
    let mut table = Table::new(&["UNMAPPED FIELD", "COUNT"], 0);
    for unmapped in &report.unmapped {
        table.row(cells([format!("{}.{}", unmapped.record, unmapped.key), unmapped.count.to_string()]));
    }
    output.table(&table)
}

/// Writes conversations in a format to a path; `-` is standard output.
pub async fn export(database: &Database, output: &Output, plan: &ExportPlan, to: (&Path, Replace)) -> Result<()> {
    let ((path, replace), format) = (to, plan.format.name);
    let failed = || format!("writing {}", path.display());
    let spinner = Spinner::start(output, &format!("writing {format}"));
    let written = match path.as_os_str() == "-" {
        true => to_standard_output(database, plan).await,
        false => to_disk(database, plan, path, replace).await.with_context(failed),
    };
    spinner.end();
    let (exported, files) = written?;
    for lost in &exported.losses {
        let Lost { what, count, conversations } = lost;
        output.warn(&format!("{format} cannot hold {what}: {count} in {}", counted(*conversations, "conversation")));
    }
    if plan.secrets == Secrets::Remove {
        tell_redacted(output, exported.redacted);
    }
    let (conversations, files) = (counted(exported.conversations, "conversation"), counted(files.len(), "file"));
    output.done(&format!("{conversations} in {files} at {}", path.display()));
    super::transfer::tell_damaged(output, &exported.damaged)
}

async fn to_disk(
    database: &Database,
    plan: &ExportPlan,
    path: &Path,
    replace: Replace,
) -> Result<(Exported<()>, Vec<PathBuf>)> {
    let exported = database.export_tree(plan, DiskOut::new(path, plan.format, replace)?).await?;
    let (out, exported) = exported.split();
    Ok((exported, out.finish()?))
}

/// Writes the single file of an export to standard output; Markdown files are concatenated.
async fn to_standard_output(database: &Database, plan: &ExportPlan) -> Result<(Exported<()>, Vec<PathBuf>)> {
    let (out, exported) = database.export_tree(plan, DownloadBundle::new()?).await?.split();
    let (files, mut bytes) = out.joined().context("keeping the export in a temporary file")?;
    if files > 1 && plan.format.name != formats::render::MARKDOWN {
        bail!("this export has {files} files; choose a folder or a zip with --output PATH");
    }
    let mut out = std::io::stdout().lock();
    std::io::copy(&mut bytes, &mut out).and_then(|_| out.flush()).context("writing to standard output")?;
    Ok((exported, vec![PathBuf::from("-"); files]))
}

/// Convert files from one format to another, without a store.
#[derive(Args)]
pub struct Convert {
    /// A file or folder.
    from: PathBuf,
    /// A file, a folder, or a zip if the name ends in .zip; `-` writes one file to standard output.
    to: PathBuf,
    /// Output format.
    #[arg(long, short, value_parser = format_named)]
    format: &'static Format,
    /// Generation of the format [default: the newest].
    #[arg(long)]
    generation: Option<String>,
    /// Input format, if it cannot be detected.
    #[arg(long = "as", value_name = "FORMAT", value_parser = format_named)]
    read_as: Option<&'static Format>,
    /// Remove API keys and passwords.
    #[arg(long)]
    redact: bool,
    /// Overwrite existing files.
    #[arg(long)]
    force: bool,
}

/// Reports how much `--redact` removed.
pub fn tell_redacted(output: &Output, count: u64) {
    output.done(&format!("took out what looks like a key or a password: {count} places"));
}

/// The redaction that `--redact` selects.
pub fn secrets(redact: bool) -> Secrets {
    if redact { Secrets::Remove } else { Secrets::Keep }
}

impl Convert {
    pub async fn run(self, output: &Output) -> Result<()> {
        let folder = tempfile::tempdir().context("making a temporary folder")?;
        let database = Database::open(folder.path().join("convert.db"))?;
        let report = import(&database, output, &self.from, self.read_as, ImportMode::Store).await?;
        show(output, &report, false)?;
        let replace = if self.force { Replace::Files } else { Replace::Never };
        let plan = ExportPlan {
            generation: self.generation,
            secrets: secrets(self.redact),
            ..ExportPlan::everything(self.format)
        };
        let done = export(&database, output, &plan, (&self.to, replace)).await;
        database.close().await?;
        done?;
        super::transfer::in_part(report.skipped())
    }
}

/// JSON output of `import` for several paths.
pub async fn import_all(
    context: &CommandContext,
    paths: &[PathBuf],
    format: Option<&'static Format>,
    dry: Option<bool>,
) -> Result<usize> {
    let mode = if dry.is_some() { ImportMode::DryRun } else { ImportMode::Store };
    let (mut reports, mut failed) = (Vec::new(), None);
    for path in paths {
        match import(&context.database, &context.output, path, format, mode).await {
            Ok(report) => {
                if !context.output.json {
                    show(&context.output, &report, dry == Some(true))?;
                }
                reports.push(report);
            }
            // The reports of the other paths are printed before this error.
            Err(error) => match &failed {
                None => failed = Some(error),
                Some(_) => context.output.warn(&format!("{error:#}")),
            },
        }
    }
    if context.output.json {
        context.output.json(&reports)?;
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(reports.iter().map(FileImportReport::skipped).sum()),
    }
}
