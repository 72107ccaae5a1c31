//! FTS segments: the index of a file has several FTS5 tables, each numbered by time on its own.

/// How many tables there are.
pub(crate) const SEGMENT_TABLES: usize = 16;

/// Maximum number of rows of a segment, as a power of two.
pub(crate) const NUMBERS: u32 = 40;

/// Returns the place of a row: which table, and which number in it.
pub(crate) fn place(slot: i64, no: i64) -> i64 {
    slot << NUMBERS | no
}

/// Returns the segment of a place.
pub(crate) fn segment_table_of(place: i64) -> i64 {
    place >> NUMBERS
}

/// Returns the number of a place in its table.
pub(crate) fn number_of(place: i64) -> i64 {
    place & ((1 << NUMBERS) - 1)
}

/// Returns the first and the last place of a table.
pub(crate) fn columns_of(slot: i64) -> (i64, i64) {
    (place(slot, 0), place(slot + 1, 0) - 1)
}

/// Expands to one statement for each segment, whose number replaces `SLOT`.
macro_rules! for_each_slot {
    ($($(#[$said:meta])* $name:ident = $sql:expr;)*) => {$(
        $(#[$said])*
        static $name: std::sync::LazyLock<[String; $crate::engine::search::segment_table::SEGMENT_TABLES]> =
            std::sync::LazyLock::new(|| std::array::from_fn(|slot| $sql.replace("SLOT", &slot.to_string())));
    )*};
}
pub(crate) use for_each_slot;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_table_and_a_number() {
        for slot in 0..SEGMENT_TABLES as i64 {
            for no in [0, 1, (1 << NUMBERS) - 1] {
                let place = place(slot, no);
                assert_eq!((segment_table_of(place), number_of(place)), (slot, no));
                assert!((columns_of(slot).0..=columns_of(slot).1).contains(&place));
            }
        }
    }
}
