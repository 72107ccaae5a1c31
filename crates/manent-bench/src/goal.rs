//! Performance goals, as ratios.

use crate::measure::{LENGTHS, Measure};
use crate::rounds::{Answer, Measured, Results};
use crate::summary::{Summary, median};
use crate::{lmdb, peer, pgbench, raw_log, select, web};

/// A ratio between one of our figures and another, and what it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// Our side.
    pub measure: Measure,
    /// The other side.
    pub against: Against,
    /// Which figure is compared.
    pub figure: Figure,
    /// How the ratio is formed and bounded.
    pub ratio: Ratio,
}

/// The other side of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Against {
    /// Another subject, on the same measure.
    Subject(&'static str),
    /// Ourselves, on another measure.
    Ourselves(Measure),
}

/// Which figure of a summary is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Operations per second.
    PerSecond,
    /// The median latency.
    P50,
}

/// How a ratio is formed, and its bound if there is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ratio {
    /// What part of their speed we reach.
    Share { at_least: f64 },
    /// How many times faster we are.
    Faster { at_least: Option<f64> },
    /// How many times longer we take.
    Longer { at_most: f64 },
    /// How many times longer we take, for the reader to know.
    Reported,
}

/// The two sides of a goal and the ratio between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The medians of our rounds.
    pub ours: Summary,
    /// The medians of theirs.
    pub theirs: Summary,
    /// The median of the ratios of each round, which a slow round moves less than a ratio of medians.
    pub ratio: f64,
}

/// Returns every row of the table of ratios.
pub fn all() -> Vec<Goal> {
    use Figure::{P50, PerSecond};
    let goal = |measure, against, figure, ratio| Goal { measure, against, figure, ratio };
    let limit = Against::Subject(raw_log::NAME);
    let mut goals = vec![
        goal(Measure::SingleAppend, limit, PerSecond, Ratio::Share { at_least: 0.60 }),
        goal(Measure::GroupAppend, limit, PerSecond, Ratio::Share { at_least: 0.15 }),
        goal(
            Measure::GroupAppend,
            Against::Ourselves(Measure::SingleAppend),
            PerSecond,
            Ratio::Faster { at_least: Some(5.0) },
        ),
        goal(
            Measure::AppendAtLength(10_000),
            Against::Ourselves(Measure::AppendAtLength(10)),
            P50,
            Ratio::Longer { at_most: 1.2 },
        ),
    ];
    // At other lengths than 1,000 the ratio is shown without a bound.
    for (peer, at_1_000) in [(peer::OPENAI_AGENTS, Some(2.0)), (peer::LANGGRAPH, Some(20.0)), (peer::JSON_FILE, None)] {
        goals.extend(LENGTHS.map(|length| {
            let at_least = if length == 1_000 { at_1_000 } else { None };
            goal(Measure::AppendAtLength(length), Against::Subject(peer), P50, Ratio::Faster { at_least })
        }));
    }
    let tree = Against::Subject(lmdb::NAME);
    let agents = Against::Subject(peer::OPENAI_AGENTS);
    goals.extend([
        goal(Measure::LastMessages, tree, P50, Ratio::Longer { at_most: 2.0 }),
        goal(Measure::LastMessages, agents, P50, Ratio::Faster { at_least: Some(20.0) }),
        goal(Measure::WholeConversation, tree, P50, Ratio::Longer { at_most: 4.0 }),
        goal(
            Measure::EndOfBranches(1_000),
            Against::Ourselves(Measure::EndOfBranches(1)),
            P50,
            Ratio::Longer { at_most: 3.0 },
        ),
        goal(Measure::LastThroughDatabase, Against::Ourselves(Measure::LastMessages), P50, Ratio::Reported),
        goal(Measure::HttpAppend, Against::Subject(web::EMPTY), PerSecond, Ratio::Share { at_least: 0.15 }),
        goal(Measure::HttpAppend, Against::Subject(pgbench::NAME), PerSecond, Ratio::Faster { at_least: Some(0.9) }),
        goal(Measure::HttpAppend, Against::Subject(web::FASTAPI), PerSecond, Ratio::Faster { at_least: Some(25.0) }),
        goal(Measure::HttpPage, Against::Subject(web::FASTAPI), PerSecond, Ratio::Faster { at_least: None }),
        goal(Measure::ServerAppend, Against::Subject(pgbench::NAME), PerSecond, Ratio::Faster { at_least: Some(1.0) }),
        goal(Measure::ServerPage, Against::Subject(select::NAME), P50, Ratio::Longer { at_most: 1.5 }),
    ]);
    goals
}

impl Goal {
    /// Compares the two sides round by round, or returns why that cannot be.
    pub fn compare(&self, ours: &Measured, results: &Results) -> Result<Comparison, String> {
        let our_rounds = rounds(ours, self.measure)?;
        let their_rounds = match self.against {
            Against::Ourselves(measure) => rounds(ours, measure)?,
            Against::Subject(name) => {
                rounds(results.named(name).ok_or_else(|| format!("{name} is not listed"))?, self.measure)?
            }
        };
        let ratios = our_rounds.iter().zip(their_rounds).map(|(ours, theirs)| self.ratio(ours, theirs)).collect();
        let nothing = || "no rounds".to_string();
        Ok(Comparison {
            ours: Summary::median(our_rounds).ok_or_else(nothing)?,
            theirs: Summary::median(their_rounds).ok_or_else(nothing)?,
            ratio: median(ratios).ok_or_else(nothing)?,
        })
    }

    fn ratio(&self, ours: &Summary, theirs: &Summary) -> f64 {
        let faster = match self.figure {
            Figure::PerSecond => ours.per_second / theirs.per_second,
            Figure::P50 => theirs.p50_us / ours.p50_us,
        };
        match self.ratio {
            Ratio::Share { .. } | Ratio::Faster { .. } => faster,
            Ratio::Longer { .. } | Ratio::Reported => 1.0 / faster,
        }
    }
}

impl Ratio {
    /// Returns whether the bound holds, or `None` if there is no bound.
    pub fn met(&self, ratio: f64) -> Option<bool> {
        match *self {
            Ratio::Share { at_least } => Some(ratio >= at_least),
            Ratio::Faster { at_least } => at_least.map(|bound| ratio >= bound),
            Ratio::Longer { at_most } => Some(ratio <= at_most),
            Ratio::Reported => None,
        }
    }
}

fn rounds(subject: &Measured, measure: Measure) -> Result<&[Summary], String> {
    match subject.answer(measure) {
        Some(Answer::Rounds(rounds)) => Ok(rounds),
        Some(Answer::NotRun(why)) => Err(format!("{}: {why}", subject.name)),
        None => Err(format!("{} does not measure this", subject.name)),
    }
}
