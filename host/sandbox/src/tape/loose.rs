//! Answers for other code than the one that was recorded: found by what is asked for.
//!
//! The clock is virtual: it is the recorded one while the run follows its recording, and moves when the run waits, so that a
//! run that waited for twenty seconds takes none.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;

use super::following::Following;
use super::{Entry, Kind, next_entry, shown};
use crate::wall::Stop;

/// A completion as it is given to the guest: its case, and what comes with it.
pub(crate) type Completion = (u8, Bytes);

pub(crate) struct Loose {
    is_live: bool,
    following: Following,
    now_ms: f64,
    elapsed_ms: f64,
    random: VecDeque<Bytes>,
    /// Of what comes after the recorded randomness.
    seed: u64,
    values: HashMap<(u8, Bytes), Bytes>,
    requests: Vec<Recorded>,
    /// Requests of this run, by their number, and which recorded one answers them.
    matched: HashMap<u32, usize>,
    /// Requests that have something to tell.
    ready: VecDeque<u32>,
}

struct Recorded {
    asked: Bytes,
    completions: VecDeque<Completion>,
    is_used: bool,
}

/// The case of a completion that tells that a chunk of a request's body was taken.
const WRITTEN: u8 = 3;

// === impl Loose ===

impl Loose {
    pub(super) fn new(mut recording: Bytes, is_live: bool) -> Self {
        let mut loose = Self {
            is_live,
            following: Following::new(recording.clone()),
            now_ms: 0.0,
            elapsed_ms: 0.0,
            random: VecDeque::new(),
            seed: 0x9e37_79b9_7f4a_7c15,
            values: HashMap::new(),
            requests: Vec::new(),
            matched: HashMap::new(),
            ready: VecDeque::new(),
        };
        while let Some(entry) = next_entry(&mut recording) {
            loose.learn(entry);
        }
        loose
    }

    fn learn(&mut self, Entry { kind, asked, answer }: Entry) {
        match kind {
            Kind::Now if self.now_ms == 0.0 => {
                self.now_ms = f64::from_le_bytes(answer.as_ref().try_into().unwrap_or_default());
            }
            Kind::Now | Kind::Elapsed => {}
            Kind::Random => self.random.push_back(answer),
            Kind::DbGet | Kind::Credentials => {
                self.values.entry((kind as u8, asked)).or_insert(answer);
            }
            Kind::Fetch => self.requests.push(Recorded { asked, completions: VecDeque::new(), is_used: false }),
            Kind::Completion => {
                // Numbers of requests count from one, in the order they were started.
                let Some((case, request, payload)) = read_completion(&answer) else { return };
                let position = (request as usize).checked_sub(1);
                if let Some(recorded) = position.and_then(|position| self.requests.get_mut(position)) {
                    recorded.completions.push_back((case, payload));
                }
            }
        }
    }

    /// As it was recorded, and never before what the run knows already.
    pub(super) fn clock(&mut self, kind: Kind) -> f64 {
        let recorded = self.following.find(kind, &[]);
        let recorded = recorded.and_then(|answer| answer.as_ref().try_into().ok()).map(f64::from_le_bytes);
        let time = if kind == Kind::Elapsed { &mut self.elapsed_ms } else { &mut self.now_ms };
        *time = recorded.map_or(*time, |recorded| time.max(recorded));
        *time
    }

    pub(super) fn random(&mut self, buffer: &mut [u8]) {
        self.following.find(Kind::Random, &(buffer.len() as u64).to_le_bytes());
        let recorded = self.random.pop_front().unwrap_or_default();
        let mut recorded = recorded.iter().copied();
        for byte in buffer {
            *byte = recorded.next().unwrap_or_else(|| {
                // xorshift64: the same for every replay.
                self.seed ^= self.seed << 13;
                self.seed ^= self.seed >> 7;
                self.seed ^= self.seed << 17;
                (self.seed >> 32) as u8
            });
        }
    }

