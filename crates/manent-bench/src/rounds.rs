//! Measurement rounds: each measures every subject once; subjects that are compared run consecutively.

use crate::measure::Measure;
use crate::options::Scale;
use crate::subject::{Side, Subject};
use crate::summary::Summary;

/// Everything that all rounds found.
pub struct Results {
    /// The subjects, in the order of the list.
    pub subjects: Vec<Measured>,
}

/// What the rounds found about one subject.
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Its side of the ratio.
    pub side: Side,
    /// What exactly was measured.
    pub description: String,
    /// What it answered; measures without meaning for it are absent.
    pub answers: Vec<(Measure, Answer)>,
}

/// One summary per round, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// One summary for each round, in order.
    Rounds(Vec<Summary>),
    /// Why it was not run.
    NotRun(String),
}

impl Results {
    /// Runs all rounds.
    ///
    /// Measures alternate in the inner loop and subjects in the innermost, so that the two sides of a ratio are taken
    /// within seconds of each other and a slow minute of the machine slows both.
    pub fn measure(subjects: &mut [Box<dyn Subject>], scale: &Scale) -> Results {
        let mut results =
            Results { subjects: subjects.iter().map(|subject| Measured::nothing_yet(&**subject)).collect() };
        for round in 0..scale.rounds {
            let measures = Measure::all().into_iter().filter(|measure| measure.to_string().contains(&scale.only));
            for measure in measures {
                eprintln!("round {} of {}: {measure}", round + 1, scale.rounds);
                let mut order: Vec<usize> = (0..subjects.len()).collect();
                // The other way round in every second round: being first must not be an advantage.
                if round % 2 == 1 {
                    order.reverse();
                }
                for number in order {
                    results.subjects[number].take_part(subjects[number].as_mut(), measure, scale);
                }
            }
        }
        results
    }

    /// Finds a subject by the name that goals use.
    pub fn named(&self, name: &str) -> Option<&Measured> {
        self.subjects.iter().find(|subject| subject.name == name)
    }
}

impl Measured {
    /// Returns what the subject answered, or `None` where the question has no meaning for it.
    pub fn answer(&self, measure: Measure) -> Option<&Answer> {
        self.answers.iter().find(|(asked, _)| *asked == measure).map(|(_, answer)| answer)
    }

    fn nothing_yet(subject: &dyn Subject) -> Measured {
        Measured {
            name: subject.name().to_string(),
            side: subject.side(),
            description: subject.description(),
            answers: Vec::new(),
        }
    }

    fn take_part(&mut self, subject: &mut dyn Subject, measure: Measure, scale: &Scale) {
        // What failed once is not asked again: a ratio needs all rounds.
        if matches!(self.answer(measure), Some(Answer::NotRun(_))) {
            return;
        }
        let Some(outcome) = subject.measure(measure, scale.window) else {
            return;
        };
        let place = match self.answers.iter().position(|(asked, _)| *asked == measure) {
            Some(place) => place,
            None => {
                self.answers.push((measure, Answer::Rounds(Vec::new())));
                self.answers.len() - 1
            }
        };
        let answer = &mut self.answers[place].1;
        match (outcome, answer) {
            (Ok(summary), Answer::Rounds(rounds)) => rounds.push(summary),
            (Ok(_), Answer::NotRun(_)) => {}
            (Err(error), answer) => *answer = Answer::NotRun(format!("{error:#}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::time::Duration;

    use anyhow::{Result, bail};

    use super::*;

    struct Noted(&'static str, Rc<RefCell<Vec<&'static str>>>);

    impl Subject for Noted {
        fn name(&self) -> &str {
            self.0
        }

        fn side(&self) -> Side {
            Side::Yardstick
        }

        fn description(&self) -> String {
            String::new()
        }

        fn measure(&mut self, measure: Measure, _: Duration) -> Option<Result<Summary>> {
            self.1.borrow_mut().push(self.0);
            match measure {
                Measure::SingleAppend => Some(Ok(Summary { per_second: 1.0, p50_us: 2.0, p99_us: 3.0 })),
                Measure::LastMessages => Some((|| bail!("no disk"))()),
                _ => None,
            }
        }
    }

    fn measured() -> (Results, Vec<&'static str>) {
        let notes = Rc::default();
        let mut subjects: Vec<Box<dyn Subject>> =
            vec![Box::new(Noted("limit", Rc::clone(&notes))), Box::new(Noted("ours", Rc::clone(&notes)))];
        let results = Results::measure(&mut subjects, &Scale { rounds: 2, ..Scale::QUICK });
        (results, notes.take())
    }

    #[test]
    fn subjects_alternate_and_the_second_round_starts_with_the_other() {
        let (_, notes) = measured();
        assert_eq!(notes[..4], ["limit", "ours", "limit", "ours"]);
        let round = 2 * Measure::all().len();
        assert_eq!(notes[round..round + 2], ["ours", "limit"]);
    }

    #[test]
    fn answers_hold_every_round_or_the_reason() {
        let (results, _) = measured();
        let ours = results.named("ours").expect("it took part");
        assert!(matches!(ours.answer(Measure::SingleAppend), Some(Answer::Rounds(rounds)) if rounds.len() == 2));
        assert_eq!(ours.answer(Measure::LastMessages), Some(&Answer::NotRun("no disk".to_string())));
        assert_eq!(ours.answer(Measure::GroupAppend), None);
    }
}
