//! Reads of documents within an access scope.

use super::super::apply::library::document_id;
use super::Reading;
use super::annotations::json_of;
use super::damage::{RecordKind, records};
use crate::api::query::{Documents, DocumentsQuery};
use crate::engine::codec::body_mac;
use crate::engine::codec::document_name::{plain, qualified};
use crate::engine::sql::connection::{DbResult, Row};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{AccessScope, Document, ProjectId, Timestamp};
use std::collections::{HashMap, HashSet};

/// Reads documents. A key that is limited to projects sees no document outside them.
pub(crate) fn documents(
    reading: &mut Reading<'_>,
    access: &AccessScope,
    query: &DocumentsQuery,
) -> TxResult<Documents> {
    let mut found = documents_within(reading, access, query)?;
    let Some(projects) = &access.projects else { return Ok(found) };
    if let DocumentsQuery::Newest { kind, id } | DocumentsQuery::Versions { kind, id } = query {
        // The plain name may be used outside; then the key has a document of its own under another one.
        for project in projects {
            if !found.is_empty() {
                break;
            }
            let (kind, id) = (kind.clone(), qualified(id, *project));
            let query = match query {
                DocumentsQuery::Newest { .. } => DocumentsQuery::Newest { kind, id },
                _ => DocumentsQuery::Versions { kind, id },
            };
            found = documents_within(reading, access, &query)?;
        }
    }
    let names: HashSet<(String, String)> = found.iter().map(|one| (one.kind.clone(), one.id.clone())).collect();
    for document in &mut found {
        // Where both are within, they keep the names by which they differ.
        if let Some(plain) = plain(&document.id, projects)
            && !names.contains(&(document.kind.clone(), plain.to_owned()))
        {
            document.id = plain.to_owned();
        }
    }
    if let DocumentsQuery::Kind(_) = query {
        found.sort_by(|one, other| one.id.cmp(&other.id));
    }
    Ok(found)
}

fn documents_within(reading: &mut Reading<'_>, access: &AccessScope, query: &DocumentsQuery) -> TxResult<Documents> {
    let mut found = every_document(reading, query)?;
    if access.is_limited() {
        let is_within = |document: &Document| document.project.is_some_and(|project| access.lists(project));
        // The newest version decides where a document belongs; older versions that belonged elsewhere are not shown
        // either.
        let mut newest: HashMap<(String, String), bool> = HashMap::new();
        for document in &found {
            newest.insert((document.kind.clone(), document.id.clone()), is_within(document));
        }
        found.retain(|document| {
            is_within(document) && newest.get(&(document.kind.clone(), document.id.clone())) == Some(&true)
        });
    }
    Ok(found)
}

type DocumentColumns = (String, String, Option<[u8; 16]>, i64, i64, Option<Vec<u8>>);

fn every_document(reading: &mut Reading<'_>, query: &DocumentsQuery) -> TxResult<Documents> {
    macro_rules! select {
        ($rest:literal) => {
            concat!(
                "select d.kind, d.id, p.id, d.version, d.at, d.body
                 from document d
                 left join project p on p.no = d.project_no and p.withdrawn = 0
                 where d.withdrawn = 0 ",
                $rest
            )
        };
    }
    let read = |row: &Row<'_>| -> DbResult<DocumentColumns> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
    };
    let name = |row: &Row<'_>| {
        let version: i64 = row.get(3)?;
        Ok(format!("{} {} version {version}", row.get::<String>(0)?, row.get::<String>(1)?))
    };
    let of = RecordKind::of("document", None);
    match query {
        DocumentsQuery::Kind(kind) => {
            let sql = select!(
                "and d.kind = $1 and d.body is not null
                 and d.version = (select max(n.version) from document n
                                  where n.kind = d.kind and n.id = d.id and n.withdrawn = 0)
                 order by d.id"
            );
            records(reading, of, (sql, [kind]), name, read, document_of)
        }
        DocumentsQuery::Newest { kind, id } => {
            let sql = select!("and d.kind = $1 and d.id = $2 order by d.version desc limit 1");
            records(reading, of, (sql, (kind, id)), name, read, document_of)
        }
        DocumentsQuery::Versions { kind, id } => {
            let sql = select!("and d.kind = $1 and d.id = $2 order by d.version");
            records(reading, of, (sql, (kind, id)), name, read, document_of)
        }
        DocumentsQuery::All => records(reading, of, (select!("order by d.no"), ()), name, read, document_of),
    }
}

fn document_of(reading: &mut Reading<'_>, row: DocumentColumns) -> TxResult<Document> {
    let (kind, id, project, version, at, body) = row;
    let body = match body {
        Some(body) => {
            let text = body_mac::verify(reading.key, "document", &document_id(&kind, &id, version), &body)?;
            Some(json_of("document", text)?)
        }
        None => None,
    };
    let project = project.map(ProjectId::from_bytes);
    Ok(Document { kind, id, project, version, body, at: Timestamp(at) })
}
