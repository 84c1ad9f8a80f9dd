//! The OpenAPI document as a page to read.

use std::fmt::Write as _;

use serde_json::Value;

const HEAD: &str = "# API reference

Written by `just generate` from [`schemas/openapi.json`](../schemas/openapi.json); a server shows the same at `/docs`.

- Every path is below `/v1`; only endpoints of sources are not. That of a GET or a POST may end in a slash.
- `Authorization: Bearer <API key>` goes with every request, or the cookie of a [session](#sessions); a body needs
  `Content-Type: application/json`.
- A key has scopes, and each operation names the one it needs: `read` reads, `write` changes webhooks, subscriptions, accounts,
  keys and events and runs what is deployed, `deploy` changes components and sources, `admin` is for the operator's routes. Each
  includes `read`; a key that was made without scopes has all. Without the scope the answer is 403 `insufficient_scope`. A key
  that only reads is shown no endpoint addresses and not itself.
- Parameters of a body may be given in the query string instead; the body wins.
- Every answer carries its payload in `data`; lists also carry `page_info` with `total_count`, `count`, `start_cursor` and
  `end_cursor`. Lists are newest first; ask for the next page with `after=<end_cursor>`.
- `include` and `exclude`, names separated by commas, choose the fields of `data`. A path chooses within a field:
  `include=id,metadata.emit_id`; it goes through lists.
- A DELETE with a parameter that is unknown, empty or null is 400: it must not delete more than was meant.
- An error is `{\"error\": \"a sentence\", \"code\": \"snake_case\", \"details\": {…}}`. Codes are stable, sentences are not.
- `GET /sources/{id}/sse` answers with server-sent events: see [following a source](components.md#following-a-source).
";

pub(super) fn of(document: &Value) -> String {
    let mut text = HEAD.to_owned();
    let mut tags: Vec<&str> = Vec::new();
    for (_, _, operation) in operations(document) {
        let tag = operation["tags"][0].as_str().unwrap();
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    for tag in tags {
        writeln!(text, "\n## {tag}").unwrap();
        for (path, method, operation) in operations(document).filter(|(_, _, operation)| operation["tags"][0] == tag) {
            write_operation(&mut text, path, method, operation);
        }
    }
    writeln!(text, "\n## Shapes").unwrap();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        writeln!(text, "\n### {name}\n").unwrap();
        write_fields(&mut text, schema);
        if let Some(example) = schema.get("example") {
            writeln!(text, "\n```json\n{example:#}\n```").unwrap();
        }
    }
    text
}

fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

fn write_operation(text: &mut String, path: &str, method: &str, operation: &Value) {
    writeln!(text, "\n### {} {path}\n\n{}.", method.to_uppercase(), operation["summary"].as_str().unwrap()).unwrap();
    if let Some(scope) = operation["security"][0]["api_key"][0].as_str() {
        writeln!(text, "\nScope: `{scope}`.").unwrap();
    }
    let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
    let is_common = |name: &Value| name == "include" || name == "exclude";
    let own: Vec<&Value> = parameters.iter().filter(|parameter| !is_common(&parameter["name"])).collect();
    if !own.is_empty() {
        writeln!(text, "\n| parameter | in | type | |\n|---|---|---|---|").unwrap();
    }
    for parameter in own {
        let place = parameter["in"].as_str().unwrap();
        let says = says(parameter, parameter["required"] == true && place != "path");
        writeln!(text, "| `{}` | {place} | {} | {says} |", name_of(parameter), kind(&parameter["schema"])).unwrap();
    }
    let media = &operation["requestBody"]["content"]["application/json"];
    if media["schema"]["properties"].is_object() {
        writeln!(text, "\nBody:\n").unwrap();
        write_fields(text, &media["schema"]);
    } else if media.is_object() {
        writeln!(text, "\nBody: any JSON.").unwrap();
    }
    if let Some(example) = media.get("example") {
        writeln!(text, "\n```json\n{example:#}\n```").unwrap();
    }
    write_answers(text, &operation["responses"]);
}

fn write_answers(text: &mut String, responses: &Value) {
    let responses = responses.as_object().unwrap();
    let mut errors: Vec<&str> = Vec::new();
    for (status, response) in responses {
        if !status.starts_with('2') {
            errors.push(status);
            continue;
        }
        let data = &response["content"]["application/json"]["schema"]["properties"]["data"];
        let answer = match (data["$ref"].as_str(), data["items"]["$ref"].as_str()) {
            (Some(one), _) => format!("[{0}](#{1})", last(one), last(one).to_lowercase()),
            (_, Some(many)) => format!("a list of [{0}](#{1})", last(many), last(many).to_lowercase()),
            _ => response["description"].as_str().unwrap().to_lowercase(),
        };
        write!(text, "\nAnswers {status}: {answer}.").unwrap();
    }
    writeln!(text, " Errors: {}.", errors.join(", ")).unwrap();
}

fn write_fields(text: &mut String, schema: &Value) {
    let Some(properties) = schema["properties"].as_object() else { return };
    writeln!(text, "| field | type | |\n|---|---|---|").unwrap();
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    for (name, property) in properties.iter().filter(|(name, _)| *name != "include" && *name != "exclude") {
        let is_required = required.iter().any(|one| one == name);
        writeln!(text, "| `{name}` | {} | {} |", kind(property), says(property, is_required)).unwrap();
    }
}

fn says(described: &Value, is_required: bool) -> String {
    let text = described["description"].as_str().unwrap_or_default().replace('|', "\\|");
    match (is_required, text.is_empty()) {
        (true, true) => "required".to_owned(),
        (true, false) => format!("{text} (required)"),
        (false, _) => text,
    }
}

fn name_of(parameter: &Value) -> &str {
    parameter["name"].as_str().unwrap()
}

/// `string`, `integer or null`, `list of string`, one of its values, or the name of a shape.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return format!("[{0}](#{1})", last(reference), last(reference).to_lowercase());
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().filter_map(Value::as_str).map(|value| format!("`{value}`")).collect();
        return values.join(" or ");
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect(),
        _ => return "any".to_owned(),
    };
    match names.as_slice() {
        ["array"] if schema["items"].is_object() => format!("list of {}", kind(&schema["items"])),
        ["array"] => "list".to_owned(),
        names => names.join(" or "),
    }
}

fn last(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap()
}
