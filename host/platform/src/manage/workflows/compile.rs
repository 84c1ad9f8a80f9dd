//! From a checked document to code: each step that has some becomes a program, loaded once to see that it does.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use domain::component::{Description, Kind};
use domain::ids::ComponentId;
use domain::problem::Problem;
use domain::props;
use domain::workflow::template::{self, Template};
use domain::workflow::{Body, CodeStep, ComponentRef, Document, Step as StepOf};
use serde_json::{Map, Value, json};
use store::{Op, Precondition};

use super::generate;
use crate::manage::code::{self, Adoption, Resolved};
use crate::manage::users::check_quota;
use crate::manage::{components, configure, registry};
use crate::ports::{ComponentSource, LinkError, Program};
use crate::records::{Origin, RecordError, Step};
use crate::{Caller, Error, ParameterError, Platform, programs, with_data_stores};

/// Everything a version is made of besides its document.
#[derive(Default)]
pub(super) struct Compiled {
    pub(super) steps: Vec<Step>,
    pub(super) operations: Vec<Op>,
    pub(super) preconditions: Vec<Precondition>,
    /// By step and prop.
    pub(super) secrets: Map<String, Value>,
}

struct Compiler<'a> {
    caller: &'a Caller,
    platform: &'a Platform,
    /// Secret values of the version before: what the API showed of them may be sent back.
    kept: &'a Map<String, Value>,
    compiled: Compiled,
}

#[boxed]
pub(super) async fn compile(
    caller: &Caller,
    platform: &Platform,
    document: &Document,
    kept: &Map<String, Value>,
) -> Result<Compiled, Error> {
    let _place = platform.pools().deploys().enter(caller.tenant.as_str()).await?;
    check_quota(caller, platform).await?;
    let mut compiler = Compiler { caller, platform, kept, compiled: Compiled::default() };
    compiler.sequence("steps", &document.steps, &mut Vec::new()).await?;
    Ok(compiler.compiled)
}

// === impl Compiler ===

