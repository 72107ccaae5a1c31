//! Redaction of a text; JSON stays valid JSON.

use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;

/// Replacement for a secret.
const MARK: &str = "[redacted]";

/// What a secret is called. `token` alone is not one: models write those.
const NAMES: &str = r"(?:[a-z0-9_-]*api[_-]?key|[a-z0-9_-]+[_-]token|(?:access|refresh|auth|bearer|session|id)token|[a-z0-9_-]*secret(?:[_-]?(?:key|access[_-]?key))?|[a-z0-9_-]*passw(?:or)?d|passphrase|authorization|private[_-]?key|credentials?)";

/// A member with its string value; also inside a JSON text within a JSON string.
static MEMBERS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    let plain = format!(r#"(?i)("{NAMES}"\s*:\s*")((?:[^"\\]|\\.)*)(")"#);
    let nested = format!(r#"(?i)(\\"{NAMES}\\"\s*:\s*\\")((?:[^"\\]|\\[^"])*)(\\")"#);
    [plain, nested].map(|pattern| Regex::new(&pattern).expect("a pattern of ours"))
});

/// Keys that show what they are. What comes before is no letter or digit, or the escape of a line break or tab.
static KEYS: LazyLock<Regex> = LazyLock::new(|| {
    let kinds = [
        r"sk-[A-Za-z0-9_-]{20,}",
        r"(?:gh[pousr]|github_pat|glpat|hf|gsk|xai|npm|pypi)[_-][A-Za-z0-9_-]{20,}",
        r"xox[abeprs]-[A-Za-z0-9-]{10,}",
        r"A(?:KIA|SIA)[0-9A-Z]{16}",
        r"AIza[0-9A-Za-z_-]{30,}",
        r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        r"(?i:bearer)\s+[A-Za-z0-9._~+/=-]{20,}",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-----END [A-Z ]*PRIVATE KEY-----",
    ];
    let pattern = format!(r"(^|[^A-Za-z0-9]|\\[nrt])({})", kinds.join("|"));
    Regex::new(&pattern).expect("a pattern of ours")
});

/// A password in an address.
static ADDRESSES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"([a-z][a-z0-9+.-]*://[^\s/:@"'\\]*:)([^\s/@"'\\]+)(@)"#).expect("a pattern of ours")
});

/// Takes secrets out of a text and says how many there were.
pub fn redact(text: &str) -> (Cow<'_, str>, u64) {
    let mut count = 0;
    let mut text = Cow::Borrowed(text);
    for pattern in MEMBERS.iter() {
        text = replaced(text, pattern, |found| {
            let value = &found[2];
            if value.is_empty() || value == MARK {
                return None;
            }
            count += 1;
            Some(format!("{}{MARK}{}", &found[1], &found[3]))
        });
    }
    text = replaced(text, &KEYS, |found| {
        // A word with hyphens is no key; every key has a digit.
        if !found[2].bytes().any(|byte| byte.is_ascii_digit()) && !found[2].starts_with("-----") {
            return None;
        }
        count += 1;
        Some(format!("{}{MARK}", &found[1]))
    });
    text = replaced(text, &ADDRESSES, |found| {
        if &found[2] == MARK {
            return None;
        }
        count += 1;
        Some(format!("{}{MARK}{}", &found[1], &found[3]))
    });
    (text, count)
}

/// Replaces what a pattern finds, where there is something to replace.
fn replaced<'a>(
    text: Cow<'a, str>,
    pattern: &Regex,
    mut with: impl FnMut(&Captures) -> Option<String>,
) -> Cow<'a, str> {
    let (mut out, mut from) = (String::new(), 0);
    for found in pattern.captures_iter(&text) {
        let whole = found.get_match();
        if let Some(new) = with(&found) {
            out.push_str(&text[from..whole.start()]);
            out.push_str(&new);
            from = whole.end();
        }
    }
    if from == 0 {
        return text;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(redact(text).0, expected);
    }

    #[test]
    fn members_that_are_called_a_secret_lose_their_text() {
        check(r#"{"apiKey": "a\"b", "model":"m"}"#, r#"{"apiKey": "[redacted]", "model":"m"}"#);
        check(
            r#"{"OPENAI_API_KEY":"x","db_password":"p"}"#,
            r#"{"OPENAI_API_KEY":"[redacted]","db_password":"[redacted]"}"#,
        );
        check(
            r#"{"arguments":"{\"api_key\":\"x\",\"q\":1}"}"#,
            r#"{"arguments":"{\"api_key\":\"[redacted]\",\"q\":1}"}"#,
        );
        check(
            r#"{"token":"Hel","max_tokens":"3","apiKey":"","secret":null}"#,
            r#"{"token":"Hel","max_tokens":"3","apiKey":"","secret":null}"#,
        );
    }

    #[test]
    fn keys_are_found_in_what_people_write() {
        check("use sk-proj-AbCdEfGhIjKlMnOpQr12 now", "use [redacted] now");
        check(r#"{"text":"key:\nsk-ant-api03-AbCdEfGhIjKlMnOp"}"#, r#"{"text":"key:\n[redacted]"}"#);
        check("Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345", "Authorization: [redacted]");
        check("postgres://me:geheim@host/db", "postgres://me:[redacted]@host/db");
        check("钥匙ghp_0123456789abcdefghijABCDEFGHIJ012345。", "钥匙[redacted]。");
        check("AKIAIOSFODNN7EXAMPLE", "[redacted]");
    }

    #[test]
    fn words_stay() {
        for text in ["a task-management-and-scheduling-system", "risk-free", "at 12:30@home", "https://a/b:c", "{}"] {
            check(text, text);
        }
    }

    #[test]
    fn what_was_clean_is_not_copied() {
        assert!(matches!(redact("nothing here"), (Cow::Borrowed(_), 0)));
        let (clean, count) = redact(r#"{"apiKey":"x"} sk-0123456789012345678901"#);
        assert_eq!(count, 2);
        assert_eq!(redact(&clean).1, 0);
    }
}
