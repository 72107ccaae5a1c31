//! Markdown report: one table of ratios, followed by all measurements.

use std::fmt::Write;

use crate::facts::{Fact, Facts};
use crate::goal::{self, Against, Figure, Goal, Ratio};
use crate::machine::Machine;
use crate::options::Scale;
use crate::rounds::{Answer, Measured, Results};
use crate::subject::Side;
use crate::summary::Summary;

/// Writes the whole report.
pub fn report(results: &Results, facts: &Facts, machine: &Machine, scale: &Scale) -> String {
    let Machine { processor, cores, kernel, filesystem, date } = machine;
    let (name, rounds, window_ms) = (scale.name, scale.rounds, scale.window.as_millis());
    let sections = [
        "# Performance\n".to_string(),
        format!("{processor}, {cores} cores, Linux {kernel}, {filesystem}; {date}. Scale: {name}.\n"),
        format!(
            "Medians of {rounds} interleaved rounds of {window_ms} ms each. A ratio is the median of the ratios of each \
             round: both sides were\ntaken within seconds of each other, so it holds better on another machine than \
             the figures do.\n"
        ),
        "## Ratios\n".to_string(),
        aligned(ratio_rows(results)),
        "## Size and start\n".to_string(),
        self::facts(&facts.store),
        "## Search\n".to_string(),
        self::facts(&facts.search),
        "## Many tenants\n".to_string(),
        self::facts(&facts.tenants),
        "## Growth with the store\n".to_string(),
        self::facts(&facts.growth),
        "## Imports of large files\n".to_string(),
        self::facts(&facts.imports),
        "## Figures\n".to_string(),
        aligned(figure_rows(results)),
        "## What was measured\n".to_string(),
        descriptions(results),
    ];
    sections.join("\n")
}

type Row = Vec<String>;

fn ratio_rows(results: &Results) -> Vec<Row> {
    let mut rows = vec![row(["what", "ours", "limit or peer", "", "ratio", "goal", "result"])];
    let ours: Vec<&Measured> = results.subjects.iter().filter(|subject| subject.side == Side::Ours).collect();
    for goal in goal::all() {
        // The library and the server answer different questions.
        let asked: Vec<_> = ours.iter().filter(|subject| subject.answer(goal.measure).is_some()).collect();
        if asked.is_empty() {
            rows.push(ratio_row(&goal, None, results));
        }
        for subject in asked {
            rows.push(ratio_row(&goal, Some(subject), results));
        }
    }
    rows
}

fn ratio_row(goal: &Goal, ours: Option<&Measured>, results: &Results) -> Row {
    // Several subjects of ours may be in one table, so each row names its subject.
    let what = match ours {
        Some(subject) => format!("{}: {}", subject.name, goal.measure),
        None => goal.measure.to_string(),
    };
    let other = match goal.against {
        Against::Subject(name) => name.to_string(),
        Against::Ourselves(measure) => format!("ours: {measure}"),
    };
    let compared = match ours {
        Some(subject) => goal.compare(subject, results),
        None => Err("nothing of ours is listed".to_string()),
    };
    let bound = bound(&goal.ratio);
    match compared {
        Ok(comparison) => {
            let result = match goal.ratio.met(comparison.ratio) {
                Some(true) => "met",
                Some(false) => "MISSED",
                None => "no goal",
            };
            let (ours, theirs) = (figure(goal.figure, &comparison.ours), figure(goal.figure, &comparison.theirs));
            row([&what, &ours, &other, &theirs, &ratio(&goal.ratio, comparison.ratio), &bound, result])
        }
        Err(why) => {
            // The other side is shown even when ours is missing: a run without us still finds the limits.
            let theirs = match goal.against {
                Against::Subject(name) => results.named(name).and_then(|subject| subject.answer(goal.measure)),
                Against::Ourselves(_) => None,
            };
            let theirs = match theirs {
                Some(Answer::Rounds(rounds)) => Summary::median(rounds).map(|median| figure(goal.figure, &median)),
                _ => None,
            };
            row([&what, "", &other, &theirs.unwrap_or_default(), "", &bound, &format!("not run: {why}")])
        }
    }
}

