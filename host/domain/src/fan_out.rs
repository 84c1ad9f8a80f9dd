//! Bounds what one trigger from outside may cause: sources and workflows run each other, in depth and in breadth.
//!
//! Each trigger has a budget of deliveries. A run divides what is left equally among the deliveries it causes, so that all
//! of them together, however they branch, never exceed the budget, and nothing has to be counted in one place.

use serde::{Deserialize, Serialize};

use crate::trace::{SpanId, TraceContext, TraceId};

/// Sources and workflows that run each other; a chain this long is a loop.
pub const DEPTH_MAXIMUM: u32 = 16;

/// What a run or a delivery goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// How many runs have caused each other to get here; 0 when the trigger came from outside.
    pub depth: u32,
    /// Deliveries that may still come of this one.
    #[serde(default = "unknown_budget")]
    pub budget: u32,
    /// Of the trigger that all this goes back to.
    #[serde(default, skip_serializing_if = "TraceId::is_none")]
    pub trace_id: TraceId,
    /// The step of the trace that caused this directly, when steps are recorded.
    #[serde(default, skip_serializing_if = "SpanId::is_none")]
    pub span_id: SpanId,
}

/// The deliveries of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// So many of them may be made.
    pub allowed: usize,
    /// What each of them goes back to.
    pub each: Cause,
}

// === impl Cause ===

impl Cause {
    /// A trigger from outside.
    pub fn outside(budget: usize, TraceContext { trace_id, span_id }: TraceContext) -> Self {
        Self { depth: 0, budget: u32::try_from(budget).unwrap_or(u32::MAX), trace_id, span_id }
    }

    pub fn context(self) -> TraceContext {
        TraceContext { trace_id: self.trace_id, span_id: self.span_id }
    }

    pub fn is_loop(self) -> bool {
        self.depth >= DEPTH_MAXIMUM
    }

    /// That of a run which a delivery started.
    #[must_use]
    pub fn deeper(self) -> Self {
        Self { depth: self.depth.saturating_add(1), ..self }
    }

    /// Divides the budget among as many deliveries.
    pub fn split(self, deliveries: usize) -> Split {
        let allowed = deliveries.min(self.budget as usize);
        let taken = u32::try_from(allowed).unwrap_or(u32::MAX);
        let budget = (self.budget - taken).checked_div(taken).unwrap_or(0);
        Split { allowed, each: Self { budget, ..self } }
    }
}

/// Of deliveries that were queued before there were budgets.
fn unknown_budget() -> u32 {
    1000
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cause(budget: u32) -> Cause {
        Cause { depth: 3, ..Cause::outside(budget as usize, TraceContext::default()) }
    }

    #[test]
    fn a_budget_is_divided_among_deliveries() {
        for (budget, deliveries, allowed, each) in
            [(10, 0, 0, 0), (10, 1, 1, 9), (10, 2, 2, 4), (10, 3, 3, 2), (10, 10, 10, 0), (10, 11, 10, 0), (0, 5, 0, 0)]
        {
            let split = cause(budget).split(deliveries);
            assert_eq!((split.allowed, split.each), (allowed, cause(each)), "{budget} among {deliveries}");
        }
    }

    #[test]
    fn a_chain_ends_by_its_depth_and_not_by_its_budget() {
        let mut cause = Cause::outside(100_000, TraceContext::default());
        let mut runs = 0;
        while !cause.is_loop() {
            cause = cause.split(1).each.deeper();
            runs += 1;
        }

        assert_eq!((runs, cause.budget), (DEPTH_MAXIMUM, 100_000 - DEPTH_MAXIMUM));
    }

    #[test]
    fn deliveries_of_an_older_version_are_read() {
        let read: Cause = serde_json::from_str(r#"{"depth": 2}"#).unwrap();

        assert_eq!(read, Cause { depth: 2, ..Cause::outside(1000, TraceContext::default()) });
    }

    /// All deliveries that come of a cause when each run makes as many as `wanted` says.
    fn total(cause: Cause, wanted: &[usize]) -> usize {
        let Some((first, rest)) = wanted.split_first() else { return 0 };
        let Split { allowed, each } = cause.split(*first);
        allowed + allowed * total(each.deeper(), rest)
    }

    proptest! {
        #[test]
        fn however_it_branches_a_trigger_never_exceeds_its_budget(
            budget in 0_usize..1_000_000,
            wanted in proptest::collection::vec(0_usize..2000, 0..16),
        ) {
            prop_assert!(total(Cause::outside(budget, TraceContext::default()), &wanted) <= budget);
        }
    }
}
