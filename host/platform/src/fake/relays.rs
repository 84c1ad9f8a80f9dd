//! A mail relay and an object store that keep what they are given.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use store::Tenant;

use crate::ports::{EmailTerms, NotTaken, Recipients, Relays};

/// There is none until it is switched on.
#[derive(Default)]
pub struct KeptRelays {
    email: OnceLock<EmailTerms>,
    bucket: OnceLock<String>,
    /// What the next ones are answered; those after them are taken.
    answers: Mutex<VecDeque<NotTaken>>,
    emails: Mutex<Vec<(Vec<String>, String)>>,
    objects: Mutex<Vec<(String, Bytes)>>,
}

// === impl KeptRelays ===

impl KeptRelays {
    /// From now on e-mail is sent from this address.
    pub fn send_email_from(&self, from: &str, recipients: Recipients) {
        let _ = self.email.set(EmailTerms { from: from.to_owned(), recipients });
    }

    /// From now on objects may be put into this bucket.
    pub fn open_bucket(&self, bucket: &str) {
        let _ = self.bucket.set(bucket.to_owned());
    }

    /// The next one is refused.
    pub fn refuse(&self, reason: &str, is_final: bool) {
        lock(&self.answers).push_back(NotTaken { reason: reason.to_owned(), is_final });
    }

    /// Recipients and message of each.
    pub fn emails(&self) -> Vec<(Vec<String>, String)> {
        lock(&self.emails).clone()
    }

    /// `bucket/key` and content of each.
    pub fn objects(&self) -> Vec<(String, Bytes)> {
        lock(&self.objects).clone()
    }

    fn answer(&self) -> Result<(), NotTaken> {
        lock(&self.answers).pop_front().map_or(Ok(()), Err)
    }
}

#[async_trait]
impl Relays for KeptRelays {
    fn email(&self) -> Option<&EmailTerms> {
        self.email.get()
    }

    async fn send_email(&self, to: &[String], message: &str) -> Result<(), NotTaken> {
        self.answer()?;
        lock(&self.emails).push((to.to_vec(), message.to_owned()));
        Ok(())
    }

    fn has_object_store(&self) -> bool {
        self.bucket.get().is_some()
    }

    fn check_bucket(&self, _tenant: &Tenant, bucket: &str) -> Result<(), String> {
        match self.bucket.get() {
            None => Err("this server has no object store".to_owned()),
            Some(open) if open == bucket => Ok(()),
            Some(_) => Err(format!("the bucket {bucket} is not one of yours")),
        }
    }

    async fn put_object(&self, _tenant: &Tenant, bucket: &str, key: &str, body: Bytes) -> Result<(), NotTaken> {
        self.answer()?;
        lock(&self.objects).push((format!("{bucket}/{key}"), body));
        Ok(())
    }
}

fn lock<Value>(mutex: &Mutex<Value>) -> MutexGuard<'_, Value> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
