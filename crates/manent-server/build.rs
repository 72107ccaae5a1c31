//! Lists the files of the built page, so that they become part of the program.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
    println!("cargo:rerun-if-changed={}", folder.display());
    println!("cargo:rerun-if-changed=build.rs");
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    let mut code = String::from("static ASSETS: &[Asset] = &[\n");
    for file in files.iter().filter(|file| !is_compressed(file)) {
        let path =
            file.strip_prefix(&folder).expect("a file below the folder").to_str().expect("our own names are text");
        let compressed = |ending: &str| {
            let file = PathBuf::from(format!("{}.{ending}", file.display()));
            match file.exists() {
                true => format!("Some(include_bytes!({file:?}))"),
                false => "None".to_owned(),
            }
        };
        writeln!(
            code,
            "    Asset {{ path: {path:?}, media_type: {:?}, plain: include_bytes!({file:?}), gzip: {}, brotli: {} }},",
            media_type(path),
            compressed("gz"),
            compressed("br"),
        )
        .expect("a string grows");
    }
    code.push_str("];\n");
    let target = Path::new(&std::env::var("OUT_DIR").expect("cargo sets it")).join("assets.rs");
    std::fs::write(target, code).expect("cargo's own folder can be written");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

fn is_compressed(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "gz" || ending == "br")
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "json" | "webmanifest" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
