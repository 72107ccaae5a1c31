//! Zips: the same as the folder that was packed, and no way to do harm.

use manent_formats::core::source_fs::{self, SourceTree};
use manent_formats::{ReadError, recognise, sniff};
use rawzip::{CompressionMethod, ZipArchiveWriter};
use std::fs::File;
use std::io::{Seek, Write};

const VELOCA: &str = r#"{"sessions":[{"session_id":"s","name":"n"}],"entries":[],"compacted_dialogues":[]}"#;

/// Packs files, each as many bytes as a closure writes.
fn packed(files: &[(&str, &dyn Fn(&mut dyn Write))]) -> File {
    let mut archive = ZipArchiveWriter::new(tempfile::tempfile().expect("a file"));
    for (name, write) in files {
        let path = rawzip::path::EntryPath::verbatim(name.as_bytes());
        let started = archive.new_file(path).compression_method(CompressionMethod::DEFLATE).start();
        let (mut entry, config) = started.expect("begun");
        let mut writer = config.wrap(flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::fast()));
        write(&mut writer);
        let (encoder, descriptor) = writer.finish().expect("packed");
        encoder.finish().expect("packed");
        entry.finish(descriptor).expect("packed");
    }
    let mut file = archive.finish().expect("packed");
    file.rewind().expect("a file");
    file
}

fn text(text: &'static str) -> impl Fn(&mut dyn Write) {
    move |out| out.write_all(text.as_bytes()).expect("written")
}

fn opened(file: File) -> Result<Box<dyn SourceTree + Send>, ReadError> {
    source_fs::of("upload", vec![("backup.zip".to_owned(), file)])
}

fn seen(tree: &(dyn SourceTree + Send)) -> &dyn SourceTree {
    tree
}

fn told(result: Result<Box<dyn SourceTree + Send>, ReadError>) -> String {
    let error = result.err().expect("refused");
    let cause = std::error::Error::source(&error).map(|source| format!(": {source}"));
    format!("{error}{}", cause.unwrap_or_default())
}

#[test]
fn files_of_a_zip_are_read_as_those_of_a_folder() {
    let veloca = text(VELOCA);
    let large = |out: &mut dyn Write| (0..300_000).for_each(|line| writeln!(out, "{line}").expect("written"));
    let tree = opened(packed(&[("b/large.txt", &large), ("veloca-storage.json", &veloca)])).expect("a zip");
    let names: Vec<&str> = tree.entries().iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["b/large.txt", "veloca-storage.json"]);
    assert_eq!(seen(&*tree).read("veloca-storage.json", 1 << 20).expect("readable"), VELOCA.as_bytes());
    for _ in 0..2 {
        let bytes = seen(&*tree).file("b/large.txt").expect("opens");
        assert_eq!(bytes.slice(0, 6).expect("readable"), b"0\n1\n2\n");
        assert_eq!(bytes.slice(bytes.len() - 7, bytes.len()).expect("readable"), b"299999\n");
    }
    assert_eq!(sniff(&*tree).map(|format| format.name), Some("veloca"));
}

#[test]
fn a_folder_that_was_packed_with_its_name_is_looked_into() {
    let veloca = text(VELOCA);
    let tree = opened(packed(&[
        ("backup/.veloca/storage/veloca-storage.json", &veloca),
        ("backup/notes.txt", &text("n")),
        ("__MACOSX/backup/._notes.txt", &text("m")),
    ]));
    let (tree, format) = recognise(tree.expect("a zip"), None).ok().expect("known");
    assert_eq!(format.name, "veloca");
    assert_eq!(tree.entries()[0].name, ".veloca/storage/veloca-storage.json");
    assert_eq!(seen(&*tree).read(&tree.entries()[0].name, 1 << 20).expect("readable"), VELOCA.as_bytes());
}

#[test]
fn a_zip_that_grows_beyond_all_measure_is_refused() {
    let zeros = |out: &mut dyn Write| (0..2_048).for_each(|_| out.write_all(&[0; 1 << 16]).expect("written"));
    assert_eq!(told(opened(packed(&[("a", &zeros)]))), "the ratio of backup.zip is above the limit of 100 to 1");
}

#[test]
fn a_file_that_is_larger_than_it_says_is_not_unpacked_further() {
    let mut file = packed(&[("a", &text("0123456789"))]);
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes).expect("readable");
    // Its size as the directory at the end says it.
    let directory = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").expect("a directory");
    bytes[directory + 24] = 3;
    let mut lying = tempfile::tempfile().expect("a file");
    lying.write_all(&bytes).expect("written");
    let tree = opened(lying).expect("a zip");
    assert!(seen(&*tree).file("a").is_err());
}

#[test]
fn more_files_than_anybody_has_are_refused() {
    let mut archive = ZipArchiveWriter::new(std::io::BufWriter::new(tempfile::tempfile().expect("a file")));
    for number in 0..300_000 {
        let name = number.to_string();
        let (mut entry, config) = archive.new_file(&name).start().expect("begun");
        let (_, descriptor) = config.wrap(&mut entry).finish().expect("packed");
        entry.finish(descriptor).expect("packed");
    }
    let file = archive.finish().expect("packed").into_inner().expect("written");
    assert_eq!(told(opened(file)), "the number of files of backup.zip is above the limit of 250000");
}

#[test]
fn name_that_leads_outside_or_is_there_twice_is_refused() {
    for name in ["../../etc/passwd", "/etc/passwd", "a\\..\\..\\b", "C:\\a", "a/../b", "\\x"] {
        let refused = told(opened(packed(&[("veloca-storage.json", &text(VELOCA)), (name, &text("x"))])));
        assert_eq!(refused, format!("reading backup.zip: the name {name:?} leads outside"));
    }
    let twice = opened(packed(&[("a", &text("x")), ("a", &text("y"))]));
    assert_eq!(told(twice), "reading backup.zip: it holds \"a\" twice");
}

#[test]
fn a_zip_that_was_cut_off_is_refused() {
    let mut file = packed(&[("a", &text("0123456789")), ("b", &text("0123456789"))]);
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes).expect("readable");
    for cut in 4..bytes.len() {
        let mut torn = tempfile::tempfile().expect("a file");
        torn.write_all(&bytes[..cut]).expect("written");
        assert!(opened(torn).is_err(), "at {cut}");
    }
}