/// Writes facts beside their limits.
pub fn facts(facts: &[Fact]) -> String {
    aligned(fact_rows(facts))
}

fn fact_rows(facts: &[Fact]) -> Vec<Row> {
    let mut rows = vec![row(["what", "found", "limit", "result"])];
    for fact in facts {
        rows.push(row([&fact.what, &fact.found, &fact.limit, if fact.met { "met" } else { "MISSED" }]));
    }
    rows
}

fn figure_rows(results: &Results) -> Vec<Row> {
    let mut rows = vec![row(["subject", "what", "per second", "p50", "p99"])];
    for subject in &results.subjects {
        for (measure, answer) in &subject.answers {
            let (name, measure) = (&subject.name, &measure.to_string());
            rows.push(match answer {
                Answer::NotRun(why) => row([name, measure, &format!("not run: {why}"), "", ""]),
                Answer::Rounds(rounds) => match Summary::median(rounds) {
                    Some(median) => {
                        let per_second = &grouped(median.per_second);
                        row([name, measure, per_second, &latency(median.p50_us), &latency(median.p99_us)])
                    }
                    None => row([name, measure, "not run: no rounds", "", ""]),
                },
            });
        }
    }
    rows
}

fn descriptions(results: &Results) -> String {
    let lines = results.subjects.iter().map(|subject| format!("- {}: {}.\n", subject.name, subject.description));
    lines.collect()
}

fn row<const COLUMNS: usize>(cells: [&str; COLUMNS]) -> Row {
    // A bar would end the cell, and a reason may hold one or a line break.
    cells.map(|cell| cell.replace('|', "/").replace('\n', " ")).into()
}

/// Pads every column, because the table is also read in a terminal.
fn aligned(rows: Vec<Row>) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).max(3);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
        if number == 0 {
            let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width + 2)).collect();
            let _ = writeln!(text, "|{}|", rule.join("|"));
        }
    }
    text
}

fn figure(figure: Figure, summary: &Summary) -> String {
    match figure {
        Figure::PerSecond => format!("{} /s", grouped(summary.per_second)),
        Figure::P50 => latency(summary.p50_us),
    }
}

fn ratio(kind: &Ratio, value: f64) -> String {
    match kind {
        Ratio::Share { .. } => format!("{:.0} %", value * 100.0),
        Ratio::Faster { .. } => format!("{value:.1}x faster"),
        Ratio::Longer { .. } | Ratio::Reported => format!("{value:.2}x as long"),
    }
}

fn bound(kind: &Ratio) -> String {
    match kind {
        Ratio::Share { at_least } => format!("≥ {:.0} %", at_least * 100.0),
        Ratio::Faster { at_least: Some(bound) } => format!("≥ {bound}x"),
        Ratio::Faster { at_least: None } | Ratio::Reported => String::new(),
        Ratio::Longer { at_most } => format!("≤ {at_most}x"),
    }
}

fn latency(microseconds: f64) -> String {
    match microseconds {
        slow if slow >= 10_000.0 => format!("{:.1} ms", slow / 1_000.0),
        slow if slow >= 1_000.0 => format!("{:.2} ms", slow / 1_000.0),
        fast if fast >= 100.0 => format!("{fast:.0} us"),
        fast => format!("{fast:.1} us"),
    }
}

