//! Lower bound for JSON readers: the file in memory, split into values without reading them.

use ::manent::formats::core::source_fs::SourceTree;
use anyhow::Result;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;

pub fn run(tree: &dyn SourceTree) -> Result<f64> {
    let started = Instant::now();
    let mut values = 0;
    for entry in tree.entries() {
        let bytes = tree.read(&entry.name, u64::MAX)?;
        values += match entry.name.ends_with(".json") {
            true => file(&bytes)?,
            false => lines(&bytes)?,
        };
    }
    std::hint::black_box(values);
    Ok(started.elapsed().as_secs_f64())
}

fn lines(bytes: &[u8]) -> Result<usize> {
    let mut values = 0;
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let value: &RawValue = serde_json::from_slice(line)?;
        values += std::hint::black_box(value.get()).len().min(1);
    }
    Ok(values)
}

fn file(bytes: &[u8]) -> Result<usize> {
    if bytes.first() == Some(&b'[') {
        return Ok(serde_json::from_slice::<Vec<&RawValue>>(bytes)?.len());
    }
    let mut values = 0;
    for value in serde_json::from_slice::<BTreeMap<Cow<'_, str>, &RawValue>>(bytes)?.values() {
        values += match value.get().starts_with('[') {
            true => serde_json::from_str::<Vec<&RawValue>>(value.get())?.len(),
            false => 1,
        };
    }
    Ok(values)
}
