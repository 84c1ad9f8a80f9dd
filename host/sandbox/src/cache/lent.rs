//! Images on their way between hosts: the content of the file, and a hash of it, of its name and of its base.
//!
//! The hash is keyed with the secret that hosts of one installation share. Without it nothing can be made that a host would
//! take; and what is lent under one name cannot be taken under another.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use ::engine::RESERVED_BYTES;

use super::{Cache, HASH_BYTES, IMAGES, Owner, TRAILER_BYTES, hash_of_trailer, packed, persist, warn};
use crate::snapshot::Snapshot;

/// Larger ones are rare, and would hold up what goes the same way.
const LENT_MAXIMUM: u64 = 8 << 20;

impl Cache {
    /// The image as another host takes it; none when it is not here, or is too large for that.
    pub(crate) fn lend(&self, key: &[u8; 32], base: &Snapshot) -> Option<Vec<u8>> {
        let file = File::open(self.path(IMAGES, key)?).ok()?;
        if file.metadata().ok()?.len() > LENT_MAXIMUM {
            return None;
        }
        let mut bytes = Vec::new();
        packed::read_all(&file, &mut bytes).ok()?;
        let (content, trailer) = bytes.split_last_chunk::<TRAILER_BYTES>()?;
        let is_whole = hash_of_trailer(trailer) == Some(&self.hash_packed(content, base));
        let hash = self.hash_lent(key, content, base);
        bytes.truncate(content.len());
        bytes.extend_from_slice(&hash);
        is_whole.then_some(bytes)
    }

    /// Keeps what another host lent, and unpacks it. None when it was not made by a host with the same secret, for this name and over
    /// this base.
    pub(crate) fn take_lent(
        &self,
        key: &[u8; 32],
        owner: Owner,
        base: &Snapshot,
        lent: &[u8],
    ) -> io::Result<Option<Arc<Snapshot>>> {
        let Some((content, hash)) = lent.split_last_chunk::<HASH_BYTES>() else { return Ok(None) };
        if *hash != self.hash_lent(key, content, base) {
            return Ok(None);
        }
        let mut pair = self.buffers.take();
        let unpacked = packed::unpack(base.bytes(), content, RESERVED_BYTES, &mut pair.block);
        self.buffers.put_back(pair);
        let snapshot = unpacked?;
        if let Some(path) = self.path(IMAGES, key) {
            self.disk_quota.make_room(owner, (content.len() + TRAILER_BYTES) as u64);
            let hash = self.hash_packed(content, base);
            let kept = self.write(&path, owner, &hash, |file| file.write_all(content));
            match kept.and_then(|file| persist(file, &path)) {
                Ok(()) => self.disk_quota.add(&path, owner),
                Err(error) => warn(&path, &error),
            }
        }
        Ok(Some(snapshot))
    }

    /// Not the hash of a file, which says nothing about its name.
    fn hash_lent(&self, key: &[u8; 32], content: &[u8], base: &Snapshot) -> [u8; HASH_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(b"lent").update(key).update(base.digest()).update(content).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use admission::Share;

    use super::super::{Cache, Owner, TRAILER_BYTES, persist};
    use super::LENT_MAXIMUM;
    use crate::snapshot::Snapshot;

    const KEY: [u8; 32] = [7; 32];

    fn cache(secret: u8) -> (tempfile::TempDir, Cache) {
        let (folder, ample) = (tempfile::tempdir().unwrap(), Share::new(1 << 30, 1 << 30));
        let cache = Cache::new(Some(folder.path().to_owned()), [secret; 32], ample);
        (folder, cache)
    }

    fn base(byte: u8) -> std::sync::Arc<Snapshot> {
        Snapshot::unnamed(&[byte; 64 << 10]).unwrap()
    }

    fn keep(cache: &Cache, memory: &[u8]) {
        cache.draft_image(&KEY, Owner::default(), &base(3), memory).unwrap().keep();
    }

    #[test]
    fn what_one_host_lends_another_keeps_as_if_it_had_made_it() {
        let ((_one, lender), (_two, taker)) = (cache(1), cache(1));
        let memory: Vec<u8> = (0..64 << 10).map(|at| (at % 251) as u8).collect();
        keep(&lender, &memory);

        let lent = lender.lend(&KEY, &base(3)).unwrap();
        let taken = taker.take_lent(&KEY, Owner::of("u_a"), &base(3), &lent).unwrap().unwrap();

        assert_eq!(taken.bytes(), memory);
        assert_eq!(taker.find_image(&KEY, &base(3)).unwrap().bytes(), memory);
        assert_eq!(taker.images_used().0, 1, "and it counts for the tenant's share of the disk");
        assert_eq!(taker.lend(&KEY, &base(3)).unwrap(), lent, "and can be lent on");
    }

    #[test]
    fn what_was_changed_or_is_for_something_else_is_not_taken() {
        let ((_one, lender), (_two, taker), (_three, stranger)) = (cache(1), cache(1), cache(2));
        keep(&lender, &[9; 64 << 10]);
        let lent = lender.lend(&KEY, &base(3)).unwrap();
        let mut changed = lent.clone();
        changed[20] ^= 1;

        let is_taken = |cache: &Cache, key: [u8; 32], base: &Snapshot, lent: &[u8]| {
            cache.take_lent(&key, Owner::default(), base, lent).unwrap().is_some()
        };
        assert!(!is_taken(&taker, KEY, &base(3), &changed), "a byte is another");
        assert!(!is_taken(&taker, [8; 32], &base(3), &lent), "it is of another component");
        assert!(!is_taken(&taker, KEY, &base(4), &lent), "the hosts have different bases");
        assert!(!is_taken(&stranger, KEY, &base(3), &lent), "the hosts have different secrets");
        assert!(!is_taken(&taker, KEY, &base(3), &lent[..20]) && !is_taken(&taker, KEY, &base(3), &[]));
        assert_eq!(taker.images_used().0, 0);
    }

    #[test]
    fn what_is_missing_or_damaged_is_not_lent() {
        let (_folder, lender) = cache(1);
        assert_eq!(lender.lend(&KEY, &base(3)), None);
        keep(&lender, &[9; 64 << 10]);
        let path = lender.path("images", &KEY).unwrap();
        let whole = std::fs::read(&path).unwrap();

        let mut damaged = whole.clone();
        damaged[0] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        assert_eq!(lender.lend(&KEY, &base(3)), None);
        std::fs::write(&path, whole).unwrap();
        assert!(lender.lend(&KEY, &base(3)).is_some());
    }

    #[test]
    fn the_largest_image_that_is_lent_has_eight_megabytes() {
        let (_folder, lender) = cache(1);
        let path = lender.path("images", &KEY).unwrap();
        let is_lent = |file_bytes: u64| {
            let content = vec![7; file_bytes as usize - TRAILER_BYTES];
            let hash = lender.hash_packed(&content, &base(3));
            let file = lender.write(&path, Owner::default(), &hash, |file| file.write_all(&content)).unwrap();
            persist(file, &path).unwrap();
            lender.lend(&KEY, &base(3)).is_some()
        };

        assert!(is_lent(LENT_MAXIMUM) && !is_lent(LENT_MAXIMUM + 1));
    }
}
