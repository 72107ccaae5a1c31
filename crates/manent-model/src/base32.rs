//! Crockford's base 32, for ids and keys that people copy.

/// No I, L, O or U, so that a spoken or copied text is not misread.
pub(crate) const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// No character of the alphabet.
const NONE: u8 = u8::MAX;

/// The number of each character, so that reading takes as long whatever is read.
const DIGITS: [u8; 256] = digits();

const fn digits() -> [u8; 256] {
    let mut digits = [NONE; 256];
    let mut number = 0;
    while number < ALPHABET.len() {
        let character = ALPHABET[number];
        digits[character as usize] = number as u8;
        digits[character.to_ascii_lowercase() as usize] = number as u8;
        number += 1;
    }
    let mut misread: &[(u8, u8)] = &[(b'O', 0), (b'o', 0), (b'I', 1), (b'i', 1), (b'L', 1), (b'l', 1)];
    while let [(character, number), rest @ ..] = misread {
        digits[*character as usize] = *number;
        misread = rest;
    }
    digits
}

/// Decodes a character; commonly confused characters (such as `O` and `0`) decode alike.
pub(crate) fn digit(character: u8) -> Option<u8> {
    Some(DIGITS[usize::from(character)]).filter(|&number| number != NONE)
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
    let (mut bits, mut many, mut place) = (0u32, 0, 0);
    for character in text.bytes() {
        (bits, many) = (bits << 5 | u32::from(digit(character)?), many + 5);
        if many >= 8 {
            many -= 8;
            bytes[place] = (bits >> many) as u8;
            (bits, place) = (bits & ((1 << many) - 1), place + 1);
        }
    }
    if bits != 0 {
        return None;
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
        assert_eq!(decode_32(&"0".repeat(51)), None);
        assert_eq!(decode_32(&["0".repeat(51), "1".to_owned()].concat()), None, "a bit beyond the last byte");
    }

    #[test]
    fn what_is_easily_misread_counts_as_what_it_looks_like() {
        let read = |text: &str| text.bytes().map(digit).collect::<Option<Vec<u8>>>();
        assert_eq!(read("OoIiLl01"), Some(vec![0, 0, 1, 1, 1, 1, 0, 1]));
        assert_eq!(read("aAzZ9"), Some(vec![10, 10, 31, 31, 9]));
        assert!(["u", "U", "-", " ", "\u{e9}"].iter().all(|text| read(text).is_none()));
    }
}
