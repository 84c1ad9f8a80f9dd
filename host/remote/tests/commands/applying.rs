//! What `apply` takes for the folder's own, and what it leaves alone.

use serde_json::{Value, json};

use crate::client::Machine;
use crate::versions::{previews, running, server_with, shop};

#[test]
fn apply_of_one_file_deletes_nothing_and_does_not_say_what_is_gone() {
    let (fake, machine) = shop();

    for file in ["shop/new.js", "new.js"] {
        let mut refused = machine.client(&["apply", file, "--yes", "--prune"]);
        if file == "new.js" {
            refused.current_dir(machine.folder().join("shop"));
        }
        let refused = crate::client::Ran::from(refused.output().unwrap());
        let told = format!(
            "error: --prune needs a folder, and {file} is one file: what is gone cannot be told from it\nhint: apply the folder that it is in, or leave --prune out\n"
        );
        assert_eq!((refused.code, refused.stderr), (2, told));
    }
    assert_eq!(fake.changes(), Vec::<String>::new());
    let applied = machine.run(&["apply", "shop/new.js", "--yes"]).succeeded();

    assert!(!applied.stderr.contains("no longer in the folder"), "{}", applied.stderr);
    assert_eq!(fake.seen("POST /v1/sources")[0].body["project"], "shop");
    assert!(fake.changes().iter().all(|line| !line.starts_with("DELETE /v1/sources")), "{:?}", fake.changes());
}

#[test]
fn the_project_of_a_file_is_named_after_the_folder_that_it_is_in() {
    let fake = server_with(&[], json!([]));
    let machine = Machine::of(&fake);
    machine.file("shop/new.js", "");

    let mut apply = machine.client(&["apply", "new.js", "--yes"]);
    let ran = crate::client::Ran::from(apply.current_dir(machine.folder().join("shop")).output().unwrap()).succeeded();

    assert_eq!(fake.seen("POST /v1/sources")[0].body["project"], "shop", "{}", ran.to_text());
}

#[test]
fn prune_does_not_take_what_dev_deployed_for_the_folders_own() {
    let mut developed = running("dc_Dev000000001", "developed", "developed", 1);
    developed["project"] = json!("dev");
    let fake = server_with(&[developed], json!([]));
    let machine = Machine::of(&fake);
    machine.file("dev/new.js", "");

    let refused = machine.run(&["apply", "dev", "--yes", "--prune"]);

    assert_eq!(refused.code, 2, "{}", refused.to_text());
    assert!(refused.stderr.contains("wellspring dev"), "{}", refused.stderr);
    assert_eq!(fake.changes(), Vec::<String>::new());
}

#[test]
fn a_folder_that_is_not_there_is_told_before_anything_is_asked() {
    let fake = server_with(&[], json!([]));

    let ran = Machine::of(&fake).run(&["apply", "nowhere", "--prune"]);

    assert!(ran.stderr.starts_with("error: cannot read nowhere: "), "{}", ran.stderr);
}

/// A source called `new` of each of these projects, oldest last.
fn sources_called_new(projects: &[Option<&str>]) -> Vec<Value> {
    let source = |(number, project): (usize, &Option<&str>)| {
        let mut source = running(&format!("dc_Number00000{number}"), "new", "hello-world", 1);
        source["name_slug"] = json!(format!("new-{number}"));
        source["project"] = json!(project);
        source
    };
    projects.iter().enumerate().map(source).collect()
}

