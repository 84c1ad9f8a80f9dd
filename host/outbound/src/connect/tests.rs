//! The filter where it counts: at the moment of connecting.

use std::{net::SocketAddr, sync::Mutex};

use super::*;
use crate::{
    Outbound, Request,
    testing::{Answers, Recorder, Server, code, echo, reply, text},
};

const PUBLIC: &str = "93.184.216.34";

/// Keeps no connection open, so that every request opens one.
async fn closing_server() -> Server {
    Server::start(|_| async { reply(200, &[("connection", "close")], "hello") }).await
}

fn outbound(resolver: Arc<dyn Resolve>, dial: Arc<dyn Dial>) -> Outbound {
    Outbound::with_dial(Config { resolver, ..Config::default() }, dial).unwrap()
}

async fn get(outbound: &Outbound, url: &str) -> Result<crate::Response, Error> {
    outbound.send(Request::get(url).unwrap()).await
}

#[tokio::test]
async fn a_name_that_turns_private_is_refused_at_the_next_connection() {
    let server = closing_server().await;
    let recorder = Recorder::new(server.address);
    let outbound = outbound(Answers::new(&[&[PUBLIC], &["127.0.0.1"]]), recorder.clone());

    assert_eq!(text(get(&outbound, "http://rebind.example/").await.unwrap()).await, "hello");
    let error = get(&outbound, "http://rebind.example/").await.err().unwrap();

    assert_eq!(
        error.to_string(),
        "rebind.example resolves to a loopback address; start with --dangerous-allow-private-networks to allow it"
    );
    assert_eq!(recorder.dialled(), ["93.184.216.34:80"]);
}

#[tokio::test]
async fn one_private_address_refuses_the_whole_answer() {
    let server = closing_server().await;
    for answer in [&[PUBLIC, "10.0.0.1"][..], &["fd00::1", PUBLIC], &[PUBLIC, "::ffff:127.0.0.1"]] {
        let recorder = Recorder::new(server.address);

        let result = get(&outbound(Answers::new(&[answer]), recorder.clone()), "http://mixed.example/").await;

        assert_eq!(code(result), "refused_address", "{answer:?}");
        assert!(recorder.dialled().is_empty());
    }
}

#[tokio::test]
async fn literal_addresses_are_refused_in_every_spelling_without_a_connection() {
    let server = closing_server().await;
    let recorder = Recorder::new(server.address);
    let outbound = outbound(Answers::new(&[&[PUBLIC]]), recorder.clone());

    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "017700000001",
        "127.0.0.1.",
        "169.254.169.254",
        "[::1]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::a9fe:a9fe]",
        "0",
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "a.localhost.",
    ] {
        for scheme in ["http", "https"] {
            let result = get(&outbound, &format!("{scheme}://{host}:8080/")).await;
            assert_eq!(code(result), "refused_address", "{scheme}://{host}");
        }
    }
    assert!(recorder.dialled().is_empty());
}

#[tokio::test]
async fn mail_servers_get_no_requests() {
    let server = closing_server().await;
    let recorder = Recorder::new(server.address);
    let outbound = outbound(Answers::new(&[&[PUBLIC]]), recorder.clone());

    for url in ["http://mail.example:25/", "https://mail.example:465/"] {
        assert_eq!(code(get(&outbound, url).await), "refused_port", "{url}");
    }
    assert!(recorder.dialled().is_empty());
}

#[tokio::test]
async fn the_message_for_a_literal_address_names_it_once() {
    let server = closing_server().await;
    let outbound = outbound(Answers::new(&[&[PUBLIC]]), Recorder::new(server.address));

    let error = get(&outbound, "http://10.0.0.1/").await.err().unwrap();

    assert_eq!(
        error.to_string(),
        "10.0.0.1 is a private address; start with --dangerous-allow-private-networks to allow it"
    );
}

#[tokio::test]
async fn a_redirect_into_the_private_network_is_refused() {
    for target in ["http://169.254.169.254/latest/meta-data/", "http://localhost/", "http://[::1]/", "http://0x7f.1/"] {
        let server = Server::start(move |_| async move { reply(302, &[("location", target)], "") }).await;
        let recorder = Recorder::new(server.address);
        let outbound = outbound(Answers::new(&[&[PUBLIC]]), recorder.clone());

        let result = get(&outbound, "http://open-redirect.example/").await;

        assert_eq!(code(result), "refused_address", "{target}");
        assert_eq!(recorder.dialled(), ["93.184.216.34:80"]);
    }
}

