//! Command line options.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: manent-bench [--quick] [--formats] [--search] [--tenants] [--growth] [--only WORDS] [--write FILE] [--directory FOLDER]";

/// What one run is to do.
pub struct Options {
    /// Where the report is written as Markdown, besides being printed.
    pub write: Option<PathBuf>,
    /// A folder on the file system to measure.
    pub directory: PathBuf,
    /// How long and how large the run is.
    pub scale: Scale,
    /// Only imports are measured.
    pub formats: bool,
    /// Only search is measured.
    pub search: bool,
    /// Only many tenants are measured.
    pub tenants: bool,
    /// Only the growth with the size of the store is measured.
    pub growth: bool,
}

/// How long and how large a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    /// What the report calls a run of this scale.
    pub name: &'static str,
    /// How many times everything is measured.
    pub rounds: usize,
    /// How long one measure of one subject lasts.
    pub window: Duration,
    /// How many conversations are loaded before reads are measured.
    pub conversations: u64,
    /// How many messages each of them holds.
    pub messages: u64,
    /// How many bytes of each format are imported.
    pub import_bytes: u64,
    /// Number of conversations with 100 messages in the smaller store of the scaling benchmark; the larger has ten
    /// times as many.
    pub growth_conversations: u64,
    /// Only measures whose name contains this text are run.
    pub only: String,
}

impl Scale {
    /// The scale of published numbers.
    pub const FULL: Scale = Scale {
        name: "full",
        rounds: 5,
        window: Duration::from_secs(2),
        conversations: 1_000,
        messages: 1_000,
        import_bytes: 256 << 20,
        growth_conversations: 10_000,
        only: String::new(),
    };

    /// The scale that only shows that everything runs.
    pub const QUICK: Scale = Scale {
        name: "quick, for trying only",
        rounds: 3,
        window: Duration::from_millis(300),
        conversations: 50,
        messages: 1_000,
        import_bytes: 16 << 20,
        growth_conversations: 200,
        only: String::new(),
    };
}

impl Options {
    /// Reads the arguments that follow the program's name.
    pub fn from_arguments(arguments: impl IntoIterator<Item = String>) -> Result<Options> {
        let mut arguments = arguments.into_iter();
        let (formats, search, tenants, growth) = (false, false, false, false);
        let (write, directory, scale) = (None, build_directory()?, Scale::FULL);
        let mut options = Options { write, directory, scale, formats, search, tenants, growth };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => options.scale = Scale { only: options.scale.only, ..Scale::QUICK },
                "--formats" => options.formats = true,
                "--search" => options.search = true,
                "--tenants" => options.tenants = true,
                "--growth" => options.growth = true,
                "--only" => options.scale.only = arguments.next().context(USAGE)?,
                "--write" => options.write = Some(arguments.next().context(USAGE)?.into()),
                "--directory" => options.directory = arguments.next().context(USAGE)?.into(),
                _ => bail!("unknown argument {argument}\n{USAGE}"),
            }
        }
        Ok(options)
    }
}

/// Returns Cargo's target folder, which is ignored by Git and, unlike a temporary folder, not kept in memory.
pub fn build_directory() -> Result<PathBuf> {
    let program = std::env::current_exe().context("finding this program's own path")?;
    let directory = program.ancestors().nth(2).context("this program lies outside a target folder")?;
    Ok(directory.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::from_arguments(line.split_whitespace().map(String::from))
    }

    #[test]
    fn a_run_is_full_and_unwritten_unless_asked() {
        let options = parse("").expect("no arguments are fine");
        assert_eq!(options.scale, Scale::FULL);
        assert_eq!(options.write, None);
    }

    #[test]
    fn arguments_are_read() {
        let options = parse("--quick --write docs/performance.md --directory data").expect("all known");
        assert_eq!(options.scale, Scale::QUICK);
        assert_eq!(options.write, Some("docs/performance.md".into()));
        assert_eq!(options.directory, PathBuf::from("data"));
    }

    #[test]
    fn an_unknown_or_unfinished_argument_is_refused() {
        assert!(parse("--fast").is_err());
        assert!(parse("--write").is_err());
    }
}
