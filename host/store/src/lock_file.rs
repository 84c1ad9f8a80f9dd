//! A file that one process at a time can lock, or several that only read. The kernel gives the lock back when the process ends, however it ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// None when another process holds it.
pub fn lock_file(path: &Path) -> io::Result<Option<File>> {
    lock(path, File::try_lock)
}

/// The same for one of several that only read what is beside it: none of them is there together with one that holds it alone.
pub fn lock_file_with_others(path: &Path) -> io::Result<Option<File>> {
    lock(path, File::try_lock_shared)
}

/// A process that was killed while it started another one shares its lock with that one
/// until that one runs its own program, so a lock that is held is looked at for another second.
#[expect(clippy::disallowed_methods, reason = "at the start of a process, before there is a runtime to wait in")]
fn lock(path: &Path, try_lock: impl Fn(&File) -> Result<(), TryLockError>) -> io::Result<Option<File>> {
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    for _ in 0..TRIES {
        match try_lock(&file) {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::{lock_file, lock_file_with_others};

    #[test]
    fn readers_hold_a_lock_together_and_keep_a_writer_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");

        let readers = [(); 2].map(|()| lock_file_with_others(&path).unwrap().unwrap());

        assert!(lock_file(&path).unwrap().is_none());
        drop(readers);
        let _writer = lock_file(&path).unwrap().unwrap();
        assert!(lock_file_with_others(&path).unwrap().is_none());
    }

    #[test]
    fn a_lock_that_is_given_back_soon_is_waited_for_and_another_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = lock_file(&path).unwrap().unwrap();

        assert!(lock_file(&path).unwrap().is_none(), "it is held");
        let next = std::thread::scope(|scope| {
            let next = scope.spawn(|| lock_file(&path).unwrap());
            drop(held);
            next.join().unwrap()
        });

        assert!(next.is_some(), "it was given back");
    }
}
