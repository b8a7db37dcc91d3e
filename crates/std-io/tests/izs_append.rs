//! Files that grow: what was there stays, what is added goes on from it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use core_codec::codec::zstd;
use core_codec::izs::model::{Kind, SchemaBuilder};
use core_codec::izs::reader;
use core_codec::izs::{Compression, Dialect, Element, raw};
use proptest::prelude::*;
use std_io::{Access, Input, IzsAppend, IzsFile, IzsWriter, WriteOptions};

fn samples(range: std::ops::Range<u64>) -> Vec<u16> {
    range.map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52) as u16 + (i / 700) as u16).collect()
}

const BLOCK: u64 = 4096;

/// A file with one stream of `len` samples and, in a group, nothing else.
fn write(path: &Path, len: u64, compression: Compression, options: &WriteOptions) {
    let mut schema = SchemaBuilder::new(Kind::Group);
    let adc = schema.add(schema.root(), "adc", Kind::Int { bits: 16 }).unwrap();
    schema.attribute(adc, "time:rate", 1e6).unwrap();
    schema.attribute(adc, "number:min", -5_i64).unwrap();
    schema.attribute(adc, "number:max", 5_i64).unwrap();
    let adc = schema.stream_with(adc, Element::U16, BLOCK, compression).unwrap();
    let mut writer = IzsWriter::create(path, schema.finish().unwrap(), options).unwrap();
    writer.push(adc, &samples(0..len)).unwrap();
    writer.finish().unwrap().commit().unwrap();
}

/// All bytes of all streams, with their JSON pointers.
fn content(path: &Path) -> Vec<(String, Vec<u8>)> {
    let input = Input::open(path, Access::Read).unwrap();
    streams(&IzsFile::from_input(input, core_codec::Limits::default()).unwrap())
}

fn streams(file: &IzsFile) -> Vec<(String, Vec<u8>)> {
    let ids = file.schema().streams();
    ids.map(|id| {
        let stream = file.stream(id).unwrap();
        (file.schema().stream_pointer(id).to_string(), stream.read_bytes(0..stream.len()).unwrap())
    })
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn a_file_that_grew_holds_what_one_written_at_once_holds(
        lens in prop::collection::vec(prop_oneof![0..20_000_u64, (0..5_u64).prop_map(|n| n * BLOCK)], 2..5),
        compression in prop::sample::select(&[Compression::None, Compression::Zstd][..]),
        dialect in prop::sample::select(&[Dialect::Spec, Dialect::V001][..]),
        summaries in any::<bool>(),
        in_place in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let [grown, whole] = ["grown", "whole"].map(|name| folder.path().join(name));
        let options = WriteOptions::default().dialect(dialect).summaries(summaries).threads(1);
        write(&grown, lens[0], compression, &options);
        let mut end = lens[0];
        for len in &lens[1..] {
            let before = fs::read(&grown).unwrap();
            let append = if in_place { IzsAppend::open_in_place(&grown) } else { IzsAppend::open(&grown) };
            let mut writer = append.unwrap().start(&options).unwrap();
            prop_assert!(writer.get_ref().lost_summaries().is_empty());
            let adc = IzsFile::open(&grown).unwrap().find("adc").unwrap();
            writer.push(adc, &samples(end..end + len)).unwrap();
            writer.finish().unwrap().commit().unwrap();
            prop_assert!(fs::read(&grown).unwrap().starts_with(&before));
            end += len;
        }
        write(&whole, end, compression, &options);
        prop_assert!(content(&grown) == content(&whole));
        let [grown, whole] = [grown, whole].map(|path| IzsFile::open(path).unwrap());
        let entity = |file: &IzsFile| {
            let adc = file.schema().find("adc").unwrap();
            file.schema()[adc].attributes().clone()
        };
        prop_assert_eq!(entity(&grown), entity(&whole));
    }
}

/// As who takes the ids of the file that was written for those of the one that is there would do.
#[test]
fn levels_of_summaries_take_nothing_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.izs");
    write(&path, 5000, Compression::Zstd, &WriteOptions::default().summaries(true));
    let old = content(&path);
    let append = IzsAppend::open(&path).unwrap();
    let level = append.find("/entity/children/adc/summaries/range/levels/0").unwrap();
    let mut writer = append.start(&WriteOptions::default()).unwrap();
    let refused = writer.push(level, &[1_u16, 2]).unwrap_err().to_string();
    assert!(refused.contains("levels/0") && refused.contains("level of a summary"), "{refused}");
    writer.finish().unwrap().commit().unwrap();
    assert!(content(&path) == old);
}

