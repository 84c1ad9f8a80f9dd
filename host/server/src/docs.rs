//! The reference page: the OpenAPI document as one HTML file without any outside asset.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;
use serde_json::Value;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("docs/style.css");
const INTRODUCTION: &str = include_str!("docs/introduction.html");

pub(crate) const ROUTE: &str = "/docs";

/// The page has one style sheet, in itself, and nothing else: no script, no frame, nothing from outside.
pub(crate) fn policy() -> HeaderValue {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"))
}

/// The page, rendered once at the start.
pub(crate) fn render(document: &Value) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Wellspring API</title><style>{STYLE}</style></head><body>"
    );
    let operations = Operation::all(document);
    render_navigation(&mut page, &operations);
    page.push_str("<main>");
    page.push_str(INTRODUCTION);
    let mut tag = "";
    for operation in &operations {
        if operation.tag != tag {
            tag = operation.tag;
            // Writing to a string does not fail, here and below.
            let _ = write!(page, "<h2 id=\"{0}\">{0}</h2>", escape(tag));
        }
        operation.render(&mut page, document);
    }
    page.push_str("<h2 id=\"Objects\">Objects</h2>");
    render_schemas(&mut page, document);
    page.push_str("</main></body></html>\n");
    page
}

struct Operation<'a> {
    method: String,
    path: &'a str,
    tag: &'a str,
    value: &'a Value,
}

fn render_navigation(page: &mut String, operations: &[Operation<'_>]) {
    page.push_str("<nav><strong>Wellspring API</strong>");
    let mut tag = "";
    for operation in operations {
        if operation.tag != tag {
            tag = operation.tag;
            let _ = write!(page, "<a class=\"group\" href=\"#{0}\">{0}</a>", escape(tag));
        }
        let (method, path) = (&operation.method, escape(operation.path));
        let _ = write!(page, "<a href=\"#{}\"><b class=\"{method}\">{method}</b> {path}</a>", operation.anchor());
    }
    page.push_str("<a class=\"group\" href=\"#Objects\">Objects</a></nav>");
}

fn render_schemas(page: &mut String, document: &Value) {
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    for (name, schema) in schemas.into_iter().flatten() {
        let _ = write!(page, "<section id=\"object-{0}\"><h3>{0}</h3>", escape(name));
        render_properties(page, schema);
        if let Some(example) = schema.get("example") {
            render_json(page, example);
        }
        page.push_str("</section>");
    }
}

fn render_properties(page: &mut String, schema: &Value) {
    let required: Vec<&str> = texts(schema.get("required"));
    // That what may be absent may be null as well goes without saying.
    let is_required = |name: &str| required.contains(&name);
    let rows = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let rows = rows.map(|(name, property)| Row {
        name,
        kind: if is_required(name) { kind(property) } else { kind(property).replace(" or null", "") },
        is_required: is_required(name),
        says: text(property, "description"),
    });
    render_rows(page, rows.collect());
}

struct Row<'a> {
    name: &'a str,
    kind: String,
    is_required: bool,
    says: &'a str,
}

fn render_rows(page: &mut String, rows: Vec<Row<'_>>) {
    if rows.is_empty() {
        return;
    }
    page.push_str("<table>");
    for Row { name, kind, is_required, says } in rows {
        let star = if is_required { "<i title=\"always\">*</i>" } else { "" };
        let (name, kind, says) = (escape(name), escape(&kind), code_spans(says));
        let _ = write!(page, "<tr><td><code>{name}</code>{star}</td><td>{kind}</td><td>{says}</td></tr>");
    }
    page.push_str("</table>");
}

fn render_json(page: &mut String, value: &Value) {
    let _ = write!(page, "<pre>{}</pre>", escape(&format!("{value:#}")));
}

// === impl Operation ===