impl Compiler<'_> {
    async fn sequence<'d>(
        &mut self,
        path: &str,
        steps: &'d [StepOf],
        variables: &mut Vec<&'d str>,
    ) -> Result<(), Error> {
        for step in steps {
            let path = format!("{path}.{}", step.namespace);
            self.step(&path, step, variables).await?;
            if let Body::ForEach { name, .. } = &step.body {
                variables.push(name);
            }
            for inner in step.inner() {
                Box::pin(self.sequence(&path, inner, variables)).await?;
            }
            if matches!(step.body, Body::ForEach { .. }) {
                variables.pop();
            }
        }
        Ok(())
    }

    async fn step(&mut self, path: &str, step: &StepOf, variables: &[&str]) -> Result<(), Error> {
        match &step.body {
            Body::Action(action) => {
                let component = self.find(&action.component).await.map_err(|error| placed(error, path))?;
                self.action(path, step, component, &action.props, variables).await
            }
            Body::Code(code) => self.code(path, step, code, variables).await,
            _ => self.decision(path, step, variables).await,
        }
    }

    async fn find(&self, component: &ComponentRef) -> Result<Resolved, Error> {
        let (ComponentRef::Id(name) | ComponentRef::Key(name)) = component;
        let (component, origin) = match components::find(self.caller, self.platform, name).await {
            // Not the caller's own: perhaps everyone's.
            Err(Error::NotFound { .. }) if matches!(component, ComponentRef::Key(_)) => {
                (registry::find(self.platform, name).await?, Origin::Registry)
            }
            found => found?,
        };
        Ok(Resolved { component, origin, unsaved: None })
    }

    async fn action(
        &mut self,
        path: &str,
        step: &StepOf,
        resolved: Resolved,
        given: &Map<String, Value>,
        variables: &[&str],
    ) -> Result<(), Error> {
        let still_there = code::still_there(self.caller, self.platform, &resolved, Adoption::Stays).await?;
        self.compiled.preconditions.extend(still_there);
        let Resolved { component, origin, .. } = resolved;
        code::require_kind(&component, Kind::Action)?;
        let values = self.values(path, &step.namespace, &component.description, given).await?;
        let templates = self.templates(path, &values).await?;
        let own = self.platform.program(&self.caller.tenant, origin, &component.program).stored.read().await?;
        let wrapped = generate::wrap(&own, &step.namespace, &templates, variables);
        let (program, _) = self.load(wrapped).await?;
        let program = self.save(&program).await?;
        self.add(step, component.id, program, component.description, values);
        Ok(())
    }

    async fn code(&mut self, path: &str, step: &StepOf, code: &CodeStep, variables: &[&str]) -> Result<(), Error> {
        let CodeStep { code, filename, files, props } = code;
        let size_bytes = code.len() + files.iter().map(|(path, text)| path.len() + text.len()).sum::<usize>();
        let limit_bytes = self.platform.config.code_bytes;
        if size_bytes > limit_bytes {
            return Err(Error::parameter("steps", ParameterError::TooLong { limit_bytes, size_bytes }));
        }
        self.check_relays(path, code)?;
        let filename = filename.clone().unwrap_or_else(|| format!("{}.js", step.namespace));
        let source = ComponentSource { filename, source: code.clone(), files: files.clone() };
        let linked = self.platform.linker.link(self.caller.tenant.as_str(), source).await.map_err(Error::Link)?;
        let templates = self.templates(path, props).await?;
        let wrapped = generate::wrap(&linked.program, &step.namespace, &templates, variables);
        let (mut program, exports) = self.load(wrapped).await?;
        let mut description = described(path, &exports)?;
        description.props.retain(|prop| prop.name != generate::OWN_DB);
        if description.kind != Kind::Action || !description.has_run {
            let message = "a code step exports a component with `run`: export default defineComponent({ async run({ steps, $ }) {} })";
            return Err(Error::Workflow(vec![Problem::new(format!("{path}.code"), message)]));
        }
        let values = self.values(path, &step.namespace, &description, props).await?;
        if let Some(own) = with_data_stores(&linked.program, &description, &self.platform.config.limits) {
            (program, _) = self.load(generate::wrap(&own, &step.namespace, &templates, variables)).await?;
        }
        let program = self.save(&program).await?;
        let id = ComponentId::from_random(self.platform.entropy.bytes());
        self.add(step, id, program, description, values);
        Ok(())
    }

    /// A step that says that it sends what this server cannot send fails now, and not when it runs.
    fn check_relays(&self, path: &str, code: &str) -> Result<(), Error> {
        let relays = &self.platform.relays;
        let (no_email, no_objects) = (relays.email().is_none(), !relays.has_object_store());
        let missing = [
            ("$.send.email", no_email, "this server has no mail relay: its operator sets one with --smtp-url"),
            ("$.send.s3", no_objects, "this server has no object store: its operator sets one with --s3-endpoint"),
        ];
        // With `auth` it is a store of the tenant's own.
        let is_own = |call: &str| call == "$.send.s3" && code.contains("auth");
        let problem = missing.iter().find(|(call, is_missing, _)| *is_missing && code.contains(call) && !is_own(call));
        match problem {
            None => Ok(()),
            Some((call, _, reason)) => Err(Error::Workflow(vec![Problem::new(
                format!("{path}.code"),
                format!("calls `{call}`, and {reason}"),
            )])),
        }
    }

    async fn decision(&mut self, path: &str, step: &StepOf, variables: &[&str]) -> Result<(), Error> {
        for (place, value) in generate::conditions(step) {
            if let Some(template) = value.as_str().and_then(Template::parse) {
                self.check(&format!("{path}.{place}"), &template).await?;
            }
        }
        let Some(program) = generate::decide(step, variables) else { return Ok(()) };
        let (program, exports) = self.load(program).await?;
        let mut description = described(path, &exports)?;
        description.props.retain(|prop| prop.name != generate::OWN_DB);
        let program = self.save(&program).await?;
        let id = ComponentId::from_random(self.platform.entropy.bytes());
        self.add(step, id, program, description, Map::new());
        Ok(())
    }

    /// The values of props that are there before the step runs; those with expressions as they were written.
    async fn values(
        &self,
        path: &str,
        namespace: &str,
        description: &Description,
        given: &Map<String, Value>,
    ) -> Result<Map<String, Value>, Error> {
        let mut given = given.clone();
        if let Some(Value::Object(kept)) = self.kept.get(namespace) {
            props::restore_redacted(&description.props, &mut given, kept);
        }
        let is_known = |name: &str| description.props.iter().any(|prop| prop.name == name);
        let has_template = |value: &Value| !template::find(value).is_empty();
        let (later, now): (Map<_, _>, Map<_, _>) =
            given.into_iter().partition(|(name, value)| is_known(name) && has_template(value));
        let mut description = description.clone();
        for prop in description.props.iter_mut().filter(|prop| later.contains_key(&prop.name)) {
            (prop.is_optional, prop.default) = (true, None);
        }
        let values = configure::whole(self.caller, self.platform, &description, &now).await;
        let mut values = values.map_err(|error| placed(error, path))?;
        values.extend(later);
        Ok(values)
    }

    async fn templates(
        &self,
        path: &str,
        values: &Map<String, Value>,
    ) -> Result<Vec<(Vec<template::Key>, Template)>, Error> {
        let templates = template::find(&Value::Object(values.clone()));
        for (place, template) in &templates {
            self.check(&format!("{path}.props.{}", template::shown(place)), template).await?;
        }
        Ok(templates)
    }

    /// Parses each expression by itself: within parentheses, where it must be one, and within brackets, where one that ends
    /// the parentheses is none.
    async fn check(&self, place: &str, template: &Template) -> Result<(), Error> {
        for (code, line, column) in template.expressions() {
            for (open, close) in [("(", ")"), ("[", "]")] {
                let source = format!("module.exports = {open}\n{code}\n{close};\n");
                let source =
                    ComponentSource { filename: "expression.js".to_owned(), source, files: Default::default() };
                let linked = self.platform.linker.link(self.caller.tenant.as_str(), source).await;
                let linked = linked.map_err(|error| Error::Link(at_expression(&error, place, code, (line, column))))?;
                if linked.program.modules.len() > 1 {
                    let message = "an expression cannot require packages: use a code step";
                    return Err(Error::Workflow(vec![Problem::new(place, message)]));
                }
            }
        }
        Ok(())
    }

    /// Loads a program once: what it costs is charged, and what is wrong with it is found now. Answers what it exports.
    async fn load(&self, program: Program) -> Result<(Arc<Program>, String), Error> {
        let program = Arc::new(program);
        let loaded = code::load_once(self.caller, self.platform, &program).await?;
        Ok((program, loaded.description))
    }

    /// Its digest.
    async fn save(&mut self, program: &Program) -> Result<String, Error> {
        let saving = programs::save(self.platform, &self.caller.tenant, program).await?;
        self.compiled.preconditions.extend(saving.preconditions);
        self.compiled.operations.extend(saving.operations);
        Ok(program.digest())
    }

    fn add(
        &mut self,
        step: &StepOf,
        component_id: ComponentId,
        program: String,
        description: Description,
        mut props: Map<String, Value>,
    ) {
        let mut secrets = Map::new();
        for name in props::secret_names(&description.props) {
            secrets.extend(props.shift_remove_entry(name));
        }
        if !secrets.is_empty() {
            self.compiled.secrets.insert(step.namespace.clone(), Value::Object(secrets));
        }
        let name = step.namespace.clone();
        self.compiled.steps.push(Step { name, component_id, program, description, props, asks: true });
    }
}

