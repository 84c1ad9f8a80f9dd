//! Work that takes much memory for a moment, on a thread of its own.

use std::io;

use tokio::sync::oneshot;

/// Does work on a thread that ends with it. An allocator with a heap for each thread gets everything back then: on threads that
/// live on, of which a runtime has dozens, each would keep megabytes. The caller bounds how many there are at once.
pub async fn on_own_thread<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let (telling, told) = oneshot::channel();
    // One that does not wait any more does not mind.
    std::thread::Builder::new().name(name.to_owned()).spawn(move || drop(telling.send(work())))?;
    // It panicked, which was told where it happened.
    told.await.map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::on_own_thread;

    #[tokio::test]
    async fn work_is_done_on_a_thread_of_that_name_and_a_panic_is_an_error() {
        let name = || std::thread::current().name().map(str::to_owned);

        assert_eq!(on_own_thread("digging", name).await.unwrap().as_deref(), Some("digging"));
        assert!(on_own_thread("failing", || panic!("as it should")).await.is_err());
    }
}
