//! Tests of sessions.

use domain::keys::{Scope, Scopes};

use super::world;
use crate::fake::World;
use crate::manage::keys::{self, KeyRequest};
use crate::manage::{sessions, users};
use crate::records::{ApiKey, table};
use crate::{Caller, Error, KeyProblem, Secret};

fn is_refused(result: Result<Caller, Error>) -> bool {
    matches!(result, Err(Error::Unauthenticated(_)))
}

async fn key_of(world: &World, caller: &Caller) -> ApiKey {
    table::list_all::<ApiKey>(&*world.store, &caller.tenant).await.unwrap().remove(0).record
}

async fn with_key(world: &World, caller: &Caller, scope: Scope) -> Caller {
    let scopes = Some(Scopes::parse([scope.as_str()]).unwrap());
    let made = keys::create(caller, &world.platform, KeyRequest { scopes, ..KeyRequest::default() }).await.unwrap();
    keys::authenticate(&world.platform, &made.key).await.unwrap()
}

#[tokio::test]
async fn a_session_acts_with_the_scopes_of_its_key_and_shows_no_key() {
    let (world, admin) = world().await;
    let reader = with_key(&world, &admin, Scope::Read).await;

    let of_reader = sessions::create(&reader, &world.platform).await.unwrap();
    let of_admin = sessions::create(&admin, &world.platform).await.unwrap();

    let caller = sessions::authenticate(&world.platform, &of_reader.token).await.unwrap();
    assert!(caller.require(Scope::Read).is_ok() && caller.require(Scope::Write).is_err());
    let caller = sessions::authenticate(&world.platform, &of_admin.token).await.unwrap();
    assert!(caller.require(Scope::Admin).is_ok());
    let me = serde_json::to_value(users::me(&caller, &world.platform).await.unwrap()).unwrap();
    assert_eq!(me.get("api_key"), None);
}

#[tokio::test]
async fn a_token_is_no_key_a_key_is_no_token_and_a_link_is_neither() {
    let (world, admin) = world().await;
    let session = sessions::create(&admin, &world.platform).await.unwrap();
    let key = key_of(&world, &admin).await;
    let link = sessions::create_link(&world.platform, &admin.user.id, &key).await.unwrap();

    for token in [&session.token, &link] {
        assert!(is_refused(keys::authenticate(&world.platform, token).await));
    }
    for token in [&admin.presented_key, &link] {
        assert!(is_refused(sessions::authenticate(&world.platform, token).await));
    }
    for token in [&admin.presented_key, &session.token] {
        assert!(is_refused(sessions::redeem(&world.platform, token).await));
    }
}

#[tokio::test]
async fn a_link_signs_in_once_and_not_after_a_quarter_of_an_hour() {
    let (world, admin) = world().await;
    let key = key_of(&world, &admin).await;
    let link = sessions::create_link(&world.platform, &admin.user.id, &key).await.unwrap();

    let both = tokio::join!(sessions::redeem(&world.platform, &link), sessions::redeem(&world.platform, &link));
    let late = sessions::create_link(&world.platform, &admin.user.id, &key).await.unwrap();
    world.clock.advance(15 * 60_000);

    assert_eq!([both.0.is_ok(), both.1.is_ok()].iter().filter(|is_ok| **is_ok).count(), 1);
    assert!(is_refused(sessions::redeem(&world.platform, &link).await));
    assert!(is_refused(sessions::redeem(&world.platform, &late).await));
}

#[tokio::test]
async fn a_session_ends_when_it_is_ended_when_its_key_goes_and_when_it_lies_idle() {
    let (world, admin) = world().await;
    let token = async |caller: &Caller| sessions::create(caller, &world.platform).await.unwrap().token;
    let works = async |token: &Secret<String>| sessions::authenticate(&world.platform, token).await.is_ok();
    let reader = with_key(&world, &admin, Scope::Read).await;
    let (ended, of_reader, idle) = (token(&admin).await, token(&reader).await, token(&admin).await);

    let caller = sessions::authenticate(&world.platform, &ended).await.unwrap();
    sessions::end(&caller, &world.platform, "current").await.unwrap();
    keys::revoke(&admin, &world.platform, &reader.key.as_ref().unwrap().id).await.unwrap();

    assert!(!works(&ended).await && !works(&of_reader).await && works(&idle).await);
    world.clock.advance(11 * 3_600_000);
    assert!(works(&idle).await);
    world.clock.advance(11 * 3_600_000);
    assert!(works(&idle).await, "a use moves the end on");
    world.clock.advance(12 * 3_600_000);
    assert!(!works(&idle).await);
}

#[tokio::test]
async fn a_key_that_may_do_less_does_not_end_the_session_of_one_that_may_do_more() {
    let (world, admin) = world().await;
    let reader = with_key(&world, &admin, Scope::Read).await;
    let of_admin = sessions::create(&admin, &world.platform).await.unwrap();
    let stranger = world.user(&admin, "stranger").await;

    let refused = sessions::end(&reader, &world.platform, &of_admin.view.id).await;
    let foreign = sessions::end(&stranger, &world.platform, &of_admin.view.id).await;

    assert!(matches!(refused, Err(Error::Scope { .. })), "{refused:?}");
    assert!(matches!(foreign, Err(Error::NotFound { .. })), "{foreign:?}");
    assert_eq!(sessions::list(&admin, &world.platform).await.unwrap().items.len(), 1);
    assert!(matches!(sessions::end(&admin, &world.platform, "current").await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn the_oldest_of_too_many_sessions_makes_room() {
    let (world, admin) = world().await;
    let first = sessions::create(&admin, &world.platform).await.unwrap();
    for _ in 0..50 {
        sessions::create(&admin, &world.platform).await.unwrap();
    }

    assert_eq!(sessions::list(&admin, &world.platform).await.unwrap().items.len(), 50);
    let refused = sessions::authenticate(&world.platform, &first.token).await;
    assert!(matches!(refused, Err(Error::Unauthenticated(KeyProblem::Unknown))));
}
