//! Everything the API answers, in one table. Serving, the OpenAPI document, the reference page and the tenancy test all
//! read this table: what is not here does not exist.

mod accounts;
mod operator;
mod parameters;

use domain::keys::Scope;
use hyper::Method;
use serde_json::json;

use crate::api::{components, data_stores, events, runs, sources, state, subscriptions, webhooks, workflows};
use crate::route::Access::{self, Public};
use crate::route::Documented::{Accepted, Anything, Events, List, NoContent, One, Page, Started};
use crate::route::{Route, plugged, route};
use crate::{ingress, stream};
use parameters::*;

/// What a route needs of a key: `domain::keys::Scope` says what each is for.
const READ: Access = Access::Key(Scope::Read);
const WRITE: Access = Access::Key(Scope::Write);
const DEPLOY: Access = Access::Key(Scope::Deploy);
const ADMIN: Access = Access::Key(Scope::Admin);

/// Where sessions begin: the one route that takes a one-time link.
pub(crate) const SESSIONS: &str = "/v1/sessions";

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PUT: Method = Method::PUT;
const DELETE: Method = Method::DELETE;

/// In the order of the reference page.
pub(crate) fn table() -> Vec<Route> {
    [
        components_routes(),
        sources_routes(),
        workflows_routes(),
        workflow_runs_routes(),
        runs_routes(),
        state_routes(),
        data_stores_routes(),
        events_routes(),
        subscriptions_routes(),
        webhooks_routes(),
        accounts::users_routes(),
        accounts::sessions_routes(),
        accounts::accounts_routes(),
        operator::operator_routes(),
        endpoint_routes(),
        operator::internal_routes(),
    ]
    .concat()
}

/// Saved code.
#[rustfmt::skip]
fn components_routes() -> Vec<Route> {
    vec![
        route(POST, "/v1/components", DEPLOY, components::create)
            .says("Components", "Save a component from its code or its address").body_with(CODE_NAMES, &NEW_COMPONENT).answers(One("Component")).refuses(&[422, 429])
            .example(json!({"component_code": "module.exports = {\n  name: \"Hello\",\n  version: \"0.0.1\",\n  props: {timer: {type: \"$.interface.timer\", default: {intervalSeconds: 60}}},\n  run() { this.$emit({hello: \"world\"}) },\n}"})),
        route(GET, "/v1/registry", READ, components::list_registered)
            .says("Components", "List the components that are published to all users, newest first and without their code; a page may have fewer than it was asked for").query(&PAGING).answers(Page("RegistryEntry")),
        route(GET, "/v1/components/registry/{key}", READ, components::find_registered)
            .says("Components", "Read a globally published component").answers(One("Component")).refuses(&[404]),
        route(GET, "/v1/components/{key_or_id}", READ, components::find)
            .says("Components", "Read a component by its id or its key").answers(One("Component")).refuses(&[404]),
        route(DELETE, "/v1/components/{key_or_id}", DEPLOY, components::delete)
            .says("Components", "Delete a component of yours that no source and no workflow uses").answers(NoContent).refuses(&[404, 409]),
        route(POST, "/v1/components/{key_or_id}/options", DEPLOY, components::options).after(components::find)
            .unaudited().says("Components", "Run the options of a prop").body(&OPTIONS).answers(One("Options")).refuses(&[404, 422, 429])
            .example(json!({"prop": "channel", "configured_props": {"slack": {"authProvisionId": "apn_Ab12Cd34Ef56"}}, "page": 0})),
        route(POST, "/v1/components/{key_or_id}/try", DEPLOY, components::try_out).after(components::find)
            .says("Components", "Run a source component once with an event, before it is deployed. Its requests are real; what it emits and stores is answered and not kept. No hook runs").body(&TRIAL).answers(One("Trial")).refuses(&[404, 422, 429])
            .example(json!({"configured_props": {"limit": 3}, "event": {"method": "POST", "body": {"hello": "world"}}})),
        route(POST, "/v1/components/{key_or_id}/run", WRITE, components::run).after(components::find)
            .says("Components", "Run an action once").body(&ACTION).answers(One("ActionRun")).refuses(&[404, 422, 429])
            .example(json!({"configured_props": {"text": "hello"}, "steps": {}})),
        route(GET, "/v1/users/me/components", READ, components::list)
            .says("Components", "List your components, newest first").query(&PAGING).answers(Page("Component")),
    ]
}

