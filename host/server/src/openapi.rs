//! The OpenAPI document, made from the route table: what is described is what is served.

use domain::keys::Scope;
use serde_json::{Map, Value, json};

use crate::route::{Access, Documented, Parameter, ParameterKind, RequestBody, Route};
use crate::routes;

/// The shapes of what the API returns. Data, because that is what it is: the tests compare every answer with it.
const SCHEMAS: &str = include_str!("openapi/schemas.json");

/// The document as it is served. `include` and `exclude` take fields of `data` away, so none of them is required here;
/// that is what a client has to expect.
pub fn document() -> Value {
    let mut document = whole_document();
    let schemas = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
    for (name, schema) in schemas.into_iter().flatten() {
        let is_data = !matches!(name.as_str(), "Error" | "PageInfo");
        if let (true, Some(fields)) = (is_data, schema.as_object_mut()) {
            fields.shift_remove("required");
        }
    }
    document
}

/// The document with the fields that are there unless they are selected away.
pub(crate) fn whole_document() -> Value {
    let mut paths = Map::new();
    for route in routes::table().iter().filter(|route| !route.is_internal) {
        let path = route.path.strip_prefix("/v1").unwrap_or(route.path);
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        if let Some(methods) = entry.as_object_mut() {
            methods.insert(route.method.as_str().to_lowercase(), operation(route));
        }
    }
    let schemas: Value = serde_json::from_str(SCHEMAS).unwrap_or_default();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Wellspring",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Event sources: components that receive webhooks or poll APIs and emit events.",
            "description": "Parameters of a body may be given in the query string instead; the body wins. Paths of a GET or a POST work with and without a slash at the end. A PUT or a DELETE with one is refused: the name that belongs there is missing. A DELETE with a parameter that is unknown, empty or null is refused: it must not delete more than was meant.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/v1"}],
        "security": [{"api_key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"api_key": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas,
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "operationId": operation_id(route),
        "tags": [route.tag],
        "summary": route.summary,
        "parameters": parameters(route),
        "responses": responses(route),
    });
    if let (Some(body), Some(fields)) = (request_body(route), operation.as_object_mut()) {
        fields.insert("requestBody".to_owned(), body);
    }
    if let Some(fields) = operation.as_object_mut() {
        let security = match route.access {
            Access::Key(scope) => json!([{"api_key": [scope]}]),
            Access::Public => json!([]),
        };
        fields.insert("security".to_owned(), security);
        if !route.path.starts_with("/v1/") {
            fields.insert("servers".to_owned(), json!([{"url": "/"}]));
        }
    }
    operation
}

/// `get_sources_id_events`: stable, and readable in generated clients.
fn operation_id(route: &Route) -> String {
    let path = route.path.trim_start_matches("/v1").replace(['{', '}', '$', '.'], "");
    format!("{}{}", route.method.as_str().to_lowercase(), path.replace('/', "_"))
}

fn parameters(route: &Route) -> Vec<Value> {
    let in_path = route.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path.map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}}),
    );
    let in_query = route.query.iter().map(|parameter| {
        let is_filled = parameter.is_required || (route.is_strict() && !parameter.may_be_empty);
        json!({
            "name": parameter.name, "in": "query", "required": parameter.is_required,
            "description": parameter.says, "schema": or_empty(schema(parameter.kind), is_filled),
        })
    });
    let in_headers = route.headers.iter().map(|parameter| {
        json!({
            "name": parameter.name, "in": "header", "required": parameter.is_required,
            "description": parameter.says, "schema": or_empty(schema(parameter.kind), parameter.is_required),
        })
    });
    let fields = if matches!(route.body, RequestBody::Parameters { .. }) || !returns_data(route) {
        Vec::new()
    } else {
        FIELDS.iter().map(|(name, says)| {
            json!({"name": name, "in": "query", "required": false, "description": says, "schema": {"type": "string"}})
        }).collect()
    };
    in_path.chain(in_query).chain(in_headers).chain(fields).collect()
}

const FIELDS: [(&str, &str); 2] = [
    ("include", "Fields of `data` to return, separated by commas; `metadata.emit_id` is one within a field"),
    ("exclude", "Fields of `data` to leave out, written in the same way"),
];

fn request_body(route: &Route) -> Option<Value> {
    let (schema, is_required) = match &route.body {
        RequestBody::None => return None,
        RequestBody::Any => (json!({}), false),
        RequestBody::Parameters { parameters, one_of } => {
            let is_required = !one_of.is_empty() || parameters.iter().any(|parameter| parameter.is_required);
            (object_schema(parameters, one_of), is_required)
        }
    };
    let mut media = json!({"schema": schema});
    if let (Some(example), Some(fields)) = (&route.example, media.as_object_mut()) {
        fields.insert("example".to_owned(), example.clone());
    }
    let kind = if route.is_plugged { "*/*" } else { "application/json" };
    Some(json!({"required": is_required, "content": {kind: media}}))
}

fn object_schema(parameters: &[Parameter], one_of: &[&str]) -> Value {
    let mut properties = Map::new();
    for parameter in parameters {
        let mut described = or_empty(schema(parameter.kind), parameter.is_required);
        if let Some(fields) = described.as_object_mut() {
            fields.insert("description".to_owned(), json!(parameter.says));
            match parameter.is_required {
                true if fields.get("pattern").is_none() && fields.get("type") == Some(&json!("string")) => {
                    fields.insert("minLength".to_owned(), json!(1));
                }
                true => {}
                false => or_null(fields),
            }
        }
        properties.insert(parameter.name.to_owned(), described);
    }
    for (name, says) in FIELDS {
        properties.insert(name.to_owned(), json!({"type": ["string", "null"], "description": says}));
    }
    let required: Vec<&str> = parameters.iter().filter(|one| one.is_required).map(|one| one.name).collect();
    let mut object = json!({"type": "object", "properties": properties});
    if let (Some(fields), false) = (object.as_object_mut(), required.is_empty()) {
        fields.insert("required".to_owned(), json!(required));
    }
    if let (Some(fields), false) = (object.as_object_mut(), one_of.is_empty()) {
        let ways: Vec<Value> = one_of.iter().map(|name| json!({"required": [name]})).collect();
        fields.insert("anyOf".to_owned(), json!(ways));
    }
    object
}

