//! What of a file `cat` is about: devices, columns, times, tags.

use std::borrow::Cow;

use anyhow::{Context, anyhow, bail};
use core_codec::tsfile::device::split_quoted;
use core_codec::tsfile::query::{TagFilter, Test};
use core_codec::tsfile::{DeviceEntry, TableSchema};
use std_io::tsfile::{TimeRange, TsFile};

use crate::args::TimeSpan;
use crate::document::{CatRequest, WrongUsage, expect_usage};

/// What is to be printed.
pub(super) struct Selection {
    /// One device, or all that pass the filter.
    pub(super) device: Option<DeviceEntry>,
    /// Fields and, in a table file, tags.
    pub(super) columns: Option<Vec<String>>,
    pub(super) range: TimeRange,
    pub(super) filter: TagFilter,
    /// The table, in a table file.
    pub(super) table: Option<TableSchema>,
}

impl Selection {
    /// Which tag of the table has this name.
    pub(super) fn tag(&self, name: &str) -> Option<usize> {
        self.table.as_ref()?.tags().position(|tag| *tag.name == *name)
    }

    /// The columns that are read: the tags are known without.
    pub(super) fn fields(&self) -> Option<Vec<&str>> {
        let names = self.columns.as_ref()?.iter().map(String::as_str);
        Some(names.filter(|name| self.tag(name).is_none()).collect())
    }
}

pub(super) fn selection(file: &TsFile, request: &CatRequest) -> anyhow::Result<Selection> {
    let rows = request.rows;
    let mut columns = column_names(&rows.columns)?;
    let mut device = match &rows.device {
        Some(name) => Some(find_device(file, name)?.ok_or_else(|| no_such("device", name))?),
        None => None,
    };
    if let Some(item) = request.item {
        expect_usage(device.is_none() && columns.is_none(), "name an item, or --device and --columns")?;
        let (found, column) = find_item(file, item)?;
        device = Some(found);
        columns = column.map(|name| vec![name]);
    }
    let table = table(file, rows.table.as_deref(), device.as_ref())?.cloned();
    let filter = match &table {
        Some(table) => {
            let tests = rows.tags.iter().map(|text| tag_test(text)).collect::<Result<Vec<_>, _>>()?;
            TagFilter::new(table, tests)?
        }
        None if rows.tags.is_empty() => TagFilter::default(),
        None => bail!(WrongUsage("--tag is for table files".into())),
    };
    Ok(Selection { device, columns, range: range(rows.time), filter, table })
}

/// The columns of all lists of names; none where there is no list.
fn column_names(lists: &[String]) -> Result<Option<Vec<String>>, WrongUsage> {
    let mut names = Vec::new();
    for list in lists {
        let parts =
            split_quoted(list, ',').map_err(|kind| WrongUsage(format!("--columns {list}: {kind}")))?;
        let name = |(name, quoted): (Cow<'_, str>, bool)| match quoted {
            true => name.into_owned(),
            false => name.trim().to_owned(),
        };
        names.extend(parts.into_iter().map(name));
    }
    Ok((!lists.is_empty()).then_some(names))
}

/// The table of the device, or the one that is named, or the only one; none in a tree file.
fn table<'a>(
    file: &'a TsFile,
    name: Option<&str>,
    device: Option<&DeviceEntry>,
) -> anyhow::Result<Option<&'a TableSchema>> {
    let tables = &file.metadata().tables;
    expect_usage(name.is_none() || file.metadata().is_table_model(), "--table is for table files")?;
    let find = |name| file.metadata().table(name).with_context(|| format!("no such table: {name}"));
    let named = name.map(find).transpose()?;
    if let Some(device) = device {
        let of = device.id.table();
        expect_usage(name.is_none_or(|name| name == of), format!("the device is of the table {of}"))?;
        return Ok(file.metadata().table(of));
    }
    if named.is_none() && tables.len() > 1 {
        let names: Vec<&str> = tables.iter().map(|table| &*table.name).collect();
        bail!(WrongUsage(format!("which --table? There are {}", names.join(", "))));
    }
    Ok(named.or(tables.first()))
}

/// From A up to, not including, B.
fn range(span: Option<TimeSpan>) -> TimeRange {
    let Some(span) = span else { return TimeRange::ALL };
    let start = span.start.unwrap_or(i64::MIN);
    match span.end {
        None => TimeRange { start, end: i64::MAX },
        // Nothing is before the first time.
        Some(i64::MIN) => TimeRange { start: i64::MAX, end: i64::MIN },
        Some(end) => TimeRange { start, end: end - 1 },
    }
}

