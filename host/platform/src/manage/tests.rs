//! The control plane on stand-ins: what the specification's rules say, without HTTP.

mod accounts;
mod actions;
mod app_events;
mod audit;
mod components;
mod data_stores;
mod deleted_components;
mod deleted_users;
mod events;
mod history;
mod hooks;
mod keys;
mod limits;
mod rotation;
mod runs;
mod sessions;
mod sources;
mod state;
mod subscriptions;
mod trials;
mod unreadable;
mod unused_code;

use serde_json::{Map, Value};

use crate::fake::World;
use crate::manage::components::CodeRequest;
use crate::manage::sources::{CreateSource, create};
use crate::records::Source;
use crate::{Caller, Error};

/// A platform on fakes, and an admin as its caller.
async fn world() -> (World, Caller) {
    let world = World::default();
    let caller = world.admin().await;
    (world, caller)
}

fn code(code: &str) -> CodeRequest {
    CodeRequest { component_code: Some(code.to_owned()), ..CodeRequest::default() }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other} is not an object"),
    }
}

async fn deploy(world: &World, caller: &Caller, component: &str, props: Value) -> Result<Source, Error> {
    let request =
        CreateSource { component: code(component), name: None, configured_props: object(props), project: None };
    create(caller, &world.platform, request).await
}
