//! Byte ranges over HTTP (RFC 9110, section 14).

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use ureq::http::uri::Scheme;
use ureq::http::{HeaderMap, Response, Uri, header};
#[cfg(feature = "https")]
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, ResponseExt as _};

use crate::fetch::Fetch;
use crate::input::Input;

/// Bytes of the end of a file that opening it asks for: what the readers of formats that are read from the end
/// ask for at first.
const TAIL_LEN: u64 = 1 << 20;

/// Bytes of an answer that are read, and tried again, at a time.
const PIECE: u64 = 8 << 20;

/// The longest that a server may take to be reached and to begin an answer.
const ANSWER: Duration = Duration::from_secs(15);

/// Whose certificates an HTTPS server must have.
#[cfg(feature = "https")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Roots {
    /// Those that the operating system trusts; on Linux, those in the file that `SSL_CERT_FILE` names, where it is set.
    #[default]
    System,
    /// Those that Mozilla trusts, as of when this crate's dependencies were published: for machines that have none.
    Mozilla,
    /// These alone, as PEM.
    Pem(Vec<u8>),
}

#[cfg(feature = "https")]
impl Roots {
    fn certificates(&self) -> io::Result<RootCerts> {
        let Self::Pem(text) = self else {
            return Ok(if *self == Self::System { RootCerts::PlatformVerifier } else { RootCerts::WebPki });
        };
        let items = parse_pem(text).collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
        let certificates = items.into_iter().filter_map(|item| match item {
            PemItem::Certificate(certificate) => Some(certificate),
            _ => None,
        });
        let certificates: Vec<_> = certificates.collect();
        if certificates.is_empty() {
            return Err(invalid("there is no certificate in the PEM text".into()));
        }
        Ok(RootCerts::from(certificates))
    }
}

/// How a remote file is read.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The longest that one request may take, its body included. What of a long body has come by then is kept, and
    /// another request asks for the rest; when next to nothing has come, the read fails.
    pub timeout: Duration,
    /// How often a request is tried again that failed before its answer was complete, or with 429 or 5xx; not one that
    /// had no answer in time. A request after which more is there than before does not count.
    pub retries: u32,
    /// How long to wait before the first retry; twice as long before each further one.
    pub backoff: Duration,
    /// Whom to trust.
    #[cfg(feature = "https")]
    pub roots: Roots,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            retries: 3,
            backoff: Duration::from_millis(200),
            #[cfg(feature = "https")]
            roots: Roots::default(),
        }
    }
}

impl Input {
    /// Opens a file on an HTTP server, in one request for its last MiB, from which readers that start at the end
    /// of a file are served. A server without range requests, a file that changes while it is read, and answers
    /// that are too short are errors. Of a file that keeps its length, only `ETag` or `Last-Modified` can tell that it
    /// has changed.
    ///
    /// # Errors
    /// When the server cannot be reached, does not have the file, or does not support range requests.
    pub fn open_url(url: &str, options: HttpOptions) -> io::Result<Self> {
        let (ranges, tail) = HttpRanges::open(url, options)?;
        let start = ranges.len - tail.len() as u64;
        let input = Self::fetching(ranges);
        input.preload(start, tail);
        Ok(input)
    }
}

/// A file on an HTTP server.
#[derive(Debug)]
struct HttpRanges {
    agent: Agent,
    url: String,
    len: u64,
    version: Version,
    options: HttpOptions,
    ahead: Mutex<Option<Ahead>>,
}

/// A range that is fetched in pieces, all from the answer to one request.
struct Ahead {
    /// What is still expected.
    range: Range<u64>,
    /// The answer, once there is one, from the start of `range` on.
    body: Option<ureq::BodyReader<'static>>,
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead").field("range", &self.range).finish_non_exhaustive()
    }
}

/// What tells one version of a file from the next.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    etag: Option<String>,
    last_modified: Option<String>,
}

impl Version {
    fn of(headers: &HeaderMap) -> Self {
        Self { etag: text(headers, header::ETAG), last_modified: text(headers, header::LAST_MODIFIED) }
    }
}

/// Why a request failed.
enum Failure {
    /// It may work the next time.
    Passing(io::Error),
    /// It will not.
    Lasting(io::Error),
}

