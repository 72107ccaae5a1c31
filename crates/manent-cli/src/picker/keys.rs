//! From the bytes of a terminal to the keys that somebody pressed.

/// What somebody did at the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    Text(String),
    Enter,
    Escape,
    Tab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    Control(char),
}

const PASTE_END: &[u8] = b"\x1b[201~";

/// What has come and is no whole key yet.
#[derive(Default)]
pub struct Keys {
    bytes: Vec<u8>,
    is_pasting: bool,
}

impl Keys {
    /// Takes bytes in and returns the keys that they complete. No bytes say that nothing came for a while: then an escape
    /// alone is the key, and what was begun is given up.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.bytes.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((length, key)) = self.first() {
            self.bytes.drain(..length);
            keys.extend(key);
        }
        if bytes.is_empty() && !self.is_pasting && !self.bytes.is_empty() {
            if self.bytes == b"\x1b" {
                keys.push(Key::Escape);
            }
            self.bytes.clear();
        }
        keys
    }

    /// Returns how long the first thing is, and the key if it is one; nothing while it is not complete.
    fn first(&mut self) -> Option<(usize, Option<Key>)> {
        if self.is_pasting {
            let end = self.bytes.windows(PASTE_END.len()).position(|window| window == PASTE_END)?;
            self.is_pasting = false;
            let pasted = String::from_utf8_lossy(&self.bytes[..end]).into_owned();
            return Some((end + PASTE_END.len(), Some(Key::Text(pasted))));
        }
        match *self.bytes.first()? {
            0x1b => self.escaped(),
            b'\r' | b'\n' => Some((1, Some(Key::Enter))),
            b'\t' => Some((1, Some(Key::Tab))),
            0x7f | 0x08 => Some((1, Some(Key::Backspace))),
            byte @ 1..=0x1a => Some((1, Some(Key::Control(char::from(byte - 1 + b'a'))))),
            0..0x20 => Some((1, None)),
            _ => self.text(),
        }
    }

    fn escaped(&mut self) -> Option<(usize, Option<Key>)> {
        match *self.bytes.get(1)? {
            b'[' => {
                let length = self.bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte))? + 3;
                if &self.bytes[..length] == b"\x1b[200~" {
                    self.is_pasting = true;
                    return Some((length, None));
                }
                Some((length, named(&self.bytes[2..length])))
            }
            b'O' => self.bytes.get(2).map(|byte| (3, named(&[*byte]))),
            0x1b => Some((1, Some(Key::Escape))),
            // Together with Alt no key means anything here.
            _ => Some((2, None)),
        }
    }

    fn text(&self) -> Option<(usize, Option<Key>)> {
        let length = match self.bytes[0] {
            0..0x80 => 1,
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0..0xf8 => 4,
            _ => return Some((1, None)),
        };
        let bytes = self.bytes.get(..length)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Some((length, Some(Key::Text(text.to_owned())))),
            Err(_) => Some((1, None)),
        }
    }
}

/// A key that terminals write as a sequence.
fn named(sequence: &[u8]) -> Option<Key> {
    Some(match sequence {
        [.., b'A'] => Key::Up,
        [.., b'B'] => Key::Down,
        [.., b'C'] => Key::Right,
        [.., b'D'] => Key::Left,
        [.., b'H'] | b"1~" | b"7~" => Key::Home,
        [.., b'F'] | b"4~" | b"8~" => Key::End,
        b"3~" => Key::Delete,
        b"5~" => Key::PageUp,
        b"6~" => Key::PageDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_same_however_their_bytes_arrive() {
        let typed = "a你\u{1b}[A\u{1b}OB\u{1b}[3~\u{1b}[200~two\nlines\u{1b}[201~\r\t\u{7f}\u{12}".as_bytes();
        let text = |text: &str| Key::Text(text.to_owned());
        let (backspace, control) = (Key::Backspace, Key::Control('r'));
        let expected =
            [text("a"), text("你"), Key::Up, Key::Down, Key::Delete, text("two\nlines"), Key::Enter, Key::Tab];
        let expected: Vec<Key> = expected.into_iter().chain([backspace, control]).collect();
        assert_eq!(Keys::default().take(typed), expected);
        let mut keys = Keys::default();
        assert_eq!(typed.iter().flat_map(|byte| keys.take(&[*byte])).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_escape_is_a_key_when_nothing_follows() {
        let mut keys = Keys::default();
        assert_eq!(keys.take(b"\x1b"), []);
        assert_eq!(keys.take(b""), [Key::Escape]);
        assert_eq!(keys.take(b"\x1b["), []);
        assert_eq!(keys.take(b""), [], "given up");
        assert_eq!(
            keys.take(b"\xff\xc3\x28\x00\x1bx\x1b[99;99~z"),
            [Key::Text("(".to_owned()), Key::Text("z".to_owned())]
        );
    }
}
