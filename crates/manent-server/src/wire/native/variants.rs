//! Rewrites enum schemas for client generators: named variants, and plain words as one `enum` list.

use serde_json::{Map, Value, json};

const SCHEMAS: &str = "#/components/schemas/";

/// Fields whose constant value identifies a variant.
const TAGS: [&str; 3] = ["type", "problem", "kind"];

/// Moves every object variant, and what it wraps, into a schema of its own, named after its enum and its tag: `Change`
/// with the field `append_messages` becomes `ChangeAppendMessages`.
pub fn name_variants(schemas: &mut Map<String, Value>) {
    let owners: Vec<String> = schemas.keys().cloned().collect();
    for owner in owners {
        for list in ["oneOf", "anyOf"] {
            let variants = schemas[&owner].get_mut(list).and_then(Value::as_array_mut);
            let Some(mut variants) = variants.map(std::mem::take) else { continue };
            join_words(&mut variants);
            for variant in &mut variants {
                if let Some(name) = name_of(&owner, variant).filter(|name| !schemas.contains_key(name)) {
                    wrapped(&name, variant, schemas);
                    let reference = json!({ "$ref": format!("{SCHEMAS}{name}") });
                    schemas.insert(name, std::mem::replace(variant, reference));
                }
            }
            match variants.as_slice() {
                [only] if only.get("enum").is_some() => {
                    let about = schemas[&owner].get("description").cloned();
                    schemas[&owner] = variants.remove(0);
                    if let Some(about) = about.as_ref().and_then(Value::as_str) {
                        let words = schemas[&owner]["description"].as_str().unwrap_or_default();
                        schemas[&owner]["description"] = json!(format!("{about}\n\n{words}"));
                    }
                }
                _ => schemas[&owner][list] = Value::Array(variants),
            }
        }
    }
}

/// Merges single-word variants into one `enum` list; their descriptions become lines of its description.
fn join_words(variants: &mut Vec<Value>) {
    let (mut words, mut lines) = (Vec::new(), Vec::new());
    variants.retain(|variant| {
        let Some(word) = variant.get("const").and_then(Value::as_str) else { return true };
        let about = variant.get("description").and_then(Value::as_str).unwrap_or_default();
        lines.push(format!("- `{word}`: {about}"));
        words.push(word.to_owned());
        false
    });
    if !words.is_empty() {
        variants.insert(0, json!({ "type": "string", "enum": words, "description": lines.join("\n") }));
    }
}

/// Also gives the object inside a single-field variant a schema of its own.
fn wrapped(name: &str, variant: &mut Value, schemas: &mut Map<String, Value>) {
    let members = variant["properties"].as_object_mut().into_iter().flatten();
    for (_, member) in members {
        let name = format!("{name}Value");
        if member.get("properties").is_some() && !schemas.contains_key(&name) {
            let reference = json!({ "$ref": format!("{SCHEMAS}{name}") });
            schemas.insert(name, std::mem::replace(member, reference));
        }
    }
}

/// Returns the name of a variant, if it is an object with a tag.
fn name_of(owner: &str, variant: &Value) -> Option<String> {
    let members = variant.get("properties")?.as_object()?;
    let tag = TAGS.iter().find_map(|tag| members.get(*tag)?.get("const")?.as_str());
    let only = members.keys().next().filter(|_| members.len() == 1).map(String::as_str);
    let tag = tag.or(only)?;
    let words = tag.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: String = words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect();
    Some(format!("{owner}{words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_get_schemas_with_names() {
        let inner = json!({ "type": "object", "properties": { "id": { "type": "string" } } });
        let schemas = json!({
            "Change": { "oneOf": [
                { "type": "object", "properties": { "add_note": inner }, "required": ["add_note"] },
                { "type": "object", "properties": { "type": { "const": "text" }, "text": { "type": "string" } } },
                { "type": "string", "const": "plain", "description": "Nothing." },
                { "type": "string", "const": "other", "description": "Else." },
            ] },
            "Kind": { "description": "A kind.", "oneOf": [{ "type": "string", "const": "a", "description": "One." }] },
        });
        let Value::Object(mut schemas) = schemas else { unreachable!("an object above") };
        name_variants(&mut schemas);
        let reference = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        let variants = &schemas["Change"]["oneOf"];
        let words = "- `plain`: Nothing.\n- `other`: Else.";
        assert_eq!(variants[0], json!({ "type": "string", "enum": ["plain", "other"], "description": words }));
        assert_eq!(variants[1], reference("ChangeAddNote"));
        assert_eq!(variants[2], reference("ChangeText"));
        let kind = json!({ "type": "string", "enum": ["a"], "description": "A kind.\n\n- `a`: One." });
        assert_eq!(schemas["Kind"], kind);
        assert_eq!(schemas["ChangeAddNote"]["properties"]["add_note"], reference("ChangeAddNoteValue"));
        assert_eq!(schemas["ChangeAddNoteValue"], inner);
    }
}
