//! A cluster: which node has which slot, and what to do when that changes.
//!
//! Nodes fail independently: a call waits for its own node alone, and the map of slots is read again in the background,
//! from any node that answers. The map only says where to ask first; the nodes themselves redirect.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use ::redis::{
    Arg, Cmd, ConnectionInfo, ErrorKind, RedisError, RedisResult, ServerErrorKind, Value, cmd, from_redis_value,
};

use super::address::{self, Address};
use super::node::{Ears, How, Node};
use crate::Error;

pub(super) const SLOTS: u16 = 16384;
/// One call follows so many redirections: a slot that is being moved needs two.
const REDIRECTIONS: usize = 4;
const MAP_TIMEOUT: Duration = Duration::from_millis(700);
/// While a node is gone every call to it asks for a new map.
const MAP_AGE: Duration = Duration::from_millis(200);

pub(super) struct Cluster {
    address: Address,
    /// How to connect to any of the nodes.
    template: ConnectionInfo,
    ears: Arc<Ears>,
    answer_timeout: Duration,
    nodes: Mutex<HashMap<String, Arc<Node>>>,
    /// The last slot of each range, in order, and its node.
    map: RwLock<Vec<(u16, Arc<Node>)>>,
    asked_at: tokio::sync::Mutex<Option<Instant>>,
    /// Where messages are listened to: nodes pass them on to each other, so any will do.
    listening: Mutex<Option<Arc<Node>>>,
}

// === impl Cluster ===

impl Cluster {
    pub(super) async fn open(
        address: Address,
        seeds: &[ConnectionInfo],
        ears: Arc<Ears>,
        answer_timeout: Duration,
    ) -> Result<Arc<Self>, Error> {
        let template = seeds.first().cloned().ok_or(Error::Address(None))?;
        let cluster = Self {
            address,
            template,
            ears,
            answer_timeout,
            nodes: Mutex::default(),
            map: RwLock::default(),
            asked_at: tokio::sync::Mutex::default(),
            listening: Mutex::default(),
        };
        for seed in seeds {
            cluster.node(&address::place(seed))?;
        }
        cluster.read_map().await?;
        Ok(Arc::new(cluster))
    }

    /// At the owner of the slot; what is about none is asked where messages are listened to.
    pub(super) async fn ask(self: &Arc<Self>, slot: Option<u16>, command: &Cmd, how: How) -> RedisResult<Value> {
        let mut node = match slot {
            Some(slot) => self.owner(slot).ok_or_else(no_owner)?,
            None => self.listening_node().await?,
        };
        let mut is_asking = false;
        for _ in 0..REDIRECTIONS {
            let answered =
                if is_asking { node.ask_after(&cmd("ASKING"), command).await } else { node.call(command, how).await };
            let Err(error) = answered else { return answered };
            let to = match (error.kind(), error.redirect_node()) {
                (ErrorKind::Server(ServerErrorKind::Moved), Some((place, _))) => place.to_owned(),
                (ErrorKind::Server(ServerErrorKind::Ask), Some((place, _))) => place.to_owned(),
                _ => {
                    if error.is_io_error() {
                        self.read_map_soon();
                    }
                    return Err(error);
                }
            };
            is_asking = error.kind() == ErrorKind::Server(ServerErrorKind::Ask);
            if !is_asking {
                self.read_map_soon();
            }
            node = self.node(&to).map_err(|_| error)?;
        }
        Err(no_owner())
    }

    pub(super) async fn subscribe(&self, channel: &str) -> RedisResult<()> {
        self.ears.add(channel);
        self.listening_node().await?.subscribe(channel).await
    }

    pub(super) async fn unsubscribe(&self, channel: &str) -> RedisResult<()> {
        self.ears.remove(channel);
        self.listening_node().await?.unsubscribe(channel).await
    }

