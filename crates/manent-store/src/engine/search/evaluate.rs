//! Evaluates an index row as a search hit: is it visible, does it match, and what surrounds it.

use super::super::read::Reading;
use super::super::read::message::{MessageRow, in_ranges, message_of};
use super::super::read::path::end_of;
use super::docs::{self, FoldRow};
use super::visibility::{ConversationResolver, Location, Owner, Path};
use super::{DocKind, Entry};
use crate::api::search::{CONTEXT_MAX, ContextMessage, Hit, Include, Search, SearchOrder};
use crate::engine::sql::tx_error::{TxError, TxResult};
use manent_model::{Address, ConversationStatus, Message, Time, TimeSource, Timestamp};
use manent_text::{Field, FieldText, SearchDocument, Snippet};
use std::rc::Rc;

/// Maximum characters of a snippet around the match, and of a neighbour.
const SNIPPET: usize = 160;

/// An index row that matches, with the records that were read to check it.
pub(crate) struct Candidate {
    pub entry: Entry,
    pub owner: Rc<Owner>,
    on_path: bool,
    what: HitRecord,
    pub score: i64,
}

enum HitRecord {
    /// A message, and perhaps the rows around it.
    Message(Box<Message>, Option<Vec<MessageRow>>),
    Conversation,
    Fold(Box<FoldRow>),
}

/// Whether words must be looked for in the text itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchSource {
    /// The index has said that they are there.
    Index,
    /// It has not; the text must be checked.
    Unverified,
}

/// Checks whether an index row matches the query.
pub(crate) fn evaluate(
    reading: &mut Reading<'_>,
    owners: &mut ConversationResolver,
    search: &Search,
    within: Option<i64>,
    (entry, trust): (Entry, MatchSource),
) -> TxResult<Option<Candidate>> {
    let also = search.include;
    let no = entry.key.no();
    match entry.key.kind() {
        DocKind::Reasoning if !also.reasoning => Ok(None),
        kind @ (DocKind::Message | DocKind::Reasoning) => {
            let Some(place) = owners.place(reading, Address(no), within, also)? else { return Ok(None) };
            let (message, around) = match read(reading, search, &place, Address(no), trust) {
                Ok((Some(message), around)) => (message, around),
                // A damaged record must not hide the others.
                Ok((None, _)) | Err(TxError::Rejected(_)) => return Ok(None),
                Err(fault) => return Err(fault),
            };
            if !message.content.seen.by_reader && !also.branches {
                return Ok(None);
            }
            let is_told =
                trust == MatchSource::Index && search.order == SearchOrder::Newest && kind == DocKind::Message;
            let score = {
                // Where the index decides the match, the text is read only when the hit is shown.
                let passages = if is_told { Vec::new() } else { docs::passages_of(&message, kind) };
                if kind == DocKind::Reasoning && passages.is_empty() {
                    return Ok(None);
                }
                score(search, trust, &subject(&passages, Some(&message), &place.owner, entry))
            };
            let what = HitRecord::Message(Box::new(message), around);
            Ok(score.map(|score| Candidate { entry, owner: place.owner, on_path: place.on_path, what, score }))
        }
        DocKind::Conversation => {
            let Some(owner) = shown(reading, owners, no, within, also)? else { return Ok(None) };
            let score = score(
                search,
                trust,
                &subject(&manent_text::conversation_field_texts(&owner.shown), None, &owner, entry),
            );
            Ok(score.map(|score| Candidate { entry, owner, on_path: true, what: HitRecord::Conversation, score }))
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
            Ok(score.map(|score| Candidate { entry, owner, on_path, what: HitRecord::Fold(Box::new(fold)), score }))
        }
    }
}

/// Reads a message; with those around it where it will most likely be shown.
fn read(
    reading: &mut Reading<'_>,
    search: &Search,
    place: &Location,
    address: Address,
    trust: MatchSource,
) -> TxResult<(Option<Message>, Option<Vec<MessageRow>>)> {
    let many = neighbours(search);
    if many == 0 || trust == MatchSource::Unverified || search.order == SearchOrder::Relevance || !place.on_path {
        return Ok((docs::message(reading, address)?, None));
    }
    let mut rows = in_ranges(reading.connection, &place.owner.path.around(address, many), 2 * many + 1)?;
    let Some(own) = rows.iter_mut().find(|row| row.key == address.0) else { return Ok((None, None)) };
    let taken = MessageRow { facts: std::mem::take(&mut own.facts), body: std::mem::take(&mut own.body), ..*own };
    Ok((docs::searchable(reading, taken)?, Some(rows)))
}

fn neighbours(search: &Search) -> usize {
    search.neighbours.min(CONTEXT_MAX) as usize
}

