//! The OpenAPI description, generated from the operations.

use crate::wire::native::BASE;
use crate::wire::native::operation::{Describe, Operation};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Builds the OpenAPI description of all operations.
pub fn description(operations: &[Operation]) -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    let mut groups: Vec<&str> = operations.iter().map(|operation| operation.group).collect();
    groups.dedup();
    let tags: Vec<Value> = groups.iter().map(|group| json!({ "name": group })).collect();
    let examples = crate::wire::native::examples::examples();
    for operation in operations {
        let mut described = describe(operation, &mut schemas);
        if let Some(example) = examples.get(operation.id) {
            example.describe(&mut described);
        }
        let path = paths.entry(format!("{BASE}{}", operation.path)).or_insert_with(|| json!({}));
        path[operation.method.as_str().to_ascii_lowercase()] = described;
    }
    let problem = schemas.output::<crate::problem::Problem>();
    let (mut schemas, apart) = schemas.components();
    crate::wire::native::variants::name_variants(&mut schemas);
    for operation in paths.values_mut().flat_map(|methods| methods.as_object_mut().into_iter().flatten()) {
        rename(&mut operation.1["parameters"], &apart);
        if let Some(body) = operation.1.get_mut("requestBody") {
            rename(body, &apart);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Manent",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "The database for AI conversations.",
            "description": "Everything acknowledged is on disk. Send the token of the server or a key as `Authorization: Bearer …`; `x-required-permission` names the permission \
                            of an operation. \
                            Nothing is rewritten: edits make branches, deletion makes trash, and each can be undone.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:7317", "description": "`manent serve` where nothing else is said." }],
        "security": [{ "token": [] }],
        "tags": tags,
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "parameters": {
                "IdempotencyKey": {
                    "name": "Idempotency-Key", "in": "header", "required": false,
                    "description": "The same key with the same request answers what it answered before; the server makes one \
                                    if it is missing, and every answer to a change carries it.",
                    "schema": { "type": "string", "pattern": "^[!-~]{1,200}$" },
                },
                "IfMatch": {
                    "name": "If-Match", "in": "header", "required": false,
                    "description": "The ETag of the conversation as it was read; if it has changed since, nothing happens.",
                    "schema": { "type": "string", "pattern": "^\"[0-9]{1,18}\"$" },
                },
            },
            "responses": {
                "Problem": {
                    "description": "The problem, as RFC 9457.",
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
            "schemas": schemas,
        },
    })
}

/// Describes a response by its media type.
fn described_answer(media_type: &str) -> &'static str {
    match media_type {
        "application/x-ndjson" => "JSON lines: one value a line, `{\"type\", \"conversation\", \"value\"}`.",
        "application/octet-stream" => "The bytes.",
        _ => "The answer.",
    }
}

fn describe(operation: &Operation, schemas: &mut Schemas) -> Value {
    let mut parameters: Vec<Value> = names_in(operation.path).map(|name| path_parameter(schemas, name)).collect();
    if let Some(query) = &operation.query {
        parameters.extend(schemas.query_parameters(query));
    }
    if operation.writes() {
        parameters.push(json!({ "$ref": "#/components/parameters/IdempotencyKey" }));
        if operation.path.starts_with("/conversations/{conversation}") {
            parameters.push(json!({ "$ref": "#/components/parameters/IfMatch" }));
        }
    }
    let (status, answer) = &operation.answer;
    let mut good = json!({ "description": "Done." });
    if let Some((media_type, schema)) = answer {
        good["description"] = json!(described_answer(media_type));
        good["content"] = json!({ *media_type: { "schema": schema(schemas) } });
    }
    if let Some(events) = operation.events {
        good["content"]["text/event-stream"] = json!({ "schema": { "type": "string", "description": events } });
    }
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [operation.group],
        "x-library": operation.library,
        "x-required-permission": operation.access.name(),
        "parameters": parameters,
        "responses": {
            status.to_string(): good,
            "default": { "$ref": "#/components/responses/Problem" },
        },
    });
    if let Some((media_type, schema)) = &operation.body {
        described["requestBody"] =
            json!({ "required": true, "content": { *media_type: { "schema": schema(schemas) } } });
    }
    described
}

