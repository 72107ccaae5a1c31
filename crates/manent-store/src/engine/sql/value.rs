//! SQL values: conversion into statement parameters and out of columns.

/// A value as both engines know it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SqlValue<'a> {
    Null,
    Integer(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// A type that can be read from a column.
pub(crate) trait FromSql: Sized {
    /// Returns the value, or `None` where the cell holds something else.
    fn read(cell: SqlValue<'_>) -> Option<Self>;
}

/// A type that can be bound to a parameter.
pub(crate) trait ToSql {
    fn to_sql_value(&self) -> SqlValue<'_>;
}

/// The parameters of a statement, `$1` first.
pub(crate) trait Parameters {
    /// Hands each of them over, in order, until one is refused.
    fn each<E>(&self, bind: impl FnMut(SqlValue<'_>) -> Result<(), E>) -> Result<(), E>;
}

impl FromSql for i64 {
    fn read(cell: SqlValue<'_>) -> Option<Self> {
        match cell {
            SqlValue::Integer(number) => Some(number),
            _ => None,
        }
    }
}

impl FromSql for u32 {
    fn read(cell: SqlValue<'_>) -> Option<Self> {
        i64::read(cell)?.try_into().ok()
    }
}

impl FromSql for bool {
    fn read(cell: SqlValue<'_>) -> Option<Self> {
        i64::read(cell).map(|number| number != 0)
    }
}

impl FromSql for String {
    fn read(cell: SqlValue<'_>) -> Option<Self> {
        match cell {
            SqlValue::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl FromSql for Vec<u8> {
    fn read(cell: SqlValue<'_>) -> Option<Self> {
        match cell {
            SqlValue::Bytes(bytes) => Some(bytes.to_vec()),
            _ => None,
        }
    }
}

impl<const LENGTH: usize> FromSql for [u8; LENGTH] {
    fn read(cell: SqlValue<'_>) -> Option<Self> {
        match cell {
            SqlValue::Bytes(bytes) => bytes.try_into().ok(),
            _ => None,
        }
    }
}

impl<T: FromSql> FromSql for Option<T> {
    fn read(cell: SqlValue<'_>) -> Option<Self> {
        match cell {
            SqlValue::Null => Some(None),
            cell => T::read(cell).map(Some),
        }
    }
}

/// An owned SQL value of any type, for copying between rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OwnedSqlValue {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl FromSql for OwnedSqlValue {
    fn read(cell: SqlValue<'_>) -> Option<Self> {
        Some(match cell {
            SqlValue::Null => Self::Null,
            SqlValue::Integer(number) => Self::Integer(number),
            SqlValue::Text(text) => Self::Text(text.to_owned()),
            SqlValue::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
        })
    }
}

impl ToSql for OwnedSqlValue {
    fn to_sql_value(&self) -> SqlValue<'_> {
        match self {
            Self::Null => SqlValue::Null,
            Self::Integer(number) => SqlValue::Integer(*number),
            Self::Text(text) => SqlValue::Text(text),
            Self::Bytes(bytes) => SqlValue::Bytes(bytes),
        }
    }
}

impl Parameters for &[i64] {
    fn each<E>(&self, mut bind: impl FnMut(SqlValue<'_>) -> Result<(), E>) -> Result<(), E> {
        self.iter().try_for_each(|value| bind(value.to_sql_value()))
    }
}

impl Parameters for Vec<OwnedSqlValue> {
    fn each<E>(&self, mut bind: impl FnMut(SqlValue<'_>) -> Result<(), E>) -> Result<(), E> {
        self.iter().try_for_each(|value| bind(value.to_sql_value()))
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl ToSql for $integer {
            fn to_sql_value(&self) -> SqlValue<'_> {
                SqlValue::Integer(i64::from(*self))
            }
        }
    )*};
}
integers!(bool, u8, u32, i64);

impl ToSql for str {
    fn to_sql_value(&self) -> SqlValue<'_> {
        SqlValue::Text(self)
    }
}

impl ToSql for String {
    fn to_sql_value(&self) -> SqlValue<'_> {
        SqlValue::Text(self)
    }
}

impl ToSql for [u8] {
    fn to_sql_value(&self) -> SqlValue<'_> {
        SqlValue::Bytes(self)
    }
}

impl ToSql for Vec<u8> {
    fn to_sql_value(&self) -> SqlValue<'_> {
        SqlValue::Bytes(self)
    }
}

impl<const LENGTH: usize> ToSql for [u8; LENGTH] {
    fn to_sql_value(&self) -> SqlValue<'_> {
        SqlValue::Bytes(self)
    }
}

impl<T: ToSql> ToSql for Option<T> {
    fn to_sql_value(&self) -> SqlValue<'_> {
        self.as_ref().map_or(SqlValue::Null, ToSql::to_sql_value)
    }
}

impl<T: ToSql + ?Sized> ToSql for &T {
    fn to_sql_value(&self) -> SqlValue<'_> {
        (**self).to_sql_value()
    }
}

impl<T: ToSql, const COUNT: usize> Parameters for [T; COUNT] {
    fn each<E>(&self, mut bind: impl FnMut(SqlValue<'_>) -> Result<(), E>) -> Result<(), E> {
        self.iter().try_for_each(|value| bind(value.to_sql_value()))
    }
}

impl Parameters for () {
    fn each<E>(&self, _: impl FnMut(SqlValue<'_>) -> Result<(), E>) -> Result<(), E> {
        Ok(())
    }
}

impl Parameters for &[&dyn ToSql] {
    fn each<E>(&self, mut bind: impl FnMut(SqlValue<'_>) -> Result<(), E>) -> Result<(), E> {
        self.iter().try_for_each(|value| bind(value.to_sql_value()))
    }
}

macro_rules! tuples {
    ($(($($name:ident),*))*) => {$(
        impl<$($name: ToSql),*> Parameters for ($($name,)*) {
            #[allow(non_snake_case, reason = "the names of the types name the values")]
            fn each<Problem>(&self, mut bind: impl FnMut(SqlValue<'_>) -> Result<(), Problem>) -> Result<(), Problem> {
                let ($($name,)*) = self;
                $(bind($name.to_sql_value())?;)*
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