/// An empty text is as good as absent, where it may be: forms send fields that were not filled in.
fn or_empty(mut schema: Value, is_filled: bool) -> Value {
    if let (false, Some(Value::String(pattern))) = (is_filled, schema.get_mut("pattern")) {
        *pattern = format!("^$|{pattern}");
    }
    if let (false, Some(Value::Array(values))) = (is_filled, schema.get_mut("enum")) {
        values.push(json!(""));
    }
    schema
}

/// Nothing is as good as absent.
fn or_null(fields: &mut Map<String, Value>) {
    if let Some(kind) = fields.get("type").cloned() {
        fields.insert("type".to_owned(), json!([kind, "null"]));
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.push(Value::Null);
    }
}

fn schema(kind: ParameterKind) -> Value {
    match kind {
        ParameterKind::Text => json!({"type": "string"}),
        ParameterKind::Pattern(pattern) => json!({"type": "string", "pattern": pattern}),
        ParameterKind::Integer => json!({"type": "integer", "minimum": 0}),
        ParameterKind::Limit => json!({"type": "integer", "minimum": 1, "default": 10}),
        ParameterKind::Boolean => json!({"type": "boolean"}),
        ParameterKind::Any => json!({}),
        ParameterKind::Object => json!({"type": "object"}),
        ParameterKind::Texts => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        ParameterKind::Scopes => {
            let names = Scope::ALL.map(Scope::as_str);
            json!({"type": "array", "items": {"type": "string", "enum": names}, "minItems": 1})
        }
        ParameterKind::List => json!({"type": "array", "items": {"type": "string"}}),
        ParameterKind::OneOf(values) => json!({"type": "string", "enum": values}),
    }
}

fn returns_data(route: &Route) -> bool {
    matches!(route.answer, Documented::One(_) | Documented::Started(_) | Documented::List(_) | Documented::Page(_))
}

fn responses(route: &Route) -> Value {
    let mut responses = Map::new();
    let (status, success) = success(route.answer);
    if matches!(route.answer, Documented::Started(_)) {
        responses.insert("202".to_owned(), success.clone());
    }
    responses.insert(status.to_owned(), success);
    let mut refusals = if route.is_plugged { Vec::new() } else { common_refusals(route.access) };
    refusals.extend_from_slice(&route.refusals);
    refusals.sort_unstable();
    refusals.dedup();
    for status in refusals {
        let content = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}});
        responses.insert(status.to_string(), json!({"description": reason(status), "content": content}));
    }
    Value::Object(responses)
}

fn common_refusals(access: Access) -> Vec<u16> {
    // Any request may carry a body that is not JSON.
    let mut refusals: Vec<u16> = vec![400, 401, 408, 413, 415, 503];
    if matches!(access, Access::Key(scope) if scope != Scope::Read) {
        refusals.push(403);
    }
    refusals
}

fn success(answer: Documented) -> (&'static str, Value) {
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let envelope =
        |schema: Value| json!({"description": "Success", "content": {"application/json": {"schema": schema}}});
    let of = |data: Value| json!({"type": "object", "required": ["data"], "properties": {"data": data}});
    match answer {
        Documented::One(name) | Documented::Started(name) => ("200", envelope(of(reference(name)))),
        Documented::List(name) => {
            let properties = json!({
                "data": {"type": "array", "items": reference(name)},
                "unreadable": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Ids of items that belong here and are left out, because a newer version wrote them",
                },
            });
            ("200", envelope(json!({"type": "object", "required": ["data"], "properties": properties})))
        }
        Documented::Page(name) => {
            let properties = json!({
                "page_info": reference("PageInfo"),
                "data": {"type": "array", "items": reference(name)},
            });
            ("200", envelope(json!({"type": "object", "required": ["page_info", "data"], "properties": properties})))
        }
        Documented::Accepted => ("202", json!({"description": "Accepted; it is done soon after"})),
        Documented::Events(name) => {
            let description = "A stream of events; the `data` of each is one of these as JSON";
            let content = json!({"text/event-stream": {"schema": {"type": "string"}, "x-data": reference(name)}});
            ("200", json!({"description": description, "content": content}))
        }
        Documented::Anything => {
            let content = json!({"*/*": {"schema": {}}});
            (
                "200",
                json!({"description": "What the component replied, with the status and the type it chose", "content": content}),
            )
        }
        Documented::NoContent => ("204", json!({"description": "Done; there is nothing to return"})),
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        400 => "A parameter or the JSON is wrong",
        401 => "The API key is missing or wrong",
        403 => "The key lacks the scope, it is not yours to do, or a limit of the account is reached",
        404 => "There is no such id, or it belongs to another account",
        408 => "The body did not arrive in time",
        409 => "It is in use or being changed, or the name is taken",
        413 => "The body is too large",
        415 => "The body is not application/json",
        422 => "The code does not load, the props do not fit, or a hook threw",
        429 => "A quota is used up; see Retry-After",
        500 => "The component's run ended without a response",
        504 => "The component did not respond in time",
        _ => "The server cannot do this right now; see Retry-After",
    }
}

#[cfg(test)]
mod tests;