fn described(path: &str, exports: &str) -> Result<Description, Error> {
    let exports: Value = serde_json::from_str(exports)
        .map_err(|source| RecordError::Malformed { kind: "component description", source })?;
    Description::parse(&exports).map_err(|problems| placed(Error::Component(problems), path))
}

/// The document without the secret values of its steps.
pub(super) fn redacted(document: &Value, secrets: &Map<String, Value>) -> Value {
    match document {
        Value::Array(items) => Value::Array(items.iter().map(|item| redacted(item, secrets)).collect()),
        Value::Object(fields) => {
            let shown = fields.iter().map(|(name, value)| (name.clone(), redacted(value, secrets)));
            let mut shown: Map<String, Value> = shown.collect();
            let secret = fields.get("namespace").and_then(Value::as_str).and_then(|step| secrets.get(step));
            if let (Some(Value::Object(secret)), Some(Value::Object(props))) = (secret, shown.get_mut("props")) {
                for name in secret.keys() {
                    props.insert(name.clone(), json!(props::REDACTED));
                }
            }
            Value::Object(shown)
        }
        other => other.clone(),
    }
}

/// An error about a step, with the step.
fn placed(error: Error, path: &str) -> Error {
    let placed = |problem: Problem| {
        let inner = problem.path.strip_prefix("configured_props.").map(|prop| format!("props.{prop}"));
        let inner = inner.unwrap_or(problem.path);
        Problem::new(if inner.is_empty() { path.to_owned() } else { format!("{path}.{inner}") }, problem.message)
    };
    match error {
        Error::Props(problems) | Error::Component(problems) => {
            Error::Workflow(problems.into_iter().map(placed).collect())
        }
        error @ Error::NotFound { .. } => Error::Workflow(vec![Problem::new(path, error.to_string())]),
        error => error,
    }
}

/// Where the expression stands, instead of where it was parsed.
fn at_expression(error: &LinkError, place: &str, code: &str, (line, column): (u32, u32)) -> LinkError {
    let code = code.trim_end();
    let last = u32::try_from(code.matches('\n').count()).unwrap_or(u32::MAX);
    let within = error.line.unwrap_or(2).saturating_sub(2);
    if within > last {
        // What is missing at its end is missed after it, where the expression no longer is.
        let length = code.rsplit('\n').next().unwrap_or_default().chars().count();
        let column_after = u32::try_from(length).unwrap_or(u32::MAX).saturating_add(1);
        let at_end = LinkError { line: Some(last + 2), column: Some(column_after), ..error.clone() };
        return at_expression(&at_end, place, code, (line, column));
    }
    let at =
        (line + within, error.column.map(|found| if within == 0 { column + found.saturating_sub(1) } else { found }));
    let message = match error.message.rsplit_once("expression.js:") {
        Some((_, rest)) => rest.splitn(3, ':').last().unwrap_or(rest).trim().to_owned(),
        None => error.message.clone(),
    };
    let message = format!("{place}:{}:{}: {message}", at.0, at.1.unwrap_or(1));
    LinkError { message, file: Some(place.to_owned()), line: Some(at.0), column: at.1, ..error.clone() }
}
