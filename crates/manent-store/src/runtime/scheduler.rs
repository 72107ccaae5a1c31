//! Fair scheduler: round-robin over tasks with work, for a fixed set of threads. The task that has waited longest
//! runs first and then goes to the end of the queue.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Wakes another scheduler that has work to do.
pub(crate) type Waker = Box<dyn Fn() + Send + Sync>;

/// When a task is scheduled again after its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reschedule {
    /// As soon as the other ready tasks had their turn.
    Now,
    /// Not before this delay, even if requested; only [`FairScheduler::wake_now`] makes it earlier.
    After(Duration),
    /// When requested.
    WhenWoken,
    /// Never: it has left.
    Never,
}

/// The scheduling status of a task.
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

struct Task<T> {
    subject: Arc<T>,
    status: QueueStatus,
}

struct SchedulerState<T> {
    tasks: HashMap<u64, Task<T>>,
    ready: VecDeque<u64>,
    delayed: BTreeSet<(Instant, u64)>,
    /// Number of sleeping threads. Waking takes a system call, so it is skipped if no thread sleeps.
    sleeping: usize,
    /// Threads that wait for a running task to remove it.
    leaving: usize,
    closed: bool,
}

/// Tasks by number, and the queue of those that are ready. At most one thread runs a task at a time.
pub(crate) struct FairScheduler<T> {
    state: Mutex<SchedulerState<T>>,
    /// Signals that a task is ready, or that the scheduler is closed.
    changed: Condvar,
    /// Signals that a task that is to leave has finished its run.
    left: Condvar,
}

impl<T> Default for FairScheduler<T> {
    fn default() -> Self {
        let (tasks, ready, delayed) = (HashMap::new(), VecDeque::new(), BTreeSet::new());
        let state = SchedulerState { tasks, ready, delayed, sleeping: 0, leaving: 0, closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), left: Condvar::new() }
    }
}

impl<T> SchedulerState<T> {
    /// Queues a task: as ready, or until a time.
    fn put(&mut self, number: u64, at: Option<Instant>) {
        let Some(task) = self.tasks.get_mut(&number) else { return };
        match at {
            None => {
                task.status = QueueStatus::Ready;
                self.ready.push_back(number);
            }
            Some(at) => {
                task.status = QueueStatus::Delayed(at);
                self.delayed.insert((at, number));
            }
        }
    }

    /// Queues the tasks whose delay has expired; returns how many, and when the next delay expires.
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
        let Some(task) = self.tasks.get_mut(&number) else { return };
        let QueueStatus::Running(asked) = task.status else { return };
        task.status = QueueStatus::Idle;
        match (asked, again) {
            (_, Reschedule::Never) => drop(self.tasks.remove(&number)),
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
        self.closed && self.tasks.is_empty()
    }
}

impl<T> FairScheduler<T> {
    fn notify(&self, state: MutexGuard<'_, SchedulerState<T>>) {
        let has_sleeping = state.sleeping > 0;
        drop(state);
        if has_sleeping {
            self.changed.notify_one();
        }
    }

    /// Adds a task, which is not scheduled yet.
    pub(crate) fn join(&self, number: u64, subject: Arc<T>) {
        self.state.lock().tasks.insert(number, Task { subject, status: QueueStatus::Idle });
    }

    /// Removes a task, once no thread runs it any more.
    pub(crate) fn leave(&self, number: u64) {
        let mut state = self.state.lock();
        while state.tasks.get(&number).is_some_and(|task| matches!(task.status, QueueStatus::Running(_))) {
            state.leaving += 1;
            self.left.wait(&mut state);
            state.leaving -= 1;
        }
        let Some(task) = state.tasks.remove(&number) else { return };
        match task.status {
            QueueStatus::Ready => state.ready.retain(|waiting| *waiting != number),
            QueueStatus::Delayed(at) => drop(state.delayed.remove(&(at, number))),
            QueueStatus::Idle | QueueStatus::Running(_) => {}
        }
        if state.is_over() {
            self.changed.notify_all();
        }
    }

    /// Requests a run. A task that is scheduled already stays scheduled, even with a delay; a task that has left is
    /// ignored.
    pub(crate) fn wake(&self, number: u64) {
        self.wake_after(number, Duration::ZERO);
    }

