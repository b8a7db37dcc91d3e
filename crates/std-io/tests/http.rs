//! Reading over HTTP, from a server on this machine that also misbehaves.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use core_codec::Limits;
use core_codec::izs::model::{Kind, SchemaBuilder};
use core_codec::izs::{Compression, Element};
use core_codec::tsfile::DeviceId;
use std_io::tsfile::{Batch, TimeRange, TsFile};
use std_io::{HttpOptions, Input, IzsFile, IzsWriter, WriteOptions};

/// What a server does with a request, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Serve,
    /// Ignores the range.
    Whole,
    /// Says another ETag.
    Changed,
    /// Sends half of the body, then closes.
    Short,
    /// Answers 503.
    Busy,
    /// Closes without an answer.
    Close,
    /// Sends half of the body, then nothing.
    Hang,
    /// Answers 404.
    Missing,
    /// Sends elsewhere.
    Redirect(&'static str),
    /// Answers 416, as for a file that has become shorter.
    Shrunk,
    /// Sends other bytes than asked for.
    Elsewhere,
}

struct Server {
    address: String,
    requests: Arc<Mutex<Vec<Range<u64>>>>,
}

impl Server {
    fn start(file: Vec<u8>, act: fn(usize) -> Act) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/capture.izs", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (file, log, number) = (Arc::new(file), requests.clone(), Arc::new(AtomicUsize::new(0)));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (file, log, number) = (file.clone(), log.clone(), number.clone());
                thread::spawn(move || while answer(stream.as_ref().unwrap(), &file, &log, &number, act) {});
            }
        });
        Self { address, requests }
    }

    fn requests(&self) -> Vec<Range<u64>> {
        self.requests.lock().unwrap().clone()
    }

    fn open(&self) -> std::io::Result<Input> {
        self.open_within(Duration::from_secs(20))
    }

    fn open_within(&self, timeout: Duration) -> std::io::Result<Input> {
        let options = HttpOptions { timeout, backoff: Duration::from_millis(1), ..HttpOptions::default() };
        Input::open_url(&self.address, options)
    }
}