    pub(super) fn find(&mut self, kind: Kind, asked: &[u8]) -> Result<Option<Bytes>, Stop> {
        if let Some(answer) = self.following.find(kind, asked) {
            return Ok(Some(answer));
        }
        match self.values.get(&(kind as u8, Bytes::copy_from_slice(asked))) {
            Some(answer) => Ok(Some(answer.clone())),
            None if self.is_live => Ok(None),
            None => Err(unknown(kind, asked)),
        }
    }

    /// Answers a request like one that was recorded; false when it has to be made.
    pub(crate) fn start(&mut self, request: u32, asked: &[u8]) -> Result<bool, Stop> {
        if self.following.find(Kind::Fetch, asked).is_none() {
            self.following.end();
        }
        let line = |asked: &[u8]| asked.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec();
        let whole = self.requests.iter().position(|recorded| !recorded.is_used && recorded.asked == asked);
        let alike =
            || self.requests.iter().position(|recorded| !recorded.is_used && line(&recorded.asked) == line(asked));
        let Some(position) = whole.or_else(alike) else {
            return if self.is_live { Ok(false) } else { Err(unknown(Kind::Fetch, asked)) };
        };
        if let Some(recorded) = self.requests.get_mut(position) {
            recorded.is_used = true;
            recorded.completions.retain(|(case, _)| *case != WRITTEN);
        }
        self.matched.insert(request, position);
        self.ready.push_back(request);
        Ok(true)
    }

    /// The guest wants more of a body; whether the recording has it.
    pub(crate) fn read(&mut self, request: u32) -> bool {
        let is_matched = self.matched.contains_key(&request);
        if is_matched {
            self.ready.push_back(request);
        }
        is_matched
    }

    /// The guest wrote a chunk of a body.
    pub(crate) fn write(&mut self, request: u32) -> bool {
        let Some(recorded) = self.matched.get(&request).and_then(|position| self.requests.get_mut(*position)) else {
            return false;
        };
        recorded.completions.push_front((WRITTEN, Bytes::new()));
        self.ready.push_front(request);
        true
    }

    /// What happened to a request, if anything did.
    pub(crate) fn next(&mut self) -> Option<(u32, Completion)> {
        if let Some(answer) = self.following.find(Kind::Completion, &[]) {
            let (case, request, payload) = read_completion(&answer)?;
            if self.is_told(request, case) {
                return Some((request, (case, payload)));
            }
        }
        self.following.end();
        while let Some(request) = self.ready.pop_front() {
            let recorded = self.matched.get(&request).and_then(|position| self.requests.get_mut(*position));
            if let Some(completion) = recorded.and_then(|recorded| recorded.completions.pop_front()) {
                return Some((request, completion));
            }
        }
        None
    }

    /// Whether a request of this run waits to be told of something, and is told of that now.
    fn is_told(&mut self, request: u32, case: u8) -> bool {
        let Some(at) = self.ready.iter().position(|ready| *ready == request) else { return false };
        self.ready.remove(at);
        if let Some(recorded) = self.matched.get(&request).and_then(|position| self.requests.get_mut(*position))
            && let Some(at) = recorded.completions.iter().position(|(left, _)| *left == case)
        {
            recorded.completions.remove(at);
        }
        true
    }

    pub(crate) fn has_next(&self) -> bool {
        self.following.goes_on() || !self.ready.is_empty()
    }

    /// The run waits: time passes at once.
    pub(crate) fn wait(&mut self, milliseconds: f64) {
        self.elapsed_ms += milliseconds.max(0.0);
        self.now_ms += milliseconds.max(0.0);
    }
}

/// A completion as it is recorded: its case, the number of its request, and what comes with it.
pub(crate) fn write_completion(case: u8, request: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(5 + payload.len());
    bytes.push(case);
    bytes.extend_from_slice(&request.to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// None for the answer that nothing had happened.
pub(crate) fn read_completion(bytes: &Bytes) -> Option<(u8, u32, Bytes)> {
    let request = u32::from_le_bytes(bytes.get(1..5)?.try_into().ok()?);
    Some((*bytes.first()?, request, bytes.slice(5..)))
}

fn unknown(kind: Kind, asked: &[u8]) -> Stop {
    Stop::Diverged { asked: shown(kind, asked), recorded: "nothing like it".to_owned() }
}