#[tokio::test]
async fn each_hop_to_another_name_is_resolved_and_checked() {
    let server = Server::start(|_| async { reply(302, &[("location", "http://inner.example/")], "") }).await;
    let recorder = Recorder::new(server.address);
    let outbound = outbound(Answers::new(&[&[PUBLIC], &["192.168.1.1"]]), recorder.clone());

    assert_eq!(code(get(&outbound, "http://outer.example/").await), "refused_address");
    assert_eq!(recorder.dialled(), ["93.184.216.34:80"]);
}

#[tokio::test]
async fn private_networks_are_reached_only_when_the_operator_says_so() {
    let server = Server::start(echo).await;
    let config = Config { dangerous_allow_private_networks: true, ..Config::default() };
    let open = Outbound::new(config).unwrap();
    let strict = Outbound::new(Config::default()).unwrap();
    let port = server.address.port();

    for host in ["127.0.0.1", "localhost", "a.localhost"] {
        let url = format!("http://{host}:{port}/");
        assert_eq!(code(get(&open, &url).await), "ok", "{host}");
        // The connection that `open` keeps alive is no way in for another policy.
        assert_eq!(code(get(&strict, &url).await), "refused_address", "{host}");
    }
}

#[tokio::test]
async fn an_override_opens_the_named_host_and_no_other() {
    let server = Server::start(echo).await;
    let item = format!("api.example.com={}", server.address).parse().unwrap();
    let outbound = Outbound::new(Config { dangerous_host_overrides: vec![item], ..Config::default() }).unwrap();

    let echoed = text(get(&outbound, "https://api.example.com/x?y").await.unwrap()).await;

    assert!(echoed.starts_with("GET /x?y\n"));
    assert!(echoed.contains("host: api.example.com\n"));
    assert_eq!(code(get(&outbound, &format!("http://{}/", server.address)).await), "refused_address");
}

#[tokio::test]
async fn names_without_an_address_are_dns_failures() {
    let server = closing_server().await;
    for answers in [Answers::new(&[]), Answers::new(&[&[]])] {
        let outbound = outbound(answers, Recorder::new(server.address));
        assert_eq!(code(get(&outbound, "http://nowhere.example/").await), "dns_failure");
    }
}

/// Refuses `10.…`-style first addresses at once and swallows the rest, noting when it was asked.
struct Unreachable {
    is_silent: bool,
    dialled: Mutex<Vec<(String, Duration)>>,
    start: Instant,
}

