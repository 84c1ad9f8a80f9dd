//! The reckoning: every way in which what was found differs from what was promised.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::sender::{Lane, Log};
use super::sink::{Arrivals, FLAKY, STEADY};
use super::stage::{Findings, Found, Stage};

/// What is promised of requests that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// One host commits them in their order, whatever it answers.
    ByOneHost,
    /// A host that could not answer may have committed, or may yet: only what was answered with 200 is in order.
    ByAnyHost,
}

/// Empty when everything held.
pub(super) fn check(stage: &Stage, log: &Log, found: &Findings, promise: Promise) -> Vec<String> {
    let mut wrong = Vec::new();
    check_requests(log, found, &mut wrong);
    check_state(found, &mut wrong);
    check_shared_counts(found, &mut wrong);
    check_order(log, found, promise, &mut wrong);
    check_counts("the listener", &found.listener, &mut wrong);
    check_counts("the timer", &found.ticks, &mut wrong);
    check_listener(found, &mut wrong);
    check_workflow(found, &mut wrong);
    let sink = stage.sink.lock();
    check_sent(found, &sink.sent, &mut wrong);
    for (lane, events) in &found.lanes {
        check_deliveries(&sink, STEADY, stage.source(*lane), events, &mut wrong);
        check_ids(lane.name(), events, &mut wrong);
    }
    check_deliveries(&sink, STEADY, &stage.listener, &found.listener, &mut wrong);
    check_deliveries(&sink, STEADY, &stage.ticker, &found.ticks, &mut wrong);
    check_deliveries(&sink, FLAKY, stage.source(Lane::Ordered), &found.lanes[&Lane::Ordered], &mut wrong);
    check_ids("listener", &found.listener, &mut wrong);
    check_ids("ticker", &found.ticks, &mut wrong);
    wrong.extend(found.unstable.iter().map(|name| format!("the events of {name} changed between two readings")));
    if sink.unsigned > 0 {
        wrong.push(format!("{} deliveries were not signed rightly", sink.unsigned));
    }
    wrong
}

/// Requests that were not answered with 200 and yet were committed.
pub(super) fn events_of_unanswered(log: &Log, found: &Findings) -> usize {
    let died = |(lane, sender, number): &(Lane, &str, u64)| {
        log.find(*lane, sender, *number).is_some_and(|sent| !sent.is_answered())
    };
    found.requests().filter(died).count()
}

fn check_requests(log: &Log, found: &Findings, wrong: &mut Vec<String>) {
    let mut times: HashMap<(Lane, &str, u64), usize> = HashMap::new();
    for request in found.requests() {
        *times.entry(request).or_default() += 1;
        let (lane, sender, number) = request;
        if log.find(lane, sender, number).is_none() {
            wrong.push(format!("{sender} never sent {number}, and it has an event"));
        }
    }
    for sent in log.all() {
        let times = times.get(&(sent.lane, sent.sender.as_str(), sent.number)).copied().unwrap_or_default();
        let name = format!("request {} of {}", sent.number, sent.sender);
        match sent.status {
            Some(200) if times == 0 => wrong.push(format!("{name} was answered 200 and has no event")),
            Some(404) => wrong.push(format!("{name} was answered 404: the endpoint was gone")),
            _ if times > 1 => wrong.push(format!("{name} has {times} events")),
            _ => {}
        }
    }
}

/// What a source wrote is there exactly when what it emitted is. The events were read before the state and again after it.
fn check_state(found: &Findings, wrong: &mut Vec<String>) {
    let of = |events: &[Found]| events.iter().map(|event| (event.sender().to_owned(), event.number())).collect();
    for (lane, events) in &found.lanes {
        let mut emitted: BTreeSet<(String, u64)> = of(events);
        let written: BTreeSet<_> = found.state.get(lane).into_iter().flatten().cloned().collect();
        for (sender, number) in emitted.difference(&written) {
            wrong.push(format!("of request {number} of {sender} there is only the event"));
        }
        emitted.extend(of(found.late.get(lane).map(Vec::as_slice).unwrap_or_default()));
        for (sender, number) in written.difference(&emitted) {
            wrong.push(format!("of request {number} of {sender} there is only the state"));
        }
    }
}

