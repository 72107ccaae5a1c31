//! A conversation of ten thousand messages.

use super::*;

const CHILD: &str = "MANENT_CHILD_LARGE";
const MESSAGES: usize = 10_000;
/// The file has 23 MB. The first import holds a few records at a time, the second all of this conversation; both with
/// what the store keeps ready took 139 MB.
const MEMORY_MAX_MB: u64 = 170;

fn ten_thousand() -> Files {
    let entry = |number: usize| {
        let (role, text) = (["user", "assistant"][number % 2], format!("第{number}条 ").repeat(160));
        format!(
            r#"    {{"entry_id":"e{number}","session_id":"s","message":"{text}","role":"{role}","status":0,"create_at":"2024-01-01T00:00:00.000Z"}}"#
        )
    };
    let entries = (0..MESSAGES).map(entry).collect::<Vec<_>>().join(",\n");
    sessions(&format!(
        "{{\n  \"sessions\": [\n    {{\"session_id\":\"s\",\"name\":\"long\",\"status\":0}}\n  ],\n  \"entries\": [\n{entries}\n  ],\n  \"compacted_dialogues\": []\n}}\n"
    ))
}

/// Not a test by itself: the process that is measured, in which nothing else runs.
#[tokio::test]
async fn child_with_a_large_file() {
    let Some(folder) = std::env::var_os(CHILD).map(std::path::PathBuf::from) else { return };
    let (target, copy) = (folder.join("veloca-storage.json"), folder.join("copy.json"));
    let format = formats::format("veloca").expect("veloca");
    let database = Database::open(folder.join("test.db")).expect("opens");
    for is_new in [true, false] {
        let tree = formats::core::source_fs::at(&target).expect("a file");
        let report = database.import_tree(tree, format, ImportMode::Store, |_| {}).await.expect("imported");
        let one = &report.conversations[0];
        let counted = (one.is_new, one.added, one.unchanged);
        assert_eq!(counted, if is_new { (true, MESSAGES as u64, 0) } else { (false, 0, MESSAGES as u64) });
    }
    let out = DiskOut::new(&copy, format, Replace::Never).expect("a place");
    let exported = database.export_tree(&ExportPlan::everything(format), out).await.expect("written");
    exported.out.finish().expect("in place");
    std::fs::copy("/proc/self/status", folder.join("status")).expect("the system tells");
}

#[tokio::test]
async fn ten_thousand_messages_come_back_in_little_memory() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = ten_thousand();
    std::fs::write(folder.path().join("veloca-storage.json"), &files["veloca-storage.json"]).expect("written");
    let child = std::process::Command::new(std::env::current_exe().expect("a program knows itself"))
        .args(["--exact", "foreign::large::child_with_a_large_file", "--nocapture", "--quiet"])
        .env(CHILD, folder.path())
        .output()
        .expect("a process can be started");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
    let copy = std::fs::read(folder.path().join("copy.json")).expect("written");
    assert!(copy == files["veloca-storage.json"], "it comes back to the byte");
    let status = std::fs::read_to_string(folder.path().join("status")).expect("text");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the most it ever had");
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    println!("{} MB at most", kilobytes >> 10);
    assert!(kilobytes >> 10 < MEMORY_MAX_MB, "{peak}");
}
