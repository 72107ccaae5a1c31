//! Fair scheduler: round-robin over members with work, for a fixed set of threads. The member that has waited longest
//! runs first and then goes to the end of the queue.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Wakes another scheduler that has work to do.
pub(crate) type Bell = Box<dyn Fn() + Send + Sync>;

/// When a member is scheduled again after its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// As soon as the others had theirs.
    Now,
    /// Not before this delay, even if requested; only [`Turns::hurry`] makes it earlier.
    After(Duration),
    /// When requested.
    WhenAsked,
    /// Never: it has left.
    Never,
}

/// Where a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Away,
    Ready,
    Later(Instant),
    /// A thread runs it. A request during the run schedules another run afterwards.
    Working(Asked),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    No,
    At(Instant),
    Hurried,
}

struct Member<T> {
    who: Arc<T>,
    place: Place,
}

struct State<T> {
    members: HashMap<u64, Member<T>>,
    ready: VecDeque<u64>,
    later: BTreeSet<(Instant, u64)>,
    /// Number of sleeping threads. Waking takes a system call, so it is skipped if no thread sleeps.
    sleeping: usize,
    /// How many wait for a member whose turn it is, to take it out.
    leaving: usize,
    closed: bool,
}

/// The members by their numbers, and the list of those that wait. At most one thread works for a member.
pub(crate) struct Turns<T> {
    state: Mutex<State<T>>,
    /// Signals that a member is ready, or that the scheduler is closed.
    changed: Condvar,
    /// Signals that a member that is to leave has finished its run.
    left: Condvar,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        let (members, ready, later) = (HashMap::new(), VecDeque::new(), BTreeSet::new());
        let state = State { members, ready, later, sleeping: 0, leaving: 0, closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), left: Condvar::new() }
    }
}

impl<T> State<T> {
    /// Lets a member wait, for its turn or for a moment.
    fn put(&mut self, number: u64, at: Option<Instant>) {
        let Some(member) = self.members.get_mut(&number) else { return };
        match at {
            None => {
                member.place = Place::Ready;
                self.ready.push_back(number);
            }
            Some(at) => {
                member.place = Place::Later(at);
                self.later.insert((at, number));
            }
        }
    }

    /// Lets those wait for their turn whose moment has come; returns how many, and when the next one's comes.
    fn fall_due(&mut self) -> (usize, Option<Instant>) {
        let mut many = 0;
        if self.later.is_empty() {
            return (many, None);
        }
        let now = Instant::now();
        while let Some((at, number)) = self.later.first().copied() {
            if at > now {
                return (many, Some(at));
            }
            self.later.pop_first();
            self.put(number, None);
            many += 1;
        }
        (many, None)
    }

    fn end_turn(&mut self, number: u64, again: Again) {
        let Some(member) = self.members.get_mut(&number) else { return };
        let Place::Working(asked) = member.place else { return };
        member.place = Place::Away;
        match (asked, again) {
            (_, Again::Never) => drop(self.members.remove(&number)),
            (Asked::Hurried, _) | (_, Again::Now) => self.put(number, None),
            (_, Again::After(delay)) => {
                // A delay beyond the range of `Instant` never expires.
                if let Some(at) = Instant::now().checked_add(delay) {
                    self.put(number, Some(at));
                }
            }
            (Asked::At(at), Again::WhenAsked) => self.put(number, (at > Instant::now()).then_some(at)),
            (Asked::No, Again::WhenAsked) => {}
        }
    }

    fn is_over(&self) -> bool {
        self.closed && self.members.is_empty()
    }
}

