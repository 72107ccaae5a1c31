//! Write-ahead log of a SQLite file: complete transactions are applied to the pages, as SQLite would.

const HEADER: usize = 32;
const FRAME: usize = 24;

/// Outcome of merging a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Applied {
    /// This many transactions were applied, with nothing after them.
    All(usize),
    /// This many were applied; the rest is truncated, or left from an earlier use of the log.
    Some(usize),
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
}

/// The running checksum of a log, over pairs of words in the order of bytes that its header names.
fn checksum(mut sum: (u32, u32), bytes: &[u8], is_big: bool) -> (u32, u32) {
    for pair in bytes.chunks_exact(8) {
        let word = |at: usize| {
            let four = [pair[at], pair[at + 1], pair[at + 2], pair[at + 3]];
            if is_big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
        };
        sum.0 = sum.0.wrapping_add(word(0)).wrapping_add(sum.1);
        sum.1 = sum.1.wrapping_add(word(4)).wrapping_add(sum.0);
    }
    sum
}

/// Applies every complete transaction of a log to a file; none if the log does not belong to the file.
pub(crate) fn apply(file: &mut Vec<u8>, log: &[u8], size_max: usize) -> Option<Applied> {
    let magic = number(log, 0);
    let page = number(log, 8) as usize;
    let is_known = matches!(magic, 0x377f_0682 | 0x377f_0683) && number(log, 4) == 3_007_000;
    if !is_known || !page.is_power_of_two() || !(512..=65_536).contains(&page) {
        return None;
    }
    let is_big = magic & 1 == 1;
    let mut sum = checksum((0, 0), &log[..24], is_big);
    if sum != (number(log, 24), number(log, 28)) {
        return None;
    }
    let (mut at, mut pending, mut count) = (HEADER, Vec::new(), 0);
    while let Some(frame) = log.get(at..at + FRAME + page) {
        if frame[8..16] != log[16..24] {
            break;
        }
        sum = checksum(checksum(sum, &frame[..8], is_big), &frame[FRAME..], is_big);
        let place = number(frame, 0) as usize;
        if sum != (number(frame, 16), number(frame, 20)) || place == 0 || place.saturating_mul(page) > size_max {
            break;
        }
        pending.push((place, at + FRAME));
        at += FRAME + page;
        let pages = number(frame, 4) as usize;
        if pages == 0 {
            continue;
        }
        // The last frame of a transaction says how many pages the file has behind it.
        let size = pages.saturating_mul(page);
        if size > size_max {
            break;
        }
        file.resize(size, 0);
        for (place, from) in pending.drain(..).filter(|(place, _)| *place <= pages) {
            file[(place - 1) * page..place * page].copy_from_slice(&log[from..from + page]);
        }
        count += 1;
    }
    Some(if pending.is_empty() && at == log.len() { Applied::All(count) } else { Applied::Some(count) })
}
