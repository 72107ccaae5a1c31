//! Paths against a naive tree that copies every path whole.

use manent_model::path::{self, Backward, Cut};
use manent_model::{Address, Base, Branch, BranchNo, Branches, Head, Piece, Range, Sums};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

/// The smallest engine there is: branches and the text of each slot in memory.
#[derive(Default)]
struct Arena {
    branches: HashMap<BranchNo, Arc<Branch>>,
    slots: HashMap<BranchNo, Vec<u32>>,
}

impl Branches for Arena {
    type Error = Infallible;
    fn branch(&mut self, no: BranchNo) -> Result<Arc<Branch>, Infallible> {
        Ok(self.branches[&no].clone())
    }
}

fn sure<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
    }
}

impl Arena {
    fn open(&mut self, base: Option<Base>, pieces: Vec<Range>, inserted: &[u32]) -> BranchNo {
        let no = BranchNo(self.branches.len() as i64 + 1);
        self.slots.insert(no, inserted.to_vec());
        let mut before = match base {
            Some(base) => self.sums(Head { branch: base.parent, at: base.fork }),
            None => Sums::default(),
        };
        let mut with_sums = Vec::new();
        for range in pieces {
            with_sums.push(Piece { range, before });
            before = before + self.sums_of(range);
        }
        let branch = Branch { no, base, pieces: with_sums, open_from: inserted.len() as i64 + 1, before_open: before };
        self.branches.insert(no, Arc::new(branch));
        no
    }

    fn last_own(&self, no: BranchNo) -> i64 {
        self.slots[&no].len() as i64
    }

    fn tip(&self, no: BranchNo) -> Head {
        let branch = &self.branches[&no];
        let last = self.last_own(no);
        let at = if last >= branch.open_from { no.slot(last) } else { branch.tip_before_open() };
        Head { branch: no, at }
    }

    fn append(&mut self, head: Head, text: u32) -> Head {
        let branch = self.branches[&head.branch].clone();
        let no = match branch.ends_at(head.at, self.last_own(head.branch)) {
            true => head.branch,
            false => self.open(Some(Base { parent: head.branch, fork: head.at }), Vec::new(), &[]),
        };
        self.slots.get_mut(&no).expect("just opened").push(text);
        self.tip(no)
    }

    fn splice(&mut self, head: Head, cut: Cut, inserted: &[u32]) -> Head {
        let no = BranchNo(self.branches.len() as i64 + 1);
        let pieces = sure(path::splice(self, head, cut, no, inserted.len() as i64)).expect("the cut lies on the path");
        let opened = self.open(Some(Base { parent: head.branch, fork: cut.after }), pieces, inserted);
        assert_eq!(opened, no);
        self.tip(no)
    }

    fn texts(&mut self, head: Head) -> Vec<u32> {
        let ranges = sure(path::ranges(self, head));
        ranges.iter().flat_map(|range| range.addresses()).map(|at| self.text(at)).collect()
    }

    fn text(&self, at: Address) -> u32 {
        self.slots[&at.branch()][at.slot() as usize - 1]
    }

    fn sums_of(&self, range: Range) -> Sums {
        range.addresses().map(|at| one(self.text(at))).fold(Sums::default(), |sum, next| sum + next)
    }

    /// Counts without walking: sums of the base, of the pieces before, and of the own slots.
    fn sums(&mut self, head: Head) -> Sums {
        if head.at == Address::START {
            return Sums::default();
        }
        let branch = self.branches[&head.branch].clone();
        if head.at.branch() == branch.no && head.at.slot() >= branch.open_from {
            return branch.before_open + self.sums_of(Range::new(branch.no.slot(branch.open_from), head.at));
        }
        match branch.pieces.iter().rfind(|piece| piece.range.contains(head.at)) {
            Some(piece) => piece.before + self.sums_of(Range::new(piece.range.from, head.at)),
            None => {
                let base = branch.base.expect("on the path");
                self.sums(Head { branch: base.parent, at: head.at })
            }
        }
    }
}

fn one(text: u32) -> Sums {
    Sums {
        depth: 1,
        visible: i64::from(!text.is_multiple_of(3)),
        words: i64::from(text % 7),
        tokens: i64::from(text % 11),
    }
}

/// Every head that was ever current, with the path a naive program would have copied for it.
struct Naive {
    known: Vec<(Head, Vec<u32>)>,
}

