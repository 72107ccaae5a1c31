//! A story with a database of vectors beside it: it is not parsed, and is exported byte for byte.

use super::*;

const FOLDER: &str = "data/event_library/chroma_db/";
const CHILD: &str = "MANENT_CHILD_VECTORS";
/// A file of 200 MB goes in twice and out. What waits are at most 64 pieces of 1 MiB; with what the store keeps ready it took
/// 192 MB, and would take more than 400 if the file were ever whole.
const LARGE_MB: u64 = 200;
const MEMORY_MAX_MB: u64 = 240;

const STORY: &str = r#"{"type":"metadata","instance_id":"inst_001","session_id":"sess_001","created_at":"2025-10-16T10:00:00Z","continued_from":null}
{"role":"user","content":"你好","turn":1,"timestamp":"2025-10-16T10:01:00Z"}
{"role":"assistant","content":"有什么事吗？","turn":1,"timestamp":"2025-10-16T10:01:05Z"}
"#;

fn story(vectors: &[(&str, &[u8])]) -> Files {
    let lines = ("data/instances/inst_001/sessions/session_001.jsonl".to_owned(), STORY.as_bytes().to_vec());
    let vectors = vectors.iter().map(|(name, bytes)| (format!("{FOLDER}{name}"), bytes.to_vec()));
    vectors.chain([lines]).collect()
}

/// A story with the real folder, if that is here.
fn real_story() -> Option<Files> {
    let vectors = real("chroma/chroma_db_v0.5.23")?;
    let vectors: Vec<(&str, &[u8])> = vectors.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    Some(story(&vectors))
}

/// To the byte: two SQLite files with the same rows are not enough here.
fn assert_equal(expected: &Files, found: &Files) {
    assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>());
    let different: Vec<&String> = expected.keys().filter(|name| expected[*name] != found[*name]).collect();
    assert_eq!(different, Vec::<&String>::new());
}

#[tokio::test]
async fn a_real_folder_of_vectors_comes_back_to_the_byte() {
    let Some(files) = real_story() else { return };
    let count = files.len() as u64 - 1;
    on_each_engine(async |database| {
        let report = import(&database, &files).await;
        let counts = report.records["chroma_db"];
        assert_eq!((counts.read, counts.mapped, counts.unmapped, counts.reported), (count, count, 0, 0));
        assert_equal(&files, &written(&database, "personalab").await);
        let position = database.position();
        import(&database, &files).await;
        assert_eq!(database.position(), position, "importing again adds nothing");
        let other = open();
        let report = other.import_jsonl(export(&database).await.as_bytes()).await.expect("our own lines");
        assert_eq!(report.problems, []);
        assert_equal(&files, &written(&other, "personalab").await);
        assert_sound(&database).await;
    })
    .await;
}

#[tokio::test]
async fn a_file_of_vectors_that_changed_is_a_new_version() {
    on_each_engine(async |database| {
        let large = vec![7; 3 << 20];
        let first = story(&[("chroma.sqlite3", &large), ("chroma.sqlite3-journal", b"half"), ("empty.bin", b"")]);
        import(&database, &first).await;
        assert_equal(&first, &written(&database, "personalab").await);
        // The program finished its commit: the database is another, and its journal is gone.
        let second = story(&[("chroma.sqlite3", &large[1..]), ("empty.bin", b""), ("0/new.bin", b"new")]);
        import(&database, &second).await;
        assert_equal(&second, &written(&database, "personalab").await);
        let versions = async |id: &str| database.document_versions("chroma_db", id).await.expect("readable").len();
        assert_eq!((versions("chroma.sqlite3").await, versions("empty.bin").await), (2, 1));
        // And back to what it was: a file is what its folder holds now.
        import(&database, &first).await;
        assert_equal(&first, &written(&database, "personalab").await);
        assert_sound(&database).await;
    })
    .await;
}

#[tokio::test]
async fn a_folder_of_two_generations_keeps_its_vectors() {
    let mut files = story(&[("chroma.sqlite3", b"vectors")]);
    let second = ("data/conversations/c/conversation.jsonl".to_owned(), STORY.as_bytes().to_vec());
    files.extend([second]);
    let database = open();
    let report = import(&database, &files).await;
    assert_eq!((report.roots.len(), report.records["chroma_db"].mapped), (2, 1));
    let name = format!("{FOLDER}chroma.sqlite3");
    assert_eq!(written(&database, "personalab").await.get(&name), files.get(&name));
    let position = database.position();
    import(&database, &files).await;
    assert_eq!(database.position(), position, "importing again adds nothing");
}