#[test]
fn new_streams_join_old_ones_in_either_dialect() {
    for dialect in [Dialect::Spec, Dialect::V001] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.izs");
        write(&path, 5000, Compression::Zstd, &WriteOptions::default().dialect(dialect));
        let old = content(&path);
        let mut append = IzsAppend::open(&path).unwrap();
        let schema = append.schema();
        let logic = schema.add(schema.root(), "logic", Kind::BitStruct).unwrap();
        schema.add(logic, "a", Kind::Bits { bits: 1 }).unwrap();
        schema.add(logic, "b", Kind::Bits { bits: 1 }).unwrap();
        schema.attribute(logic, "time:rate", 8e6).unwrap();
        let logic = schema.stream(logic, Element::U8).unwrap();
        let mut writer = append.start(&WriteOptions::default().summaries(true)).unwrap();
        writer.push(logic, &[2_u8; 3000]).unwrap();
        writer.finish().unwrap().commit().unwrap();
        let new = content(&path);
        assert_eq!(new[..1], old[..]);
        let file = IzsFile::open(&path).unwrap();
        let find = |item: &str| file.stream(file.find(item).unwrap()).unwrap();
        assert_eq!(find("logic").read::<u8>(0..3000).unwrap(), [2; 3000]);
        assert_eq!(find("/entity/children/logic/summaries/bit_and_or/levels/0").len(), 1500);
        assert_eq!(find("logic").descriptor().dialect, dialect);
        let entity = file.schema().find("logic").unwrap();
        let name = if dialect == Dialect::Spec { "time:rate" } else { "sample_rate" };
        assert!(file.schema()[entity].attributes().get(name).is_some());
        let b = file.schema().find("logic/b").unwrap();
        assert_eq!(file.schema().bit_position(b), 1);
    }
}

fn last(path: &Path) -> Result<IzsFile, std_io::Error> {
    IzsFile::open_last(Input::open(path, Access::Read).unwrap(), core_codec::Limits::default())
}

/// Whoever opens the file finds the old one, until the new one is complete.
#[test]
fn the_old_file_is_valid_until_the_new_one_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.izs");
    write(&path, 10_000, Compression::None, &WriteOptions::default());
    let before = fs::read(&path).unwrap();
    let adc = IzsFile::open(&path).unwrap().find("adc").unwrap();
    for committed in [false, true] {
        let mut writer = IzsAppend::open(&path).unwrap().start(&WriteOptions::default()).unwrap();
        assert_eq!(writer.get_ref().old_len(), before.len() as u64);
        for part in 0..10 {
            writer.push(adc, &samples(part * 10_000..(part + 1) * 10_000)).unwrap();
            assert!(fs::read(&path).unwrap() == before);
        }
        let finished = writer.finish().unwrap();
        assert!(fs::read(&path).unwrap() == before);
        if committed {
            finished.commit().unwrap();
        } else {
            drop(finished);
        }
        let len = if committed { 110_000 } else { 10_000 };
        assert_eq!(IzsFile::open(&path).unwrap().stream(adc).unwrap().len(), len);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left behind");
    }
    assert!(fs::read(&path).unwrap().starts_with(&before));
}

#[cfg(unix)]
#[test]
fn the_copy_keeps_permissions_and_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let [path, link] = ["file.izs", "link.izs"].map(|name| folder.path().join(name));
    write(&path, 10, Compression::None, &WriteOptions::default());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&path, &link).unwrap();
    let mut writer = IzsAppend::open(&link).unwrap().start(&WriteOptions::default()).unwrap();
    let adc = IzsFile::open(&path).unwrap().find("adc").unwrap();
    writer.push(adc, &samples(10..15)).unwrap();
    writer.finish().unwrap().commit().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(
        IzsFile::open(&path).unwrap().stream(adc).unwrap().read::<u16>(0..15).unwrap(),
        samples(0..15)
    );
}

#[test]
fn what_is_not_committed_in_place_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.izs");
    write(&path, 10_000, Compression::None, &WriteOptions::default());
    let before = fs::read(&path).unwrap();
    let start = || IzsAppend::open_in_place(&path).unwrap().start(&WriteOptions::default()).unwrap();
    let adc = IzsFile::open(&path).unwrap().find("adc").unwrap();

    let mut writer = start();
    writer.push(adc, &samples(0..100_000)).unwrap();
    assert!(fs::metadata(&path).unwrap().len() > before.len() as u64);
    drop(writer);
    assert!(fs::read(&path).unwrap() == before);

    let mut writer = start();
    writer.push(adc, &samples(0..100_000)).unwrap();
    let finished = writer.finish().unwrap();
    // All but the footer, without which it is no file.
    assert!(fs::metadata(&path).unwrap().len() > before.len() as u64);
    assert!(IzsFile::open(&path).unwrap_err().to_string().contains("footer"));
    assert_eq!(last(&path).unwrap().stream(adc).unwrap().read::<u16>(0..10_000).unwrap(), samples(0..10_000));
    drop(finished);
    assert!(fs::read(&path).unwrap() == before);

    let mut writer = start();
    writer.push(adc, &samples(0..100_000)).unwrap();
    assert!(writer.push(adc, &[1_u8]).is_err());
    writer.finish().unwrap().commit().unwrap();
    assert_eq!(IzsFile::open(&path).unwrap().stream(adc).unwrap().len(), 110_000);
}

