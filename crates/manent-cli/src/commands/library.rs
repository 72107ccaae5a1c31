//! Data outside conversations: documents, memories, blobs, imported files.

use crate::context::{CommandContext, read_json, read_text};
use anyhow::{Context, Result};
use clap::Subcommand;
use manent::MemoryDraft;
use manent::model::{MemoryId, SourceId};
use manent::store::{MemoriesQuery, OriginsQuery};
use std::io::{Read, Write};
use std::path::PathBuf;

/// Versioned JSON documents: characters, templates, settings.
#[derive(Subcommand)]
pub enum Document {
    /// Write the next version and print its number.
    Put {
        /// Kind: character, template, settings.
        kind: String,
        /// Name, unique within its kind.
        id: String,
        /// Value as JSON; `-` reads standard input.
        body: String,
        /// Project.
        #[arg(long)]
        project: Option<String>,
    },
    /// Print the newest version.
    Get {
        /// What it is.
        kind: String,
        /// Its id.
        id: String,
    },
    /// List the newest version of each document of a kind.
    List {
        /// What they are.
        kind: String,
    },
    /// List all versions, oldest first.
    Versions {
        /// What it is.
        kind: String,
        /// Its id.
        id: String,
    },
    /// Remove a document; its versions are kept.
    Rm {
        /// What it is.
        kind: String,
        /// Its id.
        id: String,
    },
}

impl Document {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let database = &context.database;
        match self {
            Self::Put { kind, id, body, project } => {
                let project = match project {
                    Some(text) => Some(database.resolve_project(&text).await?),
                    None => None,
                };
                context.made(&[database.put_document(&kind, &id, project, read_json(&body)?).await?])
            }
            Self::Get { kind, id } => context.output.json(&database.document(&kind, &id).await?),
            Self::List { kind } => context.output.json(&database.documents(&kind).await?),
            Self::Versions { kind, id } => context.output.json(&database.document_versions(&kind, &id).await?),
            Self::Rm { kind, id } => Ok(database.remove_document(&kind, &id).await?),
        }
    }
}

/// Memories: texts in named collections.
#[derive(Subcommand)]
pub enum Memory {
    /// Store a text and print its id.
    Put {
        /// Collection.
        collection: String,
        /// Text; `-` reads standard input.
        text: String,
        /// Replace this memory.
        #[arg(long, value_name = "ID")]
        id: Option<MemoryId>,
        /// Project.
        #[arg(long)]
        project: Option<String>,
        /// Metadata as JSON.
        #[arg(long, value_name = "JSON")]
        metadata: Option<String>,
    },
    /// Remove a memory.
    Rm {
        /// The memory.
        memory: MemoryId,
    },
    /// List memories, oldest first.
    List {
        /// Only this collection.
        collection: Option<String>,
        /// Maximum number.
        #[arg(long, short = 'n', default_value_t = 100)]
        limit: u32,
    },
}

impl Memory {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let database = &context.database;
        match self {
            Self::Put { collection, text, id, project, metadata } => {
                let project = match project {
                    Some(text) => Some(database.resolve_project(&text).await?),
                    None => None,
                };
                let metadata = metadata.as_deref().map(read_json).transpose()?;
                let text = read_text(&text)?;
                let draft = MemoryDraft { id, collection, project, text, metadata, ..MemoryDraft::default() };
                context.made(&[database.put_memory(draft).await?])
            }
            Self::Rm { memory } => Ok(database.remove_memory(memory).await?),
            Self::List { collection, limit } => {
                let query = MemoriesQuery { collection, limit, ..MemoriesQuery::default() };
                context.output.json(&database.memories(query).await?)
            }
        }
    }
}

/// Files, stored once under their SHA-256.
#[derive(Subcommand)]
pub enum Blob {
    /// Store a file and print its SHA-256.
    Put {
        /// File; `-` reads standard input.
        file: PathBuf,
    },
    /// Write a blob to standard output or to a new file.
    Get {
        /// The SHA-256.
        sha256: String,
        /// The file.
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
}

impl Blob {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
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
                context.made(&[context.database.put_blob(&bytes).await?])
            }
            Self::Get { sha256, output } => {
                let bytes = context.database.blob(&sha256).await?;
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

/// Imported files.
#[derive(Subcommand)]
pub enum Source {
    /// Lists them.
    List,
    /// List the origins of the objects of a file.
    Origins {
        /// The file.
        source: SourceId,
    },
    /// Show the quarantined bytes of a file.
    Quarantined {
        /// The file.
        source: SourceId,
    },
}

impl Source {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        match self {
            Self::List => context.output.json(&context.database.sources().await?),
            Self::Origins { source } => {
                context.output.json(&context.database.origins(OriginsQuery::Source(source)).await?)
            }
            Self::Quarantined { source } => context.output.json(&context.database.quarantined(source).await?),
        }
    }
}
