//! Changes that break files: of bytes, of JSON, of the tree.

use super::Files;
use fastrand::Rng;

/// What a file may grow to.
const LENGTH_MAX: usize = 512 << 10;

const VALUES: [&str; 30] = [
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "-1",
    "0.5",
    "1e999",
    "-1e400",
    "1e-400",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "4294967296",
    "253402300800000",
    "\"\"",
    "[]",
    "{}",
    "[[]]",
    "[null]",
    "{\"\":0}",
    "\"\\ud83d\"",
    "\"\\ude00\\ud83d\"",
    "\"\\u0000\"",
    "\"../../x\"",
    "\"9999-12-31T23:59:59.999999999Z\"",
    "\"-009999-01-01T00:00:00+25:59\"",
    "nul",
];
const PIECES: [&[u8]; 16] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\"role\":\"user\"",
    b"\\ud83d",
];

/// Changes files a few times; the same seed and corpus always do the same.
pub fn mutate(rng: &mut Rng, corpus: &[Files], words: &[String]) -> Files {
    let mut files = corpus[rng.usize(..corpus.len())].clone();
    for _ in 0..1 << rng.u32(..4) {
        match rng.u8(..12) {
            0 => tree(rng, &mut files, corpus, words),
            1..=4 => on_one(rng, &mut files, |rng, text| bytes(rng, text, corpus)),
            _ => on_one(rng, &mut files, |rng, text| tokens(rng, text, corpus, words)),
        }
    }
    files
}

fn on_one(rng: &mut Rng, files: &mut Files, change: impl FnOnce(&mut Rng, &mut Vec<u8>)) {
    if let Some(bytes) = one(rng, files) {
        let mut changed = bytes.clone();
        change(rng, &mut changed);
        if changed.len() <= LENGTH_MAX {
            *bytes = changed;
        }
    }
}

fn one<'a>(rng: &mut Rng, files: &'a mut Files) -> Option<&'a mut Vec<u8>> {
    let count = files.len();
    files.values_mut().nth(rng.usize(..count.max(1)))
}

fn any<'a>(rng: &mut Rng, corpus: &'a [Files]) -> &'a [u8] {
    let files = &corpus[rng.usize(..corpus.len())];
    files.values().nth(rng.usize(..files.len().max(1))).map_or(&[], Vec::as_slice)
}

fn range(rng: &mut Rng, length: usize) -> std::ops::Range<usize> {
    let from = rng.usize(..=length);
    let longest = if rng.bool() { 8 } else { length };
    from..rng.usize(from..=length.min(from + longest))
}

fn tree(rng: &mut Rng, files: &mut Files, corpus: &[Files], words: &[String]) {
    let Some(name) = files.keys().nth(rng.usize(..files.len().max(1))).cloned() else { return };
    match rng.u8(..5) {
        0 => {
            files.remove(&name);
        }
        1 => {
            let bytes = files.remove(&name).unwrap_or_default();
            files.insert(other_name(rng, &name, corpus, words), bytes);
        }
        2 => {
            let bytes = files[&name].clone();
            files.insert(other_name(rng, &name, corpus, words), bytes);
        }
        3 => {
            let (bytes, added) = (any(rng, corpus).to_vec(), other_name(rng, &name, corpus, words));
            files.insert(added, bytes);
        }
        _ => {
            files.insert(name, any(rng, corpus).to_vec());
        }
    }
}

fn other_name(rng: &mut Rng, name: &str, corpus: &[Files], words: &[String]) -> String {
    let mut pieces: Vec<String> = name.split('/').map(str::to_owned).collect();
    let place = rng.usize(..pieces.len());
    match rng.u8(..5) {
        0 => {
            let files = &corpus[rng.usize(..corpus.len())];
            return files.keys().nth(rng.usize(..files.len().max(1))).cloned().unwrap_or_default();
        }
        1 => pieces[place] = words[rng.usize(..words.len())].replace('/', "_"),
        2 => pieces[place].push_str(["+", ".bak", ".tmp", ".wal", "é", " ", "\u{1}", "0"][rng.usize(..8)]),
        3 => pieces.insert(place, words[rng.usize(..words.len())].replace('/', "_")),
        _ => {
            pieces.remove(place);
        }
    }
    pieces.join("/")
}

fn bytes(rng: &mut Rng, text: &mut Vec<u8>, corpus: &[Files]) {
    let at = rng.usize(..=text.len());
    match rng.u8(..7) {
        0 if at < text.len() => text[at] ^= 1 << rng.u8(..8),
        1 if at < text.len() => text[at] = rng.u8(..),
        2 => text.truncate(at),
        3 => {
            text.drain(range(rng, text.len()));
        }
        4 => {
            let piece = text[range(rng, text.len())].to_vec();
            text.splice(at..at, piece);
        }
        5 => {
            let other = any(rng, corpus);
            let piece = other[range(rng, other.len())].to_vec();
            text.splice(range(rng, text.len()), piece);
        }
        _ => {
            text.splice(at..at, PIECES[rng.usize(..PIECES.len())].iter().copied());
        }
    }
}

fn tokens(rng: &mut Rng, text: &mut Vec<u8>, corpus: &[Files], words: &[String]) {
    let values = values(text);
    let Some(span) = values.get(rng.usize(..values.len().max(1))).cloned() else { return };
    let replacement = match rng.u8(..9) {
        0 | 1 => VALUES[rng.usize(..VALUES.len())].as_bytes().to_vec(),
        2 => serde_json::to_vec(&words[rng.usize(..words.len())]).expect("a text is JSON"),
        3 => Vec::new(),
        4 => text[values[rng.usize(..values.len())].clone()].to_vec(),
        5 => {
            let other = any(rng, corpus);
            let spans = self::values(other);
            spans.get(rng.usize(..spans.len().max(1))).map_or_else(Vec::new, |span| other[span.clone()].to_vec())
        }
        6 => {
            let mut twice = text[span.clone()].to_vec();
            twice.push(b',');
            twice.extend_from_slice(&text[span.clone()]);
            twice
        }
        7 => {
            let depth = rng.usize(1..400);
            [vec![b'['; depth], text[span.clone()].to_vec(), vec![b']'; depth]].concat()
        }
        _ => serde_json::to_vec(&crate::kit::odd_text(rng).repeat(rng.usize(1..200))).expect("a text is JSON"),
    };
    text.splice(span, replacement);
}

/// Where values and names of a JSON text stand; of any other, its words.
fn values(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let (mut found, mut open, mut at) = (Vec::new(), Vec::new(), 0);
    while at < text.len() {
        let from = at;
        at += 1;
        match text[from] {
            b'"' => {
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(text.len());
                found.push(from..at);
            }
            b'{' | b'[' => open.push(from),
            b'}' | b']' => found.extend(open.pop().map(|from| from..at)),
            b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => {
                while at < text.len() && !b",:}] \n\r\t\"".contains(&text[at]) {
                    at += 1;
                }
                found.push(from..at);
            }
        }
    }
    found
}
