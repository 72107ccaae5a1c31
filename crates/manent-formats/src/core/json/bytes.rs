//! Random-access bytes, for reading files of any size through a small buffer.

use std::io;

/// A file, or what was read of one.
pub trait Bytes {
    /// How many there are.
    fn len(&self) -> u64;

    /// Reads some bytes at a place; 0 only at the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Returns whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads a stretch whole. It is shorter where the file has shrunk since it was measured.
    fn slice(&self, from: u64, to: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(to.saturating_sub(from)).map_err(io::Error::other)?];
        let mut filled = 0;
        while filled < bytes.len() {
            match self.read_at(from + filled as u64, &mut bytes[filled..])? {
                0 => break,
                read => filled += read,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}

impl Bytes for [u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(<[u8]>::len(self));
        let read = buffer.len().min(<[u8]>::len(self) - from);
        buffer[..read].copy_from_slice(&self[from..from + read]);
        Ok(read)
    }
}

impl Bytes for Vec<u8> {
    fn len(&self) -> u64 {
        Bytes::len(self.as_slice())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, buffer)
    }
}
