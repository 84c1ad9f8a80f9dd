//! What a group has changed, as statements over all of it.

use super::statements as sql;
use super::tenant::{NewJob, Owned, Pair};
use crate::Error;
use crate::postgres::link::Question;

/// Columns of a statement whose rows are a tenant and some names.
#[derive(Default)]
struct Rows<'names> {
    tenants: Vec<&'names str>,
    first: Vec<&'names [u8]>,
    second: Vec<&'names [u8]>,
}

impl<'names> Rows<'names> {
    fn add(&mut self, owned: &'names Owned, first: &'names str, second: &'names str) {
        self.tenants.push(owned.tenant.as_str());
        self.first.push(first.as_bytes());
        self.second.push(second.as_bytes());
    }

    fn one(self, statement: &'static str) -> Question<'names> {
        Question::of(statement).with(self.tenants).with(self.first)
    }

    fn two(self, statement: &'static str) -> Question<'names> {
        let second = self.second;
        Question::of(statement).with(self.tenants).with(self.first).with(second)
    }

    fn is_empty(&self) -> bool {
        self.tenants.is_empty()
    }
}

/// What changed among layered maps, taken out of them.
#[derive(Default)]
pub(super) struct Changed {
    records: Vec<(usize, Pair)>,
    aliases: Vec<(usize, Pair)>,
    values: Vec<(usize, Pair)>,
    scopes: Vec<(usize, String)>,
}

impl Changed {
    pub(super) fn take(all: &mut [Owned]) -> Self {
        let mut changed = Self::default();
        for (place, owned) in all.iter_mut().enumerate() {
            changed.records.extend(owned.records.take_changed().into_iter().map(|key| (place, key)));
            changed.aliases.extend(owned.aliases.take_changed().into_iter().map(|key| (place, key)));
            changed.values.extend(owned.values.take_changed().into_iter().map(|key| (place, key)));
            changed.scopes.extend(owned.scopes.take_changed().into_iter().map(|key| (place, key)));
        }
        changed
    }

    /// Tenant, kind and id of the records.
    pub(super) fn records<'all>(&'all self, all: &'all [Owned]) -> impl Iterator<Item = (&'all Owned, &'all Pair)> {
        self.records.iter().filter_map(|(place, key)| Some((all.get(*place)?, key)))
    }
}

/// Everything but the streams.
pub(super) fn questions<'all>(all: &'all [Owned], changed: &'all Changed) -> Vec<Question<'all>> {
    let mut questions = Vec::new();
    tenants(all, &mut questions);
    records(all, changed, &mut questions);
    values(all, changed, &mut questions);
    locks(all, &mut questions);
    counters(all, &mut questions);
    jobs(all, &mut questions);
    timers(all, &mut questions);
    questions
}

fn tenants<'all>(all: &'all [Owned], questions: &mut Vec<Question<'all>>) {
    let changed = || all.iter().filter(|owned| owned.is_row_changed);
    if changed().next().is_none() {
        return;
    }
    let question = Question::of(sql::WRITE_TENANTS)
        .with(changed().map(|owned| owned.tenant.as_str()).collect::<Vec<_>>())
        .with(changed().map(|owned| owned.row.positions).collect::<Vec<_>>())
        .with(changed().map(|owned| owned.row.jobs).collect::<Vec<_>>())
        .with(changed().map(|owned| owned.row.job_bytes).collect::<Vec<_>>())
        .with(changed().map(|owned| owned.row.earliest_ms).collect::<Vec<_>>());
    questions.push(question);
}

