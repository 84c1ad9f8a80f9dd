//! Generated from the route table: whatever the route, ids of another tenant are not found and nothing changes.

use domain::keys::Scope;
use platform::Caller;
use platform::fake::component;
use platform::manage::workflows;
use platform::records::{Workflow, names, table};
use serde_json::{Value, json};
use store::{Batch, Reads, Store};

use super::wire::{Wire, id, wire};
use crate::route::{Access, Route};
use crate::routes::table;

/// One of everything, owned by the admin.
struct Owned {
    component: String,
    source: String,
    webhook: String,
    account: String,
    connect: String,
    data_store: String,
    workflow: String,
    dead_letter: String,
    key: String,
    run: String,
    session: String,
}

async fn owned(wire: &Wire) -> Owned {
    wire.post("/v1/admin/apps", json!({"name_slug": "slack"})).await.data();
    let account = wire.post("/v1/accounts", json!({"app": "slack", "credentials": {"token": "t"}})).await.data();
    let connect = wire.post("/v1/connects", json!({"app": "freshdesk"})).await.data();
    let store = wire.post("/v1/data_stores", json!({"name": "orders"})).await.data();
    wire.put(&format!("/v1/data_stores/{}/records/k", id(&store)), json!({"value": 1})).await.data();
    let saved = wire.component(component("saved", json!({"key": "own-key"}))).await;
    let source = wire.source(component("source", json!({})), json!({})).await;
    let next = json!({"component_code": component("next", json!({}))});
    wire.call("PUT", &format!("/v1/sources/{}", id(&source)), &wire.admin, Some(next)).await.data();
    let webhook = wire.webhook().await;
    let subscription = json!({"emitter_id": id(&source), "listener_id": id(&webhook)});
    wire.post("/v1/subscriptions", subscription).await.data();
    wire.post("/v1/auto_subscriptions", json!({"event_name": "$errors", "listener_id": id(&webhook)})).await.data();
    let run = wire.post(&format!("/v1/sources/{}/run", id(&source)), json!({"n": 1})).await.data();
    let keys = wire.get("/v1/users/me/keys").await.data();
    let session = wire.post("/v1/sessions", json!({})).await.data();
    Owned {
        component: id(&saved).to_owned(),
        source: id(&source).to_owned(),
        webhook: id(&webhook).to_owned(),
        account: id(&account).to_owned(),
        connect: id(&connect).to_owned(),
        data_store: id(&store).to_owned(),
        workflow: workflow(wire).await,
        dead_letter: wire.dead_letter().await,
        key: id(&keys[0]).to_owned(),
        run: run["run_id"].as_str().unwrap().to_owned(),
        session: id(&session).to_owned(),
    }
}

async fn workflow(wire: &Wire) -> String {
    let id = domain::ids::WorkflowId::parse("p_Ab12Cd34Ef56").unwrap();
    let workflow = Workflow {
        id,
        name: "w".into(),
        is_active: true,
        version: 1,
        triggers: Vec::new(),
        project: None,
        created_at: 0,
        updated_at: 0,
    };
    let batch = Batch::new(&wire.admin.tenant, 1).then(table::put(&workflow).unwrap());
    wire.world.store.commit(batch).await.unwrap();
    workflows::find(&wire.admin, &wire.world.platform, workflow.id.as_str()).await.unwrap().id.to_string()
}

fn is_of_tenants(route: &Route) -> bool {
    matches!(route.access, Access::Key(scope) if scope != Scope::Admin)
}

/// The path with the owner's ids in it; none when the route has no ids of tenants in its path.
fn foreign_path(route: &Route, owned: &Owned) -> Option<String> {
    let source = &owned.source;
    let filled = match route.path.split('/').nth(2)? {
        "components" => route.path.replace("{key_or_id}", &owned.component),
        "sources" => route.path.replace("{id}", source),
        "workflows" => route.path.replace("{workflow_id}", &owned.workflow),
        "webhooks" => route.path.replace("{id}", &owned.webhook),
        "data_stores" => route.path.replace("{id}", &owned.data_store),
        "accounts" => route.path.replace("{id}", &owned.account),
        "connects" => route.path.replace("{id}", &owned.connect),
        "runs" => route.path.replace("{id}", &owned.run),
        "dead_letters" => route.path.replace("{id}", &owned.dead_letter),
        "sessions" => route.path.replace("{id}", &owned.session),
        "users" => route.path.replace("{id}", &owned.key),
        _ => return None,
    };
    let query = if route.query.iter().any(|parameter| parameter.name == "key") { "?key=k" } else { "" };
    (filled != route.path && !route.path.contains("registry")).then(|| filled + query)
}

