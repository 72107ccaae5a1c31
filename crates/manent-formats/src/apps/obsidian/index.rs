//! The two indexes: of sessions, and of deleted sessions.

use crate::apps::obsidian::entry;
use crate::apps::obsidian::entry::Entry;
use crate::core::item::Item;
use crate::core::json::{Frame, Members, Outline, Shape};
use crate::core::problem::{Place, ReadError, Repair, RepairKind};
use crate::core::source_fs::{JsonFile, SourceTree};

/// An index that could be read.
#[derive(Default)]
pub(crate) struct Index {
    pub frame: Option<Frame>,
    pub entries: Vec<Entry>,
    /// The session that is open.
    pub current: Option<String>,
}

/// Which of the two.
pub(crate) enum Which {
    Sessions,
    Trash,
}

impl Which {
    fn list(&self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Trash => "items",
        }
    }

    fn record(&self) -> &'static str {
        match self {
            Self::Sessions => "index",
            Self::Trash => "trash index",
        }
    }
}

const SHAPE: Shape = Shape::Object(&[("sessions", RECORDS), ("items", RECORDS)]);
const RECORDS: Shape = Shape::List(&Shape::Value);

/// Reads an index, and tells what is wrong with it.
pub(crate) fn read(tree: &dyn SourceTree, name: &str, which: &Which, told: &mut Vec<Item>) -> Result<Index, ReadError> {
    let file = JsonFile::open(tree, name, &SHAPE)?;
    let list = file.root.as_ref().and_then(|root| root.member(which.list()));
    let frame = match (list, file.torn_at) {
        (Some(Outline::List { .. }), None) => Some(file.frame()?),
        _ => None,
    };
    let frame = match frame {
        Some(frame) if !file.is_mended(&frame)? => Some(frame),
        _ => None,
    };
    let Some(frame) = frame.filter(|frame| Members::parse(&frame.skeleton.text).is_some()) else {
        told.push(Item::Found { record: which.record(), count: 1 });
        let why = "the index is cut off, or no index; the files themselves say what there is".to_owned();
        told.push(file.problem(file.whole(), which.record(), why.clone())?);
        told.push(Item::Repair(Repair { place: Place::file(name), what: RepairKind::IndexRebuilt, why }));
        return Ok(Index::default());
    };
    for removed in file.removed()? {
        told.extend(file.unreadable(&removed)?);
    }
    let mut index = Index::default();
    for item in list.map_or(&[][..], Outline::items) {
        let text = file.text(item.span())?;
        match text.and_then(|text| entry::read(text).map_err(|(_, why)| why)) {
            Ok(entry) => index.entries.push(entry),
            Err(why) => {
                told.push(Item::Found { record: "session", count: 1 });
                told.push(file.problem(item.span(), "session", why)?);
            }
        }
    }
    index.current = Members::parse(&frame.skeleton.text).and_then(|members| members.text("currentSessionId"));
    index.frame = Some(frame);
    Ok(index)
}
