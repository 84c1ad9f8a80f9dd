//! Values as a run sees them: the same each time they are read.

use bytes::Bytes;
use domain::props::Isolation;

use super::places::Place;
use super::{READ_KEYS_MAXIMUM, Refusal, Transaction, refuse, service_error};
use crate::invoke::services::stored_key;
use crate::ports::ServiceError;

impl Transaction {
    /// A value as the run sees it: the same each time it is read.
    pub(super) async fn read(&self, key: &str) -> Result<Option<Bytes>, ServiceError> {
        let key = stored_key(key);
        if self.isolation == Isolation::None {
            return self.value(&key).await;
        }
        loop {
            if let Some(known) = self.state().reads.get(&key) {
                return Ok(known.clone());
            }
            let had_effects = self.prepare_read(&key).await?;
            let value = self.value(&key).await?;
            let mut state = self.state();
            if state.reads.len() >= READ_KEYS_MAXIMUM {
                return Err(refuse(&mut state, Refusal::TooManyReads));
            }
            // An early response may have been sent meanwhile; then the key has to be locked before it is read.
            if state.has_effects == had_effects {
                state.reads.insert(key, value.clone());
                return Ok(value);
            }
        }
    }

    /// After an effect a key is locked before it is read. Before, a run gives way while it holds nothing itself.
    async fn prepare_read(&self, key: &str) -> Result<bool, ServiceError> {
        let (has_effects, is_locked, holds_fronts) = {
            let state = self.state();
            (state.has_effects, state.locked.contains(key), !state.fronts.is_empty())
        };
        if is_locked {
            return Ok(has_effects);
        }
        let queues = self.platform.key_queues();
        let queue_key = self.queue_key(key);
        if has_effects {
            self.state().fronts.extend(queues.try_join(queue_key));
            let lock = || self.batch(vec![self.lock_operation(key)]);
            self.commit_unlocked(lock, u64::MAX).await.map_err(service_error)?;
            self.state().locked.insert(key.to_owned());
        } else if !holds_fronts && queues.is_briefly_busy(&queue_key) {
            return Err(self.give_way([key.to_owned()]));
        }
        Ok(has_effects)
    }

    async fn value(&self, key: &str) -> Result<Option<Bytes>, ServiceError> {
        let Place { scope, key, .. } = self.place(key);
        let values = self.ask(self.platform.store.values(&self.tenant, &scope, &[key])).await;
        Ok(values.map_err(service_error)?.found.into_iter().next().flatten())
    }

    /// Ends the attempt because of keys that other runs are at work on.
    pub(super) fn give_way(&self, keys: impl IntoIterator<Item = String>) -> ServiceError {
        let mut state = self.state();
        state.busy.extend(keys);
        refuse(&mut state, Refusal::Busy)
    }
}
