//! Fair queue per tenant: a few requests of each tenant run concurrently, its others wait in its own queue. So no
//! tenant waits behind the backlog of another. [`FairQueueOptions`] sets the limits.

use manent::model::TenantId;
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Concurrency limits of the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FairQueueOptions {
    /// Shared by the recently active tenants.
    running: usize,
    /// Minimum per tenant, however many tenants are active.
    tenant_min: usize,
    /// Maximum for a tenant that is the only active one.
    tenant_max: usize,
    /// Maximum over all tenants.
    total_max: usize,
    /// A request that runs longer is assumed to wait for something, and stops counting against its tenant.
    long: Option<Duration>,
}

impl FairQueueOptions {
    /// For all requests: a tenant that is the only active one is not limited.
    pub const REQUESTS: Self =
        Self { running: 8, tenant_min: 2, tenant_max: usize::MAX, total_max: usize::MAX, long: Some(LONG) };

    /// For reads with responses as large as a page: limiting their number bounds the memory they hold.
    pub const LARGE_READS: Self = Self { running: 8, tenant_min: 1, tenant_max: 8, total_max: 8, long: None };
}

/// A tenant counts as active for this long after its last request.
const ACTIVE_WINDOW: Duration = Duration::from_secs(1);

/// Interval of the sweep for inactive tenants.
const CLEANUP_INTERVAL: Duration = Duration::from_millis(100);

const LONG: Duration = Duration::from_millis(50);

/// The queues of all tenants.
pub struct FairQueue {
    options: FairQueueOptions,
    state: Mutex<QueueState>,
}

struct QueueState {
    tenants: HashMap<TenantId, TenantQueue>,
    cleaned_at: Instant,
}

/// The queue of one tenant.
struct TenantQueue {
    running: usize,
    waiting: VecDeque<oneshot::Sender<QueuePermit>>,
    last: Instant,
}

/// Permit of a running request; the next request of its queue runs when this is dropped.
struct QueuePermit {
    tenants: Arc<FairQueue>,
    tenant: TenantId,
}

impl TenantQueue {
    fn new() -> Self {
        Self { running: 0, waiting: VecDeque::new(), last: Instant::now() }
    }

    fn is_over(&self) -> bool {
        self.running == 0 && self.waiting.is_empty() && self.last.elapsed() > ACTIVE_WINDOW
    }
}

impl QueueState {
    /// Concurrency limit of one tenant.
    fn most(&self, plan: &FairQueueOptions) -> usize {
        match self.tenants.len() {
            0 | 1 => plan.tenant_max,
            several => (plan.running / several).max(plan.tenant_min),
        }
    }

    fn running_total(&self) -> usize {
        self.tenants.values().map(|line| line.running).sum()
    }

    fn clean_up(&mut self) {
        if self.cleaned_at.elapsed() > CLEANUP_INTERVAL {
            self.tenants.retain(|_, line| !line.is_over());
            self.cleaned_at = Instant::now();
        }
    }
}

impl FairQueue {
    /// Creates empty queues.
    pub fn new(options: FairQueueOptions) -> Arc<Self> {
        Arc::new(Self {
            options,
            state: Mutex::new(QueueState { tenants: HashMap::new(), cleaned_at: Instant::now() }),
        })
    }

