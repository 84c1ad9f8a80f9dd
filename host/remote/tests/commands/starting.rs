//! `init`: what is written, and what is left alone.

use crate::client::{Machine, check_snapshot};

#[test]
fn components_to_start_from_are_written() {
    let machine = Machine::new();
    let kinds: [&[&str]; 10] = [
        &["source", "Web hook"],
        &["source", "Counted", "--http", "--db"],
        &["source", "Poller", "--timer", "--db"],
        &["source", "Tick", "--timer"],
        &["source", "Both", "--http", "--timer", "--db"],
        &["action", "Shout it \"out\""],
        &["app", "my_app"],
        &["source", "Typed", "--ts", "--timer", "--db"],
        &["action", "Typed action", "--ts"],
        &["app", "typed_app", "--ts"],
    ];

    let mut text = String::new();
    for kind in kinds {
        let path = machine.run(&[&["init"], kind].concat()).succeeded().stdout;
        let code = std::fs::read_to_string(machine.folder().join(path.trim())).unwrap();
        text.push_str(&format!("// {path}{code}\n"));
    }

    check_snapshot("init", &text);
    for name in ["wellspring.d.ts", "wellspring.globals.d.ts", "jsconfig.json", "tsconfig.json"] {
        assert!(machine.folder().join(name).is_file(), "{name}");
    }
}

#[test]
fn what_is_there_is_not_written_over() {
    let machine = Machine::new();
    machine.file("hello.js", "mine");
    machine.file("jsconfig.json", "mine too");

    let ran = machine.run(&["init", "source", "hello"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (1, "error: hello.js exists\nhint: choose another name or folder, or add --force\n")
    );
    machine.run(&["init", "source", "hello", "--force", "--folder", "."]).succeeded();

    let read = |name: &str| std::fs::read_to_string(machine.folder().join(name)).unwrap();
    assert!(read("hello.js").contains("module.exports"));
    assert_eq!(read("jsconfig.json"), "mine too");
}

#[test]
fn a_folder_is_made_where_it_is_missing() {
    let machine = Machine::new();

    let ran = machine.run(&["init", "source", "hello", "--folder", "a/b"]).succeeded();

    assert_eq!(ran.stdout, "a/b/hello.js\n");
    assert!(ran.stderr.contains("hint: wellspring deploy a/b/hello.js"));
}