/// Deployed code.
#[rustfmt::skip]
fn sources_routes() -> Vec<Route> {
    vec![
        route(POST, "/v1/sources", DEPLOY, sources::create)
            .says("Sources", "Deploy a source; runs its deploy and activate hooks").body_with(SOURCE_NAMES, &NEW_SOURCE).answers(One("Source")).refuses(&[403, 404, 422, 429])
            .example(json!({"component_id": "sc_Ab12Cd34Ef56", "name": "Every minute", "configured_props": {"timer": {"intervalSeconds": 60}}})),
        route(GET, "/v1/users/me/sources", READ, sources::list)
            .says("Sources", "List your sources, newest first").query(&PAGING).answers(Page("Source")),
        route(GET, "/v1/users/me/source_summaries", READ, sources::summaries)
            .says("Sources", "List the names of your sources, newest first, a thousand a page: for lists of all of them").query(&SUMMARIES).answers(Page("SourceSummary")),
        route(GET, "/v1/sources/{id}", READ, sources::find)
            .says("Sources", "Read a source").answers(One("Source")).refuses(&[404]),
        route(PUT, "/v1/sources/{id}", DEPLOY, sources::update).after(sources::find)
            .says("Sources", "Update a source: deactivate, replace, activate").body(&CHANGED_SOURCE).answers(One("Source")).refuses(&[404, 409, 422, 429])
            .example(json!({"name": "Every hour", "configured_props": {"timer": {"cron": "0 * * * *"}}})),
        route(POST, "/v1/sources/{id}/preview", DEPLOY, sources::preview).unaudited().after(sources::find)
            .says("Sources", "Say what an update would change, without making it").body(&CHANGED_SOURCE).answers(One("Preview")).refuses(&[404, 422, 429])
            .example(json!({"configured_props": {"timer": {"cron": "0 * * * *"}}})),
        route(GET, "/v1/sources/{id}/versions", READ, sources::versions)
            .says("Sources", "List the versions of a source that are kept, newest first: the present one and earlier ones").answers(List("SourceVersion")).refuses(&[404]),
        route(POST, "/v1/sources/{id}/rollback", DEPLOY, sources::rollback).after(sources::find)
            .says("Sources", "Go back to the code and props of an earlier version, as the next version").body(&SOURCE_ROLLBACK).answers(One("Source")).refuses(&[404, 409, 422, 429])
            .example(json!({"version": 1})),
        route(DELETE, "/v1/sources/{id}", DEPLOY, sources::delete)
            .says("Sources", "Delete a source; runs its deactivate hook").query(&[IGNORE_HOOK_ERRORS]).answers(NoContent).refuses(&[404, 409, 422]),
        route(POST, "/v1/sources/{id}/run", WRITE, sources::run).after(sources::find)
            .says("Sources", "Run a source by hand; the body is its event").any_body().answers(One("SourceRun")).refuses(&[404, 429])
            .example(json!({"method": "POST", "body": {"hello": "world"}})),
        route(GET, "/v1/sources/{id}/logs", READ, events::logs)
            .says("Sources", "Read the log of a source, newest first").query(&EVENT_PAGING).answers(Page("LogLine")).refuses(&[404]),
    ]
}