    /// One node for every owner of slots: what the operator asks each of them.
    pub(super) fn owners(&self) -> Vec<(String, Arc<Node>)> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let is_owner = |node: &Arc<Node>| map.iter().any(|(_, owner)| Arc::ptr_eq(owner, node));
        let nodes = self.lock_nodes();
        let mut owners: Vec<_> = nodes.iter().filter(|(_, node)| is_owner(node)).collect();
        owners.sort_by_key(|(place, _)| *place);
        owners.into_iter().map(|(place, node)| (place.clone(), node.clone())).collect()
    }

    /// The one that is listened at, or when it is gone another one.
    async fn listening_node(&self) -> RedisResult<Arc<Node>> {
        let listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(node) = listening.filter(|node| node.is_connected()) {
            return Ok(node);
        }
        let mut failure = no_owner();
        for (_, node) in self.owners() {
            match node.listen().await {
                Ok(()) => {
                    let before = self.listening.lock().unwrap_or_else(PoisonError::into_inner).replace(node.clone());
                    if let Some(before) = before.filter(|before| !Arc::ptr_eq(before, &node)) {
                        before.stop_listening();
                    }
                    return Ok(node);
                }
                Err(error) => {
                    node.stop_listening();
                    failure = error;
                }
            }
        }
        Err(failure)
    }

    fn owner(&self, slot: u16) -> Option<Arc<Node>> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let at = map.partition_point(|(last, _)| *last < slot);
        map.get(at).map(|(_, node)| node.clone())
    }

    fn node(&self, place: &str) -> Result<Arc<Node>, Error> {
        if let Some(node) = self.lock_nodes().get(place) {
            return Ok(node.clone());
        }
        let (host, port) = place.rsplit_once(':').ok_or(Error::Address(None))?;
        let port = port.parse().map_err(|_| Error::Address(None))?;
        let client = self.address.client(address::at(&self.template, host, port))?;
        let node = Arc::new(Node::new(client, self.ears.clone(), self.answer_timeout));
        Ok(self.lock_nodes().entry(place.to_owned()).or_insert(node).clone())
    }

    fn lock_nodes(&self) -> MutexGuard<'_, HashMap<String, Arc<Node>>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[expect(clippy::disallowed_methods, reason = "ends after one look at each node")]
    fn read_map_soon(self: &Arc<Self>) {
        let cluster = self.clone();
        tokio::spawn(async move {
            if let Err(error) = cluster.read_map().await {
                tracing::debug!(%error, "no node told which has which slots");
            }
        });
    }

    /// From the first node that answers, connected ones first: the others may be gone.
    #[expect(clippy::disallowed_methods, reason = "bounds how often nodes are asked")]
    async fn read_map(&self) -> Result<(), Error> {
        let mut asked_at = self.asked_at.lock().await;
        if asked_at.is_some_and(|at| at.elapsed() < MAP_AGE) {
            return Ok(());
        }
        let mut nodes: Vec<(String, Arc<Node>)> =
            self.lock_nodes().iter().map(|(place, node)| (place.clone(), node.clone())).collect();
        nodes.sort_by_key(|(place, node)| (!node.is_connected(), place.clone()));
        let mut failure = no_owner();
        for (place, node) in nodes {
            let asked = tokio::time::timeout(MAP_TIMEOUT, node.ask(cmd("CLUSTER").arg("SLOTS"))).await;
            let ranges = asked.unwrap_or_else(|_| Err(timed_out())).and_then(|slots| ranges(slots, &place));
            match ranges {
                Ok(ranges) => {
                    self.replace_map(&ranges)?;
                    *asked_at = Some(Instant::now());
                    return Ok(());
                }
                Err(error) => failure = error,
            }
        }
        *asked_at = Some(Instant::now());
        Err(failure.into())
    }

    fn replace_map(&self, ranges: &[(u16, String)]) -> Result<(), Error> {
        let mut map = Vec::with_capacity(ranges.len());
        for (last, place) in ranges {
            map.push((*last, self.node(place)?));
        }
        *self.map.write().unwrap_or_else(PoisonError::into_inner) = map;
        // Nodes that left are forgotten, but for the one that is listened at.
        let listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_used = |place: &String, node: &Arc<Node>| {
            ranges.iter().any(|(_, owner)| owner == place)
                || listening.as_ref().is_some_and(|listening| Arc::ptr_eq(listening, node))
        };
        if ranges.iter().any(|(_, owner)| !owner.is_empty()) {
            self.lock_nodes().retain(|place, node| is_used(place, node) || node.is_connected());
        }
        Ok(())
    }
}

