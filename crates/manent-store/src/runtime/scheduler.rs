//! Fair scheduler: round-robin over members with work, for a fixed set of threads. The member that has waited longest
//! runs first and then goes to the end of the queue.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Wakes another scheduler that has work to do.
pub(crate) type Waker = Box<dyn Fn() + Send + Sync>;

/// When a member is scheduled again after its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reschedule {
    /// As soon as the others had theirs.
    Now,
    /// Not before this delay, even if requested; only [`Turns::hurry`] makes it earlier.
    After(Duration),
    /// When requested.
    WhenWoken,
    /// Never: it has left.
    Never,
}

/// Where a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueueStatus {
    Idle,
    Ready,
    Delayed(Instant),
    /// A thread runs it. A request during the run schedules another run afterwards.
    Running(WakeRequest),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WakeRequest {
    None,
    At(Instant),
    Immediate,
}

struct Worker<T> {
    who: Arc<T>,
    status: QueueStatus,
}

struct SchedulerState<T> {
    workers: HashMap<u64, Worker<T>>,
    ready: VecDeque<u64>,
    delayed: BTreeSet<(Instant, u64)>,
    /// Number of sleeping threads. Waking takes a system call, so it is skipped if no thread sleeps.
    sleeping: usize,
    /// How many wait for a member whose turn it is, to take it out.
    leaving: usize,
    closed: bool,
}

/// The members by their numbers, and the list of those that wait. At most one thread works for a member.
pub(crate) struct FairScheduler<T> {
    state: Mutex<SchedulerState<T>>,
    /// Signals that a member is ready, or that the scheduler is closed.
    changed: Condvar,
    /// Signals that a member that is to leave has finished its run.
    left: Condvar,
}

impl<T> Default for FairScheduler<T> {
    fn default() -> Self {
        let (members, ready, later) = (HashMap::new(), VecDeque::new(), BTreeSet::new());
        let state = SchedulerState { workers: members, ready, delayed: later, sleeping: 0, leaving: 0, closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), left: Condvar::new() }
    }
}

impl<T> SchedulerState<T> {
    /// Lets a member wait, for its turn or for a moment.
    fn put(&mut self, number: u64, at: Option<Instant>) {
        let Some(member) = self.workers.get_mut(&number) else { return };
        match at {
            None => {
                member.status = QueueStatus::Ready;
                self.ready.push_back(number);
            }
            Some(at) => {
                member.status = QueueStatus::Delayed(at);
                self.delayed.insert((at, number));
            }
        }
    }

    /// Lets those wait for their turn whose moment has come; returns how many, and when the next one's comes.
    fn promote_due(&mut self) -> (usize, Option<Instant>) {
        let mut many = 0;
        if self.delayed.is_empty() {
            return (many, None);
        }
        let now = Instant::now();
        while let Some((at, number)) = self.delayed.first().copied() {
            if at > now {
                return (many, Some(at));
            }
            self.delayed.pop_first();
            self.put(number, None);
            many += 1;
        }
        (many, None)
    }

    fn finish_turn(&mut self, number: u64, again: Reschedule) {
        let Some(member) = self.workers.get_mut(&number) else { return };
        let QueueStatus::Running(asked) = member.status else { return };
        member.status = QueueStatus::Idle;
        match (asked, again) {
            (_, Reschedule::Never) => drop(self.workers.remove(&number)),
            (WakeRequest::Immediate, _) | (_, Reschedule::Now) => self.put(number, None),
            (_, Reschedule::After(delay)) => {
                // A delay beyond the range of `Instant` never expires.
                if let Some(at) = Instant::now().checked_add(delay) {
                    self.put(number, Some(at));
                }
            }
            (WakeRequest::At(at), Reschedule::WhenWoken) => self.put(number, (at > Instant::now()).then_some(at)),
            (WakeRequest::None, Reschedule::WhenWoken) => {}
        }
    }

