//! Erasure of a person: deletes the content that they wrote everywhere, and keeps what others wrote.

use crate::api::error::StoreError;
use crate::engine::apply::conversation::{Body, image_of, put_image};
use crate::engine::codec::before_image::BeforeImage;
use crate::engine::codec::disk_codes::{Kind, STATUS_PURGED};
use crate::engine::codec::{before_image, row_mac};
use crate::engine::commit::participants;
use crate::engine::commit::tx::{JournalDraft, Tx};
use crate::engine::erase::destroy::{Budget, Depth, STEP_ROWS, conversation_step, delete_memories, erase_message};
use crate::engine::erase::erase_history::{
    delete_unused_names, finish_erasures, random_bytes, schedule_erasure, sweep,
};
use crate::engine::read::library::UPLOAD;
use crate::engine::sql::connection::{
    Connection, execute, execute_counted, next_page_start, query_all, query_one, query_optional,
};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{Author, Json, KeyId, MessageId};

/// Number of journal positions that one step scans; positions without anything to erase are read quickly.
const SWEEP: i64 = 50_000;

pub(crate) fn erase_step(tx: &mut Tx<'_>, external_id: &str, budget: &mut Budget) -> TxResult<bool> {
    let sql = "select no from author where external_id = $1 order by no";
    let authors: Vec<i64> = query_all(tx.connection, sql, [external_id], |row| row.get(0))?;
    let left = budget.left;
    let is_key = external_id.parse::<KeyId>().is_ok();
    if is_key {
        revoke(tx, external_id)?;
    }
    erase_withdrawn(tx, external_id, budget)?;
    for no in &authors {
        let sql = "select id from message where author_no = $1 order by key limit 100";
        while budget.left > 0 {
            let found: Vec<[u8; 16]> = query_all(tx.connection, sql, [no], |row| row.get(0))?;
            if found.is_empty() {
                break;
            }
            // Their journals are scrubbed once, behind the last of them: walking one for each message would never end.
            for id in found {
                if budget.left > 0 {
                    erase_message(tx, MessageId::from_bytes(id), budget)?;
                }
            }
        }
        erase_authored(tx, *no, budget)?;
        if budget.left > 0 {
            let sql = "select no, id from memory where actor_no = $1 order by no limit $2";
            delete_memories(tx, sql, (no, budget.left), budget)?;
        }
    }
    erase_imported(tx, external_id, budget)?;
    let gone = execute_counted(tx.connection, "delete from scratch where actor = $1", [external_id])?;
    budget.receipt.scratch += budget.spend(gone);
    remove_memberships(tx, external_id, budget)?;
    let is_walked = erase_before_images(tx, external_id, &authors, budget)?;
    let is_unknown = authors.is_empty() && budget.left == left;
    if is_unknown && is_walked && is_key {
        return Ok(true);
    }
    if is_unknown && is_walked {
        return Err(StoreError::not_found("author", external_id).into());
    }
    finish_erasures(tx, budget)?;
    if budget.left <= 0 || !is_walked {
        if !is_unknown {
            // A person who wrote nothing has no author row; adding it tells the next step that this step found
            // something.
            tx.author(Some(&Author { id: external_id.to_owned(), name: String::new() }))?;
        }
        return Ok(false);
    }
    delete_unused_names(tx)?;
    for no in &authors {
        let sql = "update author set external_id = 'erased:' || no || ':' || $1, name = '' where no = $2";
        execute(tx.connection, sql, (random_bytes(), no))?;
        row_mac::refresh(tx.connection, tx.key, &row_mac::AUTHOR, *no)?;
    }
    participants::rename_erased(tx.connection, external_id)?;
    tx.journal_workspace(&JournalDraft::of(Kind::Erased, &[]))?;
    Ok(true)
}

fn revocation_key(key: &str) -> String {
    ["ended:", key].concat()
}

/// Ends a key in the store itself, so that a process that has not yet learned of the revocation, or has already
/// accepted a request, writes nothing more with it after the erasure began.
fn revoke(tx: &Tx<'_>, key: &str) -> TxResult<()> {
    let sql = "insert into meta (name, value) values ($1, $2) on conflict (name) do nothing";
    Ok(execute(tx.connection, sql, (revocation_key(key), [1u8]))?)
}