/// Steps that run when something happens.
#[rustfmt::skip]
fn workflows_routes() -> Vec<Route> {
    vec![
        route(POST, "/v1/workflows", DEPLOY, workflows::create)
            .says("Workflows", "Deploy a workflow from its document").body(&WORKFLOW).answers(One("Workflow")).refuses(&[403, 404, 409, 422, 429])
            .example(json!({"settings": {"name": "Orders"}, "triggers": [{"type": "http"}], "steps": [{"namespace": "shape", "code": "export default defineComponent({ async run({ steps }) { return steps.trigger.event.body } })"}]})),
        route(GET, "/v1/users/me/workflows", READ, workflows::list)
            .says("Workflows", "List your workflows, newest first").query(&PAGING).answers(Page("Workflow")),
        route(GET, "/v1/workflows/{workflow_id}", READ, workflows::find)
            .says("Workflows", "Read a workflow").answers(One("Workflow")).refuses(&[404]),
        route(PUT, "/v1/workflows/{workflow_id}", DEPLOY, workflows::update).after(workflows::find)
            .says("Workflows", "Activate or deactivate a workflow, or deploy its next version; what is absent stays, and runs in flight finish on their version").body(&CHANGED_WORKFLOW).answers(One("Workflow")).refuses(&[404, 409, 422, 429])
            .example(json!({"active": false})),
        route(POST, "/v1/workflows/{workflow_id}/preview", DEPLOY, workflows::preview).unaudited().after(workflows::find)
            .says("Workflows", "Say what an update would change, without making it").body(&CHANGED_WORKFLOW).answers(One("Preview")).refuses(&[404, 422, 429])
            .example(json!({"settings": {"name": "Orders", "concurrency": 2}})),
        route(DELETE, "/v1/workflows/{workflow_id}", DEPLOY, workflows::delete)
            .says("Workflows", "Delete a workflow with its runs, its triggers and the sources that were deployed for it").answers(NoContent).refuses(&[404, 409]),
        route(GET, "/v1/workflows/{workflow_id}/versions", READ, workflows::versions)
            .says("Workflows", "List the versions of a workflow, newest first").answers(List("WorkflowVersion")).refuses(&[404]),
        route(POST, "/v1/workflows/{workflow_id}/rollback", DEPLOY, workflows::rollback)
            .says("Workflows", "Deploy an earlier version once more, as the next one").body(&ROLLBACK).answers(One("Workflow")).refuses(&[404, 409, 422, 429])
            .example(json!({"version": 1})),
    ]
}

/// What workflows did.
#[rustfmt::skip]
fn workflow_runs_routes() -> Vec<Route> {
    vec![
        route(POST, "/v1/workflows/{workflow_id}/run", WRITE, workflows::run).after(workflows::find)
            .says("Workflows", "Run a workflow by hand; answers when the run has ended or is paused, or at once with `wait=false`").body(&WORKFLOW_EVENT).answers(Started("WorkflowRun")).refuses(&[404, 409, 429])
            .example(json!({"event": {"hello": "world"}})),
        route(GET, "/v1/workflows/{workflow_id}/runs", READ, workflows::runs)
            .says("Workflows", "List the runs of a workflow, newest first: those under way and the last that ended").query(&WORKFLOW_RUNS).answers(Page("WorkflowRun")).refuses(&[404]),
        route(GET, "/v1/workflows/{workflow_id}/runs/{run_id}", READ, workflows::find_run)
            .says("Workflows", "Read a run, step by step").answers(One("WorkflowRun")).refuses(&[404]),
        route(POST, "/v1/workflows/{workflow_id}/runs/{run_id}/cancel", WRITE, workflows::cancel)
            .says("Workflows", "Cancel a run that has not ended").answers(One("WorkflowRun")).refuses(&[404, 409]),
        route(POST, "/v1/workflows/{workflow_id}/runs/{run_id}/resume", WRITE, workflows::resume).after(workflows::find)
            .says("Workflows", "Resume a paused run; the body is what its step finds in `$resume_data`").any_body().answers(One("WorkflowRun")).refuses(&[404, 409])
            .example(json!({"approved": true})),
        route(POST, "/v1/workflows/{workflow_id}/runs/{run_id}/replay", WRITE, workflows::replay).after(workflows::find)
            .says("Workflows", "Run a workflow once more on the event of a run").body(&REPLAYED_RUN).answers(One("WorkflowRun")).refuses(&[404, 409, 429])
            .example(json!({"same_version": true})),
        route(GET, "/v1/resume/{user_id}/{run_id}/{key}", Public, workflows::resume_by_key)
            .says("Workflows", "Resume the step that was given this address by `$.flow.suspend`, `delay` or `rerun`; it works once").answers(One("Resumed")).refuses(&[404, 409]),
        route(POST, "/v1/resume/{user_id}/{run_id}/{key}", Public, workflows::resume_by_key).unaudited().after(workflows::find_pause)
            .says("Workflows", "The same; the body is what the step finds in `$resume_data`").any_body().answers(One("Resumed")).refuses(&[404, 409])
            .example(json!({"approved": true})),
        route(GET, "/v1/cancel/{user_id}/{run_id}/{key}", Public, workflows::cancel_by_key)
            .says("Workflows", "Cancel the run whose paused step was given this address; it works once").answers(One("Cancelled")).refuses(&[404, 409]),
        route(POST, "/v1/cancel/{user_id}/{run_id}/{key}", Public, workflows::cancel_by_key).unaudited()
            .says("Workflows", "The same").answers(One("Cancelled")).refuses(&[404, 409]),
    ]
}

