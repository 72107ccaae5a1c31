//! Addresses: where a message is stored, as branch number and slot.

use serde::{Deserialize, Serialize};
use std::fmt;

const SLOT_BITS: u32 = 24;
const SLOT_MASK: i64 = (1 << SLOT_BITS) - 1;

/// The number of a branch inside its tenant; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BranchNo(pub i64);

impl BranchNo {
    /// Returns the address of a slot of this branch; slot 0 precedes its first message.
    pub fn slot(self, slot: i64) -> Address {
        assert!((0..=SLOT_MASK).contains(&slot), "a branch has at most {SLOT_MASK} slots");
        Address(self.0 << SLOT_BITS | slot)
    }

    /// Returns the last address that this branch can ever have.
    pub fn end(self) -> Address {
        self.slot(SLOT_MASK)
    }
}

/// An address: branch number and slot packed into one integer, so that the messages of a branch are adjacent on disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Address(pub i64);

impl Address {
    /// Before the first message of every path.
    pub const START: Self = Self(0);
    /// How many messages one branch can hold.
    pub const SLOTS_MAX: i64 = SLOT_MASK;

    /// Returns the branch that owns this address.
    pub const fn branch(self) -> BranchNo {
        BranchNo(self.0 >> SLOT_BITS)
    }

    /// Returns the slot inside the branch, counted from 1.
    pub const fn slot(self) -> i64 {
        self.0 & SLOT_MASK
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.branch().0, self.slot())
    }
}

/// A run of neighbouring slots of one branch, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Range {
    /// The first address.
    pub from: Address,
    /// The last address.
    pub to: Address,
}

impl Range {
    /// Returns the run between two addresses of one branch.
    pub fn new(from: Address, to: Address) -> Self {
        assert!(from.branch() == to.branch() && from.slot() >= 1 && from <= to, "a range lies inside one branch");
        Self { from, to }
    }

    /// Returns the run of a single message.
    pub fn one(address: Address) -> Self {
        Self::new(address, address)
    }

    /// Returns whether the range contains an address.
    pub fn contains(&self, address: Address) -> bool {
        self.from <= address && address <= self.to
    }

    /// Returns how many slots the run has; it always has one.
    #[expect(clippy::len_without_is_empty, reason = "a range is never empty")]
    pub fn len(&self) -> usize {
        (self.to.0 - self.from.0 + 1) as usize
    }

    /// Returns the addresses in order.
    pub fn addresses(&self) -> impl DoubleEndedIterator<Item = Address> + use<> {
        (self.from.0..=self.to.0).map(Address)
    }
}
