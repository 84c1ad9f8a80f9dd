//! `just bench flow`: from a POST at an endpoint to the committed event, next to what others would use.
//!
//! All contenders are measured in turns by the same load in one run, so ratios hold whatever the machine. This server gives
//! every request a fresh sandbox and answers when the event is on disk.

mod field;

use std::cmp::Ordering;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

use self::field::Field;
use super::contenders::{self, Contender};
use super::load::{self, Figures, Load};

const SQLITE: &str = "Wellspring, SQLite";
const REDIS: &str = "Wellspring, Redis";
const POSTGRES: &str = "Wellspring, PostgreSQL";
const OTHER: &str = "the other version";
const DB_APART: &str = "db, a key each";
const DB_SHARED: &str = "db, one key for all";
const NO_RECORDS: &str = "no records of runs";
const RECORDS: &str = "records of runs";
const RECORDINGS: &str = "each run recorded";
/// How long half of the rate is measured.
const TURNS_AT_HALF_RATE: f64 = 3.0;
/// How often memory is looked at while the load goes on.
const LOOK_EVERY: Duration = Duration::from_millis(500);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print only the JSON line
    #[arg(long)]
    json: bool,
    /// Requests at the same time
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// How long a turn is: short, because the pace of a shared machine changes within seconds
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
    /// How often each contender is measured; the median counts
    #[arg(long, default_value_t = 27)]
    rounds: usize,
    /// How long memory is watched under full load at the end
    #[arg(long, default_value_t = 0.2)]
    minutes: f64,
    /// Where the stores are kept while it runs; a new folder there is removed at the end
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Measure this server on SQLite alone
    #[arg(long)]
    alone: bool,
    /// Measure this server on each store, with nothing else
    #[arg(long)]
    stores: bool,
    /// Measure a source that reads and writes `db` too, without contention and with nothing else
    #[arg(long)]
    db: bool,
    /// Measure what records and recordings of runs cost, with nothing else
    #[arg(long)]
    records: bool,
    /// Another version of this program to take turns with, such as the one before a change
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
}

#[derive(Serialize)]
struct Report {
    connections: usize,
    contenders: Vec<Row>,
    /// This server on SQLite against workerd, in requests per second: the median of the rounds, each on its own, because
    /// machines change their pace from one to the next.
    against_workerd: Option<Ratio>,
    /// This server on Redis against itself on SQLite.
    redis_against_sqlite: Option<Ratio>,
    postgres_against_redis: Option<Ratio>,
    /// On SQLite against another version of this server.
    against_other_version: Option<Ratio>,
    /// Against the same server without records of runs.
    with_records: Option<Ratio>,
    with_recordings: Option<Ratio>,
    kept: Option<Kept>,
    soak: Option<Soak>,
    missing: Vec<String>,
}

/// How many times faster one contender was than another in the same round: in the middle, and of half of the rounds.
#[derive(Clone, Copy, Serialize)]
struct Ratio {
    median: f64,
    lower_quartile: f64,
    upper_quartile: f64,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    requests_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    /// At half of its own highest rate.
    half_rate_p50_ms: f64,
    half_rate_p99_ms: f64,
    /// Of requests during which the machine kept its pace, and how much of the time it did not.
    half_rate_calm_p99_ms: f64,
    machine_slow_share: f64,
    failed: usize,
    resident_mb: Option<f64>,
}

/// What is kept of a run, in bytes.
#[derive(Serialize)]
struct Kept {
    record_bytes: f64,
    recording_bytes: f64,
}

