//! Random texts and queries: whatever stands in a text is found there, and the index never hides it.

use crate::kit::{asked_of, clock, message};
use manent_text::{Form, Query, distinct_tokens, snippet, tokenize};

fn seeded(own: u64) -> fastrand::Rng {
    let seed = std::env::var("MANENT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(own);
    println!("seed {seed}");
    fastrand::Rng::with_seed(seed)
}

const ALPHABETS: [&str; 14] = [
    "abcdeABCDE",
    "xyzXYZ0123",
    "éàüñßøİı",
    "абвгёйАБВ",
    "αβγάΣς",
    "悬空引用部署检索",
    "検索ひらカタカナー",
    "ｶﾞﾊﾟｱｲ",
    "한국어검색\u{1112}\u{1161}\u{11ab}",
    "สวัสดีครับ",
    "مُحَمَّدـ",
    "שָׁלוֹם",
    "हिन्दी",
    "👍🏽❤️👩‍💻",
];

const BETWEEN: [&str; 12] = [" ", " ", " ", "\n", ", ", "。", "-", "_", ".", "'", "", "/"];

/// Some words, most of one alphabet each, with all that may stand between words.
fn some_text(random: &mut fastrand::Rng) -> String {
    let mut text = String::new();
    for _ in 0..random.usize(1..12) {
        let alphabet: Vec<char> = ALPHABETS[random.usize(..ALPHABETS.len())].chars().collect();
        text.extend((0..random.usize(1..7)).map(|_| alphabet[random.usize(..alphabet.len())]));
        text.push_str(BETWEEN[random.usize(..BETWEEN.len())]);
    }
    text
}

fn quoted(words: &str) -> String {
    format!("\"{words}\"")
}

#[test]
fn what_stands_in_a_text_is_found_in_it() {
    let mut random = seeded(20_261_117);
    let mut asked = 0;
    for _ in 0..1_500 {
        let text = some_text(&mut random);
        let content = message(&text);
        for word in text.split_whitespace() {
            let Ok(query) = Query::parse(&quoted(word), clock()) else { continue };
            assert!(asked_of(&query, &content), "{word:?} in {text:?}");
            assert!(!query.highlights(&text).is_empty(), "{word:?} in {text:?}");
            asked += 1;
        }
        let mut found = Vec::new();
        tokenize(&text, &mut |unit| found.push((unit.run, unit.form, unit.text.to_owned())));
        // All of a word stands beside its parts and is asked for alone.
        for (_, _, unit) in &found {
            assert!(asked_of(&Query::parse(&quoted(unit), clock()).expect("a unit"), &content), "{unit:?} in {text:?}");
        }
        found.retain(|(_, form, _)| !matches!(form, Form::Whole { .. }));
        for pair in found.windows(2) {
            let [(first_run, form, one), (second_run, _, two)] = pair else { unreachable!("windows of two") };
            let between = if first_run == second_run && *form == Form::Character { "" } else { " " };
            let phrase = format!("{one}{between}{two}");
            let query = Query::parse(&quoted(&phrase), clock()).expect("two units");
            assert!(asked_of(&query, &content), "{phrase:?} in {text:?}");
            asked += 1;
        }
        let other = Query::parse("qqqq", clock()).expect("a word");
        assert!(!asked_of(&other, &content), "{text:?}");
    }
    assert!(asked > 5_000, "{asked}");
}

#[test]
fn pairs_of_characters_are_found_wherever_they_stand() {
    let mut random = seeded(7);
    let han: Vec<char> = "悬空引用部署检索中文".chars().collect();
    for _ in 0..300 {
        let text: String = (0..random.usize(2..30)).map(|_| han[random.usize(..han.len())]).collect();
        let content = message(&text);
        let characters: Vec<char> = text.chars().collect();
        for length in 1..=3.min(characters.len()) {
            for piece in characters.windows(length) {
                let piece: String = piece.iter().collect();
                assert!(asked_of(&Query::parse(&piece, clock()).expect("a piece"), &content), "{piece} in {text}");
            }
        }
        let stranger: String = [0, 0].map(|_| han[random.usize(..han.len())]).into_iter().collect();
        let query = Query::parse(&stranger, clock()).expect("a pair");
        assert_eq!(asked_of(&query, &content), text.contains(&stranger), "{stranger} in {text}");
    }
}

#[test]
fn no_text_brings_the_analyzer_or_the_parser_down() {
    let mut random = seeded(31);
    let pieces = [
        "\"", "“", "”", "「", "(", ")", "（", "-", "－", "OR", "|", "*", "role:", "before:", "meta.a:", "meta.",
        "has:code", "in:title", " ", "  ", "a", "Bc", "悬空", "2026", "7d", ":", "：", "\u{301}", "\u{0}", "\u{E000}",
        "👍🏽", "ﷺ", "İ",
    ];
    for round in 0..20_000 {
        let text: String = match round % 2 {
            0 => (0..random.usize(..12)).map(|_| pieces[random.usize(..pieces.len())]).collect(),
            _ => (0..random.usize(..40)).map(|_| random.char(..)).collect(),
        };
        tokenize(&text, &mut |unit| {
            assert!(text.get(unit.at.clone()).is_some_and(|written| !written.is_empty()), "{text:?}: {unit:?}");
            assert!(!unit.text.is_empty(), "{text:?}");
        });
        for query in [Query::parse(&text, clock()), Query::typing(&text, clock())] {
            match query {
                Ok(query) => {
                    asked_of(&query, &message(&text));
                    let mut end = 0;
                    for range in query.highlights(&text) {
                        assert!(range.start >= end && text.get(range.clone()).is_some(), "{text:?}: {range:?}");
                        end = range.end;
                    }
                }
                Err(problem) => assert!(problem.at <= text.chars().count(), "{text:?}: {problem}"),
            }
        }
    }
}

#[test]
fn the_index_never_hides_an_answer() {
    let mut random = seeded(1_117);
    let mut matched = 0;
    for _ in 0..6_000 {
        let text = some_text(&mut random);
        let content = message(&text);
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut asked = String::new();
        for _ in 0..random.usize(1..5) {
            asked.push_str(["", "", "", "-", "("][random.usize(..5)]);
            let word = match random.u8(..6) {
                0 => "role:user".to_owned(),
                1 => "tag:检索".to_owned(),
                2 => format!("{}*", words[random.usize(..words.len())]),
                3 => quoted(&words[random.usize(..words.len())..].join(" ")),
                4 => some_text(&mut random).replace(['\n', '\''], " "),
                _ => words[random.usize(..words.len())].to_owned(),
            };
            asked.push_str(&word);
            asked.push_str([" ", " ", " OR ", ") "][random.usize(..4)]);
        }
        // The kit checks the index against the answer.
        if let Ok(query) = Query::typing(&asked, clock()) {
            matched += u32::from(asked_of(&query, &content));
        }
    }
    assert!(matched > 1_000, "{matched}");
}

#[test]
fn tokens_do_not_depend_on_what_stands_around_a_text() {
    let mut random = seeded(99);
    for _ in 0..500 {
        let (one, two) = (some_text(&mut random), some_text(&mut random));
        let mut apart = distinct_tokens([one.as_str(), two.as_str()]);
        apart.sort();
        assert_eq!(distinct_tokens([format!("{one} \n{two}").as_str()]), apart, "{one:?} {two:?}");
    }
}

#[test]
fn a_snippet_is_a_piece_of_its_text() {
    let mut random = seeded(5);
    for _ in 0..3_000 {
        let text: String = (0..random.usize(1..6)).map(|_| some_text(&mut random)).collect();
        let words: Vec<&str> = text.split_whitespace().collect();
        let (word, other) = (words[random.usize(..words.len())], words[random.usize(..words.len())]);
        let Ok(query) = Query::parse(&format!("\"{word}\" OR \"{other}\""), clock()) else { continue };
        let width = random.usize(..60);
        let piece = snippet(&text, &query, width);
        let length = piece.text.chars().count();
        let flat: String = text.chars().map(|character| if character == '\n' { ' ' } else { character }).collect();
        assert!(length <= width && flat.contains(&piece.text), "{piece:?} of {text:?}");
        assert_eq!(piece.before || piece.after, piece.text.trim().len() < text.trim().len(), "{piece:?} of {text:?}");
        let mut end = 0;
        for (first, last) in &piece.highlights {
            assert!(*first >= end && first < last && *last as usize <= length, "{piece:?} of {text:?}");
            end = *last;
        }
        // What matched is shown, if there is room for a word at all.
        assert!(width < 40 || !piece.highlights.is_empty(), "{word:?} {piece:?} of {text:?}");
    }
}

#[test]
fn every_character_is_the_same_in_all_its_forms() {
    use unicode_normalization::UnicodeNormalization;
    for character in (0..=0x10_FFFF).filter_map(char::from_u32) {
        let text = character.to_string();
        let forms: [String; 5] = [
            text.nfc().collect(),
            text.nfd().collect(),
            text.nfkc().collect(),
            text.nfkd().collect(),
            text.to_lowercase(),
        ];
        for form in forms.iter().filter(|form| **form != text) {
            assert_eq!(distinct_tokens([form.as_str()]), distinct_tokens([text.as_str()]), "{character:?} as {form:?}");
        }
    }
}
