//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// What outlives a loss of power once a file has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Under the name is what was there before or all of the new file: it is on the disk before it takes the name.
    Synced,
    /// The system writes to the disk when it likes to.
    Unsynced,
}

/// A file that is written beside its final place and takes its name only at the end. Dropped before, it leaves
/// nothing behind, and what had the name stays as it was.
///
/// It is written in pieces of [`PIECE`] bytes at multiples of that: the system then keeps it in large pages, which are
/// cheaper to write and to map than small ones.
#[derive(Debug)]
pub(crate) struct NewFile {
    temporary: NamedTempFile,
    path: PathBuf,
    /// Bytes that wait for a piece to be full.
    waiting: Vec<u8>,
    /// Where they go.
    at: u64,
    /// Up to where the disk has room set aside.
    reserved: u64,
}

/// A large page of most processors.
const PIECE: usize = 2 << 20;

/// What is set aside on the disk at a time for a file that is larger than a piece: cheaper than bit by bit.
const RESERVE: u64 = 64 << 20;

impl NewFile {
    /// Starts a file that becomes `path`. A symbolic link to a file is followed; the permissions of a file that
    /// is there are kept.
    ///
    /// # Errors
    /// When no file can be made in that folder.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let existing = fs::canonicalize(path).ok();
        let metadata = existing.as_ref().map(fs::metadata).transpose()?;
        if metadata.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "is not a regular file"));
        }
        let path = existing.unwrap_or_else(|| path.to_owned());
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tripoint-").suffix(".tmp");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let temporary = builder.tempfile_in(folder)?;
        if let Some(metadata) = metadata {
            temporary.as_file().set_permissions(metadata.permissions())?;
        }
        Ok(Self { temporary, path, waiting: Vec::new(), at: 0, reserved: 0 })
    }

    /// Writes all that is left of another file. Where the file system can, the bytes are shared with it.
    ///
    /// # Errors
    /// When the one cannot be read, or the other not be written.
    pub(crate) fn copy_from(&mut self, other: &mut File) -> io::Result<u64> {
        self.flush()?;
        let copied = io::copy(other, self.temporary.as_file_mut())?;
        self.at += copied;
        Ok(copied)
    }

    /// Bytes up to the next multiple of [`PIECE`].
    fn room(&self) -> usize {
        PIECE - (self.at % PIECE as u64) as usize - self.waiting.len()
    }

    fn write_through(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.at + bytes.len() as u64;
        if bytes.len() >= PIECE && end > self.reserved {
            let start = self.reserved.max(self.at);
            self.reserved = end.next_multiple_of(RESERVE);
            reserve(self.temporary.as_file(), start, self.reserved - start);
        }
        self.temporary.as_file_mut().write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Gives it its name, in place of what had it.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn persist(mut self, durability: Durability) -> io::Result<()> {
        self.flush()?;
        if self.reserved > 0 {
            // Gives back what is beyond the end.
            let file = self.temporary.as_file();
            file.set_len(file.metadata()?.len())?;
        }
        if durability == Durability::Synced {
            self.temporary.as_file().sync_all()?;
        }
        self.temporary.persist(self.path).map(drop).map_err(|error| error.error)
    }
}

/// Sets room aside without making the file longer. Where the file system cannot, it finds room when it is written to.
fn reserve(file: &File, start: u64, len: u64) {
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, start, len);
    #[cfg(not(target_os = "linux"))]
    let _ = (file, start, len);
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.room();
        if self.waiting.is_empty() && room == PIECE && bytes.len() >= PIECE {
            let whole = bytes.len() - bytes.len() % PIECE;
            self.write_through(&bytes[..whole])?;
            return Ok(whole);
        }
        let taken = &bytes[..bytes.len().min(room)];
        self.waiting.extend_from_slice(taken);
        if taken.len() == room {
            self.flush()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        self.write_through(&waiting)?;
        waiting.clear();
        self.waiting = waiting;
        Ok(())
    }
}

impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.flush()?;
        self.at = self.temporary.as_file_mut().seek(to)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appears_at_the_end_and_keeps_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut new = NewFile::create(&path).unwrap();
        new.write_all(b"one").unwrap();
        assert!(!path.exists());
        new.persist(Durability::Synced).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        let mut read_only = fs::metadata(&path).unwrap().permissions();
        read_only.set_readonly(true);
        fs::set_permissions(&path, read_only).unwrap();
        let mut new = NewFile::create(&path).unwrap();
        new.write_all(b"two").unwrap();
        drop(NewFile::create(&path).unwrap());
        new.persist(Durability::Unsynced).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert!(fs::metadata(&path).unwrap().permissions().readonly());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(NewFile::create(folder.path()).is_err());
        assert!(NewFile::create(&folder.path().join("no/such")).is_err());
    }

    #[test]
    fn holds_what_was_written_whatever_the_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let bytes: Vec<u8> = (0..3 * PIECE + 1000).map(|i| (i / 7) as u8).collect();
        for sizes in [vec![bytes.len()], vec![PIECE], vec![300, PIECE + 5, 1, 2 * PIECE], vec![700_001]] {
            let mut new = NewFile::create(&path).unwrap();
            let mut rest = &bytes[..];
            for size in sizes.iter().cycle() {
                let (part, tail) = rest.split_at(rest.len().min(*size));
                new.write_all(part).unwrap();
                rest = tail;
                if rest.is_empty() {
                    break;
                }
            }
            new.seek(SeekFrom::Start(10)).unwrap();
            new.write_all(b"in between").unwrap();
            new.persist(Durability::Unsynced).unwrap();
            let read = fs::read(&path).unwrap();
            assert_eq!(read.len(), bytes.len());
            assert_eq!((&read[..10], &read[10..20]), (&bytes[..10], &b"in between"[..]));
            assert!(read[20..] == bytes[20..], "{sizes:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn takes_no_more_of_the_disk_than_it_has_bytes() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut new = NewFile::create(&path).unwrap();
        new.write_all(&vec![1; PIECE + 1]).unwrap();
        new.persist(Durability::Synced).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.len(), PIECE as u64 + 1);
        assert!(metadata.blocks() * 512 < 2 * PIECE as u64, "{} blocks", metadata.blocks());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let mut new = NewFile::create(&link).unwrap();
        new.write_all(b"new").unwrap();
        new.persist(Durability::Synced).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_no_place_for_a_file() {
        let error = NewFile::create(Path::new("/dev/null")).unwrap_err();
        assert_eq!(error.to_string(), "is not a regular file");
    }
}