/// Memory of this server while it is under full load.
#[derive(Serialize)]
struct Soak {
    minutes: f64,
    requests_per_s: f64,
    failed: usize,
    /// After the first tenth, when everything that gets warm is warm.
    resident_mb_at_start: f64,
    resident_mb_at_end: f64,
    resident_mb_at_most: f64,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let parent = arguments.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::tempdir_in(&parent).with_context(|| format!("cannot use {}", parent.display()))?;
    let mut field = Field::default();
    if arguments.records {
        field.enter_records(folder.path()).await;
    } else {
        field.enter(SQLITE, contenders::wellspring(SQLITE, folder.path(), None).await);
    }
    if let Some(program) = &arguments.against {
        field.enter(OTHER, contenders::other_version(OTHER, program, folder.path()).await);
    }
    if !arguments.alone && !arguments.records {
        field.enter_stores(folder.path()).await;
    }
    if !arguments.alone && !arguments.records && !arguments.stores {
        field.enter_others(folder.path()).await;
    }
    let plain = field.contenders.len();
    if arguments.db {
        field.enter(DB_APART, contenders::with_db(DB_APART, false, folder.path()).await);
        field.enter(DB_SHARED, contenders::with_db(DB_SHARED, true, folder.path()).await);
    }
    // Apart: what contends for one key goes on for a while after its turn, which would slow down the next.
    let (plain, with_db) = field.contenders.split_at(plain);
    let mut turns = take_turns(&arguments, plain).await?;
    if !with_db.is_empty() {
        turns.extend(take_turns(&arguments, with_db).await?);
    }
    let against_workerd = ratio(&field.contenders, &turns, SQLITE, "workerd");
    let redis_against_sqlite = ratio(&field.contenders, &turns, REDIS, SQLITE);
    let postgres_against_redis = ratio(&field.contenders, &turns, POSTGRES, REDIS);
    let against_other_version = ratio(&field.contenders, &turns, SQLITE, OTHER);
    let with_records = ratio(&field.contenders, &turns, RECORDS, NO_RECORDS);
    let with_recordings = ratio(&field.contenders, &turns, RECORDINGS, NO_RECORDS);
    let kept = if arguments.records { Some(kept(folder.path())?) } else { None };
    let rows = measure_at_half_rate(&arguments, &field.contenders, turns).await?;
    let soak = match field.contenders.iter().find(|contender| contender.name == SQLITE) {
        Some(contender) => soak(&arguments, contender).await?,
        None => None,
    };
    let (connections, missing) = (arguments.connections, field.missing);
    // Asked to stop, because a server that is built to be measured writes what it saw when it ends.
    for contender in field.contenders {
        contender.process.stop().await?;
    }
    let contenders = rows;
    let report = Report {
        connections,
        contenders,
        against_workerd,
        redis_against_sqlite,
        postgres_against_redis,
        against_other_version,
        with_records,
        with_recordings,
        kept,
        soak,
        missing,
    };
    if !arguments.json {
        print_table(&report);
    }
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

// === impl Ratio ===

impl Ratio {
    fn of(mut rounds: Vec<f64>) -> Option<Self> {
        rounds.sort_by(f64::total_cmp);
        let at =
            |quarters: usize| rounds.get((rounds.len() * quarters / 4).min(rounds.len().saturating_sub(1))).copied();
        Some(Self { lower_quartile: at(1)?, median: at(2)?, upper_quartile: at(3)? })
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, lower_quartile, upper_quartile } = self;
        write!(formatter, "{median:.2} × (half of the rounds {lower_quartile:.2} to {upper_quartile:.2})")
    }
}

/// The figures of each contender in each round at full load.
async fn take_turns(arguments: &Arguments, contenders: &[Contender]) -> Result<Vec<Vec<Figures>>> {
    let load = Load { connections: arguments.connections, seconds: arguments.seconds, rate: None };
    let mut turns = vec![Vec::new(); contenders.len()];
    for round in 1..=arguments.rounds.max(1) {
        let mut order: Vec<_> = contenders.iter().zip(&mut turns).collect();
        // The first of a round comes after a pause and is a tenth slower, also against itself: each is first equally often.
        let count = order.len().max(1);
        order.rotate_left(round % count);
        if round % (2 * count) >= count {
            order.reverse();
        }
        for (contender, turns) in order {
            talk(arguments, &format!("round {round}: {}", contender.name));
            turns.push(load::put_on(&contender.url, load).await?);
        }
    }
    Ok(turns)
}

