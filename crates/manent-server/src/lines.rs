//! Fair queue per tenant: a few requests of each tenant run concurrently, its others wait in its own queue. So no
//! tenant waits behind the backlog of another. [`Plan`] sets the limits.

use manent::model::TenantId;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Concurrency limits of the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Shared by the recently active tenants.
    at_work: usize,
    /// Minimum per tenant, however many tenants are active.
    at_least: usize,
    /// Maximum for a tenant that is the only active one.
    alone: usize,
    /// Maximum over all tenants.
    in_all: usize,
    /// A request that runs longer is assumed to wait for something, and stops counting against its tenant.
    long: Option<Duration>,
}

impl Plan {
    /// For all requests: a tenant that is the only active one is not limited.
    pub const REQUESTS: Self =
        Self { at_work: 8, at_least: 2, alone: usize::MAX, in_all: usize::MAX, long: Some(LONG) };

    /// For reads with responses as large as a page: limiting their number bounds the memory they hold.
    pub const LARGE_READS: Self = Self { at_work: 8, at_least: 1, alone: 8, in_all: 8, long: None };
}

/// A tenant counts as active for this long after its last request.
const LATELY: Duration = Duration::from_secs(1);

/// Interval of the sweep for inactive tenants.
const LOOK: Duration = Duration::from_millis(100);

const LONG: Duration = Duration::from_millis(50);

/// The queues of all tenants.
pub struct Lines {
    plan: Plan,
    state: Mutex<State>,
}

struct State {
    lines: HashMap<TenantId, Line>,
    looked: Instant,
}

/// The queue of one tenant.
struct Line {
    at_work: usize,
    waiting: VecDeque<oneshot::Sender<Turn>>,
    last: Instant,
}

/// Permit of a running request; the next request of its queue runs when this is dropped.
struct Turn {
    lines: Arc<Lines>,
    tenant: TenantId,
}

impl Line {
    fn new() -> Self {
        Self { at_work: 0, waiting: VecDeque::new(), last: Instant::now() }
    }

    fn is_over(&self) -> bool {
        self.at_work == 0 && self.waiting.is_empty() && self.last.elapsed() > LATELY
    }
}

impl State {
    /// Concurrency limit of one tenant.
    fn most(&self, plan: &Plan) -> usize {
        match self.lines.len() {
            0 | 1 => plan.alone,
            several => (plan.at_work / several).max(plan.at_least),
        }
    }

    fn at_work(&self) -> usize {
        self.lines.values().map(|line| line.at_work).sum()
    }

    fn look(&mut self) {
        if self.looked.elapsed() > LOOK {
            self.lines.retain(|_, line| !line.is_over());
            self.looked = Instant::now();
        }
    }
}

impl Lines {
    /// Creates empty queues.
    pub fn new(plan: Plan) -> Arc<Self> {
        Arc::new(Self { plan, state: Mutex::new(State { lines: HashMap::new(), looked: Instant::now() }) })
    }

