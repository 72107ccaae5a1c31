//! Rows by column name, as JSON that can be stored and read back.

use crate::core::json::{Members, Object};
use crate::core::sqlite::cell::{Cell, Row};
use crate::core::sqlite::schema::Table;

/// A row by its columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Record(pub Vec<(String, Cell)>);

impl Record {
    pub fn of(table: &Table, row: &Row) -> Self {
        Self(table.columns.iter().cloned().zip(row.cells.iter().cloned()).collect())
    }

    /// Reads a record that was kept.
    pub fn parse(text: &str) -> Option<Self> {
        let members = Members::parse(text)?;
        let cell = |(name, raw): &(std::borrow::Cow<'_, str>, &serde_json::value::RawValue)| {
            Some((name.clone().into_owned(), serde_json::from_str(raw.get()).ok()?))
        };
        members.0.iter().map(cell).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Returns it as JSON.
    pub fn text(&self) -> String {
        let object = self.0.iter().fold(Object::new(), |object, (name, cell)| object.with(name, cell));
        object.text()
    }

    /// Returns a value; nothing where there is no such column.
    pub fn get(&self, column: &str) -> &Cell {
        const NULL: &Cell = &Cell::Null;
        self.0.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).map_or(NULL, |(_, cell)| cell)
    }

    /// Sets a value; adds the column where there is none.
    pub fn set(&mut self, column: &str, cell: Cell) {
        match self.0.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(column)) {
            Some((_, known)) => *known = cell,
            None => self.0.push((column.to_owned(), cell)),
        }
    }
}
