//! StarDS files.

mod cat;
mod digest;
mod info;
mod items;
mod names;
mod npy;
mod values;

use std::cell::OnceCell;
use std::io::Write;

use core_codec::Limits;
use core_codec::stards::{BASE_LAYER, Finding, Layer};
use std_io::{Input, StardsArray, StardsFile};

use crate::document::{self, CatRequest, Outcome, expect_usage};
use crate::output::Row;
use names::Ambiguous;

/// An open StarDS file.
pub(crate) struct Document {
    file: StardsFile,
    /// Whether layers have what the base layer has and they lack.
    inherit: bool,
    /// Found out when a name is to be printed.
    ambiguous: OnceCell<Ambiguous>,
}

impl Document {
    pub(crate) fn open(input: Input, inherit: bool) -> anyhow::Result<Self> {
        let file = StardsFile::from_input(input, &Limits::default())?;
        Ok(Self { file, inherit, ambiguous: OnceCell::new() })
    }

    /// By which names `cat` finds the items.
    fn ambiguous(&self) -> &Ambiguous {
        self.ambiguous.get_or_init(|| Ambiguous::of(self))
    }

    /// The array `key` of a layer.
    fn array(&self, layer: &str, key: &str) -> Result<StardsArray<'_>, std_io::Error> {
        if self.inherit { self.file.inherited_array(layer, key) } else { self.file.array(layer, key) }
    }

    /// The arrays that no later one of the same key hides.
    fn visible(&self) -> impl Iterator<Item = StardsArray<'_>> {
        let arrays = self.file.arrays().enumerate();
        arrays.filter(|(index, _)| self.file.dataset().is_visible(*index)).map(|(_, array)| array)
    }

    /// The arrays of named layers that are those of the base layer.
    fn inherited(&self) -> impl Iterator<Item = (&Layer, StardsArray<'_>)> {
        let layers = self.file.dataset().layers().iter();
        layers.filter(|layer| self.inherit && layer.name() != BASE_LAYER).flat_map(move |layer| {
            let base = self.visible().filter(move |array| array.layer() == BASE_LAYER);
            base.filter(move |array| self.file.array(layer.name(), array.info().key()).is_err())
                .map(move |array| (layer, array))
        })
    }

    /// The arrays that can be seen, with the layers in which they can be.
    fn arrays(&self) -> impl Iterator<Item = (&Layer, StardsArray<'_>)> {
        let layers = self.file.dataset().layers();
        self.visible().map(|array| (&layers[array.info().layer()], array)).chain(self.inherited())
    }
}

impl document::Document for Document {
    fn info(&self, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        info::print(self, out)
    }

    fn info_json(&self, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        info::json(self, out)
    }

    fn items(&self, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
        items::all(self).try_for_each(emit)
    }

    fn cat(&self, request: &CatRequest, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        request.refuse_rows()?;
        request.refuse_meaning()?;
        cat::print(self, request, out)
    }

    fn digest(&self, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<Outcome> {
        digest::emit(self, emit)
    }

    fn verify(&self, summaries: bool, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
        expect_usage(!summaries, "--summaries is for .izs files")?;
        self.file.for_each_finding(|Finding { severity, error }| {
            let mut row = document::finding(severity, error.item_name(), error.to_string());
            row.insert("structure".into(), error.structure().into());
            row.insert("offset".into(), error.offset().into());
            emit(row)
        })
    }
}
