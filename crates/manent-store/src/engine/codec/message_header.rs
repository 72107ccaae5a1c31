//! Binary encoding of the message header in one column.
//!
//! A page of fifty messages would otherwise read seven hundred columns, and fetching a column costs more than decoding
//! it here. The fields that queries filter by have columns of their own; everything else that a reader needs is here.

use crate::engine::codec::disk_codes::Flags;
use manent_model::{Digest, MessageId, MessageStatus};

/// The header of a message: everything but its address and its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageHeader {
    pub flags: Flags,
    pub at: i64,
    pub role_no: i64,
    pub author_no: Option<i64>,
    pub model_no: Option<i64>,
    pub turn: Option<u32>,
    pub tokens: Option<u32>,
    pub reply_to: Option<MessageId>,
    /// Of the content; none while it streams.
    pub digest: Option<Digest>,
    pub usage: Option<String>,
    pub metadata: Option<String>,
}

/// The first byte, so that another layout can follow this one.
const LAYOUT: u8 = 1;

impl MessageHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(48);
        bytes.push(LAYOUT);
        number(&mut bytes, self.flags.code() as u64);
        bytes.extend_from_slice(&self.at.to_le_bytes());
        number(&mut bytes, self.role_no as u64);
        for optional in [
            self.author_no.map(|no| no as u64),
            self.model_no.map(|no| no as u64),
            self.turn.map(u64::from),
            self.tokens.map(u64::from),
        ] {
            // None is encoded as 0, a value n as n + 1.
            number(&mut bytes, optional.map_or(0, |value| value + 1));
        }
        for sixteen in [self.reply_to.as_ref().map(MessageId::as_bytes), self.digest.as_ref().map(|digest| &digest.0)] {
            bytes.push(u8::from(sixteen.is_some()));
            bytes.extend_from_slice(sixteen.map_or(&[], |found| &found[..]));
        }
        for text in [&self.usage, &self.metadata] {
            number(&mut bytes, text.as_ref().map_or(0, |text| text.len() as u64 + 1));
            bytes.extend_from_slice(text.as_ref().map_or(&[], |text| text.as_bytes()));
        }
        bytes
    }

    /// Says whether facts are those of a message that still streams, without reading all of them.
    pub(crate) fn is_streaming(bytes: &[u8]) -> bool {
        let flags = bytes.strip_prefix(&[LAYOUT]).and_then(|mut rest| take_number(&mut rest));
        let flags = flags.and_then(|code| i64::try_from(code).ok()).filter(|code| *code < 256);
        flags.is_some_and(|code| Flags::of(code).status == MessageStatus::Streaming)
    }

    /// Decodes a header; `None` if the bytes are not a valid encoding.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(&[LAYOUT])?;
        let flags = i64::try_from(take_number(&mut rest)?).ok().filter(|code| *code < 256)?;
        let (at, behind) = rest.split_first_chunk::<8>()?;
        rest = behind;
        let role_no = i64::try_from(take_number(&mut rest)?).ok()?;
        let author_no = take_optional(&mut rest)?.map(i64::try_from).transpose().ok()?;
        let model_no = take_optional(&mut rest)?.map(i64::try_from).transpose().ok()?;
        let turn = take_optional(&mut rest)?.map(u32::try_from).transpose().ok()?;
        let tokens = take_optional(&mut rest)?.map(u32::try_from).transpose().ok()?;
        let reply_to = take_sixteen(&mut rest)?.map(MessageId::from_bytes);
        let digest = take_sixteen(&mut rest)?.map(Digest);
        let usage = take_text(&mut rest)?;
        let metadata = take_text(&mut rest)?;
        rest.is_empty().then_some(Self {
            flags: Flags::of(flags),
            at: i64::from_le_bytes(*at),
            role_no,
            author_no,
            model_no,
            turn,
            tokens,
            reply_to,
            digest,
            usage,
            metadata,
        })
    }
}

fn number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        value |= u64::from(byte & 127).checked_shl(shift)?;
        if byte & 128 == 0 {
            return Some(value);
        }
    }
    None
}

fn take_optional(rest: &mut &[u8]) -> Option<Option<u64>> {
    Some(take_number(rest)?.checked_sub(1))
}

fn take_sixteen(rest: &mut &[u8]) -> Option<Option<[u8; 16]>> {
    let (present, behind) = rest.split_first()?;
    *rest = behind;
    match present {
        0 => Some(None),
        1 => {
            let (found, behind) = rest.split_first_chunk::<16>()?;
            *rest = behind;
            Some(Some(*found))
        }
        _ => None,
    }
}

fn take_text(rest: &mut &[u8]) -> Option<Option<String>> {
    let Some(length) = take_optional(rest)? else { return Some(None) };
    let (text, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = behind;
    String::from_utf8(text.to_vec()).ok().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(full: bool) -> MessageHeader {
        MessageHeader {
            flags: Flags::of(0b0110_1010),
            at: -5,
            role_no: 300,
            author_no: full.then_some(0),
            model_no: full.then_some(i64::MAX - 1),
            turn: full.then_some(u32::MAX),
            tokens: full.then_some(0),
            reply_to: full.then(|| MessageId::from_bytes([7; 16])),
            digest: full.then_some(Digest([9; 16])),
            usage: full.then(String::new),
            metadata: full.then(|| r#"{"k":"值"}"#.to_owned()),
        }
    }

    #[test]
    fn facts_survive_the_disk() {
        for facts in [sample(true), sample(false)] {
            assert_eq!(MessageHeader::decode(&facts.encode()), Some(facts));
        }
    }

    #[test]
    fn a_cut_or_longer_text_is_not_facts() {
        let bytes = sample(true).encode();
        for length in 0..bytes.len() {
            assert_eq!(MessageHeader::decode(&bytes[..length]), None, "{length}");
        }
        assert_eq!(MessageHeader::decode(&[&bytes[..], &[0]].concat()), None);
    }
}
