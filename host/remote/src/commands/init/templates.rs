//! The text of new components.

use super::Parts;

const IDENTITY: &str = "(component) => component;\n\nmodule.exports =";

pub(super) fn source(name: &str, slug: &str, parts: Parts) -> String {
    let name = quote(name);
    let props = props(parts);
    let run = run_of_source(parts);
    format!(
        "/** @type {{import(\"./wellspring\").Source}} */\nconst source = {IDENTITY} source({{\n  name: {name},\n  key: \"{slug}\",\n  \
         version: \"0.0.1\",\n  props: {{\n{props}  }},\n  async run(event) {{\n{run}  }},\n}});\n"
    )
}

fn props(parts: Parts) -> String {
    let mut props = String::new();
    if parts.http {
        props.push_str("    http: \"$.interface.http\",\n");
    }
    if parts.timer {
        props.push_str("    timer: { type: \"$.interface.timer\", default: { intervalSeconds: 15 * 60 } },\n");
    }
    if parts.db {
        props.push_str("    db: \"$.service.db\",\n");
    }
    props
}

fn run_of_source(parts: Parts) -> &'static str {
    match parts {
        Parts { http: true, timer: true, db: true } => {
            "    const runs = (this.db.get(\"runs\") ?? 0) + 1;\n    this.db.set(\"runs\", runs);\n    \
             // A request has a method, a tick of the timer has not.\n    \
             this.$emit(event.method ? event.body : event, { id: runs, summary: event.method ?? \"timer\" });\n"
        }
        Parts { http: true, timer: true, db: false } => {
            "    // A request has a method, a tick of the timer has not.\n    \
             this.$emit(event.method ? event.body : event, { summary: event.method ?? \"timer\" });\n"
        }
        Parts { http: true, timer: false, db: true } => {
            "    const requests = (this.db.get(\"requests\") ?? 0) + 1;\n    this.db.set(\"requests\", requests);\n    \
             this.$emit(event.body, { id: requests, summary: `${event.method} ${event.path}` });\n"
        }
        Parts { http: false, timer: true, db: true } => {
            "    const since = this.db.get(\"since\");\n    this.db.set(\"since\", event.timestamp);\n    \
             this.$emit({ since, until: event.timestamp }, { id: event.timestamp });\n"
        }
        Parts { http: false, timer: true, db: false } => {
            "    this.$emit({ at: event.timestamp }, { id: event.timestamp });\n"
        }
        Parts { http: _, timer: false, db: _ } => {
            "    this.$emit(event.body, { summary: `${event.method} ${event.path}` });\n"
        }
    }
}

pub(super) fn action(name: &str, slug: &str) -> String {
    let name = quote(name);
    format!(
        "/** @type {{import(\"./wellspring\").Action}} */\nconst action = {IDENTITY} action({{\n  name: {name},\n  key: \"{slug}\",\n  \
         version: \"0.0.1\",\n  type: \"action\",\n  props: {{\n    text: {{ type: \"string\", label: \"Text\" }},\n  }},\n  \
         async run({{ $ }}) {{\n    $.export(\"length\", this.text.length);\n    return this.text.toUpperCase();\n  }},\n}});\n"
    )
}

pub(super) fn app(slug: &str) -> String {
    let app = slug.replace('-', "_");
    format!(
        "/** @type {{import(\"./wellspring\").App}} */\nconst app = (definition) => /** @type {{any}} */ (definition);\n\n\
         module.exports = app({{\n  type: \"app\",\n  app: \"{app}\",\n  propDefinitions: {{\n    item: {{\n      \
         type: \"string\",\n      label: \"Item\",\n      async options({{ page }}) {{\n        \
         return this.listItems(page);\n      }},\n    }},\n  }},\n  methods: {{\n    headers() {{\n      \
         return {{ authorization: `Bearer ${{this.$auth.api_key}}` }};\n    }},\n    /** @param {{number}} page */\n    \
         async listItems(page) {{\n      const url = `https://example.com/items?page=${{page}}`;\n      \
         const response = await fetch(url, {{ headers: this.headers() }});\n      return response.json();\n    }},\n  }},\n}});\n"
    )
}

/// As a JavaScript string.
fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
