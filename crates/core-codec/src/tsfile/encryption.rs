//! Encryption: the legacy AES-128 of whole pages, and the header of files whose cipher is a plug-in.
//!
//! Legacy files name `encryptLevel`, `encryptType` and `encryptKey` in their properties. The data key is
//! `MD5("IoTDB is the best" + master key)`; `encryptKey` is the data key, encrypted under the master key, as
//! signed decimal bytes between commas. Each page is AES-128-CTR with key and initial counter equal to the data
//! key, after compression. The counter starts anew in each page, so equal plain text shows: it is read here and
//! never written.

use alloc::boxed::Box;
use alloc::format;
use core::fmt;

use crate::error::{Error, ErrorKind};
use crate::source::{Poll, Source};
use crate::tsfile::metadata::{DATA_START, Metadata};
use crate::tsfile::wire::{byte, uvarint, var_string};
use crate::wire::{Parsed, WireError, parse_all, take};

/// What the properties of a file say about its encryption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// `encryptLevel`.
    pub level: Box<str>,
    /// `encryptType`, such as `AES128`.
    pub kind: Box<str>,
    /// `encryptKey`.
    pub key: Box<str>,
}

impl Metadata {
    /// How the pages are encrypted, if they are.
    #[must_use]
    pub fn encryption(&self) -> Option<Encryption> {
        let level = self.property("encryptLevel")?;
        let kind = self.property("encryptType").unwrap_or("");
        if level == "0" || kind.ends_with("UNENCRYPTED") {
            return None;
        }
        let key = self.property("encryptKey").unwrap_or("");
        Some(Encryption { level: level.into(), kind: kind.into(), key: key.into() })
    }
}

impl fmt::Display for Encryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at level {}", self.kind, self.level)
    }
}

impl Encryption {
    fn error(&self, kind: ErrorKind, detail: impl Into<Box<str>>) -> Error {
        Error::new("encryption", kind).detail(detail)
    }

    /// The error of whoever reads data without a key.
    #[must_use]
    pub fn no_key(&self) -> Error {
        let aes = self.kind.ends_with("AES128");
        let key = if aes { "; reading it needs its master key of 16 bytes" } else { ", which is not read" };
        self.error(
            ErrorKind::Unsupported("encrypted data without a key"),
            format!("the file is encrypted with {self}{key}"),
        )
    }

    /// Derives the key of the data from the 16 bytes of the master key, and checks it.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for another cipher or level, [`ErrorKind::Invalid`] for a master key that is
    /// not the file's.
    #[cfg(feature = "aes")]
    pub fn unlock(&self, master: &[u8]) -> Result<PageKey, Error> {
        use alloc::string::{String, ToString};

        if !self.kind.ends_with("AES128") {
            return Err(self.error(ErrorKind::Unsupported("cipher"), self.to_string()));
        }
        if &*self.level != "2" {
            return Err(self.error(ErrorKind::Unsupported("level of encryption"), self.to_string()));
        }
        let page_key = PageKey::derive(master)?;
        let mut wrapped = page_key.key;
        PageKey { key: master_bytes(master)? }.apply(&mut wrapped);
        let text = wrapped
            .iter()
            .map(|&byte| (byte as i8).to_string())
            .collect::<alloc::vec::Vec<String>>()
            .join(",");
        if text != self.key.replace(' ', "") {
            return Err(Error::new(
                "encryption",
                ErrorKind::Invalid("the master key is not that of the file"),
            ));
        }
        Ok(page_key)
    }
}

#[cfg(feature = "aes")]
fn master_bytes(master: &[u8]) -> Result<[u8; 16], Error> {
    master.try_into().map_err(|_| {
        Error::new("encryption", ErrorKind::Invalid("the master key of AES128 has 16 bytes"))
            .detail(format!("{} given", master.len()))
    })
}

/// Decrypts pages.
#[derive(Clone)]
pub struct PageKey {
    #[cfg_attr(not(feature = "aes"), allow(dead_code))]
    key: [u8; 16],
}

impl fmt::Debug for PageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageKey")
    }
}

impl PageKey {
    /// The key of the pages under a master key, which is not checked: only a footer can tell whether it is right.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a master key that has not 16 bytes.
    #[cfg(feature = "aes")]
    pub fn derive(master: &[u8]) -> Result<Self, Error> {
        use md5::Digest;

        let mut hash = md5::Md5::new();
        hash.update(b"IoTDB is the best");
        hash.update(master_bytes(master)?);
        Ok(Self { key: hash.finalize().into() })
    }

    /// AES-128-CTR in place, key and initial counter being the same.
    #[cfg(feature = "aes")]
    pub fn apply(&self, page: &mut [u8]) {
        use aes::cipher::{BlockCipherEncrypt, KeyInit};
        let cipher = aes::Aes128::new(&self.key.into());
        let mut counter = u128::from_be_bytes(self.key);
        for chunk in page.chunks_mut(16) {
            let mut block = counter.to_be_bytes().into();
            cipher.encrypt_block(&mut block);
            chunk.iter_mut().zip(block).for_each(|(byte, key)| *byte ^= key);
            counter = counter.wrapping_add(1);
        }
    }

    /// Without the `aes` feature no key can be made.
    #[cfg(not(feature = "aes"))]
    pub fn apply(&self, _: &mut [u8]) {}
}

