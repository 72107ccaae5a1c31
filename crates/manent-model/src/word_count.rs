//! Word count: each Chinese, Japanese or Korean character is one word, each other word is one.

use unicode_segmentation::UnicodeSegmentation;

/// Counts the words of a text.
pub fn count_words(text: &str) -> u32 {
    // Most text is ASCII, where word boundaries need no tables.
    if text.is_ascii() {
        return count_ascii(text);
    }
    count_han(text).unwrap_or_else(|| count_any(text))
}

fn count_any(text: &str) -> u32 {
    text.unicode_words()
        .map(|word| {
            let characters = word.chars().filter(|&character| is_cjk(character)).count() as u32;
            let other = word.chars().any(|character| !is_cjk(character) && character.is_alphanumeric());
            characters + u32::from(other)
        })
        .sum()
}

/// Counts a text of Chinese characters, ASCII and punctuation; `None` if it needs the Unicode tables.
fn count_han(text: &str) -> Option<u32> {
    let (mut count, mut inside) = (0, false);
    // A mark that joins two letters or digits, if it is followed by another one.
    let mut may_join = false;
    for character in text.chars() {
        let is_letter = character.is_ascii_alphanumeric();
        if is_letter && may_join {
            return None;
        }
        may_join = false;
        match character {
            _ if is_letter => count += u32::from(!inside),
            '_' => return None,
            '\'' | '.' | ',' | ':' | ';' | '，' | '：' | '；' => may_join = inside,
            '\0'..='\x7F' | '、' | '。' | '〈'..='】' | '“' | '”' | '！' | '（' | '）' | '？' => {}
            '\u{4E00}'..='\u{9FFF}' => count += 1,
            _ => return None,
        }
        inside = is_letter;
    }
    Some(count)
}

fn count_ascii(text: &str) -> u32 {
    let mut count = 0;
    let mut inside = false;
    let bytes = text.as_bytes();
    for (place, byte) in bytes.iter().enumerate() {
        let letter = byte.is_ascii_alphanumeric() || *byte == b'_';
        // An apostrophe or a point between letters or digits does not end a word: "don't", "3.14".
        let joins = matches!(byte, b'\'' | b'.')
            && inside
            && bytes.get(place + 1).is_some_and(|next| next.is_ascii_alphanumeric());
        if letter && !inside {
            count += 1;
        }
        inside = letter || joins;
    }
    count
}

/// Returns whether a character belongs to a script without spaces and is counted as one word.
pub fn is_cjk(character: char) -> bool {
    matches!(character as u32,
        0x3040..=0x30FF | 0x3105..=0x312F | 0x3131..=0x318E | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF66..=0xFF9D | 0x1100..=0x11FF | 0x20000..=0x3FFFF
        | 0x3005 | 0x3007)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_as_people_do() {
        for (text, words) in [
            ("", 0),
            ("hello world", 2),
            ("don't stop, ok? 3.14", 4),
            ("北京今天天气怎么样？", 9),
            ("重跑gen-itgc后", 5),
            ("検索 カタカナ", 6),
            ("한국어 검색", 5),
            ("naïve café — 2 words", 4),
            ("🙂 !!", 0),
        ] {
            assert_eq!(count_words(text), words, "{text}");
        }
    }

    #[test]
    fn chinese_text_is_counted_as_any_other() {
        let pieces = [
            "写下来的会留下",
            "。",
            "，",
            "：",
            "；",
            "、",
            "（",
            "）",
            "“",
            "”",
            "！",
            "？",
            "《",
            "》",
            "a",
            "word",
            "3.14",
            "it's",
            "_",
            ".",
            ",",
            "-",
            " ",
            "\n",
            "12",
            "`",
            "\"",
            "'",
            "行",
        ];
        let mut state = 7u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..6 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
            }
            let Some(quick) = count_han(&text) else { continue };
            assert_eq!(quick, count_any(&text), "{text:?}");
        }
        assert_eq!(count_han("写下来的会留下。What is written, remains."), Some(11));
        assert_eq!(count_han("naïve 写"), None);
        assert_eq!(count_han("a：b 写"), None);
    }
}
