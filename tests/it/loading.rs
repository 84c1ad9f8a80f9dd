//! Components that do not load: each is a clear error with a position, and nothing is kept of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use sandbox::{
    Building, Config, Fault, Image, LimitKind, Limits, LoadError, Program, ReadProgram, Sandbox, ServiceError, Sources,
    Task, Usage, measure,
};

use crate::stage::{Stage, config, open, run_image, sandbox, source};

async fn load_error(source: &str) -> LoadError {
    let limits = Limits { fuel: 500_000_000, wall_clock: Duration::from_secs(5), ..Limits::default() };
    let program = Arc::new(Program::single("component.js", source));
    let first = sandbox().await.build(program.clone(), limits).await.err();
    assert!(first.is_some(), "it loads");

    // Nothing was kept: asked for again, it fails again.
    sandbox().await.image(&program, limits).await.err().expect("nothing is cached of a component that does not load")
}

#[tokio::test(start_paused = true)]
async fn a_script_that_does_not_parse_tells_where() {
    let LoadError::Threw(thrown) = load_error("module.exports = {\n  name: 'x',\n  run() { ( }\n};").await else {
        panic!("not thrown")
    };

    assert_eq!(
        (thrown.name.as_str(), thrown.file.as_deref(), thrown.line),
        ("SyntaxError", Some("component.js"), Some(3))
    );
}

#[tokio::test(start_paused = true)]
async fn a_script_that_throws_tells_where() {
    let LoadError::Threw(thrown) = load_error("\nfunction boom() {\n  throw new TypeError('no');\n}\nboom();").await
    else {
        panic!("not thrown")
    };

    assert_eq!((thrown.name.as_str(), thrown.message.as_str()), ("TypeError", "no"));
    assert_eq!((thrown.line, thrown.stack.lines().count()), (Some(3), 3), "{}", thrown.stack);
}

