//! Writing a file anew: in the other dialect, with other compression, with summaries.

use std::io::Write;

use core_codec::izs::Dialect;
use core_codec::izs::model::{Method, Role, StreamId, Strictness};

use super::writer::{IzsWriter, WriteOptions};
use super::{IzsFile, IzsStream};
use crate::error::Error;

impl IzsFile {
    /// Writes a file with the same content to `out`.
    ///
    /// What is not understood is kept: nodes of unknown types, unknown members and attributes in their order,
    /// blocks in an unknown compression as they are stored. Streams keep their block sizes and kinds of
    /// compression. Summaries are copied, or built where `options` ask for them; `skip`, which means another
    /// element in the other dialect, is built anew there.
    ///
    /// ```
    /// # use core_codec::izs::{Dialect, Element};
    /// # use core_codec::izs::model::{Kind, SchemaBuilder};
    /// # use std_io::{IzsFile, IzsWriter, WriteOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("capture.izs");
    /// # let mut schema = SchemaBuilder::new(Kind::Int { bits: 8 });
    /// # schema.stream(schema.root(), Element::U8)?;
    /// # IzsWriter::create(&path, schema.finish()?, &WriteOptions::default())?.finish()?.commit()?;
    /// let file = IzsFile::open(&path)?;
    /// let for_the_released_reader = WriteOptions::default().dialect(Dialect::V001);
    /// let bytes: Vec<u8> = file.rewrite(Vec::new(), &for_the_released_reader)?;
    /// # assert!(bytes.len() > 100);
    /// # Ok::<(), std_io::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a stream descriptor is not understood or a block is damaged, when the dialect has no form for
    /// something that is understood (see [`Schema::emit`](core_codec::izs::model::Schema::emit)), and when `out`
    /// cannot be written to.
    pub fn rewrite<W: Write>(&self, out: W, options: &WriteOptions) -> Result<W, Error> {
        let options = options.strictness(Strictness::Keep);
        let mut writer = IzsWriter::new(out, self.schema().clone(), &options)?;
        let streams = || self.schema().streams();
        for id in streams().filter(|&id| self.means_another_skip(id, options.chosen_dialect())) {
            writer.summarise(id);
        }
        for id in streams() {
            if !self.is_rebuilt(id, &writer) {
                self.copy(&self.stream(id)?, &mut writer)?;
            }
        }
        writer.finish()
    }

    fn copy<W: Write>(&self, stream: &IzsStream<'_>, writer: &mut IzsWriter<W>) -> Result<(), Error> {
        let id = stream.reader().id();
        if matches!(stream.descriptor().compress, Method::Known(_)) {
            return stream.for_each_part(0..stream.len(), |_, bytes| writer.push_bytes(id, bytes));
        }
        for number in 0..stream.descriptor().blocks() {
            let blocks = self.input().run(|source| stream.reader().blocks(source, number..number + 1))?;
            for block in &blocks {
                let stored = self.input().run(|source| {
                    stream.reader().request(source, std::slice::from_ref(block))?;
                    Ok(source.bytes(block.bytes.clone())?.to_vec())
                })?;
                writer.push_stored(id, stream.descriptor().block_len(number), stored)?;
            }
        }
        Ok(())
    }

    /// Whether the stream has a `skip` summary by the rule of the other dialect.
    fn means_another_skip(&self, id: StreamId, dialect: Dialect) -> bool {
        let stream = &self.schema()[id];
        let summaries = self.schema()[stream.entity()].summaries();
        stream.role() == Role::Data
            && summaries.iter().any(|summary| &*summary.key == "skip")
            && stream.descriptor().is_ok_and(|descriptor| descriptor.dialect != dialect)
    }

    /// Whether the stream is a level of a summary that is built anew.
    fn is_rebuilt<W: Write>(&self, id: StreamId, writer: &IzsWriter<W>) -> bool {
        let Role::Level { summary, .. } = self.schema()[id].role() else { return false };
        let entity = &self.schema()[self.schema()[id].entity()];
        let built = entity.data().and_then(|data| writer.writer().summary_key(data));
        entity.summaries().get(summary as usize).is_some_and(|summary| Some(&*summary.key) == built)
    }
}