impl Failure {
    /// Of reading a body: what did not come in time will not come the next time.
    fn of_body(error: io::Error) -> Self {
        let inner = error.get_ref().and_then(|error| error.downcast_ref::<ureq::Error>());
        if matches!(inner, Some(ureq::Error::Timeout(_))) {
            Self::Lasting(error)
        } else {
            Self::Passing(error)
        }
    }
}

impl HttpRanges {
    fn open(url: &str, options: HttpOptions) -> io::Result<(Self, Vec<u8>)> {
        let uri = checked(url)?;
        let answer = options.timeout.min(ANSWER);
        let config = Agent::config_builder()
            .timeout_global(Some(options.timeout))
            .timeout_connect(Some(answer))
            .timeout_recv_response(Some(answer))
            .http_status_as_error(false)
            // A redirection does not lead away from what was asked for: a line that nobody listens in on.
            .https_only(uri.scheme() == Some(&Scheme::HTTPS));
        #[cfg(feature = "https")]
        let config =
            config.tls_config(TlsConfig::builder().root_certs(options.roots.certificates()?).build());
        let config = config.build();
        let agent = Agent::new_with_config(config);
        let (tail, len, version) = retrying(&options, || {
            let response = request(&agent, url, &format!("bytes=-{TAIL_LEN}"))?;
            if is_empty_file(&response) {
                return Ok((Vec::new(), 0, Version::of(response.headers())));
            }
            let (range, len) = part_of(&response)?;
            if range.end != len || range.end - range.start != len.min(TAIL_LEN) {
                let message = format!("asked for the last {TAIL_LEN} of {len} bytes, got {range:?}");
                return Err(Failure::Lasting(invalid(message)));
            }
            let version = Version::of(response.headers());
            Ok((body(response, range.end - range.start)?, len, version))
        })?;
        Ok((Self { agent, url: url.to_owned(), len, version, options, ahead: Mutex::default() }, tail))
    }

    /// Asks for a range; the answer's body holds just that.
    fn ask(&self, range: &Range<u64>) -> Result<Response<ureq::Body>, Failure> {
        let response = request(&self.agent, &self.url, &format!("bytes={}-{}", range.start, range.end - 1))?;
        let changed = || Failure::Lasting(invalid("the file changed while it was read".into()));
        // It has become shorter.
        if response.status().as_u16() == 416 {
            return Err(changed());
        }
        let (found, len) = part_of(&response)?;
        if len != self.len || Version::of(response.headers()) != self.version {
            return Err(changed());
        }
        if found != *range {
            return Err(Failure::Lasting(invalid(format!("asked for the bytes {range:?}, got {found:?}"))));
        }
        Ok(response)
    }

    /// The next piece of what was [expected](Fetch::expect), where `range` is that.
    fn fetch_ahead(&self, range: &Range<u64>) -> Option<io::Result<Vec<u8>>> {
        // Another thread that holds it reads its own piece.
        let mut slot = self.ahead.try_lock().ok()?;
        let ahead = slot.as_mut().filter(|ahead| ahead.is_next(range, self.gap()))?;
        let bytes = self.read(ahead, range);
        if bytes.is_err() || ahead.range.is_empty() {
            *slot = None;
        }
        Some(bytes)
    }

    /// The next bytes of an answer, piece by piece: after a failure, the next request asks for what is missing.
    fn read(&self, ahead: &mut Ahead, range: &Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let room = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        bytes.try_reserve_exact(room).map_err(io::Error::other)?;
        let mut at = range.start;
        while at < range.end {
            let piece = at..range.end.min(at.saturating_add(PIECE));
            at = piece.end;
            let before = bytes.len() as u64;
            let mut start = piece.start;
            retrying(&self.options, || {
                loop {
                    let rest = start..piece.end;
                    let done = ahead.read(self, &rest, &mut bytes);
                    // What has come is kept.
                    start = piece.start + (bytes.len() as u64 - before);
                    if !matches!(done, Err(Failure::Passing(_))) || start - rest.start < PROGRESS {
                        return done;
                    }
                }
            })?;
        }
        Ok(bytes)
    }
}

/// A request that brings as many bytes is worth another one for the rest.
const PROGRESS: u64 = 64 << 10;

impl Ahead {
    /// Whether `range` comes next, after no more than a gap.
    fn is_next(&self, range: &Range<u64>, gap: u64) -> bool {
        let Range { start, end } = self.range;
        (start..=start.saturating_add(gap)).contains(&range.start) && range.end <= end
    }