#[tokio::test(start_paused = true)]
async fn a_script_that_never_finishes_is_stopped() {
    let error = load_error("for (;;);").await;

    assert!(matches!(error, LoadError::Fault(Fault::OutOfFuel { .. })), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_script_that_spins_in_promises_is_stopped() {
    let error = load_error("(function again() { Promise.resolve().then(again); })(); module.exports = {};").await;

    assert!(matches!(error, LoadError::Fault(Fault::OutOfFuel { .. })), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_script_that_exports_no_object_is_told_what_to_export() {
    for (source, what) in [
        ("module.exports = 5", "a number"),
        ("module.exports = null", "null"),
        ("module.exports = []", "an array"),
        ("module.exports = () => {}", "a function"),
    ] {
        let LoadError::Threw(thrown) = load_error(source).await else { panic!("{source}: not thrown") };

        assert!(
            thrown.message.contains(what) && thrown.message.contains("module.exports ="),
            "{source}: {}",
            thrown.message
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_module_names_itself_and_who_wants_it() {
    let LoadError::Threw(thrown) = load_error("require('./missing.js')").await else { panic!("not thrown") };

    assert!(thrown.message.contains("./missing.js") && thrown.message.contains("component.js"), "{}", thrown.message);
    assert_eq!(thrown.code, Some("MODULE_NOT_FOUND".into()));
}

/// A component that uses a package of one file.
fn with_package(package: &str, component: &str) -> Arc<Program> {
    let mut program = Program::single("/component/entry.js", component);
    let path = "/node_modules/package/index.js".to_owned();
    program.modules.extend(Program::single(&path, package).modules);
    let entry = program.modules.get_mut("/component/entry.js").unwrap();
    entry.imports.insert("package".to_owned(), path);
    Arc::new(program)
}

#[tokio::test(start_paused = true)]
async fn own_functions_keep_their_text_and_those_of_packages_do_not() {
    let component = "const { given } = require('package');
module.exports = {name: 'x', version: '1', run() { const own = () => 'mine'; this.$emit([String(own), String(given)]) }};";
    let program = with_package("exports.given = function given() { return 'theirs'; };", component);

    let image = sandbox().await.build(program, Limits::default()).await.unwrap().image;
    let outcome = run_image(&image, Limits::default(), Arc::new(Stage::default())).await;

    let texts: Vec<String> = serde_json::from_str(outcome.emits[0].event.get()).unwrap();
    assert_eq!(texts[0], "() => 'mine'");
    assert!(texts[1].contains("[native code]") && !texts[1].contains("theirs"), "{}", texts[1]);
}

#[tokio::test(start_paused = true)]
async fn an_image_does_not_grow_with_what_is_only_compiled() {
    let component = "require('package'); module.exports = {name: 'x', version: '1', run() {}};";
    let comment = format!("/* {} */", "text that says nothing ".repeat(100_000));
    let size = |program| async {
        let image = sandbox().await.build(program, Limits::default()).await.unwrap().image;
        measure::sizes(sandbox().await, &image).image
    };

    let (small, large) = (size(with_package("", component)).await, size(with_package(&comment, component)).await);

    assert!(large <= small + (256 << 10), "{large} bytes with two megabytes of comments, {small} without");
}

#[tokio::test(start_paused = true)]
async fn a_package_that_does_not_parse_or_throws_tells_where() {
    for (package, name, line) in
        [("\n\nconst = 5;", "SyntaxError", 3), ("\nthrow new TypeError('no');", "TypeError", 2)]
    {
        let program = with_package(package, "require('package')");

        let error = sandbox().await.build(program, Limits::default()).await.err().unwrap();

        let LoadError::Threw(thrown) = error else { panic!("{error}") };
        assert_eq!((thrown.name.as_str(), thrown.line), (name, Some(line)));
        assert_eq!(thrown.file.as_deref(), Some("/node_modules/package/index.js"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_module_required_in_a_run_is_compiled_then_and_modules_know_their_place() {
    let component = "module.exports = {name: 'x', version: '1', run() { this.$emit([require('package'), __filename, require.resolve('package')]) }};";
    let program =
        with_package("module.exports = [__dirname, module.parent.filename, module.id in require.cache];", component);

    let image = sandbox().await.build(program, Limits::default()).await.unwrap().image;
    let outcome = run_image(&image, Limits::default(), Arc::new(Stage::default())).await;

    let expected = r#"[["/node_modules/package","/component/entry.js",true],"/component/entry.js","/node_modules/package/index.js"]"#;
    assert_eq!(outcome.emits.first().map(|emit| emit.event.get()), Some(expected), "{:?}", outcome.fault);
}

#[tokio::test(start_paused = true)]
async fn a_component_that_takes_too_much_memory_when_it_is_loaded_is_refused() {
    let large = |megabytes: usize| {
        format!(
            "globalThis.large = new Uint8Array({megabytes} << 20).fill(1); module.exports = {{name: 'x', version: '1', run() {{}}}};"
        )
    };

    let refused = crate::stage::load(&large(70)).await.err().expect("70 MiB are more than an image has");

    assert!(matches!(refused, LoadError::Fault(Fault::TooMuchOutput { what: LimitKind::ImageBytes, .. })), "{refused}");
    assert!(crate::stage::load(&large(50)).await.is_ok());
}

/// Counts how often the text of a program is read.
struct Counting {
    program: Arc<Program>,
    reads: AtomicUsize,
}

#[async_trait::async_trait]
impl ReadProgram for Counting {
    async fn read(&self) -> Result<Arc<Program>, ServiceError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(self.program.clone())
    }
}

async fn image_of(sandbox: &Sandbox, counting: &Arc<Counting>) -> Image {
    let building = Building { tenant: "test", limits: Limits::default(), usage: &mut Usage::default() };
    let sources = Sources::Stored(counting.clone());
    sandbox.image_of(&counting.program.digest(), sources, building).await.expect("it loads")
}

fn counting(source_text: &str) -> Arc<Counting> {
    let program = Arc::new(Program::single("/component/entry.js", source(source_text)));
    Arc::new(Counting { program, reads: AtomicUsize::new(0) })
}

#[tokio::test]
async fn twenty_first_calls_of_a_component_whose_image_is_gone_build_it_once() {
    let (sandbox, counting) = (open(config()).await, counting("/* of twenty calls */"));
    sandbox.build(counting.program.clone(), Limits::default()).await.expect("it loads");
    sandbox.discard(&counting.program.digest());

    let images = join_all((0..20).map(|_| image_of(&sandbox, &counting))).await;

    assert_eq!(images.len(), 20);
    assert_eq!(counting.reads.load(Ordering::Relaxed), 1, "a build reads the program once");
}

#[tokio::test]
async fn an_image_that_is_not_in_memory_is_unpacked_from_its_file() {
    let sandbox = open(Config { held_image_bytes: 1, ..config() }).await;
    let (first, second) = (counting("this.$emit({first: true});"), counting("this.$emit({second: true});"));
    for component in [&first, &second] {
        sandbox.build(component.program.clone(), Limits::default()).await.expect("it loads");
    }

    let call = r#"{"kind":"run","event":{}}"#;
    let mut emitted = Vec::new();
    for component in [&first, &second, &first] {
        let image = image_of(&sandbox, component).await;
        let task = Task { tenant: "test", call, limits: Limits::default(), is_urgent: false, replay: None };
        let outcome = sandbox.run(&image, task, Arc::new(Stage::default())).await.expect("the host does not fail");
        emitted.extend(outcome.emits.into_iter().map(|emit| emit.event.to_string()));
        assert_eq!(component.reads.load(Ordering::Relaxed), 0, "nothing is built");
    }

    assert_eq!(emitted, [r#"{"first":true}"#, r#"{"second":true}"#, r#"{"first":true}"#]);
}

#[tokio::test(start_paused = true)]
async fn the_text_of_a_program_is_read_when_a_run_requires_more_than_its_image_holds() {
    let sandbox = open(config()).await;
    let entry = source("if (event.lazily) this.$emit({sum: require('./first') + require('./second')});");
    let mut program = Program::single("/component/entry.js", entry);
    for (path, text) in
        [("/component/first.js", "module.exports = 1;"), ("/component/second.js", "module.exports = 2;")]
    {
        program.modules.extend(Program::single(path, text).modules);
    }
    let program = Arc::new(program);
    sandbox.build(program.clone(), Limits::default()).await.expect("it loads");
    let counting = Arc::new(Counting { program, reads: AtomicUsize::new(0) });

    let image = image_of(&sandbox, &counting).await;
    let mut reads = Vec::new();
    for call in [r#"{"kind":"run","event":{}}"#, r#"{"kind":"run","event":{"lazily":true}}"#] {
        let task = Task { tenant: "test", call, limits: Limits::default(), is_urgent: false, replay: None };
        let outcome = sandbox.run(&image, task, Arc::new(Stage::default())).await.expect("the host does not fail");
        reads.push((outcome.fault, outcome.emits.len(), counting.reads.load(Ordering::Relaxed)));
    }

    assert_eq!(reads, [(None, 0, 0), (None, 1, 1)]);
}
