//! Registry of formats: one row with all properties of each.

use crate::apps::{kode, obsidian, personalab, tables, veloca};
use crate::core::export::{ExportSource, FileSink, Loss, WriteError};
use crate::core::item::Sink;
use crate::core::problem::ReadError;
use crate::core::source_fs::{SourceTree, Subdirectory};
use crate::render;

/// A format that is read and written.
#[derive(Debug)]
pub struct Format {
    /// Its name, as people type it.
    pub name: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    /// Its generations, oldest first.
    pub generations: &'static [&'static str],
    /// Endings of an output path that ask for one file; with any other the export is a folder.
    pub file_endings: &'static [&'static str],
    /// Whether the format marks deleted conversations. If not, conversations in the trash are exported only if they
    /// are requested by id.
    pub holds_trash: bool,
    /// Returns whether a file tree contains this format.
    pub finds: fn(&dyn SourceTree) -> bool,
    /// Reads all of it.
    pub read: fn(&dyn SourceTree, &mut dyn Sink) -> Result<(), ReadError>,
    /// Writes conversations in a generation; in their own, or the format's usual one, if none is given.
    pub write: fn(&mut dyn ExportSource, &mut dyn FileSink, Option<&str>) -> Result<Vec<Loss>, WriteError>,
}

/// Every format, in the order in which an unknown tree is tried.
pub static FORMATS: &[Format] = &[
    Format {
        name: veloca::NAME,
        about: "Veloca and otherone: sessions in one JSON file",
        generations: &veloca::GENERATIONS,
        file_endings: &["json"],
        holds_trash: true,
        finds: |tree| !veloca::finds(tree).is_empty(),
        read: veloca::read,
        write: veloca::write,
    },
    Format {
        name: obsidian::NAME,
        about: "RAG assistant for Obsidian: a file for each session, and an index",
        generations: &obsidian::GENERATIONS,
        file_endings: &["json"],
        holds_trash: true,
        finds: obsidian::finds,
        read: obsidian::read,
        write: obsidian::write,
    },
    Format {
        name: personalab::NAME,
        about: "PersonaLab: role-plays as JSON lines, with characters and plots",
        generations: &personalab::GENERATIONS,
        file_endings: &[],
        holds_trash: false,
        finds: personalab::finds,
        read: personalab::read,
        write: personalab::write,
    },
    Format {
        name: kode::NAME,
        about: "Kode agent SDK: a folder for each agent",
        generations: &kode::GENERATIONS,
        file_endings: &[],
        holds_trash: false,
        finds: kode::finds,
        read: kode::read,
        write: kode::write,
    },
    Format {
        name: tables::NAME,
        about: "Conversation tables: a table of conversations and one of messages in a SQLite file",
        generations: &tables::GENERATIONS,
        file_endings: &["sqlite", "sqlite3", "db"],
        holds_trash: true,
        finds: tables::finds,
        read: tables::read,
        write: tables::write,
    },
    Format {
        name: render::MARKDOWN,
        about: "Markdown for people: a file for each conversation (written only)",
        generations: &[],
        file_endings: &["md", "markdown"],
        holds_trash: false,
        finds: render::finds,
        read: render::read,
        write: render::write_markdown,
    },
    Format {
        name: render::HTML,
        about: "one page of HTML for people (written only)",
        generations: &[],
        file_endings: &["html", "htm"],
        holds_trash: false,
        finds: render::finds,
        read: render::read,
        write: render::write_html,
    },
];

/// Returns a format by its name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Returns the formats that are read; the others are for people.
pub fn readable() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| ![render::MARKDOWN, render::HTML].contains(&format.name))
}

/// The names of the formats that are read, for people.
pub fn known_formats() -> String {
    readable().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// Detects the format of a file tree.
pub fn sniff(tree: &dyn SourceTree) -> Option<&'static Format> {
    readable().find(|format| (format.finds)(tree))
}

/// Detects the format of a file tree or, if it consists of a single folder, of that folder; returns the tree if it is
/// not recognised.
///
/// A requested format is not checked, but the single folder is entered for it too.
pub fn recognise(
    tree: Box<dyn SourceTree + Send>,
    asked: Option<&'static Format>,
) -> Result<(Box<dyn SourceTree + Send>, &'static Format), Box<dyn SourceTree + Send>> {
    let known = |tree: &dyn SourceTree| match asked {
        Some(format) => Some(format).filter(|format| (format.finds)(tree)),
        None => sniff(tree),
    };
    if let Some(format) = known(&*tree) {
        return Ok((tree, format));
    }
    let tree = match Subdirectory::the_top(tree) {
        Ok(below) => match known(&below) {
            Some(format) => return Ok((Box::new(below), format)),
            None => below.whole(),
        },
        Err(tree) => tree,
    };
    match asked {
        Some(format) => Ok((tree, format)),
        None => Err(tree),
    }
}