    fn is_over(&self) -> bool {
        self.closed && self.workers.is_empty()
    }
}

impl<T> FairScheduler<T> {
    fn wake(&self, state: MutexGuard<'_, SchedulerState<T>>) {
        let somebody_sleeps = state.sleeping > 0;
        drop(state);
        if somebody_sleeps {
            self.changed.notify_one();
        }
    }

    /// Adds a member, which is not scheduled yet.
    pub(crate) fn join(&self, number: u64, who: Arc<T>) {
        self.state.lock().workers.insert(number, Worker { who, status: QueueStatus::Idle });
    }

    /// Removes a member, once no thread runs it any more.
    pub(crate) fn leave(&self, number: u64) {
        let mut state = self.state.lock();
        while state.workers.get(&number).is_some_and(|member| matches!(member.status, QueueStatus::Running(_))) {
            state.leaving += 1;
            self.left.wait(&mut state);
            state.leaving -= 1;
        }
        let Some(member) = state.workers.remove(&number) else { return };
        match member.status {
            QueueStatus::Ready => state.ready.retain(|waiting| *waiting != number),
            QueueStatus::Delayed(at) => drop(state.delayed.remove(&(at, number))),
            QueueStatus::Idle | QueueStatus::Running(_) => {}
        }
        if state.is_over() {
            self.changed.notify_all();
        }
    }

    /// Requests a run. A member that is scheduled already stays scheduled, even with a delay; a member that has left is
    /// ignored.
    pub(crate) fn ask(&self, number: u64) {
        self.wake_after(number, Duration::ZERO);
    }

    /// Asks for a turn that need not come before so long.
    pub(crate) fn wake_after(&self, number: u64, delay: Duration) {
        let mut state = self.state.lock();
        let Some(member) = state.workers.get_mut(&number) else { return };
        // A delay beyond the range of `Instant` never expires.
        let at = || Instant::now().checked_add(delay);
        match &mut member.status {
            QueueStatus::Idle if delay.is_zero() => state.put(number, None),
            QueueStatus::Idle => match at() {
                Some(at) => state.put(number, Some(at)),
                None => return,
            },
            QueueStatus::Running(asked @ WakeRequest::None) => {
                *asked = at().map_or(WakeRequest::None, WakeRequest::At);
                return;
            }
            QueueStatus::Running(_) | QueueStatus::Ready | QueueStatus::Delayed(_) => return,
        }
        self.wake(state);
    }

    /// Asks for a turn at once, also for one that was to wait for a moment.
    pub(crate) fn wake_now(&self, number: u64) {
        let mut state = self.state.lock();
        let Some(member) = state.workers.get_mut(&number) else { return };
        match &mut member.status {
            QueueStatus::Ready => return,
            QueueStatus::Running(asked) => {
                *asked = WakeRequest::Immediate;
                return;
            }
            QueueStatus::Delayed(at) => {
                let at = *at;
                state.delayed.remove(&(at, number));
            }
            QueueStatus::Idle => {}
        }
        state.put(number, None);
        self.wake(state);
    }

