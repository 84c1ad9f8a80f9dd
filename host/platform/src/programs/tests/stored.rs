//! What is stored of programs with packages, and that what is read is what was stored.

use bytes::Bytes;
use serde_json::json;
use store::{Batch, Lookup, Op, Page, Reads, Store};
use tokio_util::sync::CancellationToken;

use crate::fake::{World, component};
use crate::manage::components::{self, CodeRequest};
use crate::manage::users;
use crate::ports::{Module, ModuleKind, Program, Progress, SandboxError};
use crate::programs::{Converted, convert, holds};
use crate::records::{Component, Job, Modules, Origin, PackageText, RecordError, names};
use crate::{Caller, Error};

/// A component that uses a package of two files.
pub(super) fn code_with_package(name: &str, text: &str) -> CodeRequest {
    let files = [("/node_modules/axios/index.js", text), ("/node_modules/axios/lib/core.js", "core")];
    CodeRequest {
        component_code: Some(component(name, json!({}))),
        component_files: files.map(|(path, text)| (path.to_owned(), text.to_owned())).into(),
        ..CodeRequest::default()
    }
}

async fn save(world: &World, caller: &Caller, name: &str, text: &str) -> Component {
    components::create(caller, &world.platform, code_with_package(name, text)).await.unwrap()
}

async fn read(world: &World, caller: &Caller, saved: &Component) -> Result<Program, Error> {
    let handle = world.platform.program(&caller.tenant, Origin::Own, &saved.program);
    match handle.stored.read().await {
        Ok(program) => Ok((*program).clone()),
        Err(SandboxError::Unread(error)) => Err(*error),
        Err(error) => Err(error.into()),
    }
}

/// How many package texts there are.
async fn texts(world: &World) -> u64 {
    world.store.records(&names::packages(), "package_text", Page::newest(1)).await.unwrap().total
}

#[tokio::test]
async fn a_package_is_stored_once_for_all_components_and_tenants() {
    let world = World::default();
    let admin = world.admin().await;
    let ada = world.user(&admin, "ada").await;
    let text = "a package ".repeat(10_000);

    let first = save(&world, &admin, "first", &text).await;
    save(&world, &admin, "second", &text).await;
    let of_ada = save(&world, &ada, "third", &text).await;
    assert_eq!(texts(&world).await, 1);
    save(&world, &ada, "other", "another version").await;
    assert_eq!(texts(&world).await, 2);

    for program in world.store.records(&ada.tenant, "program", Page::newest(9)).await.unwrap().items {
        assert!(program.value.len() < 1000, "{program:?}");
    }
    for (caller, saved) in [(&admin, &first), (&ada, &of_ada)] {
        let program = read(&world, caller, saved).await.unwrap();
        assert_eq!(program.modules["/node_modules/axios/index.js"].source.as_ref(), text);
        assert_eq!(program.digest(), saved.program);
    }
}

#[tokio::test]
async fn a_tenant_is_charged_for_the_packages_it_holds_as_if_it_held_them_alone() {
    let world = World::default();
    let admin = world.admin().await;
    let ada = world.user(&admin, "ada").await;
    save(&world, &admin, "first", "text").await;

    save(&world, &ada, "second", "text").await;

    let stored = world.store.record(&names::packages(), "package_text", Lookup::Id(&digest_of(&world).await)).await;
    let size_bytes = stored.unwrap().unwrap().value.len() as u64;
    assert_eq!(holds::held_bytes(&world.platform, &ada.tenant).await.unwrap(), size_bytes);
}

async fn digest_of(world: &World) -> String {
    let page = world.store.records(&names::packages(), "package_text", Page::newest(1)).await.unwrap();
    page.items[0].id.clone()
}

#[tokio::test]
async fn a_text_or_a_program_that_was_changed_in_the_store_is_refused() {
    let world = World::default();
    let admin = world.admin().await;
    let saved = save(&world, &admin, "first", "text").await;
    let other = save(&world, &admin, "second", "other").await;
    let put = async |tenant: &store::Tenant, kind: &str, id: &str, value: Bytes| {
        let (kind, id) = (kind.to_owned(), id.to_owned());
        let put = Op::PutRecord { kind, id, alias: None, value };
        world.store.commit(Batch::new(tenant, 1).then(put)).await.unwrap();
    };

    // Under the digest of one, the content of another: a whole record that is not the one referred to.
    let of_other = world.store.record(&admin.tenant, "program", Lookup::Id(&other.program)).await.unwrap().unwrap();
    put(&admin.tenant, "program", &saved.program, of_other.value).await;
    let swapped = read(&world, &admin, &saved).await;
    assert!(matches!(swapped, Err(Error::Record(RecordError::Damaged { kind: "program" }))), "{swapped:?}");

    for damaged in [&b""[..], b"\x01", b"\x01garbage"] {
        for record in world.store.records(&names::packages(), "package_text", Page::newest(9)).await.unwrap().items {
            put(&names::packages(), "package_text", &record.id, Bytes::from_static(damaged)).await;
        }
        let read = read(&world, &admin, &other).await;
        assert!(matches!(read, Err(Error::Record(RecordError::Damaged { kind: "package_text" }))), "{read:?}");
    }
}