fn shown(
    reading: &mut Reading<'_>,
    owners: &mut ConversationResolver,
    no: i64,
    within: Option<i64>,
    also: Include,
) -> TxResult<Option<Rc<Owner>>> {
    if within.is_some_and(|within| within != no) {
        return Ok(None);
    }
    let owner = owners.get(reading, no)?;
    Ok(owner.filter(|owner| owner.shown.status != ConversationStatus::Trashed || also.trashed))
}

fn subject<'a>(
    passages: &'a [FieldText<'a>],
    message: Option<&'a Message>,
    owner: &'a Owner,
    entry: Entry,
) -> SearchDocument<'a> {
    let message = message.map(|message| &message.content);
    SearchDocument {
        fields: passages,
        message,
        conversation: &owner.shown,
        project: owner.project.as_deref(),
        at: Timestamp(entry.at),
    }
}

/// Returns how good a subject is; none if it does not match.
fn score(search: &Search, trust: MatchSource, subject: &SearchDocument<'_>) -> Option<i64> {
    let is_found = match trust {
        MatchSource::Index => search.query.admits(subject),
        MatchSource::Unverified => search.query.matches(subject),
    };
    is_found.then(|| match search.order {
        SearchOrder::Newest => 0,
        SearchOrder::Relevance => {
            i64::try_from(manent_text::relevance(&search.query, subject, search.now)).unwrap_or(i64::MAX)
        }
    })
}

impl Candidate {
    /// Builds the hit for the answer.
    pub(crate) fn hit(
        self,
        reading: &mut Reading<'_>,
        owners: &mut ConversationResolver,
        search: &Search,
    ) -> TxResult<Hit> {
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
            time_source: None,
            snippet: Snippet::default(),
            before: Vec::new(),
            after: Vec::new(),
            in_conversation: None,
            score: (search.order == SearchOrder::Relevance).then_some(self.score),
        };
        match self.what {
            HitRecord::Conversation => {
                (hit.field, hit.snippet) = snippet(search, &manent_text::conversation_field_texts(shown));
            }
            HitRecord::Message(message, around) => {
                (hit.field, hit.snippet) = snippet(search, &docs::passages_of(&message, self.entry.key.kind()));
                hit.message = Some(message.id);
                hit.role = Some(message.content.role);
                hit.author = message.content.author;
                let Time { at, source: known } = message.content.time;
                hit.time = at;
                hit.time_source = Some(known).filter(|known| *known != TimeSource::Exact);
                let spot = HitLocation { path, address: message.address };
                spot.show(reading, owners, search, around, &mut hit)?;
            }
            HitRecord::Fold(fold) => {
                (hit.field, hit.snippet) = snippet(search, &docs::fold_passages(&fold.fold));
                hit.message = Some(fold.fold.after);
                hit.fold = Some(fold.fold.id);
                hit.time = fold.fold.at;
                let spot = HitLocation { path, address: fold.address };
                spot.show(reading, owners, search, None, &mut hit)?;
            }
        }
        Ok(hit)
    }
}

/// The location of a message.
struct HitLocation<'a> {
    /// The shown path, if the message is on it.
    path: Option<&'a Path>,
    address: Address,
}

impl HitLocation<'_> {
    /// Adds the location of a message and its neighbours to a hit.
    fn show(
        self,
        reading: &mut Reading<'_>,
        owners: &mut ConversationResolver,
        search: &Search,
        around: Option<Vec<MessageRow>>,
        hit: &mut Hit,
    ) -> TxResult<()> {
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
                false => hit.after.extend(neighbour(reading, search.include, row)?),
            }
        }
        Ok(())
    }
}

/// Shows a message beside a hit, if a reader may see it.
fn neighbour(reading: &mut Reading<'_>, also: Include, row: MessageRow) -> TxResult<Option<ContextMessage>> {
    let message = match message_of(reading.connection, reading.caches, reading.key, row) {
        Ok(message) => message,
        Err(TxError::Rejected(_)) => return Ok(None),
        Err(fault) => return Err(fault),
    };
    if !message.content.seen.by_reader && !also.branches {
        return Ok(None);
    }
    let text = message.content.body.first_words(SNIPPET);
    Ok(Some(ContextMessage { message: message.id, role: message.content.role, text }))
}

/// Returns a snippet of the first passage that contains a match.
fn snippet(search: &Search, passages: &[FieldText<'_>]) -> (Field, Snippet) {
    let mut first = None;
    for passage in passages {
        let shown = manent_text::snippet(&passage.text, &search.query, SNIPPET);
        if !shown.highlights.is_empty() {
            return (passage.field, shown);
        }
        first.get_or_insert((passage.field, shown));
    }
    first.unwrap_or((Field::Text, Snippet::default()))
}
