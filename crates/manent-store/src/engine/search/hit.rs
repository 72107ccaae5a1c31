//! Evaluates an index row as a search hit: is it visible, does it match, and what surrounds it.

use super::super::fault::{Fault, Outcome};
use super::super::read::Reading;
use super::super::read::message::{MessageRow, in_ranges, message_of};
use super::super::read::path::end_of;
use super::docs::{self, FoldRow};
use super::place::{Owner, Owners, Path, Place};
use super::{DocKind, Entry};
use crate::search::{Also, Hit, NEIGHBOURS_MAX, Neighbour, Search, SearchOrder};
use manent_model::search::{self, Field, Passage, Snippet, Subject};
use manent_model::{Address, ConversationStatus, Known, Message, Micros, Time};
use std::rc::Rc;

/// Maximum characters of a snippet around the match, and of a neighbour.
const SNIPPET: usize = 160;

/// An index row that matches, with the records that were read to check it.
pub(crate) struct Judged {
    pub entry: Entry,
    pub owner: Rc<Owner>,
    on_path: bool,
    what: What,
    pub score: i64,
}

enum What {
    /// A message, and perhaps the rows around it.
    Message(Box<Message>, Option<Vec<MessageRow>>),
    Conversation,
    Fold(Box<FoldRow>),
}

/// Whether words must be looked for in the text itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The index has said that they are there.
    Index,
    /// It has not; the text must be checked.
    Nobody,
}

/// Checks whether an index row matches the query.
pub(crate) fn judge(
    reading: &mut Reading<'_>,
    owners: &mut Owners,
    search: &Search,
    within: Option<i64>,
    (entry, trust): (Entry, Trust),
) -> Outcome<Option<Judged>> {
    let also = search.also;
    let no = entry.key.no();
    match entry.key.kind() {
        DocKind::Reasoning if !also.reasoning => Ok(None),
        kind @ (DocKind::Message | DocKind::Reasoning) => {
            let Some(place) = owners.place(reading, Address(no), within, also)? else { return Ok(None) };
            let (message, around) = match read(reading, search, &place, Address(no), trust) {
                Ok((Some(message), around)) => (message, around),
                // A damaged record must not hide the others.
                Ok((None, _)) | Err(Fault::Refused(_)) => return Ok(None),
                Err(fault) => return Err(fault),
            };
            if !message.content.seen.by_reader && !also.branches {
                return Ok(None);
            }
            let is_told = trust == Trust::Index && search.order == SearchOrder::Newest && kind == DocKind::Message;
            let score = {
                // Where the index decides the match, the text is read only when the hit is shown.
                let passages = if is_told { Vec::new() } else { docs::passages_of(&message, kind) };
                if kind == DocKind::Reasoning && passages.is_empty() {
                    return Ok(None);
                }
                score(search, trust, &subject(&passages, Some(&message), &place.owner, entry))
            };
            let what = What::Message(Box::new(message), around);
            Ok(score.map(|score| Judged { entry, owner: place.owner, on_path: place.on_path, what, score }))
        }
        DocKind::Conversation => {
            let Some(owner) = shown(reading, owners, no, within, also)? else { return Ok(None) };
            let score =
                score(search, trust, &subject(&search::conversation_passages(&owner.shown), None, &owner, entry));
            Ok(score.map(|score| Judged { entry, owner, on_path: true, what: What::Conversation, score }))
        }
        DocKind::Fold => {
            let fold = docs::fold(reading, no)?.filter(|fold| !fold.is_withdrawn);
            let Some(fold) = fold else { return Ok(None) };
            let Some(owner) = shown(reading, owners, fold.conversation_no, within, also)? else { return Ok(None) };
            let on_path = owner.path.position(fold.address).is_some();
            if !on_path && !also.branches {
                return Ok(None);
            }
            let score = score(search, trust, &subject(&docs::fold_passages(&fold.fold), None, &owner, entry));
            Ok(score.map(|score| Judged { entry, owner, on_path, what: What::Fold(Box::new(fold)), score }))
        }
    }
}

/// Reads a message; with those around it where it will most likely be shown.
fn read(
    reading: &mut Reading<'_>,
    search: &Search,
    place: &Place,
    address: Address,
    trust: Trust,
) -> Outcome<(Option<Message>, Option<Vec<MessageRow>>)> {
    let many = neighbours(search);
    if many == 0 || trust == Trust::Nobody || search.order == SearchOrder::Relevance || !place.on_path {
        return Ok((docs::message(reading, address)?, None));
    }
    let mut rows = in_ranges(reading.connection, &place.owner.path.around(address, many), 2 * many + 1)?;
    let Some(own) = rows.iter_mut().find(|row| row.key == address.0) else { return Ok((None, None)) };
    let taken = MessageRow { facts: std::mem::take(&mut own.facts), body: std::mem::take(&mut own.body), ..*own };
    Ok((docs::searchable(reading, taken)?, Some(rows)))
}

fn neighbours(search: &Search) -> usize {
    search.neighbours.min(NEIGHBOURS_MAX) as usize
}

fn shown(
    reading: &mut Reading<'_>,
    owners: &mut Owners,
    no: i64,
    within: Option<i64>,
    also: Also,
) -> Outcome<Option<Rc<Owner>>> {
    if within.is_some_and(|within| within != no) {
        return Ok(None);
    }
    let owner = owners.get(reading, no)?;
    Ok(owner.filter(|owner| owner.shown.status != ConversationStatus::Trashed || also.trashed))
}

