//! An administrator with an account that was connected to a provider.

use serde_json::json;

use super::provider::{Provider, connect};
use crate::Caller;
use crate::fake::World;
use crate::records::Account;

pub(super) struct Scene {
    pub(super) world: World,
    pub(super) admin: Caller,
    pub(super) provider: Provider,
    pub(super) account: Account,
}

pub(super) async fn scene() -> Scene {
    let world = World::default();
    let admin = world.admin().await;
    let provider = Provider::start(&world, &admin, json!({})).await;
    let account = connect(&world, &admin, &provider).await;
    Scene { world, admin, provider, account }
}
