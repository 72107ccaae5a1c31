//! Alternative libraries, driven through their public interfaces by the scripts in `peers/`.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use crate::corpus::{Corpus, SEED};
use crate::measure::{LAST, LENGTHS, Measure};
use crate::python::Python;
use crate::subject::{Side, Subject};
use crate::summary::Summary;

/// The name by which goals refer to the session of the OpenAI Agents SDK.
pub const OPENAI_AGENTS: &str = "OpenAI Agents SQLiteSession";
/// The name by which goals refer to LangGraph's checkpoints.
pub const LANGGRAPH: &str = "LangGraph SqliteSaver";
/// The name by which goals refer to the plainest way of all.
pub const JSON_FILE: &str = "one JSON file";

/// The length of the session of which a peer reads the last messages.
const READ_LENGTH: usize = 1_000;

/// A product of others, measured in a process of its own.
pub struct Peer {
    product: Product,
    /// Why it cannot run, if so.
    python: Result<Python, String>,
    messages: PathBuf,
    directory: PathBuf,
}

struct Product {
    name: &'static str,
    script: &'static str,
    requirement: Option<&'static str>,
    what: &'static str,
    reads: Reads,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    LastMessages,
    Nothing,
}

const PRODUCTS: [Product; 3] = [
    Product {
        name: OPENAI_AGENTS,
        script: "openai_agents.py",
        requirement: Some("openai-agents==0.24.0"),
        what: "file database, add_items of one message",
        reads: Reads::LastMessages,
    },
    Product {
        name: LANGGRAPH,
        script: "langgraph_sqlite.py",
        requirement: Some("langgraph-checkpoint-sqlite==3.1.2"),
        what: "put of a checkpoint that holds the whole message list, as every agent turn does",
        reads: Reads::Nothing,
    },
    Product {
        name: JSON_FILE,
        script: "json_file.py",
        requirement: None,
        what: "Python; the whole list written to a new file, fsync, renamed over the old one",
        reads: Reads::Nothing,
    },
];

/// Returns every peer, also those that cannot run: these say why.
pub fn all(directory: &Path) -> Result<Vec<Peer>> {
    let messages = directory.join("peer-messages.jsonl");
    write_messages(&messages)?;
    let python = Python::prepare().map_err(|error| format!("{error:#}"));
    let peers = PRODUCTS.map(|product| {
        let python = python.clone().and_then(|python| match product.requirement {
            Some(requirement) => python.install(requirement).map_err(|error| format!("{error:#}")).map(|()| python),
            None => Ok(python),
        });
        Peer { product, python, messages: messages.clone(), directory: directory.to_path_buf() }
    });
    Ok(peers.into())
}

/// Writes one conversation that is longer than any length a peer is asked for.
fn write_messages(path: &Path) -> Result<()> {
    let longest = *LENGTHS.iter().max().expect("there are lengths");
    let file = std::fs::File::create(path).context("creating the messages of the peers")?;
    let mut file = BufWriter::new(file);
    // From several conversations: one alone would be in one language.
    let corpus = Corpus::new(SEED, u64::MAX, 100);
    for message in corpus.all().take(longest + 1_000) {
        file.write_all(&message.to_json()).and_then(|()| file.write_all(b"\n")).context("writing messages")?;
    }
    file.flush().context("writing the messages of the peers")
}

impl Peer {
    fn run(&self, mode: &str, length: usize, window: Duration) -> Result<Summary> {
        let python = self.python.as_ref().map_err(|why| anyhow!("{why}"))?;
        let data = tempfile::tempdir_in(&self.directory).context("creating a folder for the peer")?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(self.product.script);
        let arguments = [
            mode.to_string(),
            format!("--length={length}"),
            format!("--last={LAST}"),
            format!("--window-ms={}", window.as_millis()),
            format!("--messages={}", self.messages.display()),
            format!("--directory={}", data.path().display()),
        ];
        let printed = python.run(&script, &arguments)?;
        serde_json::from_slice(&printed).with_context(|| format!("reading what {} printed", self.product.script))
    }
}

impl Subject for Peer {
    fn name(&self) -> &str {
        self.product.name
    }

    fn side(&self) -> Side {
        Side::Yardstick
    }

    fn description(&self) -> String {
        match self.product.requirement {
            Some(requirement) => format!("{requirement}; {}", self.product.what),
            None => self.product.what.to_string(),
        }
    }

    fn measure(&mut self, measure: Measure, window: Duration) -> Option<Result<Summary>> {
        match (measure, self.product.reads) {
            (Measure::AppendAtLength(length), _) => Some(self.run("append", length, window)),
            (Measure::LastMessages, Reads::LastMessages) => Some(self.run("last", READ_LENGTH, window)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_cannot_be_had_says_why() {
        let [product, ..] = PRODUCTS;
        let python = Err("pip could not install it".to_string());
        let mut peer = Peer { product, python, messages: PathBuf::new(), directory: PathBuf::new() };
        let outcome = peer.measure(Measure::AppendAtLength(10), Duration::ZERO).expect("the question has meaning");
        assert_eq!(outcome.expect_err("nothing ran").to_string(), "pip could not install it");
    }

    #[test]
    fn every_product_has_its_script() {
        for product in PRODUCTS {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(product.script);
            assert!(script.is_file(), "{} is missing", product.script);
        }
    }
}