fn records<'all>(all: &'all [Owned], changed: &'all Changed, questions: &mut Vec<Question<'all>>) {
    let (mut put, mut gone) = (Rows::default(), Rows::default());
    let (mut aliases, mut versions, mut positions, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (place, key) in &changed.records {
        let Some(owned) = all.get(*place) else { continue };
        match owned.records.get(key).and_then(Option::as_ref) {
            Some(row) => {
                put.add(owned, &key.0, &key.1);
                aliases.push(row.alias.as_ref().map(|alias| alias.as_bytes()));
                versions.push(row.version);
                positions.push(row.position);
                values.push(&row.value[..]);
            }
            None => gone.add(owned, &key.0, &key.1),
        }
    }
    if !gone.is_empty() {
        questions.push(gone.two(sql::DELETE_RECORDS));
    }
    if !put.is_empty() {
        questions.push(put.two(sql::WRITE_RECORDS).with(aliases).with(versions).with(positions).with(values));
    }
    let (mut given, mut free, mut owners) = (Rows::default(), Rows::default(), Vec::new());
    for (place, key) in &changed.aliases {
        let Some(owned) = all.get(*place) else { continue };
        match owned.aliases.get(key).and_then(Option::as_ref) {
            Some(owner) => {
                given.add(owned, &key.0, &key.1);
                owners.push(owner.as_bytes());
            }
            None => free.add(owned, &key.0, &key.1),
        }
    }
    if !free.is_empty() {
        questions.push(free.two(sql::DELETE_ALIASES));
    }
    if !given.is_empty() {
        questions.push(given.two(sql::WRITE_ALIASES).with(owners));
    }
}

fn values<'all>(all: &'all [Owned], changed: &'all Changed, questions: &mut Vec<Question<'all>>) {
    let (mut set, mut gone, mut contents) = (Rows::default(), Rows::default(), Vec::new());
    for (place, key) in &changed.values {
        let Some(owned) = all.get(*place) else { continue };
        match owned.values.get(key).and_then(Option::as_ref) {
            Some(value) => {
                set.add(owned, &key.0, &key.1);
                contents.push(value.content.as_deref().unwrap_or_default());
            }
            None => gone.add(owned, &key.0, &key.1),
        }
    }
    if !gone.is_empty() {
        questions.push(gone.two(sql::DELETE_VALUES));
    }
    if !set.is_empty() {
        questions.push(set.two(sql::WRITE_VALUES).with(contents));
    }
    let (mut scopes, mut empty, mut sizes) = (Rows::default(), Rows::default(), Vec::new());
    for (place, scope) in &changed.scopes {
        let Some(owned) = all.get(*place) else { continue };
        match owned.scopes.get(scope).copied().unwrap_or_default() {
            0 => empty.add(owned, scope, ""),
            size_bytes => {
                scopes.add(owned, scope, "");
                sizes.push(size_bytes);
            }
        }
    }
    if !empty.is_empty() {
        questions.push(empty.one(sql::DELETE_SCOPES));
    }
    if !scopes.is_empty() {
        questions.push(scopes.one(sql::WRITE_SCOPES).with(sizes));
    }
}

fn locks<'all>(all: &'all [Owned], questions: &mut Vec<Question<'all>>) {
    let (mut taken, mut given_up) = (Rows::default(), Rows::default());
    let (mut owners, mut ends) = (Vec::new(), Vec::new());
    for owned in all {
        let changed: std::collections::BTreeSet<&Pair> = owned.changed_locks.iter().collect();
        for (scope, key) in changed {
            match owned.locks.get(scope).and_then(|locks| locks.get(key)) {
                Some(lock) => {
                    taken.add(owned, scope, key);
                    owners.push(lock.owner.as_bytes());
                    ends.push(i64::try_from(lock.until_ms).unwrap_or(i64::MAX));
                }
                None => given_up.add(owned, scope, key),
            }
        }
    }
    if !given_up.is_empty() {
        questions.push(given_up.two(sql::DELETE_LOCKS));
    }
    if !taken.is_empty() {
        questions.push(taken.two(sql::WRITE_LOCKS).with(owners).with(ends));
    }
}

fn counters<'all>(all: &'all [Owned], questions: &mut Vec<Question<'all>>) {
    let (mut rows, mut values, mut ends) = (Rows::default(), Vec::new(), Vec::new());
    for owned in all {
        for (name, counter) in owned.counters.iter().filter(|(_, counter)| counter.is_changed) {
            rows.add(owned, name, "");
            values.push(counter.value);
            ends.push(counter.expires_ms);
        }
    }
    if !rows.is_empty() {
        questions.push(rows.one(sql::WRITE_COUNTERS).with(values).with(ends));
    }
}

fn jobs<'all>(all: &'all [Owned], questions: &mut Vec<Question<'all>>) {
    let of_all = |list: fn(&Owned) -> &Vec<i64>| all.iter().flat_map(move |owned| list(owned).iter().copied());
    let done: Vec<i64> = of_all(|owned| &owned.queue.done).collect();
    if !done.is_empty() {
        questions.push(Question::of(sql::DELETE_JOBS).with(done));
    }
    let again = || all.iter().flat_map(|owned| &owned.queue.rescheduled);
    if again().next().is_some() {
        let question = Question::of(sql::RESCHEDULE_JOBS)
            .with(again().map(|job| job.id).collect::<Vec<_>>())
            .with(again().map(|job| job.due_ms).collect::<Vec<_>>())
            .with(again().map(|job| job.leaves).collect::<Vec<_>>())
            .with(again().map(|job| job.payload.as_deref()).collect::<Vec<_>>());
        questions.push(question);
    }
    let heads: Vec<i64> = of_all(|owned| &owned.queue.heads).collect();
    if !heads.is_empty() {
        questions.push(Question::of(sql::MAKE_HEADS).with(heads));
    }
    let new = || {
        let of = |owned: &'all Owned| owned.queue.new.iter().map(move |(id, job): (_, &'all NewJob)| (owned, *id, job));
        all.iter().flat_map(of)
    };
    if new().next().is_some() {
        let question = Question::of(sql::WRITE_JOBS)
            .with(new().map(|(_, id, _)| id).collect::<Vec<_>>())
            .with(new().map(|(owned, ..)| owned.tenant.as_str()).collect::<Vec<_>>())
            .with(new().map(|(.., job)| job.lane.as_ref().map(|lane| lane.as_bytes())).collect::<Vec<_>>())
            .with(new().map(|(.., job)| job.due_ms).collect::<Vec<_>>())
            .with(new().map(|(.., job)| job.available_ms).collect::<Vec<_>>())
            .with(new().map(|(.., job)| job.entry.map(crate::EntryId::packed)).collect::<Vec<_>>())
            .with(new().map(|(.., job)| &job.payload[..]).collect::<Vec<_>>());
        questions.push(question);
    }
}