/// What sources keep between their runs.
#[rustfmt::skip]
fn state_routes() -> Vec<Route> {
    vec![
        route(GET, "/v1/sources/{id}/db", READ, state::list)
            .says("State", "List the keys of a source's `db`, in their order").query(&KEYS).answers(Page("StateKey")).refuses(&[404]),
        route(GET, "/v1/sources/{id}/db/{key}", READ, state::get)
            .says("State", "Read a value of a source's `db`").answers(One("StateValue")).refuses(&[404]),
        route(PUT, "/v1/sources/{id}/db/{key}", WRITE, state::set).after(sources::find)
            .says("State", "Set a value of a source's `db`").body(&VALUE).answers(One("StateValue")).refuses(&[404, 409])
            .example(json!({"value": {"since": 1}})),
        route(DELETE, "/v1/sources/{id}/db/{key}", WRITE, state::remove)
            .says("State", "Remove a value of a source's `db`").answers(NoContent).refuses(&[404, 409]),
        route(GET, "/v1/sources/{id}/db_value", READ, state::get)
            .says("State", "Read a value of a source's `db` by a parameter, which can be any key").query(&[KEY]).answers(One("StateValue")).refuses(&[404]),
        route(PUT, "/v1/sources/{id}/db_value", WRITE, state::set).after(sources::find)
            .says("State", "Set a value of a source's `db` by a parameter, which can be any key").query(&[KEY]).body(&VALUE).answers(One("StateValue")).refuses(&[404, 409])
            .example(json!({"value": {"since": 1}})),
        route(DELETE, "/v1/sources/{id}/db_value", WRITE, state::remove)
            .says("State", "Remove a value of a source's `db` by a parameter, which can be any key").query(&[KEY]).answers(NoContent).refuses(&[404, 409]),
        route(DELETE, "/v1/sources/{id}/db", WRITE, state::clear)
            .says("State", "Remove everything that a source has stored").answers(NoContent).refuses(&[404, 409]),
    ]
}