#[tokio::test]
async fn a_deleted_account_gives_up_its_packages_and_others_keep_theirs() {
    let world = World::default();
    let admin = world.admin().await;
    let ada = world.user(&admin, "ada").await;
    let saved = save(&world, &admin, "first", "shared").await;
    save(&world, &ada, "second", "shared").await;
    save(&world, &ada, "third", "hers").await;
    assert_eq!(texts(&world).await, 2);

    users::delete(&admin, &world.platform, ada.user.id.as_str()).await.unwrap();
    let (user, username, email) = (ada.user.id.clone(), ada.user.username.clone(), ada.user.email.clone());
    let job = Job::ForgetUser { user, username, email };
    while world.chores().perform(&names::operator(), &job).await.unwrap() == Progress::More {}

    assert_eq!(texts(&world).await, 1);
    assert!(read(&world, &admin, &saved).await.is_ok());
    let holders = world.store.keys(&names::packages(), &names::holders(&digest_of(&world).await), None, 9).await;
    assert_eq!(holders.unwrap().found.len(), 1);
}

/// A program as version 1 stored it.
fn version_1(program: &Program) -> Op {
    let module = |(path, module): (&String, &Module)| {
        let kind = if module.kind == ModuleKind::Json { "json" } else { "commonjs" };
        (path.clone(), json!({"kind": kind, "source": *module.source, "imports": module.imports}))
    };
    let modules: serde_json::Map<_, _> = program.modules.iter().map(module).collect();
    let value = json!({"v": 1, "data": {"entry": program.entry, "modules": modules}}).to_string();
    Op::PutRecord { kind: "program".into(), id: program.digest(), alias: None, value: value.into() }
}

#[tokio::test]
async fn programs_of_the_first_version_are_read_and_converted_once() {
    let world = World::default();
    let admin = world.admin().await;
    let ada = world.user(&admin, "ada").await;
    let mut saved = Vec::new();
    for caller in [&admin, &ada] {
        let component = save(&world, caller, "old", &"text ".repeat(10_000)).await;
        let program = read(&world, caller, &component).await.unwrap();
        world.store.commit(Batch::new(&caller.tenant, 1).then(version_1(&program))).await.unwrap();
        saved.push((caller, component, program));
    }
    world.platform.programs.set_limit(0);
    for (caller, component, program) in &saved {
        assert_eq!(read(&world, caller, component).await.unwrap(), *program);
    }

    let shutdown = CancellationToken::new();
    let converted = convert(&world.platform, &shutdown).await.unwrap();

    assert_eq!(converted.programs, 2);
    assert!(converted.bytes_before > 100_000 && converted.bytes_after < 2000, "{converted:?}");
    for (caller, component, program) in &saved {
        assert_eq!(read(&world, caller, component).await.unwrap(), *program);
    }
    assert_eq!(convert(&world.platform, &shutdown).await.unwrap(), Converted::default());
}

#[tokio::test]
async fn a_conversion_that_is_stopped_goes_on_at_the_next_start() {
    let world = World::default();
    let admin = world.admin().await;
    let component = save(&world, &admin, "old", "text").await;
    let program = read(&world, &admin, &component).await.unwrap();
    world.store.commit(Batch::new(&admin.tenant, 1).then(version_1(&program))).await.unwrap();
    let stopped = CancellationToken::new();
    stopped.cancel();

    let first = convert(&world.platform, &stopped).await.unwrap();
    let second = convert(&world.platform, &CancellationToken::new()).await.unwrap();

    assert_eq!((first.programs, second.programs), (0, 1));
}

#[tokio::test]
async fn own_files_are_in_no_shared_record() {
    let world = World::default();
    let admin = world.admin().await;
    let mut request = code_with_package("mine", "text");
    request.component_files.insert("secret.js".to_owned(), "only mine".to_owned());

    components::create(&admin, &world.platform, request).await.unwrap();

    let shared = world.store.records(&names::packages(), "package_text", Page::newest(9)).await.unwrap();
    let modules = shared.items.iter().map(|record| PackageText::read(&record.id, &record.value).unwrap());
    let paths: Vec<String> = modules.flat_map(Modules::into_keys).collect();
    assert_eq!(paths, ["index.js", "lib/core.js"]);
}
