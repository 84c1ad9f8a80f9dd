//! One suite for every engine: what is promised in the traits, proven here.
//!
//! Each theme is a file of plain functions over a [`World`]; the macro makes one test of each per
//! engine. Each world has a store of its own: a new file, or a new namespace of one shared server.

pub(crate) mod certificates;
mod jobs;
pub(crate) mod model;
mod records;
pub(crate) mod servers;
mod state;
mod streams;
mod timers;
mod whole;

use std::sync::{Arc, LazyLock};

use bytes::Bytes;

use crate::{
    Batch, CommitError, Committed, Enqueue, EntryRef, Job, JobLease, Join, JoinError, Joined, LeaseRequest, Leased,
    Load, Op, Part, Partition, Precondition, Shares, Store, Tenant,
};

/// A store of this test alone, and two tenants that share a partition.
pub(crate) struct World {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tenant: Tenant,
    pub(crate) neighbour: Tenant,
    /// What must outlive the store: a folder, a server.
    _keep: Box<dyn std::any::Any + Send + Sync>,
}

impl World {
    pub(crate) fn new(store: Arc<dyn Store>, keep: impl std::any::Any + Send + Sync) -> Self {
        let count = store.partitions();
        let tenant = Tenant::parse("u_a").unwrap();
        let neighbour = (0..)
            .map(|number| Tenant::parse(&format!("u_b{number}")).unwrap())
            .find(|other| other.partition(count) == tenant.partition(count))
            .unwrap();
        Self { store, tenant, neighbour, _keep: Box::new(keep) }
    }

    pub(crate) fn batch(&self, now_ms: u64) -> Batch {
        Batch::new(&self.tenant, now_ms)
    }

    pub(crate) async fn commit(&self, operations: Vec<Op>) -> Committed {
        self.try_commit(1000, vec![], operations).await.unwrap()
    }

    pub(crate) async fn try_commit(
        &self,
        now_ms: u64,
        preconditions: Vec<Precondition>,
        operations: Vec<Op>,
    ) -> Result<Committed, CommitError> {
        let mut batch = self.batch(now_ms);
        batch.preconditions = preconditions;
        batch.operations = operations;
        self.store.commit(batch).await
    }

    pub(crate) async fn lease(&self, now_ms: u64, max: u32) -> Leased<Job> {
        self.lease_shares(now_ms, max, Shares::default()).await
    }

    pub(crate) async fn lease_shares(&self, now_ms: u64, max: u32, shares: Shares) -> Leased<Job> {
        let request = LeaseRequest { now_ms, lease_ms: 100, max };
        self.store.lease_jobs(&self.partition(), request, shares).await.unwrap()
    }

    /// Without the size of the store, which each engine counts differently.
    pub(crate) async fn load(&self, now_ms: u64) -> Load {
        Load { size_bytes: None, ..self.store.load(now_ms).await.unwrap() }
    }

    pub(crate) fn partition(&self) -> Vec<Partition> {
        vec![self.tenant.partition(self.store.partitions())]
    }
}

pub(crate) fn text(value: &str) -> Bytes {
    Bytes::copy_from_slice(value.as_bytes())
}

/// Joined to `<a b>`; of nothing no value can be made.
pub(crate) fn part(emitter: &str, content: &str, keep: u32) -> Part {
    part_of_group("group", emitter, content, keep)
}

pub(crate) fn part_of_group(group: &str, emitter: &str, content: &str, keep: u32) -> Part {
    static BRACKETS: LazyLock<Arc<Brackets>> = LazyLock::new(|| Arc::new(Brackets));
    let (emitter, group) = (emitter.to_owned().into(), group.to_owned());
    let of = Joined { emitter, stream: "default".into(), group, keep, join: BRACKETS.clone() };
    Part { of: Arc::new(of), content: text(content) }
}

/// The parts of such a value.
pub(crate) fn brackets(value: &str) -> Vec<&str> {
    value.trim_matches(['<', '>']).split(' ').collect()
}

struct Brackets;

impl Join for Brackets {
    fn join(&self, _: &Tenant, parts: &[Bytes]) -> Result<Bytes, JoinError> {
        let parts: Vec<&str> = parts.iter().map(|part| std::str::from_utf8(part)).collect::<Result<_, _>>()?;
        if parts.contains(&"") {
            return Err("a part is empty".into());
        }
        Ok(format!("<{}>", parts.join(" ")).into())
    }
}

pub(crate) fn job(lane: Option<&str>, due_ms: u64, payload: &str) -> Op {
    Op::Enqueue(Enqueue {
        lane: lane.map(Into::into),
        due_ms,
        payload: text(payload),
        entry: None,
        held_until_ms: None,
    })
}

pub(crate) fn job_about(entry: EntryRef, payload: &str) -> Op {
    Op::Enqueue(Enqueue { lane: None, due_ms: 0, payload: text(payload), entry: Some(entry), held_until_ms: None })
}

