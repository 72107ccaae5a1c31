//! Pictures in texts: what is taken out comes back, whatever the text is, and nothing else is touched.

use crate::kit::odd_text;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use manent_formats::core::media::{SMALLEST, extract, restore};
use manent_model::Json;
use manent_model::blob_placeholder::{BlobPlaceholder, PREFIX};
use std::collections::HashMap;

/// Takes out and puts back; returns what stood in between.
fn check(text: &str) -> String {
    let mut blobs: HashMap<[u8; 32], Vec<u8>> = HashMap::new();
    let taken = extract(text, |found| {
        blobs.insert(found.sha256, found.bytes);
        true
    });
    let whole = restore(&taken, |sha256| Ok::<_, ()>(blobs.get(&sha256).cloned())).expect("held");
    assert!(whole == text, "{} bytes came back as {}", text.len(), whole.len());
    taken.into_owned()
}

fn picture(random: &mut fastrand::Rng, size: usize) -> String {
    let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(size).collect();
    STANDARD.encode(bytes)
}

/// How many marks stand for something in a text.
fn marks(text: &str) -> usize {
    text.match_indices(PREFIX).filter(|(place, _)| BlobPlaceholder::at(&text[*place..]).is_some()).count()
}

#[test]
fn base64_is_taken_out_wherever_it_stands() {
    let mut random = fastrand::Rng::with_seed(7);
    let base64 = picture(&mut random, 100_001);
    for (text, count) in [
        (format!(r#"{{"base64":"{base64}"}}"#), 1),
        (format!(r#"["{base64}","{base64}"]"#), 2),
        (format!(r#"{{"url":"data:image/png;base64,{base64}"}}"#), 1),
        (format!(r#"{{"text":"![a](data:image/png;base64,{base64}) 和 ![b](data:image/gif;base64,{base64})"}}"#), 2),
        (format!(r#"{{"arguments":"{{\"base64\":\"{base64}\"}}"}}"#), 1),
        (format!(r#"["{}"]"#, base64.replace('/', "\\/")), 1),
        (format!(r#"["{}"]"#, base64.replace('+', "\\u002B")), 1),
        (format!(r#"["{}"]"#, base64.replace('/', "\\/").replace('+', "\\u002B")), 1),
    ] {
        let taken = check(&text);
        assert_eq!(marks(&taken), count, "{}", &text[..40]);
        assert!(taken.len() < 1_000);
        Json::parse(&taken).expect("still JSON");
    }
}

#[test]
fn what_is_no_base64_stays() {
    let mut random = fastrand::Rng::with_seed(8);
    // A multiple of three bytes has no padding.
    let base64 = picture(&mut random, 90_000);
    let lines: Vec<&str> = base64.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).expect("ASCII")).collect();
    let both = base64.replacen('+', "\\u002B", 1).replacen("\\u002B", "\\u002B+", 1);
    for text in [
        format!(r#"["{}"]"#, lines.join("\\n")),
        format!(r#"["{base64}="]"#),
        format!(r#"["{base64}=="]"#),
        format!(r#"["{}"]"#, &base64[..base64.len() - 1]),
        format!(r#"["{}B=="]"#, &base64[..base64.len() - 3]),
        format!(r#"["{base64}!"]"#),
        format!(r#"["a {base64}"]"#),
        format!(r#"["{both}"]"#),
        format!(r#"["{}"]"#, base64.replace('+', "-").replace('/', "_")),
        format!(r#"["{}"]"#, &base64[..SMALLEST]),
    ] {
        assert_eq!(check(&text), text);
    }
}

#[test]
fn a_text_that_looks_like_a_mark_comes_back_as_it_was() {
    let mark = BlobPlaceholder { form: b'a', sha256: [1; 32] }.text();
    for text in [
        mark.clone(),
        mark.replacen('/', "/_", 1),
        mark.replacen('/', "/__", 1),
        format!("{PREFIX}{mark}{PREFIX}_"),
        format!("{PREFIX}z{}", &mark[PREFIX.len() + 1..]),
    ] {
        let taken = check(&text);
        assert_eq!(marks(&taken), 0, "{taken}");
    }
    assert_eq!(
        check(&format!("about {PREFIX} and {PREFIX}_")),
        format!("about {PREFIX} and {PREFIX}_"),
        "a word is a word"
    );
}

#[test]
fn what_is_no_longer_held_comes_back_as_nothing() {
    let mark = BlobPlaceholder { form: b'a', sha256: [1; 32] }.text();
    assert_eq!(restore(&format!("[\"{mark}\"]"), |_| Ok::<_, ()>(None)).expect("readable"), "[\"\"]");
}

/// A JSON text of any shape, with strings of all kinds.
fn value(random: &mut fastrand::Rng, depth: usize) -> String {
    let count = random.usize(..4);
    match random.u8(..if depth == 0 { 9 } else { 12 }) {
        0 => ["null", "true", "1.0", "-2e9"][random.usize(..4)].to_owned(),
        1 | 2 => Json::of(&odd_text(random)).text().to_owned(),
        3 => {
            let size = random.usize(48_000..60_000);
            let base64 = picture(random, size);
            let forms =
                [base64.clone(), base64.replace('/', "\\/"), base64.replace('+', "\\u002B"), base64[1..].to_owned()];
            format!("\"{}\"", forms[random.usize(..4)])
        }
        4 => {
            let (before, after) = (Json::of(&odd_text(random)), Json::of(&odd_text(random)));
            let trim = |json: &Json| json.text()[1..json.text().len() - 1].to_owned();
            let base64 = picture(random, 50_000);
            format!("\"{}data:image/png;base64,{base64}{}\"", trim(&before), trim(&after))
        }
        5 => format!("\"{}\"", BlobPlaceholder { form: random.u8(b'a'..=b'z'), sha256: [random.u8(..); 32] }.text()),
        6 => format!(
            "\"{PREFIX}{}{}\"",
            "_".repeat(count),
            &BlobPlaceholder { form: b'a', sha256: [2; 32] }.text()[PREFIX.len()..]
        ),
        7 => Json::of(&"A".repeat(SMALLEST + random.usize(..9))).text().to_owned(),
        8 => {
            let inner = value(random, 0);
            Json::of(&inner).text().to_owned()
        }
        9 | 10 => format!("[{}]", (0..count).map(|_| value(random, depth - 1)).collect::<Vec<_>>().join(" , ")),
        _ => {
            let member = |random: &mut fastrand::Rng| {
                format!("{}: {}", Json::of(&odd_text(random)).text(), value(random, depth - 1))
            };
            format!("{{{}}}", (0..count).map(|_| member(random)).collect::<Vec<_>>().join(",\n"))
        }
    }
}

#[test]
fn every_json_comes_back_as_it_was() {
    let mut random = fastrand::Rng::with_seed(20);
    let mut taken = 0;
    for _ in 0..2_000 {
        let text = value(&mut random, 4);
        let without = check(&text);
        Json::parse(&without).expect("still JSON");
        taken += marks(&without);
    }
    assert!(taken > 500, "{taken} were taken out");
}
