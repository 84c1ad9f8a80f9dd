//! Tests of the audit log.

use std::collections::BTreeMap;

use domain::paging::Limit;

use super::world;
use crate::fake::World;
use crate::manage::audit::{self, AuditLimits, AuditView, ENTRY_BYTES_MAXIMUM, FIELD_CHARACTERS_MAXIMUM};
use crate::manage::events::EventQuery;
use crate::manage::users;
use crate::records::{AuditEntry, Via};
use crate::{Caller, Error};

const DAY_MS: u64 = 24 * 3600 * 1000;

fn entry(caller: &Caller, action: &str, status: u16) -> AuditEntry {
    AuditEntry {
        user_id: Some(caller.user.id.clone()),
        username: Some(caller.user.username.clone()),
        via: Via::Key { key_id: "key_1".into(), key_name: None },
        action: action.to_owned(),
        ids: BTreeMap::new(),
        from: None,
        status,
        request_id: None,
    }
}

async fn shown(world: &World, caller: &Caller) -> Vec<String> {
    let query = EventQuery { limit: Limit::parse(Some(&100.into())).unwrap(), ..EventQuery::default() };
    let page = audit::of_account(caller, &world.platform, &query).await.unwrap();
    page.items.into_iter().map(|AuditView { entry, .. }| entry.action).collect()
}

#[tokio::test]
async fn each_account_sees_its_own_entries_and_an_admin_all_of_them() {
    let (world, admin) = world().await;
    let ada = world.user(&admin, "ada").await;
    audit::record(&world.platform, &entry(&ada, "hers", 200)).await;
    audit::record(&world.platform, &entry(&admin, "admins", 200)).await;
    let query = EventQuery::default();
    let of_all = async |caller: &Caller, user: Option<&str>| {
        let page = audit::of_all(caller, &world.platform, user, &query).await?;
        Ok::<_, Error>(page.items.into_iter().map(|view| view.entry.action).collect::<Vec<_>>())
    };

    assert_eq!((shown(&world, &ada).await, shown(&world, &admin).await), (vec!["hers".into()], vec!["admins".into()]));
    assert_eq!(of_all(&admin, None).await.unwrap(), ["admins", "hers"]);
    assert_eq!(of_all(&admin, Some(ada.user.id.as_str())).await.unwrap(), ["hers"]);
    assert!(matches!(of_all(&ada, None).await, Err(Error::NotAdmin)));
    assert!(matches!(of_all(&admin, Some("u_Ab12Cd34Ef56")).await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn what_is_kept_is_bounded_by_number_and_age() {
    let world = World::new(|config| {
        config.audit = AuditLimits { entries_per_account: 3, entries_of_all: 100, age_ms: DAY_MS };
    });
    let admin = world.admin().await;
    for number in 0..5 {
        audit::record(&world.platform, &entry(&admin, &number.to_string(), 200)).await;
    }
    assert_eq!(shown(&world, &admin).await, ["4", "3", "2"]);

    world.clock.advance(DAY_MS - 1);
    audit::record(&world.platform, &entry(&admin, "5", 200)).await;
    assert_eq!(shown(&world, &admin).await, ["5", "4", "3"]);
    world.clock.advance(1);

    assert_eq!(shown(&world, &admin).await, ["5"], "what is too old is not shown");
    audit::record(&world.platform, &entry(&admin, "6", 200)).await;
    let kept = store::Reads::streams(&*world.store, &admin.tenant, "$audit").await.unwrap();
    assert_eq!(kept.iter().map(|stream| stream.count).sum::<u64>(), 2, "and is gone with the next entry");
}

#[tokio::test]
async fn refused_calls_have_a_rate_and_do_not_push_out_what_was_done() {
    let world = World::new(|config| config.audit.entries_per_account = 25);
    let admin = world.admin().await;
    audit::record(&world.platform, &entry(&admin, "done", 200)).await;

    for _ in 0..100 {
        audit::record(&world.platform, &entry(&admin, "refused", 403)).await;
    }
    let at_once = shown(&world, &admin).await;
    world.clock.advance(3000);
    for _ in 0..100 {
        audit::record(&world.platform, &entry(&admin, "refused", 403)).await;
    }
    for _ in 0..10 {
        world.clock.advance(3000);
        audit::record(&world.platform, &entry(&admin, "refused", 403)).await;
    }

    assert_eq!(at_once.len(), 21, "a burst of twenty, and what was done");
    let all = shown(&world, &admin).await;
    assert_eq!((all.len(), all.last().map(String::as_str)), (26, Some("done")));
}

#[tokio::test]
async fn pages_go_forth_and_back_over_what_was_done_and_refused() {
    let (world, admin) = world().await;
    for number in 0..7 {
        let status = if number % 2 == 0 { 200 } else { 403 };
        audit::record(&world.platform, &entry(&admin, &number.to_string(), status)).await;
        world.clock.advance(1000);
    }
    let page = async |after: Option<String>, before: Option<String>| {
        let query =
            EventQuery { limit: Limit::parse(Some(&3.into())).unwrap(), after, before, ..EventQuery::default() };
        let page = audit::of_account(&admin, &world.platform, &query).await.unwrap();
        let info = serde_json::to_value(&page.info).unwrap();
        let cursor = |name: &str| info[name].as_str().map(str::to_owned);
        let actions: Vec<String> = page.items.into_iter().map(|view| view.entry.action).collect();
        (actions.join(" "), cursor("start_cursor"), cursor("end_cursor"), info["total_count"].clone())
    };

    let (first, _, end, total) = page(None, None).await;
    let (second, start, end, _) = page(end, None).await;
    let (third, ..) = page(end, None).await;
    let (back, ..) = page(None, start).await;

    assert_eq!((first.as_str(), second.as_str(), third.as_str()), ("6 5 4", "3 2 1", "0"));
    assert_eq!((back, total), (first, serde_json::json!(7)));
}

#[tokio::test]
async fn the_log_of_a_deleted_account_goes_and_the_operators_copy_stays() {
    let (world, admin) = world().await;
    let ada = world.user(&admin, "ada").await;
    audit::record(&world.platform, &entry(&ada, "hers", 200)).await;

    users::delete(&admin, &world.platform, ada.user.id.as_str()).await.unwrap();
    super::deleted_users::clear(&world, &ada.user).await;

    assert!(store::Reads::streams(&*world.store, &ada.tenant, "$audit").await.unwrap().is_empty());
    let all = audit::of_all(&admin, &world.platform, None, &EventQuery::default()).await.unwrap();
    assert_eq!(all.items[0].entry.action, "hers");
}

#[tokio::test]
async fn an_entry_is_small_whatever_a_client_writes() {
    let (_, admin) = world().await;
    let longest = "\u{1}".repeat(FIELD_CHARACTERS_MAXIMUM);
    let mut entry = entry(&admin, &format!("DELETE /v1/{}", "x".repeat(64)), 200);
    entry.ids = (0..6).map(|number| (format!("parameter_{number}"), longest.clone())).collect();
    entry.username = Some(longest.clone());
    entry.via = Via::Key { key_id: "key_0123456789abcdef".into(), key_name: Some(longest.clone()) };
    entry.request_id = Some(longest);

    assert!(entry.encode().unwrap().len() < ENTRY_BYTES_MAXIMUM);
}
