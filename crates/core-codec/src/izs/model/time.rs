//! Times of elements, in exact integer arithmetic.

use alloc::format;
use core::fmt;

use super::descriptor::brief;
use super::{EntityId, Kind, Link, Schema, Value};
use crate::error::{Error, ErrorKind};
use crate::izs::raw::Dialect;

/// A sampling rate as the fraction that the schema's float is, exactly.
///
/// ```
/// use core_codec::izs::model::Rate;
///
/// let rate = Rate::from_hertz(44_100.0).unwrap();
/// // Nanoseconds at sample 1, rounded down.
/// assert_eq!(rate.time_of(1, 1_000_000_000), 22_675);
/// assert_eq!(rate.time_of(44_100 * 3600, 1_000_000_000), 3_600_000_000_000);
/// // The first sample at or after that time.
/// assert_eq!(rate.index_at(3_600_000_000_000, 1_000_000_000), Some(44_100 * 3600));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Samples...
    numerator: u64,
    /// ...in so many seconds.
    denominator: u64,
}

impl Rate {
    /// The rate of so many samples a second, from 2^-10 to 2^63, exactly.
    #[must_use]
    pub fn from_hertz(rate: f64) -> Option<Self> {
        if !(1.0 / 1024.0..9.2e18).contains(&rate) {
            return None;
        }
        // The float is `mantissa` * 2^`exponent`, exactly.
        let bits = rate.to_bits();
        let mantissa = (bits & ((1 << 52) - 1)) | 1 << 52;
        let exponent = ((bits >> 52) & 0x7ff) as i32 - 1075;
        let zeros = mantissa.trailing_zeros() as i32;
        let odd = mantissa >> zeros;
        Some(match exponent + zeros {
            // An integer; below 2^63, so the shift loses nothing.
            whole @ 0.. => Self { numerator: odd << whole, denominator: 1 },
            // At least 2^-10, so that the last of its 53 bits stands for 2^-62 or more.
            fraction => Self { numerator: odd, denominator: 1 << -fraction },
        })
    }

    /// Samples a second, as a float.
    #[must_use]
    pub fn hertz(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Time of element `index` in units of which a second has `units`, rounded down: `index * units / rate`.
    #[must_use]
    pub fn time_of(self, index: u64, units: u64) -> u128 {
        // In two halves of the index, since the whole product may need 180 bits.
        let divisor = u128::from(self.numerator);
        let scale = u128::from(units) * u128::from(self.denominator);
        let (whole, part) = (scale / divisor, scale % divisor);
        let index = u128::from(index);
        // `part` < 2^63 and `index` < 2^64.
        index.saturating_mul(whole).saturating_add(index * part / divisor)
    }

    /// The first element at or after a time, in units of which a second has `units`; none past 2^64.
    #[must_use]
    pub fn index_at(self, time: u64, units: u64) -> Option<u64> {
        let (mut low, mut high) = (0, u64::MAX);
        if self.time_of(high, units) < u128::from(time) {
            return None;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.time_of(middle, units) < u128::from(time) { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }
}

/// Tells times: of elements by their index, or of a `timestamp` by its ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Ticks a second.
    pub rate: Rate,
    /// How many elements, one after the other, share a tick.
    pub per_tick: u64,
    /// When tick 0 was, in nanoseconds since 1970-01-01 UTC, where that is known.
    pub epoch: Option<i128>,
}

const PICOSECONDS: u64 = 1_000_000_000_000;

impl Clock {
    /// When element (or tick) `index` is, rounded down to a picosecond.
    #[must_use]
    pub fn at(self, index: u64) -> Moment {
        let tick = index / self.per_tick.max(1);
        // An index of 64 bits at the lowest rate is below 2^114.
        let elapsed = i128::try_from(self.rate.time_of(tick, PICOSECONDS)).unwrap_or(i128::MAX);
        let epoch = self.epoch.unwrap_or(0).saturating_mul(1000);
        Moment { picoseconds: epoch.saturating_add(elapsed), is_date: self.epoch.is_some() }
    }
}

/// A time, exactly.
///
/// Shown as a date and time of RFC 3339 in UTC where it is one, else in seconds; with as many digits, in groups of
/// three, as it needs. A year that RFC 3339 has no digits for, before 0 or after 9999, has a sign and six digits or more,
/// as ISO 8601 expands it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Since 1970-01-01 UTC, or since element 0.
    pub picoseconds: i128,
    /// Which of the two.
    pub is_date: bool,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = i128::from(PICOSECONDS);
        let (seconds, fraction) = (self.picoseconds.div_euclid(unit), self.picoseconds.rem_euclid(unit));
        if self.is_date {
            let (year, month, day) = date(seconds.div_euclid(86_400));
            let of_day = seconds.rem_euclid(86_400);
            let (hour, minute) = (of_day / 3600, of_day / 60 % 60);
            match year {
                0..=9999 => write!(f, "{year:04}")?,
                _ => write!(f, "{year:+07}")?,
            }
            write!(f, "-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}", of_day % 60)?;
        } else {
            write!(f, "{seconds}")?;
        }
        let (mut digits, mut shown) = (12, fraction);
        while digits > 0 && shown % 1000 == 0 {
            (digits, shown) = (digits - 3, shown / 1000);
        }
        if digits > 0 {
            write!(f, ".{shown:0digits$}")?;
        }
        f.write_str(if self.is_date { "Z" } else { "" })
    }
}

