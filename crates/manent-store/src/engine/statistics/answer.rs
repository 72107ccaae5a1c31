//! Answers statistics from the sums, corrected by the changes that the index has not read yet.

use super::super::read::Reading;
use super::super::read::path::head_of;
use super::super::search::feed::{self, CURSOR, FeedCursor};
use super::cells::{self, Cells, Scope};
use super::changes::{Change, Changes};
use super::path::{self, Until};
use crate::api::error::StoreError;
use crate::api::query::StatsQuery;
use crate::engine::access::access_filter::{AccessFilter, project_no, require_visible};
use crate::engine::codec::disk_codes::NameKind;
use crate::engine::sql::connection::{Connection, query_optional};
use crate::engine::sql::tx_error::{TxError, TxResult};
use manent_model::{AccessScope, ConversationId, Stats};

/// Counts from the sums. Returns none where they cannot answer: there is no index, it is far behind, or the query or
/// the access scope selects conversations that have no totals of their own. The caller then counts conversation by
/// conversation.
pub(crate) fn answer(reading: &mut Reading<'_>, access: &AccessScope, query: &StatsQuery) -> TxResult<Option<Stats>> {
    let Some(sums) = sums(reading)? else { return Ok(None) };
    if let Some(id) = query.conversation {
        let mut stats = Stats::default();
        add_one(reading, Some(&sums), access, id, query, &mut stats)?;
        return Ok(Some(stats));
    }
    let Some(scopes) = scopes(reading, access, query)? else { return Ok(None) };
    several(reading, &sums, &scopes, query).map(Some)
}

/// Adds conversations to statistics, each from its sums where they can answer. One that has gone is left out, unless
/// the query names it.
pub(crate) fn add_conversations(
    reading: &mut Reading<'_>,
    access: &AccessScope,
    ids: &[ConversationId],
    query: &StatsQuery,
    stats: &mut Stats,
) -> TxResult<()> {
    let sums = sums(reading)?;
    for id in ids {
        match add_one(reading, sums.as_ref(), access, *id, query, stats) {
            Err(TxError::Rejected(StoreError::NotFound { .. })) if query.conversation.is_none() => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

/// The index, and which conversations changed since it last read the journal.
type Sums<'a> = (Connection<'a>, Changes);

/// Returns none if there is no index, or it is far behind.
fn sums<'a>(reading: &mut Reading<'a>) -> TxResult<Option<Sums<'a>>> {
    let Some(index) = index_of(reading) else { return Ok(None) };
    let cursor = cursor(index)?;
    if !feed::is_same_journal(reading, cursor)? {
        return Ok(None);
    }
    Ok(Changes::since(reading, cursor.position)?.map(|changes| (index, changes)))
}

/// The connection that reads the sums: another file on SQLite, the same server on PostgreSQL.
pub(super) fn index_of<'a>(reading: &Reading<'a>) -> Option<Connection<'a>> {
    match reading.connection {
        Connection::Sqlite(_) => reading.index.map(Into::into),
        Connection::Postgres(_) => Some(reading.connection),
    }
}

pub(super) fn cursor(index: Connection<'_>) -> TxResult<FeedCursor> {
    let sql = "select value from search_cursor where name = $1";
    let found: Option<Vec<u8>> = query_optional(index, sql, [CURSOR], |row| row.get(0))?;
    Ok(found.and_then(|bytes| FeedCursor::decode(&bytes)).unwrap_or_default())
}

/// The disjoint scopes whose totals make up the answer; none if no scopes do.
fn scopes(reading: &mut Reading<'_>, access: &AccessScope, query: &StatsQuery) -> TxResult<Option<Vec<Scope>>> {
    if access.user.is_some() || (query.tag.is_some() && (query.project.is_some() || access.projects.is_some())) {
        return Ok(None);
    }
    let connection = reading.connection;
    if let Some(project) = query.project {
        let within = AccessFilter::of(connection, access)?;
        return match project_no(connection, project)? {
            Some(no) if within.has_project(connection, no)? => Ok(Some(vec![Scope::Project(no)])),
            _ => Err(StoreError::not_found("project", project).into()),
        };
    }
    if let Some(tag) = &query.tag {
        let no = reading.caches.number_of(connection, NameKind::Tag, tag)?;
        return Ok(Some(no.map(Scope::Tag).into_iter().collect()));
    }
    let Some(projects) = &access.projects else { return Ok(Some(vec![Scope::Store])) };
    let mut scopes = Vec::new();
    for project in projects {
        scopes.extend(project_no(connection, *project)?.map(Scope::Project));
    }
    scopes.sort_unstable();
    scopes.dedup();
    Ok(Some(scopes))
}

fn add_one(
    reading: &mut Reading<'_>,
    sums: Option<&Sums<'_>>,
    access: &AccessScope,
    id: ConversationId,
    query: &StatsQuery,
    stats: &mut Stats,
) -> TxResult<()> {
    require_visible(reading.connection, access, id)?;
    let (no, head) = head_of(reading.connection, id)?;
    let cells = match sums {
        Some((index, changes)) => {
            let change = changes.0.get(&no).copied().unwrap_or(Change::Extended);
            path_now(reading, *index, no, head, change)?
        }
        None => path::whole(reading, head, Until::Head)?.0,
    };
    stats.conversations += i64::from(query.conversation.is_some() || path::is_active(&cells, query));
    path::add_to(reading, stats, &cells, &query.days())
}

fn several(
    reading: &mut Reading<'_>,
    (index, changes): &Sums<'_>,
    scopes: &[Scope],
    query: &StatsQuery,
) -> TxResult<Stats> {
    let index = *index;
    let days = query.days();
    let (mut total, mut conversations) = (Cells::default(), 0);
    for scope in scopes {
        total.add_all(&cells::of_scope(index, *scope, &days)?);
        conversations += match query.is_limited_to_days() {
            true => cells::count_active(index, *scope, &days)?,
            false => cells::count_all(index, *scope)?,
        };
    }
    for (no, change) in &changes.0 {
        if cells::scopes(index, *no)?.iter().any(|scope| scopes.contains(scope)) {
            let before = cells::of_conversation(index, *no)?;
            conversations -= i64::from(path::is_active(&before, query));
            total.subtract_all(&before);
        }
        let Some((head, scopes_now)) = path::current(reading, *no)? else { continue };
        if scopes_now.iter().any(|scope| scopes.contains(scope)) {
            let now = path_now(reading, index, *no, head, *change)?;
            conversations += i64::from(path::is_active(&now, query));
            total.add_all(&now);
        }
    }
    let mut stats = Stats { conversations, ..Stats::default() };
    path::add_to(reading, &mut stats, &total, &days)?;
    Ok(stats)
}

/// Returns the cells of a path as it is now, from those that are stored where they still hold.
fn path_now(
    reading: &mut Reading<'_>,
    index: Connection<'_>,
    no: i64,
    head: manent_model::Head,
    change: Change,
) -> TxResult<Cells> {
    if let Some(counted) = cells::counted(index, no)?.filter(|_| change < Change::Rewritten)
        && let Some((tail, _)) = path::tail(reading, head, counted, Until::Head)?
    {
        let mut cells = cells::of_conversation(index, no)?;
        cells.add_all(&tail);
        return Ok(cells);
    }
    Ok(path::whole(reading, head, Until::Head)?.0)
}