impl<T> Turns<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, state: MutexGuard<'_, State<T>>) {
        let somebody_sleeps = state.sleeping > 0;
        drop(state);
        if somebody_sleeps {
            self.changed.notify_one();
        }
    }

    /// Adds a member, which is not scheduled yet.
    pub(crate) fn join(&self, number: u64, who: Arc<T>) {
        self.lock().members.insert(number, Member { who, place: Place::Away });
    }

    /// Removes a member, once no thread runs it any more.
    pub(crate) fn leave(&self, number: u64) {
        let mut state = self.lock();
        while state.members.get(&number).is_some_and(|member| matches!(member.place, Place::Working(_))) {
            state.leaving += 1;
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.leaving -= 1;
        }
        let Some(member) = state.members.remove(&number) else { return };
        match member.place {
            Place::Ready => state.ready.retain(|waiting| *waiting != number),
            Place::Later(at) => drop(state.later.remove(&(at, number))),
            Place::Away | Place::Working(_) => {}
        }
        if state.is_over() {
            self.changed.notify_all();
        }
    }

    /// Requests a run. A member that is scheduled already stays scheduled, even with a delay; a member that has left is
    /// ignored.
    pub(crate) fn ask(&self, number: u64) {
        self.ask_after(number, Duration::ZERO);
    }

    /// Asks for a turn that need not come before so long.
    pub(crate) fn ask_after(&self, number: u64, delay: Duration) {
        let mut state = self.lock();
        let Some(member) = state.members.get_mut(&number) else { return };
        // A delay beyond the range of `Instant` never expires.
        let at = || Instant::now().checked_add(delay);
        match &mut member.place {
            Place::Away if delay.is_zero() => state.put(number, None),
            Place::Away => match at() {
                Some(at) => state.put(number, Some(at)),
                None => return,
            },
            Place::Working(asked @ Asked::No) => {
                *asked = at().map_or(Asked::No, Asked::At);
                return;
            }
            Place::Working(_) | Place::Ready | Place::Later(_) => return,
        }
        self.wake(state);
    }

    /// Asks for a turn at once, also for one that was to wait for a moment.
    pub(crate) fn hurry(&self, number: u64) {
        let mut state = self.lock();
        let Some(member) = state.members.get_mut(&number) else { return };
        match &mut member.place {
            Place::Ready => return,
            Place::Working(asked) => {
                *asked = Asked::Hurried;
                return;
            }
            Place::Later(at) => {
                let at = *at;
                state.later.remove(&(at, number));
            }
            Place::Away => {}
        }
        state.put(number, None);
        self.wake(state);
    }

    /// Waits for the next member to run; none when the scheduler is closed and all members have left. The thread passes
    /// the turn that it has finished, and when that member wants another.
    pub(crate) fn next(&self, last: Option<(u64, Again)>) -> Option<(u64, Arc<T>)> {
        let mut state = self.lock();
        let mut has_news = false;
        if let Some((number, again)) = last {
            state.end_turn(number, again);
            has_news = matches!(again, Again::After(_));
            self.tell(&state);
        }
        loop {
            let (due, next_due) = state.fall_due();
            if let Some(number) = state.ready.pop_front() {
                let member = state.members.get_mut(&number).expect("whoever waits is a member");
                member.place = Place::Working(Asked::No);
                let who = member.who.clone();
                // No thread was woken for members whose delay has expired, or knows when the next one does.
                if has_news || (due > 0 && !state.ready.is_empty()) {
                    self.wake(state);
                }
                return Some((number, who));
            }
            has_news = false;
            if state.is_over() {
                return None;
            }
            state.sleeping += 1;
            state = match next_due {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    let wait = at.saturating_duration_since(Instant::now());
                    self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.sleeping -= 1;
        }
    }

    /// Ends a turn, for a thread that has something else to do before it comes for the next.
    pub(crate) fn done(&self, number: u64, again: Again) {
        let mut state = self.lock();
        state.end_turn(number, again);
        self.tell(&state);
        if !state.ready.is_empty() {
            self.wake(state);
        }
    }

    fn tell(&self, state: &State<T>) {
        if state.leaving > 0 {
            self.left.notify_all();
        }
        if state.is_over() {
            self.changed.notify_all();
        }
    }

    /// Closes the scheduler: the threads end once all members have left.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(members: u64) -> Turns<u64> {
        let turns = Turns::default();
        (0..members).for_each(|number| turns.join(number, Arc::new(number)));
        turns
    }

    /// Whose turn it is, as one thread sees it.
    fn takes(turns: &Turns<u64>, last: &mut Option<u64>, again: Again) -> u64 {
        let (number, _) = turns.next(last.map(|number| (number, again))).expect("somebody waits");
        *last = Some(number);
        number
    }

    #[test]
    fn one_with_much_to_do_takes_turns_with_the_others() {
        let (turns, mut last) = (of(3), None);
        turns.ask(0);
        assert_eq!(takes(&turns, &mut last, Again::Now), 0);
        turns.ask(1);
        turns.ask(2);
        turns.ask(1);
        // The first always wants more; the others come before it does again, in the order in which they asked.
        let order: Vec<u64> = (0..6).map(|_| takes(&turns, &mut last, Again::Now)).collect();
        assert_eq!(order, [1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn what_is_asked_for_during_a_turn_is_not_forgotten() {
        let (turns, mut last) = (of(2), None);
        turns.ask(0);
        assert_eq!(takes(&turns, &mut last, Again::Now), 0);
        turns.ask(1);
        turns.ask(0);
        assert_eq!(takes(&turns, &mut last, Again::WhenAsked), 1);
        assert_eq!(takes(&turns, &mut last, Again::WhenAsked), 0);
        turns.ask_after(1, Duration::from_nanos(1));
        assert_eq!(takes(&turns, &mut last, Again::WhenAsked), 1);
    }

    #[test]
    fn one_that_is_to_wait_is_only_hurried_by_name() {
        let (turns, mut last) = (of(2), None);
        turns.ask(0);
        turns.ask(1);
        assert_eq!(takes(&turns, &mut last, Again::Now), 0);
        turns.ask(0);
        let for_ever = Again::After(Duration::from_secs(3_600));
        assert_eq!(takes(&turns, &mut last, for_ever), 1);
        turns.ask(0);
        turns.ask(1);
        assert_eq!(takes(&turns, &mut last, Again::WhenAsked), 1, "asking does not shorten the wait of the first");
        turns.hurry(0);
        assert_eq!(takes(&turns, &mut last, Again::WhenAsked), 0);
        turns.hurry(0);
        assert_eq!(takes(&turns, &mut last, for_ever), 0, "it was hurried while it had its turn");
    }

    #[test]
    fn it_ends_when_everybody_has_left() {
        let (turns, mut last) = (of(3), None);
        turns.close();
        turns.ask(0);
        turns.ask(1);
        turns.leave(2);
        turns.leave(1);
        assert_eq!(takes(&turns, &mut last, Again::Now), 0);
        turns.ask(1);
        assert!(turns.next(Some((0, Again::Never))).is_none());
    }

    #[test]
    fn whoever_leaves_waits_until_its_turn_is_over() {
        let turns = of(1);
        turns.ask(0);
        let (number, _) = turns.next(None).expect("it waits");
        std::thread::scope(|scope| {
            let leaving = scope.spawn(|| turns.leave(0));
            while turns.lock().leaving == 0 {
                std::thread::yield_now();
            }
            assert!(!leaving.is_finished());
            turns.done(number, Again::Now);
        });
        assert!(turns.lock().members.is_empty() && turns.lock().ready.is_empty());
    }
}