#[tokio::test]
async fn two_folders_do_not_mix_their_vectors() {
    let database = open();
    let (one, other) =
        (story(&[("chroma.sqlite3", b"one"), ("1/a.bin", b"1")]), story(&[("chroma.sqlite3", b"other")]));
    let named = |label: &str, files: &Files, instance: &str| -> Box<dyn SourceTree + Send> {
        let renamed = files.iter().map(|(name, bytes)| {
            let bytes = match name.ends_with(".jsonl") {
                true => STORY.replace("inst_001", instance).replace("2025", label).into_bytes(),
                false => bytes.clone(),
            };
            (name.replace("data/", "").replace("inst_001", instance), bytes)
        });
        Box::new(MemoryTree::new(label, renamed.collect()))
    };
    let format = formats::format("personalab").expect("known");
    let mut ids = Vec::new();
    for (label, files, instance) in [("2023", &one, "inst_001"), ("2024", &other, "inst_002")] {
        let tree = named(label, files, instance);
        let report = database.import_tree(tree, format, ImportMode::Store, |_| {}).await.expect("imported");
        ids.push(report.conversations[0].id.expect("stored"));
    }
    for (label, files, instance, id) in [("2023", &one, "inst_001", ids[0]), ("2024", &other, "inst_002", ids[1])] {
        let selection = ExportSelection::Conversations(vec![id]);
        let plan = ExportPlan { selection, ..ExportPlan::everything(format) };
        let exported = database.export_tree(&plan, Files::new()).await.expect("written");
        assert_equal(&super::files(&*named(label, files, instance)), &exported.out);
    }
}

/// Not a test by itself: the process that is measured, in which nothing else runs.
#[tokio::test]
async fn child_with_large_vectors() {
    let Some(folder) = std::env::var_os(CHILD).map(std::path::PathBuf::from) else { return };
    let format = formats::format("personalab").expect("known");
    let database = Database::open(folder.join("test.db")).expect("opens");
    for _ in 0..2 {
        let tree = formats::core::source_fs::at(&folder.join("in")).expect("a folder");
        let report = database.import_tree(tree, format, ImportMode::Store, |_| {}).await.expect("imported");
        assert_eq!((report.skipped(), report.records["chroma_db"].mapped), (0, 1));
    }
    let out = DiskOut::new(&folder.join("out"), format, Replace::Never).expect("a place");
    let exported = database.export_tree(&ExportPlan::everything(format), out).await.expect("written");
    exported.out.finish().expect("in place");
    assert_sound(&database).await;
    std::fs::copy("/proc/self/status", folder.join("status")).expect("the system tells");
}

#[tokio::test]
async fn large_vectors_come_back_in_little_memory() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (inside, outside) = (folder.path().join("in").join(FOLDER), folder.path().join("out").join(FOLDER));
    std::fs::create_dir_all(&inside).expect("made");
    let sessions = folder.path().join("in/data/instances/inst_001/sessions");
    std::fs::create_dir_all(&sessions).expect("made");
    std::fs::write(sessions.join("session_001.jsonl"), STORY).expect("written");
    let mut random = fastrand::Rng::with_seed(1);
    let mut file = std::fs::File::create(inside.join("data_level0.bin")).expect("made");
    for _ in 0..LARGE_MB {
        let piece: Vec<u8> =
            std::iter::repeat_with(|| random.u64(..)).take(1 << 17).flat_map(u64::to_le_bytes).collect();
        std::io::Write::write_all(&mut file, &piece).expect("written");
    }
    let child = std::process::Command::new(std::env::current_exe().expect("a program knows itself"))
        .args(["--exact", "foreign::vectors::child_with_large_vectors", "--nocapture", "--quiet"])
        .env(CHILD, folder.path())
        .output()
        .expect("a process can be started");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
    let read = |folder: &std::path::Path| std::fs::read(folder.join("data_level0.bin")).expect("written");
    assert!(read(&inside) == read(&outside), "it comes back to the byte");
    let status = std::fs::read_to_string(folder.path().join("status")).expect("text");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the most it ever had");
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    println!("{} MB at most", kilobytes >> 10);
    assert!(kilobytes >> 10 < MEMORY_MAX_MB, "{peak}");
}