    /// Adds the bytes of a range to `bytes`.
    fn read(&mut self, file: &HttpRanges, range: &Range<u64>, bytes: &mut Vec<u8>) -> Result<(), Failure> {
        let mut body = match self.body.take() {
            Some(body) => body,
            None => {
                self.range.start = range.start;
                file.ask(&self.range)?.into_body().into_reader()
            }
        };
        let skipped = range.start - self.range.start;
        io::copy(&mut body.by_ref().take(skipped), &mut io::sink()).map_err(Failure::of_body)?;
        let (before, len) = (bytes.len(), range.end - range.start);
        body.by_ref().take(len).read_to_end(bytes).map_err(|error| match Failure::of_body(error) {
            // It is slow, but it comes.
            Failure::Lasting(error) if (bytes.len() - before) as u64 >= PROGRESS => Failure::Passing(error),
            failure => failure,
        })?;
        let found = bytes.len() - before;
        if found as u64 != len {
            return Err(too_short(len, found));
        }
        self.range.start = range.end;
        if self.range.is_empty() {
            // The connection serves the next request once it is known that nothing more comes.
            let _ = body.read(&mut [0]);
        } else {
            self.body = Some(body);
        }
        Ok(())
    }
}

fn too_short(expected: u64, found: usize) -> Failure {
    let message = format!("the answer should have {expected} bytes, has {found}");
    Failure::Passing(io::Error::new(io::ErrorKind::UnexpectedEof, message))
}

impl Fetch for HttpRanges {
    fn len(&self) -> u64 {
        self.len
    }

    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(piece) = self.fetch_ahead(&range) {
            return piece;
        }
        self.read(&mut Ahead { range: range.clone(), body: None }, &range)
    }

    fn expect(&self, range: Range<u64>) {
        let range = range.start.min(self.len)..range.end.min(self.len);
        if let Ok(mut ahead) = self.ahead.try_lock() {
            *ahead = Some(Ahead { range, body: None });
        }
    }

    /// A round trip costs about as much as this many bytes.
    fn gap(&self) -> u64 {
        64 << 10
    }
}

fn retrying<T>(options: &HttpOptions, mut attempt: impl FnMut() -> Result<T, Failure>) -> io::Result<T> {
    let mut wait = options.backoff;
    for _ in 0..options.retries {
        match attempt() {
            Ok(value) => return Ok(value),
            Err(Failure::Lasting(error)) => return Err(error),
            Err(Failure::Passing(_)) => {
                thread::sleep(wait);
                wait = wait.saturating_mul(2);
            }
        }
    }
    attempt().map_err(|failure| match failure {
        Failure::Lasting(error) | Failure::Passing(error) => error,
    })
}

/// A URL whose port, if it has one, is a port: another would be left out, and the server asked that has the usual one.
fn checked(url: &str) -> io::Result<Uri> {
    let wrong = |message| io::Error::new(io::ErrorKind::InvalidInput, message);
    let uri: Uri = url.parse().map_err(|error| wrong(format!("not a URL: {error}")))?;
    let host =
        uri.authority().and_then(|authority| authority.as_str().rsplit('@').next()).unwrap_or_default();
    // An address of IPv6 has colons of its own, in brackets.
    let port = host.rsplit(']').next().and_then(|rest| Some(rest.split_once(':')?.1)).unwrap_or_default();
    if !port.is_empty() && port.parse::<u16>().is_err() {
        return Err(wrong(format!("the port of the URL: expected a number up to 65535, found {port}")));
    }
    Ok(uri)
}

