//! Hexadecimal encoding of bytes.

/// Writes bytes as lower-case hexadecimal.
pub fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)] as char);
        text.push(DIGITS[usize::from(byte & 15)] as char);
    }
    text
}

/// Reads hexadecimal of either case.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// For `#[serde(with = …)]`.
pub mod serde_bytes {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes bytes as text.
    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::encode(bytes))
    }

    /// Reads bytes from text.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        super::decode(&text).ok_or_else(|| D::Error::custom("not hexadecimal"))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_survive_as_text() {
        assert_eq!(super::encode(&[0, 255, 16]), "00ff10");
        assert_eq!(super::decode("00FF10"), Some(vec![0, 255, 16]));
        assert_eq!(super::decode("0"), None);
        assert_eq!(super::decode("0g"), None);
    }
}
