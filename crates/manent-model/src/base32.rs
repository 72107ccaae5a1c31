//! Crockford's base 32, for texts that people copy.

/// No I, L, O or U, so that a spoken or copied text is not misread.
pub(crate) const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Returns the number of a character; what is easily misread counts as what it looks like.
pub(crate) fn digit(character: u8) -> Option<u8> {
    match character.to_ascii_uppercase() {
        b'O' => Some(0),
        b'I' | b'L' => Some(1),
        upper => ALPHABET.iter().position(|&known| known == upper).and_then(|place| u8::try_from(place).ok()),
    }
}

/// Writes 32 bytes as 52 characters; the last holds one bit.
pub(crate) fn encode_32(bytes: &[u8; 32]) -> String {
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    let character = |place: usize| {
        let number = (0..5).fold(0u8, |number, offset| number << 1 | bit(place * 5 + offset));
        char::from(ALPHABET[usize::from(number)])
    };
    (0..52).map(character).collect()
}

/// Reads 52 characters; none if there are others, or bits beyond the last byte.
pub(crate) fn decode_32(text: &str) -> Option<[u8; 32]> {
    if text.len() != 52 {
        return None;
    }
    let mut bytes = [0u8; 32];
    for (place, character) in text.bytes().enumerate() {
        let number = digit(character)?;
        for offset in 0..5 {
            let at = place * 5 + offset;
            let is_set = number >> (4 - offset) & 1 == 1;
            match bytes.get_mut(at / 8) {
                Some(byte) if is_set => *byte |= 1 << (7 - at % 8),
                None if is_set => return None,
                _ => {}
            }
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_being_written_down() {
        for seed in 0..200 {
            let mut chance = fastrand::Rng::with_seed(seed);
            let bytes: [u8; 32] = std::array::from_fn(|_| chance.u8(..));
            assert_eq!(decode_32(&encode_32(&bytes)), Some(bytes));
        }
        assert_eq!(decode_32(&"Z".repeat(52)), None);
    }
}