/// Stores that sources and workflows share.
#[rustfmt::skip]
fn data_stores_routes() -> Vec<Route> {
    vec![
        route(POST, "/v1/data_stores", WRITE, data_stores::create)
            .says("Data stores", "Make a data store, which sources and workflows share").body(&DATA_STORE).answers(One("DataStore")).refuses(&[403, 409])
            .example(json!({"name": "orders"})),
        route(GET, "/v1/users/me/data_stores", READ, data_stores::list)
            .says("Data stores", "List your data stores, newest first").query(&PAGING).answers(Page("DataStore")),
        route(GET, "/v1/data_stores/{id}", READ, data_stores::find)
            .says("Data stores", "Read a data store, by its id or its name").answers(One("DataStore")).refuses(&[404]),
        route(DELETE, "/v1/data_stores/{id}", WRITE, data_stores::delete)
            .says("Data stores", "Delete a data store that no source and no workflow uses, with its records").query(&[FORCE]).answers(NoContent).refuses(&[404, 409]),
        route(GET, "/v1/data_stores/{id}/records", READ, data_stores::records)
            .says("Data stores", "List the keys of a data store, in their order").query(&KEYS).answers(Page("DataStoreKey")).refuses(&[404]),
        route(GET, "/v1/data_stores/{id}/records/{key}", READ, data_stores::get)
            .says("Data stores", "Read a record of a data store").answers(One("DataStoreRecord")).refuses(&[404]),
        route(PUT, "/v1/data_stores/{id}/records/{key}", WRITE, data_stores::set).after(data_stores::find)
            .says("Data stores", "Set a record of a data store, for a while or without an end").body(&RECORD).answers(One("DataStoreRecord")).refuses(&[404, 409])
            .example(json!({"value": {"total": 3}, "ttl_seconds": 3600})),
        route(DELETE, "/v1/data_stores/{id}/records/{key}", WRITE, data_stores::remove)
            .says("Data stores", "Remove a record of a data store").answers(NoContent).refuses(&[404, 409]),
        route(GET, "/v1/data_stores/{id}/record", READ, data_stores::get)
            .says("Data stores", "Read a record of a data store by a parameter, which can be any key").query(&[KEY]).answers(One("DataStoreRecord")).refuses(&[404]),
        route(PUT, "/v1/data_stores/{id}/record", WRITE, data_stores::set).after(data_stores::find)
            .says("Data stores", "Set a record of a data store by a parameter, which can be any key").query(&[KEY]).body(&RECORD).answers(One("DataStoreRecord")).refuses(&[404, 409])
            .example(json!({"value": {"total": 3}, "ttl_seconds": 3600})),
        route(DELETE, "/v1/data_stores/{id}/record", WRITE, data_stores::remove)
            .says("Data stores", "Remove a record of a data store by a parameter, which can be any key").query(&[KEY]).answers(NoContent).refuses(&[404, 409]),
        route(DELETE, "/v1/data_stores/{id}/records", WRITE, data_stores::clear)
            .says("Data stores", "Remove all records of a data store").answers(NoContent).refuses(&[404, 409]),
    ]
}

/// What ran, and how it went.
#[rustfmt::skip]
fn runs_routes() -> Vec<Route> {
    vec![
        route(GET, "/v1/sources/{id}/runs", READ, runs::of_source)
            .says("Runs", "List the last runs of a source, newest first").query(&RUNS).answers(Page("Run")).refuses(&[404]),
        route(GET, "/v1/runs", READ, runs::list)
            .says("Runs", "List the last runs of all your sources, workflows and components, newest first").query(&RUNS).answers(Page("Run")),
        route(GET, "/v1/runs/{id}", READ, runs::find)
            .says("Runs", "Read what a run did, what it cost and how it ended").answers(One("Run")).refuses(&[404]),
        route(POST, "/v1/runs/{id}/replay", WRITE, runs::replay).unaudited().after(runs::find)
            .says("Runs", "Run a recorded run again on what it was answered then, without effects, and compare").body(&REPLAY).answers(One("Replay")).refuses(&[404, 422, 429])
            .example(json!({})),
        route(POST, "/v1/runs/{id}/retry", WRITE, runs::retry)
            .says("Runs", "Run a source once more on the event of a recorded run, for real").answers(One("SourceRun")).refuses(&[404, 429]),
        route(POST, "/v1/sources/{id}/shadow", DEPLOY, runs::shadow).unaudited().after(sources::find)
            .says("Runs", "Run the last recorded runs of a source on new code, before anything changes").body_with(CODE_NAMES, &SHADOW).answers(One("Shadow")).refuses(&[404, 422, 429])
            .example(json!({"component_code": "module.exports = {name: \"a\", version: \"2\", run() {}}", "runs": 20})),
        route(PUT, "/v1/sources/{id}/recording", DEPLOY, runs::set_recording).after(sources::find)
            .says("Runs", "Say which runs of a source are recorded, how long records are kept, and what is not shown of them; what is absent stays").body(&RECORDING).answers(One("Source")).refuses(&[404])
            .example(json!({"mode": "all"})),
    ]
}

