//! Files that appear whole or not at all.

use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that is written beside its final place and takes its name only at the end. Dropped before, it leaves
/// nothing behind, and what had the name stays as it was.
///
/// Its data is handed to the system, not forced to the disk.
#[derive(Debug)]
pub(crate) struct NewFile {
    temporary: NamedTempFile,
    path: PathBuf,
}

impl NewFile {
    /// Starts a file that becomes `path`. A symbolic link is followed; the permissions of a file that is there are
    /// kept.
    ///
    /// # Errors
    /// When no file can be made in that folder.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let existing = fs::canonicalize(path).ok();
        let path = existing.clone().unwrap_or_else(|| path.to_owned());
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tripoint-").suffix(".tmp");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let temporary = builder.tempfile_in(folder)?;
        if let Some(existing) = existing {
            let metadata = fs::metadata(existing)?;
            if !metadata.is_file() {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "is not a regular file"));
            }
            temporary.as_file().set_permissions(metadata.permissions())?;
        }
        Ok(Self { temporary, path })
    }

    /// Gives it its name, in place of what had it.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn persist(self) -> io::Result<()> {
        self.temporary.persist(self.path).map(drop).map_err(|error| error.error)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temporary.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.as_file_mut().flush()
    }
}

impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.temporary.as_file_mut().seek(to)
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
        new.persist().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        let mut read_only = fs::metadata(&path).unwrap().permissions();
        read_only.set_readonly(true);
        fs::set_permissions(&path, read_only).unwrap();
        let mut new = NewFile::create(&path).unwrap();
        new.write_all(b"two").unwrap();
        drop(NewFile::create(&path).unwrap());
        new.persist().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert!(fs::metadata(&path).unwrap().permissions().readonly());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(NewFile::create(folder.path()).is_err());
        assert!(NewFile::create(&folder.path().join("no/such")).is_err());
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
        new.persist().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
