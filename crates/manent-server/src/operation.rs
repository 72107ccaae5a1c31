//! API operations: route, handler and OpenAPI description of each are declared together, so that none can be
//! forgotten.

use crate::app::App;
use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};
use manent::model::KeyScope;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap};

/// Base path of the API.
pub const BASE: &str = "/api/v1";

type Describe = Box<dyn Fn(&mut Schemas) -> Value + Send + Sync>;

/// Authorization that an operation requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// None: login and public information.
    Public,
    /// Any valid key, or the server token.
    Authenticated,
    /// A key with this scope, or the server token.
    Scope(KeyScope),
    /// A key with every scope and no limits, or the server token: the operation concerns the whole tenant.
    TenantAdmin,
    /// The server token: the operation concerns all tenants.
    ServerAdmin,
}

impl From<KeyScope> for Access {
    fn from(scope: KeyScope) -> Self {
        Self::Scope(scope)
    }
}

impl Access {
    /// Returns its name in the OpenAPI description.
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Authenticated => "authenticated",
            Self::Scope(scope) => scope.word(),
            Self::TenantAdmin => "tenant_admin",
            Self::ServerAdmin => "server_admin",
        }
    }
}

/// An API operation: its request, its handler and its responses.
pub struct Operation {
    /// The HTTP method.
    pub method: Method,
    /// The path below [`BASE`].
    pub path: &'static str,
    /// The `operationId`.
    pub id: &'static str,
    /// Summary, in one sentence.
    pub summary: &'static str,
    /// The library operations that it exposes.
    pub library: Vec<&'static str>,
    /// Whether it is exempt from the request timeout.
    pub has_no_timeout: bool,
    /// Whether its response may be as large as a page; such requests have a concurrency limit.
    pub is_large: bool,
    /// Description of its events, if it responds to `Accept: text/event-stream`.
    pub events: Option<&'static str>,
    /// Required authorization.
    pub access: Access,
    /// Name of its audit log entry, if it is audited.
    pub audited: Option<&'static str>,
    group: &'static str,
    query: Option<Describe>,
    body: Option<(&'static str, Describe)>,
    answer: (u16, Option<(&'static str, Describe)>),
    handler: MethodRouter<App>,
}

impl Operation {
    /// Creates an operation.
    pub fn new<H, T>(method: Method, path: &'static str, id: &'static str, handler: H) -> Self
    where
        H: Handler<T, App>,
        T: 'static,
    {
        let filter = MethodFilter::try_from(method.clone()).expect("one of the usual methods");
        // Secure default: a write without a declared requirement needs the server token.
        let access = if method == Method::GET { KeyScope::Read.into() } else { Access::ServerAdmin };
        Self {
            method,
            path,
            id,
            summary: "",
            library: Vec::new(),
            has_no_timeout: false,
            is_large: false,
            events: None,
            access,
            audited: None,
            group: "",
            query: None,
            body: None,
            answer: (204, None),
            handler: on(filter, handler),
        }
    }

    /// Sets the summary.
    pub fn summary(mut self, says: &'static str) -> Self {
        self.summary = says;
        self
    }

    /// Adds a library operation that this one exposes.
    pub fn library(mut self, name: &'static str) -> Self {
        self.library.push(name);
        self
    }

    /// Declares the query parameters.
    pub fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(Box::new(|schemas| schemas.input::<T>()));
        self
    }

    /// Declares a JSON request body.
    pub fn body<T: JsonSchema>(mut self) -> Self {
        self.body = Some(("application/json", Box::new(|schemas| schemas.input::<T>())));
        self
    }

    /// Declares a request body of another media type.
    pub fn body_bytes(mut self, media_type: &'static str) -> Self {
        self.body = Some((media_type, Box::new(|_| json!({}))));
        self
    }

    /// Declares a JSON response.
    pub fn response<T: JsonSchema>(mut self, status: u16) -> Self {
        self.answer = (status, Some(("application/json", Box::new(|schemas| schemas.output::<T>()))));
        self
    }

    /// Declares a response of another media type.
    pub fn response_bytes(mut self, media_type: &'static str) -> Self {
        self.answer = (200, Some((media_type, Box::new(|_| json!({})))));
        self
    }

    /// Declares that it also responds with an event stream, and describes the events.
    pub fn streams(mut self, events: &'static str) -> Self {
        self.events = Some(events);
        self
    }

    /// Exempts it from the request timeout.
    pub fn no_timeout(mut self) -> Self {
        self.has_no_timeout = true;
        self
    }

    /// Declares that its response may be as large as a page.
    pub fn large_read(mut self) -> Self {
        self.is_large = true;
        self
    }

    /// Sets the required authorization; the default for a `GET` is the scope `read`.
    pub fn access(mut self, need: impl Into<Access>) -> Self {
        self.access = need.into();
        self
    }

    /// Has it recorded in the audit log.
    pub fn audited(mut self, action: &'static str) -> Self {
        self.audited = Some(action);
        self
    }

    /// Returns whether it is a write.
    pub fn writes(&self) -> bool {
        self.method != Method::GET
    }

    fn describe(&self, schemas: &mut Schemas) -> Value {
        let mut parameters: Vec<Value> = names_in(self.path).map(|name| path_parameter(schemas, name)).collect();
        if let Some(query) = &self.query {
            parameters.extend(schemas.query_parameters(query));
        }
        if self.writes() {
            parameters.push(json!({ "$ref": "#/components/parameters/IdempotencyKey" }));
            if self.path.starts_with("/conversations/{conversation}") {
                parameters.push(json!({ "$ref": "#/components/parameters/IfMatch" }));
            }
        }
        let (status, answer) = &self.answer;
        let mut good = json!({ "description": "Done." });
        if let Some((media_type, schema)) = answer {
            good["description"] = json!(described_answer(media_type));
            good["content"] = json!({ *media_type: { "schema": schema(schemas) } });
        }
        if let Some(events) = self.events {
            good["content"]["text/event-stream"] = json!({ "schema": { "type": "string", "description": events } });
        }
        let mut described = json!({
            "operationId": self.id,
            "summary": self.summary,
            "tags": [self.group],
            "x-library": self.library,
            "x-required-permission": self.access.name(),
            "parameters": parameters,
            "responses": {
                status.to_string(): good,
                "default": { "$ref": "#/components/responses/Problem" },
            },
        });
        if let Some((media_type, schema)) = &self.body {
            described["requestBody"] =
                json!({ "required": true, "content": { *media_type: { "schema": schema(schemas) } } });
        }
        described
    }
}

/// Properties of a route that are needed before its handler runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The `operationId`.
    pub id: &'static str,
    /// Required authorization.
    pub access: Access,
    /// Name of its audit log entry.
    pub audited: Option<&'static str>,
    /// Whether it is exempt from the request timeout.
    pub has_no_timeout: bool,
    /// Whether its body is JSON or absent.
    pub takes_json: bool,
    /// Whether its response may be as large as a page.
    pub is_large: bool,
}

/// Rules by method and path.
#[derive(Debug, Default)]
pub struct Rules(HashMap<(Method, String), Rule>);

impl Rules {
    /// Derives the rules from the operations.
    pub fn of(operations: &[Operation]) -> Self {
        let rule = |operation: &Operation| {
            let Operation { id, access: need, audited, has_no_timeout: long, is_large, .. } = *operation;
            let takes_json = operation.body.as_ref().is_none_or(|(media_type, _)| *media_type == "application/json");
            let rule = Rule { id, access: need, audited, has_no_timeout: long, takes_json, is_large };
            ((operation.method.clone(), format!("{BASE}{}", operation.path)), rule)
        };
        Self(operations.iter().map(rule).collect())
    }

