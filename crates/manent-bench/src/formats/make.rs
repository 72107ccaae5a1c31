//! Generator of large files of every format: the same conversations, hand-written for one format and exported for the
//! others.

use ::manent::formats;
use ::manent::formats::core::source_fs;
use ::manent::transfer::export::{DiskOut, ExportPlan, Replace};
use ::manent::{Database, ImportMode};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

const MESSAGES: u64 = 100;
const WORDS: [&str; 8] = [
    "写下来的会留下。",
    "What is written remains. ",
    "A conversation is a tree, and most of it is never seen again. ",
    "数据库要能在断电之后说出同样的话。",
    "```rust\\nfn main() {}\\n```\\n",
    "Ships in the night, \\\"he said\\\", and went. ",
    "请把上面的步骤再解释一遍，慢一点。",
    "The tool answered with a list of twelve files. ",
];

/// Makes a folder for each format and returns them in order.
pub fn all(folder: &Path, wanted: &[&str], bytes: u64) -> Result<Vec<PathBuf>> {
    let veloca = folder.join("veloca");
    std::fs::create_dir_all(&veloca)?;
    write(&veloca.join("veloca-storage.json"), bytes)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let store = tempfile::tempdir_in(folder)?;
    let database = Database::open(store.path().join("make.db"))?;
    let from = formats::format("veloca").context("veloca")?;
    runtime.block_on(database.import_tree(source_fs::at(&veloca)?, from, ImportMode::Store, |_| {}))?;
    let mut made = Vec::new();
    for name in wanted {
        let path = folder.join(name);
        if *name != "veloca" {
            let plan = ExportPlan::everything(formats::format(name).context("a format")?);
            std::fs::create_dir_all(&path)?;
            let out = DiskOut::new(&path, plan.format, Replace::Never)?;
            let exported = runtime.block_on(database.export_tree(&plan, out))?;
            exported.out.finish()?;
        }
        made.push(path);
    }
    runtime.block_on(database.close())?;
    Ok(made)
}

/// Writes sessions one after the other; the entries of a session are adjacent, as in sequential use.
fn write(path: &Path, bytes: u64) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(5);
    let mut out = BufWriter::new(File::create(path)?);
    // An entry has about this many bytes with its members.
    let sessions = (bytes / (MESSAGES * 820)).max(1);
    writeln!(out, "{{\n  \"sessions\": [")?;
    for session in 0..sessions {
        let end = if session + 1 == sessions { "" } else { "," };
        let at = "2024-01-01T00:00:00.000Z";
        writeln!(
            out,
            "    {{\n      \"session_id\": \"session_{session}\",\n      \"name\": \"第 {session} 场\",\n      \"status\": 0,\n      \"create_at\": \"{at}\"\n    }}{end}"
        )?;
    }
    writeln!(out, "  ],\n  \"entries\": [")?;
    for entry in 0..sessions * MESSAGES {
        let end = if entry + 1 == sessions * MESSAGES { "" } else { "," };
        let words: String = (0..random.usize(6..20)).map(|_| WORDS[random.usize(0..WORDS.len())]).collect();
        let (session, role) = (entry / MESSAGES, if entry % 2 == 0 { "user" } else { "assistant" });
        writeln!(
            out,
            "    {{\n      \"entry_id\": \"entry_{entry}\",\n      \"session_id\": \"session_{session}\",\n      \"message\": \"{words}\",\n      \"role\": \"{role}\",\n      \"token_consumption\": {},\n      \"status\": 0,\n      \"tools\": null,\n      \"create_at\": \"2024-01-01T00:00:{:02}.000Z\",\n      \"is_compaction\": 1\n    }}{end}",
            words.len() / 4,
            entry % 60
        )?;
    }
    writeln!(out, "  ],\n  \"compacted_dialogues\": []\n}}")?;
    out.flush()?;
    Ok(())
}
