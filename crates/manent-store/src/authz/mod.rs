//! Authorization layer: what a key may read and change.
//!
//! Every access to rows goes through a [`StoreView`]: code that holds only a view cannot reach a row in another way. An
//! object outside the access scope of the view looks like one that does not exist. In reading order:

#![expect(private_bounds, reason = "engines are sealed: the view names them, only this crate makes them")]

mod required_scope;
mod references;
mod constrain;
mod blob_possession;
mod commit;
mod store;

pub use store::StoreView;