/// Says whether a key was ended here.
pub(crate) fn is_revoked(tx: &Tx<'_>, key: &str) -> TxResult<bool> {
    let sql = "select 1 from meta where name = $1";
    Ok(query_optional(tx.connection, sql, [revocation_key(key)], |row| row.get::<i64>(0))?.is_some())
}

/// Erases conversations whose creation the person undid: they are invisible, but a redo would restore them.
fn erase_withdrawn(tx: &mut Tx<'_>, external_id: &str, budget: &mut Budget) -> TxResult<()> {
    let sql = "select c.no
         from conversation c
         where c.creator_no in (select a.no from author a where a.external_id = $1)
           and c.withdrawn = 1
           and c.status <> $2
         order by c.no
         limit $3";
    let found: Vec<i64> =
        query_all(tx.connection, sql, (external_id, STATUS_PURGED, budget.left.max(0)), |row| row.get(0))?;
    for no in found {
        if budget.left > 0 {
            let row = tx.conversation_by_no(no)?;
            conversation_step(tx, &row, Depth::Erase, budget)?;
        }
    }
    Ok(())
}

/// Deletes an author's content other than messages: notes, states, inputs, comments on tool calls.
fn erase_authored(tx: &mut Tx<'_>, author_no: i64, budget: &mut Budget) -> TxResult<()> {
    const AUTHORED: [(&str, &str); 3] = [
        (
            "select conversation_no from note where actor_no = $1 order by no limit $2",
            "delete from note where no in (select no from note where actor_no = $1 order by no limit $2)",
        ),
        (
            "select conversation_no from state where actor_no = $1 order by no limit $2",
            "delete from state where no in (select no from state where actor_no = $1 order by no limit $2)",
        ),
        (
            "select conversation_no from input where actor_no = $1 order by no limit $2",
            "delete from input where no in (select no from input where actor_no = $1 order by no limit $2)",
        ),
    ];
    for (find, delete) in AUTHORED {
        if budget.left > 0 {
            let mut found: Vec<i64> = query_all(tx.connection, find, (author_no, budget.left), |row| row.get(0))?;
            found.dedup();
            for conversation_no in found {
                sweep(tx, conversation_no)?;
            }
            let gone = execute_counted(tx.connection, delete, (author_no, budget.left))?;
            budget.receipt.annotations += budget.spend(gone);
        }
    }
    // The trail of a tool call stays, without a name and without words.
    let sql = "select no from tool_step where actor_no = $1 and note <> ''";
    let steps: Vec<i64> = query_all(tx.connection, sql, [author_no], |row| row.get(0))?;
    for no in &steps {
        execute(tx.connection, "update tool_step set note = '' where no = $1", [no])?;
        row_mac::refresh(tx.connection, tx.key, &row_mac::TOOL_STEP, *no)?;
    }
    budget.receipt.annotations += budget.spend(steps.len());
    Ok(())
}

/// Deletes the blobs that were uploaded with a key of the person and that no message shows.
fn erase_imported(tx: &mut Tx<'_>, actor: &str, budget: &mut Budget) -> TxResult<()> {
    let sql = "select id from scratch where kind = $1 and actor = $2";
    let uploaded: Vec<String> = query_all(tx.connection, sql, (UPLOAD, actor), |row| row.get(0))?;
    execute(tx.connection, "delete from scratch where kind = $1 and actor = $2", (UPLOAD, actor))?;
    for sha256 in uploaded {
        let Some(digest) = manent_model::hex::decode(&sha256) else { continue };
        let sql = "select b.no
             from blob b
             where b.sha256 = $1
               and not exists (select 1 from blob_use u where u.blob_no = b.no)
               and not exists (select 1 from scratch s where s.kind = $2 and s.id = $3)";
        let unused: Option<i64> =
            query_optional(tx.connection, sql, (digest.as_slice(), UPLOAD, &sha256), |row| row.get(0))?;
        if let Some(no) = unused {
            execute(tx.connection, "delete from blob where no = $1", [no])?;
            budget.receipt.blobs += budget.spend(1);
        }
        budget.spend(1);
    }
    Ok(())
}

