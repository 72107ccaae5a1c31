//! Bounded line reader.

use std::io::BufRead;

/// Maximum line length; this program writes no longer ones.
pub(crate) const LINE_MAX: usize = 256 << 20;

/// Result of reading a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Line,
    /// A line above the limit, skipped without buffering it.
    TooLong,
    End,
}

/// Reads the next line.
pub(crate) fn read_line(reader: &mut impl BufRead, bytes: &mut Vec<u8>, max: usize) -> std::io::Result<Read> {
    bytes.clear();
    std::io::Read::take(&mut *reader, max as u64).read_until(b'\n', bytes)?;
    match bytes.last() {
        None => Ok(Read::End),
        Some(b'\n') => Ok(Read::Line),
        Some(_) if bytes.len() < max => Ok(Read::Line),
        Some(_) => reader.skip_until(b'\n').map(|skipped| if skipped == 0 { Read::Line } else { Read::TooLong }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_one_line() {
        let text = b"1234\n12345\n123456789012345\n\n1\n12345";
        let (mut reader, mut bytes, mut read) = (&text[..], Vec::new(), Vec::new());
        loop {
            let outcome = read_line(&mut reader, &mut bytes, 5).expect("memory can be read");
            read.push((outcome, bytes.len()));
            if outcome == Read::End {
                break;
            }
        }
        let expected = [
            (Read::Line, 5),
            (Read::TooLong, 5),
            (Read::TooLong, 5),
            (Read::Line, 1),
            (Read::Line, 2),
            (Read::Line, 5),
            (Read::End, 0),
        ];
        assert_eq!(read, expected);
    }
}