    /// Adds a route that is not an operation.
    pub fn and(mut self, path: &str, rule: Rule) -> Self {
        self.0.insert((Method::GET, path.to_owned()), rule);
        self
    }

    /// Returns the rule of a route; `None` if there is no such route.
    pub fn get(&self, method: &Method, path: &str) -> Option<Rule> {
        let method = if *method == Method::HEAD { Method::GET } else { method.clone() };
        self.0.get(&(method, path.to_owned())).copied()
    }
}

/// Sets the tag of a group of operations.
pub fn group(name: &'static str, operations: Vec<Operation>) -> Vec<Operation> {
    operations.into_iter().map(|operation| Operation { group: name, ..operation }).collect()
}

/// Builds the router of all operations, below [`BASE`].
pub fn routes(operations: Vec<Operation>) -> Router<App> {
    let routes =
        operations.into_iter().fold(Router::new(), |router, operation| router.route(operation.path, operation.handler));
    Router::new().nest(BASE, routes)
}

/// Builds the OpenAPI description of all operations.
pub fn description(operations: &[Operation]) -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    let mut groups: Vec<&str> = operations.iter().map(|operation| operation.group).collect();
    groups.dedup();
    let tags: Vec<Value> = groups.iter().map(|group| json!({ "name": group })).collect();
    let examples = crate::examples::examples();
    for operation in operations {
        let mut described = operation.describe(&mut schemas);
        if let Some(example) = examples.get(operation.id) {
            example.describe(&mut described);
        }
        let path = paths.entry(format!("{BASE}{}", operation.path)).or_insert_with(|| json!({}));
        path[operation.method.as_str().to_ascii_lowercase()] = described;
    }
    let problem = schemas.output::<crate::problem::Problem>();
    let (mut schemas, apart) = schemas.components();
    crate::variants::name_variants(&mut schemas);
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
struct Schemas {
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

    fn input<T: JsonSchema + ?Sized>(&mut self) -> Value {
        self.input.subschema_for::<T>().into()
    }

    fn output<T: JsonSchema + ?Sized>(&mut self) -> Value {
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