/// Senders that count in one value at the same time lose no update: each event has a count of its own, without a gap, and
/// the state holds as many as there are events.
fn check_shared_counts(found: &Findings, wrong: &mut Vec<String>) {
    for (lane, events) in &found.lanes {
        let late = found.late.get(lane).map(Vec::as_slice).unwrap_or_default();
        let mut counts: Vec<u64> =
            events.iter().chain(late).map(|event| event.event["count"].as_u64().unwrap_or_default()).collect();
        counts.sort_unstable();
        if let Some((found, due)) = counts.iter().zip(1..).find(|(found, due)| **found != *due) {
            wrong.push(format!("{} counted {found} where {due} was due", lane.name()));
        }
        let state = found.counts.get(lane).copied().unwrap_or_default();
        if !(events.len()..=events.len() + late.len()).contains(&usize::try_from(state).unwrap_or_default()) {
            wrong.push(format!("{} counted {state} requests and has {} events", lane.name(), events.len()));
        }
    }
}

/// Requests that were sent one after the other, each once the one before was answered.
fn check_order(log: &Log, found: &Findings, promise: Promise, wrong: &mut Vec<String>) {
    let mut last: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for event in &found.lanes[&Lane::Ordered] {
        let seen = event.event["seen"].as_u64().unwrap_or_default();
        let (number_before, seen_before) = last.get(event.sender()).copied().unwrap_or_default();
        let sent = log.find(Lane::Ordered, event.sender(), event.number());
        let is_judged = promise == Promise::ByOneHost || sent.is_some_and(super::sender::Sent::is_answered);
        if is_judged && event.number() <= number_before {
            wrong.push(format!("{}: request {} follows {number_before}", event.sender(), event.number()));
        }
        let number = if is_judged { event.number() } else { number_before };
        last.insert(event.sender(), (number, seen));
        if seen != seen_before + 1 {
            wrong.push(format!("{}: state {seen} follows {seen_before}", event.sender()));
        }
    }
}

/// What runs one at a time, and exactly once each time, counts without a gap.
fn check_counts(name: &str, events: &[Found], wrong: &mut Vec<String>) {
    for (event, expected) in events.iter().zip(1u64..) {
        if event.event["count"].as_u64() != Some(expected) {
            wrong.push(format!("{name} counted {} where {expected} was due", event.event["count"]));
            return;
        }
    }
}

/// Each event of the source it listens to, in its order.
fn check_listener(found: &Findings, wrong: &mut Vec<String>) {
    let requests = |events: &[Found]| events.iter().map(|event| (event.sender().to_owned(), event.number())).collect();
    let emitted: Vec<(String, u64)> = requests(&found.lanes[&Lane::Ordered]);
    let heard: Vec<(String, u64)> = requests(&found.listener);
    if emitted != heard {
        let at = emitted.iter().zip(&heard).position(|(emitted, heard)| emitted != heard);
        let at = at.unwrap_or(emitted.len().min(heard.len()));
        let (emitted, heard) = (emitted.get(at), heard.get(at));
        wrong.push(format!("the listener ran with {heard:?} as event {at}, where {emitted:?} was emitted"));
    }
}

/// Each event of the source that triggers it has one run that came to its end, and no step of it was committed twice: the
/// state of its first step counted each run once.
fn check_workflow(found: &Findings, wrong: &mut Vec<String>) {
    let requests = |events: &[Found]| events.iter().map(request_of).collect::<BTreeSet<_>>();
    let (emitted, ran) = (requests(&found.lanes[&Lane::Ordered]), requests(&found.workflow));
    for (sender, number) in emitted.difference(&ran) {
        wrong.push(format!("the workflow has no end for request {number} of {sender}"));
    }
    let late: BTreeSet<_> = requests(found.late.get(&Lane::Ordered).map(Vec::as_slice).unwrap_or_default());
    for (sender, number) in ran.difference(&emitted).filter(|request| !late.contains(*request)) {
        wrong.push(format!("the workflow ran with request {number} of {sender}, which was not emitted"));
    }
    if ran.len() != found.workflow.len() {
        wrong.push(format!("the workflow emitted {} events for {} requests", found.workflow.len(), ran.len()));
    }
    let mut counts: Vec<u64> =
        found.workflow.iter().map(|event| event.event["raw_event"]["count"].as_u64().unwrap_or_default()).collect();
    counts.sort_unstable();
    if let Some((found, due)) = counts.iter().zip(1..).find(|(found, due)| **found != *due) {
        wrong.push(format!("the workflow counted {found} where {due} was due"));
    }
    let odd = |event: &Found| {
        if event.event["raw_event"]["number"].as_u64().unwrap_or_default() % 2 == 1 { "odd" } else { "even" }
    };
    for event in found.workflow.iter().filter(|event| event.event["raw_event"]["route"] != odd(event)) {
        wrong.push(format!("the workflow took the wrong branch: {}", event.event));
    }
}

