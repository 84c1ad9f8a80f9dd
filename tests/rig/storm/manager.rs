//! A client that uses the management API all the time, and checks after each restart that everything is still there.

use std::collections::BTreeMap;

use anyhow::Result;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::client::Client;

/// What there is at once; from then on things are deleted as well.
const ALIVE: usize = 12;
const CODE: &str = r#"module.exports = {name: "managed", version: "1", props: {http: "$.interface.http"}, run() {}};"#;

pub(super) struct Manager {
    random: Rng,
    webhooks: BTreeMap<String, Expected>,
    sources: BTreeMap<String, Expected>,
    /// By listener; the emitter is every source.
    subscriptions: BTreeMap<String, Expected>,
    made: u64,
    pub(super) acknowledged: usize,
    pub(super) violations: Vec<String>,
}

/// What must be found after the next restart.
#[derive(Clone, Debug, PartialEq)]
enum Expected {
    /// With these fields as they were answered.
    Present(Value),
    Gone,
    /// The server died before it answered: either is right.
    Either,
}

// === impl Manager ===

impl Manager {
    pub(super) fn new(random: Rng) -> Self {
        Self {
            random,
            webhooks: BTreeMap::new(),
            sources: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            made: 0,
            acknowledged: 0,
            violations: Vec::new(),
        }
    }

    /// One call after the other until it is dropped or the server is gone.
    pub(super) async fn manage(&mut self, client: &Client) {
        while self.act(client).await.is_ok() {
            self.acknowledged += 1;
        }
        std::future::pending::<()>().await;
    }

    async fn act(&mut self, client: &Client) -> Result<()> {
        self.made += 1;
        let is_full = |things: &BTreeMap<String, Expected>| present(things).len() >= ALIVE;
        match self.random.u8(..6) {
            0 if is_full(&self.webhooks) => self.delete_webhook(client).await,
            0 => self.create_webhook(client).await,
            1 if is_full(&self.sources) => self.delete_source(client).await,
            1 => self.create_source(client).await,
            2 => self.delete_webhook(client).await,
            3 => self.update_source(client).await,
            4 => self.subscribe(client).await,
            _ => self.unsubscribe(client).await,
        }
    }

    async fn create_webhook(&mut self, client: &Client) -> Result<()> {
        let name = format!("managed {}", self.made);
        let wanted = json!({"url": "http://127.0.0.1:9/", "name": name});
        let made = client.post("/v1/webhooks", &wanted).await?.success()?["data"].clone();
        let expected = Expected::Present(json!({"name": name, "active": true}));
        self.webhooks.insert(id_of(&made), expected);
        Ok(())
    }

    async fn delete_webhook(&mut self, client: &Client) -> Result<()> {
        let Some(id) = self.choose(|manager| &manager.webhooks) else {
            return Ok(());
        };
        self.webhooks.insert(id.clone(), Expected::Either);
        // It takes its subscription along.
        self.subscriptions.insert(id.clone(), Expected::Either);
        client.delete(&format!("/v1/webhooks/{id}")).await?.success()?;
        self.subscriptions.insert(id.clone(), Expected::Gone);
        self.webhooks.insert(id, Expected::Gone);
        Ok(())
    }

    async fn create_source(&mut self, client: &Client) -> Result<()> {
        let name = format!("managed {}", self.made);
        let wanted = json!({"component_code": CODE, "name": name});
        let made = client.post("/v1/sources", &wanted).await?.success()?["data"].clone();
        self.sources.insert(id_of(&made), Expected::Present(json!({"name": name, "active": true})));
        Ok(())
    }

    async fn delete_source(&mut self, client: &Client) -> Result<()> {
        let Some(id) = self.choose(|manager| &manager.sources) else {
            return Ok(());
        };
        self.sources.insert(id.clone(), Expected::Either);
        client.delete(&format!("/v1/sources/{id}")).await?.success()?;
        self.sources.insert(id, Expected::Gone);
        Ok(())
    }

    async fn update_source(&mut self, client: &Client) -> Result<()> {
        let Some(id) = self.choose(|manager| &manager.sources) else {
            return Ok(());
        };
        let (name, active) = (format!("updated {}", self.made), self.random.bool());
        self.sources.insert(id.clone(), Expected::Either);
        client.put(&format!("/v1/sources/{id}"), &json!({"name": name, "active": active})).await?.success()?;
        self.sources.insert(id, Expected::Present(json!({"name": name, "active": active})));
        Ok(())
    }

    async fn subscribe(&mut self, client: &Client) -> Result<()> {
        let Some(id) = self.choose(|manager| &manager.webhooks) else {
            return Ok(());
        };
        self.subscriptions.insert(id.clone(), Expected::Either);
        let wanted = json!({"emitter_id": "dc_*", "listener_id": id, "event_name": "managed"});
        client.post("/v1/subscriptions", &wanted).await?.success()?;
        self.subscriptions.insert(id, Expected::Present(json!({"emitter_id": "dc_*", "event_name": "managed"})));
        Ok(())
    }