pub(crate) fn payloads(leased: &Leased<Job>) -> Vec<String> {
    leased.items.iter().map(|job| String::from_utf8(job.payload.to_vec()).unwrap()).collect()
}

pub(crate) fn leases(leased: &Leased<Job>) -> Vec<JobLease> {
    leased.items.iter().map(|job| job.lease).collect()
}

macro_rules! suite {
    ($engine:ident, $world:path, [$($theme:ident :: $test:ident,)*]) => {
        mod $engine {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                crate::contract::$theme::$test($world().await).await;
            })*
        }
    };
}

macro_rules! contract {
    ($($engine:ident => $world:path),* $(,)?) => {
        $(suite!($engine, $world, [
            records::a_record_is_created_replaced_and_deleted,
            records::lists_are_newest_first_and_page_both_ways,
            records::a_page_holds_at_most_a_thousand_records,
            records::an_alias_belongs_to_one_record_at_a_time,
            records::an_alias_moves_within_one_batch,
            records::preconditions_name_the_one_that_does_not_hold,
            records::a_list_is_as_it_was_until_a_record_is_added_or_deleted,
            records::nothing_of_another_tenant_is_ever_seen,
            streams::ids_increase_over_all_streams_of_an_emitter,
            streams::a_stream_keeps_its_newest_entries,
            streams::entries_are_read_both_ways_from_any_id,
            streams::a_range_is_deleted_in_bounded_steps,
            streams::ids_go_on_after_everything_was_deleted,
            streams::a_dropped_emitter_leaves_nothing,
            streams::a_reader_gets_everything_that_is_committed_whatever_is_kept,
            streams::readers_see_commits_in_their_order,
            streams::a_reader_that_is_too_slow_is_told,
            streams::the_last_entry_is_known_when_it_is_gone,
            streams::parts_of_entries_are_never_stored_as_they_are,
            streams::a_refused_batch_leaves_no_part_of_an_entry,
            state::values_are_set_read_and_removed,
            state::keys_are_listed_in_their_order,
            state::a_scope_is_filled_to_its_cap_and_not_beyond,
            state::a_scope_over_its_cap_may_shrink,
            state::a_scope_is_cleared_in_bounded_steps,
            state::a_batch_requires_the_values_that_were_read,
            state::a_locked_value_is_written_by_its_owner_alone,
            state::a_lock_ends_with_its_time_or_its_unlock,
            state::counters_add_up_and_saturate,
            state::a_counter_below_its_limit_lets_a_batch_through,
            state::directory_entries_are_put_claimed_and_removed,
            jobs::a_job_is_leased_once_and_gone_when_acknowledged,
            jobs::a_job_is_not_leased_before_it_is_due,
            jobs::a_job_that_its_host_holds_is_leased_when_the_hold_ends,
            jobs::an_expired_lease_makes_the_job_available_again,
            jobs::late_work_counts_while_it_was_not_repeated,
            jobs::a_lease_can_be_extended_and_given_back,
            jobs::leases_that_are_extended_at_once_are_each_extended,
            jobs::of_many_tenants_that_wait_the_earliest_is_when_to_ask_again,
            jobs::a_lane_runs_in_order_of_arrival,
            jobs::a_retry_keeps_or_leaves_its_lane,
            jobs::a_tenant_is_given_no_more_than_its_share,
            jobs::a_tenant_without_a_share_is_no_reason_to_ask_again_when_its_job_is_held_longer,
            jobs::what_waits_is_shown_by_its_time_with_how_many_wait_behind_it,
            jobs::a_queue_is_filled_to_its_bound_and_not_beyond,
            jobs::a_tenant_without_a_share_is_not_waited_for,
            jobs::the_load_tells_what_waits_and_since_when,
            jobs::tenants_take_turns,
            jobs::a_job_knows_the_entry_of_its_batch,
            jobs::a_lease_call_gives_at_most_a_thousand_jobs,
            jobs::a_lease_of_another_tenant_does_not_count,
            jobs::a_backlog_in_one_partition_does_not_hold_up_the_others,
            timers::a_timer_ticks_once_and_is_set_again,
            timers::a_timer_that_was_replaced_refuses_its_old_tick,
            timers::two_hosts_never_work_on_the_same_tick,
            whole::a_refused_batch_leaves_nothing_behind,
            whole::the_same_lease_cannot_be_settled_twice_in_a_batch,
            whole::concurrent_commits_all_count,
            whole::one_of_many_creators_wins,
            whole::work_wakes_the_workers,
            whole::what_a_tenant_keeps_is_measured,
            whole::binary_values_and_odd_names_survive,
            whole::a_batch_of_the_greatest_size_is_applied,
            model::random_batches_do_what_the_model_does,
        ]);)*
    };
}

contract! {
    memory => crate::contract::servers::memory,
    embedded => crate::contract::servers::embedded,
    redis => crate::contract::servers::redis,
    cluster => crate::contract::servers::cluster,
    postgres => crate::contract::servers::postgres,
}
