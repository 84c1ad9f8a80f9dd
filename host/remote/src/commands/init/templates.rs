//! The text of new components.

use super::Parts;

const SOURCE: &str = include_str!("source.template");
const ACTION: &str = include_str!("action.template");
const APP: &str = include_str!("app.template");

const BY_METHOD: &str = "    // A request has a method, a tick of the timer has not.\n";

/// What a component is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    JavaScript,
    TypeScript,
}

pub(super) fn source(name: &str, key: &str, parts: Parts, language: Language) -> String {
    let text = SOURCE.replace("__HEAD__", &language.head("source", "Source"));
    named(&text.replace("__PROPS__", &props(parts)).replace("__RUN__", &run(parts)), name, key)
}

pub(super) fn action(name: &str, key: &str, language: Language) -> String {
    named(&ACTION.replace("__HEAD__", &language.head("action", "Action")), name, key)
}

/// An app's slug has underscores where a file's name has hyphens.
pub(super) fn app(key: &str, language: Language) -> String {
    let (head, list_items) = match language {
        Language::JavaScript => (
            "/** @type {import(\"./wellspring\").App} */\n\
             const app = (definition) => /** @type {any} */ (definition);\n\n\
             module.exports = ",
            "    /** @param {number} page */\n    async listItems(page) {",
        ),
        Language::TypeScript => (
            "import type { App } from \"./wellspring\";\n\n\
             const app: App = (definition) => definition as any;\n\n\
             export default ",
            "    async listItems(page: number) {",
        ),
    };
    let text = APP.replace("__HEAD__", head).replace("__LIST_ITEMS__", list_items);
    text.replace("__APP__", &key.replace('-', "_"))
}

// === impl Language ===

impl Language {
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::JavaScript => "js",
            Self::TypeScript => "ts",
        }
    }

    /// Up to the component: a function that does nothing, so that `this` is inferred from the props.
    fn head(self, function: &str, kind: &str) -> String {
        match self {
            Self::JavaScript => format!(
                "/** @type {{import(\"./wellspring\").{kind}}} */\n\
                 const {function} = (component) => component;\n\n\
                 module.exports = "
            ),
            Self::TypeScript => format!(
                "import type {{ {kind} }} from \"./wellspring\";\n\n\
                 const {function}: {kind} = (component) => component;\n\n\
                 export default "
            ),
        }
    }
}

fn named(text: &str, name: &str, key: &str) -> String {
    // JSON's strings are JavaScript's. The name comes last: whatever it holds is not replaced again.
    text.replace("__KEY__", key).replace("__NAME__", &serde_json::Value::from(name).to_string())
}

fn props(parts: Parts) -> String {
    let timer = "    timer: { type: \"$.interface.timer\", default: { intervalSeconds: 15 * 60 } },\n";
    let lines = [
        (parts.http, "    http: \"$.interface.http\",\n"),
        (parts.timer, timer),
        (parts.db, "    db: \"$.service.db\",\n"),
    ];
    lines.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, line)| line).collect()
}

fn run(parts: Parts) -> String {
    let counted = "    const runs = (this.db.get(\"runs\") ?? 0) + 1;\n    this.db.set(\"runs\", runs);\n";
    match (parts.http, parts.timer, parts.db) {
        (true, true, true) => format!(
            "{counted}{BY_METHOD}    this.$emit(event.method ? event.body : event, {{ id: runs, summary: event.method }});\n"
        ),
        (true, true, false) => {
            format!("{BY_METHOD}    this.$emit(event.method ? event.body : event, {{ summary: event.method }});\n")
        }
        (_, false, true) => {
            format!(
                "{counted}    this.$emit(event.body, {{ id: runs, summary: `${{event.method}} ${{event.path}}` }});\n"
            )
        }
        (_, false, false) => "    this.$emit(event.body, { summary: `${event.method} ${event.path}` });\n".to_owned(),
        (false, true, true) => {
            "    const since = this.db.get(\"since\");\n    this.db.set(\"since\", event.timestamp);\n    \
                                this.$emit({ since, until: event.timestamp }, { id: event.timestamp });\n"
                .to_owned()
        }
        (false, true, false) => "    this.$emit({ at: event.timestamp }, { id: event.timestamp });\n".to_owned(),
    }
}
