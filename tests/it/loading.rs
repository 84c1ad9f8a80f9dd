//! Components that do not load: each is a clear error with a position, and nothing is kept of it.

use std::time::Duration;

use sandbox::{Fault, Limits, LoadError, Program};

use crate::stage::sandbox;

async fn load_error(source: &str) -> LoadError {
    let limits = Limits { fuel: 500_000_000, wall_clock: Duration::from_secs(5), ..Limits::default() };
    let program = std::sync::Arc::new(Program::single("component.js", source));
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