/// `FileEncryptionHeader`: who holds the key of a file whose cipher is a plug-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptionHeader {
    /// Who unwraps the key.
    pub provider: Box<str>,
    /// Which cipher and parameters.
    pub profile: Box<str>,
    /// Which key wraps the file's.
    pub key_id: Box<str>,
    /// Its version.
    pub key_version: Box<str>,
    /// Random id of the file.
    pub file_id: [u8; 16],
    /// The wrapped key.
    pub wrapped_key: Box<[u8]>,
}

/// Largest header: 1 MiB.
const HEADER_BYTES: u32 = 1 << 20;

fn header(input: &[u8]) -> Parsed<'_, EncryptionHeader> {
    let (rest, version) = byte(input)?;
    if version != 1 {
        let found = version.into();
        let what = "version of the encryption header";
        return Err(WireError::at(input, ErrorKind::OutOfRange { what, min: 1, max: 1, found }));
    }
    let text = |input| {
        let (rest, text): (_, Option<&str>) = var_string(input)?;
        Ok((rest, Box::from(text.unwrap_or(""))))
    };
    let (rest, provider) = text(rest)?;
    let (rest, profile) = text(rest)?;
    let (rest, key_id) = text(rest)?;
    let (id, key_version) = text(rest)?;
    let (rest, length) = uvarint(id)?;
    let (rest, file_id) = take(rest, length.into())?;
    let file_id = file_id.try_into().map_err(|_| {
        WireError::at(
            id,
            ErrorKind::Mismatch { what: "bytes of the file id", expected: 16, found: length.into() },
        )
    })?;
    let (key, length) = uvarint(rest)?;
    if length == 0 {
        return Err(WireError::at(rest, ErrorKind::Invalid("empty wrapped key")));
    }
    let (rest, wrapped_key) = take(key, length.into())?;
    let wrapped_key = wrapped_key.into();
    Ok((rest, EncryptionHeader { provider, profile, key_id, key_version, file_id, wrapped_key }))
}

/// Reads the header that follows the version of an AEAD file.
///
/// # Errors
/// What is wrong with it.
pub fn read_header<S: Source + ?Sized>(source: &S) -> Poll<EncryptionHeader> {
    let start = DATA_START + 1;
    let sizes = source.bytes(start..source.len().min(start + 5))?;
    let (rest, size) = crate::wire::parse("encryption header", start, sizes, uvarint)?;
    if !(1..=HEADER_BYTES).contains(&size) {
        let kind = ErrorKind::OutOfRange {
            what: "bytes of the encryption header",
            min: 1,
            max: HEADER_BYTES.into(),
            found: size.into(),
        };
        return Err(Error::new("encryption header", kind).at(start).into());
    }
    let start = start + (sizes.len() - rest.len()) as u64;
    let bytes = source.bytes(start..start + u64::from(size))?;
    Ok(parse_all("encryption header", start, bytes, header)?)
}

/// Why an AEAD file cannot be read: its cipher is a plug-in of its writer.
pub(crate) fn header_error<S: Source + ?Sized>(source: &S) -> Poll<Error> {
    let header = read_header(source)?;
    Ok(Error::new("encryption header", ErrorKind::Unsupported("AEAD encryption, whose cipher is a plug-in"))
        .at(DATA_START)
        .detail(format!(
            "provider {:?}, profile {:?}, key {:?} version {:?}",
            header.provider, header.profile, header.key_id, header.key_version
        )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Stop;
    use crate::tsfile::wire::{put_uvarint, put_var_string};
    use std::vec::Vec;

    fn file(version: u8, id: usize, key: usize, extra: usize) -> Vec<u8> {
        let mut body = std::vec![version];
        for text in ["kms", "aes-gcm", "key", "7"] {
            put_var_string(&mut body, Some(text)).unwrap();
        }
        put_uvarint(&mut body, id as u32);
        body.extend(std::vec![1; id]);
        put_uvarint(&mut body, key as u32);
        body.extend(std::vec![2; key + extra]);
        let mut file = b"TsFile\x04\x06".to_vec();
        put_uvarint(&mut file, body.len() as u32);
        file.extend(body);
        file
    }

    #[test]
    fn aead_files_say_who_holds_the_key() {
        let found = read_header(&file(1, 16, 32, 0)[..]).unwrap();
        assert_eq!((&*found.provider, &*found.key_version, found.file_id), ("kms", "7", [1; 16]));
        let Err(Stop::Error(error)) = crate::tsfile::metadata::read_head(&file(1, 16, 32, 0)[..]) else {
            panic!("read an encrypted file");
        };
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)));
        assert!(format!("{error}").contains("provider \"kms\""));
    }

    #[test]
    fn malformed_headers_are_errors() {
        for bad in [file(2, 16, 32, 0), file(1, 15, 32, 0), file(1, 16, 0, 0), file(1, 16, 32, 1)] {
            assert!(read_header(&bad[..]).is_err());
        }
        assert!(read_header(&b"TsFile\x04\x06\x00"[..]).is_err());
        assert!(read_header(&b"TsFile\x04\x06\xff\xff\xff\x7f"[..]).is_err());
    }

    #[cfg(feature = "aes")]
    #[test]
    fn the_master_key_is_checked() {
        let encryption = Encryption { level: "2".into(), kind: "AES128".into(), key: "1,2,3".into() };
        assert!(encryption.unlock(b"abcdefghijklmnop").is_err());
        assert!(encryption.unlock(b"short").is_err());
    }
}