/// Year, month and day of a day counted from 1970-01-01, in the calendar of RFC 3339.
fn date(day: i128) -> (i128, i128, i128) {
    // Years that start in March have their leap day at the end; 400 of them are one era.
    let shifted = day + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i128::from(month <= 2);
    (year, month, day_of_year - (153 * month_from_march + 2) / 5 + 1)
}

/// The child of a record of events that tells when they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeField {
    /// The child: a `timestamp` or an integer, or a `tuple` of two.
    pub entity: EntityId,
    /// Whether it is a tuple: of a start and an end.
    pub is_span: bool,
}

impl Schema {
    /// The times of an entity's elements, by their index: by `time:rate` (in dialect V also `sample_rate`) of it or
    /// the nearest entity above it that has one. Of a `timestamp`, those of its [ticks](Self::ticks).
    ///
    /// Elements of a `tuple` or `fixed_array` share the time of the one that they make.
    ///
    /// # Errors
    /// When there is no rate or it is none, a `time:epoch` is no date, or its element `i` is not sample `i` of what has
    /// the rate: below a `union`, a `variable_array`, or a record with a [time field](Self::time_field).
    pub fn clock(&self, entity: EntityId) -> Result<Clock, Error> {
        if *self[entity].kind() == Kind::Timestamp {
            return self.ticks(entity);
        }
        let clock = self.ticks(entity)?;
        let mut per_tick: u64 = 1;
        let mut at = entity;
        while self.own_rate(at).is_none() {
            let Some(parent) = self[at].parent() else { break };
            let together = match self[parent].kind() {
                Kind::Union | Kind::VariableArray => None,
                Kind::Tuple { fields } => Some(fields.len() as u64),
                Kind::FixedArray { elements } => Some((*elements).into()),
                _ if self.is_record(parent) && self.time_field(parent)?.is_some() => None,
                _ => Some(1),
            };
            per_tick = together
                .and_then(|together| per_tick.checked_mul(together))
                .filter(|&elements| elements > 0)
                .ok_or_else(|| {
                    self.no_view(
                        entity,
                        "no times of its own: its elements are not samples of what has the `time:rate`",
                    )
                })?;
            at = parent;
        }
        Ok(Clock { per_tick, ..clock })
    }

