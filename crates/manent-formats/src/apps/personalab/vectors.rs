//! The vector database: a Chroma folder, whose files are stored verbatim.
//!
//! They are not parsed. Each is a blob and a document that refers to it; the document belongs to the folder of the
//! file. A file that was deleted there is not written back: a journal that outlived its database would corrupt it.

use crate::apps::personalab::RootFrame;
use crate::apps::personalab::files::VECTORS;
use crate::core::export::{ExportSource, WriteError};
use crate::core::item::{BlobItem, DocumentItem, Item, Sink};
use crate::core::json::Bytes;
use crate::core::media::PIECE;
use crate::core::names::{Names, is_safe};
use crate::core::problem::ReadError;
use crate::core::source_fs::SourceTree;
use manent_model::{Json, hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The kind of document, and the word for the record.
const KIND: &str = "chroma_db";

/// Document of a vector file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct VectorBody {
    sha256: String,
    size: u64,
}

/// Layout of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VectorFrame {
    /// Its name below the folder of the vectors.
    pub name: String,
    pub sha256: String,
    /// See [`RootFrame::vectors`].
    digest: String,
}

/// The files, as they are before anything is handed on.
pub(crate) struct Vectors {
    pub digest: String,
    files: Vec<(String, [u8; 32], u64)>,
}

impl Vectors {
    /// Looks at every file; none where there is no such folder.
    pub(crate) fn of(tree: &dyn SourceTree, folder: &str, names: &[String]) -> Result<Option<Self>, ReadError> {
        let mut files = Vec::with_capacity(names.len());
        let mut all = Sha256::new();
        for name in names {
            let (mut hasher, mut size) = (Sha256::new(), 0);
            each_piece(tree, &format!("{folder}{VECTORS}{name}"), &mut |piece, _| {
                hasher.update(piece);
                size += piece.len() as u64;
                Ok(())
            })?;
            let sha256: [u8; 32] = hasher.finalize().into();
            all.update((name.len() as u64).to_le_bytes());
            all.update(name.as_bytes());
            all.update(sha256);
            files.push((name.clone(), sha256, size));
        }
        let digest = hex::encode(&all.finalize());
        Ok((!files.is_empty()).then_some(Self { digest, files }))
    }

    /// Hands the files on, each as its bytes and a document that names them.
    pub(crate) fn tell(self, tree: &dyn SourceTree, folder: &str, sink: &mut dyn Sink) -> Result<(), ReadError> {
        sink.take(Item::Found { record: KIND, count: self.files.len() as u64 })?;
        for (name, sha256, size) in self.files {
            let mut n = 0;
            each_piece(tree, &format!("{folder}{VECTORS}{name}"), &mut |piece, is_last| {
                sink.take(Item::Blob(BlobItem { sha256, size, n, is_last, bytes: piece.to_vec() }))?;
                n += 1;
                Ok(())
            })?;
            let sha256 = hex::encode(&sha256);
            let frame = VectorFrame { name: name.clone(), sha256: sha256.clone(), digest: self.digest.clone() };
            let (body, frame) = (Json::of(&VectorBody { sha256, size }), Some(Json::of(&frame)));
            let kind = KIND.to_owned();
            sink.take(Item::Document(DocumentItem { kind, id: name, project: None, body, frame, record: KIND }))?;
        }
        Ok(())
    }
}

/// Reads a file piece by piece, and says of each whether it is the last; an empty file is one empty piece.
fn each_piece(
    tree: &dyn SourceTree,
    name: &str,
    look: &mut dyn FnMut(&[u8], bool) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let failed = |source| ReadError::File { file: name.to_owned(), source };
    let file: Box<dyn Bytes + '_> = tree.file(name)?;
    let (mut at, length) = (0, file.len());
    loop {
        let to = length.min(at + PIECE as u64);
        let piece = file.slice(at, to).map_err(failed)?;
        // A file that shrinks while it is read ends early; its digest then does not match, which is reported.
        let is_last = to == length || piece.is_empty();
        look(&piece, is_last)?;
        if is_last {
            return Ok(());
        }
        at = to;
    }
}

/// Returns the files that the folder holds now: those that were seen together with it or, where no folder is known, those
/// that were seen last.
pub(crate) fn held(library: &mut dyn ExportSource, root: Option<&RootFrame>) -> Result<Vec<VectorFrame>, WriteError> {
    let mut frames = Vec::new();
    for (document, record) in library.documents(KIND)? {
        let raw = record.as_ref().and_then(|record| record.raw.as_deref());
        let frame = raw.and_then(|raw| serde_json::from_str::<VectorFrame>(raw).ok());
        frames.extend(frame.filter(|_| document.body.is_some()).map(|frame| (document.at, frame)));
    }
    let digest = match root {
        Some(root) => root.vectors.clone(),
        None => frames.iter().max_by_key(|(at, _)| *at).map(|(_, frame)| frame.digest.clone()),
    };
    let mut names = Names::default();
    let is_held = |frame: &VectorFrame| Some(&frame.digest) == digest.as_ref() && is_safe(&frame.name);
    let frames = frames.into_iter().map(|(_, frame)| frame).filter(is_held);
    Ok(frames.filter(|frame| names.take(&frame.name)).collect())
}
