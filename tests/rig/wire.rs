//! A wire to a server that can be cut: what is sent into it is held back until it is mended, as in a network that drops packets.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long its end may be away when a connection is made: a server that is started again.
const AWAY: Duration = Duration::from_secs(1);

pub struct Wire {
    address: SocketAddr,
    is_cut: watch::Sender<bool>,
    taking: JoinHandle<()>,
}

// === impl Wire ===

impl Wire {
    /// From a port of its own to that of a server on this machine.
    pub async fn to(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let is_cut = watch::Sender::new(false);
        let state = is_cut.clone();
        let taking = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(join(connection, port, state.subscribe()));
            }
        });
        Self { address, is_cut, taking }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    pub fn mend(&self) {
        self.is_cut.send_replace(false);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.taking.abort();
    }
}

async fn join(near: TcpStream, port: u16, mut is_cut: watch::Receiver<bool>) {
    if is_cut.wait_for(|is_cut| !is_cut).await.is_err() {
        return;
    }
    let far = tokio::time::timeout(AWAY, TcpStream::connect((Ipv4Addr::LOCALHOST, port))).await;
    let Ok(Ok(far)) = far else { return };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    // Either is enough: when one side has closed, so does the other.
    tokio::select! {
        () = pass(near_in, far_out, is_cut.clone()) => {}
        () = pass(far_in, near_out, is_cut) => {}
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut is_cut: watch::Receiver<bool>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count) = from.read(&mut buffer).await {
        if count == 0 || is_cut.wait_for(|is_cut| !is_cut).await.is_err() {
            return;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
