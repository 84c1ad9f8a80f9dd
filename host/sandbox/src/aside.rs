//! Long runs go on where they delay no short ones: on the threads of another runtime, which give way to those of this one.
//!
//! A guest gives way after a few microseconds, but not inside of an instruction that copies megabytes, nor while the system
//! finds memory for it. What has run for a while, and every component that is being loaded, does that aside.

use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

use crate::sandbox::Error;

/// Of the processor's time. Most runs of real components end before.
const LONG: Duration = Duration::from_millis(1);

/// A runtime whose threads give way to those that begin runs.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    pub runtime: Handle,
    /// Is given what moves there, on the thread that it comes from.
    pub wrap: fn(Moved) -> Moved,
}

pub type Moved = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Decides which runs go on elsewhere; none, where there is no place for them.
pub(crate) struct Aside {
    place: Option<Elsewhere>,
    long: Duration,
}

type Running<Output> = Pin<Box<dyn Future<Output = Output> + Send>>;

/// A run that may become a long one. Dropping it ends the run, wherever it is.
pub(crate) enum Moving<Output> {
    /// With the processor's time that it may still take here.
    Here {
        run: Running<Output>,
        left: Duration,
        place: Option<Elsewhere>,
    },
    There {
        /// None when it ended without an output.
        output: Option<oneshot::Receiver<Output>>,
        task: AbortOnDropHandle<()>,
    },
    Moved,
}

// === impl Elsewhere ===

impl Elsewhere {
    fn take<Output: Send + 'static>(&self, run: Running<Output>) -> Moving<Output> {
        let (tell, output) = oneshot::channel();
        let run = async move { drop(tell.send(run.await)) };
        Moving::There {
            output: Some(output),
            task: AbortOnDropHandle::new(self.runtime.spawn((self.wrap)(Box::pin(run)))),
        }
    }
}

// === impl Aside ===

impl Aside {
    pub(crate) fn new(place: Option<Elsewhere>) -> Self {
        Self { place, long: LONG }
    }

    /// Begins here, and goes on aside when it takes long.
    pub(crate) fn when_long<Value, Failure>(
        &self,
        run: impl Future<Output = Result<Value, Failure>> + Send + 'static,
    ) -> Moving<Result<Value, Failure>> {
        Moving::Here { run: Box::pin(run), left: self.long, place: self.elsewhere() }
    }

    /// Aside from the beginning.
    pub(crate) fn at_once<Value, Failure>(
        &self,
        run: impl Future<Output = Result<Value, Failure>> + Send + 'static,
    ) -> Moving<Result<Value, Failure>> {
        Moving::Here { run: Box::pin(run), left: Duration::ZERO, place: self.elsewhere() }
    }

    /// None for what is there already.
    fn elsewhere(&self) -> Option<Elsewhere> {
        let place = self.place.as_ref()?;
        let is_there = Handle::try_current().is_ok_and(|here| here.id() == place.runtime.id());
        (!is_there).then(|| place.clone())
    }
}

impl<Value, Failure> Future for Moving<Result<Value, Failure>>
where
    Value: Send + 'static,
    Failure: From<Error> + Send + 'static,
{
    type Output = Result<Value, Failure>;

    #[expect(clippy::disallowed_methods, reason = "the processor's time is measured in real time")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Self::Here { run, left, place } = &mut *self {
            if place.is_none() || !left.is_zero() {
                let started = Instant::now();
                let polled = run.as_mut().poll(context);
                *left = left.saturating_sub(started.elapsed());
                if polled.is_ready() || place.is_none() || !left.is_zero() {
                    return polled;
                }
            }
            if let Self::Here { run, place: Some(place), .. } = std::mem::replace(&mut *self, Self::Moved) {
                *self = place.take(run);
            }
        }
        match &mut *self {
            Self::There { output, task } => {
                if let Some(receiver) = output {
                    if let Ok(told) = ready!(Pin::new(receiver).poll(context)) {
                        return Poll::Ready(told);
                    }
                    *output = None;
                }
                Pin::new(task).poll(context).map(|joined| Err(ended(joined).into()))
            }
            Self::Here { .. } | Self::Moved => Poll::Pending,
        }
    }
}

