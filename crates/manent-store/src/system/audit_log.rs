//! Audit log: each line is chained to the previous one by digest; payloads about people can be erased without breaking
//! the chain.

use super::worker::SystemConnection;
use super::{
    AuditPage, AuditProblem, AuditQuery, AuditReport, LINES_PAGE, NewAuditRecord, SystemStore, current_change,
};
use crate::api::error::Result;
use crate::engine::interface::run_blocking;
use crate::engine::sql::connection::{
    Connection, DbResult, Row, begin_reading, end_reading, execute, execute_counted, for_each_row, next_page_start,
    query_all, query_one,
};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{AuditActor, AuditEntry, Json, KeyId, TenantId, Timestamp};

/// A line without payload is sealed with this.
const NOTHING: [u8; 32] = [0; 32];

/// Maximum number of reported problems; more would add nothing.
const PROBLEMS_MAX: usize = 100;

/// The fields of a line that the chain covers; of the payload only its digest, so that it can be erased.
struct AuditRow<'a> {
    no: i64,
    at: i64,
    action: &'a str,
    tenant: Option<[u8; 16]>,
    actor: i64,
    key: Option<[u8; 16]>,
    sealed: [u8; 32],
}

impl AuditRow<'_> {
    fn digest(&self, before: &[u8; 32]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("manent 2026 audit line");
        hasher.update(before);
        for number in [self.no, self.at, self.actor, self.action.len() as i64] {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(self.action.as_bytes());
        for id in [self.tenant, self.key] {
            hasher.update(&[u8::from(id.is_some())]);
            hasher.update(&id.unwrap_or_default());
        }
        hasher.update(&self.sealed);
        *hasher.finalize().as_bytes()
    }
}

/// The salt prevents guessing an erased payload by trying texts.
fn seal(salt: &[u8], payload: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("manent 2026 audit payload");
    hasher.update(&(salt.len() as u64).to_le_bytes());
    hasher.update(salt);
    hasher.update(payload.as_bytes());
    *hasher.finalize().as_bytes()
}

impl SystemStore {
    /// Adds a line to the audit log. The line of a purge or an erasure is written on a full disk too.
    pub async fn audit(&self, at: Timestamp, line: NewAuditRecord) -> Result<()> {
        let is_of_deletion = matches!(line.action.as_str(), "purge" | "erase");
        let add = move |connection: Connection<'_>| Ok(add(connection, at, &line)?);
        match is_of_deletion {
            true => self.worker.write_for_deletion("writing the audit log", add).await,
            false => self.worker.write("writing the audit log", add).await,
        }
    }

    /// Returns lines of the audit log, the newest first.
    pub async fn audit_page(&self, query: AuditQuery) -> Result<AuditPage> {
        let page = move |connection: Connection<'_>| {
            let before = query.before.unwrap_or(i64::MAX);
            let wanted = i64::from(query.limit) + 1;
            let mut entries = match query.tenant {
                Some(tenant) => {
                    let sql = "select no, at, action, tenant_id, actor, key_id, payload, digest
                         from system_audit
                         where tenant_id = $1 and no < $2
                         order by no desc
                         limit $3";
                    query_all(connection, sql, (tenant.as_bytes(), before, wanted), entry)?
                }
                None => {
                    let sql = "select no, at, action, tenant_id, actor, key_id, payload, digest
                         from system_audit
                         where no < $1
                         order by no desc
                         limit $2";
                    query_all(connection, sql, (before, wanted), entry)?
                }
            };
            let more = entries.len() as i64 == wanted;
            entries.truncate(query.limit as usize);
            let next = entries.last().map(|entry| entry.no).filter(|_| more);
            Ok(AuditPage { entries, next })
        };
        self.worker.read("reading the audit log", page).await
    }

    /// Walks the chain of the audit log, and names lines that were altered or lost; one too many at the end counts as
    /// lost.
    pub async fn verify_audit(&self) -> Result<AuditReport> {
        // A closed store refuses.
        self.worker.read("reading the system store", |connection| Ok(current_change(connection)?)).await?;
        let location = self.location.clone();
        // With a connection of its own: requests meanwhile do not wait for the whole log.
        run_blocking("manent-audit", move || {
            let link = SystemConnection::open(&location)?;
            let doing = "checking the audit log";
            begin_reading(link.connection()).map_err(|error| error.into_store_error(doing))?;
            let report = verify(link.connection());
            end_reading(link.connection());
            report.map_err(|fault| fault.into_store_error(doing))
        })
        .await
    }
}

