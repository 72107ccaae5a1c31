//! SQL values: conversion into statement parameters and out of columns.

/// A value as both engines know it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Integer(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// A type that can be read from a column.
pub(crate) trait Column: Sized {
    /// Returns the value, or `None` where the cell holds something else.
    fn read(cell: Cell<'_>) -> Option<Self>;
}

/// A type that can be bound to a parameter.
pub(crate) trait Value {
    fn cell(&self) -> Cell<'_>;
}

/// The parameters of a statement, `$1` first.
pub(crate) trait Parameters {
    /// Hands each of them over, in order, until one is refused.
    fn each<E>(&self, bind: impl FnMut(Cell<'_>) -> Result<(), E>) -> Result<(), E>;
}

impl Column for i64 {
    fn read(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Integer(number) => Some(number),
            _ => None,
        }
    }
}

impl Column for u32 {
    fn read(cell: Cell<'_>) -> Option<Self> {
        i64::read(cell)?.try_into().ok()
    }
}

impl Column for bool {
    fn read(cell: Cell<'_>) -> Option<Self> {
        i64::read(cell).map(|number| number != 0)
    }
}

impl Column for String {
    fn read(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl Column for Vec<u8> {
    fn read(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Bytes(bytes) => Some(bytes.to_vec()),
            _ => None,
        }
    }
}

impl<const LENGTH: usize> Column for [u8; LENGTH] {
    fn read(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Bytes(bytes) => bytes.try_into().ok(),
            _ => None,
        }
    }
}

impl<T: Column> Column for Option<T> {
    fn read(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Null => Some(None),
            cell => T::read(cell).map(Some),
        }
    }
}

/// An owned SQL value of any type, for copying between rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Held {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Column for Held {
    fn read(cell: Cell<'_>) -> Option<Self> {
        Some(match cell {
            Cell::Null => Self::Null,
            Cell::Integer(number) => Self::Integer(number),
            Cell::Text(text) => Self::Text(text.to_owned()),
            Cell::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
        })
    }
}

impl Value for Held {
    fn cell(&self) -> Cell<'_> {
        match self {
            Self::Null => Cell::Null,
            Self::Integer(number) => Cell::Integer(*number),
            Self::Text(text) => Cell::Text(text),
            Self::Bytes(bytes) => Cell::Bytes(bytes),
        }
    }
}

impl Parameters for &[i64] {
    fn each<E>(&self, mut bind: impl FnMut(Cell<'_>) -> Result<(), E>) -> Result<(), E> {
        self.iter().try_for_each(|value| bind(value.cell()))
    }
}

impl Parameters for Vec<Held> {
    fn each<E>(&self, mut bind: impl FnMut(Cell<'_>) -> Result<(), E>) -> Result<(), E> {
        self.iter().try_for_each(|value| bind(value.cell()))
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Value for $integer {
            fn cell(&self) -> Cell<'_> {
                Cell::Integer(i64::from(*self))
            }
        }
    )*};
}
integers!(bool, u8, u32, i64);

impl Value for str {
    fn cell(&self) -> Cell<'_> {
        Cell::Text(self)
    }
}

impl Value for String {
    fn cell(&self) -> Cell<'_> {
        Cell::Text(self)
    }
}

impl Value for [u8] {
    fn cell(&self) -> Cell<'_> {
        Cell::Bytes(self)
    }
}

impl Value for Vec<u8> {
    fn cell(&self) -> Cell<'_> {
        Cell::Bytes(self)
    }
}

impl<const LENGTH: usize> Value for [u8; LENGTH] {
    fn cell(&self) -> Cell<'_> {
        Cell::Bytes(self)
    }
}

impl<T: Value> Value for Option<T> {
    fn cell(&self) -> Cell<'_> {
        self.as_ref().map_or(Cell::Null, Value::cell)
    }
}

impl<T: Value + ?Sized> Value for &T {
    fn cell(&self) -> Cell<'_> {
        (**self).cell()
    }
}

impl<T: Value, const COUNT: usize> Parameters for [T; COUNT] {
    fn each<E>(&self, mut bind: impl FnMut(Cell<'_>) -> Result<(), E>) -> Result<(), E> {
        self.iter().try_for_each(|value| bind(value.cell()))
    }
}

impl Parameters for () {
    fn each<E>(&self, _: impl FnMut(Cell<'_>) -> Result<(), E>) -> Result<(), E> {
        Ok(())
    }
}

impl Parameters for &[&dyn Value] {
    fn each<E>(&self, mut bind: impl FnMut(Cell<'_>) -> Result<(), E>) -> Result<(), E> {
        self.iter().try_for_each(|value| bind(value.cell()))
    }
}

macro_rules! tuples {
    ($(($($name:ident),*))*) => {$(
        impl<$($name: Value),*> Parameters for ($($name,)*) {
            #[allow(non_snake_case, reason = "the names of the types name the values")]
            fn each<Problem>(&self, mut bind: impl FnMut(Cell<'_>) -> Result<(), Problem>) -> Result<(), Problem> {
                let ($($name,)*) = self;
                $(bind($name.cell())?;)*
                Ok(())
            }
        }
    )*};
}
tuples! {
    (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) (A, B, C, D, E, F, G) (A, B, C, D, E, F, G, H)
    (A, B, C, D, E, F, G, H, I) (A, B, C, D, E, F, G, H, I, J) (A, B, C, D, E, F, G, H, I, J, K)
    (A, B, C, D, E, F, G, H, I, J, K, L) (A, B, C, D, E, F, G, H, I, J, K, L, M)
    (A, B, C, D, E, F, G, H, I, J, K, L, M, N) (A, B, C, D, E, F, G, H, I, J, K, L, M, N, O)
    (A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P)
}