/// A panic goes on where the run is waited for; else the runtime has ended.
fn ended(joined: Result<(), JoinError>) -> Error {
    match joined.map_err(JoinError::try_into_panic) {
        Err(Ok(panic)) => resume_unwind(panic),
        _ => Error::Ended,
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use tokio::runtime::{Builder, Runtime};
    use tokio::sync::oneshot;

    use super::{Aside, Elsewhere};
    use crate::sandbox::Error;

    fn background() -> Runtime {
        Builder::new_multi_thread().worker_threads(1).thread_name("aside").build().unwrap()
    }

    fn elsewhere(background: &Runtime) -> Elsewhere {
        Elsewhere { runtime: background.handle().clone(), wrap: |moved| moved }
    }

    fn thread_name() -> String {
        thread::current().name().unwrap_or_default().to_owned()
    }

    /// The threads that it is polled on, first and after it gave way.
    async fn threads() -> Result<(String, String), Error> {
        let begun = thread_name();
        tokio::task::yield_now().await;
        Ok((begun, thread_name()))
    }

    #[test]
    fn what_computed_for_long_goes_on_aside_and_what_is_short_stays() {
        let (here, there) = (Builder::new_current_thread().build().unwrap(), background());
        let aside = |long| Aside { place: Some(elsewhere(&there)), long };
        let (a_moment, for_ever) = (Duration::from_nanos(1), Duration::MAX);

        let long = here.block_on(aside(a_moment).when_long(threads())).unwrap();
        let short = here.block_on(aside(for_ever).when_long(threads())).unwrap();
        let at_once = here.block_on(aside(for_ever).at_once(threads())).unwrap();
        let nowhere = here.block_on(Aside::new(None).at_once(threads())).unwrap();
        let already = there.block_on(async { aside(a_moment).when_long(threads()).await }).unwrap();

        let own = thread_name();
        assert_eq!(long, (own.clone(), "aside".to_owned()));
        assert_eq!(short, (own.clone(), own.clone()));
        assert_eq!(at_once, ("aside".to_owned(), "aside".to_owned()));
        assert_eq!(nowhere, (own.clone(), own.clone()));
        assert_eq!(already, (own.clone(), own), "it is there already");
    }

    #[test]
    fn a_run_that_is_given_up_ends_wherever_it_is() {
        let (here, there) = (Builder::new_current_thread().build().unwrap(), background());
        let aside = Aside::new(Some(elsewhere(&there)));
        let (held, mut ended) = oneshot::channel::<()>();
        let (begin, begun) = oneshot::channel();

        let endless = aside.at_once(async move {
            begin.send(()).unwrap();
            std::future::pending::<()>().await;
            drop(held);
            Ok::<_, Error>(())
        });
        here.block_on(async move {
            tokio::select! {
                biased;
                _ = endless => panic!("it does not end"),
                begun = begun => begun.unwrap(),
            }
            assert!((&mut ended).await.is_err(), "what it held is gone");
        });
    }

    #[test]
    fn a_panic_is_met_where_it_is_waited_for_and_the_end_of_the_runtime_is_an_error() {
        let (here, there) = (Builder::new_current_thread().build().unwrap(), background());
        let aside = Aside::new(Some(elsewhere(&there)));

        let panicking = std::panic::AssertUnwindSafe(|| {
            here.block_on(aside.at_once::<(), Error>(async { std::panic::panic_any("by design") }))
        });
        assert_eq!(*std::panic::catch_unwind(panicking).unwrap_err().downcast::<&str>().unwrap(), "by design");

        there.shutdown_background();
        assert!(matches!(here.block_on(aside.at_once::<(), Error>(async { Ok(()) })), Err(Error::Ended)));
    }
}
