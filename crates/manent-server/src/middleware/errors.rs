//! Renders errors in the shape of the wire that the request belongs to.

use crate::middleware::context::RequestContext;
use crate::problem::Problem;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;

/// Renders the problem of an error response.
pub async fn errors(request: Request, next: Next) -> Response {
    let wire = RequestContext::of(&request).ok().map(|context| context.wire);
    let response = next.run(request).await;
    match (wire, response.extensions().get::<Problem>()) {
        (Some(wire), Some(problem)) => {
            let problem = problem.clone();
            let mut rendered = (wire.error)(&problem);
            rendered.extensions_mut().insert(problem);
            rendered
        }
        _ => response,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::middleware::context::RequestContext;
    use crate::wire::Wire;
    use crate::wire::native::NATIVE;
    use crate::wire::native::operation::Access;
    use axum::Router;
    use axum::body::Body;
    use axum::middleware::from_fn;
    use axum::response::IntoResponse;
    use axum::routing::get;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    /// A wire with another error shape.
    static OTHER: Wire = Wire {
        prefix: "/v1",
        error: |problem| (axum::http::StatusCode::IM_A_TEAPOT, format!("error: {}", problem.code)).into_response(),
        ..NATIVE
    };

    async fn body_of(wire: &'static Wire) -> (u16, String) {
        let router =
            Router::new().route("/", get(|| async { Problem::invalid("no").into_response() })).layer(from_fn(errors));
        let context = RequestContext {
            route: None,
            rule: None,
            wire,
            access: Access::Public,
            address: None,
            tenant: Default::default(),
        };
        let mut request = Request::new(Body::empty());
        request.extensions_mut().insert(context);
        let response = router.oneshot(request).await.expect("infallible");
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("a small body").to_bytes();
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }

    #[tokio::test]
    async fn error_shape_is_that_of_the_wire() {
        let (status, body) = body_of(&NATIVE).await;
        assert_eq!(status, 400);
        assert!(body.contains("urn:manent:problem:invalid"), "{body}");
        assert_eq!(body_of(&OTHER).await, (418, "error: invalid".to_owned()));
    }
}
