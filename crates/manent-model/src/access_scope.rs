//! Access scopes: the permissions of a key, and the conversations it can access.

use crate::conversation::Conversation;
use crate::id::ProjectId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyScope {
    /// Read.
    Read,
    /// Append; existing content cannot be changed.
    Append,
    /// Make changes that can be undone.
    Manage,
    /// Delete for good, and administer the tenant.
    Admin,
}

impl KeyScope {
    /// Returns its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Append => "append",
            Self::Manage => "manage",
            Self::Admin => "admin",
        }
    }

    /// Returns whether this permission includes the other.
    fn includes(self, other: Self) -> bool {
        match self {
            Self::Admin => true,
            Self::Manage => other != Self::Admin,
            // A program that only appends, such as a recorder, must not be able to read.
            Self::Append | Self::Read => self == other,
        }
    }
}

/// A set of permissions; a list of names in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct KeyScopes(BTreeSet<KeyScope>);

impl KeyScopes {
    /// Returns whether a permission is granted, directly or through one that includes it.
    pub fn holds(&self, scope: KeyScope) -> bool {
        self.0.iter().any(|given| given.includes(scope))
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the granted permissions, without those they include.
    pub fn iter(&self) -> impl Iterator<Item = KeyScope> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<KeyScope> for KeyScopes {
    fn from_iter<I: IntoIterator<Item = KeyScope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

/// The conversations of a tenant that a key can access; the default is all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AccessScope {
    /// Those that this person made or takes part in, by external id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Those of these projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projects: Option<BTreeSet<ProjectId>>,
}

impl AccessScope {
    /// Returns whether it excludes anything.
    pub fn is_limited(&self) -> bool {
        self.user.is_some() || self.projects.is_some()
    }

    /// Returns whether it includes a conversation.
    pub fn holds(&self, conversation: &Conversation) -> bool {
        let of_user = self.user.as_ref().is_none_or(|user| {
            conversation.creator.iter().chain(&conversation.members).any(|person| person.id == *user)
        });
        of_user && (self.projects.is_none() || conversation.project.is_some_and(|project| self.lists(project)))
    }

    /// Returns whether a project is one of those that it names; a scope that names none lists none.
    pub fn lists(&self, project: ProjectId) -> bool {
        self.projects.as_ref().is_some_and(|projects| projects.contains(&project))
    }

    /// Returns the intersection.
    pub fn and(&self, other: &Self) -> Self {
        let projects = match (&self.projects, &other.projects) {
            (Some(own), Some(others)) => Some(own & others),
            (own, others) => own.as_ref().or(others.as_ref()).cloned(),
        };
        match (&self.user, &other.user) {
            // A conversation cannot be limited to two different users at once: the intersection is empty.
            (Some(own), Some(others)) if own != others => {
                Self { user: Some(own.clone()), projects: Some(BTreeSet::new()) }
            }
            (own, others) => Self { user: own.as_ref().or(others.as_ref()).cloned(), projects },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(number: u8) -> ProjectId {
        ProjectId::new(1, [number; 10])
    }

    #[test]
    fn a_scope_includes_what_it_says() {
        use KeyScope::*;
        let held = |given: KeyScope| {
            let scopes: KeyScopes = [given].into_iter().collect();
            [Read, Append, Manage, Admin].into_iter().filter(|scope| scopes.holds(*scope)).collect::<Vec<_>>()
        };
        assert_eq!(held(Read), [Read]);
        assert_eq!(held(Append), [Append]);
        assert_eq!(held(Manage), [Read, Append, Manage]);
        assert_eq!(held(Admin), [Read, Append, Manage, Admin]);
        let none = KeyScopes::default();
        assert!(none.is_empty() && ![Read, Append, Manage, Admin].into_iter().any(|scope| none.holds(scope)));
        let both: KeyScopes = serde_json::from_str(r#"["append","read"]"#).expect("words");
        assert!(both.holds(Read) && both.holds(Append) && !both.holds(Manage));
        assert_eq!(serde_json::to_string(&both).expect("JSON"), r#"["read","append"]"#);
        assert!(serde_json::from_str::<KeyScopes>(r#"["all"]"#).is_err());
        for scope in [Read, Append, Manage, Admin] {
            assert_eq!(serde_json::to_string(&scope).expect("JSON"), format!("{:?}", scope.word()));
        }
    }

    #[test]
    fn an_access_scope_is_written_as_it_is_read() {
        let access = AccessScope { user: Some("ann".to_owned()), projects: Some([project(1)].into()) };
        let text = serde_json::to_string(&access).expect("JSON");
        assert_eq!(serde_json::from_str::<AccessScope>(&text).expect("a access"), access);
        assert_eq!(serde_json::to_string(&AccessScope::default()).expect("JSON"), "{}");
        assert!(
            serde_json::from_str::<AccessScope>(r#"{"users":"ann"}"#).is_err(),
            "a wrong word must not mean everything"
        );
    }

    #[test]
    fn two_access_scopes_leave_what_is_in_both() {
        let ann = AccessScope { user: Some("ann".to_owned()), ..AccessScope::default() };
        let bob = AccessScope { user: Some("bob".to_owned()), ..AccessScope::default() };
        let of = |numbers: &[u8]| AccessScope {
            projects: Some(numbers.iter().map(|number| project(*number)).collect()),
            ..AccessScope::default()
        };
        assert_eq!(ann.and(&AccessScope::default()), ann);
        assert_eq!(AccessScope::default().and(&ann), ann);
        assert_eq!(of(&[1, 2]).and(&of(&[2, 3])), of(&[2]));
        assert_eq!(ann.and(&of(&[1])), AccessScope { projects: of(&[1]).projects, ..ann.clone() });
        assert_eq!(ann.and(&bob).projects, Some(BTreeSet::new()));
        assert!(!AccessScope::default().is_limited() && ann.is_limited() && of(&[]).is_limited());
    }
}
