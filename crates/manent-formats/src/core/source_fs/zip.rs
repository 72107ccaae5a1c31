//! File tree of a zip archive. It is untrusted: declared sizes are verified while unpacking.

use crate::core::json::Bytes;
use crate::core::names::is_safe;
use crate::core::problem::ReadError;
use crate::core::source_fs::files::Opened;
use crate::core::source_fs::{ENTRIES_MAX, Entry, SourceTree};
use flate2::read::DeflateDecoder;
use manent_model::Timestamp;
use parking_lot::Mutex;
use rawzip::time::ZipDateTimeKind;
use rawzip::{CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::sync::Arc;

/// Maximum compression ratio. Text shrinks to about a tenth; a higher ratio than this is an attack.
const RATIO_MAX: u64 = 100;
/// Below this size the ratio says nothing.
const RATIO_FROM: u64 = 64 << 20;
/// All files together, unpacked.
const SIZE_MAX: u64 = 16 << 30;
/// A larger file is unpacked to the disk, not to memory.
const MEMORY_MAX: u64 = 1 << 20;
/// Maximum number of unpacked files kept open for reopening.
const OPEN_MAX: usize = 64;

/// First bytes of every zip with entries.
const SIGNATURE: [u8; 4] = *b"PK\x03\x04";

/// The files of a zip.
pub struct Zip {
    label: String,
    entries: Vec<Entry>,
    packed: Vec<Packed>,
    archive: ZipArchive<FileReader>,
    unpacked: Mutex<HashMap<usize, Arc<File>>>,
}

#[derive(Debug, Clone, Copy)]
struct Packed {
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    size: u64,
}

impl Zip {
    /// Returns whether a file has the signature of a zip.
    pub fn is_one(file: &mut File) -> io::Result<bool> {
        let mut start = [0; SIGNATURE.len()];
        file.rewind()?;
        let read = file.take(start.len() as u64).read(&mut start)?;
        file.rewind()?;
        Ok(read == start.len() && start == SIGNATURE)
    }

    /// Lists what is in one.
    pub fn open(label: &str, file: File) -> Result<Self, ReadError> {
        let length = file.metadata().map_err(|source| ReadError::File { file: label.to_owned(), source })?.len();
        let broken = |error: rawzip::Error| ReadError::File { file: label.to_owned(), source: io::Error::other(error) };
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let archive = ZipArchive::from_file(file, &mut buffer).map_err(broken)?;
        let mut counted = Counted { label, length, size: 0, packed: 0, found: BTreeMap::new() };
        if archive.entries_hint() > ENTRIES_MAX as u64 {
            return Err(counted.too_large("the number of files", ENTRIES_MAX.to_string()));
        }
        let mut listed = archive.entries(&mut buffer);
        while let Some(entry) = listed.next_entry().map_err(broken)? {
            // Resource forks that macOS adds to every file.
            let is_extra = entry.file_path().as_bytes().starts_with(b"__MACOSX/");
            if entry.is_dir() || is_extra {
                continue;
            }
            // A name that leads outside must not become one that does not.
            let raw = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
            if leads_outside(&raw) {
                return Err(counted.broken(format!("the name {raw:?} leads outside")));
            }
            let name = entry.file_path().try_normalize().map_err(broken)?.as_ref().to_owned();
            let modified = match entry.last_modified() {
                ZipDateTimeKind::Utc(time) => Some(Timestamp(time.to_unix().saturating_mul(1_000_000))),
                // It does not say in which zone.
                ZipDateTimeKind::Local(_) => None,
            };
            let packed = Packed {
                place: entry.wayfinder(),
                method: entry.compression_method(),
                size: entry.uncompressed_size_hint(),
            };
            let size = packed.size;
            counted.take(Entry { name, size, modified }, packed, entry.compressed_size_hint())?;
        }
        let (entries, packed) = counted.found.into_values().unzip();
        Ok(Self { label: label.to_owned(), entries, packed, archive, unpacked: Mutex::default() })
    }

    /// Unpacks a file; it is as large as it says, or an error.
    fn unpack(&self, packed: Packed, to: &mut dyn io::Write) -> io::Result<()> {
        let entry = self.archive.get_entry(packed.place).map_err(io::Error::other)?;
        let reader = entry.reader();
        let inflated: Box<dyn Read + '_> = match packed.method {
            CompressionMethod::STORE => Box::new(reader),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(reader)),
            other => return Err(io::Error::other(format!("it is packed in a way that is not read here: {other:?}"))),
        };
        let mut checked = entry.verifying_reader(inflated.take(packed.size.saturating_add(1)));
        io::copy(&mut checked, to).map(|_| ())
    }
}

/// Returns whether a name, with the separators of any system, would be unpacked outside the folder.
fn leads_outside(name: &str) -> bool {
    let is_separator = |letter: char| letter == '/' || letter == '\\';
    let is_drive = name.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && name[1..].starts_with(':');
    name.starts_with(is_separator) || is_drive || name.split(is_separator).any(|piece| piece == "..")
}

/// Entries listed so far.
struct Counted<'a> {
    label: &'a str,
    length: u64,
    size: u64,
    packed: u64,
    found: BTreeMap<String, (Entry, Packed)>,
}

impl Counted<'_> {
    fn take(&mut self, entry: Entry, packed: Packed, length: u64) -> Result<(), ReadError> {
        if !is_safe(&entry.name) {
            return Err(self.broken(format!("the name {:?} leads outside", entry.name)));
        }
        self.size = self.size.saturating_add(entry.size);
        self.packed = self.packed.saturating_add(length);
        if self.packed > self.length {
            return Err(self.broken("its files lie over each other".to_owned()));
        }
        if self.size > SIZE_MAX {
            return Err(self.too_large("the unpacked size", format!("{} GiB", SIZE_MAX >> 30)));
        }
        if self.size > RATIO_FROM && self.size / RATIO_MAX > self.length {
            return Err(self.too_large("the ratio", format!("{RATIO_MAX} to 1")));
        }
        if self.found.len() >= ENTRIES_MAX {
            return Err(self.too_large("the number of files", ENTRIES_MAX.to_string()));
        }
        match self.found.insert(entry.name.clone(), (entry, packed)) {
            Some((entry, _)) => Err(self.broken(format!("it holds {:?} twice", entry.name))),
            None => Ok(()),
        }
    }

    fn broken(&self, why: String) -> ReadError {
        ReadError::File { file: self.label.to_owned(), source: io::Error::new(io::ErrorKind::InvalidData, why) }
    }

    fn too_large(&self, what: &'static str, limit: String) -> ReadError {
        ReadError::TooLarge { file: self.label.to_owned(), what, limit }
    }
}

impl SourceTree for Zip {
    fn label(&self) -> &str {
        &self.label
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Bytes + '_>> {
        let place = self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name));
        let place = place.map_err(|_| io::ErrorKind::NotFound)?;
        let packed = self.packed[place];
        if packed.size <= MEMORY_MAX {
            let mut bytes = Vec::new();
            self.unpack(packed, &mut bytes)?;
            return Ok(Box::new(bytes));
        }
        let mut unpacked = self.unpacked.lock();
        let file = match unpacked.get(&place) {
            Some(file) => Arc::clone(file),
            None => {
                let mut file = tempfile::tempfile()?;
                self.unpack(packed, &mut file)?;
                let file = Arc::new(file);
                if unpacked.len() >= OPEN_MAX {
                    unpacked.clear();
                }
                unpacked.insert(place, Arc::clone(&file));
                file
            }
        };
        Ok(Box::new(Opened::new(file)?))
    }
}