/// What sources and workflows emitted.
#[rustfmt::skip]
fn events_routes() -> Vec<Route> {
    vec![
        route(GET, "/v1/sources/{id}/event_summaries", READ, events::summaries)
            .says("Events", "Read the last events of a source").query(&EVENTS).answers(Page("EventSummary")).refuses(&[404]),
        route(GET, "/v1/sources/{id}/events", READ, events::list)
            .says("Events", "Read the last events of a source, in short form").query(&EVENTS).answers(Page("Event")).refuses(&[404]),
        route(GET, "/v1/sources/{id}/streams", READ, events::streams)
            .says("Events", "List the streams of a source and how many events of each are kept").answers(List("Stream")).refuses(&[404]),
        route(DELETE, "/v1/sources/{id}/events", WRITE, events::delete)
            .says("Events", "Delete events of a source, all or an inclusive range; answers before it is done").query(&EVENT_RANGE).answers(Accepted).refuses(&[404]),
        route(POST, "/v1/sources/{id}/events/{event_id}/redeliver", WRITE, events::redeliver).after(sources::find)
            .says("Events", "Deliver a kept event again, to everything that listens to its stream or to one listener").body(&REDELIVERY).answers(One("Redelivered")).refuses(&[404, 429])
            .example(json!({"listener_id": "wh_Ab12Cd34Ef56"})),
        plugged(GET, stream::ROUTE, READ)
            .says("Events", "Follow a source with server-sent events: each event that is committed while the reader is connected, in order. An event `gap` says that not all of them can be delivered, `end` that the stream is over").query(&FOLLOWED).headers(&[LAST_EVENT_ID]).answers(Events("EventSummary")).refuses(&[400, 401, 404, 429, 503]),
        plugged(GET, stream::WORKFLOW_ROUTE, READ)
            .says("Events", "Follow a workflow with server-sent events: what it emits, and what its steps give to `$.send.sse`, by their channels").query(&FOLLOWED).headers(&[LAST_EVENT_ID]).answers(Events("EventSummary")).refuses(&[400, 401, 404, 429, 503]),
        route(GET, "/v1/workflows/{workflow_id}/event_summaries", READ, workflows::events)
            .says("Events", "Read the last events that a workflow emitted").query(&EVENTS).answers(Page("EventSummary")).refuses(&[404]),
        route(GET, "/v1/workflows/{workflow_id}/$errors/event_summaries", READ, workflows::errors)
            .says("Events", "Read the last errors of a workflow").query(&EVENTS_OF_ONE_STREAM).answers(Page("EventSummary")).refuses(&[404]),
    ]
}

/// Subscriptions, auto-subscriptions and dead letters.
#[rustfmt::skip]
fn subscriptions_routes() -> Vec<Route> {
    vec![
        route(POST, "/v1/subscriptions", WRITE, subscriptions::create)
            .says("Subscriptions", "Subscribe a listener to a stream of an emitter").body(&SUBSCRIPTION).answers(One("Subscription")).refuses(&[403, 404])
            .example(json!({"emitter_id": "dc_*", "event_name": "$errors", "listener_id": "wh_Ab12Cd34Ef56"})),
        route(DELETE, "/v1/subscriptions", WRITE, subscriptions::delete)
            .says("Subscriptions", "End a subscription").query(&ENDED_SUBSCRIPTION).answers(NoContent).refuses(&[404]),
        route(GET, "/v1/users/me/subscriptions", READ, subscriptions::list)
            .says("Subscriptions", "List your subscriptions").answers(List("Subscription")),
        route(GET, "/v1/users/me/dead_letters", READ, subscriptions::list_dead_letters)
            .says("Subscriptions", "List deliveries that were given up").query(&PAGING).answers(Page("DeadLetter")),
        route(GET, "/v1/users/me/pending_deliveries", READ, webhooks::pending)
            .says("Subscriptions", "List deliveries in the queue, the next first: new ones, those that are tried again, and those of paused webhooks; of what waits in line the first").query(&PENDING).answers(List("PendingDelivery")),
        route(POST, "/v1/dead_letters/{id}/replay", WRITE, subscriptions::replay_dead_letter)
            .says("Subscriptions", "Deliver again what was given up").answers(One("Replayed")).refuses(&[404, 409]),
        route(POST, "/v1/auto_subscriptions", WRITE, subscriptions::create_auto)
            .says("Subscriptions", "Subscribe a listener to everything that is created later").body(&AUTO_SUBSCRIPTION).answers(One("Subscription")).refuses(&[403, 404])
            .example(json!({"event_name": "$errors", "listener_id": "wh_Ab12Cd34Ef56"})),
        route(DELETE, "/v1/auto_subscriptions", WRITE, subscriptions::delete_auto)
            .says("Subscriptions", "End an auto-subscription").query(&AUTO_SUBSCRIPTION).answers(NoContent).refuses(&[404]),
        route(GET, "/v1/users/me/auto_subscriptions", READ, subscriptions::list_auto)
            .says("Subscriptions", "List your auto-subscriptions").answers(List("Subscription")),
    ]
}

