//! Changes to projects.

use crate::api::error::{Conflict, StoreError};
use crate::api::transaction::ChangeResult;
use crate::engine::codec::before_image::{BeforeImage, SoftDeletable};
use crate::engine::codec::disk_codes::Kind;
use crate::engine::codec::{body_mac, row_mac};
use crate::engine::commit::tx::{JournalDraft, Tx};
use crate::engine::sql::connection::{execute, insert_numbered, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{Json, Project, ProjectId, ProjectPatch};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Body {
    pub name: String,
    #[serde(default)]
    pub instructions: String,
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "body_mac::present", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

pub(crate) fn create(tx: &mut Tx<'_>, project: &Project) -> TxResult<ChangeResult> {
    let sql = "select withdrawn from project where id = $1";
    match query_optional(tx.connection, sql, [project.id.as_bytes()], |row| row.get::<bool>(0))? {
        Some(false) => return Ok(ChangeResult::Applied),
        Some(true) => return Err(Conflict::Exists { what: "project", id: project.id.to_string() }.into()),
        None => {}
    }
    let body = Body {
        name: project.name.clone(),
        instructions: project.instructions.clone(),
        facts: project.facts.clone(),
        metadata: project.metadata.clone(),
    };
    let sealed = body_mac::authenticate_json(tx.key, "project", project.id.as_bytes(), &body);
    let sql = "insert into project (id, kind, name, version, body, mac) values ($1, $2, $3, $4, $5, $6)";
    let version = 1i64;
    let parameters = (project.id.as_bytes(), &project.kind, &project.name, version, sealed);
    let no = insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::PROJECT, parameters))?;
    let images = [BeforeImage::Flag { table: SoftDeletable::Project, key: no, withdrawn: true }];
    tx.journal_workspace(&JournalDraft::of(Kind::ProjectCreated, &images))?;
    Ok(ChangeResult::Applied)
}

fn found(tx: &Tx<'_>, id: ProjectId) -> TxResult<(i64, String, Vec<u8>)> {
    let sql = "select no, name, body from project where id = $1 and withdrawn = 0";
    let row = query_optional(tx.connection, sql, [id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    row.ok_or_else(|| StoreError::not_found("project", id).into())
}

/// Returns the version of a project, 0 where there is none.
pub(crate) fn version(tx: &Tx<'_>, id: ProjectId) -> TxResult<i64> {
    let sql = "select version from project where id = $1 and withdrawn = 0";
    Ok(query_optional(tx.connection, sql, [id.as_bytes()], |row| row.get(0))?.unwrap_or(0))
}

pub(crate) fn edit(tx: &mut Tx<'_>, id: ProjectId, patch: &ProjectPatch) -> TxResult<ChangeResult> {
    let (no, name, sealed) = found(tx, id)?;
    let mut body: Body = body_mac::verify_json(tx.key, "project", id.as_bytes(), &sealed)?;
    if let Some(name) = &patch.name {
        body.name.clone_from(name);
    }
    if let Some(instructions) = &patch.instructions {
        body.instructions.clone_from(instructions);
    }
    for (name, text) in &patch.facts {
        match text {
            Some(text) => body.facts.insert(name.clone(), text.clone()),
            None => body.facts.remove(name),
        };
    }
    if let Some(metadata) = &patch.metadata {
        body.metadata.clone_from(metadata);
    }
    let after = body_mac::authenticate_json(tx.key, "project", id.as_bytes(), &body);
    put(tx, no, &body.name, &after)?;
    tx.journal_workspace(&JournalDraft::of(Kind::ProjectEdited, &[BeforeImage::Project { no, name, body: sealed }]))?;
    Ok(ChangeResult::Applied)
}

pub(crate) fn put(tx: &mut Tx<'_>, no: i64, name: &str, body: &[u8]) -> TxResult<()> {
    let sql = "update project set name = $1, body = $2, version = version + 1 where no = $3";
    execute(tx.connection, sql, (name, body, no))?;
    Ok(row_mac::refresh(tx.connection, tx.key, &row_mac::PROJECT, no)?)
}

pub(crate) fn remove(tx: &mut Tx<'_>, id: ProjectId) -> TxResult<ChangeResult> {
    let (no, _, _) = found(tx, id)?;
    execute(tx.connection, "update project set withdrawn = 1 where no = $1", [no])?;
    let images = [BeforeImage::Flag { table: SoftDeletable::Project, key: no, withdrawn: false }];
    tx.journal_workspace(&JournalDraft::of(Kind::ProjectRemoved, &images))?;
    Ok(ChangeResult::Applied)
}