#[async_trait]
impl Dial for Unreachable {
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.dialled.lock().unwrap().push((address.ip().to_string(), self.start.elapsed()));
        if self.is_silent {
            std::future::pending::<()>().await;
        }
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

async fn dial_unreachable(is_silent: bool, addresses: &[&str]) -> (Error, Vec<(String, Duration)>) {
    let dial = Arc::new(Unreachable { is_silent, dialled: Mutex::default(), start: Instant::now() });
    let outbound = outbound(Answers::new(&[addresses]), dial.clone());
    let error = get(&outbound, "http://down.example:81/").await.err().unwrap();
    (error, dial.dialled.lock().unwrap().clone())
}

#[tokio::test(start_paused = true)]
async fn silent_addresses_share_the_time_to_connect() {
    let (error, dialled) = dial_unreachable(true, &["1.1.1.1", "2606:4700::1", "8.8.8.8"]).await;

    assert_eq!(error.code(), "timeout");
    assert_eq!(error.to_string(), "connecting took longer than 10s; try again or raise the timeout");
    let order: Vec<_> = dialled.iter().map(|(address, _)| address.as_str()).collect();
    assert_eq!(order, ["1.1.1.1", "2606:4700::1", "8.8.8.8"]);
    let seconds: Vec<_> = dialled.iter().map(|(_, at)| (at.as_secs_f64() * 3.0).round()).collect();
    assert_eq!(seconds, [0.0, 10.0, 20.0]);
}

#[tokio::test(start_paused = true)]
async fn refusing_addresses_are_tried_up_to_the_bound() {
    let (error, dialled) = dial_unreachable(false, &["1.1.1.1"; MAX_ATTEMPTS + 1]).await;

    assert_eq!(error.code(), "connect_failed");
    assert_eq!(
        error.to_string(),
        "could not connect to down.example:81: connection refused; check that the service is up and the port is right"
    );
    assert_eq!(dialled.len(), MAX_ATTEMPTS);
}

struct SilentResolver;

#[async_trait]
impl Resolve for SilentResolver {
    async fn resolve(&self, _: &str, _: Permit) -> io::Result<Vec<IpAddr>> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn resolving_counts_as_connecting() {
    let outbound = outbound(Arc::new(SilentResolver), Arc::new(TcpDial));

    let error = get(&outbound, "http://slow.example/").await.err().unwrap();

    assert!(matches!(error, Error::Timeout { phase: Phase::Connect, .. }));
}

#[tokio::test(start_paused = true)]
async fn a_tenant_with_slow_names_does_not_keep_others_from_looking_up_theirs() {
    struct SlowFirst(Arc<Mutex<Vec<Permit>>>);
    #[async_trait]
    impl Resolve for SlowFirst {
        async fn resolve(&self, name: &str, place: Permit) -> io::Result<Vec<IpAddr>> {
            if name == "slow.example" {
                self.0.lock().unwrap().push(place);
                return std::future::pending().await;
            }
            Err(io::ErrorKind::NotFound.into())
        }
    }
    let held = Arc::default();
    let config =
        Config { resolver: Arc::new(SlowFirst(Arc::clone(&held))), lookups: Share::new(3, 2), ..Config::default() };
    let outbound = Outbound::with_dial(config, Arc::new(TcpDial)).unwrap();
    let (greedy, modest) = (outbound.of_tenant("greedy"), outbound.of_tenant("modest"));

    let slow = async || get(&greedy, "http://slow.example/").await.err().unwrap();
    tokio::join!(slow(), slow());
    assert_eq!(held.lock().unwrap().len(), 2, "callers have given up, threads have not");

    let third = get(&greedy, "http://quick.example/").await.err().unwrap();
    assert!(matches!(third, Error::Full(Full { what: "lookups", scope: Scope::Tenant })), "{third:?}");
    let other = get(&modest, "http://quick.example/").await.err().unwrap();
    assert!(matches!(other, Error::DnsFailure { .. }), "{other:?}");
}

#[tokio::test]
async fn the_system_resolver_knows_this_machine() {
    let bounds = Bounds { places: Share::new(1, 1), waiting: Share::new(1, 1) };
    let place = Gate::new("lookups", bounds).enter("a").await.unwrap();
    let addresses = crate::SystemResolver.resolve("127.0.0.1", place).await.unwrap();

    assert_eq!(addresses, [IpAddr::V4(Ipv4Addr::LOCALHOST)]);
}

#[test]
fn a_url_is_refused_as_it_is_written_and_names_are_not_looked_up() {
    let open = |config| Outbound::with_dial(config, Recorder::new(SocketAddr::from(([127, 0, 0, 1], 9)))).unwrap();
    let refused = |outbound: &Outbound, url: &str| outbound.check(url).err().map(|error| error.code());
    let careful = open(Config { resolver: Answers::new(&[]), ..Config::default() });

    for url in ["http://127.0.0.1/", "http://0x7f.1/", "http://[::1]:8080/", "http://10.1.2.3/", "https://localhost/"] {
        assert_eq!(refused(&careful, url), Some("refused_address"), "{url}");
    }
    assert_eq!(refused(&careful, "http://example.com:25/"), Some("refused_port"));
    assert_eq!(refused(&careful, "ftp://example.com/"), Some("invalid_url"));
    for url in ["http://93.184.216.34/", "https://internal.example/", "http://example.com:8080/"] {
        assert_eq!(refused(&careful, url), None, "{url}");
    }
    let bold = open(Config { dangerous_allow_private_networks: true, ..Config::default() });
    assert_eq!(
        (refused(&bold, "http://127.0.0.1/"), refused(&bold, "http://127.0.0.1:25/")),
        (None, Some("refused_port"))
    );
    let override_all = "*=127.0.0.1:9".parse().unwrap();
    let redirected = open(Config { dangerous_host_overrides: vec![override_all], ..Config::default() });
    assert_eq!(refused(&redirected, "http://10.0.0.1:25/"), None);
}

const OTHER: &str = "9.9.9.9";

fn with_policy(policy: Policy, resolver: Arc<dyn Resolve>, dial: Arc<dyn Dial>) -> Outbound {
    Outbound::with_dial(Config { resolver, policy, ..Config::default() }, dial).unwrap().of_tenant("u_a")
}

fn rules(texts: &[&str]) -> Vec<crate::Rule> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[tokio::test]
async fn a_rule_about_networks_holds_whatever_name_leads_there() {
    let server = closing_server().await;
    let recorder = Recorder::new(server.address);
    let policy = Policy { deny: rules(&["9.9.9.0/24"]), ..Policy::default() };
    let outbound = with_policy(policy, Answers::new(&[&[PUBLIC], &[OTHER], &[PUBLIC, OTHER]]), recorder.clone());

    assert_eq!(text(get(&outbound, "http://a.example/").await.unwrap()).await, "hello");
    let error = get(&outbound, "http://a.example/").await.err().unwrap();
    let mixed = get(&outbound, "http://a.example/").await;

    assert_eq!((error.code(), code(mixed)), ("refused_by_policy", "refused_by_policy"));
    assert_eq!(error.to_string(), "a.example is denied by a rule about networks; the operator's egress policy decides");
    assert_eq!(recorder.dialled(), ["93.184.216.34:80"]);
}

#[tokio::test]
async fn rules_hold_at_each_redirect() {
    let server = Server::start(|_| async { reply(302, &[("location", "http://inner.example/")], "") }).await;
    let recorder = Recorder::new(server.address);
    let policy = Policy { allow: rules(&["outer.example"]), ..Policy::default() };
    let outbound = with_policy(policy, Answers::new(&[&[PUBLIC], &[OTHER]]), recorder.clone());

    assert_eq!(code(get(&outbound, "http://outer.example/").await), "refused_by_policy");
    assert_eq!(recorder.dialled(), ["93.184.216.34:80"]);
}

#[tokio::test]
async fn rules_of_one_tenant_are_not_those_of_another() {
    let server = closing_server().await;
    let policy = Policy { deny: rules(&["u_a@*.example"]), ..Policy::default() };
    let outbound = with_policy(policy, Answers::new(&[&[PUBLIC], &[PUBLIC]]), Recorder::new(server.address));

    assert_eq!(code(get(&outbound, "http://a.example/").await), "refused_by_policy");
    assert_eq!(code(get(&outbound.of_tenant("u_b"), "http://a.example/").await), "ok");
}

#[tokio::test]
async fn the_server_itself_is_refused_by_whatever_name() {
    let server = closing_server().await;
    let recorder = Recorder::new(server.address);
    let own = crate::Own { addresses: [PUBLIC.parse().unwrap()].into(), hosts: Vec::new() };
    let policy = Policy { own, ..Policy::default() };
    let outbound = with_policy(policy, Answers::new(&[&[PUBLIC]]), recorder.clone());

    let error = get(&outbound, "http://alias.example/").await.err().unwrap();

    assert_eq!(error.to_string(), "alias.example is this server itself; the operator's egress policy decides");
    assert!(recorder.dialled().is_empty());
}

#[tokio::test]
async fn only_an_exempt_origin_is_reached_on_a_private_address() {
    let server = Server::start(|_| async { reply(302, &[("location", "http://elsewhere.example:8080/")], "") }).await;
    let recorder = Recorder::new(server.address);
    let host = Host::parse("registry.example").unwrap();
    let config = Config {
        resolver: Answers::new(&[&["10.0.0.1"], &["10.0.0.1"], &["10.0.0.1"]]),
        exempt_origins: vec![(host, 8080)],
        ..Config::default()
    };
    let outbound = Outbound::with_dial(config, recorder.clone()).unwrap();

    let redirected = code(get(&outbound, "http://registry.example:8080/package").await);
    let other_port = code(get(&outbound, "http://registry.example:8081/").await);

    assert_eq!((redirected, other_port), ("refused_address", "refused_address"));
    assert_eq!(recorder.dialled(), ["10.0.0.1:8080"]);
}