/// Takes an author out of the members of every conversation.
fn remove_memberships(tx: &mut Tx<'_>, external_id: &str, budget: &mut Budget) -> TxResult<()> {
    let found = participants::taking_part(tx.connection, external_id, budget.left.max(0))?;
    for no in found {
        let row = tx.conversation_by_no(no)?;
        let mut image = image_of(tx, &row)?;
        let altered = || StoreError::altered("conversation", row.id);
        let mut body: Body = serde_json::from_slice(image.body.as_deref().unwrap_or(b"{}")).map_err(|_| altered())?;
        let before = body.members.len();
        body.members.retain(|member| member.id != external_id);
        if body.members.len() < before {
            image.body = body.bytes();
            put_image(tx, &image)?;
            schedule_erasure(tx, no, Some(row.last_pos))?;
            budget.receipt.annotations += budget.spend(1);
        }
    }
    Ok(())
}

/// Returns a text as it is escaped between quotation marks in JSON that this program writes.
fn encoded_name(text: &str) -> Vec<u8> {
    let quoted = Json::of(&text);
    let quoted = quoted.text().as_bytes();
    quoted[1..quoted.len() - 1].to_vec()
}

/// Empties old values that an author wrote as a memory, or in which they are still a member of a conversation. Walks
/// through a part of the journal, and remembers how far; returns whether it has reached the end.
fn erase_before_images(tx: &mut Tx<'_>, external_id: &str, authors: &[i64], budget: &mut Budget) -> TxResult<bool> {
    let sql = match tx.connection {
        Connection::Sqlite(_) => {
            "select pos, before from journal
             where pos > $1 and pos <= $2 and before is not null
               and (conversation_no is null and kind in ($3, $4, $5) or instr(before, $6) > 0)
             order by pos
             limit $7"
        }
        Connection::Postgres(_) => {
            "select pos, before from journal
             where pos > $1 and pos <= $2 and before is not null
               and (conversation_no is null and kind in ($3, $4, $5) or position($6::bytea in before) > 0)
             order by pos
             limit $7"
        }
    };
    let (put, undone, redone) = (Kind::MemoryPut as i64, Kind::Undone as i64, Kind::Redone as i64);
    let goes = |image: &BeforeImage| match image {
        BeforeImage::MemoryBy { actor_no: Some(no), .. } => authors.contains(no),
        BeforeImage::Conversation(image) => {
            let body: Option<Body> = image.body.as_deref().and_then(|body| serde_json::from_slice(body).ok());
            body.is_some_and(|body| body.members.iter().any(|member| member.id == external_id))
        }
        _ => false,
    };
    let (text, name) = (encoded_name(external_id), sweep_key(tx, external_id));
    let end: i64 = query_one(tx.connection, "select coalesce(max(pos), 0) from journal", (), |row| row.get(0))?;
    let begun = query_optional(tx.connection, "select value from meta where name = $1", [&name], |row| row.get(0))?;
    let begun = begun.map_or(0, i64::from_le_bytes);
    let mut at = begun;
    let to = end.min(at.saturating_add(SWEEP));
    while budget.left > 0 && at < to {
        let parameters = (at, to, put, undone, redone, text.as_slice(), STEP_ROWS);
        let found: Vec<(i64, Vec<u8>)> =
            query_all(tx.connection, sql, parameters, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let next = match found.len() < STEP_ROWS as usize {
            true => None,
            false => next_page_start(at, found.last().map(|(last, _)| *last)),
        };
        for (position, before) in found {
            if budget.left > 0 && before_image::decode(&before).is_some_and(|images| images.iter().any(goes)) {
                let left = before_image::erased(tx.key, &before);
                execute(tx.connection, "update journal set before = $1 where pos = $2", (left, position))?;
                budget.receipt.journal += budget.spend(1);
            }
        }
        // Where the step ended amid a page, that page is read once more.
        if budget.left > 0 {
            at = next.unwrap_or(to);
        }
    }
    let is_walked = at >= end;
    match is_walked {
        true => execute(tx.connection, "delete from meta where name = $1", [name])?,
        false if at == begun => {}
        false => {
            let sql = "insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = $2";
            execute(tx.connection, sql, (name, &at.to_le_bytes()[..]))?;
        }
    }
    Ok(is_walked)
}

/// Key in `meta` of the position up to which the journal was scanned for a person; the key does not reveal who that is.
fn sweep_key(tx: &Tx<'_>, external_id: &str) -> String {
    let digest = tx.key.digest(&[b"walked", external_id.as_bytes()]);
    ["walked:", &manent_model::hex::encode(&digest.0)].concat()
}