    /// Requests a run after a delay at the earliest.
    pub(crate) fn wake_after(&self, number: u64, delay: Duration) {
        let mut state = self.state.lock();
        let Some(task) = state.tasks.get_mut(&number) else { return };
        // A delay beyond the range of `Instant` never expires.
        let at = || Instant::now().checked_add(delay);
        match &mut task.status {
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
        self.notify(state);
    }

    /// Requests a run now, also of a task that is delayed.
    pub(crate) fn wake_now(&self, number: u64) {
        let mut state = self.state.lock();
        let Some(task) = state.tasks.get_mut(&number) else { return };
        match &mut task.status {
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
        self.notify(state);
    }

    /// Waits for the next task to run; none when the scheduler is closed and all tasks have left. The thread passes
    /// the turn that it has finished, and when that task wants another.
    pub(crate) fn next(&self, last: Option<(u64, Reschedule)>) -> Option<(u64, Arc<T>)> {
        let mut state = self.state.lock();
        let mut has_news = false;
        if let Some((number, again)) = last {
            state.finish_turn(number, again);
            has_news = matches!(again, Reschedule::After(_));
            self.notify_waiting(&state);
        }
        loop {
            let (due, next_due) = state.promote_due();
            if let Some(number) = state.ready.pop_front() {
                let task = state.tasks.get_mut(&number).expect("a ready task is registered");
                task.status = QueueStatus::Running(WakeRequest::None);
                let subject = task.subject.clone();
                // No thread was woken for tasks whose delay has expired, or knows when the next one does.
                if has_news || (due > 0 && !state.ready.is_empty()) {
                    self.notify(state);
                }
                return Some((number, subject));
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

    /// Ends a turn, for a thread that does something else before it asks for the next task.
    pub(crate) fn reschedule(&self, number: u64, again: Reschedule) {
        let mut state = self.state.lock();
        state.finish_turn(number, again);
        self.notify_waiting(&state);
        if !state.ready.is_empty() {
            self.notify(state);
        }
    }

    fn notify_waiting(&self, state: &SchedulerState<T>) {
        if state.leaving > 0 {
            self.left.notify_all();
        }
        if state.is_over() {
            self.changed.notify_all();
        }
    }

    /// Closes the scheduler: the threads end once all tasks have left.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tasks: u64) -> FairScheduler<u64> {
        let scheduler = FairScheduler::default();
        (0..tasks).for_each(|number| scheduler.join(number, Arc::new(number)));
        scheduler
    }

    /// Ends the last turn of a thread and returns its next task.
    fn takes(scheduler: &FairScheduler<u64>, last: &mut Option<u64>, again: Reschedule) -> u64 {
        let (number, _) = scheduler.next(last.map(|number| (number, again))).expect("a task is ready");
        *last = Some(number);
        number
    }

    #[test]
    fn one_with_much_to_do_takes_turns_with_the_others() {
        let (scheduler, mut last) = (of(3), None);
        scheduler.wake(0);
        assert_eq!(takes(&scheduler, &mut last, Reschedule::Now), 0);
        scheduler.wake(1);
        scheduler.wake(2);
        scheduler.wake(1);
        // The first always wants more; the others come before it does again, in the order in which they asked.
        let order: Vec<u64> = (0..6).map(|_| takes(&scheduler, &mut last, Reschedule::Now)).collect();
        assert_eq!(order, [1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn what_is_asked_for_during_a_turn_is_not_forgotten() {
        let (scheduler, mut last) = (of(2), None);
        scheduler.wake(0);
        assert_eq!(takes(&scheduler, &mut last, Reschedule::Now), 0);
        scheduler.wake(1);
        scheduler.wake(0);
        assert_eq!(takes(&scheduler, &mut last, Reschedule::WhenWoken), 1);
        assert_eq!(takes(&scheduler, &mut last, Reschedule::WhenWoken), 0);
        scheduler.wake_after(1, Duration::from_nanos(1));
        assert_eq!(takes(&scheduler, &mut last, Reschedule::WhenWoken), 1);
    }

    #[test]
    fn one_that_is_to_wait_is_only_hurried_by_name() {
        let (scheduler, mut last) = (of(2), None);
        scheduler.wake(0);
        scheduler.wake(1);
        assert_eq!(takes(&scheduler, &mut last, Reschedule::Now), 0);
        scheduler.wake(0);
        let for_ever = Reschedule::After(Duration::from_secs(3_600));
        assert_eq!(takes(&scheduler, &mut last, for_ever), 1);
        scheduler.wake(0);
        scheduler.wake(1);
        assert_eq!(
            takes(&scheduler, &mut last, Reschedule::WhenWoken),
            1,
            "asking does not shorten the wait of the first"
        );
        scheduler.wake_now(0);
        assert_eq!(takes(&scheduler, &mut last, Reschedule::WhenWoken), 0);
        scheduler.wake_now(0);
        assert_eq!(takes(&scheduler, &mut last, for_ever), 0, "it was hurried while it had its turn");
    }

    #[test]
    fn it_ends_when_everybody_has_left() {
        let (scheduler, mut last) = (of(3), None);
        scheduler.close();
        scheduler.wake(0);
        scheduler.wake(1);
        scheduler.leave(2);
        scheduler.leave(1);
        assert_eq!(takes(&scheduler, &mut last, Reschedule::Now), 0);
        scheduler.wake(1);
        assert!(scheduler.next(Some((0, Reschedule::Never))).is_none());
    }

    #[test]
    fn a_worker_that_leaves_finishes_its_turn() {
        let scheduler = of(1);
        scheduler.wake(0);
        let (number, _) = scheduler.next(None).expect("it waits");
        std::thread::scope(|scope| {
            let leaving = scope.spawn(|| scheduler.leave(0));
            while scheduler.state.lock().leaving == 0 {
                std::thread::yield_now();
            }
            assert!(!leaving.is_finished());
            scheduler.reschedule(number, Reschedule::Now);
        });
        assert!(scheduler.state.lock().tasks.is_empty() && scheduler.state.lock().ready.is_empty());
    }
}
