//! Every rule of the specification and of the data model, checked; and what the reference cannot read.
//!
//! | file | rules for |
//! |---|---|
//! | `keys` | keys of the JSON text that the model no longer shows |
//! | `nodes` | types, what belongs to each, and fields in their element |
//! | `attributes` | values of attributes that mean something |
//! | `times` | rates, epochs and time fields |
//! | `lengths` | streams that belong together |
//! | `summaries` | levels and their groups |
//! | `streams` | descriptors, and the one pass over the elements of each stream |
//! | `places` | where blocks and indexes stand |
//! | `ends`, `choices`, `order`, `text` | what the elements say |
//!
//! An error is what contradicts the specification or the data model, or cannot be read. A warning is what a reader
//! stumbles over, or leaves out, or what is doubtful.

mod attributes;
mod choices;
mod ends;
mod keys;
mod lengths;
mod nodes;
mod order;
mod places;
mod streams;
mod summaries;
mod text;
mod times;
mod values;
mod watch;

use std::collections::HashSet;
use std::fmt::Display;

use core_codec::Severity;
use core_codec::izs::Dialect;
use core_codec::izs::model::{Descriptor, EntityId, Schema, StreamId, Value};
use core_codec::izs::raw::HEADER;

use super::IzsFile;
use crate::error::Error;

/// Bytes of findings that are told, so that a small file cannot make gigabytes of them.
const MOST_FINDINGS: usize = 4 << 20;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// JSON pointer of the entity or stream; empty for the file as a whole.
    pub item: String,
    /// What it is.
    pub message: String,
}

impl IzsFile {
    /// Checks everything, reading all of the file; with `summaries`, computes them again and compares.
    ///
    /// # Errors
    /// Only when the file cannot be had any more; what is wrong in it is a finding.
    pub fn verify(&self, summaries: bool, report: &mut dyn FnMut(Finding)) -> Result<(), Error> {
        let schema = self.schema();
        let dialect = schema.streams().find_map(|id| Some(schema[id].descriptor().ok()?.dialect));
        let mut verifier =
            Verifier { file: self, schema, dialect, rated: HashSet::new(), findings: Findings::new(report) };
        let has_header = verifier.header()?;
        verifier.keys()?;
        for entity in schema.entities() {
            verifier.node(entity);
            verifier.attributes(entity);
            verifier.times(entity);
            verifier.lengths(entity);
        }
        verifier.streams(has_header);
        verifier.summaries(summaries);
        verifier.findings.finish();
        Ok(())
    }
}

/// A file, and where findings go.
struct Verifier<'a> {
    file: &'a IzsFile,
    schema: &'a Schema,
    /// That of the first stream.
    dialect: Option<Dialect>,
    /// Entities that have a rate, or are below one that has.
    rated: HashSet<EntityId>,
    findings: Findings<'a>,
}

/// Where findings go, as long as they are not too many.
struct Findings<'a> {
    report: &'a mut dyn FnMut(Finding),
    /// Bytes of findings that may still be told.
    left: usize,
    /// Warnings and errors that were not told.
    left_out: [u64; 2],
}

impl<'a> Findings<'a> {
    fn new(report: &'a mut dyn FnMut(Finding)) -> Self {
        Self { report, left: MOST_FINDINGS, left_out: [0; 2] }
    }

    fn tell(&mut self, severity: Severity, item: impl Display, message: impl Into<String>) {
        if self.left == 0 {
            self.left_out[usize::from(severity == Severity::Error)] += 1;
            return;
        }
        let (item, message) = (item.to_string(), message.into());
        self.left = self.left.saturating_sub(item.len() + message.len());
        (self.report)(Finding { severity, item, message });
    }

    /// Says how many were too many.
    fn finish(&mut self) {
        let [warnings, errors] = self.left_out;
        if warnings + errors > 0 {
            let severity = if errors > 0 { Severity::Error } else { Severity::Warning };
            let message = format!("{errors} more errors and {warnings} more warnings are not shown");
            (self.report)(Finding { severity, item: String::new(), message });
        }
    }
}

impl Verifier<'_> {
    fn warning(&mut self, item: impl Display, message: impl Into<String>) {
        self.findings.tell(Severity::Warning, item, message);
    }

    fn error(&mut self, item: impl Display, message: impl Into<String>) {
        self.findings.tell(Severity::Error, item, message);
    }

    /// Whether the file begins with the header.
    fn header(&mut self) -> Result<bool, Error> {
        let head = self.file.input.run(|source| Ok(source.bytes(0..source.len().min(8))?.to_vec()))?;
        if head != HEADER {
            self.warning("", format!("the header is {head:02x?}: other tools may not know the file"));
        }
        let mut dialects = self.schema.streams().filter_map(|id| Some(self.descriptor(id)?.dialect));
        if dialects.any(|dialect| Some(dialect) != self.dialect) {
            self.warning("", "streams use the key names of different dialects");
        }
        Ok(head == HEADER)
    }

    fn descriptor(&self, id: StreamId) -> Option<&Descriptor> {
        self.schema[id].descriptor().ok()
    }
}

/// A value in few characters.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 40 { text } else { value.type_name().into() }
}

/// A key as a step of a JSON pointer.
fn token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
