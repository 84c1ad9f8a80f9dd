//! Rewrites an ES module to CommonJS by edits on its text, so that every line stays where it is.
//!
//! - Exports become getters on a namespace, defined before anything else runs: live bindings, also in
//!   circles. Imports become `require` at the top, in order; each use of an imported name becomes a
//!   property access, so it is always current.
//! - The body is wrapped in a block. Its own declarations may then be called `require` or `module`
//!   without touching those that the prefix needs.
//! - A module that awaits outside of functions, or imports one that does, has its body in an async function; its
//!   importers wait for it. CommonJS that requires it gets exports without values until it has ended.
//! - Where Node decides (what `require` of an ES module returns, what `import` of CommonJS sees), the
//!   helper `esm.js` does as Node does.
//!
//! Known difference: in a circle, a function that is called before its own module has run finds the
//! modules imported after that point missing. Every translation to CommonJS has it.

mod names;
mod rewrite;

use oxc_ast::ast::{
    ExportDefaultDeclarationKind, Expression, ImportDeclarationSpecifier, ModuleExportName, Program, Statement,
};
use oxc_ast_visit::Visit;
use oxc_semantic::Scoping;
use oxc_span::GetSpan;

use self::{
    names::{Names, access, quote},
    rewrite::{Binding, Bindings, Rewrite},
};
use super::{HELPER_SPECIFIER, edits::Edits, exports::declared_names};

/// What the CommonJS wrapper offers and an ES module must not see.
const WRAPPER_NAMES: [&str; 5] = ["require", "module", "exports", "__filename", "__dirname"];

pub(super) fn lower(program: &Program<'_>, scoping: &Scoping, source: &str, is_async: bool) -> String {
    let mut lowering = Lowering {
        source,
        scoping,
        is_async,
        names: Names::unused_in(source),
        edits: Edits::default(),
        requests: Vec::new(),
        bindings: Bindings::new(),
        getters: Vec::new(),
        has_anonymous_default_function: false,
    };
    // Imports first: exports refer to them wherever they are written.
    program.body.iter().for_each(|statement| lowering.take_import(statement));
    program.body.iter().for_each(|statement| lowering.take_export(statement));
    let mut rewrite = Rewrite::new(source, scoping, &lowering.names, &lowering.bindings, &mut lowering.edits);
    rewrite.visit_program(program);
    let uses_meta = rewrite.uses_meta;
    neutralize_hashbang(program, source, &mut lowering.edits);
    let prefix = lowering.prefix(uses_meta);
    let suffix = lowering.suffix();
    format!("{prefix}{}\n{suffix}", lowering.edits.apply(source))
}

/// CommonJS needs only its `import()` rewritten, for there may be no loader of ES modules.
pub(super) fn adjust_common_js(program: &Program<'_>, scoping: &Scoping, source: &str) -> Option<String> {
    let mut edits = Edits::default();
    let (names, bindings) = (Names::for_common_js(), Bindings::new());
    let mut rewrite = Rewrite::new(source, scoping, &names, &bindings, &mut edits);
    rewrite.is_common_js = true;
    rewrite.visit_program(program);
    let has_changes = rewrite.has_dynamic_imports | neutralize_hashbang(program, source, &mut edits);
    has_changes.then(|| edits.apply(source))
}

/// `#!` is no comment inside of a function.
fn neutralize_hashbang(program: &Program<'_>, source: &str, edits: &mut Edits) -> bool {
    if let Some(hashbang) = &program.hashbang {
        edits.replace(source, (hashbang.span.start, hashbang.span.start + 2), "//");
    }
    program.hashbang.is_some()
}

struct Lowering<'s> {
    source: &'s str,
    scoping: &'s Scoping,
    is_async: bool,
    names: Names,
    edits: Edits,
    /// In the order in which they are first asked for.
    requests: Vec<Request>,
    bindings: Bindings,
    /// Exported name and the expression that reads it.
    getters: Vec<(String, String)>,
    has_anonymous_default_function: bool,
}

struct Request {
    specifier: String,
    names: Vec<String>,
    needs_namespace: bool,
    is_star: bool,
}

// === impl Lowering ===

