//! What the platform counts of its own work, for the operator. Nothing here names a tenant or what one owns.

use std::time::Duration;

use domain::outcome::Usage;
use domain::retry::Verdict;
use domain::runs::TriggerKind;
use domain::users::QuotaError;
use metrics::{Counter, Family, Histogram, MICROSECONDS, Sample, Table};
use store::Load;
use tokio::sync::Mutex;

use crate::Platform;

/// A run that ended well; any other outcome is the code of its fault.
pub(crate) const SUCCESS: &str = "success";

/// Those of `domain::outcome::Fault`, and `other` for what a workflow's steps can end with besides.
const OUTCOMES: [&str; 11] = [
    SUCCESS,
    "threw",
    "out_of_fuel",
    "deadline",
    "out_of_memory",
    "too_much_output",
    "account_not_found",
    "diverged",
    "recording_ended",
    "trap",
    "other",
];

const TRIGGERS: usize = TriggerKind::ALL.len();

/// How long a look at the store's load is good for: scrapes of several operators cost no more than those of one.
const LOOK_EVERY_MS: u64 = 5000;
/// A scrape is answered without what the store did not tell in time.
const LOOK_TIMEOUT: Duration = Duration::from_secs(2);

/// What deliveries go to, as a label.
#[derive(Clone, Copy)]
pub(crate) enum Destination {
    Webhook,
    Source,
    Workflow,
    /// `$.send.http`.
    Http,
    /// `$.send.email`.
    Email,
    /// `$.send.s3`.
    S3,
}

/// Why something was refused that no shared resource is short of.
#[derive(Clone, Copy)]
pub(crate) enum Refused {
    EndpointRate,
    TenantRate,
    StoredBytes,
    QueuedJobs,
    ComputeTime,
    Invocations,
}

/// What came of asking a provider for new tokens, or of a service that refused credentials which cannot be refreshed.
#[derive(Clone, Copy)]
pub(crate) enum Refreshed {
    /// The account has new tokens.
    Renewed,
    /// It may succeed later.
    Failed,
    /// The grant is over, and the account with it.
    Ended,
    /// The account is over without a refresh.
    Refused,
}

pub(crate) struct Numbers {
    runs: Table<TRIGGERS, 11>,
    run_seconds: [Histogram; TRIGGERS],
    queue_seconds: [Histogram; TRIGGERS],
    fuel: Counter,
    cpu_us: Counter,
    events: Counter,
    deliveries: Table<6, 3>,
    refusals: Table<6, 1>,
    refreshes: [Counter; Refreshed::ALL.len()],
    load: Mutex<Option<Looked>>,
}

/// A run that was committed.
pub(crate) struct EndedRun<'a> {
    pub(crate) trigger: TriggerKind,
    pub(crate) outcome: &'a str,
    pub(crate) queued_at_ms: u64,
    pub(crate) ended_at_ms: u64,
    pub(crate) usage: Usage,
    pub(crate) events: usize,
}

#[derive(Clone, Copy)]
struct Looked {
    at_ms: u64,
    /// None when the store did not answer.
    load: Option<Load>,
}

// === impl Numbers ===

impl Default for Numbers {
    fn default() -> Self {
        let kinds = ["endpoint_rate", "tenant_rate", "stored_bytes", "queued_jobs", "compute_time", "invocations"];
        Self {
            runs: Table::new(["trigger", "outcome"], TriggerKind::ALL.map(TriggerKind::as_str), OUTCOMES),
            run_seconds: std::array::from_fn(|_| Histogram::of_seconds()),
            queue_seconds: std::array::from_fn(|_| Histogram::of_seconds()),
            fuel: Counter::new(),
            cpu_us: Counter::new(),
            events: Counter::new(),
            deliveries: Table::new(
                ["destination", "state"],
                ["webhook", "source", "workflow", "http", "email", "s3"],
                ["delivered", "failed", "given_up"],
            ),
            refusals: Table::new(["kind", "scope"], kinds, ["tenant"]),
            refreshes: std::array::from_fn(|_| Counter::new()),
            load: Mutex::default(),
        }
    }
}

impl Numbers {
    pub(crate) fn ran(&self, run: &EndedRun<'_>) {
        let trigger = run.trigger.as_str();
        self.runs.increment(trigger, run.outcome);
        let wall_clock = run.usage.wall_clock;
        let total = Duration::from_millis(run.ended_at_ms.saturating_sub(run.queued_at_ms));
        let place = TriggerKind::ALL.iter().position(|kind| *kind == run.trigger).unwrap_or_default();
        if let (Some(took), Some(waited)) = (self.run_seconds.get(place), self.queue_seconds.get(place)) {
            took.observe_time(wall_clock);
            waited.observe_time(total.saturating_sub(wall_clock));
        }
        self.fuel.add(run.usage.fuel);
        self.cpu_us.add(u64::try_from(run.usage.cpu.as_micros()).unwrap_or(u64::MAX));
        self.events.add(run.events as u64);
    }

    /// One attempt of a delivery; see also `Platform::note_attempt`.
    pub(crate) fn delivered(&self, destination: Destination, verdict: Verdict) {
        let state = match verdict {
            Verdict::Delivered => "delivered",
            Verdict::Retry { .. } => "failed",
            Verdict::Dead | Verdict::Deactivate => "given_up",
        };
        self.deliveries.increment(destination.as_str(), state);
    }

    /// An attempt that failed for a reason of the host's own, and is made again.
    pub(crate) fn delivery_failed(&self, destination: Destination) {
        self.deliveries.increment(destination.as_str(), "failed");
    }

    pub(crate) fn refreshed(&self, outcome: Refreshed) {
        if let Some(counter) = self.refreshes.get(outcome as usize) {
            counter.increment();
        }
    }

