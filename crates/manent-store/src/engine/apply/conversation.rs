//! Changes to conversations: create and edit.

use super::branch;
use crate::api::error::{Conflict, StoreError};
use crate::api::transaction::{BranchReason, ChangeResult};
use crate::engine::codec::before_image::{BeforeImage, ConversationImage, SoftDeletable};
use crate::engine::codec::disk_codes::{Kind, NameKind, STATUS_PURGED, kind_code, status_code, status_of};
use crate::engine::codec::{body_mac, row_mac};
use crate::engine::commit::participants;
use crate::engine::commit::tx::{ConversationRow, JournalDraft, Tx, listed_at};
use crate::engine::sql::connection::{execute, insert_numbered, query_all, query_one, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{
    Address, Author, BranchId, ConversationDraft, ConversationId, ConversationPatch, ConversationStatus, Digest,
    DigestKey, Head, Json, ProjectId, Sums,
};
use serde::{Deserialize, Serialize};

/// The fields of a conversation that are only ever read as a whole.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Body {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Author>,
    #[serde(default, deserialize_with = "body_mac::present", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

impl Body {
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        let empty = self.members.is_empty() && self.metadata.is_none();
        (!empty).then(|| Json::of(self).text().as_bytes().to_vec())
    }
}

/// Returns the seal over everything in a conversation row that a reader would show.
pub(crate) fn authenticated_body(
    key: &DigestKey,
    id: &[u8; 16],
    external_id: Option<&str>,
    title: &str,
    body: Option<&[u8]>,
) -> Vec<u8> {
    let mut shown = Vec::new();
    for field in [external_id.map(str::as_bytes), Some(title.as_bytes()), body] {
        shown.push(u8::from(field.is_some()));
        shown.extend_from_slice(&(field.map_or(0, <[u8]>::len) as u64).to_le_bytes());
        shown.extend_from_slice(field.unwrap_or_default());
    }
    body_mac::authenticate(key, "conversation", id, &shown)[..8].to_vec()
}

pub(crate) fn create(
    tx: &mut Tx<'_>,
    id: ConversationId,
    branch: BranchId,
    draft: &ConversationDraft,
    importing: bool,
) -> TxResult<ChangeResult> {
    if let Some(existing) = existing(tx, id, draft)? {
        return Ok(ChangeResult::Conversation(existing));
    }
    let project_no = draft.project.map(|project| project_no(tx, project)).transpose()?;
    let creator_no = tx.author(draft.creator.as_ref())?;
    let body = Body { members: draft.members.clone(), metadata: draft.metadata.clone() }.bytes();
    let sealed = authenticated_body(tx.key, id.as_bytes(), draft.external_id.as_deref(), &draft.title, body.as_deref());
    let status = if importing { ConversationStatus::Importing } else { ConversationStatus::Active };
    let sql = "insert into conversation
            (id, external_id, project_no, kind, status, title, creator_no, created_at, active_at, listed_at,
             version,
             head_branch_no, head_key, last_pos, digest, continued_from, forked_from, seal, body)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, 0, 0, 0, 0, $10, $11, $12, $13, $14)";
    let no = insert_numbered(
        tx.connection,
        sql,
        (
            id.as_bytes(),
            &draft.external_id,
            project_no,
            kind_code(draft.kind),
            status_code(status),
            &draft.title,
            creator_no,
            tx.at.0,
            listed_at(tx.at.0),
            &Digest::default().0[..],
            draft.continued_from.as_ref().map(|id| &id.as_bytes()[..]),
            draft.forked_from.as_ref().map(|id| &id.as_bytes()[..]),
            sealed,
            body,
        ),
    )?;
    let creator = draft.creator.as_ref().map(|creator| creator.id.clone());
    participants::add(tx.connection, no, &participants::participants(creator, &draft.members))?;
    let branch_no = branch::insert_row(tx, no, branch, None, 1, Sums::default(), BranchReason::Start)?;
    for tag in &draft.tags {
        add_tag(tx, no, tag)?;
    }
    row_mac::refresh(tx.connection, tx.key, &row_mac::CONVERSATION, no)?;
    let row = ConversationRow {
        no,
        id,
        status: status_code(status),
        version: 0,
        head: Head { branch: branch_no, at: Address::START },
        active_at: tx.at.0,
        listed_at: listed_at(tx.at.0),
        messages: 0,
        words: 0,
        tokens: 0,
        event_cursor: 0,
        last_pos: 0,
        digest: Digest::default(),
    };
    tx.track(row.clone());
    tx.mark_changed(&row);
    let images = [BeforeImage::Flag { table: SoftDeletable::Conversation, key: no, withdrawn: true }];
    tx.journal(no, &JournalDraft::of(Kind::ConversationCreated, &images))?;
    Ok(ChangeResult::Conversation(id))
}

