//! Documents: settings, characters, backgrounds, summaries and templates, each a small file.

use crate::apps::personalab::{Generation, files};
use crate::core::item::{DocumentItem, Item};
use crate::core::json::{Frame, Shape, Style, merge_text};
use crate::core::names::{Names, is_safe, is_safe_piece};
use crate::core::problem::ReadError;
use crate::core::source_fs::{JsonFile, SourceTree};
use manent_model::Json;
use serde::{Deserialize, Serialize};

/// The kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Settings,
    Character,
    Background,
    Summary,
    Template,
    /// An instance in which nothing was said.
    Instance,
    /// The character of such an instance.
    CharacterState,
}

/// Layout of the file of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DocumentFrame {
    /// Its file below the folder of the root.
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    before: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    after: String,
    /// The source text of the value, which changes are made in; none for a file that is no JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Settings,
        Self::Character,
        Self::Background,
        Self::Summary,
        Self::Template,
        Self::Instance,
        Self::CharacterState,
    ];

    /// Its name as a kind of document.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Character => "character",
            Self::Background => "background",
            Self::Summary => "summary",
            Self::Template => "prompt_template",
            Self::Instance => "instance",
            Self::CharacterState => "character_state",
        }
    }

    /// No other program has such files.
    pub(crate) fn is_telling(self) -> bool {
        matches!(self, Self::Character | Self::Background | Self::Summary)
    }

    /// Tells what a file is by its name, with the id of the document.
    pub(crate) fn of(pieces: &[&str]) -> Option<(Self, String)> {
        let id = |file: &str| file.strip_suffix(".json").map(str::to_owned);
        match pieces {
            ["config.json"] => Some((Self::Settings, "config".to_owned())),
            ["characters", folder, "definition.json"] => Some((Self::Character, (*folder).to_owned())),
            ["backgrounds", folder, "background.json"] => Some((Self::Background, (*folder).to_owned())),
            ["presets", "characters", file] => Some((Self::Character, id(file)?)),
            ["presets", "backgrounds", file] => Some((Self::Background, id(file)?)),
            ["presets", "summaries", file] => Some((Self::Summary, id(file)?)),
            ["prompt_templates", rest @ ..] if !rest.is_empty() => Some((Self::Template, rest.join("/"))),
            _ => None,
        }
    }

    /// Path of a new one.
    fn path(self, id: &str, generation: Generation) -> Option<String> {
        let is_new = generation == Generation::Conversations;
        match self {
            Self::Settings => (id == "config").then(|| "config.json".to_owned()),
            Self::Character if is_new => Some(format!("presets/characters/{id}.json")),
            Self::Character => Some(format!("characters/{id}/definition.json")),
            Self::Background if is_new => Some(format!("presets/backgrounds/{id}.json")),
            Self::Background => Some(format!("backgrounds/{id}/background.json")),
            Self::Summary => Some(format!("presets/summaries/{id}.json")),
            Self::Template => Some(format!("prompt_templates/{id}")),
            Self::Instance => Some(format!("instances/{id}/instance_state.json")),
            Self::CharacterState => Some(format!("instances/{id}/character_state.json")),
        }
    }
}

/// Reads a document, or tells why it is none.
pub(crate) fn read(
    tree: &dyn SourceTree,
    folder: &str,
    document: &files::Document,
    id: String,
) -> Result<Vec<Item>, ReadError> {
    let mut told = Vec::new();
    let name = format!("{folder}{}", document.name);
    let record = document.kind.name();
    let (body, frame) = match document.kind == Kind::Template && !name.ends_with(".json") {
        true => {
            let file = JsonFile::again(tree, &name)?;
            let text = match file.text(file.whole())? {
                Ok(text) => text,
                Err(why) => return Ok(vec![file.problem(file.whole(), record, why)?]),
            };
            let frame = DocumentFrame {
                name: document.name.clone(),
                before: String::new(),
                after: String::new(),
                source: None,
            };
            (Json::of(&text), frame)
        }
        false => {
            let file = JsonFile::open(tree, &name, &Shape::Value)?;
            let text = match (&file.root, file.torn_at) {
                (Some(root), None) => file.text(root.span())?,
                _ => Err("the file is cut off, or no JSON".to_owned()),
            };
            let mut body = text.and_then(|text| Json::parse(&text).map_err(|error| error.to_string()));
            if let (Err(_), Some(root), None) = (&body, &file.root, file.torn_at)
                && let Some((text, removed)) = file.mended(root.span())?
                && let Ok(rest) = Json::parse(&text)
            {
                for removed in &removed {
                    told.extend(file.unreadable(removed)?);
                }
                body = Ok(rest);
            }
            match body {
                Ok(body) => {
                    let Frame { before, after, .. } = file.frame()?;
                    let source = Some(body.text().to_owned());
                    (body, DocumentFrame { name: document.name.clone(), before, after, source })
                }
                Err(why) => return Ok(vec![file.problem(file.whole(), record, why)?]),
            }
        }
    };
    let (kind, frame) = (record.to_owned(), Some(Json::of(&frame)));
    told.push(Item::Document(DocumentItem { kind, id, project: None, body, frame, record }));
    Ok(told)
}

/// Writes a document to its original path, or to the default one of its kind.
pub(crate) fn write(
    kind: Kind,
    id: &str,
    body: &Json,
    raw: Option<&str>,
    generation: Generation,
    is_own: bool,
    names: &mut Names,
) -> Option<(String, String)> {
    let frame = raw.and_then(|raw| serde_json::from_str::<DocumentFrame>(raw).ok());
    let kept = frame.as_ref().filter(|frame| is_own && is_safe(&frame.name)).map(|frame| frame.name.clone());
    let is_safe = if kind == Kind::Template { is_safe(id) } else { is_safe_piece(id) };
    let usual = if is_safe { kind.path(id, generation) } else { None };
    let name = match kept.or(usual).filter(|name| names.take(name)) {
        Some(name) => name,
        // A name that leads outside, or that is taken, is replaced by a numbered one.
        None => (1..)
            .map_while(|number| kind.path(&format!("{}_{number}", kind.name()), generation))
            .find(|name| names.take(name))?,
    };
    let text = match &frame {
        Some(DocumentFrame { source: Some(source), before, after, .. }) => {
            format!("{before}{}{after}", merge_text(source, body.text(), Style::of(source), 0))
        }
        _ => match body.read::<String>() {
            Ok(text) if kind == Kind::Template => text,
            _ => Style::PRETTY.format(body.text(), 0),
        },
    };
    Some((name, text))
}
