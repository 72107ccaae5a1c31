//! Records the commit that the program is built from, for `manent --version`.

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let answer = Command::new("git").args(arguments).output().ok().filter(|answer| answer.status.success())?;
    let text = String::from_utf8(answer.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A source archive has no repository: packagers set the variable.
    println!("cargo:rerun-if-env-changed=MANENT_COMMIT");
    let named = std::env::var("MANENT_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = named.or_else(|| {
        // HEAD names the branch, and the file of the branch names the commit: either may change.
        let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
        for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
            if let Some(file) =
                git(&["rev-parse", "--git-path", name]).filter(|file| std::path::Path::new(file).exists())
            {
                println!("cargo:rerun-if-changed={file}");
            }
        }
        git(&["rev-parse", "--short=9", "HEAD"])
    });
    if let Some(commit) = commit {
        println!("cargo:rustc-env=MANENT_BUILT_FROM={commit}");
    }
}