impl Lowering<'_> {
    fn request(&mut self, specifier: &str) -> usize {
        let known = self.requests.iter().position(|request| request.specifier == specifier);
        known.unwrap_or_else(|| {
            let specifier = specifier.to_owned();
            self.requests.push(Request { specifier, names: Vec::new(), needs_namespace: false, is_star: false });
            self.requests.len() - 1
        })
    }

    fn ask(&mut self, request: usize, name: Option<&str>) {
        if let Some(request) = self.requests.get_mut(request) {
            match name {
                Some(name) if !request.names.iter().any(|known| known == name) => request.names.push(name.to_owned()),
                Some(_) => {}
                None => request.needs_namespace = true,
            }
        }
    }

    fn take_import(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::ImportDeclaration(import) => {
                let request = self.request(import.source.value.as_str());
                for specifier in import.specifiers.iter().flatten() {
                    self.bind(request, specifier);
                }
                self.blank(import.span.start, import.span.end);
            }
            Statement::ExportFromDeclaration(export) => {
                let request = self.request(export.source.value.as_str());
                for item in &export.specifiers {
                    let local = item.local.name();
                    self.ask(request, Some(local.as_str()));
                    let value = access(&self.names.request(request), local.as_str());
                    self.getters.push((item.exported.name().to_string(), value));
                }
                self.blank(export.span.start, export.span.end);
            }
            Statement::ExportAllDeclaration(export) => {
                let request = self.request(export.source.value.as_str());
                match &export.exported {
                    Some(name) => {
                        self.ask(request, None);
                        self.getters.push((name.name().to_string(), self.names.request(request)));
                    }
                    None => self.requests.get_mut(request).into_iter().for_each(|request| request.is_star = true),
                }
                self.blank(export.span.start, export.span.end);
            }
            _ => {}
        }
    }

    fn bind(&mut self, request: usize, specifier: &ImportDeclarationSpecifier<'_>) {
        let (local, name) = match specifier {
            ImportDeclarationSpecifier::ImportSpecifier(item) => (&item.local, Some(item.imported.name().to_string())),
            ImportDeclarationSpecifier::ImportDefaultSpecifier(item) => (&item.local, Some("default".to_owned())),
            ImportDeclarationSpecifier::ImportNamespaceSpecifier(item) => (&item.local, None),
        };
        self.ask(request, name.as_deref());
        if let Some(symbol) = local.symbol_id.get() {
            let variable = self.names.request(request);
            let value = name.as_deref().map_or_else(|| variable.clone(), |name| access(&variable, name));
            self.bindings.insert(symbol, Binding { value, is_property: name.is_some() });
        }
    }

    fn take_export(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::ExportNamedDeclaration(export) => {
                for item in &export.specifiers {
                    let value = self.local_value(&item.local);
                    self.getters.push((item.exported.name().to_string(), value));
                }
                self.blank(export.span.start, export.span.end);
            }
            Statement::ExportDeclaration(export) => {
                let names = declared_names(&export.declaration);
                self.getters.extend(names.into_iter().map(|name| (name.clone(), name)));
                self.edits.replace(self.source, (export.span.start, export.declaration.span().start), "");
            }
            Statement::ExportDefaultDeclaration(export) => self.take_default(export.span.start, &export.declaration),
            _ => {}
        }
    }

    /// `export {a}` of something imported passes it on.
    fn local_value(&self, local: &ModuleExportName<'_>) -> String {
        let reference = match local {
            ModuleExportName::IdentifierReference(identifier) => identifier.reference_id.get(),
            _ => None,
        };
        let symbol = reference.and_then(|reference| self.scoping.get_reference(reference).symbol_id());
        let binding = symbol.and_then(|symbol| self.bindings.get(&symbol));
        binding.map_or_else(|| local.name().to_string(), |binding| binding.value.clone())
    }

    fn take_default(&mut self, start: u32, declaration: &ExportDefaultDeclarationKind<'_>) {
        let span = declaration.span();
        let named = match declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => function.id.as_ref(),
            ExportDefaultDeclarationKind::ClassDeclaration(class) => class.id.as_ref(),
            _ => None,
        };
        if let Some(id) = named {
            self.getters.push(("default".to_owned(), id.name.to_string()));
            self.edits.replace(self.source, (start, span.start), "");
            return;
        }
        let variable = self.names.default();
        self.getters.push(("default".to_owned(), variable.clone()));
        if let ExportDefaultDeclarationKind::FunctionDeclaration(function) = declaration {
            // A declaration, because it is hoisted.
            self.has_anonymous_default_function = true;
            self.edits.replace(self.source, (start, span.start), "");
            self.edits.insert(function.params.span.start, format!(" {variable}"));
            return;
        }
        // Anonymous functions and classes get the name "default" from the property.
        self.edits.replace(self.source, (start, span.start), format!("const {variable}={{default:"));
        self.edits.insert(
            declaration.as_expression().map_or(span.end, |value: &Expression<'_>| value.span().end),
            "}.default;",
        );
    }

    /// An empty statement in its place keeps its neighbours apart.
    fn blank(&mut self, start: u32, end: u32) {
        self.edits.replace(self.source, (start, end), ";");
    }

    fn prefix(&self, uses_meta: bool) -> String {
        let names = &self.names;
        let (module, require, helper, record) = (names.module(), names.require(), names.helper(), names.record());
        let mut prefix = format!(
            "\"use strict\";const {module}=module,{require}=require,{helper}={require}({})",
            quote(HELPER_SPECIFIER)
        );
        if uses_meta {
            prefix += &format!(",{}={helper}.meta(__filename,{require})", names.meta());
        }
        prefix.push(';');
        if self.mentions_wrapper() {
            prefix += &format!("{}=void 0;", WRAPPER_NAMES.join("="));
        }
        let getters = self.getters.iter().map(|(name, value)| match name.as_str() {
            "__proto__" => format!("[{}]:()=>{value}", quote(name)),
            _ => format!("{}:()=>{value}", quote(name)),
        });
        let getters: Vec<String> = getters.collect();
        if self.is_async {
            prefix += &format!("{helper}.evaluate({module},async()=>");
        }
        prefix += &format!(
            "{{const {record}={helper}.define({module},{{{}}},{});",
            getters.join(","),
            self.requests.iter().any(|request| request.is_star)
        );
        if self.has_anonymous_default_function {
            prefix += &format!("{helper}.nameDefault({});", names.default());
        }
        prefix += &self.wait();
        for (index, request) in self.requests.iter().enumerate() {
            prefix += &self.load(index, request);
        }
        prefix
    }

    /// Evaluates everything that is imported, one after the other, and waits for those that await.
    fn wait(&self) -> String {
        if !self.is_async || self.requests.is_empty() {
            return String::new();
        }
        let require = self.names.require();
        let indexed = || self.requests.iter().enumerate();
        let values = indexed()
            .map(|(index, request)| format!("{}={require}({})", self.names.required(index), quote(&request.specifier)));
        let names = indexed().map(|(index, _)| self.names.required(index));
        let (values, names): (Vec<String>, Vec<String>) = (values.collect(), names.collect());
        format!("const {};await {}.evaluated([{}]);", values.join(","), self.names.helper(), names.join(","))
    }

    fn load(&self, index: usize, request: &Request) -> String {
        let (require, helper) = (self.names.require(), self.names.helper());
        let value = match self.is_async {
            true => self.names.required(index),
            false => format!("{require}({})", quote(&request.specifier)),
        };
        let variable = self.names.request(index);
        let names: Vec<String> = request.names.iter().map(|name| quote(name)).collect();
        let star =
            if request.is_star { format!("{helper}.star({},{value});", self.names.record()) } else { String::new() };
        let load = match (request.needs_namespace, names.is_empty(), request.is_star) {
            (true, _, _) => format!("const {variable}={helper}.namespaceOf({value});"),
            (false, false, _) => format!("const {variable}={helper}.namespaceOf({value},[{}]);", names.join(",")),
            (false, true, false) => format!("{value};"),
            (false, true, true) => String::new(),
        };
        load + &star
    }

    fn suffix(&self) -> String {
        let publishes = self.getters.iter().any(|(name, _)| name == "module.exports");
        let names = &self.names;
        let publish = format!(";{}.publish({},{});", names.helper(), names.module(), names.record());
        let end = if self.is_async { "});" } else { "}" };
        format!("{}{end}", if publishes { publish.as_str() } else { "" })
    }

    /// Whether the module uses or declares one of the wrapper's names, which are to be unknown to it.
    fn mentions_wrapper(&self) -> bool {
        let unresolved = self.scoping.root_unresolved_references();
        let root = self.scoping.root_scope_id();
        let declared = self.scoping.get_bindings(root);
        WRAPPER_NAMES.iter().any(|name| {
            unresolved.keys().any(|key| key.as_str() == *name) || declared.keys().any(|key| key.as_str() == *name)
        })
    }
}

#[cfg(test)]
mod tests;
