//! Download of an export: its only file, or a zip of all files.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use manent_formats::FileSink;
use manent_formats::core::names::{Names, is_safe};
use rawzip::{CompressionMethod, ZipArchiveWriter};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};

/// Files that are written to be taken away. Until then they lie behind each other in a temporary file.
#[derive(Debug)]
pub struct DownloadBundle {
    spool: File,
    length: u64,
    /// Offset of each file.
    files: Vec<(String, u64)>,
    names: Names,
}

impl DownloadBundle {
    /// An empty one.
    pub fn new() -> io::Result<Self> {
        Ok(Self { spool: tempfile::tempfile()?, length: 0, files: Vec::new(), names: Names::default() })
    }

    /// Returns one file with its name: the only one, or a zip with this name.
    pub fn finish(mut self, zip: &str) -> io::Result<(String, File)> {
        match self.files.as_slice() {
            [(name, _)] => {
                let name = name.rsplit('/').next().unwrap_or_default().to_owned();
                self.spool.rewind()?;
                Ok((name, self.spool))
            }
            _ => Ok((zip.to_owned(), self.zip()?)),
        }
    }

    /// Returns all files with their bytes behind each other, and how many there are.
    pub fn joined(mut self) -> io::Result<(usize, File)> {
        self.spool.rewind()?;
        Ok((self.files.len(), self.spool))
    }

    /// Returns a zip of all files.
    pub fn zip(mut self) -> io::Result<File> {
        let mut archive = ZipArchiveWriter::new(BufWriter::new(tempfile::tempfile()?));
        self.spool.rewind()?;
        let ends = self.files.iter().skip(1).map(|(_, from)| *from).chain([self.length]);
        for ((name, from), to) in self.files.iter().zip(ends) {
            let begun = archive.new_file(name.as_str()).compression_method(CompressionMethod::DEFLATE).start();
            let (mut entry, config) = begun.map_err(io::Error::other)?;
            let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
            io::copy(&mut Read::by_ref(&mut self.spool).take(to - from), &mut writer)?;
            let (encoder, descriptor) = writer.finish().map_err(io::Error::other)?;
            encoder.finish()?;
            entry.finish(descriptor).map_err(io::Error::other)?;
        }
        let mut file = archive.finish().map_err(io::Error::other)?.into_inner()?;
        file.rewind()?;
        Ok(file)
    }
}

impl FileSink for DownloadBundle {
    fn create<'a>(&'a mut self, name: &str) -> io::Result<Box<dyn Write + 'a>> {
        if !is_safe(name) || !self.names.take(name) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no name for a file here")));
        }
        self.files.push((name.to_owned(), self.length));
        Ok(Box::new(ZipWriter(self)))
    }
}

/// The file that is written now.
struct ZipWriter<'a>(&'a mut DownloadBundle);

impl Write for ZipWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.spool.write(bytes)?;
        self.0.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.spool.flush()
    }
}
