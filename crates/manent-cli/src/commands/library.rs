//! What stands beside conversations: documents, memories, blobs, imported files.

use crate::desk::{Desk, read_json, read_text};
use anyhow::{Context, Result};
use clap::Subcommand;
use manent::MemoryDraft;
use manent::model::{MemoryId, SourceId};
use manent::store::{MemoriesQuery, OriginsQuery};
use std::io::{Read, Write};
use std::path::PathBuf;

/// Small versioned things by kind and id: characters, templates, settings.
#[derive(Subcommand)]
pub enum Document {
    /// Writes the next version and prints its number.
    Put {
        /// What it is: character, template, settings.
        kind: String,
        /// Its id inside the kind.
        id: String,
        /// The value, as JSON; `-` reads standard input.
        body: String,
        /// The project it belongs to.
        #[arg(long)]
        project: Option<String>,
    },
    /// Prints the newest version.
    Get {
        /// What it is.
        kind: String,
        /// Its id.
        id: String,
    },
    /// Lists the newest versions of a kind.
    List {
        /// What they are.
        kind: String,
    },
    /// Lists every version, oldest first.
    Versions {
        /// What it is.
        kind: String,
        /// Its id.
        id: String,
    },
    /// Removes a document; its versions stay.
    Rm {
        /// What it is.
        kind: String,
        /// Its id.
        id: String,
    },
}

impl Document {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        let database = &desk.database;
        match self {
            Self::Put { kind, id, body, project } => {
                let project = match project {
                    Some(text) => Some(database.resolve_project(&text).await?),
                    None => None,
                };
                desk.made(&[database.put_document(&kind, &id, project, read_json(&body)?).await?])
            }
            Self::Get { kind, id } => desk.screen.json(&database.document(&kind, &id).await?),
            Self::List { kind } => desk.screen.json(&database.documents(&kind).await?),
            Self::Versions { kind, id } => desk.screen.json(&database.document_versions(&kind, &id).await?),
            Self::Rm { kind, id } => Ok(database.remove_document(&kind, &id).await?),
        }
    }
}

/// Texts to be remembered.
#[derive(Subcommand)]
pub enum Memory {
    /// Remembers a text and prints its id.
    Put {
        /// The collection it lies in.
        collection: String,
        /// The text; `-` reads standard input.
        text: String,
        /// Replace this one.
        #[arg(long, value_name = "ID")]
        id: Option<MemoryId>,
        /// The project it belongs to.
        #[arg(long)]
        project: Option<String>,
        /// Whatever you want to keep with it, as JSON.
        #[arg(long, value_name = "JSON")]
        metadata: Option<String>,
    },
    /// Forgets a text.
    Rm {
        /// The memory.
        memory: MemoryId,
    },
    /// Lists memories in the order they were kept.
    List {
        /// Only of this collection.
        collection: Option<String>,
        /// How many.
        #[arg(long, short = 'n', default_value_t = 100)]
        limit: u32,
    },
}

impl Memory {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        let database = &desk.database;
        match self {
            Self::Put { collection, text, id, project, metadata } => {
                let project = match project {
                    Some(text) => Some(database.resolve_project(&text).await?),
                    None => None,
                };
                let metadata = metadata.as_deref().map(read_json).transpose()?;
                let text = read_text(&text)?;
                let draft = MemoryDraft { id, collection, project, text, metadata, ..MemoryDraft::default() };
                desk.made(&[database.put_memory(draft).await?])
            }
            Self::Rm { memory } => Ok(database.remove_memory(memory).await?),
            Self::List { collection, limit } => {
                let query = MemoriesQuery { collection, limit, ..MemoriesQuery::default() };
                desk.screen.json(&database.memories(query).await?)
            }
        }
    }
}

/// Pictures and files, kept once by their SHA-256.
#[derive(Subcommand)]
pub enum Blob {
    /// Keeps a file and prints the name of its bytes.
    Put {
        /// The file; `-` reads standard input.
        file: PathBuf,
    },
    /// Writes the bytes to standard output or to a file that is not there yet.
    Get {
        /// The SHA-256.
        sha256: String,
        /// The file.
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
}

impl Blob {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        match self {
            Self::Put { file } => {
                let bytes = match file.as_os_str() == "-" {
                    true => {
                        let mut bytes = Vec::new();
                        std::io::stdin().read_to_end(&mut bytes).context("reading standard input")?;
                        bytes
                    }
                    false => std::fs::read(&file).with_context(|| format!("reading {}", file.display()))?,
                };
                desk.made(&[desk.database.put_blob(&bytes).await?])
            }
            Self::Get { sha256, output } => {
                let bytes = desk.database.blob(&sha256).await?;
                match output {
                    Some(path) => std::fs::File::create_new(&path)
                        .and_then(|mut file| file.write_all(&bytes))
                        .with_context(|| format!("writing {}", path.display())),
                    None => std::io::stdout().write_all(&bytes).context("writing to standard output"),
                }
            }
        }
    }
}

/// Files that were imported.
#[derive(Subcommand)]
pub enum Source {
    /// Lists them.
    List,
    /// Shows where objects of a file came from.
    Origins {
        /// The file.
        source: SourceId,
    },
    /// Shows what of a file nobody could read.
    Quarantined {
        /// The file.
        source: SourceId,
    },
}

impl Source {
    pub async fn run(self, desk: &Desk) -> Result<()> {
        match self {
            Self::List => desk.screen.json(&desk.database.sources().await?),
            Self::Origins { source } => desk.screen.json(&desk.database.origins(OriginsQuery::Source(source)).await?),
            Self::Quarantined { source } => desk.screen.json(&desk.database.quarantined(source).await?),
        }
    }
}