fn subject<'a>(
    passages: &'a [Passage<'a>],
    message: Option<&'a Message>,
    owner: &'a Owner,
    entry: Entry,
) -> Subject<'a> {
    let message = message.map(|message| &message.content);
    Subject { passages, message, conversation: &owner.shown, project: owner.project.as_deref(), at: Micros(entry.at) }
}

/// Returns how good a subject is; none if it does not match.
fn score(search: &Search, trust: Trust, subject: &Subject<'_>) -> Option<i64> {
    let is_found = match trust {
        Trust::Index => search.query.admits(subject),
        Trust::Nobody => search.query.matches(subject),
    };
    is_found.then(|| match search.order {
        SearchOrder::Newest => 0,
        SearchOrder::Relevance => {
            i64::try_from(search::relevance(&search.query, subject, search.now)).unwrap_or(i64::MAX)
        }
    })
}

impl Judged {
    /// Builds the hit for the answer.
    pub(crate) fn hit(self, reading: &mut Reading<'_>, owners: &mut Owners, search: &Search) -> Outcome<Hit> {
        let shown = &self.owner.shown;
        let path = self.on_path.then_some(&self.owner.path);
        let mut hit = Hit {
            conversation: shown.id,
            title: shown.title.clone(),
            kind: shown.kind,
            status: shown.status,
            field: Field::Title,
            message: None,
            fold: None,
            branch: None,
            position: None,
            on_path: self.on_path,
            role: None,
            author: None,
            time: shown.created_at,
            time_known: None,
            snippet: Snippet::default(),
            before: Vec::new(),
            after: Vec::new(),
            in_conversation: None,
            score: (search.order == SearchOrder::Relevance).then_some(self.score),
        };
        match self.what {
            What::Conversation => {
                (hit.field, hit.snippet) = snippet(search, &search::conversation_passages(shown));
            }
            What::Message(message, around) => {
                (hit.field, hit.snippet) = snippet(search, &docs::passages_of(&message, self.entry.key.kind()));
                hit.message = Some(message.id);
                hit.role = Some(message.content.role);
                hit.author = message.content.author;
                let Time { at, known } = message.content.time;
                hit.time = at;
                hit.time_known = Some(known).filter(|known| *known != Known::Exact);
                let spot = Spot { path, address: message.address };
                spot.show(reading, owners, search, around, &mut hit)?;
            }
            What::Fold(fold) => {
                (hit.field, hit.snippet) = snippet(search, &docs::fold_passages(&fold.fold));
                hit.message = Some(fold.fold.after);
                hit.fold = Some(fold.fold.id);
                hit.time = fold.fold.at;
                let spot = Spot { path, address: fold.address };
                spot.show(reading, owners, search, None, &mut hit)?;
            }
        }
        Ok(hit)
    }
}

/// The location of a message.
struct Spot<'a> {
    /// The shown path, if the message is on it.
    path: Option<&'a Path>,
    address: Address,
}

impl Spot<'_> {
    /// Adds the location of a message and its neighbours to a hit.
    fn show(
        self,
        reading: &mut Reading<'_>,
        owners: &mut Owners,
        search: &Search,
        around: Option<Vec<MessageRow>>,
        hit: &mut Hit,
    ) -> Outcome<()> {
        let address = self.address;
        // Off the path it is read along its own branch, as a page shows it.
        let own;
        let path = match self.path {
            Some(path) => path,
            None => {
                let end = end_of(reading, address.branch())?;
                own = Path::of(reading, end)?;
                &own
            }
        };
        hit.branch = owners.branch(reading, address)?.map(|(_, id)| id);
        hit.position = path.position(address);
        let many = neighbours(search);
        let rows = match around {
            Some(rows) => rows,
            None if many == 0 => Vec::new(),
            None => in_ranges(reading.connection, &path.around(address, many), 2 * many + 1)?,
        };
        for row in rows {
            match row.key == address.0 {
                // Rows from here on follow the hit.
                true => hit.before = std::mem::take(&mut hit.after),
                false => hit.after.extend(neighbour(reading, search.also, row)?),
            }
        }
        Ok(())
    }
}

/// Shows a message beside a hit, if a reader may see it.
fn neighbour(reading: &mut Reading<'_>, also: Also, row: MessageRow) -> Outcome<Option<Neighbour>> {
    let message = match message_of(reading.connection, reading.caches, reading.key, row) {
        Ok(message) => message,
        Err(Fault::Refused(_)) => return Ok(None),
        Err(fault) => return Err(fault),
    };
    if !message.content.seen.by_reader && !also.branches {
        return Ok(None);
    }
    let text = message.content.body.first_words(SNIPPET);
    Ok(Some(Neighbour { message: message.id, role: message.content.role, text }))
}

/// Returns a snippet of the first passage that contains a match.
fn snippet(search: &Search, passages: &[Passage<'_>]) -> (Field, Snippet) {
    let mut first = None;
    for passage in passages {
        let shown = search::snippet(&passage.text, &search.query, SNIPPET);
        if !shown.highlights.is_empty() {
            return (passage.field, shown);
        }
        first.get_or_insert((passage.field, shown));
    }
    first.unwrap_or((Field::Text, Snippet::default()))
}