impl<'a> Operation<'a> {
    fn all(document: &'a Value) -> Vec<Self> {
        let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
        let mut operations: Vec<Self> = paths
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().into_iter().flatten();
                methods.map(move |(method, value)| Self {
                    method: method.to_uppercase(),
                    path,
                    tag: value.pointer("/tags/0").and_then(Value::as_str).unwrap_or_default(),
                    value,
                })
            })
            .collect();
        // Paths with several methods bring tags together that the table keeps apart; a stable sort undoes that.
        let mut tags: Vec<&str> = Vec::new();
        for operation in &operations {
            if !tags.contains(&operation.tag) {
                tags.push(operation.tag);
            }
        }
        operations.sort_by_key(|operation| tags.iter().position(|tag| *tag == operation.tag));
        operations
    }

    fn anchor(&self) -> String {
        escape(text(self.value, "operationId"))
    }

    fn render(&self, page: &mut String, document: &Value) {
        let (method, path) = (&self.method, escape(self.path));
        let _ = write!(page, "<section id=\"{}\"><h3>{}</h3>", self.anchor(), code_spans(text(self.value, "summary")));
        let _ = write!(page, "<p class=\"path\"><b class=\"{method}\">{method}</b> <code>{path}</code></p>");
        if let Some(scope) = self.value.pointer("/security/0/api_key/0").and_then(Value::as_str) {
            let _ = write!(page, "<p>Scope: <code>{}</code></p>", escape(scope));
        }
        let parameters = self.value.get("parameters").and_then(Value::as_array).into_iter().flatten();
        let rows = parameters.map(|parameter| Row {
            name: text(parameter, "name"),
            kind: format!(
                "{}, in the {}",
                kind(parameter.get("schema").unwrap_or(&Value::Null)),
                text(parameter, "in")
            ),
            is_required: parameter.get("required") == Some(&Value::Bool(true)),
            says: text(parameter, "description"),
        });
        render_rows(page, rows.collect());
        if let Some(schema) = self.value.pointer("/requestBody/content/application~1json/schema") {
            render_properties(page, schema);
        }
        let _ = write!(page, "<pre class=\"try\">{}</pre>", escape(&self.curl()));
        self.render_answers(page, document);
        page.push_str("</section>");
    }

    fn render_answers(&self, page: &mut String, document: &Value) {
        let responses = self.value.get("responses").and_then(Value::as_object).into_iter().flatten();
        page.push_str("<p class=\"answers\">");
        let mut object = None;
        for (status, response) in responses {
            let _ = write!(page, "<span title=\"{}\">{status}</span> ", escape(text(response, "description")));
            object = object.or_else(|| schema_name(response));
        }
        page.push_str("</p>");
        if let Some(name) = object.filter(|name| document.pointer(&format!("/components/schemas/{name}")).is_some()) {
            let _ = write!(page, "<p>Returns <a href=\"#object-{0}\">{0}</a></p>", escape(name));
        }
    }

    /// What to type to try it.
    fn curl(&self) -> String {
        let method = if self.method == "GET" { String::new() } else { format!(" -X {}", self.method) };
        let base = if self.value.get("servers").is_some() { "" } else { "/v1" };
        let path = self.path.replace("$errors", "\\$errors");
        let mut command = format!("curl{method} \"$WELLSPRING_URL{base}{path}\"");
        if self.value.pointer("/security/0").is_some() {
            command.push_str(" \\\n  -H \"Authorization: Bearer $WELLSPRING_API_KEY\"");
        }
        if let Some(example) = self.value.pointer("/requestBody/content").and_then(first_example) {
            let body = example.to_string().replace('\'', "'\\''");
            let _ = write!(command, " \\\n  -H \"Content-Type: application/json\" \\\n  -d '{body}'");
        }
        command
    }
}

/// Of whatever type the body is.
fn first_example(content: &Value) -> Option<&Value> {
    content.as_object()?.values().find_map(|media| media.get("example"))
}

/// The object that a success is about.
fn schema_name(response: &Value) -> Option<&str> {
    let data = response.pointer("/content/application~1json/schema/properties/data")?;
    let reference = data.get("$ref").or_else(|| data.pointer("/items/$ref"))?;
    reference.as_str()?.rsplit('/').next()
}

fn kind(schema: &Value) -> String {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    let values = texts(schema.get("enum"));
    if !values.is_empty() {
        return values.join(" | ");
    }
    match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(kinds @ Value::Array(_)) => texts(Some(kinds)).join(" or "),
        _ => "any".to_owned(),
    }
}

fn texts(value: Option<&Value>) -> Vec<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// What stands between backticks is code.
fn code_spans(text: &str) -> String {
    let mut shown = String::new();
    for (index, part) in escape(text).split('`').enumerate() {
        if index % 2 == 1 {
            let _ = write!(shown, "<code>{part}</code>");
        } else {
            shown.push_str(part);
        }
    }
    shown
}

#[cfg(test)]
mod tests;
