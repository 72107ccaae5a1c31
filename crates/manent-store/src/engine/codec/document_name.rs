//! Name mapping of documents for keys that are limited to projects.
//!
//! A kind and a name are one document in the whole tenant. A limited key that writes a name which is used outside its
//! projects gets a document of its own, stored under that name with the project id appended. The key sends and sees the
//! plain name, so that it cannot tell whether others use it.

use manent_model::ProjectId;
use std::collections::BTreeSet;

/// Returns the name under which a project keeps a document whose plain name is used elsewhere.
pub(crate) fn qualified(name: &str, project: ProjectId) -> String {
    format!("{name}@{project}")
}

fn split(name: &str) -> Option<(&str, ProjectId)> {
    let (plain, project) = name.rsplit_once('@')?;
    Some((plain, project.parse().ok()?))
}

/// Says whether a name ends as those do that this module makes.
pub(crate) fn is_qualified(name: &str) -> bool {
    split(name).is_some()
}

/// Returns the plain name, if one of these projects keeps a document under this name.
pub(crate) fn plain<'a>(name: &'a str, projects: &BTreeSet<ProjectId>) -> Option<&'a str> {
    split(name).filter(|(_, project)| projects.contains(project)).map(|(plain, _)| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualified_document_name_is_plain_for_its_project_only() {
        let (own, other) = (ProjectId::new(1, [1; 10]), ProjectId::new(1, [2; 10]));
        let name = qualified("a@b", own);
        assert!(is_qualified(&name) && !is_qualified("a@b") && !is_qualified("a"));
        assert_eq!(plain(&name, &BTreeSet::from([own])), Some("a@b"));
        assert_eq!(plain(&name, &BTreeSet::from([other])), None);
    }
}