    /// The times of an entity's values, which are ticks of the rate of it or the nearest entity above it.
    ///
    /// # Errors
    /// When there is no rate or it is none, or a `time:epoch` is no date and time of RFC 3339.
    pub fn ticks(&self, entity: EntityId) -> Result<Clock, Error> {
        let above = || core::iter::successors(Some(entity), |&id| self[id].parent());
        let Some((rate_of, rate)) = above().find_map(|id| Some((id, self.own_rate(id)?))) else {
            return Err(self.no_view(entity, "no times: it has no valid `time:rate`"));
        };
        let rate = rate.as_f64().and_then(Rate::from_hertz).ok_or_else(|| {
            let error = self.no_view(rate_of, "no times: it has no valid `time:rate`");
            error.detail(format!("it is {}", brief(rate)))
        })?;
        let epoch = above().find(|&id| self[id].attributes().get("time:epoch").is_some());
        Ok(Clock { rate, per_tick: 1, epoch: epoch.map(|id| self.valid_epoch(id)).transpose()? })
    }

    fn own_rate(&self, entity: EntityId) -> Option<&Value> {
        ["time:rate", "sample_rate"].iter().find_map(|name| self[entity].attributes().get(name))
    }

    /// The `time:epoch` of this very entity: when its element 0 was, in nanoseconds since 1970-01-01 UTC.
    #[must_use]
    pub fn epoch(&self, entity: EntityId) -> Option<i128> {
        self[entity].attributes().get("time:epoch")?.as_str().and_then(parse_rfc3339)
    }

    fn valid_epoch(&self, entity: EntityId) -> Result<i128, Error> {
        self.epoch(entity).ok_or_else(|| {
            let found = self[entity].attributes().get("time:epoch").map(brief).unwrap_or_default();
            let error = self.no_view(entity, "no times: expected a date and time of RFC 3339");
            error.detail(format!("`time:epoch` is {found}"))
        })
    }

    /// Whether the children of an entity have their elements together.
    #[must_use]
    pub fn is_record(&self, entity: EntityId) -> bool {
        let node = &self[entity];
        let role = || node.attributes().get("core:role").and_then(Value::as_str);
        *node.kind() == Kind::Record || *node.kind() == Kind::Group && role() == Some("record")
    }

    /// The child of a record or group that tells when its elements were: the one that `time:field` names (in dialect V
    /// also `time`), or the first that is a `timestamp` or a `tuple` of two.
    ///
    /// # Errors
    /// When `time:field` is not the name of a child, or the child is no time.
    pub fn time_field(&self, record: EntityId) -> Result<Option<TimeField>, Error> {
        let node = &self[record];
        if !matches!(node.kind(), Kind::Group | Kind::Record) {
            return Ok(None);
        }
        let attribute = ["time:field", "time"].iter().find_map(|&name| {
            let value = node.attributes().get(name)?;
            // In dialect S, `time` is an attribute like any other.
            (name == "time:field" || self.names == Dialect::V001 || value.as_str().is_some())
                .then_some((name, value))
        });
        let Some((attribute, value)) = attribute else {
            let times = node.children().iter().filter_map(|&child| self.time(child));
            return Ok(times.filter(|(_, inner)| **inner == Kind::Timestamp).map(|(time, _)| time).next());
        };
        let named = node
            .children()
            .iter()
            .find(|&&child| value.as_str().is_some_and(|name| self[child].name() == Some(name)));
        let Some(&child) = named else {
            let error = self.no_view(record, "no times: expected the name of a child");
            return Err(error.detail(format!("`{attribute}` is {}", brief(value))));
        };
        let time = self.time(child).map(|(time, _)| time);
        let expected = "no time: expected a timestamp or an integer, or a tuple of two of them";
        let error = || self.no_view(child, expected).detail(format!("it is a {}", self[child].kind()));
        time.map(Some).ok_or_else(error)
    }

    /// An entity as a time, if it is one, and the kind of its numbers.
    fn time(&self, entity: EntityId) -> Option<(TimeField, &Kind)> {
        let node = &self[entity];
        let inner = node.children().iter().find(|&&child| matches!(self[child].link(), Link::Inner(_)));
        let (number, is_span) = match (node.kind(), inner) {
            (Kind::Tuple { fields }, Some(&inner)) if fields.len() == 2 => (inner, true),
            _ => (entity, false),
        };
        let kind = self[number].kind();
        matches!(kind, Kind::Timestamp | Kind::Int { .. } | Kind::Signed { .. })
            .then_some((TimeField { entity, is_span }, kind))
    }