/// Where events are delivered to.
#[rustfmt::skip]
fn webhooks_routes() -> Vec<Route> {
    vec![
        route(POST, "/v1/webhooks", WRITE, webhooks::create)
            .says("Webhooks", "Create a webhook; its signing secret is shown this once").body(&WEBHOOK).answers(One("Webhook")).refuses(&[403, 422])
            .example(json!({"url": "https://example.com/hook", "name": "My hook"})),
        route(GET, "/v1/users/me/webhooks", READ, webhooks::list)
            .says("Webhooks", "List your webhooks, newest first").query(&PAGING).answers(Page("Webhook")),
        route(GET, "/v1/webhooks/{id}", READ, webhooks::find)
            .says("Webhooks", "Read a webhook and how deliveries to it go").answers(One("Webhook")).refuses(&[404]),
        route(PUT, "/v1/webhooks/{id}", WRITE, webhooks::update)
            .says("Webhooks", "Change a webhook, or activate it again after its receiver answered 410; its signing secret stays").body(&CHANGED_WEBHOOK).answers(One("Webhook")).refuses(&[404, 409, 422])
            .example(json!({"active": true})),
        route(GET, "/v1/webhooks/{id}/deliveries", READ, webhooks::deliveries)
            .says("Webhooks", "List the last attempts to deliver to a webhook, newest first, also while they fail").query(&EVENT_PAGING).answers(Page("DeliveryAttempt")).refuses(&[404]),
        route(POST, "/v1/webhooks/{id}/test", WRITE, webhooks::test)
            .says("Webhooks", "Post a signed test event to a webhook now, once, and say what it answered; also while it is paused or inactive").answers(One("DeliveryAttempt")).refuses(&[404]),
        route(POST, "/v1/webhooks/{id}/pause", WRITE, webhooks::pause)
            .says("Webhooks", "Hold deliveries to a webhook in the queue, in their order").answers(One("Webhook")).refuses(&[404, 409]),
        route(POST, "/v1/webhooks/{id}/resume", WRITE, webhooks::resume)
            .says("Webhooks", "Go on with the deliveries to a webhook that was paused").answers(One("Webhook")).refuses(&[404, 409]),
        route(POST, "/v1/webhooks/{id}/rotate_secret", WRITE, webhooks::rotate_secret)
            .says("Webhooks", "Make a new signing secret, shown this once; for the time of the overlap deliveries are signed with the one before as well").body(&ROTATED_SECRET).answers(One("Webhook")).refuses(&[404, 409])
            .example(json!({"overlap_seconds": 3600})),
        route(DELETE, "/v1/webhooks/{id}", WRITE, webhooks::delete)
            .says("Webhooks", "Delete a webhook and its subscriptions").answers(NoContent).refuses(&[404]),
    ]
}

/// What services call: any method, any path below the key, any body. OpenAPI has a word for none of these, so two methods
/// stand for all.
#[rustfmt::skip]
fn endpoint_routes() -> Vec<Route> {
    const REFUSALS: [u16; 8] = [404, 408, 413, 415, 429, 500, 503, 504];
    vec![
        plugged(GET, ingress::ROUTE, Public)
            .says("Endpoints", "Trigger a source. Every method and every path below the key reach it; without a custom response the answer is `{\"success\": true}` once the request is durable").answers(Anything).refuses(&REFUSALS),
        plugged(POST, ingress::ROUTE, Public)
            .says("Endpoints", "Trigger a source with a body of any type").any_body().answers(Anything).refuses(&REFUSALS)
            .example(json!({"hello": "world"})),
    ]
}
