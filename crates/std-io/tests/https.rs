//! Files on HTTPS servers: whose certificates are believed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, thread};

use core_codec::Limits;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std_io::{HttpOptions, Input, IzsFile, Roots};

/// A server for one file, with a certificate for `name` that an authority of its own has signed.
struct Server {
    port: u16,
    authority: String,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Redirects to `elsewhere` when it is given one.
    fn start(name: &str, elsewhere: Option<&'static str>) -> Self {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let own = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config =
            Arc::new(config.with_no_client_auth().with_single_cert(vec![own.der().clone()], key).unwrap());

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            authority: authority.pem(),
            connections: Arc::default(),
        };
        let connections = server.connections.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                connections.fetch_add(1, Ordering::Relaxed);
                let connection = ServerConnection::new(config.clone()).unwrap();
                // A client that does not believe the server ends the connection.
                let _ = answer(StreamOwned::new(connection, stream.unwrap()), elsewhere);
            }
        });
        server
    }

    fn open(&self, roots: Roots) -> std::io::Result<Input> {
        let options = HttpOptions { roots, backoff: Duration::from_millis(1), ..HttpOptions::default() };
        Input::open_url(&format!("https://localhost:{}/file.izs", self.port), options)
    }

    fn authority(&self) -> Roots {
        Roots::Pem(self.authority.clone().into_bytes())
    }
}

fn file() -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/izs/enum3_u8.izs")).unwrap()
}

/// Answers one request.
fn answer(
    mut stream: StreamOwned<ServerConnection, std::net::TcpStream>,
    elsewhere: Option<&str>,
) -> std::io::Result<()> {
    let file = file();
    let mut range = 0..file.len();
    for line in BufReader::new(&mut stream).lines() {
        let line = line?.to_ascii_lowercase();
        if let Some(wanted) = line.strip_prefix("range: bytes=") {
            let (first, last) = wanted.split_once('-').unwrap();
            let last: usize = last.parse().unwrap();
            range = match first {
                "" => file.len().saturating_sub(last)..file.len(),
                first => first.parse().unwrap()..last + 1,
            };
        }
        if line.is_empty() {
            break;
        }
    }
    let (part, len) = (&file[range.clone()], file.len());
    let head = match elsewhere {
        Some(url) => {
            format!("HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        None => format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {}-{}/{len}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            range.start,
            range.end - 1,
            part.len()
        ),
    };
    stream.write_all(head.as_bytes())?;
    stream.write_all(if elsewhere.is_some() { &[] } else { part })?;
    stream.conn.send_close_notify();
    stream.flush()
}

#[test]
fn a_server_with_a_certificate_of_a_given_authority_is_read() {
    let server = Server::start("localhost", None);
    let file = IzsFile::from_input(server.open(server.authority()).unwrap(), Limits::default()).unwrap();
    let stream = file.stream(file.find("").unwrap()).unwrap();
    assert_eq!(stream.read_bytes(0..stream.len()).unwrap().len() as u64, stream.len());
}

/// It is an error that no second try mends.
#[test]
fn a_server_that_nobody_vouches_for_is_refused() {
    let server = Server::start("localhost", None);
    for (number, roots) in
        [Roots::System, Roots::Mozilla, Server::start("localhost", None).authority()].into_iter().enumerate()
    {
        let error = server.open(roots).unwrap_err().to_string();
        assert!(error.contains("certificate"), "{error}");
        assert_eq!(server.connections.load(Ordering::Relaxed), number + 1);
    }
    let other = Server::start("example.org", None);
    let error = other.open(other.authority()).unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");
    for text in ["", "no certificate", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
        assert!(server.open(Roots::Pem(text.into())).is_err(), "{text}");
    }
}

#[test]
fn a_redirection_to_a_line_in_the_open_is_refused() {
    let server = Server::start("localhost", Some("http://localhost:1/file.izs"));
    let error = server.open(server.authority()).unwrap_err().to_string();
    assert!(error.contains("https"), "{error}");
}