/// Two would write over each other, or the one that is last would lose what the other has committed.
#[cfg(unix)]
#[test]
fn one_at_a_time_adds_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.izs");
    let options = WriteOptions::default();
    write(&path, 100, Compression::None, &options);
    for in_place in [false, true] {
        let open = || if in_place { IzsAppend::open_in_place(&path) } else { IzsAppend::open(&path) };
        let writer = open().unwrap().start(&options).unwrap();
        for second in [IzsAppend::open(&path), IzsAppend::open_in_place(&path)] {
            assert_eq!(second.unwrap_err().to_string(), "another program is adding to the file");
        }
        assert!(IzsFile::open(&path).is_ok());
        drop(writer);
        open().unwrap();
    }
}

/// A crash in place leaves some of the new bytes: no cut but the complete one is taken for a file, and in each the old
/// file is found.
#[test]
fn a_crash_at_any_byte_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.izs");
    write(&path, 6000, Compression::Zstd, &WriteOptions::default().summaries(true));
    let (before, old) = (fs::read(&path).unwrap(), content(&path));
    let adc = IzsFile::open(&path).unwrap().find("adc").unwrap();
    let mut writer = IzsAppend::open_in_place(&path).unwrap().start(&WriteOptions::default()).unwrap();
    writer.push(adc, &samples(6000..6100)).unwrap();
    writer.finish().unwrap().commit().unwrap();
    let after = fs::read(&path).unwrap();
    assert!(after.starts_with(&before));
    for len in before.len()..=after.len() {
        let left = &after[..len];
        let complete = len == before.len() || len == after.len();
        let opened = reader::open(left, &core_codec::Limits::default());
        assert_eq!(opened.is_ok(), complete, "{len} bytes");
        let input = Input::fetching(Arc::new(left.to_vec()));
        let file = IzsFile::open_last(input, core_codec::Limits::default()).unwrap();
        let end = if complete { len } else { before.len() } as u64;
        assert_eq!(file.unread(), end..len as u64);
        if len < after.len() && len % 64 == 0 {
            assert!(streams(&file) == old, "{len} bytes");
        }
    }
}

/// Bytes that look like footers cost but a bounded search, and are not taken for one.
#[test]
fn false_footers_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.izs");
    write(&path, 6000, Compression::None, &WriteOptions::default());
    let good = fs::read(&path).unwrap();
    let footer = |schema_len: u32| raw::Footer { schema_len, reserved: 0 }.emit();
    for count in [1, 20, 10_000] {
        let mut bytes = good.clone();
        bytes.extend((0..count).flat_map(|number| footer(number * 7)));
        bytes.push(0);
        fs::write(&path, bytes).unwrap();
        assert!(last(&path).is_ok(), "{count}");
    }
    // Those behind a frame cost what it decodes to: here, as much as a schema may have.
    let zeros = zstd::encode(&vec![0; 16 << 20]).unwrap();
    for (count, expected) in [(20, None), (40, Some("decoded bytes of what looks like schemas: "))] {
        let mut bytes = good.clone();
        for _ in 0..count {
            bytes.extend(&zeros);
            bytes.extend(footer(zeros.len() as u32));
        }
        bytes.push(0);
        fs::write(&path, bytes).unwrap();
        let error = last(&path).err().map(|error| error.to_string());
        assert_eq!(error.is_some(), expected.is_some(), "{count}");
        assert!(error.unwrap_or_default().contains(expected.unwrap_or_default()));
    }
    fs::write(&path, footer(0)).unwrap();
    assert_eq!(last(&path).unwrap_err().to_string(), "file: has no complete footer");
}

