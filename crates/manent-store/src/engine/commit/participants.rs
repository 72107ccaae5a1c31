//! Participant rows: the creator and the members of each conversation, by external id.
//!
//! They repeat what a conversation and its body say, so that the conversations of one person are found by an index,
//! without decoding the bodies of all others.

use crate::engine::apply::conversation::Body;
use crate::engine::sql::connection::{Connection, DbResult, execute, next_page_start, query_all, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::Author;
use std::collections::BTreeMap;

/// The role of a person in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Membership {
    pub is_creator: bool,
    pub is_member: bool,
}

/// The people of a conversation.
pub(crate) type Participants = BTreeMap<String, Membership>;

/// Returns the people that a conversation names.
pub(crate) fn participants<'a>(creator: Option<String>, members: impl IntoIterator<Item = &'a Author>) -> Participants {
    let mut people = Participants::new();
    if let Some(creator) = creator {
        people.entry(creator).or_default().is_creator = true;
    }
    for member in members {
        people.entry(member.id.clone()).or_default().is_member = true;
    }
    people
}

/// Decodes the members from the body of a conversation; `None` if it cannot be decoded.
pub(crate) fn members(body: Option<&[u8]>) -> Option<Vec<Author>> {
    match body {
        Some(body) => serde_json::from_slice::<Body>(body).ok().map(|body| body.members),
        None => Some(Vec::new()),
    }
}

/// Adds the people of a conversation that has none yet.
pub(crate) fn add(connection: Connection<'_>, conversation_no: i64, people: &Participants) -> DbResult<()> {
    let sql = "insert into participant (person, conversation_no, made, takes_part) values ($1, $2, $3, $4)
         on conflict do nothing";
    for (person, role) in people {
        execute(connection, sql, (person, conversation_no, role.is_creator, role.is_member))?;
    }
    Ok(())
}

/// Replaces the members of a conversation; its creator stays.
pub(crate) fn replace_members(connection: Connection<'_>, conversation_no: i64, members: &[Author]) -> TxResult<()> {
    let sql = "select a.external_id
         from conversation c
         join author a on a.no = c.creator_no
         where c.no = $1";
    let creator = query_optional(connection, sql, [conversation_no], |row| row.get(0))?;
    forget(connection, conversation_no)?;
    Ok(add(connection, conversation_no, &participants(creator, members))?)
}

/// Takes all people of a conversation away.
pub(crate) fn forget(connection: Connection<'_>, conversation_no: i64) -> DbResult<()> {
    execute(connection, "delete from participant where conversation_no = $1", [conversation_no])
}

/// Returns at most `limit` conversations that a person takes part in.
pub(crate) fn taking_part(connection: Connection<'_>, person: &str, limit: i64) -> DbResult<Vec<i64>> {
    let sql = "select conversation_no from participant
         where person = $1 and takes_part = 1
         order by conversation_no
         limit $2";
    query_all(connection, sql, (person, limit), |row| row.get(0))
}

/// Replaces an erased person as creator of their conversations by the name that remains.
pub(crate) fn rename_erased(connection: Connection<'_>, person: &str) -> DbResult<()> {
    let sql = "update participant
         set person = (select a.external_id
                       from conversation c
                       join author a on a.no = c.creator_no
                       where c.no = participant.conversation_no)
         where person = $1 and made = 1";
    execute(connection, sql, [person])
}

/// Returns the rows of a conversation.
pub(crate) fn stored(connection: Connection<'_>, conversation_no: i64) -> DbResult<Participants> {
    let sql = "select person, made, takes_part from participant where conversation_no = $1";
    let found = query_all(connection, sql, [conversation_no], |row| {
        Ok((row.get(0)?, Membership { is_creator: row.get(1)?, is_member: row.get(2)? }))
    })?;
    Ok(found.into_iter().collect())
}

/// Returns the people that a conversation itself names; none if it cannot be read, or is not there.
pub(crate) fn named(connection: Connection<'_>, conversation_no: i64) -> DbResult<Option<Participants>> {
    let sql = "select a.external_id, c.body
         from conversation c
         left join author a on a.no = c.creator_no
         where c.no = $1";
    let found: Option<(Option<String>, Option<Vec<u8>>)> =
        query_optional(connection, sql, [conversation_no], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.and_then(|(creator, body)| Some(participants(creator, &members(body.as_deref())?))))
}

/// How many conversations are read at a time.
const PAGE: i64 = 500;

/// Adds the people of all conversations that were made before their rows were kept.
pub(crate) fn fill(connection: Connection<'_>) -> DbResult<()> {
    let sql = "select c.no, a.external_id, c.body
         from conversation c
         left join author a on a.no = c.creator_no
         where c.no > $1
         order by c.no
         limit $2";
    type Columns = (i64, Option<String>, Option<Vec<u8>>);
    let mut after = 0;
    loop {
        let page: Vec<Columns> =
            query_all(connection, sql, (after, PAGE), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let Some(last) = next_page_start(after, page.last().map(|(last, ..)| *last)) else { return Ok(()) };
        after = last;
        for (no, creator, body) in page {
            // Of one whose body was altered, `verify` says so; it must not keep the others from being opened.
            let members = members(body.as_deref()).unwrap_or_default();
            add(connection, no, &participants(creator, &members))?;
        }
    }
}