/// Finds a device by the name that `ls` gives it.
fn find_device(file: &TsFile, name: &str) -> anyhow::Result<Option<DeviceEntry>> {
    let id = file.metadata().device_id(name).map_err(|kind| WrongUsage(format!("{name}: {kind}")))?;
    Ok(file.device(&id)?)
}

fn no_such(what: &str, name: &str) -> anyhow::Error {
    anyhow!("no such {what}: {name} (`tripoint ls` lists them)")
}

/// An item is a series, or a device.
fn find_item(file: &TsFile, item: &str) -> anyhow::Result<(DeviceEntry, Option<String>)> {
    let separator = if file.metadata().is_table_model() { ' ' } else { '.' };
    for (at, _) in item.match_indices(separator).collect::<Vec<_>>().into_iter().rev() {
        let (device, column) = (&item[..at], &item[at + 1..]);
        let Ok(Some(device)) = find_device(file, device) else { continue };
        // The bloom filter may deny what the index has.
        if file.input().run(|source| file.reader().series(source, &device, column))?.is_some() {
            return Ok((device, Some(column.to_owned())));
        }
    }
    let device = find_device(file, item)?.ok_or_else(|| no_such("item", item))?;
    Ok((device, None))
}

/// `NAME = VALUE`, `NAME != VALUE`, `NAME in A,B`, `NAME between A and B`, `NAME ~ REGEX`, `NAME is [not] null`.
fn tag_test(text: &str) -> Result<(Box<str>, Test), WrongUsage> {
    let usage = || {
        WrongUsage(format!(
            "{text:?}: expected NAME = VALUE, NAME != VALUE, NAME in A,B, NAME between A and B, NAME ~ REGEX or \
             NAME is [not] null"
        ))
    };
    let (name, rest) = text.trim().split_once(' ').ok_or_else(usage)?;
    let (operator, value) = rest.trim_start().split_once(' ').ok_or_else(usage)?;
    let value = value.trim();
    let test = match operator {
        "=" => Test::Equal(value.into()),
        "!=" => Test::Not(Box::new(Test::Equal(value.into()))),
        "in" => Test::In(value.split(',').map(|value| value.trim().into()).collect()),
        "between" => {
            let (low, high) = value.split_once(" and ").ok_or_else(usage)?;
            Test::Between(low.trim().into(), high.trim().into())
        }
        "~" => std_io::tsfile::matching(value).map_err(|error| WrongUsage(format!("{text:?}: {error}")))?,
        "is" if value == "null" => Test::Null,
        "is" if value == "not null" => Test::Not(Box::new(Test::Null)),
        _ => return Err(usage()),
    };
    Ok((name.into(), test))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_columns() {
        let names = |lists: &[&str]| {
            let lists: Vec<String> = lists.iter().map(|&list| list.to_owned()).collect();
            column_names(&lists).map_err(|WrongUsage(text)| text)
        };
        let some = |names: &[&str]| Ok(Some(names.iter().map(|&name| name.to_owned()).collect()));
        assert_eq!(names(&[]), Ok(None));
        assert_eq!(names(&["a, b c ,d"]), some(&["a", "b c", "d"]));
        assert_eq!(names(&[r#""a,b",c"#, r#"" ""x""""#]), some(&["a,b", "c", r#" "x""#]));
        assert!(names(&[r#""a"#]).is_err() && names(&[r#""a"b"#]).is_err());
    }

    #[test]
    fn tests_of_tags() {
        let accepts = |text: &str, tag: Option<&str>| tag_test(text).unwrap().1.accepts(tag);
        assert!(accepts("region = north", Some("north")) && !accepts("region = north", None));
        assert!(accepts("region != north", Some("south")));
        assert!(accepts("dev in d1, d2", Some("d2")) && !accepts("dev in d1, d2", Some("d3")));
        assert!(accepts("dev between a and c", Some("b")) && !accepts("dev between a and c", Some("d")));
        assert!(accepts("dev ~ ^d[0-9]+$", Some("d12")) && !accepts("dev ~ ^d[0-9]+$", Some("xd12")));
        assert!(accepts("dev is null", None) && accepts("dev is not null", Some("")));
        for bad in ["dev", "dev =", "dev like x", "dev between a", "dev is x", "dev ~ ("] {
            assert!(tag_test(bad).is_err(), "{bad}");
        }
    }
}