/// Of an event of the workflow, or of the source.
fn request_of(event: &Found) -> (String, u64) {
    let event = event.event.get("raw_event").unwrap_or(&event.event);
    (event["sender"].as_str().unwrap_or_default().to_owned(), event["number"].as_u64().unwrap_or_default())
}

/// What the workflow sent arrived, at least once, and nothing else did.
fn check_sent(found: &Findings, sent: &BTreeMap<String, u32>, wrong: &mut Vec<String>) {
    let due: BTreeSet<String> = found.workflow.iter().map(|event| event.event["raw_event"].to_string()).collect();
    let came: BTreeSet<String> = sent.keys().cloned().collect();
    wrong.extend(due.difference(&came).map(|event| format!("the workflow never sent {event}")));
    let ran: BTreeSet<(String, u64)> = found.workflow.iter().map(request_of).collect();
    for event in came.difference(&due) {
        let sent: Value = serde_json::from_str(event).unwrap_or_default();
        let request =
            (sent["sender"].as_str().unwrap_or_default().to_owned(), sent["number"].as_u64().unwrap_or_default());
        // What a run sent that ended while the reckoning goes on is not judged.
        if ran.contains(&request) {
            wrong.push(format!("{event} was sent, and its run says otherwise"));
        }
    }
}

fn check_deliveries(sink: &Arrivals, path: &str, emitter: &str, events: &[Found], wrong: &mut Vec<String>) {
    let arrivals = sink.of(path, emitter);
    let mut arrived: HashMap<&str, &Value> =
        arrivals.iter().map(|arrival| (arrival.emit_id.as_str(), &arrival.event)).collect();
    for event in events {
        match arrived.remove(event.emit_id.as_str()) {
            None => wrong.push(format!("{path} never got event {} of {emitter}", event.id)),
            Some(got) if *got != event.event => {
                wrong.push(format!("{path} got another event {} of {emitter}", event.id));
            }
            Some(_) => {}
        }
    }
    // Ticks go on while the reckoning goes on: what came after the last one that was read is not judged.
    let newest = events.last().map(|event| event.emit_id.as_str()).unwrap_or_default();
    for emit_id in arrived.keys().filter(|emit_id| **emit_id < newest) {
        wrong.push(format!("{path} got event {emit_id} of {emitter}, which is not in the store"));
    }
    // Order is promised while all goes well, which it does not at the flaky one.
    let known = |arrival: &&super::sink::Arrival| !arrived.contains_key(arrival.emit_id.as_str());
    let in_order = arrivals.iter().filter(known).map(|arrival| &arrival.emit_id);
    if path == STEADY && !in_order.eq(events.iter().map(|event| &event.emit_id)) {
        wrong.push(format!("{path} got the events of {emitter} in another order"));
    }
}

fn check_ids(name: &str, events: &[Found], wrong: &mut Vec<String>) {
    let parse = |id: &str| {
        let (ms, sequence) = id.split_once('-')?;
        Some((ms.parse::<u64>().ok()?, sequence.parse::<u64>().ok()?))
    };
    for pair in events.windows(2) {
        if parse(&pair[0].id) >= parse(&pair[1].id) {
            wrong.push(format!("{name}: event {} follows {}", pair[1].id, pair[0].id));
        }
    }
}

#[cfg(test)]
mod tests;
