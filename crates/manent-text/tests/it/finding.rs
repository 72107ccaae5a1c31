//! Words and phrases in texts of many scripts.

use crate::kit::{asked_of, message, query};

fn check(cases: &[(&str, &str, bool)]) {
    for (asked, text, found) in cases {
        assert_eq!(asked_of(&query(asked), &message(text)), *found, "{asked} in {text}");
    }
}

#[test]
fn words_are_found_whole() {
    check(&[
        ("quick ok", "quickly token", false),
        ("quick ok", "OK, that was Quick.", true),
        ("tok*", "quickly token", true),
        ("tok*", "broken stoke", false),
        (r#""new york""#, "New\nYork!", true),
        (r#""new york""#, "york new", false),
        (r#""new york""#, "a new, york", true),
        (r#""new yo*""#, "new york", true),
        (r#""new yo"*"#, "new york", true),
        (r#""new yo""#, "new york", false),
        ("-quick", "quickly", true),
        ("-quick", "quick", false),
        ("a OR b c", "b c", true),
        ("a OR b c", "a b", false),
        ("(a b) | c", "c", true),
        (r#"a -"b c""#, "a c b", true),
        (r#"a -"b c""#, "a b c", false),
        ("a -(b OR c)", "a c", false),
        ("a -(b OR c)", "a d", true),
        ("main()", "fn main() {}", true),
        ("--verbose", "run with --verbose", true),
        ("don't", "dont", true),
        ("dont", "I don’t", true),
        ("user", "the user's files", true),
        ("amour", "l'amour", true),
    ]);
}

#[test]
fn names_in_code_are_found_by_parts_and_whole() {
    check(&[
        ("camelCase", "the camelCase name", true),
        ("camelcase", "the camelCase name", true),
        ("case", "the camelCase name", true),
        ("camelCase", "camelcase", true),
        ("camelCase", "camel case", false),
        ("\"camel case\"", "camelCase", true),
        ("camelCase", "myCamelCaseName", true),
        ("camelCa*", "camelCaseName", true),
        ("snake_case", "a snake_case name", true),
        ("snake_case", "case snake", false),
        ("gpt4", "GPT-4", false),
        ("gpt-4", "GPT-4", true),
        ("gpt4", "use GPT4 now", true),
        ("\"use gpt4 now\"", "use GPT4 now", true),
        ("\"use camelcase now\"", "use camelCase now", true),
        ("\"use camelCase now\"", "use camelcase now", true),
        ("\"use camelCase now\"", "use camel case now", false),
        ("sha256", "SHA256:ab", true),
        ("example.com/path", "see https://example.com/path?x=1", true),
        ("https://example.com", "see https://example.com/path?x=1", true),
        ("src/main.rs", "in /home/me/src/main.rs:12", true),
        ("foo:bar", "foo bar", true),
        ("3.14", "pi is 3.14159", false),
        ("3.14", "pi is 3.14", true),
        ("deadbeef01cafe23", "id DEADbeef01cafe23", true),
    ]);
}

#[test]
fn scripts_without_spaces_are_found_by_any_piece() {
    check(&[
        ("悬空", "这是悬空引用的问题", true),
        ("悬空引用", "这是悬空引用的问题", true),
        ("悬空引用", "这是悬空的引用", false),
        ("悬空引用", "悬空，引用", false),
        ("“悬空 引用”", "悬空，引用", true),
        ("悬", "这是悬空", true),
        ("空", "这是悬空", true),
        ("空*", "这是悬空", true),
        ("悬空*", "这是悬空引用", true),
        ("部署", "重新部署了服务", true),
        ("部署", "部。署", false),
        ("检索", "全文检索", true),
        ("検索", "全文検索エンジン", true),
        ("検索エ", "全文検索エンジン", true),
        ("検索", "全文检索", false),
        ("エンジン", "ｴﾝｼﾞﾝ", true),
        ("itgc", "重跑gen-itgc后", true),
        ("gen-itgc", "重跑gen-itgc后", true),
        ("重跑gen", "重跑gen-itgc后", true),
        ("后", "重跑gen-itgc后", true),
        ("跑后", "重跑gen-itgc后", false),
        ("검색", "한국어검색엔진", true),
        ("검색", "검사 색", false),
        ("한", "\u{1112}\u{1161}\u{11ab}", true),
        ("สวัสดี", "คุณสวัสดีครับ", true),
        ("「全文 検索」", "全文検索", true),
    ]);
}

#[test]
fn writing_differently_is_writing_the_same() {
    check(&[
        ("cafe", "un café", true),
        ("CAFÉ", "un cafe\u{301}", true),
        ("ＡＢＣ１２", "abc12", true),
        ("abc12", "ＡＢＣ１２", true),
        ("STRASSE", "Straße", true),
        ("елка", "Ёлка", true),
        ("иод", "йод", false),
        ("محمد", "مُحَمَّد", true),
        ("שלום", "שָׁלוֹם", true),
        ("\"שלום עולם\"", "אמר: שלום, עולם!", true),
        ("👍", "ok 👍🏽!", true),
        ("👍🏿", "ok 👍!", true),
        ("❤️", "❤", true),
        ("👩‍💻", "👩🏽‍💻", true),
        ("👎", "👍", false),
        ("हिन्दी", "यह हिन्दी है", true),
        ("हिन", "यह हिन्दी है", false),
    ]);
}

#[test]
fn what_was_found_is_shown_where_it_stands() {
    for (asked, text, shown) in [
        ("cafe -bar", "Un CAFÉ, bar", "Un [CAFÉ], bar"),
        ("camelCase case", "camelCaseName", "[camelCase]Name"),
        ("悬空 空引", "有悬空引用", "有[悬空引]用"),
        (r#""a b" a"#, "a a b a", "[a] [a b] [a]"),
        ("gpt4", "a GPT4o b gpt4", "a [GPT4]o b [gpt4]"),
        ("👍", "x👍🏽y", "x[👍🏽]y"),
        ("pre*", "PREfix pre", "[PREfix] [pre]"),
        ("role:user x", "user X", "user [X]"),
        ("no", "nothing", "nothing"),
    ] {
        let mut marked = String::new();
        let mut at = 0;
        for range in query(asked).highlights(text) {
            marked.push_str(&format!("{}[{}]", &text[at..range.start], &text[range.clone()]));
            at = range.end;
        }
        marked.push_str(&text[at..]);
        assert_eq!(marked, shown, "{asked}");
    }
}

#[test]
fn a_phrase_at_the_end_of_a_long_text_is_found() {
    let english = format!("{}needle in the haystack", "needle in ".repeat(100_000));
    let chinese = format!("{}悬空引用", "悬空引".repeat(100_000));
    check(&[
        (r#""needle in the haystack""#, &english, true),
        (r#""needle in needle in the haystack""#, &english, true),
        (r#""needle the haystack""#, &english, false),
        ("悬空引用", &chinese, true),
        ("引悬空引用", &chinese, true),
        ("空引引用", &chinese, false),
    ]);
    let repeats = "a ".repeat(1_000);
    check(&[(r#""a a a b""#, &format!("{repeats}b"), true), (r#""a a a b c""#, &format!("{repeats}b"), false)]);
    // The worst there is: 63 times the same word, and then another, in a text of nothing but that word.
    let worst = format!("\"{}b\"", "a ".repeat(63));
    let long = "a ".repeat(500_000);
    check(&[(&worst, &long, false), (&worst, &format!("{long}b"), true)]);
}
