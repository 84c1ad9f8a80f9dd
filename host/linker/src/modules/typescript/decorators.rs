//! Decorators as TypeScript had them before JavaScript: `experimentalDecorators`. Those of JavaScript have other arguments, and the
//! engine has none, so that only what asks for the former is compiled.

use std::borrow::Cow;

use oxc_allocator::Allocator;
use oxc_ast::ast::{Decorator, Program};
use oxc_ast_visit::Visit;
use oxc_parser::Parser;
use oxc_span::SourceType;
use oxc_transformer::{
    CompilerAssumptions, DecoratorOptions, HelperLoaderMode, HelperLoaderOptions, TransformOptions, TypeScriptOptions,
};
use serde_json::Value;

/// What the `compilerOptions` of `tsconfig.json` say about decorators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decorators {
    pub(super) are_legacy: bool,
    has_metadata: bool,
    /// Fields are defined, as in JavaScript, and not assigned: then what a decorator puts into the prototype is hidden by them.
    defines_fields: bool,
}

pub(super) const NOT_ASKED_FOR: &str = "decorators are compiled as `experimentalDecorators` means them: \
     say `{\"compilerOptions\": {\"experimentalDecorators\": true}}` in tsconfig.json, beside the component or above it";

/// TypeScript's own, on one line, so that lines stay the author's.
const HELPERS: &str = "const babelHelpers = { \
    decorate(decorators, target, key, descriptor) { \
    const count = arguments.length; \
    let result = count < 3 ? target : descriptor === null ? descriptor = Object.getOwnPropertyDescriptor(target, key) : descriptor; \
    if (typeof Reflect.decorate === 'function') result = Reflect.decorate(decorators, target, key, descriptor); \
    else for (let index = decorators.length - 1; index >= 0; index--) { const decorator = decorators[index]; \
    if (decorator) result = (count < 3 ? decorator(result) : count > 3 ? decorator(target, key, result) : decorator(target, key)) || result; } \
    if (count > 3 && result) Object.defineProperty(target, key, result); \
    return result; }, \
    decorateParam(index, decorator) { return (target, key) => decorator(target, key, index); }, \
    decorateMetadata(key, value) { if (typeof Reflect.metadata === 'function') return Reflect.metadata(key, value); } }; ";

// === impl Decorators ===

impl Decorators {
    pub(crate) const NONE: Self = Self { are_legacy: false, has_metadata: false, defines_fields: true };

    /// One that is not JSON says nothing: no more of it is read than this.
    pub(crate) fn of_tsconfig(text: &[u8]) -> Self {
        let config: Value = serde_json::from_slice(text).unwrap_or_default();
        let says = |name: &str| config.get("compilerOptions")?.get(name)?.as_bool();
        Self {
            are_legacy: says("experimentalDecorators").unwrap_or_default(),
            has_metadata: says("emitDecoratorMetadata").unwrap_or_default(),
            defines_fields: says("useDefineForClassFields").unwrap_or_default(),
        }
    }

    pub(super) fn options(self) -> TransformOptions {
        if !self.are_legacy {
            return TransformOptions::default();
        }
        let assigns = !self.defines_fields;
        TransformOptions {
            assumptions: CompilerAssumptions { set_public_class_fields: assigns, ..CompilerAssumptions::default() },
            typescript: TypeScriptOptions {
                remove_class_fields_without_initializer: assigns,
                ..TypeScriptOptions::default()
            },
            decorator: DecoratorOptions {
                legacy: true,
                emit_decorator_metadata: self.has_metadata,
                ..DecoratorOptions::default()
            },
            helper_loader: HelperLoaderOptions { module_name: Cow::Borrowed(""), mode: HelperLoaderMode::External },
            ..TransformOptions::default()
        }
    }
}

/// Where the first decorator is.
pub(super) fn first(program: &Program<'_>) -> Option<u32> {
    let mut first = First(None);
    first.visit_program(program);
    first.0
}

struct First(Option<u32>);

impl<'a> Visit<'a> for First {
    fn visit_decorator(&mut self, decorator: &Decorator<'a>) {
        self.0.get_or_insert(decorator.span.start);
    }
}

/// After `"use strict"`, which counts only where it comes first.
pub(super) fn with_helpers(mut code: String) -> String {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &code, SourceType::mjs()).parse();
    let at = parsed.program.directives.last().map_or(0, |directive| directive.span.end as usize);
    code.insert_str(at, HELPERS);
    code
}