/// Ids of the owner in the body or the query of routes that have none in their path.
fn foreign_parameters(route: &Route, owned: &Owned) -> Vec<Value> {
    let (source, webhook) = (&owned.source, &owned.webhook);
    match (route.method.as_str(), route.path) {
        ("POST", "/v1/sources") => vec![json!({"component_id": owned.component}), json!({"key": "own-key"})],
        ("POST" | "DELETE", "/v1/subscriptions") => vec![
            json!({"emitter_id": source, "listener_id": webhook}),
            json!({"emitter_id": "dc_*", "listener_id": webhook}),
        ],
        ("POST", "/v1/connects") => vec![json!({"app": "slack", "account_id": owned.account})],
        ("POST" | "DELETE", "/v1/auto_subscriptions") => vec![json!({"event_name": "$errors", "listener_id": webhook})],
        _ => Vec::new(),
    }
}

/// Everything of a tenant that could have changed.
async fn snapshot(wire: &Wire, owner: &Caller, owned: &Owned) -> Vec<String> {
    let mut seen = Vec::new();
    let page = store::Page::newest(100);
    for kind in [
        "component",
        "source",
        "source_history",
        "webhook",
        "account",
        "app_client",
        "connect",
        "data_store",
        "workflow",
        "workflow_version",
        "workflow_run",
        "subscription",
        "auto_subscription",
        "api_key",
        "session",
        "dedupe",
        "dead_letter",
    ] {
        seen.push(format!("{:?}", wire.world.store.records(&owner.tenant, kind, page).await.unwrap()));
    }
    for emitter in [&owned.source, &owned.workflow] {
        seen.push(format!("{:?}", wire.world.store.streams(&owner.tenant, emitter).await.unwrap()));
    }
    let scope = names::data_store(&owned.data_store);
    seen.push(format!("{:?}", wire.world.store.values(&owner.tenant, &scope, &["k".to_owned()]).await.unwrap()));
    let users = wire.world.store.records(&names::operator(), "user", page).await.unwrap();
    seen.push(format!("{users:?}"));
    seen
}

#[tokio::test]
async fn ids_of_another_tenant_are_not_found_on_any_route_and_nothing_changes() {
    let wire = wire().await;
    let owned = owned(&wire).await;
    let stranger = wire.world.user(&wire.admin, "stranger").await;
    let before = snapshot(&wire, &wire.admin, &owned).await;
    let strangers = snapshot(&wire, &stranger, &owned).await;
    let runs = wire.world.sandbox.calls().len();

    let mut tried = 0;
    for route in table().iter().filter(|route| is_of_tenants(route)) {
        let method = route.method.as_str();
        if let Some(path) = foreign_path(route, &owned) {
            let reply = wire.call(method, &path, &stranger, route.example.clone()).await;
            assert_eq!(reply.status, 404, "{method} {path} {}", reply.text);
            tried += 1;
        }
        for parameters in foreign_parameters(route, &owned) {
            let reply = wire.call(method, route.path, &stranger, Some(parameters)).await;
            assert_eq!(reply.status, 404, "{method} {} {}", route.path, reply.text);
            tried += 1;
        }
    }

    assert!(tried >= 25, "only {tried} requests were generated");
    assert_eq!(snapshot(&wire, &wire.admin, &owned).await, before);
    assert_eq!(snapshot(&wire, &stranger, &owned).await, strangers);
    assert_eq!(wire.world.sandbox.calls().len(), runs, "nothing of the owner was run");
}

#[tokio::test]
async fn lists_show_nothing_of_another_tenant() {
    let wire = wire().await;
    owned(&wire).await;
    let stranger = wire.world.user(&wire.admin, "stranger").await;

    let lists = table();
    let lists =
        lists.iter().filter(|route| route.path.starts_with("/v1/users/me/") && route.method == hyper::Method::GET);
    for route in lists.filter(|route| !route.path.contains("keys")) {
        let reply = wire.call("GET", route.path, &stranger, None).await;
        assert_eq!(reply.data(), json!([]), "{}", route.path);
    }
}

#[tokio::test]
async fn a_foreign_account_does_not_fit_a_prop() {
    let wire = wire().await;
    let owned = owned(&wire).await;
    let stranger = wire.world.user(&wire.admin, "stranger").await;
    let code = component("uses", json!({"props": {"slack": {"type": "app", "app": "slack"}}}));
    let body = json!({"component_code": code, "configured_props": {"slack": {"authProvisionId": owned.account}}});

    let reply = wire.call("POST", "/v1/sources", &stranger, Some(body)).await;

    assert_eq!(reply.refusal(), (422, "invalid_props".into()));
}

#[tokio::test]
async fn every_route_with_an_id_is_tried_by_the_tenancy_test() {
    let owned = Owned {
        component: "c".into(),
        source: "s".into(),
        webhook: "w".into(),
        account: "a".into(),
        connect: "con".into(),
        data_store: "ds".into(),
        workflow: "p".into(),
        dead_letter: "d".into(),
        key: "k".into(),
        run: "r".into(),
        session: "ses".into(),
    };

    for route in table().iter().filter(|route| is_of_tenants(route) && route.path.contains('{')) {
        // The registry and the apps are shared by all tenants; of each app a tenant has one client of its own.
        let is_shared = route.path == "/v1/components/registry/{key}" || route.path.starts_with("/v1/apps/{name_slug}");
        assert!(is_shared || foreign_path(route, &owned).is_some(), "{}", route.path);
    }
}