/// Writes a whole number with a comma every three digits.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Measure;
    use crate::raw_log;

    fn answered(name: &str, side: Side, answers: Vec<(Measure, Answer)>) -> Measured {
        Measured { name: name.to_string(), side, description: "as told".to_string(), answers }
    }

    fn rounds(rates: &[f64]) -> Answer {
        let summary = |&rate: &f64| Summary { per_second: rate, p50_us: 1e6 / rate, p99_us: 2e6 / rate };
        Answer::Rounds(rates.iter().map(summary).collect())
    }

    fn limit() -> Measured {
        let single = (Measure::SingleAppend, rounds(&[5_000.0, 1_000.0, 4_000.0]));
        let group = (Measure::GroupAppend, rounds(&[100_000.0; 3]));
        answered(raw_log::NAME, Side::Yardstick, vec![single, group])
    }

    /// Returns the cells of the ratio row whose first and third cells begin with these texts.
    fn cells(results: &Results, what: &str, other: &str) -> Vec<String> {
        ratio_rows(results)
            .into_iter()
            .find(|row| row[0].starts_with(what) && row[2].starts_with(other))
            .expect("the row exists")
    }

    #[test]
    fn the_ratio_is_taken_round_by_round() {
        // The machine was slow in the second round; both sides felt it, so the ratio does not.
        let single = (Measure::SingleAppend, rounds(&[3_500.0, 700.0, 2_800.0]));
        let ours = answered("Manent", Side::Ours, vec![single]);
        let results = Results { subjects: vec![limit(), ours] };
        let row = cells(&results, "Manent: durable append, 1 writer", "raw");
        assert_eq!(row[1..], ["2,800 /s", "raw pre-written log", "4,000 /s", "70 %", "≥ 60 %", "met"]);
    }

    #[test]
    fn a_goal_that_is_not_reached_is_shouted() {
        let group = (Measure::GroupAppend, rounds(&[10_000.0; 3]));
        let single = (Measure::SingleAppend, rounds(&[4_000.0; 3]));
        let results = Results { subjects: vec![limit(), answered("Manent", Side::Ours, vec![group, single])] };
        assert_eq!(cells(&results, "Manent: durable append, 64", "raw")[4..], ["10 %", "≥ 15 %", "MISSED"]);
        assert_eq!(cells(&results, "Manent: durable append, 64", "ours")[4..], ["2.5x faster", "≥ 5x", "MISSED"]);
    }

    #[test]
    fn latencies_compare_the_other_way_round() {
        let last = |rate| vec![(Measure::LastMessages, rounds(&[rate]))];
        let tree = answered("LMDB", Side::Yardstick, last(100_000.0));
        let agents = answered("OpenAI Agents SQLiteSession", Side::Yardstick, last(2_000.0));
        let results = Results { subjects: vec![tree, agents, answered("Manent", Side::Ours, last(50_000.0))] };
        let row = cells(&results, "Manent: last 50", "LMDB");
        assert_eq!(row[1..], ["20.0 us", "LMDB", "10.0 us", "2.00x as long", "≤ 2x", "met"]);
        assert_eq!(cells(&results, "Manent: last 50", "OpenAI")[3..], ["500 us", "25.0x faster", "≥ 20x", "met"]);
    }

    #[test]
    fn what_did_not_run_says_why() {
        let why = Answer::NotRun("pip could not install it | here".to_string());
        let peer = answered("LMDB", Side::Yardstick, vec![(Measure::LastMessages, why)]);
        let ours = answered("Manent", Side::Ours, vec![(Measure::LastMessages, rounds(&[1.0]))]);
        let results = Results { subjects: vec![limit(), peer, ours] };
        let row = cells(&results, "Manent: last 50", "LMDB");
        assert_eq!(row[6], "not run: LMDB: pip could not install it / here");
    }

    #[test]
    fn without_us_the_limits_are_still_shown() {
        let results = Results { subjects: vec![limit()] };
        let row = cells(&results, "durable append, 1 writer", "raw");
        assert_eq!(row[3..], ["4,000 /s", "", "≥ 60 %", "not run: nothing of ours is listed"]);
    }

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!([1.0, 999.4, 1_000.0, 1_234_567.0].map(grouped), ["1", "999", "1,000", "1,234,567"]);
        assert_eq!([9.96, 216.4, 2_036.0, 71_300.0].map(latency), ["10.0 us", "216 us", "2.04 ms", "71.3 ms"]);
    }
}