    async fn unsubscribe(&mut self, client: &Client) -> Result<()> {
        let Some(id) = self.choose(|manager| &manager.subscriptions) else {
            return Ok(());
        };
        self.subscriptions.insert(id.clone(), Expected::Either);
        let query = format!("emitter_id=dc_*&listener_id={id}&event_name=managed");
        client.delete(&format!("/v1/subscriptions?{query}")).await?.success()?;
        self.subscriptions.insert(id, Expected::Gone);
        Ok(())
    }

    fn choose(&mut self, things: impl Fn(&Self) -> &BTreeMap<String, Expected>) -> Option<String> {
        let present = present(things(self));
        (!present.is_empty()).then(|| present[self.random.usize(..present.len())].clone())
    }

    /// Compares everything acknowledged with what the API shows, as a whole and one by one.
    pub(super) async fn verify(&mut self, client: &Client) {
        let by_id = |items: Vec<Value>, field: &str| -> BTreeMap<String, Value> {
            items.into_iter().map(|item| (item[field].as_str().unwrap_or_default().to_owned(), item)).collect()
        };
        let webhooks = by_id(client.list("/v1/users/me/webhooks").await.unwrap(), "id");
        let sources = by_id(client.list("/v1/users/me/sources").await.unwrap(), "id");
        let subscriptions = client.get("/v1/users/me/subscriptions").await.unwrap().data();
        let mut subscriptions = subscriptions.as_array().unwrap().clone();
        subscriptions.retain(|subscription| subscription["event_name"] == "managed");
        let subscriptions = by_id(subscriptions, "listener_id");
        compare("webhook", &mut self.webhooks, &webhooks, &mut self.violations);
        compare("source", &mut self.sources, &sources, &mut self.violations);
        compare("subscription of", &mut self.subscriptions, &subscriptions, &mut self.violations);
        for (id, source) in &sources {
            if let Err(error) = self.verify_source(client, id, source).await {
                self.violations.push(format!("source {id} is there by half: {error}"));
            }
        }
        for id in subscriptions.keys().filter(|id| !webhooks.contains_key(*id)) {
            self.violations.push(format!("webhook {id} is gone, and its subscription is not"));
        }
    }

    /// A source that is listed is whole: its own page, its component, its endpoint.
    async fn verify_source(&self, client: &Client, id: &str, listed: &Value) -> Result<()> {
        // A deploy that was never acknowledged may be cleared away at any time.
        if !matches!(self.sources.get(id), Some(Expected::Present(_))) {
            return Ok(());
        }
        client.get(&format!("/v1/sources/{id}")).await?.success()?;
        let component = listed["component_id"].as_str().unwrap_or_default();
        client.get(&format!("/v1/components/{component}")).await?.success()?;
        let endpoint = listed["configured_props"]["http"]["endpoint_url"].as_str().unwrap_or_default();
        let answered = client.call("OPTIONS", endpoint, &[], bytes::Bytes::new()).await?.status;
        let expected = if listed["active"] == true { 204 } else { 404 };
        anyhow::ensure!(answered == expected, "its endpoint answers {answered} and not {expected}");
        Ok(())
    }
}

/// Notes what differs, and takes over what was found where either was right.
fn compare(
    kind: &str,
    expected: &mut BTreeMap<String, Expected>,
    found: &BTreeMap<String, Value>,
    violations: &mut Vec<String>,
) {
    for (id, expected) in expected.iter() {
        match (expected, found.get(id)) {
            (Expected::Present(_), None) => violations.push(format!("{kind} {id} was acknowledged and is gone")),
            (Expected::Gone, Some(_)) => violations.push(format!("{kind} {id} was deleted and is there")),
            (Expected::Present(fields), Some(found)) => {
                let differs = |(name, value): (&String, &Value)| found[name] != *value;
                if fields.as_object().unwrap().iter().any(differs) {
                    violations.push(format!("{kind} {id} is {found}, where {fields} was acknowledged"));
                }
            }
            _ => {}
        }
    }
    // What was left half-way stays out of the game.
    expected.retain(|_, expected| matches!(expected, Expected::Present(_)));
}

fn present(things: &BTreeMap<String, Expected>) -> Vec<String> {
    let is_present = |expected: &Expected| matches!(expected, Expected::Present(_));
    things.iter().filter(|(_, expected)| is_present(expected)).map(|(id, _)| id.clone()).collect()
}

fn id_of(made: &Value) -> String {
    made["id"].as_str().unwrap().to_owned()
}
