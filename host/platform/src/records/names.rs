//! Every name the platform uses in the store.
//!
//! | where | name | what |
//! |---|---|---|
//! | tenant | `u_…` | everything of one account |
//! | tenant | `operator` | users, apps, the registry |
//! | tenant | `packages` | texts of npm packages, shared by all tenants |
//! | directory | `key/<sha-256 of an API key>` | whose key it is |
//! | directory | `session/<sha-256 of a token>` | whose session or one-time link it is |
//! | directory | `connect/<sha-256 of a link or a state>` | whose connecting of an account it is |
//! | directory | `endpoint/<key>` | which source or workflow answers there |
//! | directory | `username/<name>`, `email/<address>` | taken |
//! | stream | a channel, `$errors`, `$logs` of an emitter | what it emitted |
//! | stream | `$runs` of an emitter | the records of its runs |
//! | stream | `$workflow_runs` of a workflow | its runs that have ended, step by step |
//! | stream | `default` of `$recordings` | recorded runs of a tenant |
//! | stream | `$deliveries` of a webhook | attempts to deliver to it |
//! | stream | `done`, `refused` of `$audit` | the audit log, of a tenant and of all |
//! | scope | `db/<source>`, `db/<component>`, `db/<workflow>/<step>` | the values of `$.service.db` |
//! | scope | `data/<data store>` | the values of a data store |
//! | scope | `holders/<digest>` of `packages` | the tenants that hold a package text |
//! | scope | `upgrades` of `operator` | conversions of stored data that are done |
//! | counter | `compute_ms/<day>`, `invocations/<day>`, `invocations/period/<start>` | usage |
//! | counter | `emails/<day>` | recipients of e-mail |
//! | counter | `reported/<code>/<day>` | whether a refusal was reported |
//! | counter | `queued_runs/<workflow>`, `throttle/<workflow>/<window>` | runs that wait, runs that began |
//! | timer | `<source>/<prop>`, `<workflow>/<trigger>` | a schedule |
//! | timer | `run/<run>` | when a paused run goes on |
//! | timer | `data/<data store>/<hour>` | when values that expire in this hour are removed |

use domain::ids::{ComponentId, DataStoreId, EndpointKey, RunId, SourceId, UserId, WorkflowId};
use store::Tenant;

pub const DEFAULT: &str = "default";
pub const ERRORS: &str = "$errors";
pub const LOGS: &str = "$logs";
/// Records of runs. Not a stream of events: it is read by routes of its own.
pub const RUNS: &str = "$runs";
/// What an account's recorded runs are replayed from: an emitter of its own, with one stream.
pub const RECORDINGS: &str = "$recordings";
/// Runs of a workflow that have ended, with what each step did.
pub const WORKFLOW_RUNS: &str = "$workflow_runs";
/// Attempts to deliver, of a webhook.
pub const DELIVERIES: &str = "$deliveries";
/// Conversions of stored data that are done, of the operator's.
pub const UPGRADES: &str = "upgrades";
/// One of them: no program holds the modules of its packages.
pub const PROGRAMS_BY_PACKAGE: &str = "programs_by_package";

/// The tenant of what belongs to the installation. Ids of users have another shape.
#[expect(clippy::expect_used, reason = "the text is a valid tenant")]
pub fn operator() -> Tenant {
    Tenant::parse("operator").expect("letters only")
}

/// The tenant of what all tenants share: texts of packages, which are read through the references of a program only.
#[expect(clippy::expect_used, reason = "the text is a valid tenant")]
pub fn packages() -> Tenant {
    Tenant::parse("packages").expect("letters only")
}

#[expect(clippy::expect_used, reason = "an id of a user is 14 letters, digits and one underscore")]
pub fn tenant(user: &UserId) -> Tenant {
    Tenant::parse(user.as_str()).expect("ids of users are valid tenants")
}

pub fn api_key(hash: &str) -> String {
    format!("key/{hash}")
}

pub fn session(hash: &str) -> String {
    format!("session/{hash}")
}

/// Of the token in a link, or of the `state` of a visit to a provider.
pub fn connect(hash: &str) -> String {
    format!("connect/{hash}")
}

pub fn endpoint(key: &EndpointKey) -> String {
    format!("endpoint/{key}")
}

pub fn username(name: &str) -> String {
    format!("username/{}", name.to_lowercase())
}

pub fn email(address: &str) -> String {
    format!("email/{}", address.to_lowercase())
}

/// Of a package text.
pub fn holders(digest: &str) -> String {
    format!("holders/{digest}")
}

/// Of an emitter: a source, or a component that is run by hand.
pub fn db_of(id: &str) -> String {
    format!("db/{id}")
}

pub fn db(source: &SourceId) -> String {
    db_of(source.as_str())
}

/// Of an action that is run by hand.
pub fn db_of_component(component: &ComponentId) -> String {
    db_of(component.as_str())
}

pub fn db_of_step(workflow: &WorkflowId, step: &str) -> String {
    format!("db/{workflow}/{step}")
}

/// What stands before the ids of all data stores.
pub const DATA: &str = "data/";

pub fn data_store(id: &str) -> String {
    format!("{DATA}{id}")
}

/// When the values of a data store that expire in an hour are removed.
pub fn expiry_timer(id: &DataStoreId, hour: u64) -> String {
    format!("{DATA}{id}/{hour}")
}

pub fn timer(source: &SourceId, prop: &str) -> String {
    format!("{source}/{prop}")
}

pub fn workflow_timer(workflow: &WorkflowId, trigger: &str) -> String {
    format!("{workflow}/{trigger}")
}

/// When a paused run goes on by itself.
pub fn run_timer(run: &RunId) -> String {
    format!("run/{run}")
}

/// Counts the runs of a workflow that began in a window of time.
pub fn throttle(workflow: &WorkflowId, window: u64) -> String {
    format!("throttle/{workflow}/{window}")
}

/// What the names of the counters of a day begin with.
pub const COMPUTE: &str = "compute_ms";
pub const INVOCATIONS: &str = "invocations";

pub fn compute_of_day(day_start_ms: i64) -> String {
    format!("{COMPUTE}/{day_start_ms}")
}

pub fn invocations_of_day(day_start_ms: i64) -> String {
    format!("{INVOCATIONS}/{day_start_ms}")
}

pub fn emails_of_day(day_start_ms: i64) -> String {
    format!("emails/{day_start_ms}")
}

/// Counts reports that the quota of a day is used up, of which there is to be one.
pub fn reported(code: &str, day_start_ms: i64) -> String {
    format!("reported/{code}/{day_start_ms}")
}

pub fn invocations_of_period(period_start_ms: i64) -> String {
    format!("invocations/period/{period_start_ms}")
}
