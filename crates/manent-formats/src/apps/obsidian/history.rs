//! The legacy file: one array of messages. The program copies it into a session once and does not change it.

use crate::apps::obsidian::{HistoryFrame, Kept, Run, message};
use crate::core::json::{Members, Outline, Shape, Style};
use crate::core::problem::ReadError;
use crate::core::source_fs::{JsonFile, SourceTree};
use manent_model::Timestamp;

pub(crate) const SHAPE: Shape = Shape::List(&Shape::Value);

/// A session that the file may have been copied into, by the texts of its messages.
pub(crate) struct Copied {
    pub conversation: u32,
    pub texts: Vec<String>,
}

/// Keeps the content of a legacy file: a reference if a session has the same message, otherwise its text.
pub(crate) fn keep(file: &JsonFile<'_>, copied: Option<&Copied>) -> Result<HistoryFrame, ReadError> {
    let frame = file.frame()?;
    let mut records: Vec<Kept> = Vec::new();
    let items = file.root.as_ref().map_or(&[][..], Outline::items);
    for (place, item) in items.iter().enumerate() {
        // An unreadable record was reported already.
        let Ok(text) = file.text(item.span())? else { continue };
        let message = copied.and_then(|copied| Some((copied.conversation, copied.texts.get(place)?)));
        match message.filter(|(_, message)| laid(message, frame.style) == text) {
            Some((conversation, _)) => follow(&mut records, conversation, place as u32),
            None => records.push(Kept::Text(text)),
        }
    }
    Ok(HistoryFrame { name: file.name.clone(), frame, records })
}

/// A message of a session, formatted as in a legacy file.
pub(crate) fn laid(message: &str, style: Style) -> String {
    style.format(message, 1)
}

fn follow(records: &mut Vec<Kept>, conversation: u32, place: u32) {
    if let Some(Kept::Laid(run)) = records.last_mut()
        && run.conversation == conversation
        && run.from + run.count == place
    {
        run.count += 1;
        return;
    }
    records.push(Kept::Laid(Run { conversation, from: place, count: 1 }));
}

/// The id that the program gives to the session it makes of a legacy file.
pub(crate) fn migrated_id(at: Timestamp) -> String {
    format!("migrated_{}", crate::core::time::to_millis(at))
}

/// Its name; the program leaves month, day and hour without a zero before them.
pub(crate) fn migrated_name(at: Timestamp) -> String {
    let time = jiff::Timestamp::from_microsecond(at.0).unwrap_or_default().to_zoned(jiff::tz::TimeZone::UTC);
    format!("历史会话 {}-{} {}:{:02}", time.month(), time.day(), time.hour(), time.minute())
}

/// Returns whether a single file is of this generation: an array whose first element is a message with a text.
pub(crate) fn looks_like(tree: &dyn SourceTree, name: &str) -> bool {
    let Ok(file) = JsonFile::open(tree, name, &SHAPE) else { return false };
    let first = file.root.as_ref().and_then(|root| root.items().first());
    let Some(Ok(Ok(text))) = first.map(|first| file.text(first.span())) else { return false };
    let has_text = Members::parse(&text).is_some_and(|members| members.text("content").is_some());
    has_text && message::read(&text, Default::default()).is_ok()
}
