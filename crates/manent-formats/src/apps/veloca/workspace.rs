//! Workspaces: the projects of sessions, in a file beside the sessions.

use crate::core::item::ProjectItem;
use crate::core::json::{Members, Object};
use manent_model::Json;

/// The kind of project.
pub(crate) const KIND: &str = "workspace";

/// A record of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workspace {
    pub session: String,
    pub key: String,
    pub root: Option<String>,
    pub kind: Option<String>,
}

/// Members that a project holds.
pub(crate) const MAPPED: [&str; 4] = ["session_id", "workspace_key", "workspace_root_path", "workspace_type"];

pub(crate) fn read(text: &str) -> Result<Workspace, String> {
    let members = Members::parse(text).ok_or("a workspace is an object")?;
    Ok(Workspace {
        session: members.text("session_id").ok_or("a workspace names its session")?,
        key: members.text("workspace_key").ok_or("a workspace has a key")?,
        root: members.text("workspace_root_path"),
        kind: members.text("workspace_type"),
    })
}

impl Workspace {
    pub(crate) fn project(&self) -> ProjectItem {
        let metadata = Object::new()
            .with("workspace_key", &self.key)
            .with_some("workspace_root_path", self.root.as_ref())
            .with_some("workspace_type", self.kind.as_ref());
        let path = self.root.as_deref().unwrap_or(&self.key);
        ProjectItem {
            external: self.key.clone(),
            kind: KIND.to_owned(),
            name: path.rsplit(['/', '\\']).find(|name| !name.is_empty()).unwrap_or(&self.key).to_owned(),
            metadata: Json::parse(&metadata.text()).ok(),
            frame: None,
            record: "workspace",
        }
    }
}