#[test]
fn real_files_grow() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/izs");
    let mut roots = vec![testdata];
    match std::env::var_os("TRIPOINT_CORPUS") {
        Some(corpus) => roots.push(Path::new(&corpus).join("izs")),
        None => eprintln!("TRIPOINT_CORPUS is not set: only the files of this repository grow"),
    }
    let folders = roots.iter().flat_map(|root| [root.clone(), root.join("v001")]);
    let paths = folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "izs")).collect();
    assert!(paths.len() >= 30);
    let folder = tempfile::tempdir().unwrap();
    for original in paths {
        let path = folder.path().join("grown.izs");
        fs::write(&path, fs::read(&original).unwrap()).unwrap();
        let old = content(&path);
        let writer = IzsAppend::open(&path).unwrap().start(&WriteOptions::default()).unwrap();
        let lost = writer.get_ref().lost_summaries().len();
        assert!(lost == 0 || original.file_stem().unwrap() == "summ_65540_dropped", "{}", original.display());
        writer.finish().unwrap().commit().unwrap();
        // Nothing was added, so that nothing has changed but where the indexes and the schema stand.
        assert!(content(&path) == old, "{}", original.display());

        let mut writer = IzsAppend::open(&path).unwrap().start(&WriteOptions::default()).unwrap();
        let file =
            IzsFile::from_input(Input::open(&path, Access::Read).unwrap(), core_codec::Limits::default())
                .unwrap();
        let data: Vec<_> = file.schema().entities().filter_map(|id| file.schema()[id].data()).collect();
        for &id in &data {
            let element = file.stream(id).unwrap().descriptor().element;
            writer.push_bytes(id, &vec![0x5a; 3000 * usize::from(element.size())]).unwrap();
        }
        writer.finish().unwrap().commit().unwrap();
        let grown = content(&path);
        for id in data {
            let name = file.schema().stream_pointer(id).to_string();
            let bytes = |content: &[(String, Vec<u8>)]| {
                content.iter().find(|(found, _)| *found == name).unwrap().1.clone()
            };
            let (before, after) = (bytes(&old), bytes(&grown));
            assert!(after.starts_with(&before), "{} {name}", original.display());
            assert!(after[before.len()..].iter().all(|&byte| byte == 0x5a));
            assert_eq!((after.len() - before.len()) % 3000, 0);
        }
    }
}

/// A summary that says nothing, of a stream that was empty, is not there for the elements that come.
#[test]
fn a_summary_of_nothing_gives_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.izs");
    write(&path, 0, Compression::None, &WriteOptions::default());
    let bytes = fs::read(&path).unwrap();
    let file = IzsFile::open(&path).unwrap();
    let schema = file.schema().emit(Dialect::Spec, core_codec::izs::model::Strictness::Keep).unwrap();
    let schema =
        schema.replace(r#""data":"#, r#""summaries":{"range":{"base_level":2,"levels":[]}},"data":"#);
    let frame = zstd::encode(schema.as_bytes()).unwrap();
    let footer = raw::Footer { schema_len: frame.len() as u32, reserved: 0 }.emit();
    fs::write(&path, [&bytes[..8], &frame, &footer].concat()).unwrap();

    let mut writer = IzsAppend::open(&path).unwrap().start(&WriteOptions::default()).unwrap();
    assert_eq!(writer.get_ref().lost_summaries().len(), 1);
    let adc = IzsFile::open(&path).unwrap().find("adc").unwrap();
    writer.push(adc, &samples(0..5000)).unwrap();
    writer.finish().unwrap().commit().unwrap();
    let file = IzsFile::open(&path).unwrap();
    assert!(file.schema()[file.schema().find("adc").unwrap()].summaries().is_empty());
    assert_eq!(file.stream(adc).unwrap().read::<u16>(0..5000).unwrap(), samples(0..5000));
}

/// A block that is stored in more bytes than it decodes to is no larger than the limit.
#[test]
fn a_block_of_noise_may_be_as_large_as_any() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noise.izs");
    let noise: Vec<u8> = (0..4096_u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect();
    let mut schema = SchemaBuilder::new(Kind::Int { bits: 8 });
    let stream = schema.stream_with(schema.root(), Element::U8, 4096, Compression::Zstd).unwrap();
    let mut writer = IzsWriter::create(&path, schema.finish().unwrap(), &WriteOptions::default()).unwrap();
    writer.push(stream, &noise).unwrap();
    writer.finish().unwrap().commit().unwrap();
    let mut limits = core_codec::Limits::default();
    for (block_bytes, readable) in [(4096, true), (4095, false)] {
        limits.block_bytes = block_bytes;
        for access in [Access::Map, Access::Read] {
            let file = IzsFile::from_input(Input::open(&path, access).unwrap(), limits.clone()).unwrap();
            let read = file.stream(stream).unwrap().read::<u8>(0..4096);
            assert_eq!(read.is_ok_and(|read| read == noise), readable, "{block_bytes} {access:?}");
        }
    }
}