#[test]
fn apply_takes_the_source_of_its_own_project_or_else_one_of_none() {
    for (projects, taken) in [
        ([Some("other"), Some("shop"), None], Some("dc_Number000001")),
        ([Some("other"), Some("else"), None], Some("dc_Number000002")),
        ([Some("shop"), Some("shop"), None], None),
        ([None, Some("other"), None], None),
        ([Some("other"), Some("other"), Some("dev")], None),
    ] {
        let fake = server_with(&sources_called_new(&projects), json!([]));
        for number in 0..3 {
            let id = format!("dc_Number00000{number}");
            previews(&fake, &id, &["code"]);
            fake.data(&format!("PUT /v1/sources/{id}"), running(&id, "new", "hello-world", 2));
        }
        let machine = Machine::of(&fake);
        machine.file("shop/new.js", "");

        let ran = machine.run(&["apply", "shop", "--yes"]);

        let changed =
            fake.changes().into_iter().find_map(|line| line.strip_prefix("PUT /v1/sources/").map(str::to_owned));
        assert_eq!(changed.as_deref(), taken, "{projects:?} {}", ran.to_text());
        assert_eq!(ran.code == 0, taken.is_some(), "{}", ran.to_text());
        assert!(fake.seen("POST /v1/sources").is_empty());
    }
}

#[test]
fn several_sources_of_one_project_and_name_are_told() {
    let fake = server_with(&sources_called_new(&[Some("shop"), Some("shop")]), json!([]));
    let machine = Machine::of(&fake);
    machine.file("shop/new.js", "");

    let ran = machine.run(&["apply", "shop", "--yes"]);

    let told = "warning: new: there are several sources called new: dc_Number000000, dc_Number000001\nhint: give all but one of them another name\n";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
}

#[test]
fn a_plan_that_is_half_applied_tells_how_far_it_came() {
    let fails = || {
        let (fake, machine) = shop();
        fake.forget("POST /v1/sources");
        fake.refuse("POST /v1/sources", 422, "hook_failed", "the deploy hook failed");
        (fake, machine)
    };

    let (fake, machine) = fails();
    let text = machine.run(&["apply", "shop", "--yes", "--prune"]);
    let json = fails().1.run(&["apply", "shop", "--yes", "--prune", "--json"]);

    let told = "applied: changed\nfailed: new\nnot applied: gone\nerror: the deploy hook failed\n";
    assert!(text.code == 1 && text.stderr.contains(told), "{}", text.to_text());
    assert!(fake.seen("DELETE /v1/sources/dc_Gone00000001").is_empty());
    let printed: Value = serde_json::from_str(&json.stdout).unwrap();
    let steps = printed["steps"].as_array().unwrap();
    let states: Vec<(&str, &str)> =
        steps.iter().map(|step| (step["name"].as_str().unwrap(), step["state"].as_str().unwrap())).collect();
    assert_eq!(states, [("changed", "applied"), ("new", "failed"), ("same", "unchanged"), ("gone", "not_applied")]);
    assert_eq!((json.code, &printed["applied"]), (1, &json!(false)));
    assert!(json.stderr.contains("hook_failed"), "{}", json.stderr);
}

#[test]
fn a_plan_for_programs_has_its_problems_and_what_is_left() {
    let (_, machine) = shop();
    machine.file(
        "shop/wellspring.toml",
        "project = \"shop\"\n[sources.changed]\nprops = { word = \"w\" }\n[sources.same]\nprops = { word = \"w\" }\n",
    );

    let ran = machine.run(&["apply", "shop", "--plan", "--json"]);

    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &printed["no_longer_in_folder"]), (1, &json!(["gone"])));
    let [changed, new] = [0, 1].map(|index| &printed["steps"][index]);
    assert_eq!((&changed["kind"], &changed["source_id"]), (&json!("source"), &json!("dc_Changed00001")));
    assert_eq!((&changed["changes"][0]["what"], &changed["problem"]), (&json!("code"), &Value::Null));
    assert_eq!((&new["state"], &new["problem"]["error"]), (&json!("problem"), &json!("values are missing for word")));
}

#[test]
fn a_value_that_is_missing_is_to_be_given_in_the_file() {
    let (_, machine) = shop();
    machine.file("shop/wellspring.toml", "project = \"shop\"\n[sources.new]\nname = \"Newest\"\n[sources.changed]\nprops = { word = \"w\" }\n[sources.same]\nprops = { word = \"w\" }\n");

    let ran = machine.run(&["apply", "shop"]);

    let told =
        "warning: Newest: values are missing for word\nhint: give them below [sources.new.props] in wellspring.toml\n";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
}
