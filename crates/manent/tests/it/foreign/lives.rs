//! A Kode agent that is imported again and again while it lives: what the last import shows is what a first import of
//! the same folder shows.

mod life;
mod shown;

use super::*;
use life::{Break, State, states};
use shown::{Shown, assert_shows_the_same, shown};
use std::collections::HashMap;

/// What a first import of each state shows, made once.
#[derive(Default)]
struct Alone(HashMap<String, Shown>);

impl Alone {
    /// Imports states one after the other into one store, and compares it after those from `first` on with a first import.
    async fn follow(&mut self, chain: &[&State], first: usize) {
        let database = open();
        for (place, state) in chain.iter().enumerate() {
            let report = import(&database, &state.files).await;
            if place < first {
                continue;
            }
            if !self.0.contains_key(&state.name) {
                self.0.insert(state.name.clone(), shown(&state.files).await);
            }
            let names: Vec<&str> = chain[..=place].iter().map(|state| state.name.as_str()).collect();
            assert_shows_the_same(&names.join(" -> "), &self.0[&state.name], &database, &report).await;
        }
        assert_sound(&database).await;
    }
}

#[tokio::test]
async fn kode_reimport_of_each_state_of_a_life_equals_first_import() {
    let Some(states) = states() else { return };
    let mut alone = Alone::default();
    for stride in [1, 4, 7] {
        let chain: Vec<&State> = states.iter().step_by(stride).collect();
        alone.follow(&chain, 0).await;
    }
}

#[tokio::test]
async fn kode_reimport_of_the_last_state_after_any_earlier_one_equals_first_import() {
    let Some(states) = states() else { return };
    let (mut alone, last) = (Alone::default(), states.last().expect("a life"));
    for state in &states {
        alone.follow(&[state, last], 1).await;
    }
}

#[tokio::test]
async fn kode_reimport_after_mending_equals_first_import() {
    let Some(states) = states() else { return };
    let mut alone = Alone::default();
    for (place, state) in states.iter().enumerate().skip(1).step_by(3) {
        let (earlier, later) = (&states[place / 2], &states[(place + 3).min(states.len() - 1)]);
        for broken in Break::ALL.iter().filter_map(|how| state.broken(*how)) {
            alone.follow(&[&broken, state, later], 1).await;
            alone.follow(&[earlier, &broken, later], 2).await;
        }
    }
}

#[tokio::test]
async fn kode_reimport_of_each_state_twice_adds_nothing() {
    let Some(states) = states() else { return };
    let database = open();
    for state in states.iter().step_by(4) {
        import(&database, &state.files).await;
        let before = export(&database).await;
        let report = import(&database, &state.files).await;
        for one in &report.conversations {
            assert_eq!((one.added, one.updated, one.annotations), (0, 0, 0), "{}: {one:#?}", state.name);
        }
        assert_eq!(export(&database).await, before, "{}", state.name);
    }
}
