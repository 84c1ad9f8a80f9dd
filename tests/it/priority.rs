//! The thread that commits comes before those that serve requests, and these before those that work in the background, whether
//! this process may raise threads or only lower them.

use std::collections::HashMap;
use std::fs;

use rig::served::DataFolder;

/// By name: how much each of the server's threads gives way.
fn niceness(process: u32) -> HashMap<String, i32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let of_one = |task: fs::DirEntry| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap();
        // Names may hold spaces and parentheses.
        let (name, rest) = stat.split_once('(').unwrap().1.rsplit_once(')').unwrap();
        (name.to_owned(), rest.split_ascii_whitespace().nth(16).unwrap().parse().unwrap())
    };
    tasks.map(|task| of_one(task.unwrap())).collect()
}

#[tokio::test]
async fn the_writer_comes_before_requests_and_these_before_background_work() {
    let place = DataFolder::new();
    let served = place.start().await;

    let niceness = niceness(served.process_id());

    assert_eq!(niceness["store-writer"], niceness["worker"] - 5, "{niceness:?}");
    assert_eq!(niceness["background"], niceness["worker"] + 4, "{niceness:?}");
    assert!(niceness.values().all(|nice| *nice >= niceness["store-writer"]), "{niceness:?}");
}
