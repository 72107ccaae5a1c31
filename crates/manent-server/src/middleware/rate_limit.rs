//! Rate limits of API keys and of client addresses.

use crate::app::App;
use crate::auth::Authenticated;
use crate::auth::principal::Credential;
use crate::limits::rate::{Rate, RateLimiter};
use crate::middleware::context::RequestContext;
use crate::options::Limits;
use crate::problem::{ApiResult, Problem};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use manent::model::KeyId;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// The rate limiters.
#[derive(Default)]
pub struct RateLimits {
    keys: RateLimiter<KeyId>,
    addresses: RateLimiter<IpAddr>,
    /// Failed authentications by address.
    refusals: RateLimiter<IpAddr>,
}

impl RateLimits {
    /// Counts a request of a key. The server token has no limit: its owner could also stop the server.
    pub fn check(&self, limits: &Limits, who: &Credential, address: Option<IpAddr>) -> ApiResult<()> {
        let Credential::Key(key) = who else { return Ok(()) };
        let now = Instant::now();
        let rate = match key.key.rate {
            Some(per_second) => Rate::with_burst(per_second, 2),
            None => limits.key,
        };
        self.keys.check(key.key.id, rate, now).map_err(too_often)?;
        match address.map(network) {
            Some(address) => self.addresses.check(address, limits.address, now).map_err(too_often),
            None => Ok(()),
        }
    }

    /// Counts a failed authentication.
    pub fn check_refusal(&self, limits: &Limits, address: IpAddr) -> ApiResult<()> {
        self.refusals.check(network(address), limits.refusals, Instant::now()).map_err(too_often)
    }
}

/// Applies the rate limits.
pub async fn rate_limit(State(app): State<App>, request: Request, next: Next) -> Response {
    let address = RequestContext::of(&request).ok().and_then(|context| context.address);
    let caller = request.extensions().get::<Authenticated>();
    match caller.map_or(Ok(()), |caller| app.rates.check(&app.limits, &caller.who, address)) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// Returns the network of an address: an IPv6 client controls a whole /64.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => IpAddr::V4(address),
            None => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        },
        IpAddr::V4(_) => address,
    }
}

fn too_often(wait: Duration) -> Problem {
    let seconds = u16::try_from(wait.as_secs() + 1).unwrap_or(u16::MAX);
    let why = format!("too many requests; try again in {seconds} s");
    Problem { wait: seconds, ..Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_often", why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_count_as_one() {
        let of = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(of("2001:db8:1:2:3::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.7"), of("192.0.2.7"));
        assert_ne!(of("192.0.2.7"), of("192.0.2.8"));
    }
}