/// How many times faster the one was than the other.
fn ratio(contenders: &[Contender], turns: &[Vec<Figures>], one: &str, other: &str) -> Option<Ratio> {
    let of = |name| turns.get(contenders.iter().position(|contender| contender.name == name)?);
    let rounds = of(one)?.iter().zip(of(other)?);
    Ratio::of(rounds.map(|(one, other)| one.requests_per_s / other.requests_per_s).collect())
}

async fn measure_at_half_rate(
    arguments: &Arguments,
    contenders: &[Contender],
    turns: Vec<Vec<Figures>>,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (contender, turns) in contenders.iter().zip(turns) {
        let failed: usize = turns.iter().map(|figures| figures.failed).sum();
        let by_rate = |one: &Figures, other: &Figures| one.requests_per_s.total_cmp(&other.requests_per_s);
        let full = median(turns, by_rate).context("nothing was measured")?;
        talk(arguments, &format!("half of the rate: {}", contender.name));
        // The slowest hundredth of the requests takes more of them than a rate does.
        let seconds = arguments.seconds * TURNS_AT_HALF_RATE;
        let load = Load { connections: arguments.connections, seconds, rate: Some(full.requests_per_s / 2.0) };
        let half = load::put_on(&contender.url, load).await?;
        let machine = half.machine.context("the load did not report the pace of the machine")?;
        rows.push(Row {
            name: contender.name,
            requests_per_s: full.requests_per_s,
            p50_ms: full.p50_ms,
            p99_ms: full.p99_ms,
            half_rate_p50_ms: half.p50_ms,
            half_rate_p99_ms: half.p99_ms,
            half_rate_calm_p99_ms: machine.calm_p99_ms,
            machine_slow_share: machine.slow_share,
            failed: failed + half.failed,
            resident_mb: contender.process.resident_mb(),
        });
    }
    Ok(rows)
}

fn median<Figure>(mut figures: Vec<Figure>, compare: impl FnMut(&Figure, &Figure) -> Ordering) -> Option<Figure> {
    figures.sort_by(compare);
    let middle = figures.len() / 2;
    figures.into_iter().nth(middle)
}

/// Looked up in the store of the server that keeps everything.
fn kept(folder: &Path) -> Result<Kept> {
    let path = folder.join(RECORDINGS.replace(' ', "-")).join("store.db");
    let store = rusqlite::Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    // Several entries may be in a row, and several runs in an entry.
    let average = |streams: &str, runs_in: fn(&[u8]) -> usize| -> Result<f64> {
        let sql = format!("SELECT value, members FROM entries JOIN streams USING (stream) WHERE {streams}");
        let mut rows = store.prepare(&sql)?;
        let rows = rows.query_map([], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Option<Vec<u8>>>(1)?)))?;
        let (mut bytes, mut runs) = (0, 0);
        for row in rows {
            let (value, members) = row?;
            bytes += value.len() + members.as_ref().map_or(0, Vec::len);
            runs += entries_in(&value, members.as_deref()).map(runs_in).sum::<usize>();
        }
        Ok(bytes as f64 / runs.max(1) as f64)
    };
    let record_bytes = average("name = '$runs'", |_| 1)?;
    // Of several runs it begins with 2 and how many they are.
    let recording_bytes = average("emitter = '$recordings'", |value| match value {
        [2, runs, ..] => usize::from(*runs),
        _ => 1,
    })?;
    Ok(Kept { record_bytes, recording_bytes })
}

/// The entries of a row, which says of each how far its id is from the one before and how long it is.
fn entries_in<'a>(mut values: &'a [u8], members: Option<&'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
    let lengths: Vec<usize> = match members {
        None => vec![values.len()],
        Some(members) => {
            let numbers = members.split_inclusive(|byte| byte & 0x80 == 0);
            let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
            numbers.map(number).skip(1).step_by(2).collect()
        }
    };
    lengths.into_iter().map_while(move |length| values.split_off(..length))
}

