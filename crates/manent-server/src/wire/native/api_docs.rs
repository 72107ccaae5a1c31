//! HTML reference page, rendered from the OpenAPI description, without scripts.

use serde_json::Value;
use std::fmt::{self, Write};

/// Style sheet of the page; the content security policy allows only files of this origin.
pub const STYLE: &str = include_str!("reference.css");

/// Renders the page.
pub fn page(description: &Value) -> String {
    let mut html = String::new();
    write_page(&mut html, description).expect("a string grows");
    html
}

fn write_page(html: &mut String, description: &Value) -> fmt::Result {
    let operations = operations(description);
    html.push_str(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Manent API</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <link rel=\"stylesheet\" href=\"/docs/api.css\">\n</head>\n<body>\n<nav aria-label=\"Operations\">\n<h1>Manent API</h1>\n",
    );
    let mut group = "";
    for operation in &operations {
        if operation.group != group {
            group = operation.group;
            writeln!(html, "<h2>{}</h2>", escape(group))?;
        }
        writeln!(html, "<a href=\"#{0}\">{0}</a>", escape(operation.id))?;
    }
    writeln!(html, "</nav>\n<main>\n<p>{}</p>", escape(text(&description["info"]["description"])))?;
    html.push_str(BEGIN);
    for operation in &operations {
        write_operation(html, operation)?;
    }
    html.push_str("<h2 id=\"schemas\">Schemas</h2>\n");
    for (name, schema) in description["components"]["schemas"].as_object().into_iter().flatten() {
        let shown = serde_json::to_string_pretty(schema).unwrap_or_default();
        writeln!(
            html,
            "<details id=\"schema-{0}\"><summary><code>{0}</code> {1}</summary><pre>{2}</pre></details>",
            escape(name),
            escape(text(&schema["description"])),
            escape(&shown)
        )?;
    }
    html.push_str("</main>\n</body>\n</html>\n");
    Ok(())
}

const BEGIN: &str = "<h2>Begin</h2>\n<pre>TOKEN=$(manent token)\n\
    curl -s http://127.0.0.1:7317/api/v1/conversations \\\n  -H \"Authorization: Bearer $TOKEN\" -H \"Content-Type: application/json\" \\\n  \
    -d '{\"title\": \"First\"}'</pre>\n\
    <p>Errors are <code>application/problem+json</code> with a stable <code>code</code>. \
    The description itself is <a href=\"/api/v1/openapi.json\">openapi.json</a> (OpenAPI 3.1).</p>\n";

struct DocumentedOperation<'a> {
    method: String,
    path: &'a str,
    id: &'a str,
    group: &'a str,
    value: &'a Value,
}

fn operations(description: &Value) -> Vec<DocumentedOperation<'_>> {
    let paths = description["paths"].as_object().into_iter().flatten();
    let mut all: Vec<DocumentedOperation<'_>> = paths
        .flat_map(|(path, methods)| {
            methods.as_object().into_iter().flatten().map(move |(method, value)| DocumentedOperation {
                method: method.to_ascii_uppercase(),
                path,
                id: text(&value["operationId"]),
                group: text(&value["tags"][0]),
                value,
            })
        })
        .collect();
    let order: Vec<&str> = description["tags"].as_array().into_iter().flatten().map(|tag| text(&tag["name"])).collect();
    all.sort_by_key(|operation| order.iter().position(|group| *group == operation.group));
    all
}

fn write_operation(html: &mut String, operation: &DocumentedOperation<'_>) -> fmt::Result {
    let value = operation.value;
    writeln!(
        html,
        "<section id=\"{id}\">\n<h3><span class=\"method {lower}\">{method}</span> <code>{path}</code></h3>\n<p>{says}</p>",
        id = escape(operation.id),
        lower = operation.method.to_ascii_lowercase(),
        method = operation.method,
        path = escape(operation.path),
        says = escape(text(&value["summary"])),
    )?;
    let parameters: Vec<&Value> = value["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|parameter| parameter["name"].is_string())
        .collect();
    if !parameters.is_empty() {
        html.push_str("<dl>\n");
        for parameter in parameters {
            writeln!(
                html,
                "<dt><code>{}</code> <small>{}</small></dt><dd>{} {}</dd>",
                escape(text(&parameter["name"])),
                escape(text(&parameter["in"])),
                escape(text(&parameter["description"])),
                kind(&parameter["schema"]),
            )?;
        }
        html.push_str("</dl>\n");
    }
    for (media_type, body) in value["requestBody"]["content"].as_object().into_iter().flatten() {
        writeln!(html, "<p>Takes <code>{}</code> {}</p>", escape(media_type), kind(&body["schema"]))?;
        write_example(html, &body["example"])?;
    }
    for (status, answer) in value["responses"].as_object().into_iter().flatten() {
        if status == "default" {
            continue;
        }
        let content = answer["content"].as_object().into_iter().flatten().next();
        let (media_type, schema) =
            content.map_or(("", String::new()), |(name, body)| (name.as_str(), kind(&body["schema"])));
        writeln!(html, "<p>Answers <b>{}</b> <code>{}</code> {schema}</p>", escape(status), escape(media_type))?;
        if let Some((_, body)) = answer["content"].as_object().into_iter().flatten().next() {
            write_example(html, &body["example"])?;
        }
    }
    html.push_str("</section>\n");
    Ok(())
}

fn write_example(html: &mut String, example: &Value) -> fmt::Result {
    if example.is_null() {
        return Ok(());
    }
    let shown = serde_json::to_string_pretty(example).unwrap_or_default();
    writeln!(html, "<details><summary>Example</summary><pre>{}</pre></details>", escape(&shown))
}

/// Renders the type of a schema, with a link if it has a name.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("<a href=\"#schema-{0}\">{0}</a>", escape(name));
    }
    if schema["type"] == "array" {
        return format!("list of {}", kind(&schema["items"]));
    }
    if let Some(any) = schema["anyOf"].as_array() {
        return any.iter().filter(|one| one["type"] != "null").map(kind).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::String(name) => format!("<small>{}</small>", escape(name)),
        Value::Array(names) => format!("<small>{}</small>", escape(text(&names[0]))),
        _ => String::new(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
