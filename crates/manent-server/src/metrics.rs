//! Metrics in the Prometheus text format: labelled by tenant, never by user content.

use crate::app::App;
use crate::auth::principal::{Credential, Principal};
use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use manent::model::TenantId;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// Upper bounds of the latency histogram in seconds; one more bucket takes the rest.
const BOUNDS: [f64; 9] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

/// Counters by tenant.
#[derive(Default)]
pub struct Metrics {
    tenants: Mutex<BTreeMap<TenantId, OperationMetrics>>,
}

/// Counters of one tenant.
#[derive(Default, Clone)]
struct OperationMetrics {
    /// Responses by the first digit of their status.
    answers: BTreeMap<u16, u64>,
    /// Latency histogram.
    took: [u64; BOUNDS.len() + 1],
    seconds: f64,
}

impl Metrics {
    /// Counts a response.
    pub fn count(&self, tenant: TenantId, status: u16, took: Duration) {
        let mut tenants = self.tenants.lock();
        let counted = tenants.entry(tenant).or_default();
        *counted.answers.entry(status / 100).or_default() += 1;
        let seconds = took.as_secs_f64();
        counted.took[BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len())] += 1;
        counted.seconds += seconds;
    }

    fn of(&self, only: Option<TenantId>) -> Vec<(TenantId, OperationMetrics)> {
        let tenants = self.tenants.lock();
        let wanted = tenants.iter().filter(|(tenant, _)| only.is_none_or(|only| only == **tenant));
        wanted.map(|(tenant, counted)| (*tenant, counted.clone())).collect()
    }
}

/// Handler of the metrics endpoint: all tenants for the server token, the own tenant for a key.
pub async fn metrics(State(app): State<App>, Extension(principal): Extension<Principal>) -> Response {
    let only = match principal.credential {
        Credential::Token => None,
        Credential::Key(_) => Some(principal.tenant),
    };
    let mut text = String::new();
    requests(&mut text, &app.metrics.of(only));
    let is_wanted = |tenant: &Option<TenantId>| only.is_none() || *tenant == only;
    gauge(&mut text, "manent_requests_under_way", "Requests that are being answered.", &app.requests.held(), is_wanted);
    gauge(&mut text, "manent_live_tails", "Live tails that are open.", &app.tails.held(), is_wanted);
    stores(&mut text, &app, only);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// Writes the header of a metric; writing to a string cannot fail.
fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn requests(text: &mut String, counted: &[(TenantId, OperationMetrics)]) {
    head(text, "manent_requests_total", "counter", "Requests by the first digit of their status.");
    for (tenant, counted) in counted {
        for (class, count) in &counted.answers {
            let _ = writeln!(text, "manent_requests_total{{tenant=\"{tenant}\",status=\"{class}xx\"}} {count}");
        }
    }
    head(text, "manent_request_seconds", "histogram", "How long requests took until their answer began.");
    for (tenant, counted) in counted {
        let mut sum = 0;
        for (place, count) in counted.took.iter().enumerate() {
            sum += count;
            let bound = BOUNDS.get(place).map_or("+Inf".to_owned(), f64::to_string);
            let _ = writeln!(text, "manent_request_seconds_bucket{{tenant=\"{tenant}\",le=\"{bound}\"}} {sum}");
        }
        let _ = writeln!(text, "manent_request_seconds_sum{{tenant=\"{tenant}\"}} {}", counted.seconds);
        let _ = writeln!(text, "manent_request_seconds_count{{tenant=\"{tenant}\"}} {sum}");
    }
}

fn gauge(
    text: &mut String,
    name: &str,
    help: &str,
    held: &[(Option<TenantId>, usize)],
    is_wanted: impl Fn(&Option<TenantId>) -> bool,
) {
    head(text, name, "gauge", help);
    for (tenant, count) in held.iter().filter(|(tenant, _)| is_wanted(tenant)) {
        let tenant = tenant.map(|tenant| tenant.to_string()).unwrap_or_default();
        let _ = writeln!(text, "{name}{{tenant=\"{tenant}\"}} {count}");
    }
}

/// Writes the gauges of the open stores.
fn stores(text: &mut String, app: &App, only: Option<TenantId>) {
    let open: Vec<_> =
        app.tenants.open_databases().into_iter().filter(|(id, _)| only.is_none_or(|only| only == *id)).collect();
    head(text, "manent_store_position", "counter", "The last position of the journal.");
    for (tenant, database) in &open {
        let _ = writeln!(text, "manent_store_position{{tenant=\"{tenant}\"}} {}", database.position());
    }
    head(text, "manent_index_waiting", "gauge", "What is stored and not yet in the index.");
    for (tenant, database) in &open {
        let _ = writeln!(text, "manent_index_waiting{{tenant=\"{tenant}\"}} {}", database.indexed().waiting);
    }
}
