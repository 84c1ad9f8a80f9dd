//! That nothing is lost when the request is dropped.

use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use super::Outliving;

#[tokio::test]
async fn work_goes_on_after_its_request_was_dropped() {
    let tasks = TaskTracker::new();
    let (go_on, gone_on) = oneshot::channel();
    let (done, mut was_done) = oneshot::channel();
    let work = async move {
        let _ = gone_on.await;
        let _ = done.send(());
    };
    let mut outliving = Outliving::new(work.boxed(), &tasks);
    assert_eq!((&mut outliving).now_or_never(), None);

    drop(outliving);
    go_on.send(()).unwrap();
    tasks.close();
    tasks.wait().await;

    assert_eq!(was_done.try_recv(), Ok(()));
}

#[tokio::test]
async fn work_that_ended_leaves_no_task_behind() {
    let tasks = TaskTracker::new();
    let outliving = Outliving::new(async {}.boxed(), &tasks);
    assert_eq!(tasks.len(), 1);

    outliving.await;

    assert!(tasks.is_empty());
}