    pub(crate) fn refused(&self, refused: Refused) {
        self.refusals.increment(refused.as_str(), "tenant");
    }

    #[expect(clippy::cast_precision_loss, reason = "what is shown is a floating point number")]
    fn families(&self) -> Vec<Family> {
        let by_trigger = |histograms: &[Histogram; TRIGGERS]| {
            let sample = |(kind, histogram): (TriggerKind, &Histogram)| Sample {
                labels: vec![("trigger", kind.as_str())],
                value: histogram.read(MICROSECONDS),
            };
            TriggerKind::ALL.into_iter().zip(histograms).map(sample).collect::<Vec<_>>()
        };
        vec![
            self.runs.family("wellspring_runs", "Runs that were committed, by trigger and how they ended"),
            Family::histogram("wellspring_run_seconds", "Time of a run in its sandbox, all attempts of it")
                .with(by_trigger(&self.run_seconds)),
            Family::histogram("wellspring_run_queue_seconds", "Time from a trigger to the start of its run")
                .with(by_trigger(&self.queue_seconds)),
            Family::counter("wellspring_run_fuel", "Fuel that runs used, about one for each instruction")
                .sample(&[], self.fuel.read()),
            Family::counter("wellspring_run_cpu_seconds", "CPU time that runs used")
                .sample(&[], self.cpu_us.read() as f64 / MICROSECONDS),
            Family::counter("wellspring_events", "Events that runs emitted").sample(&[], self.events.read()),
            self.deliveries.family("wellspring_deliveries", "Attempts of deliveries, by destination and how they went"),
            Refreshed::ALL.into_iter().zip(&self.refreshes).fold(
                Family::counter("wellspring_token_refreshes", "Refreshes of connected accounts, by how they ended"),
                |family, (outcome, counter)| family.sample(&[("outcome", outcome.as_str())], counter.read()),
            ),
            self.refusals.family("wellspring_refusals", "What was refused because a bound was reached, by its name"),
        ]
    }
}

// === impl Platform ===

impl Platform {
    /// Everything that the platform and its store can tell of themselves. Cheap: what would take a look at the store is
    /// looked at every few seconds, however often this is asked for.
    pub async fn families(&self) -> Vec<Family> {
        let mut families = self.numbers.families();
        families.extend(self.pools().families());
        families.extend(self.programs.families());
        families.extend(self.linker.families());
        families.extend(self.listeners().families());
        families.extend(self.store.families());
        families.extend(of_load(self.look().await));
        families
    }

    async fn look(&self) -> Looked {
        let mut held = self.numbers.load.lock().await;
        let now_ms = self.clock.now_ms();
        match *held {
            Some(looked) if now_ms.saturating_sub(looked.at_ms) < LOOK_EVERY_MS => looked,
            _ => {
                let load = tokio::time::timeout(LOOK_TIMEOUT, self.store.load(now_ms)).await;
                let looked = Looked { at_ms: now_ms, load: load.ok().and_then(Result::ok) };
                *held = Some(looked);
                looked
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "what is shown is a floating point number")]
fn of_load(Looked { at_ms, load }: Looked) -> Vec<Family> {
    let is_up = Family::gauge("wellspring_store_up", "Whether the store answered when it was last looked at");
    let Some(load) = load else { return vec![is_up.sample(&[], 0)] };
    let age = |since_ms: Option<u64>| {
        let age_ms = since_ms.map_or(0, |since_ms| at_ms.saturating_sub(since_ms));
        age_ms as f64 / 1000.0
    };
    let mut families = vec![
        is_up.sample(&[], 1),
        Family::gauge("wellspring_jobs", "Jobs in the queue: due, to be tried again later, or being worked on")
            .sample(&[], load.jobs),
        Family::gauge("wellspring_jobs_oldest_seconds", "How long the longest waiting job could have been worked on")
            .sample(&[], age(load.oldest_job_ms)),
        Family::gauge("wellspring_timers", "Timers of all sources").sample(&[], load.timers),
        Family::gauge("wellspring_timers_lag_seconds", "How late the most overdue tick is that has not begun")
            .sample(&[], age(load.oldest_tick_ms)),
    ];
    if let Some(size_bytes) = load.size_bytes {
        let help = "What the store takes: its files, or the memory of Redis";
        families.push(Family::gauge("wellspring_store_bytes", help).sample(&[], size_bytes));
    }
    families
}

// === impl Destination ===

impl Destination {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Source => "source",
            Self::Workflow => "workflow",
            Self::Http => "http",
            Self::Email => "email",
            Self::S3 => "s3",
        }
    }
}

// === impl Refreshed ===

impl Refreshed {
    /// In the order of their values.
    const ALL: [Self; 4] = [Self::Renewed, Self::Failed, Self::Ended, Self::Refused];

    fn as_str(self) -> &'static str {
        match self {
            Self::Renewed => "renewed",
            Self::Failed => "failed",
            Self::Ended => "ended",
            Self::Refused => "refused",
        }
    }
}

// === impl Refused ===

impl Refused {
    fn as_str(self) -> &'static str {
        match self {
            Self::EndpointRate => "endpoint_rate",
            Self::TenantRate => "tenant_rate",
            Self::StoredBytes => "stored_bytes",
            Self::QueuedJobs => "queued_jobs",
            Self::ComputeTime => "compute_time",
            Self::Invocations => "invocations",
        }
    }
}

impl From<&QuotaError> for Refused {
    fn from(quota: &QuotaError) -> Self {
        match quota {
            QuotaError::ComputeTime { .. } => Self::ComputeTime,
            QuotaError::Invocations { .. } => Self::Invocations,
        }
    }
}