    /// Runs a request when it is its tenant's turn.
    pub async fn work<T>(self: &Arc<Self>, tenant: TenantId, work: impl Future<Output = T>) -> T {
        let turn = self.turn(tenant).await;
        let Some(long) = self.plan.long else { return work.await };
        let mut work = std::pin::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(long) => {}
        }
        drop(turn);
        work.await
    }

    /// Waits until one more request of this tenant may run.
    async fn turn(self: &Arc<Self>, tenant: TenantId) -> Turn {
        let waiting = {
            let mut state = self.lock();
            state.look();
            let line = state.lines.entry(tenant).or_insert_with(Line::new);
            line.last = Instant::now();
            let (sender, waiting) = oneshot::channel();
            line.waiting.push_back(sender);
            waiting
        };
        self.call(tenant);
        // A request leaves the queue only by getting its permit.
        waiting.await.expect("whoever waits in a line gets a turn")
    }

    /// Hands permits to the first requests of a queue, up to the limits.
    fn call(self: &Arc<Self>, tenant: TenantId) {
        while let Some(next) = self.next(tenant) {
            // A request that was cancelled meanwhile returns its permit at once.
            drop(next.send(Turn { lines: self.clone(), tenant }));
        }
    }

    fn next(&self, tenant: TenantId) -> Option<oneshot::Sender<Turn>> {
        let mut state = self.lock();
        let most = state.most(&self.plan);
        if self.plan.in_all != usize::MAX && state.at_work() >= self.plan.in_all {
            return None;
        }
        let line = state.lines.get_mut(&tenant).filter(|line| line.at_work < most)?;
        let next = std::iter::from_fn(|| line.waiting.pop_front()).find(|next| !next.is_closed())?;
        line.at_work += 1;
        Some(next)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(line) = self.lines.lock().lines.get_mut(&self.tenant) {
            line.at_work -= 1;
            line.last = Instant::now();
        }
        self.lines.call(self.tenant);
        if self.lines.plan.in_all != usize::MAX {
            // The first request of another queue may have waited for the total limit.
            let others: Vec<TenantId> = self.lines.lock().lines.keys().copied().collect();
            others.into_iter().for_each(|tenant| self.lines.call(tenant));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    const AT_WORK: usize = Plan::REQUESTS.at_work;

    fn tenant(number: u8) -> TenantId {
        TenantId::new(1, [number; 10])
    }

    /// Enqueues requests of a tenant; returns the permits that were granted and the requests that wait.
    fn come(lines: &Arc<Lines>, tenant: TenantId, many: usize) -> (Vec<Turn>, Vec<impl Future<Output = Turn> + Unpin>) {
        let (mut served, mut waiting) = (Vec::new(), Vec::new());
        for _ in 0..many {
            let lines = lines.clone();
            let mut one = Box::pin(async move { lines.turn(tenant).await });
            match (&mut one).now_or_never() {
                Some(turn) => served.push(turn),
                None => waiting.push(one),
            }
        }
        (served, waiting)
    }

    #[test]
    fn a_tenant_alone_waits_for_nobody() {
        let lines = Lines::new(Plan::REQUESTS);
        let (served, waiting) = come(&lines, tenant(1), 100);
        assert_eq!((served.len(), waiting.len()), (100, 0));
    }

    #[test]
    fn beside_another_each_has_its_share_and_its_line_moves_on() {
        let lines = Lines::new(Plan::REQUESTS);
        let (one, _) = come(&lines, tenant(1), 1);
        let (mut busy, mut waiting) = come(&lines, tenant(2), 100);
        assert_eq!((busy.len(), waiting.len()), (AT_WORK / 2, 100 - AT_WORK / 2));
        let (quiet, none) = come(&lines, tenant(1), AT_WORK / 2 - 1);
        assert_eq!((quiet.len(), none.len()), (AT_WORK / 2 - 1, 0));
        drop(busy.pop());
        let next = (&mut waiting[0]).now_or_never();
        assert!(next.is_some(), "the first of the line comes next");
        assert!((&mut waiting[1]).now_or_never().is_none());
        drop((one, quiet));
    }

    #[test]
    fn who_went_away_takes_no_turn() {
        let lines = Lines::new(Plan::REQUESTS);
        let (_one, _) = come(&lines, tenant(1), 1);
        let (mut busy, mut waiting) = come(&lines, tenant(2), AT_WORK / 2 + 3);
        // The first is dropped before it gets its permit, the second after.
        drop(waiting.remove(0));
        drop(busy.pop());
        drop(waiting.remove(0));
        assert!((&mut waiting[0]).now_or_never().is_some());
        assert_eq!(lines.lock().lines[&tenant(2)].at_work, AT_WORK / 2 - 1);
    }

    #[tokio::test]
    async fn what_takes_long_keeps_no_other_waiting() {
        let lines = Lines::new(Plan::REQUESTS);
        let (_one, _) = come(&lines, tenant(1), 1);
        let slow = futures_util::future::join_all((0..20).map(|_| lines.work(tenant(2), std::future::pending::<()>())));
        let quick = lines.work(tenant(2), async {});
        let done = tokio::time::timeout(Duration::from_secs(60), async {
            tokio::select! {
                _ = slow => {}
                () = quick => {}
            }
        });
        assert!(done.await.is_ok(), "twenty that wait for something keep one waiting");
    }

    #[test]
    fn who_was_not_there_lately_counts_no_more() {
        let lines = Lines::new(Plan::REQUESTS);
        drop(come(&lines, tenant(1), 1));
        {
            let mut state = lines.lock();
            let long_ago = Instant::now().checked_sub(2 * LATELY).expect("the machine runs longer");
            state.looked = long_ago;
            state.lines.values_mut().for_each(|line| line.last = long_ago);
        }
        let (served, waiting) = come(&lines, tenant(2), 100);
        assert_eq!((served.len(), waiting.len()), (100, 0));
    }
}