    /// Waits for the next member to run; none when the scheduler is closed and all members have left. The thread passes
    /// the turn that it has finished, and when that member wants another.
    pub(crate) fn next(&self, last: Option<(u64, Reschedule)>) -> Option<(u64, Arc<T>)> {
        let mut state = self.state.lock();
        let mut has_news = false;
        if let Some((number, again)) = last {
            state.finish_turn(number, again);
            has_news = matches!(again, Reschedule::After(_));
            self.run_waker(&state);
        }
        loop {
            let (due, next_due) = state.promote_due();
            if let Some(number) = state.ready.pop_front() {
                let member = state.workers.get_mut(&number).expect("whoever waits is a member");
                member.status = QueueStatus::Running(WakeRequest::None);
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
            match next_due {
                None => self.changed.wait(&mut state),
                Some(at) => {
                    let wait = at.saturating_duration_since(Instant::now());
                    self.changed.wait_for(&mut state, wait);
                }
            };
            state.sleeping -= 1;
        }
    }

    /// Ends a turn, for a thread that has something else to do before it comes for the next.
    pub(crate) fn reschedule(&self, number: u64, again: Reschedule) {
        let mut state = self.state.lock();
        state.finish_turn(number, again);
        self.run_waker(&state);
        if !state.ready.is_empty() {
            self.wake(state);
        }
    }

    fn run_waker(&self, state: &SchedulerState<T>) {
        if state.leaving > 0 {
            self.left.notify_all();
        }
        if state.is_over() {
            self.changed.notify_all();
        }
    }

    /// Closes the scheduler: the threads end once all members have left.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(members: u64) -> FairScheduler<u64> {
        let turns = FairScheduler::default();
        (0..members).for_each(|number| turns.join(number, Arc::new(number)));
        turns
    }

    /// Whose turn it is, as one thread sees it.
    fn takes(turns: &FairScheduler<u64>, last: &mut Option<u64>, again: Reschedule) -> u64 {
        let (number, _) = turns.next(last.map(|number| (number, again))).expect("somebody waits");
        *last = Some(number);
        number
    }

    #[test]
    fn one_with_much_to_do_takes_turns_with_the_others() {
        let (turns, mut last) = (of(3), None);
        turns.ask(0);
        assert_eq!(takes(&turns, &mut last, Reschedule::Now), 0);
        turns.ask(1);
        turns.ask(2);
        turns.ask(1);
        // The first always wants more; the others come before it does again, in the order in which they asked.
        let order: Vec<u64> = (0..6).map(|_| takes(&turns, &mut last, Reschedule::Now)).collect();
        assert_eq!(order, [1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn what_is_asked_for_during_a_turn_is_not_forgotten() {
        let (turns, mut last) = (of(2), None);
        turns.ask(0);
        assert_eq!(takes(&turns, &mut last, Reschedule::Now), 0);
        turns.ask(1);
        turns.ask(0);
        assert_eq!(takes(&turns, &mut last, Reschedule::WhenWoken), 1);
        assert_eq!(takes(&turns, &mut last, Reschedule::WhenWoken), 0);
        turns.wake_after(1, Duration::from_nanos(1));
        assert_eq!(takes(&turns, &mut last, Reschedule::WhenWoken), 1);
    }

    #[test]
    fn one_that_is_to_wait_is_only_hurried_by_name() {
        let (turns, mut last) = (of(2), None);
        turns.ask(0);
        turns.ask(1);
        assert_eq!(takes(&turns, &mut last, Reschedule::Now), 0);
        turns.ask(0);
        let for_ever = Reschedule::After(Duration::from_secs(3_600));
        assert_eq!(takes(&turns, &mut last, for_ever), 1);
        turns.ask(0);
        turns.ask(1);
        assert_eq!(takes(&turns, &mut last, Reschedule::WhenWoken), 1, "asking does not shorten the wait of the first");
        turns.wake_now(0);
        assert_eq!(takes(&turns, &mut last, Reschedule::WhenWoken), 0);
        turns.wake_now(0);
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
        assert_eq!(takes(&turns, &mut last, Reschedule::Now), 0);
        turns.ask(1);
        assert!(turns.next(Some((0, Reschedule::Never))).is_none());
    }

    #[test]
    fn whoever_leaves_waits_until_its_turn_is_over() {
        let turns = of(1);
        turns.ask(0);
        let (number, _) = turns.next(None).expect("it waits");
        std::thread::scope(|scope| {
            let leaving = scope.spawn(|| turns.leave(0));
            while turns.state.lock().leaving == 0 {
                std::thread::yield_now();
            }
            assert!(!leaving.is_finished());
            turns.reschedule(number, Reschedule::Now);
        });
        assert!(turns.state.lock().workers.is_empty() && turns.state.lock().ready.is_empty());
    }
}