/// Answers one request on a connection; false when it is closed after that.
fn answer(
    mut stream: &TcpStream,
    file: &[u8],
    log: &Mutex<Vec<Range<u64>>>,
    number: &AtomicUsize,
    act: fn(usize) -> Act,
) -> bool {
    let mut range = None;
    let mut lines = BufReader::new(stream).lines();
    loop {
        match lines.next() {
            Some(Ok(line)) if line.is_empty() => break,
            Some(Ok(line)) => {
                if let Some((name, value)) = line.split_once(": ")
                    && name.eq_ignore_ascii_case("range")
                {
                    range = Some(parse_range(value, file.len() as u64));
                }
            }
            _ => return false,
        }
    }
    let act = act(number.fetch_add(1, Ordering::SeqCst));
    let mut range = range.expect("every request is for a range");
    log.lock().unwrap().push(range.clone());
    if act == Act::Elsewhere {
        range = range.start + 1..range.end;
    }
    let etag = if act == Act::Changed { "\"two\"" } else { "\"one\"" };
    let content_range = format!("bytes {}-{}/{}", range.start, range.end.saturating_sub(1), file.len());
    let body = &file[range.start as usize..range.end as usize];
    let (status, headers, body) = match act {
        Act::Whole => ("200 OK", String::new(), file),
        Act::Busy => ("503 Service Unavailable", String::new(), &[][..]),
        Act::Missing => ("404 Not Found", String::new(), &[][..]),
        Act::Redirect(to) => ("302 Found", format!("Location: {to}\r\n"), &[][..]),
        Act::Close => return false,
        Act::Shrunk => ("416 Range Not Satisfiable", "Content-Range: bytes */9\r\n".to_owned(), &[][..]),
        _ if file.is_empty() => {
            ("416 Range Not Satisfiable", "Content-Range: bytes */0\r\n".to_owned(), &[][..])
        }
        _ => ("206 Partial Content", format!("Content-Range: {content_range}\r\n"), body),
    };
    let head =
        format!("HTTP/1.1 {status}\r\nETag: {etag}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    let half = matches!(act, Act::Short | Act::Hang);
    let sent = if half { &body[..body.len() / 2] } else { body };
    let sent = stream.write_all(head.as_bytes()).is_ok() && stream.write_all(sent).is_ok();
    if act == Act::Hang {
        // Until the client gives up.
        let _ = stream.read(&mut [0]);
    }
    sent && !half
}

fn parse_range(value: &str, len: u64) -> Range<u64> {
    let (first, last) = value.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    match first {
        "" => len.saturating_sub(last.parse().unwrap())..len,
        _ => first.parse().unwrap()..last.parse::<u64>().unwrap() + 1,
    }
}

fn testdata(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/izs");
    std::fs::read(folder.join(name)).unwrap()
}

/// An `.izs` file of more than a MiB whose three blocks lie far before its tail.
fn large_file() -> Vec<u8> {
    let small = testdata("hand_none_exact.izs");
    // The blocks stay where they are; padding that no index names comes before the indexes, which move.
    let schema_len = u32::from_le_bytes(small[small.len() - 16..][..4].try_into().unwrap()) as usize;
    let schema_at = small.len() - 16 - schema_len;
    let mut file = small[..schema_at].to_vec();
    file.resize(schema_at + (2 << 20), 0xee);
    file.extend(&small[schema_at..]);
    file
}

fn opened(server: &Server) -> Result<IzsFile, std_io::Error> {
    IzsFile::from_input(server.open()?, Limits::default())
}

#[test]
fn one_request_opens_and_reads_a_small_file() {
    let bytes = testdata("group_capture_multi.izs");
    let server = Server::start(bytes.clone(), |_| Act::Serve);
    let file = opened(&server).unwrap();
    let logic = file.stream(file.find("logic").unwrap()).unwrap();
    let samples: Vec<u8> = logic.read(0..logic.len()).unwrap();
    assert_eq!(samples.len(), 120_000);
    assert_eq!(server.requests(), vec![0..bytes.len() as u64; 1]);
}

#[test]
fn blocks_outside_the_tail_take_one_request_for_each_run() {
    let bytes = large_file();
    let server = Server::start(bytes.clone(), |_| Act::Serve);
    let file = opened(&server).unwrap();
    assert_eq!(server.requests().len(), 1);
    let id = file.schema().streams().next().unwrap();
    let stream = file.stream(id).unwrap();
    let read = stream.read_bytes(0..stream.len()).unwrap();
    // The index, and the blocks that stand together.
    assert!(server.requests().len() <= 3, "{:?}", server.requests());
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    std::fs::write(&path, bytes).unwrap();
    let local = IzsFile::open(&path).unwrap();
    assert_eq!(read, local.stream(id).unwrap().read_bytes(0..stream.len()).unwrap());
    let before = server.requests().len();
    stream.read_bytes(0..stream.len()).unwrap();
    assert_eq!(server.requests().len(), before, "what was fetched is cached");
}

/// More than is fetched at once: the pieces come from one answer, and after a broken one from the next.
#[test]
fn a_long_run_of_blocks_takes_one_request() {
    let samples: Vec<u32> = (0..5 << 20).collect();
    let mut schema = SchemaBuilder::new(Kind::Int { bits: 32 });
    let stream = schema.stream_with(schema.root(), Element::U32, 1 << 16, Compression::None).unwrap();
    let mut writer = IzsWriter::new(Vec::new(), schema.finish().unwrap(), &WriteOptions::default()).unwrap();
    writer.push(stream, &samples).unwrap();
    let bytes = writer.finish().unwrap();
    for (short, expected) in [(false, 1), (true, 2)] {
        let act =
            if short { |number| if number == 1 { Act::Short } else { Act::Serve } } else { |_| Act::Serve };
        let server = Server::start(bytes.clone(), act);
        let file = opened(&server).unwrap();
        let stream = file.stream(file.find("").unwrap()).unwrap();
        assert!(stream.read::<u32>(0..stream.len()).unwrap() == samples);
        // Beside the one that opened the file.
        assert_eq!(server.requests().len(), 1 + expected, "{:?}", server.requests());
    }
}

#[test]
fn a_stards_file_takes_at_most_three_requests() {
    use core_codec::stards::{BASE_LAYER, Compression, Draft};
    let values: Vec<f64> = (0..500_000).map(f64::from).collect();
    let mut draft = Draft::new();
    for key in ["first", "wanted", "last"] {
        draft.put_slice(BASE_LAYER, key, &[500_000], &values, Compression::None).unwrap();
        draft.set_metadata(BASE_LAYER, key, "seconds").unwrap();
    }
    let server = Server::start(draft.to_bytes(&[][..]).unwrap(), |_| Act::Serve);
    let file = std_io::StardsFile::from_input(server.open().unwrap(), &Limits::default()).unwrap();
    assert_eq!(file.array(BASE_LAYER, "wanted").unwrap().read::<f64>().unwrap(), values);
    assert_eq!(file.metadata(BASE_LAYER).unwrap().len(), 3);
    // The tail, which holds the metadata, the head, the array.
    assert_eq!(server.requests().len(), 3, "{:?}", server.requests());
}

/// A TsFile whose index lies 4 MiB behind its data.
fn large_tsfile(small: &[u8]) -> Vec<u8> {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    std::fs::write(&path, small).unwrap();
    let data = TsFile::open(&path).unwrap().metadata().meta_offset as usize;
    let mut file = small[..data].to_vec();
    file.resize(data + (4 << 20), 0);
    // Offsets in the index that point behind the data move with what they point at.
    let mut rest = &small[data..];
    while let Some((&first, others)) = rest.split_first() {
        match rest.first_chunk().map(|bytes| u64::from_be_bytes(*bytes)) {
            Some(offset) if (data as u64..small.len() as u64).contains(&offset) => {
                file.extend((offset + (4 << 20)).to_be_bytes());
                rest = &rest[8..];
            }
            _ => {
                file.push(first);
                rest = others;
            }
        }
    }
    file
}

/// The rows of one series.
fn series_rows(file: &TsFile) -> String {
    let device = file.device(&DeviceId::from_path("root.sg.d1")).unwrap().unwrap();
    let mut rows = file.rows(&device, Some(&["s1"]), TimeRange::ALL).unwrap();
    let (mut batch, mut found) = (Batch::default(), String::new());
    while rows.next(&mut batch).unwrap() {
        found += &format!("{batch:?}");
    }
    found
}

#[test]
fn one_series_of_a_tsfile_takes_at_most_three_requests() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tsfile/tree_multichunk.tsfile");
    let server = Server::start(large_tsfile(&std::fs::read(&path).unwrap()), |_| Act::Serve);
    let file = TsFile::from_input(server.open().unwrap(), &Limits::default()).unwrap();
    assert_eq!(series_rows(&file), series_rows(&TsFile::open(&path).unwrap()));
    let requests = server.requests();
    assert!(requests.len() <= 3, "{requests:?}");
    let bytes: u64 = requests.iter().map(|range| range.end - range.start).sum();
    assert!(bytes < 2 << 20, "{requests:?}");
}

