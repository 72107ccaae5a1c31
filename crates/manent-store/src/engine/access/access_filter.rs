//! Access filter: an access scope compiled to SQL parameters, and the checks of what is visible in it.

use crate::api::error::StoreError;
use crate::engine::sql::connection::{Connection, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{AccessScope, ConversationId, ProjectId};

/// SQL condition on a conversation `c`: it is visible in the access scope of these parameters.
macro_rules! within {
    ($user:literal, $projects:literal) => {
        concat!(
            " (exists (select 1 from participant w where w.person = ",
            $user,
            " and w.conversation_no = c.no) or ",
            $user,
            " is null) and ",
            $crate::engine::access::access_filter::of_projects!($projects)
        )
    };
}

/// SQL condition on a conversation `c`: its project is in a list as [`AccessFilter::projects`] formats it, or there is no
/// list.
macro_rules! of_projects {
    ($projects:literal) => {
        concat!(" (", $projects, " like '%,' || c.project_no || ',%' or ", $projects, " is null) ")
    };
}

/// The access scope of unrestricted callers.
pub(crate) static EVERYTHING: AccessScope = AccessScope { user: None, projects: None };

pub(crate) use of_projects;
pub(crate) use within;

/// An access scope as SQL parameters.
#[derive(Debug, Default)]
pub(crate) struct AccessFilter {
    /// The external id of the person whose conversations they are.
    pub user: Option<String>,
    /// The numbers of the projects, with a comma before, between and behind them.
    pub projects: Option<String>,
}

impl AccessFilter {
    /// Looks up the projects of an access scope; removed projects contain nothing.
    pub(crate) fn of(connection: Connection<'_>, access: &AccessScope) -> TxResult<Self> {
        let user = access.user.clone();
        let Some(wanted) = &access.projects else { return Ok(Self { user, projects: None }) };
        let mut projects = String::from(",");
        for project in wanted {
            if let Some(no) = project_no(connection, *project)? {
                projects.push_str(&no.to_string());
                projects.push(',');
            }
        }
        Ok(Self { user, projects: Some(projects) })
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.user.is_some() || self.projects.is_some()
    }

    /// Says whether a conversation is visible, in any status.
    pub(crate) fn has(&self, connection: Connection<'_>, conversation_no: i64) -> TxResult<bool> {
        if !self.is_limited() {
            return Ok(true);
        }
        let sql = concat!("select 1 from conversation c where c.no = $1 and ", within!("$2", "$3"));
        Ok(query_optional(connection, sql, (conversation_no, &self.user, &self.projects), |_| Ok(()))?.is_some())
    }

    /// Says whether a project is visible: it is listed, or without a list, it contains a visible conversation.
    pub(crate) fn has_project(&self, connection: Connection<'_>, project_no: i64) -> TxResult<bool> {
        let user = match (&self.projects, &self.user) {
            (Some(_), _) => return Ok(self.lists(project_no)),
            (None, None) => return Ok(true),
            (None, Some(user)) => user,
        };
        let sql = "select 1
             from participant w
             cross join conversation c
             where w.person = $1 and c.no = w.conversation_no and c.project_no = $2 and c.withdrawn = 0 and c.status <> 4
             limit 1";
        Ok(query_optional(connection, sql, (user, project_no), |_| Ok(()))?.is_some())
    }

    /// Returns the numbers of the projects, if they are limited to some.
    pub(crate) fn project_numbers(&self) -> Option<Vec<i64>> {
        let list = self.projects.as_ref()?;
        Some(list.split(',').filter_map(|no| no.parse().ok()).collect())
    }

    /// Says whether a project is one of the list; without a list none is.
    pub(crate) fn lists(&self, project_no: i64) -> bool {
        let listed = |list: &String| list.contains(&[",", &project_no.to_string(), ","].concat());
        self.projects.as_ref().is_some_and(listed)
    }

    /// Finds a conversation within, unless it was withdrawn or purged.
    pub(crate) fn conversation(&self, connection: Connection<'_>, id: ConversationId) -> TxResult<Option<i64>> {
        // The index alone would do, but one flipped bit in it leads to another row; the row itself knows its id.
        let sql = concat!(
            "select c.no from conversation c
             where c.no = (select i.no from conversation i where i.id = $1) and c.id = $1
               and c.withdrawn = 0 and c.status <> 4 and ",
            within!("$2", "$3")
        );
        Ok(query_optional(connection, sql, (id.as_bytes(), &self.user, &self.projects), |row| row.get(0))?)
    }

    /// Finds a conversation within, even one that was withdrawn and may be restored.
    pub(crate) fn known(&self, connection: Connection<'_>, id: ConversationId) -> TxResult<Option<i64>> {
        let sql = concat!("select c.no from conversation c where c.id = $1 and ", within!("$2", "$3"));
        Ok(query_optional(connection, sql, (id.as_bytes(), &self.user, &self.projects), |row| row.get(0))?)
    }
}

/// Returns the number of a project that is there.
pub(crate) fn project_no(connection: Connection<'_>, id: ProjectId) -> TxResult<Option<i64>> {
    let sql = "select no from project where id = $1 and withdrawn = 0";
    Ok(query_optional(connection, sql, [id.as_bytes()], |row| row.get(0))?)
}

/// Refuses a conversation outside the access scope with the error of an unknown id.
pub(crate) fn require_visible(connection: Connection<'_>, access: &AccessScope, id: ConversationId) -> TxResult<()> {
    if !access.is_limited() {
        return Ok(());
    }
    match AccessFilter::of(connection, access)?.conversation(connection, id)? {
        Some(_) => Ok(()),
        None => Err(StoreError::not_found("conversation", id).into()),
    }
}

/// Like [`require_visible`], but accepts a withdrawn conversation.
pub(crate) fn require_known(connection: Connection<'_>, access: &AccessScope, id: ConversationId) -> TxResult<()> {
    if !access.is_limited() {
        return Ok(());
    }
    match AccessFilter::of(connection, access)?.known(connection, id)? {
        Some(_) => Ok(()),
        None => Err(StoreError::not_found("conversation", id).into()),
    }
}