async fn soak(arguments: &Arguments, contender: &Contender) -> Result<Option<Soak>> {
    let seconds = arguments.minutes * 60.0;
    if seconds <= 0.0 || contender.process.resident_mb().is_none() {
        return Ok(None);
    }
    talk(arguments, &format!("memory over {seconds:.0} s of full load"));
    let load = Load { connections: arguments.connections, seconds, rate: None };
    let mut loading = std::pin::pin!(load::put_on(&contender.url, load));
    let mut looks = Vec::new();
    let figures = loop {
        // Both are cancel-safe: the load is pinned outside, and a sleep holds nothing.
        tokio::select! {
            figures = &mut loading => break figures?,
            () = tokio::time::sleep(LOOK_EVERY) => looks.extend(contender.process.resident_mb()),
        }
    };
    let start = looks.get(looks.len() / 10).copied().unwrap_or_default();
    let end = looks.last().copied().unwrap_or_default();
    Ok(Some(Soak {
        minutes: arguments.minutes,
        requests_per_s: figures.requests_per_s,
        failed: figures.failed,
        resident_mb_at_start: start,
        resident_mb_at_end: end,
        resident_mb_at_most: looks.iter().copied().fold(end, f64::max),
    }))
}

fn talk(arguments: &Arguments, text: &str) {
    if !arguments.json {
        eprintln!("{text}");
    }
}

fn print_table(report: &Report) {
    println!(
        "{:<20}{:>11}{:>9}{:>9}{:>12}{:>9}{:>11}{:>14}{:>8}{:>6}",
        "", "requests/s", "p50 ms", "p99 ms", "half: p50", "p99 ms", "calm p99", "machine slow", "failed", "MB"
    );
    for row in &report.contenders {
        let slow_percent = row.machine_slow_share * 100.0;
        println!(
            "{:<20}{:>11.0}{:>9.2}{:>9.2}{:>12.2}{:>9.2}{:>11.2}{slow_percent:>12.0} %{:>8}{:>6.0}",
            row.name,
            row.requests_per_s,
            row.p50_ms,
            row.p99_ms,
            row.half_rate_p50_ms,
            row.half_rate_p99_ms,
            row.half_rate_calm_p99_ms,
            row.failed,
            row.resident_mb.unwrap_or_default()
        );
    }
    println!("\n{} connections; Wellspring: a fresh sandbox each, on disk before the answer", report.connections);
    println!("half: at half of its own rate; calm: of requests during which the machine kept its pace");
    println!("workerd: a warm isolate, nothing stored; Node: nothing isolated, appended to Redis");
    if let Some(ratio) = report.against_workerd {
        println!("{SQLITE} / workerd: {ratio}");
    }
    if let Some(ratio) = report.redis_against_sqlite {
        println!("{REDIS} / {SQLITE}: {ratio}");
    }
    if let Some(ratio) = report.postgres_against_redis {
        println!("{POSTGRES} / {REDIS}: {ratio}");
    }
    if let Some(ratio) = report.against_other_version {
        println!("{SQLITE} / {OTHER}: {ratio}");
    }
    if let (Some(records), Some(recordings)) = (report.with_records, report.with_recordings) {
        println!("{RECORDS} / {NO_RECORDS}: {records}");
        println!("{RECORDINGS} / {NO_RECORDS}: {recordings}");
    }
    if let Some(kept) = &report.kept {
        println!("a record takes {:.0} bytes, a recording {:.0}", kept.record_bytes, kept.recording_bytes);
    }
    if let Some(soak) = &report.soak {
        println!(
            "memory over {:.1} min at {:.0} requests/s, {} failed: {:.0} MB at the start, {:.0} MB at the end, {:.0} MB at most",
            soak.minutes,
            soak.requests_per_s,
            soak.failed,
            soak.resident_mb_at_start,
            soak.resident_mb_at_end,
            soak.resident_mb_at_most
        );
    }
}