#[test]
fn passing_failures_are_tried_again() {
    let server = Server::start(testdata("group_capture_multi.izs"), |number| {
        [Act::Busy, Act::Close, Act::Short, Act::Serve][number.min(3)]
    });
    opened(&server).unwrap();
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn lasting_failures_are_clear_errors() {
    type Row = (fn(usize) -> Act, &'static str, usize);
    let table: [Row; 11] = [
        (|_| Act::Whole, "the server does not support range requests", 1),
        (|_| Act::Missing, "the server answers 404 Not Found", 1),
        // Not a file of this machine, nor by another protocol.
        (
            |number| if number == 0 { Act::Redirect("file:///etc/passwd") } else { Act::Missing },
            "/file:///etc/passwd",
            2,
        ),
        (
            |_| Act::Redirect("ftp://host/file"),
            "unknown scheme: ftp (only URLs of http and https are read)",
            1,
        ),
        (|_| Act::Redirect("/again"), "too many redirects", 11),
        (|_| Act::Busy, "the server answers 503 Service Unavailable", 4),
        (|_| Act::Elsewhere, "asked for the last", 1),
        (
            |number| if number == 0 { Act::Serve } else { Act::Changed },
            "the file changed while it was read",
            2,
        ),
        (|number| if number == 0 { Act::Serve } else { Act::Elsewhere }, "asked for the bytes", 2),
        (|number| if number == 0 { Act::Serve } else { Act::Short }, "Peer disconnected", 5),
        (
            |number| if number == 0 { Act::Serve } else { Act::Shrunk },
            "the file changed while it was read",
            2,
        ),
    ];
    for (act, says, requests) in table {
        let server = Server::start(large_file(), act);
        let result = opened(&server).and_then(|file| {
            let stream = file.stream(file.schema().streams().next().unwrap())?;
            stream.read_bytes(0..stream.len())
        });
        let error = result.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert_eq!(server.requests().len(), requests, "{error}");
    }
}

/// After a break, or a silence, what is missing is asked for, and not all of it again.
#[test]
fn a_long_range_goes_on_where_it_broke() {
    let bytes: Vec<u8> = (0..40 << 20).map(|i: u32| (i / 1000) as u8).collect();
    let end = 36 << 20;
    for act in [
        |number| if number == 1 { Act::Short } else { Act::Serve },
        |number| if number == 1 { Act::Hang } else { Act::Serve },
    ] {
        let server = Server::start(bytes.clone(), act);
        let input = server.open_within(Duration::from_secs(2)).unwrap();
        let read = input.run(|source| Ok(source.bytes(0..end)?.to_vec())).unwrap();
        assert!(read == bytes[..end as usize]);
        assert_eq!(server.requests()[1..], [0..end, 18 << 20..end]);
    }
}

/// Each answer breaks off: as long as each brings something, all of it is read; and a server that sends nothing more is
/// given up after one wait.
#[test]
fn what_comes_is_kept_and_what_does_not_is_given_up() {
    let bytes: Vec<u8> = (0..3 << 20).map(|i: u32| (i / 1000) as u8).collect();
    let server =
        Server::start(bytes.clone(), |number| if (1..5).contains(&number) { Act::Short } else { Act::Serve });
    let options = HttpOptions { retries: 0, backoff: Duration::from_millis(1), ..HttpOptions::default() };
    let input = Input::open_url(&server.address, options).unwrap();
    let read = input.run(|source| Ok(source.bytes(0..2 << 20)?.to_vec())).unwrap();
    assert!(read == bytes[..2 << 20]);
    let starts: Vec<u64> = server.requests()[1..].iter().map(|range| range.start).collect();
    assert_eq!(starts, [0, 1 << 20, 3 << 19, 7 << 18, 15 << 17]);

    let server = Server::start(bytes, |number| if number == 0 { Act::Serve } else { Act::Hang });
    let input = server.open_within(Duration::from_millis(500)).unwrap();
    let error = input.run(|source| Ok(source.bytes(0..1000)?.len())).unwrap_err();
    assert!(error.to_string().contains("timeout"), "{error}");
    assert_eq!(server.requests().len(), 2);
}

/// A block of more than half the cache is fetched once.
#[test]
fn large_blocks_are_fetched_once() {
    let samples: Vec<u64> = (0..4 << 20).collect();
    let mut schema = SchemaBuilder::new(Kind::Int { bits: 64 });
    let stream = schema.stream_with(schema.root(), Element::U64, 1 << 20, Compression::None).unwrap();
    let mut writer = IzsWriter::new(Vec::new(), schema.finish().unwrap(), &WriteOptions::default()).unwrap();
    writer.push(stream, &samples).unwrap();
    let server = Server::start(writer.finish().unwrap(), |_| Act::Serve);
    for budget in [0, 1 << 20, 12 << 20] {
        let input = server.open().unwrap().with_cache(budget);
        let before = server.requests().len();
        let file = IzsFile::from_input(input, Limits::default()).unwrap();
        let stream = file.stream(file.find("").unwrap()).unwrap();
        assert!(stream.read::<u64>(0..stream.len()).unwrap() == samples);
        let mut blocks: Vec<_> = server.requests()[before..].to_vec();
        blocks.retain(|range| range.end - range.start >= 8 << 20);
        let starts: std::collections::BTreeSet<_> = blocks.iter().map(|range| range.start).collect();
        assert_eq!(starts.len(), blocks.len(), "{budget}: {blocks:?}");
        assert!(
            blocks.iter().map(|range| range.end - range.start).sum::<u64>() <= 33 << 20,
            "{budget}: {blocks:?}"
        );
    }
}

#[test]
fn an_empty_file_is_one() {
    let server = Server::start(Vec::new(), |_| Act::Serve);
    assert_eq!(server.open().unwrap().len(), 0);
}
