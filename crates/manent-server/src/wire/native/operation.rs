//! API operations: route, handler and OpenAPI description of each are declared together, so that none can be
//! forgotten.

use crate::app::App;
use crate::wire::Wire;
use crate::wire::native::openapi::Schemas;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};
use manent::model::KeyScope;
use schemars::JsonSchema;
use serde_json::{Value, json};
use std::collections::HashMap;

pub(crate) type Describe = Box<dyn Fn(&mut Schemas) -> Value + Send + Sync>;

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
    /// The path below the wire's prefix.
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
    pub(crate) group: &'static str,
    pub(crate) query: Option<Describe>,
    pub(crate) body: Option<(&'static str, Describe)>,
    pub(crate) answer: (u16, Option<(&'static str, Describe)>),
    pub(crate) handler: MethodRouter<App>,
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
}

/// Properties of a route that are needed before its handler runs.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The `operationId`.
    pub id: &'static str,
    /// The API that it belongs to.
    pub wire: &'static Wire,
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
    /// Adds the operations of a wire.
    pub fn with(mut self, wire: &'static Wire, operations: &[Operation]) -> Self {
        for operation in operations {
            let Operation { id, access, audited, has_no_timeout, is_large, .. } = *operation;
            let takes_json = operation.body.as_ref().is_none_or(|(media_type, _)| *media_type == "application/json");
            let rule = Rule { id, wire, access, audited, has_no_timeout, takes_json, is_large };
            self.0.insert((operation.method.clone(), format!("{}{}", wire.prefix, operation.path)), rule);
        }
        self
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