fn actor_code(actor: AuditActor) -> i64 {
    match actor {
        AuditActor::Operator => 0,
        AuditActor::Token => 1,
        AuditActor::Key(_) => 2,
        AuditActor::Stranger => 3,
        AuditActor::Server => 4,
    }
}

fn actor_of(code: i64, key: Option<[u8; 16]>) -> AuditActor {
    match (code, key) {
        (0, _) => AuditActor::Operator,
        (1, _) => AuditActor::Token,
        (2, Some(key)) => AuditActor::Key(KeyId::from_bytes(key)),
        (4, _) => AuditActor::Server,
        _ => AuditActor::Stranger,
    }
}

/// Adds a line.
pub(super) fn add(connection: Connection<'_>, at: Timestamp, draft: &NewAuditRecord) -> DbResult<()> {
    // Taking the number locks the end of the log until the transaction ends, so lines follow each other without gaps.
    let sql = "update system_head set audit_no = audit_no + 1 returning audit_no, audit_digest";
    let (no, before): (i64, [u8; 32]) = query_one(connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let payload = draft.payload();
    let salt: Option<[u8; 16]> = payload.as_ref().map(|_| random_bytes());
    let sealed = match (&salt, &payload) {
        (Some(salt), Some(payload)) => seal(salt, payload),
        _ => NOTHING,
    };
    let key = match draft.by.actor {
        AuditActor::Key(key) => Some(*key.as_bytes()),
        _ => None,
    };
    let tenant = draft.tenant.map(|tenant| *tenant.as_bytes());
    let actor = actor_code(draft.by.actor);
    let line = AuditRow { no, at: at.0, action: &draft.action, tenant, actor, key, sealed };
    let digest = line.digest(&before);
    let sql = "insert into system_audit
           (no, at, action, tenant_id, actor, key_id, by_user, about_user, salt, payload, sealed, digest)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let (by, about) = (&draft.by.user, &draft.user);
    execute(connection, sql, (no, at.0, &draft.action, tenant, actor, key, by, about, salt, payload, sealed, digest))?;
    execute(connection, "update system_head set audit_digest = $1", [digest])
}

fn random_bytes() -> [u8; 16] {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes
}

fn entry(row: &Row<'_>) -> DbResult<AuditEntry> {
    let digest: [u8; 32] = row.get(7)?;
    let payload: Option<String> = row.get(6)?;
    Ok(AuditEntry {
        no: row.get(0)?,
        at: Timestamp(row.get(1)?),
        action: row.get(2)?,
        tenant: row.get::<Option<[u8; 16]>>(3)?.map(TenantId::from_bytes),
        actor: actor_of(row.get(4)?, row.get(5)?),
        payload: payload.and_then(|payload| Json::parse(&payload).ok()),
        digest: manent_model::hex::encode(&digest),
    })
}

/// Walks the chain, and names lines that were altered or lost; one too many at the end counts as lost.
pub(super) fn verify(connection: Connection<'_>) -> TxResult<AuditReport> {
    let mut report = AuditReport::default();
    let mut before = NOTHING;
    let mut problems = Vec::new();
    let sql = "select no, at, action, tenant_id, actor, key_id, by_user, about_user, salt, payload, sealed, digest
         from system_audit
         where no > $1
         order by no
         limit $2";
    let mut check = |row: &Row<'_>| -> DbResult<bool> {
        let action: String = row.get(2)?;
        let (no, sealed, digest): (i64, [u8; 32], [u8; 32]) = (row.get(0)?, row.get(10)?, row.get(11)?);
        let line = AuditRow {
            no,
            at: row.get(1)?,
            action: &action,
            tenant: row.get(3)?,
            actor: row.get(4)?,
            key: row.get(5)?,
            sealed,
        };
        if no != report.lines + 1 {
            problems.push(AuditProblem::Lost { no: report.lines + 1 });
        } else if line.digest(&before) != digest {
            problems.push(AuditProblem::Altered { no });
        } else {
            match check_row(row, &sealed)? {
                Integrity::Intact => {}
                Integrity::Erased => report.erased += 1,
                Integrity::Altered => problems.push(AuditProblem::Altered { no }),
            }
        }
        // From here on the chain is compared with the stored digest, so that each break is reported once.
        (before, report.lines) = (digest, no);
        Ok(problems.len() < PROBLEMS_MAX)
    };
    let mut after = i64::MIN;
    loop {
        let (mut last, mut goes_on) = (None, true);
        for_each_row(connection, sql, (after, LINES_PAGE), |row| {
            last = Some(row.get(0)?);
            goes_on = check(row)?;
            Ok(goes_on)
        })?;
        match next_page_start(after, last) {
            Some(last) if goes_on => after = last,
            _ => break,
        }
    }
    let sql = "select audit_no, audit_digest from system_head";
    let (no, digest): (i64, [u8; 32]) = query_one(connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    if problems.len() < PROBLEMS_MAX && (no, digest) != (report.lines, before) {
        problems.push(AuditProblem::Lost { no: report.lines + 1 });
    }
    report.digest = manent_model::hex::encode(&before);
    report.problems = problems;
    Ok(report)
}

enum Integrity {
    Intact,
    Erased,
    Altered,
}

/// Checks the payload of a line against its digest, and the user columns against the payload.
fn check_row(row: &Row<'_>, sealed: &[u8; 32]) -> DbResult<Integrity> {
    let (by, about): (Option<String>, Option<String>) = (row.get(6)?, row.get(7)?);
    let (salt, payload): (Option<Vec<u8>>, Option<String>) = (row.get(8)?, row.get(9)?);
    Ok(match (salt, payload) {
        (None, None) if by.is_some() || about.is_some() => Integrity::Altered,
        (None, None) if *sealed == NOTHING => Integrity::Intact,
        (None, None) => Integrity::Erased,
        (Some(salt), Some(payload)) => match seal(&salt, &payload) == *sealed && names(&payload, &by, &about) {
            true => Integrity::Intact,
            false => Integrity::Altered,
        },
        _ => Integrity::Altered,
    })
}

fn names(payload: &str, by: &Option<String>, about: &Option<String>) -> bool {
    let Ok(payload) = serde_json::from_str::<serde_json::Value>(payload) else { return false };
    let named = |name: &str| payload.get(name).and_then(serde_json::Value::as_str);
    named("by_user") == by.as_deref() && named("about_user") == about.as_deref()
}

/// Erases the payloads and user columns of the lines about a user, and returns the number of lines.
pub(super) fn forget_user(connection: Connection<'_>, tenant: TenantId, user: &str) -> DbResult<i64> {
    let sql = "update system_audit
         set salt = null, payload = null, by_user = null, about_user = null
         where tenant_id = $1 and (by_user = $2 or about_user = $2)";
    execute_counted(connection, sql, (tenant.as_bytes(), user)).map(|lines| lines as i64)
}

/// Erases the payloads of the lines about the people of a tenant, and returns the number of lines.
pub(super) fn forget_tenant(connection: Connection<'_>, tenant: TenantId) -> DbResult<i64> {
    let sql = "update system_audit
         set salt = null, payload = null, by_user = null, about_user = null
         where tenant_id = $1 and payload is not null";
    execute_counted(connection, sql, [tenant.as_bytes()]).map(|lines| lines as i64)
}
