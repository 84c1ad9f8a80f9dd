//! Ports that stay free while they have no listener.

use std::net::TcpListener;

/// A free port below those the kernel gives to outgoing connections: between two starts of a server no process takes it,
/// not even a client that keeps connecting to it and would be connected to itself.
pub fn lasting_port() -> u16 {
    const TRIES: usize = 1000;
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let tried = std::iter::repeat_with(|| fastrand::u16(10_000..30_000)).take(TRIES);
    tried.into_iter().find(is_free).expect("a free port")
}
