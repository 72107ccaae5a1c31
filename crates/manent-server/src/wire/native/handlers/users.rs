//! User endpoints of a tenant.

use crate::app::App;
use crate::problem::ApiResult;
use crate::wire::native::extract::{Caller, Json, PathUser, Query};
use crate::wire::native::handlers::{Nothing, limit};
use crate::wire::native::operation::{Access, Operation, group};
use axum::extract::State;
use axum::http::Method;
use manent::Erasure;
use manent::model::User;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) fn operations() -> Vec<Operation> {
    const ONE: &str = "/users/{user}";
    let operations = vec![
        Operation::new(Method::GET, "/users", "listUsers", list)
            .access(Access::TenantAdmin)
            .summary("Lists the users of the tenant by id.")
            .library("users")
            .query::<ListParameters>()
            .response::<Users>(200),
        Operation::new(Method::GET, ONE, "getUser", get)
            .access(Access::TenantAdmin)
            .summary("Returns a user.")
            .library("user")
            .response::<User>(200),
        Operation::new(Method::PUT, ONE, "putUser", put)
            .access(Access::TenantAdmin)
            .summary("Adds a user by the id of your own system, or changes the name of one.")
            .library("put_user")
            .body::<NewUser>()
            .response::<User>(200),
        Operation::new(Method::POST, "/users/{user}/erase", "eraseUser", erase)
            .access(Access::TenantAdmin)
            .summary(
                "Erases the content and data of a user: conversations without other members, messages in others, drafts, keys, personal details in the audit log, and managed backups that contain them. Returns a receipt.",
            )
            .library("erase_user")
            .body::<Nothing>()
            .response::<Erasure>(200)
            .no_timeout(),
    ];
    group("Users", operations)
}

/// Query parameters of the user list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// Only users after this one.
    #[schemars(length(max = 200))]
    after: Option<String>,
    /// Maximum number of users; 50 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// A page of users.
#[derive(Debug, Serialize, JsonSchema)]
struct Users {
    /// The users; the next page begins after the last of them.
    users: Vec<User>,
}

/// Properties of a user.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewUser {
    /// Display name.
    #[serde(default)]
    #[schemars(length(max = 200))]
    name: String,
}

async fn list(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(asked): Query<ListParameters>,
) -> ApiResult<axum::Json<Users>> {
    let users = app.tenants.users(asker.tenant, asked.after.as_deref(), limit(asked.limit)?).await?;
    Ok(axum::Json(Users { users }))
}

async fn get(State(app): State<App>, Caller(asker): Caller, PathUser(user): PathUser) -> ApiResult<axum::Json<User>> {
    Ok(axum::Json(app.tenants.user(asker.tenant, &user).await?))
}

async fn put(
    State(app): State<App>,
    Caller(asker): Caller,
    PathUser(user): PathUser,
    Json(new): Json<NewUser>,
) -> ApiResult<axum::Json<User>> {
    Ok(axum::Json(app.tenants.put_user(asker.tenant, &user, &new.name, asker.audit_subject).await?))
}

async fn erase(
    State(app): State<App>,
    Caller(asker): Caller,
    PathUser(user): PathUser,
    _: Json<Nothing>,
) -> ApiResult<axum::Json<Erasure>> {
    Ok(axum::Json(app.tenants.erase_user(asker.tenant, &user, asker.audit_subject).await?))
}