    /// Runs a request when it is its tenant's turn.
    pub async fn run<T>(self: &Arc<Self>, tenant: TenantId, work: impl Future<Output = T>) -> T {
        let turn = self.acquire(tenant).await;
        let Some(long) = self.options.long else { return work.await };
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
    async fn acquire(self: &Arc<Self>, tenant: TenantId) -> QueuePermit {
        let waiting = {
            let mut state = self.lock();
            state.clean_up();
            let line = state.tenants.entry(tenant).or_insert_with(TenantQueue::new);
            line.last = Instant::now();
            let (sender, waiting) = oneshot::channel();
            line.waiting.push_back(sender);
            waiting
        };
        self.call(tenant);
        // A request leaves the queue only by getting its permit.
        waiting.await.expect("every queued request is admitted")
    }

    /// Hands permits to the first requests of a queue, up to the limits.
    fn call(self: &Arc<Self>, tenant: TenantId) {
        while let Some(next) = self.next(tenant) {
            // A request that was cancelled meanwhile returns its permit at once.
            drop(next.send(QueuePermit { tenants: self.clone(), tenant }));
        }
    }

    fn next(&self, tenant: TenantId) -> Option<oneshot::Sender<QueuePermit>> {
        let mut state = self.lock();
        let most = state.most(&self.options);
        if self.options.total_max != usize::MAX && state.running_total() >= self.options.total_max {
            return None;
        }
        let line = state.tenants.get_mut(&tenant).filter(|line| line.running < most)?;
        let next = std::iter::from_fn(|| line.waiting.pop_front()).find(|next| !next.is_closed())?;
        line.running += 1;
        Some(next)
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }
}

impl Drop for QueuePermit {
    fn drop(&mut self) {
        if let Some(line) = self.tenants.lock().tenants.get_mut(&self.tenant) {
            line.running -= 1;
            line.last = Instant::now();
        }
        self.tenants.call(self.tenant);
        if self.tenants.options.total_max != usize::MAX {
            // The first request of another queue may have waited for the total limit.
            let others: Vec<TenantId> = self.tenants.lock().tenants.keys().copied().collect();
            others.into_iter().for_each(|tenant| self.tenants.call(tenant));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    const AT_WORK: usize = FairQueueOptions::REQUESTS.running;

    fn tenant(number: u8) -> TenantId {
        TenantId::new(1, [number; 10])
    }

    /// Enqueues requests of a tenant; returns the permits that were granted and the requests that wait.
    fn come(
        lines: &Arc<FairQueue>,
        tenant: TenantId,
        many: usize,
    ) -> (Vec<QueuePermit>, Vec<impl Future<Output = QueuePermit> + Unpin>) {
        let (mut served, mut waiting) = (Vec::new(), Vec::new());
        for _ in 0..many {
            let lines = lines.clone();
            let mut one = Box::pin(async move { lines.acquire(tenant).await });
            match (&mut one).now_or_never() {
                Some(turn) => served.push(turn),
                None => waiting.push(one),
            }
        }
        (served, waiting)
    }

    #[test]
    fn a_single_tenant_does_not_wait() {
        let lines = FairQueue::new(FairQueueOptions::REQUESTS);
        let (served, waiting) = come(&lines, tenant(1), 100);
        assert_eq!((served.len(), waiting.len()), (100, 0));
    }

    #[test]
    fn beside_another_each_has_its_share_and_its_line_moves_on() {
        let lines = FairQueue::new(FairQueueOptions::REQUESTS);
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
        let lines = FairQueue::new(FairQueueOptions::REQUESTS);
        let (_one, _) = come(&lines, tenant(1), 1);
        let (mut busy, mut waiting) = come(&lines, tenant(2), AT_WORK / 2 + 3);
        // The first is dropped before it gets its permit, the second after.
        drop(waiting.remove(0));
        drop(busy.pop());
        drop(waiting.remove(0));
        assert!((&mut waiting[0]).now_or_never().is_some());
        assert_eq!(lines.lock().tenants[&tenant(2)].running, AT_WORK / 2 - 1);
    }

    #[tokio::test]
    async fn what_takes_long_keeps_no_other_waiting() {
        let lines = FairQueue::new(FairQueueOptions::REQUESTS);
        let (_one, _) = come(&lines, tenant(1), 1);
        let slow = futures_util::future::join_all((0..20).map(|_| lines.run(tenant(2), std::future::pending::<()>())));
        let quick = lines.run(tenant(2), async {});
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
        let lines = FairQueue::new(FairQueueOptions::REQUESTS);
        drop(come(&lines, tenant(1), 1));
        {
            let mut state = lines.lock();
            let long_ago = Instant::now().checked_sub(2 * ACTIVE_WINDOW).expect("the machine runs longer");
            state.cleaned_at = long_ago;
            state.tenants.values_mut().for_each(|line| line.last = long_ago);
        }
        let (served, waiting) = come(&lines, tenant(2), 100);
        assert_eq!((served.len(), waiting.len()), (100, 0));
    }
}