fn request(agent: &Agent, url: &str, range: &str) -> Result<Response<ureq::Body>, Failure> {
    let request = agent.get(url).header(header::RANGE, range).header(header::ACCEPT_ENCODING, "identity");
    let response = request.call().map_err(|error| match error {
        // Where a redirection leads, or the URL itself.
        ureq::Error::BadUri(reason) => {
            Failure::Lasting(invalid(format!("{reason} (only URLs of http and https are read)")))
        }
        ureq::Error::Http(_)
        | ureq::Error::Timeout(_)
        | ureq::Error::RedirectFailed
        | ureq::Error::RequireHttpsOnly(_)
        | ureq::Error::TooManyRedirects => Failure::Lasting(io::Error::other(error)),
        // A certificate that is not believed.
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => Failure::Lasting(error),
        error => Failure::Passing(io::Error::other(error)),
    })?;
    let encoding = text(response.headers(), header::CONTENT_ENCODING);
    if let Some(encoding) = encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        return Err(Failure::Lasting(invalid(format!("the answer is compressed ({encoding})"))));
    }
    let status = response.status();
    let kind = match status.as_u16() {
        404 | 410 => io::ErrorKind::NotFound,
        401 | 403 => io::ErrorKind::PermissionDenied,
        // Of a range.
        200..300 | 416 => return Ok(response),
        _ => io::ErrorKind::Other,
    };
    let uri = response.get_uri();
    let redirected = url.parse().is_ok_and(|asked: Uri| asked != *uri);
    let by = if redirected { format!(", redirected to {uri}") } else { String::new() };
    let error = io::Error::new(kind, format!("the server answers {status}{by}"));
    Err(if status.is_server_error() || status.as_u16() == 429 {
        Failure::Passing(error)
    } else {
        Failure::Lasting(error)
    })
}

/// The range that a 206 answer holds, and the length of the file.
fn part_of(response: &Response<ureq::Body>) -> Result<(Range<u64>, u64), Failure> {
    let lasting = |kind, message: String| Err(Failure::Lasting(io::Error::new(kind, message)));
    match response.status().as_u16() {
        206 => {
            let content_range = text(response.headers(), header::CONTENT_RANGE);
            let parsed = content_range.as_deref().and_then(parse_content_range);
            parsed.ok_or_else(|| {
                Failure::Lasting(invalid(format!("the answer has no valid Content-Range: {content_range:?}")))
            })
        }
        200 => lasting(io::ErrorKind::Unsupported, "the server does not support range requests".into()),
        _ => lasting(io::ErrorKind::Other, format!("the server answers {}", response.status())),
    }
}

/// 416 with a length of 0: no range of an empty file can be had.
fn is_empty_file(response: &Response<ureq::Body>) -> bool {
    let content_range = text(response.headers(), header::CONTENT_RANGE);
    response.status().as_u16() == 416 && content_range.is_some_and(|range| range.trim() == "bytes */0")
}

/// `bytes FIRST-LAST/LENGTH`
fn parse_content_range(text: &str) -> Option<(Range<u64>, u64)> {
    let (unit, range) = text.trim().split_at_checked("bytes".len())?;
    let (range, len) = range.trim_start().split_once('/').filter(|_| unit.eq_ignore_ascii_case("bytes"))?;
    let (first, last) = range.split_once('-')?;
    let number =
        |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())?;
    let (first, last, len): (u64, u64, u64) = (number(first)?, number(last)?, number(len)?);
    (first <= last && last < len).then(|| (first..last + 1, len))
}

fn body(response: Response<ureq::Body>, expected: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut reader = response.into_body().into_reader().take(expected.saturating_add(1));
    reader.read_to_end(&mut bytes).map_err(Failure::of_body)?;
    if bytes.len() as u64 == expected {
        return Ok(bytes);
    }
    Err(too_short(expected, bytes.len()))
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports() {
        for url in [
            "http://host",
            "http://host:/x",
            "HTTP://host:65535",
            "http://[::1]:80/a:b",
            "http://[::1]/",
            "http://u:99999@host/",
        ] {
            checked(url).unwrap();
        }
        assert_eq!(checked("HTTPS://host").unwrap().scheme(), Some(&Scheme::HTTPS));
        for url in ["http://host:99999/", "http://[::1]:65536", "http://u:p@host:x/"] {
            let error = checked(url).unwrap_err().to_string();
            assert!(error.starts_with("the port of the URL: expected a number up to 65535"), "{error}");
        }
    }

    #[test]
    fn content_ranges() {
        assert_eq!(parse_content_range("bytes 5-9/100"), Some((5..10, 100)));
        assert_eq!(parse_content_range("bytes 0-0/1"), Some((0..1, 1)));
        assert_eq!(parse_content_range("BYTES 0-9/10"), Some((0..10, 10)));
        assert_eq!(parse_content_range("bytes +0-9/10"), None);
        for text in ["bytes 5-9/*", "bytes 9-5/100", "bytes 5-100/100", "bytes */100", "5-9/100", ""] {
            assert_eq!(parse_content_range(text), None, "{text}");
        }
        assert_eq!(parse_content_range(&format!("bytes 0-{}/{}", u64::MAX, u64::MAX)), None);
    }
}
