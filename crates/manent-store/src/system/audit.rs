//! Records, queries and reports of the audit log.

use manent_model::{AuditActor, AuditEntry, Json, TenantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The principal of an audited action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSubject {
    /// The credential.
    pub actor: AuditActor,
    /// The user that a key acts for.
    pub user: Option<String>,
    /// The address that they came from.
    pub address: Option<String>,
}

impl AuditSubject {
    /// A principal without a user.
    pub fn actor(actor: AuditActor) -> Self {
        Self { actor, user: None, address: None }
    }
}

/// A line that is to be added to the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditRecord {
    /// The action, such as `key.create`.
    pub action: String,
    /// The tenant it was done to.
    pub tenant: Option<TenantId>,
    /// The principal.
    pub by: AuditSubject,
    /// The user it was done to.
    pub user: Option<String>,
    /// Further details: ids and counts, never texts of users.
    pub detail: Option<Json>,
}

impl NewAuditRecord {
    /// Begins a line.
    pub fn new(action: impl Into<String>, tenant: Option<TenantId>, by: AuditSubject) -> Self {
        Self { action: action.into(), tenant, by, user: None, detail: None }
    }

    /// Names the user it was done to.
    pub fn about(self, user: impl Into<String>) -> Self {
        Self { user: Some(user.into()), ..self }
    }

    /// Says more.
    pub fn detail(self, detail: impl Serialize) -> Self {
        Self { detail: Some(Json::of(&detail)), ..self }
    }

    /// The payload that can be erased later, as JSON; none if there is nothing.
    pub(crate) fn payload(&self) -> Option<String> {
        #[derive(Serialize)]
        struct Payload<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            by_user: &'a Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            address: &'a Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            about_user: &'a Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            detail: &'a Option<Json>,
        }
        let (by_user, address) = (&self.by.user, &self.by.address);
        let payload = Payload { by_user, address, about_user: &self.user, detail: &self.detail };
        let text = serde_json::to_string(&payload).expect("texts are JSON");
        (text != "{}").then_some(text)
    }
}

/// Which lines of the audit log to read, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only actions on this tenant.
    pub tenant: Option<TenantId>,
    /// Before this line.
    pub before: Option<i64>,
    /// How many.
    pub limit: u32,
}

/// A page of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPage {
    /// The lines, the newest first.
    pub entries: Vec<AuditEntry>,
    /// Before which line the next page begins; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// A problem in the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditProblem {
    /// A line was altered.
    Altered {
        /// Its number.
        no: i64,
    },
    /// A line is missing.
    Lost {
        /// Its number.
        no: i64,
    },
}

/// The result of a check of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AuditReport {
    /// How many lines there are.
    pub lines: i64,
    /// Of how many the particulars were erased.
    pub erased: i64,
    /// The end of the chain, in hexadecimal: a copy kept elsewhere proves later that nothing before it was changed.
    pub digest: String,
    /// The problems.
    pub problems: Vec<AuditProblem>,
}
