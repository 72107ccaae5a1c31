//! Request and response examples for the OpenAPI description.
//!
//! They are recorded by the test that calls every operation (`tests/it/operations.rs`), with ids and times that do not change;
//! the same test compares them, so they show what the server does.

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A recorded call of an operation.
#[derive(Debug, Default, Deserialize)]
pub struct Example {
    /// Path and query parameters by name.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    /// The JSON request body.
    request: Option<Value>,
    /// The JSON response body.
    response: Option<Value>,
}

/// Loads the recorded examples, by operation id.
pub fn examples() -> BTreeMap<String, Example> {
    serde_json::from_str(include_str!("examples.json")).expect("a test writes this file")
}

impl Example {
    /// Adds the example to the description of its operation.
    pub fn describe(&self, operation: &mut Value) {
        for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
            let value = parameter["name"].as_str().and_then(|name| self.parameters.get(name));
            if let Some(value) = value {
                parameter["example"] = typed(value, &parameter["schema"]);
            }
        }
        if let (Some(request), Some(body)) =
            (&self.request, operation.pointer_mut("/requestBody/content/application~1json"))
        {
            body["example"] = request.clone();
        }
        for (_, answer) in operation["responses"].as_object_mut().into_iter().flatten() {
            if let (Some(response), Some(body)) = (&self.response, answer.pointer_mut("/content/application~1json")) {
                body["example"] = response.clone();
            }
        }
    }
}

/// Converts a parameter to the type that its schema declares.
fn typed(text: &str, schema: &Value) -> Value {
    let is = |name: &str| match &schema["type"] {
        Value::String(one) => one == name,
        Value::Array(several) => several.iter().any(|one| one == name),
        _ => false,
    };
    match text.parse::<i64>() {
        Ok(number) if is("integer") => json!(number),
        _ if is("boolean") => json!(text == "true"),
        _ => json!(text),
    }
}