    /// Whether an entity is a `timestamp` or a `tuple` of two.
    #[must_use]
    pub fn is_timestamp(&self, entity: EntityId) -> bool {
        self.time(entity).is_some_and(|(_, kind)| *kind == Kind::Timestamp)
    }

    fn no_view(&self, entity: EntityId, reason: &'static str) -> Error {
        let pointer = format!("{}", self.entity_pointer(entity));
        Error::new("entity", ErrorKind::Invalid(reason)).item(pointer)
    }
}

/// Nanoseconds since 1970 of `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`; digits past nanoseconds are dropped.
pub(super) fn parse_rfc3339(text: &str) -> Option<i128> {
    let bytes = text.as_bytes();
    let number = |from: usize, len: usize| -> Option<i64> {
        let digits = bytes.get(from..from + len)?;
        digits.iter().all(u8::is_ascii_digit).then_some(())?;
        core::str::from_utf8(digits).ok()?.parse().ok()
    };
    let marks = [(4, b"--"), (7, b"--"), (10, b"Tt"), (13, b"::"), (16, b"::")];
    marks
        .iter()
        .all(|(at, mark)| {
            bytes.get(*at).is_some_and(|byte| mark.contains(byte) || (*byte == b' ' && *at == 10))
        })
        .then_some(())?;
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *days.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    // Second 60 is a leap second.
    if !(1..=length).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut rest = bytes.get(19..)?;
    let mut nanos = 0;
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, more) = fraction.split_at(count);
        (!digits.is_empty()).then_some(())?;
        for place in 0..9 {
            nanos = nanos * 10 + i128::from(digits.get(place).map_or(0, |digit| digit - b'0'));
        }
        rest = more;
    }
    let offset = match rest {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let at = text.len() - 5;
            let (hours, minutes) = (number(at, 2)?, number(at + 3, 2)?);
            (hours < 24 && minutes < 60).then_some(())?;
            (hours * 60 + minutes) * if *sign == b'-' { -1 } else { 1 }
        }
        _ => return None,
    };
    // Days since 1970: of the years before, then of the months before.
    let before = year - 1;
    let of_years = year * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    let of_months: i64 = days[..month as usize - 1].iter().sum();
    let days_since_1970 = of_years + of_months + day - 1 - 719_527;
    let seconds = ((days_since_1970 * 24 + hour) * 60 + minute - offset) * 60 + second;
    Some(i128::from(seconds) * 1_000_000_000 + nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn epochs() {
        assert_eq!(parse_rfc3339("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse_rfc3339("2024-02-29T12:34:56.789Z"), Some(1_709_210_096_789_000_000));
        assert_eq!(parse_rfc3339("2024-02-29t13:34:56.7890000009+01:00"), Some(1_709_210_096_789_000_000));
        assert_eq!(parse_rfc3339("1969-12-31T23:59:59.5Z"), Some(-500_000_000));
        assert_eq!(parse_rfc3339("2000-03-01 00:00:00-00:30"), Some(951_870_600_000_000_000));
        assert_eq!(parse_rfc3339("0001-01-01T00:00:00Z"), Some(-62_135_596_800_000_000_000));
        for text in [
            "",
            "2024",
            "2023-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00+1:00",
            "2024-01-01T00:00:00Zx",
            "é24-01-01T00:00:00Z",
            "2024-00-01T00:00:00Z",
            "2024-01-00T00:00:00Z",
            "+024-01-01T00:00:00Z",
            "-0001-01-01T00:00:00Z",
            "+010000-01-01T00:00:00Z",
            "10000-01-01T00:00:00Z",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
    }

    #[test]
    fn rates() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-5, 1e19] {
            assert_eq!(Rate::from_hertz(rate), None, "{rate}");
        }
        assert_eq!(Rate::from_hertz(0.5), Some(Rate { numerator: 1, denominator: 2 }));
        assert_eq!(Rate::from_hertz(24e6), Some(Rate { numerator: 24_000_000, denominator: 1 }));
        assert_eq!(Rate::from_hertz(0.5).unwrap().time_of(3, 1_000_000_000), 6_000_000_000);
        // The double is 2.1e-20 more than 0.001, so the time is less by 2.1e-14.
        let [slow, slowest] = [0.001, 1.0 / 1024.0].map(|rate| Rate::from_hertz(rate).unwrap());
        assert_eq!(slow.time_of(1, 1_000_000_000_000), 999_999_999_999_999);
        assert_eq!(slow.time_of(1_000_000, 1_000_000_000_000), 999_999_999_999_999_979_183);
        assert_eq!((slow.hertz(), slowest.time_of(u64::MAX, 1)), (0.001, u128::from(u64::MAX) * 1024));
        // A float would be off by more than a sample here.
        let rate = Rate::from_hertz(3.0).unwrap();
        assert_eq!(rate.time_of(u64::MAX, 1_000_000_000), u128::from(u64::MAX) * 1_000_000_000 / 3);
    }

    #[test]
    fn moments() {
        let clock = |hertz, epoch: Option<&str>| Clock {
            rate: Rate::from_hertz(hertz).unwrap(),
            per_tick: 1,
            epoch: epoch.map(|text| parse_rfc3339(text).unwrap()),
        };
        let shown = |clock: Clock, tick| alloc::format!("{}", clock.at(tick));
        assert_eq!(shown(clock(1000.0, None), 5000), "5");
        assert_eq!(shown(clock(1000.0, None), 1), "0.001");
        assert_eq!(shown(clock(3.0, None), 1), "0.333333333333");
        assert_eq!(shown(clock(1e12, None), u64::MAX), "18446744.073709551615");
        // A double has no digits for the last ones.
        assert_eq!(shown(clock(8e9, None), 8_000_000_000_000_000_001), "1000000000.000000000125");
        let dated = |text| clock(1000.0, Some(text));
        assert_eq!(shown(dated("2024-02-28T23:59:59.999Z"), 1), "2024-02-29T00:00:00Z");
        assert_eq!(shown(dated("2024-02-29T12:34:56.789Z"), 86_400_001), "2024-03-01T12:34:56.790Z");
        assert_eq!(shown(dated("1969-12-31T23:59:59.5Z"), 0), "1969-12-31T23:59:59.500Z");
        assert_eq!(shown(dated("0001-01-01T00:00:00+01:00"), 0), "0000-12-31T23:00:00Z");
        assert_eq!(shown(dated("2024-01-01T00:00:00Z"), u64::MAX), "+584556073-04-02T14:25:51.615Z");
        assert_eq!(shown(dated("9999-12-31T23:59:59.999Z"), 0), "9999-12-31T23:59:59.999Z");
        assert_eq!(shown(dated("9999-12-31T23:59:59.999Z"), 1), "+010000-01-01T00:00:00Z");
        assert_eq!(shown(dated("0000-01-01T00:30:00+01:00"), 0), "-000001-12-31T23:30:00Z");
        let last = Moment { picoseconds: i128::MAX, is_date: true };
        assert!(alloc::format!("{last}").starts_with("+5391559471918241467-01-05T"), "{last}");
    }

    proptest! {
        #[test]
        fn dates_are_read_as_they_are_shown(seconds in -62_135_596_800i128..253_402_300_800) {
            let moment = Moment { picoseconds: seconds * 1_000_000_000_000, is_date: true };
            let shown = alloc::format!("{moment}");
            prop_assert_eq!(parse_rfc3339(&shown), Some(seconds * 1_000_000_000));
        }

        #[test]
        fn times_and_indexes_are_inverse(hertz in 0.001..1e10f64, index in 0u64..1 << 40) {
            let rate = Rate::from_hertz(hertz).unwrap();
            prop_assert!((rate.hertz() / hertz - 1.0).abs() < 1e-12);
            const UNITS: u64 = 1_000_000_000_000;
            let time = rate.time_of(index, UNITS);
            if let Ok(time) = u64::try_from(time) {
                prop_assert!(rate.index_at(time, UNITS).unwrap() <= index);
                prop_assert!(rate.index_at(time + 1, UNITS).unwrap() > index || hertz > 1e12);
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,30}") {
            let _ = parse_rfc3339(&text);
        }
    }
}
