//! Reads the idempotency key of a write, or generates one, and returns it with the response.

use crate::problem::Problem;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Documented in the API description.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

const KEY_MAX: usize = 200;

/// The idempotency key of a write.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    pub text: String,
    /// Whether the client sent it, so that the request may be retried; otherwise the server generated it.
    pub is_given: bool,
}

/// Adds the [`IdempotencyKey`] of a write to its request and its response.
pub async fn idempotency_key(mut request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let key = match key_of(request.headers()) {
        Ok(key) => key,
        Err(problem) => return problem.into_response(),
    };
    request.extensions_mut().insert(key.clone());
    let mut response = next.run(request).await;
    if let Ok(key) = HeaderValue::from_str(&key.text) {
        response.headers_mut().insert(IDEMPOTENCY_KEY, key);
    }
    response
}

fn key_of(headers: &HeaderMap) -> Result<IdempotencyKey, Problem> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else {
        return Ok(IdempotencyKey { text: manent::request_key(), is_given: false });
    };
    match value.to_str() {
        Ok(text) if (1..=KEY_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(IdempotencyKey { text: text.to_owned(), is_given: true })
        }
        _ => Err(Problem::invalid("an Idempotency-Key has 1 to 200 visible ASCII characters")),
    }
}