/// The last slot of each range and the place of its owner, in order. `CLUSTER SLOTS` answers of each range its first and
/// last slot and its nodes, the owner first: host, port, more. An empty host is that of the node that was asked.
fn ranges(slots: Value, asked: &str) -> RedisResult<Vec<(u16, String)>> {
    let rows: Vec<Vec<Value>> = from_redis_value(slots)?;
    let mut ranges = Vec::with_capacity(rows.len());
    for row in rows {
        let mut row = row.into_iter();
        let (Some(_), Some(last), Some(owner)) = (row.next(), row.next(), row.next()) else { continue };
        let mut owner = from_redis_value::<Vec<Value>>(owner)?.into_iter();
        let (Some(host), Some(port)) = (owner.next(), owner.next()) else { continue };
        let host: Option<String> = from_redis_value(host)?;
        let asked_host = asked.rsplit_once(':').map_or(asked, |(host, _)| host);
        let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| asked_host.to_owned());
        ranges.push((from_redis_value(last)?, format!("{host}:{}", from_redis_value::<u16>(port)?)));
    }
    ranges.sort();
    if ranges.is_empty() { Err(no_owner()) } else { Ok(ranges) }
}

/// The slot of the first key. Scripts and functions name how many keys they have before them; of the other commands that
/// the store uses, the first argument is the key, or they are about none.
pub(super) fn slot_of(command: &Cmd) -> Option<u16> {
    let mut arguments = command.args_iter().filter_map(|argument| match argument {
        Arg::Simple(bytes) => Some(bytes),
        _ => None,
    });
    let key = match arguments.next()? {
        b"EVALSHA" | b"EVAL" | b"FCALL" => arguments.nth(2)?,
        b"PING" | b"INFO" | b"CONFIG" | b"FUNCTION" | b"SCRIPT" | b"TIME" | b"WAIT" | b"KEYS" | b"SCAN" => return None,
        _ => arguments.next()?,
    };
    Some(slot(key))
}

/// CRC-16/XMODEM of the hash tag, or of the whole key when it has none.
pub(super) fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = key.get(open + 1..)?;
        let close = rest.iter().position(|byte| *byte == b'}').filter(|close| *close > 0)?;
        rest.get(..close)
    });
    let crc = tag.unwrap_or(key).iter().fold(0_u16, |crc, byte| {
        (0..8).fold(
            crc ^ (u16::from(*byte) << 8),
            |crc, _| {
                if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
            },
        )
    });
    crc % SLOTS
}

fn no_owner() -> RedisError {
    RedisError::from((ErrorKind::Server(ServerErrorKind::ClusterDown), "no node of the cluster serves this slot"))
}

fn timed_out() -> RedisError {
    RedisError::from((ErrorKind::Io, "a node of the cluster did not answer in time"))
}

#[cfg(test)]
mod tests {
    use ::redis::cmd;

    use super::{slot, slot_of};

    #[test]
    fn slots_are_those_of_the_specification() {
        // "123456789" is the check value of the specification; the others are what `CLUSTER KEYSLOT` answers.
        assert_eq!(slot(b"123456789"), 12739);
        assert_eq!(slot(b"foo"), 12182);
        assert_eq!(slot(b"ws:{foo}:x"), slot(b"foo"));
        assert_eq!(slot(b"a{}b"), slot(b"a{}b"));
        assert_ne!(slot(b"a{}b"), slot(b""));
    }

    #[test]
    fn the_key_of_a_command_is_found() {
        let of = |text: &str| {
            let mut words = text.split(' ');
            let mut command = cmd(words.next().unwrap());
            words.for_each(|word| {
                command.arg(word);
            });
            slot_of(&command)
        };

        assert_eq!(of("GET foo"), Some(12182));
        assert_eq!(of("EVALSHA hash 1 foo bar"), Some(12182));
        assert_eq!(of("FCALL name 2 foo bar 1"), Some(12182));
        assert_eq!(of("PING"), None);
        assert_eq!(of("FUNCTION LOAD REPLACE text"), None);
    }
}
