//! Timers: each tick is leased by one host, runs its source, and is finished in the batch that holds what the run did.
//!
//! A leased tick is not leased again, so a timer never overlaps itself. The next one is
//! counted from when the run ended: what was missed meanwhile, or while everything was down, is made up for once.

use domain::runs::{Trigger, TriggerKind};
use domain::timers::Schedule;
use store::{Lease, Op, Tick};

use super::admit::Permit;
use super::handle::Flow;
use super::work::{Completion, QueuedRun, TIMER};
use crate::Error;
use crate::data_stores;
use crate::invoke::Frame;
use crate::records::{self, Timer};
use crate::watching::watch;

/// A tick of a tenant whose queue is full looks again after this.
const QUEUE_LOOK_MS: u64 = 1000;

// === impl Flow ===

impl Flow {
    pub(crate) async fn perform_tick(&self, tick: &Tick, admission: Result<Permit, u64>) {
        let lease = Lease::from(tick.lease.clone());
        let work = self.renewing_lease(&tick.tenant, &lease, self.run_tick(tick));
        let ended = self.admitted(&tick.tenant, admission, watch(TIMER, Box::pin(work))).await;
        self.complete(&tick.tenant, &lease, ended).await;
    }

    async fn run_tick(&self, tick: &Tick) -> Result<Completion, Error> {
        match records::Tick::decode(&tick.schedule)? {
            records::Tick::Source(timer) => self.run_timer(tick, timer).await,
            records::Tick::Workflow { workflow, trigger } => self.tick_workflow(tick, &workflow, &trigger).await,
            records::Tick::Run { run } => self.wake_run(tick, &run).await,
            records::Tick::DataStore { data_store } => {
                data_stores::remove_expired(&self.platform, &tick.tenant, &data_store).await?;
                self.end_timer(tick).await
            }
        }
    }

    async fn run_timer(&self, tick: &Tick, timer: Timer) -> Result<Completion, Error> {
        let source = self.source(&tick.tenant, &timer.source).await?.filter(|source| source.is_active);
        let minimum = self.platform.config.limits.interval_seconds_minimum;
        let (Some(source), Ok(schedule)) = (source, Schedule::parse(&timer.schedule, minimum)) else {
            return self.end_timer(tick).await;
        };
        // What the tick would cause has no room: it is late, and not lost.
        if self.platform.check_queue(&tick.tenant).is_err() {
            return Ok(Completion::Released { until_ms: self.platform.clock.now_ms().saturating_add(QUEUE_LOOK_MS) });
        }
        let event = schedule.event(self.platform.clock.instant_ms()).into();
        let run = QueuedRun {
            tenant: &tick.tenant,
            source: &source,
            event,
            trigger: Trigger { kind: TriggerKind::Timer, id: Some(timer.prop) },
            queued_at_ms: tick.due_ms,
            frame: Frame::outside(&self.platform),
        };
        let due_ms = i64::try_from(tick.due_ms).unwrap_or(i64::MAX);
        self.run_queued(run, |now_ms| {
            let next_due_ms = schedule.following(due_ms, now_ms).and_then(|at_ms| u64::try_from(at_ms).ok());
            vec![Op::FinishTick { lease: tick.lease.clone(), next_due_ms }]
        })
        .await
    }

    /// The source is gone or switched off, and its timer was left behind.
    pub(super) async fn end_timer(&self, tick: &Tick) -> Result<Completion, Error> {
        let finish = Op::FinishTick { lease: tick.lease.clone(), next_due_ms: None };
        self.platform.store.commit(self.platform.batch(&tick.tenant).then(finish)).await?;
        Ok(Completion::Committed)
    }
}