/// The same id or the same external id again is a retry; both at once must name the same conversation.
fn existing(tx: &Tx<'_>, id: ConversationId, draft: &ConversationDraft) -> TxResult<Option<ConversationId>> {
    let taken = || Conflict::Exists { what: "conversation", id: id.to_string() };
    let sql = "select external_id, status, withdrawn from conversation where id = $1";
    let by_id: Option<(Option<String>, i64, bool)> =
        query_optional(tx.connection, sql, [id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    if let Some((external, status, withdrawn)) = by_id {
        let same = external == draft.external_id && status != STATUS_PURGED && !withdrawn;
        return if same { Ok(Some(id)) } else { Err(taken().into()) };
    }
    let Some(external) = &draft.external_id else { return Ok(None) };
    let sql = "select id, withdrawn from conversation where external_id = $1";
    let by_external: Option<([u8; 16], bool)> =
        query_optional(tx.connection, sql, [external], |row| Ok((row.get(0)?, row.get(1)?)))?;
    match by_external {
        Some((id, false)) => Ok(Some(ConversationId::from_bytes(id))),
        Some((_, true)) => Err(taken().into()),
        None => Ok(None),
    }
}

pub(crate) fn project_no(tx: &Tx<'_>, id: ProjectId) -> TxResult<i64> {
    let sql = "select no from project where id = $1 and withdrawn = 0";
    let found = query_optional(tx.connection, sql, [id.as_bytes()], |row| row.get(0))?;
    found.ok_or_else(|| StoreError::not_found("project", id).into())
}

fn add_tag(tx: &mut Tx<'_>, conversation_no: i64, tag: &str) -> TxResult<()> {
    let name_no = tx.intern(NameKind::Tag, tag)?;
    let sql = "insert into tag (name_no, conversation_no) values ($1, $2) on conflict do nothing";
    execute(tx.connection, sql, (name_no, conversation_no))?;
    Ok(())
}

pub(crate) fn edit(tx: &mut Tx<'_>, id: ConversationId, patch: &ConversationPatch) -> TxResult<ChangeResult> {
    let row = tx.conversation(id)?;
    let project = match &patch.project {
        Some(Some(project)) => Some(Some(project_no(tx, *project)?)),
        Some(None) => Some(None),
        None => None,
    };
    let before = image_of(tx, &row)?;
    let mut after = before.clone();
    let mut body: Body = match &after.body {
        Some(body) => serde_json::from_slice(body).map_err(|_| StoreError::altered("conversation", id))?,
        None => Body::default(),
    };
    if let Some(title) = &patch.title {
        after.title.clone_from(title);
    }
    if let Some(status) = patch.status {
        if status == ConversationStatus::Importing {
            return Err(StoreError::Invalid("a conversation is importing only from its start".to_owned()).into());
        }
        let trashed = status == ConversationStatus::Trashed;
        let was_trashed = status_of(after.status) == Some(ConversationStatus::Trashed);
        after.trashed_at = match (trashed, was_trashed) {
            (true, true) => after.trashed_at,
            (true, false) => Some(tx.at.0),
            (false, _) => None,
        };
        after.status = status_code(status);
    }
    if let Some(pinned) = patch.pinned {
        after.pinned = pinned;
    }
    if let Some(project) = project {
        after.project_no = project;
    }
    if let Some(members) = &patch.members {
        body.members.clone_from(members);
    }
    if let Some(metadata) = &patch.metadata {
        body.metadata.clone_from(metadata);
    }
    if let Some(times) = patch.times {
        after.created_at = times.created_at.0;
        after.active_at = times.active_at.0;
        after.trashed_at = times.trashed_at.map(|at| at.0);
    }
    for tag in &patch.add_tags {
        let no = tx.intern(NameKind::Tag, tag)?;
        if !after.tags.contains(&no) {
            after.tags.push(no);
        }
    }
    for tag in &patch.remove_tags {
        let no = tx.caches.number_of(tx.connection, NameKind::Tag, tag)?;
        after.tags.retain(|tag| Some(*tag) != no);
    }
    after.tags.sort_unstable();
    after.body = body.bytes();
    // Without a before-image there is nothing to undo: a change that changes nothing is no undo step.
    let images = match after == before {
        true => Vec::new(),
        false => {
            put_image(tx, &after)?;
            vec![BeforeImage::Conversation(Box::new(before))]
        }
    };
    tx.journal(row.no, &JournalDraft::of(Kind::ConversationEdited, &images))?;
    Ok(ChangeResult::Applied)
}

/// Returns the before-image of a conversation's metadata.
pub(crate) fn image_of(tx: &Tx<'_>, row: &ConversationRow) -> TxResult<ConversationImage> {
    let sql = "select project_no, status, title, pinned, created_at, trashed_at, body
         from conversation
         where no = $1";
    let mut image = query_one(tx.connection, sql, [row.no], |found| {
        Ok(ConversationImage {
            no: row.no,
            project_no: found.get(0)?,
            status: found.get(1)?,
            title: found.get(2)?,
            pinned: found.get(3)?,
            created_at: found.get(4)?,
            active_at: row.active_at,
            trashed_at: found.get(5)?,
            body: found.get(6)?,
            tags: Vec::new(),
        })
    })?;
    let sql = "select name_no from tag where conversation_no = $1 order by name_no";
    image.tags = query_all(tx.connection, sql, [row.no], |row| row.get(0))?;
    Ok(image)
}

/// Restores a conversation's metadata from a before-image.
pub(crate) fn put_image(tx: &mut Tx<'_>, image: &ConversationImage) -> TxResult<()> {
    let mut row = tx.conversation_by_no(image.no)?;
    let sql = "select external_id, body from conversation where no = $1";
    let (external, earlier): (Option<String>, Option<Vec<u8>>) =
        query_one(tx.connection, sql, [image.no], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let sealed =
        authenticated_body(tx.key, row.id.as_bytes(), external.as_deref(), &image.title, image.body.as_deref());
    let sql = "update conversation
         set project_no = $1, status = $2, title = $3, pinned = $4, created_at = $5, trashed_at = $6, seal = $7,
             body = $8
         where no = $9";
    execute(
        tx.connection,
        sql,
        (
            image.project_no,
            image.status,
            &image.title,
            image.pinned,
            image.created_at,
            image.trashed_at,
            sealed,
            &image.body,
            image.no,
        ),
    )?;
    let sql = "select name_no from tag where conversation_no = $1 order by name_no";
    let tags: Vec<i64> = query_all(tx.connection, sql, [image.no], |row| row.get(0))?;
    if tags != image.tags {
        execute(tx.connection, "delete from tag where conversation_no = $1", [image.no])?;
        for name_no in &image.tags {
            let sql = "insert into tag (name_no, conversation_no) values ($1, $2)";
            execute(tx.connection, sql, (name_no, image.no))?;
        }
    }
    row_mac::refresh(tx.connection, tx.key, &row_mac::CONVERSATION, image.no)?;
    if earlier != image.body {
        let members = participants::members(image.body.as_deref());
        let members = members.ok_or_else(|| StoreError::altered("conversation", row.id))?;
        if participants::members(earlier.as_deref()).as_ref() != Some(&members) {
            participants::replace_members(tx.connection, image.no, &members)?;
        }
    }
    row.active_at = image.active_at;
    row.status = image.status;
    tx.mark_changed(&row);
    Ok(())
}
