//! The meta file: metadata of an agent.

use crate::apps::kode::frame::Kept;
use crate::apps::kode::synthesize::IdTranslation;
use crate::core::json::{Members, Object, Style, merge};
use crate::core::time::moment;
use manent_model::{Json, Timestamp};

/// An agent as its meta file describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Meta {
    pub id: Option<String>,
    pub template: String,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    pub breakpoint: Option<Json>,
    pub metadata: Option<Json>,
}

/// Members that a conversation holds.
pub(crate) const MAPPED: [&str; 7] =
    ["agentId", "sessionId", "templateId", "createdAt", "lastActiveAt", "modelConfig", "messageCount"];

/// Reads a meta file; the reason if it is none.
pub(crate) fn read(text: &str) -> Result<Meta, String> {
    let members = Members::parse(text).ok_or("what is said about an agent is an object")?;
    let inner = members.object("metadata").unwrap_or_default();
    let time = |text: Option<String>| text.as_deref().and_then(moment);
    let template = members.text("templateId").or_else(|| inner.text("templateId"));
    let model = members.object("modelConfig").or_else(|| inner.object("modelConfig")).unwrap_or_default();
    // Only the model's name: the same object contains API keys in clear text.
    let metadata = Object::new()
        .with_some("templateId", template.as_ref())
        .with_some("provider", model.text("provider"))
        .with_some("model", model.text("model"));
    Ok(Meta {
        id: ["agentId", "sessionId"].iter().find_map(|name| members.text(name)).filter(|id| !id.is_empty()),
        template: template.unwrap_or_default(),
        created_at: time(members.text("createdAt")).or_else(|| time(inner.text("createdAt"))),
        updated_at: time(inner.text("updatedAt"))
            .or_else(|| time(members.text("lastActiveAt")))
            .or_else(|| time(members.text("updatedAt"))),
        breakpoint: inner.json("breakpoint").or_else(|| members.json("breakpoint")),
        metadata: Json::parse(&metadata.text()).ok().filter(|_| !metadata.0.is_empty()),
    })
}

/// Changed values of a meta file; `None` where the old one is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes {
    /// Mapping of ids.
    pub names: Option<IdTranslation>,
    pub message_count: Option<usize>,
    pub last_safe: Option<i64>,
    pub breakpoint: Option<Json>,
}

/// Returns the meta file with the changes made in it.
pub(crate) fn changed(kept: &Kept, changes: &Changes) -> String {
    let Some(members) = Members::parse(&kept.text) else { return kept.text.clone() };
    let inner = members.object("metadata");
    let (mut was, mut now) = (Object::new(), Object::new());
    let mut set = |name: &str, value: Option<String>| {
        // A member that the program did not write is not added.
        if let (Some(value), Some(old)) = (value, members.raw(name)) {
            was.0.push((name.to_owned(), old.to_owned()));
            now.0.push((name.to_owned(), value));
        }
    };
    // The ids of the agent and of those it was forked from.
    let id = |members: &Members<'_>| Some(Json::of(&changes.names?.id(&members.text("agentId")?)).text().to_owned());
    let lineage = |members: &Members<'_>| {
        let names = changes.names?;
        let ids: Vec<String> = serde_json::from_str(members.raw("lineage")?).ok()?;
        Some(Json::of(&ids.iter().map(|id| names.id(id)).collect::<Vec<_>>()).text().to_owned())
    };
    set("agentId", id(&members));
    set("lineage", lineage(&members));
    set("messageCount", changes.message_count.map(|count| count.to_string()));
    set("lastSfpIndex", changes.last_safe.map(|place| place.to_string()));
    if let Some(inner) = inner {
        let (mut inner_was, mut inner_now) = (Object::new(), Object::new());
        let values = [
            ("agentId", id(&inner)),
            ("lineage", lineage(&inner)),
            ("breakpoint", changes.breakpoint.as_ref().map(|json| json.text().to_owned())),
        ];
        for (name, value) in values {
            let Some(value) = value else { continue };
            inner_was.0.extend(inner.raw(name).map(|old| (name.to_owned(), old.to_owned())));
            inner_now.0.push((name.to_owned(), value));
        }
        was.0.push(("metadata".to_owned(), inner_was.text()));
        now.0.push(("metadata".to_owned(), inner_now.text()));
    }
    merge(&kept.text, &was, &now, kept.style(), 0)
}

/// Makes the meta file of an agent that this program never saw, with the members and the order of its own.
pub(crate) fn fresh(meta: &Meta, id: &str, lineage: &[String], message_count: usize, last_safe: i64) -> String {
    const VERSION: &str = "v2.7.0";
    let time = |at: Option<Timestamp>| crate::core::time::iso(at.unwrap_or(Timestamp(0)));
    let (created, updated) = (time(meta.created_at), time(meta.updated_at.or(meta.created_at)));
    let members = meta.metadata.as_ref().and_then(|metadata| Members::parse(metadata.text())).unwrap_or_default();
    let (provider, model) = (members.text("provider"), members.text("model"));
    let config = Object::new().with_some("provider", provider).with_some("model", model);
    let config = Json::parse(&config.text()).ok().filter(|_| !config.0.is_empty());
    let permission = Object::new().with("mode", "auto");
    let inner = Object::new()
        .with("agentId", id)
        .with("templateId", &meta.template)
        .with_some("modelConfig", config)
        .with("tools", &[0; 0])
        .with("exposeThinking", &false)
        .with_some("permission", Json::parse(&permission.text()).ok())
        .with("createdAt", &created)
        .with("updatedAt", &updated)
        .with("configVersion", VERSION)
        .with("lineage", lineage)
        .with("breakpoint", &meta.breakpoint.clone().unwrap_or_else(|| Json::of(&"READY")));
    let whole = Object::new()
        .with("agentId", id)
        .with("templateId", &meta.template)
        .with("createdAt", &created)
        .with("lineage", lineage)
        .with("configVersion", VERSION)
        .with("messageCount", &message_count)
        .with("lastSfpIndex", &last_safe)
        .with_some("metadata", Json::parse(&inner.text()).ok());
    Style::PRETTY.format(&whole.text(), 0)
}
