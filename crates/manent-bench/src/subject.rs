//! Trait of the measured subjects.

use std::time::Duration;

use anyhow::Result;

use crate::measure::Measure;
use crate::summary::Summary;

/// Something that can be measured.
///
/// To take part, implement this and add the value to `subjects` in `main.rs`. Loading and warming belong in the
/// constructor, which is never timed. [`drive`](crate::drive) times most shapes of work.
pub trait Subject {
    /// The name in the table, by which goals refer to it.
    fn name(&self) -> &str;

    /// Its side of the ratio.
    fn side(&self) -> Side;

    /// One line on what exactly is measured: version, setting, data.
    fn description(&self) -> String;

    /// Measures for about `window`, or returns `None` where the question has no meaning for this subject.
    ///
    /// An error ends this measure for this subject; the table then gives the reason instead of a number.
    fn measure(&mut self, measure: Measure, window: Duration) -> Option<Result<Summary>>;
}

/// The sides of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Held to the goals: one set of rows in the table.
    Ours,
    /// What the others are compared with: the physical limit or a product people would pick instead.
    Yardstick,
}