fn timers<'all>(all: &'all [Owned], questions: &mut Vec<Question<'all>>) {
    let (mut set, mut gone) = (Rows::default(), Rows::default());
    let (mut parts, mut due, mut schedules) = (Vec::new(), Vec::new(), Vec::new());
    for owned in all {
        for (name, timer) in owned.timers.iter().filter(|(_, timer)| timer.is_changed) {
            match &timer.row {
                Some(row) => {
                    set.add(owned, name, "");
                    parts.push(owned.part);
                    due.push(row.due_ms);
                    schedules.push(&row.schedule[..]);
                }
                None => gone.add(owned, name, ""),
            }
        }
    }
    if !gone.is_empty() {
        questions.push(gone.one(sql::DELETE_TIMERS));
    }
    if !set.is_empty() {
        questions.push(set.one(sql::WRITE_TIMERS).with(parts).with(due).with(schedules));
    }
}

/// Gives new streams their numbers, which no other has: they are random.
pub(super) fn number_streams(all: &mut [Owned]) -> Result<(), Error> {
    for owned in all {
        for stream in owned.streams.values_mut().filter(|stream| stream.is_changed && stream.number.is_none()) {
            stream.number = Some(i64::try_from(getrandom::u64()? >> 1).unwrap_or_default());
        }
    }
    Ok(())
}

/// Emitters, streams and entries.
pub(super) fn streams<'all>(all: &'all [Owned]) -> Vec<Question<'all>> {
    let mut questions = Vec::new();
    let (mut emitters, mut last) = (Rows::default(), Vec::new());
    for owned in all {
        for (name, emitter) in owned.emitters.iter().filter(|(_, emitter)| emitter.is_changed) {
            let Some(id) = emitter.last else { continue };
            emitters.add(owned, name, "");
            last.push(id.packed());
        }
    }
    if !emitters.is_empty() {
        questions.push(emitters.one(sql::WRITE_EMITTERS).with(last));
    }
    let (mut rows, mut numbers, mut counts) = (Rows::default(), Vec::new(), Vec::new());
    let (mut trimmed, mut excess) = (Vec::new(), Vec::new());
    let (mut of, mut ids, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for owned in all {
        for (key, stream) in owned.streams.iter().filter(|(_, stream)| stream.is_changed) {
            let number = stream.number.unwrap_or_default();
            rows.add(owned, &key.0, &key.1);
            numbers.push(number);
            counts.push(stream.count());
            if stream.excess > 0 {
                trimmed.push(number);
                excess.push(stream.excess);
            }
            for (id, value) in &stream.appended {
                of.push(number);
                ids.push(id.packed());
                values.push(&value[..]);
            }
        }
    }
    if !rows.is_empty() {
        questions.push(rows.two(sql::WRITE_STREAMS).with(numbers).with(counts));
    }
    if !trimmed.is_empty() {
        questions.push(Question::of(sql::TRIM_STREAMS).with(trimmed).with(excess));
    }
    if !of.is_empty() {
        questions.push(Question::of(sql::WRITE_ENTRIES).with(of).with(ids).with(values));
    }
    questions
}

/// What readers of emitters are given.
pub(super) fn news<'all>(all: &'all [Owned]) -> Option<Question<'all>> {
    let (mut rows, mut ids, mut streams, mut values) = (Rows::default(), Vec::new(), Vec::new(), Vec::new());
    for owned in all {
        for news in &owned.news {
            rows.add(owned, &news.emitter, "");
            ids.push(news.id.packed());
            streams.push(news.stream.as_bytes());
            values.push(&news.value[..]);
        }
    }
    (!rows.is_empty()).then(|| rows.one(sql::WRITE_NEWS).with(ids).with(streams).with(values))
}
