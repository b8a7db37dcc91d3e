//! StarDS files.

mod cat;
mod digest;
mod info;
mod items;
mod npy;
mod values;

use std::io::Write;

use core_codec::Limits;
use core_codec::stards::{BASE_LAYER, Finding, Layer};
use std_io::{Input, StardsArray, StardsFile};

use crate::document::{self, CatRequest, Outcome, expect_usage};
use crate::output::{self, Row};

/// An open StarDS file.
pub(crate) struct Document {
    file: StardsFile,
    /// Whether layers have what the base layer has and they lack.
    inherit: bool,
}

impl Document {
    pub(crate) fn open(input: Input, inherit: bool) -> anyhow::Result<Self> {
        Ok(Self { file: StardsFile::from_input(input, &Limits::default())?, inherit })
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

    /// The arrays of named layers that are those of the base layer: the layer, and the array.
    fn inherited(&self) -> impl Iterator<Item = (&str, StardsArray<'_>)> {
        let dataset = self.file.dataset();
        let layers =
            dataset.layers().iter().map(Layer::name).filter(|&name| self.inherit && name != BASE_LAYER);
        layers.flat_map(move |layer| {
            let base = self.visible().filter(move |array| array.layer() == BASE_LAYER);
            base.filter(move |array| self.file.array(layer, array.info().key()).is_err())
                .map(move |array| (layer, array))
        })
    }
}

impl document::Document for Document {
    fn info(&self, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        info::print(self, out)
    }

    fn info_json(&self, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        let (overview, outcome) = info::json(self);
        output::json_line(out, &overview)?;
        Ok(outcome)
    }

    fn items(&self, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
        items::all(self).try_for_each(emit)
    }

    fn cat(&self, request: &CatRequest, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        request.refuse_rows()?;
        request.refuse_meaning()?;
        cat::print(self, request, out)?;
        Ok(Outcome::Done)
    }

    fn digest(&self, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<Outcome> {
        digest::emit(self, emit)
    }

    fn verify(&self, summaries: bool, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
        expect_usage(!summaries, "--summaries is for .izs files")?;
        self.file.verify()?.into_iter().try_for_each(|Finding { severity, error }| {
            let mut row = document::finding(severity, error.item_name(), error.to_string());
            row.insert("structure".into(), error.structure().into());
            row.insert("offset".into(), error.offset().into());
            emit(row)
        })
    }
}
