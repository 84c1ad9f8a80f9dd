//! That the bench measures what it says, on few commits.

use std::sync::Arc;

use super::{bare, commits};
use store::fake::Memory;
use store::{Store, Tenant};

#[tokio::test]
async fn every_commit_of_the_bench_is_made_and_counted() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());

    let figures = commits(&store, 4, 40).await.unwrap();

    assert_eq!((figures.committers, figures.commits), (4, 40));
    assert!(figures.p50 <= figures.p99);
    let mut total = 0;
    for number in 0..super::TENANTS {
        let tenant = Tenant::parse(&format!("u_{number}")).unwrap();
        total += store.counters(&tenant, &["invocations".into()]).await.unwrap().iter().sum::<i64>();
    }
    assert_eq!(total, 40);
}

#[test]
fn the_bare_database_is_measured_with_the_last_group_half_full() {
    let folder = tempfile::tempdir().unwrap();

    assert_eq!(bare(folder.path(), 4, 10).unwrap().commits, 10);
}