#[test]
fn paths_equal_a_tree_that_copies_everything() {
    let seed = std::env::var("MANENT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_115);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut operations = 0;
    while operations < 24_000 {
        operations += one_conversation(&mut random, 400);
    }
}

fn one_conversation(random: &mut fastrand::Rng, steps: u32) -> u32 {
    let mut arena = Arena::default();
    let first = arena.open(None, Vec::new(), &[]);
    let mut head = Head { branch: first, at: Address::START };
    let mut path: Vec<u32> = Vec::new();
    let mut naive = Naive { known: vec![(head, path.clone())] };
    for text in 1..=steps {
        let at = |place: usize, arena: &mut Arena| -> Address {
            let ranges = sure(path::ranges(arena, head));
            ranges.iter().flat_map(|range| range.addresses()).nth(place).expect("inside the path")
        };
        let before = |place: usize, arena: &mut Arena| match place {
            0 => Address::START,
            _ => at(place - 1, arena),
        };
        let place = if path.is_empty() { 0 } else { random.usize(..path.len()) };
        match random.u8(..10) {
            0..=3 => {
                head = arena.append(head, text);
                path.push(text);
            }
            // Rewind, then append: a fork in the middle, or an alternative of the first message.
            4 => {
                head.at = before(place, &mut arena);
                head = arena.append(head, text);
                path.truncate(place);
                path.push(text);
            }
            5 if !path.is_empty() => {
                head.at = at(place, &mut arena);
                path.truncate(place + 1);
            }
            6 => (head, path) = naive.known[random.usize(..naive.known.len())].clone(),
            7 if !path.is_empty() => {
                let tail = (place + 1 < path.len()).then(|| at(place + 1, &mut arena));
                let after = before(place, &mut arena);
                head = arena.splice(head, Cut { after, tail }, &[text]);
                path[place] = text;
            }
            8 if !path.is_empty() => {
                let cut = Cut { after: before(place, &mut arena), tail: Some(at(place, &mut arena)) };
                head = arena.splice(head, cut, &[text, text + 100_000]);
                path.splice(place..place, [text, text + 100_000]);
            }
            9 if path.len() > 1 && place + 1 < path.len() => {
                let cut = Cut { after: before(place, &mut arena), tail: Some(at(place + 1, &mut arena)) };
                head = arena.splice(head, cut, &[]);
                path.remove(place);
            }
            _ => continue,
        }
        check(&mut arena, head, &path, random);
        naive.known.push((head, path.clone()));
    }
    // What was ever a path is still that path, whatever happened after.
    for (head, path) in &naive.known {
        assert_eq!(&arena.texts(*head), path);
    }
    steps
}

fn check(arena: &mut Arena, head: Head, path: &[u32], random: &mut fastrand::Rng) {
    assert_eq!(arena.texts(head), path);
    let expected = path.iter().map(|text| one(*text)).fold(Sums::default(), |sum, next| sum + next);
    assert_eq!(arena.sums(head), expected);
    if path.is_empty() {
        return;
    }
    let ranges = sure(path::ranges(arena, head));
    let addresses: Vec<Address> = ranges.iter().flat_map(|range| range.addresses()).collect();
    let place = random.usize(..addresses.len());
    let from = sure(path::ranges_from(arena, head, addresses[place])).expect("on the path");
    assert_eq!(from.iter().map(Range::len).sum::<usize>(), path.len() - place);
    let before = sure(path::before(arena, head, addresses[place]));
    assert_eq!(before, Some(if place == 0 { Address::START } else { addresses[place - 1] }));
    let mut walk = Backward::from(head);
    let newest = sure(walk.next(arena)).expect("not empty");
    assert_eq!(newest.to, head.at);
}

#[test]
fn an_address_that_is_not_on_the_path_is_not_found() {
    let mut arena = Arena::default();
    let first = arena.open(None, Vec::new(), &[]);
    let start = Head { branch: first, at: Address::START };
    let one = arena.append(start, 1);
    let two = arena.append(one, 2);
    let other = arena.append(one, 3);
    assert_eq!(sure(path::ranges_from(&mut arena, other, two.at)), None);
    assert_eq!(sure(path::before(&mut arena, other, two.at)), None);
    assert!(!sure(path::reaches(&mut arena, other, two.at)));
    assert!(sure(path::reaches(&mut arena, other, one.at)));
}
