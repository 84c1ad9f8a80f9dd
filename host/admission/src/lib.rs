//! Resources that tenants share: a bound in all, and a lower one for each tenant.
//!
//! A [`Pool`] refuses at once what does not fit; a [`Gate`] lets it wait for its turn; [`Turns`] are turns of the processor. Either way a tenant that asks for more
//! than its share is refused or waits behind itself, and the others do not notice.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure, wait and spawn as they like"))]

mod gate;
mod load;
mod own_thread;
mod pool;
mod share;
mod turns;

pub use gate::{Bounds, Gate, Permit};
pub use own_thread::on_own_thread;
pub use pool::{Pool, Taken};
pub use share::{Full, Scope, Share, ShareError};
pub use turns::{InTurns, Turn, TurnOwner, Turns};

/// For maps that every request looks things up in: seeded, and several times as fast as the standard hasher.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
