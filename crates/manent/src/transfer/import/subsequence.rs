//! Longest common subsequence of two lists (Hunt–Szymanski).

use std::collections::HashMap;
use std::hash::Hash;

/// Returns the index pairs of a longest common subsequence, ascending on both sides.
///
/// Runs in time proportional to the number of equal pairs between the common prefix and the common suffix.
pub(crate) fn common_subsequence<T: Eq + Hash>(one: &[T], other: &[T]) -> Vec<(usize, usize)> {
    let first = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let (one_rest, other_rest) = (&one[first..], &other[first..]);
    let last = one_rest.iter().rev().zip(other_rest.iter().rev()).take_while(|(one, other)| one == other).count();
    let middle = longest(&one_rest[..one_rest.len() - last], &other_rest[..other_rest.len() - last]);
    let mut pairs: Vec<(usize, usize)> = (0..first).map(|place| (place, place)).collect();
    pairs.extend(middle.into_iter().map(|(one, other)| (one + first, other + first)));
    pairs.extend((0..last).map(|back| (one.len() - last + back, other.len() - last + back)));
    pairs
}

fn longest<T: Eq + Hash>(one: &[T], other: &[T]) -> Vec<(usize, usize)> {
    let mut places: HashMap<&T, Vec<usize>> = HashMap::new();
    for (place, element) in other.iter().enumerate() {
        places.entry(element).or_default().push(place);
    }
    // For each length, the last link of the chain that ends earliest in `other`.
    let mut ends: Vec<usize> = Vec::new();
    let mut links: Vec<((usize, usize), Option<usize>)> = Vec::new();
    for (at, element) in one.iter().enumerate() {
        // In reverse order, so that an element of `one` is used once.
        for place in places.get(element).into_iter().flatten().rev() {
            let length = ends.partition_point(|link| links[*link].0.1 < *place);
            let before = length.checked_sub(1).map(|shorter| ends[shorter]);
            links.push(((at, *place), before));
            match ends.get_mut(length) {
                Some(end) => *end = links.len() - 1,
                None => ends.push(links.len() - 1),
            }
        }
    }
    let (mut pairs, mut next) = (Vec::new(), ends.last().copied());
    while let Some(link) = next {
        pairs.push(links[link].0);
        next = links[link].1;
    }
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use crate::transfer::import::subsequence::common_subsequence;

    fn shared(one: &str, other: &str) -> String {
        let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
        let pairs = common_subsequence(&one, &other);
        assert!(pairs.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1), "{pairs:?}");
        assert!(pairs.iter().all(|(place, at)| one[*place] == other[*at]), "{pairs:?}");
        pairs.iter().map(|(place, _)| one[*place]).collect()
    }

    #[test]
    fn common_subsequence_of_two_lists_is_a_longest_one() {
        for (one, other, expected) in [
            ("", "", ""),
            ("abc", "", ""),
            ("abc", "abcd", "abc"),
            ("abd", "abcd", "abd"),
            ("xaxbxcx", "abc", "abc"),
            ("aok", "okaok", "aok"),
            ("aaaa", "aa", "aa"),
        ] {
            assert_eq!(shared(one, other), expected, "{one} {other}");
        }
        assert_eq!(shared("abcabba", "cbabac").len(), 4);
    }
}