/// Returns the names of the path parameters.
pub fn names_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn path_parameter(schemas: &mut Schemas, name: &str) -> Value {
    use manent::model::{BranchId, ConversationId, FoldId, KeyId, MessageId, ProjectId, TenantId};
    let schema = match name {
        "conversation" => schemas.input::<ConversationId>(),
        "message" => schemas.input::<MessageId>(),
        "branch" => schemas.input::<BranchId>(),
        "fold" => schemas.input::<FoldId>(),
        "project" => schemas.input::<ProjectId>(),
        "tenant" => schemas.input::<TenantId>(),
        "key" => schemas.input::<KeyId>(),
        "sha256" => json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" }),
        _ => json!({ "type": "string", "minLength": 1, "maxLength": 200 }),
    };
    json!({ "name": name, "in": "path", "required": true, "schema": schema })
}

/// JSON schemas of requests and responses, gathered into one list.
pub(crate) struct Schemas {
    input: SchemaGenerator,
    output: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            input: settings().for_deserialize().into_generator(),
            output: settings().for_serialize().into_generator(),
        }
    }

    pub(crate) fn input<T: JsonSchema + ?Sized>(&mut self) -> Value {
        self.input.subschema_for::<T>().into()
    }

    pub(crate) fn output<T: JsonSchema + ?Sized>(&mut self) -> Value {
        self.output.subschema_for::<T>().into()
    }

    /// Converts the fields of a type into query parameters.
    fn query_parameters(&mut self, describe: &Describe) -> Vec<Value> {
        let reference = describe(self);
        let name = reference["$ref"].as_str().and_then(|path| path.rsplit('/').next()).map(str::to_owned);
        let schema = match name {
            Some(name) => self.input.definitions_mut().remove(&name).unwrap_or(reference),
            None => reference,
        };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let members = schema["properties"].as_object().cloned().unwrap_or_default();
        members
            .into_iter()
            .map(|(name, mut schema)| {
                let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
                let required = required.contains(&name.as_str());
                json!({ "name": name, "in": "query", "required": required, "description": description, "schema": schema })
            })
            .collect()
    }

    /// Returns the schemas, and the names whose request form differs from their response form.
    fn components(mut self) -> (Map<String, Value>, BTreeSet<String>) {
        let mut all = self.output.take_definitions(true);
        let read = self.input.take_definitions(true);
        let mut apart: BTreeSet<String> = read
            .iter()
            .filter(|(name, schema)| all.get(*name).is_some_and(|known| known != *schema))
            .map(|(name, _)| name.clone())
            .collect();
        // A type that contains such a type differs itself.
        loop {
            let holds = |schema: &Value| references(schema).iter().any(|name| apart.contains(name));
            let more: Vec<String> = read
                .iter()
                .filter(|(name, schema)| !apart.contains(*name) && all.contains_key(*name) && holds(schema))
                .map(|(name, _)| name.clone())
                .collect();
            if more.is_empty() {
                break;
            }
            apart.extend(more);
        }
        for (name, mut schema) in read {
            rename(&mut schema, &apart);
            all.insert(as_read(&name, &apart), schema);
        }
        (all, apart)
    }
}

const SCHEMAS: &str = "#/components/schemas/";

/// The schema name of a request type, where it differs from the response type.
fn as_read(name: &str, apart: &BTreeSet<String>) -> String {
    match apart.contains(name) {
        true => format!("{name}Input"),
        false => name.to_owned(),
    }
}

fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(members) => members
            .iter()
            .flat_map(|(key, value)| match (key.as_str(), value.as_str()) {
                ("$ref", Some(path)) => path.strip_prefix(SCHEMAS).map(str::to_owned).into_iter().collect(),
                _ => references(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// Rewrites references to the request forms.
fn rename(schema: &mut Value, apart: &BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members.iter_mut() {
                let name = value.as_str().filter(|_| key == "$ref").and_then(|path| path.strip_prefix(SCHEMAS));
                match name.map(|name| format!("{SCHEMAS}{}", as_read(name, apart))) {
                    Some(path) => *value = Value::String(path),
                    None => rename(value, apart),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, apart)),
        _ => {}
    }
}
