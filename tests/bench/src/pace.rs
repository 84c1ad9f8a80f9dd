//! Measures whether the machine keeps its pace while something else is measured.
//!
//! Virtual machines are slowed down by what goes on beside them, some for tens of milliseconds every second or two. A server
//! under load shows that as long waits. A small piece of work, done again and again beside the load, tells the two apart:
//! it takes the same processor time at all times, unless the processor is slower.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

const EVERY: Duration = Duration::from_millis(2);
const SLICE: Duration = Duration::from_millis(50);
const SLICES_TO_RECOVER: usize = 4;
/// Who takes so many times longer than usual is slow.
const SLOW_TIMES: u32 = 2;
/// Memory enough that it is not all in the nearest cache.
const MEMORY_BYTES: usize = 1 << 20;
const STEPS: usize = 1000;

/// Threads that measure the pace of the machine beside the load: one per processor, because each may be slowed on its own.
pub(crate) struct Watch(Vec<JoinHandle<Pace>>);

/// When pieces of work were done on a processor, counted from the beginning, and how long they took.
#[derive(Default)]
struct Pace {
    pieces: Vec<(Duration, Duration)>,
}

/// Which slices of time were slow.
#[derive(Default)]
pub(crate) struct Slices(Vec<bool>);

// === impl Watch ===

impl Watch {
    /// Takes about a hundredth of each processor.
    pub(crate) fn start(from: Instant, until: Instant) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let watch = |processor| std::thread::spawn(move || Pace::watch(processor, from, until));
        Self((0..processors).map(watch).collect())
    }

    /// A slice is slow when it was on any processor.
    pub(crate) fn end(self) -> Slices {
        let paces = self.0.into_iter().filter_map(|watching| watching.join().ok());
        paces.map(|pace| pace.slices()).fold(Slices::default(), Slices::or)
    }
}

// === impl Pace ===

impl Pace {
    fn watch(processor: usize, from: Instant, until: Instant) -> Self {
        stay_on(processor);
        let mut pace = Self::default();
        let mut memory = vec![1u8; MEMORY_BYTES];
        while Instant::now() < until {
            std::thread::sleep(EVERY);
            let begun = processor_time();
            work(&mut memory);
            let took = processor_time().saturating_sub(begun);
            pace.pieces.extend(Instant::now().checked_duration_since(from).map(|at| (at, took)));
        }
        pace
    }

    /// A slice is slow when a quarter of its pieces are.
    fn slices(&self) -> Slices {
        let mut times: Vec<Duration> = self.pieces.iter().map(|(_, took)| *took).collect();
        times.sort_unstable();
        let usual = times.get(times.len() / 2).copied().unwrap_or_default();
        let mut counts: Vec<(usize, usize)> = Vec::new();
        for (at, took) in &self.pieces {
            let slice = slice_of(*at);
            counts.resize(counts.len().max(slice + 1), (0, 0));
            if let Some((slow, all)) = counts.get_mut(slice) {
                *slow += usize::from(*took > usual * SLOW_TIMES);
                *all += 1;
            }
        }
        // In a slice without a piece of work no thread was scheduled.
        Slices(counts.into_iter().map(|(slow, all)| slow * 4 > all || all == 0).collect())
    }
}

// === impl Slices ===

impl Slices {
    fn or(mut self, other: Self) -> Self {
        self.0.resize(self.0.len().max(other.0.len()), false);
        self.0.iter_mut().zip(other.0).for_each(|(is_slow, other)| *is_slow |= other);
        self
    }

    /// Of all slices, how many were slow.
    pub(crate) fn slow_share(&self) -> f64 {
        self.0.iter().filter(|is_slow| **is_slow).count() as f64 / self.0.len().max(1) as f64
    }

    /// Whether the machine kept its pace all that time, and long enough before that what had piled up is gone.
    pub(crate) fn is_calm(&self, from: Duration, until: Duration) -> bool {
        (slice_of(from).saturating_sub(SLICES_TO_RECOVER)..=slice_of(until))
            .all(|slice| self.0.get(slice) == Some(&false))
    }
}

fn slice_of(at: Duration) -> usize {
    (at.as_micros() / SLICE.as_micros()) as usize
}

/// Where this cannot be asked for, the system decides.
fn stay_on(processor: usize) {
    #[cfg(target_os = "linux")]
    {
        let mut processors = rustix::thread::CpuSet::new();
        processors.set(processor);
        let _ = rustix::thread::sched_setaffinity(None, &processors);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = processor;
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn work(memory: &mut [u8]) {
    let mut random = 1usize;
    for _ in 0..STEPS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if let Some(byte) = memory.get_mut((random >> 24) % MEMORY_BYTES) {
            *byte = byte.wrapping_add(1);
        }
    }
    std::hint::black_box(memory);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Pace, SLICE, SLOW_TIMES};

    /// A piece of work every two milliseconds for ten slices; slow in these.
    fn slow_in(slow: &[u32]) -> Pace {
        let pieces = (0..250).map(|number| {
            let at = Duration::from_millis(2 * number);
            let is_slow = slow.iter().any(|slice| at >= SLICE * *slice && at < SLICE * (slice + 1));
            (at, Duration::from_micros(if is_slow { u64::from(SLOW_TIMES) * 10 + 1 } else { 10 }))
        });
        Pace { pieces: pieces.collect() }
    }

    #[test]
    fn a_machine_that_keeps_its_pace_is_calm() {
        let slices = slow_in(&[]).slices();

        assert_eq!(slices.slow_share(), 0.0);
        assert!((0..500).map(Duration::from_millis).all(|at| slices.is_calm(at, at)));
    }

    #[test]
    fn a_slow_slice_is_found_and_what_follows_it_is_not_calm() {
        let slices = slow_in(&[4]).slices();

        let calm: Vec<u32> = (0..10).filter(|slice| slices.is_calm(SLICE * *slice, SLICE * *slice)).collect();

        assert_eq!(slices.slow_share(), 0.1);
        assert_eq!(calm, [0, 1, 2, 3, 9]);
        assert!(!slices.is_calm(SLICE * 3, SLICE * 5));
    }

    #[test]
    fn what_was_slow_on_one_processor_was_slow() {
        let slices = slow_in(&[2]).slices().or(slow_in(&[6]).slices());

        assert_eq!(slices.slow_share(), 0.2);
        assert!(!slices.is_calm(SLICE * 2, SLICE * 2) && !slices.is_calm(SLICE * 6, SLICE * 6));
    }

    #[test]
    fn a_slice_in_which_nothing_ran_is_slow_and_so_is_what_was_not_watched() {
        let mut pace = slow_in(&[]);
        pace.pieces.retain(|(at, _)| *at < SLICE * 4 || *at >= SLICE * 5);
        let slices = pace.slices();

        assert!(!slices.is_calm(SLICE * 4, SLICE * 4));
        assert!(!slices.is_calm(SLICE * 11, SLICE * 11));
    }
}
