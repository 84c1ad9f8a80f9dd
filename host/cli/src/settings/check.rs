//! Reads the file of settings, and checks what flags, environment, file and defaults say together.

use std::path::Path;

use anyhow::{Context, Result, bail};
use domain::limits::{EVENT_BYTES_MAXIMUM, NAME_BYTES_MAXIMUM, NESTING_MAXIMUM, event_bytes_for};
use toml::{Table, Value};

use super::{Settings, memory, sharing};

pub(super) const EVENT_BYTES: &str = "event_bytes";

/// What the parts that keep things can hold.
pub(super) const MAXIMA: [(&str, usize); 4] = [
    (EVENT_BYTES, EVENT_BYTES_MAXIMUM),
    ("channel_bytes", NAME_BYTES_MAXIMUM),
    ("db_key_bytes", NAME_BYTES_MAXIMUM),
    ("nesting_depth", NESTING_MAXIMUM),
];

pub(super) fn read(path: &Path) -> Result<Table> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the settings {}", path.display()))?;
    text.parse().with_context(|| format!("the settings in {} are not TOML", path.display()))
}

pub(super) fn decided(mut table: Table) -> Result<Settings> {
    let body_bytes = table.get("body_bytes").and_then(Value::as_integer).and_then(|bytes| usize::try_from(bytes).ok());
    if let (Some(body_bytes), false) = (body_bytes, table.contains_key(EVENT_BYTES)) {
        let event_bytes = i64::try_from(event_bytes_for(body_bytes))?;
        table.insert(EVENT_BYTES.to_owned(), Value::Integer(event_bytes));
    }
    for (name, maximum) in MAXIMA {
        if table.get(name).and_then(Value::as_integer).is_some_and(|number| number > maximum as i64) {
            bail!("`{name}` must be at most {maximum}");
        }
    }
    if table.get("memory").and_then(Value::as_integer).is_some_and(|bytes| bytes < memory::LEAST_BYTES as i64) {
        bail!("`memory` must be at least {}", memory::LEAST_BYTES);
    }
    for (name, bounds) in sharing::BOUNDS {
        match table.get(name).and_then(Value::as_integer).and_then(|number| u64::try_from(number).ok()) {
            Some(number) if number < *bounds.start() => bail!("`{name}` must be at least {}", bounds.start()),
            Some(number) if number > *bounds.end() => bail!("`{name}` must be at most {}", bounds.end()),
            _ => {}
        }
    }
    let may_be_zero = |name: &str| {
        name.ends_with("_quota")
            || ["keep_runs", "keep_runs_seconds", "keep_recordings", "drain_seconds"].contains(&name)
    };
    for (name, value) in &table {
        if value.as_integer().is_some_and(|number| number < 1 && !(number == 0 && may_be_zero(name))) {
            bail!("`{name}` must be at least {}", if may_be_zero(name) { 0 } else { 1 });
        }
    }
    let settings: Settings = table.try_into()?;
    settings.share.check().map_err(anyhow::Error::msg)?;
    Ok(settings)
}
