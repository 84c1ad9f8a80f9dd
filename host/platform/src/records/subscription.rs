//! Subscriptions: which listener gets the events of which emitter.

use domain::ids::SubscriptionId;
use domain::subscriptions as rules;
use serde::{Deserialize, Serialize};

use super::Stored;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Subscription(pub rules::Subscription);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AutoSubscription {
    pub id: SubscriptionId,
    pub rule: rules::AutoSubscription,
}

// === impl Subscription ===

impl Subscription {
    /// What makes two subscriptions the same one: `""` and `default` are one stream.
    pub fn identity(
        emitter: &rules::EmitterPattern,
        listener: &domain::ids::ListenerId,
        event_name: &rules::EventName,
    ) -> String {
        format!("{emitter} {listener} {}", event_name.stream().as_str())
    }
}

impl Stored for Subscription {
    const KIND: &'static str = "subscription";
    as_json!();

    fn id(&self) -> String {
        self.0.id.to_string()
    }

    fn alias(&self) -> Option<String> {
        Some(Self::identity(&self.0.emitter_id, &self.0.listener_id, &self.0.event_name))
    }
}

// === impl AutoSubscription ===

impl AutoSubscription {
    pub fn identity(rule: &rules::AutoSubscription) -> String {
        format!("{} {}", rule.listener_id, rule.event_name.stream().as_str())
    }
}

impl Stored for AutoSubscription {
    const KIND: &'static str = "auto_subscription";
    as_json!();

    fn id(&self) -> String {
        self.id.to_string()
    }

    fn alias(&self) -> Option<String> {
        Some(Self::identity(&self.rule))
    }
}
