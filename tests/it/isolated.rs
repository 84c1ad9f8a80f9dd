//! Worker processes: what they cannot do, and what the end of one leaves alone.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rig::served::DataFolder;
use rig::wait::until;
use sandbox::{Config, Error, Image, Isolation, Limits, Outcome, Processes, Program, Sandbox, Task};

use serde_json::{Value, json};

use crate::bad_days::{command, text};
use crate::stage::{Stage, config, open, processes, source};

const CALL: &str = r#"{"kind":"run","event":{}}"#;

async fn isolated(change: impl FnOnce(&mut Processes)) -> Sandbox {
    let Isolation::Process(mut processes) = processes() else { unreachable!() };
    change(&mut processes);
    open(Config { isolation: Isolation::Process(processes), ..config() }).await
}

async fn image(sandbox: &Sandbox, body: &str) -> Image {
    let program = Arc::new(Program::single("component.js", source(body)));
    sandbox.build(program, Limits::default()).await.unwrap().image
}

async fn run(sandbox: &Sandbox, tenant: &str, image: &Image, stage: &Arc<Stage>) -> Result<Outcome, Error> {
    let limits = Limits { wall_clock: Duration::from_secs(60), ..Limits::default() };
    sandbox.run(image, Task { tenant, call: CALL, limits, is_urgent: false, replay: None }, stage.clone()).await
}

fn logs(outcome: &Outcome) -> Vec<&str> {
    outcome.logs.iter().map(|line| line.message.as_str()).collect()
}

/// Two tenants of different groups, both with a worker, and their processes.
async fn two_groups(sandbox: &Sandbox) -> [(String, u32); 2] {
    let trivial = image(sandbox, "").await;
    let mut tenants: Vec<(String, u32)> = Vec::new();
    for number in 0.. {
        let tenant = format!("tenant {number}");
        run(sandbox, &tenant, &trivial, &Arc::default()).await.unwrap();
        let process = sandbox.worker_process(&tenant).unwrap();
        if tenants.iter().all(|(_, other)| *other != process) {
            tenants.push((tenant, process));
        }
        if tenants.len() == 2 {
            break;
        }
    }
    tenants.try_into().unwrap()
}

fn signal(process: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

#[tokio::test]
async fn a_worker_opens_nothing_starts_nothing_and_reaches_nothing() {
    let sandbox = isolated(|_| ()).await;

    let report = sandbox.report().unwrap();

    let could: Vec<_> = report.probes.iter().filter(|probe| probe.refused.is_none()).collect();
    assert!(could.is_empty(), "{could:?}");
    assert!(report.probes.len() > 10, "{:?}", report.probes);
    for name in ["no new privileges", "resource limits", "ends with the host", "system calls"] {
        let layer = report.layers.iter().find(|layer| layer.name == name).expect(name);
        assert_eq!(layer.missing, None, "{name}");
    }
}

/// As another process sees it: no environment, and no descriptors but those it needs.
#[tokio::test]
async fn a_worker_inherits_neither_environment_nor_files() {
    let sandbox = isolated(|_| ()).await;
    let [(_, process), _] = two_groups(&sandbox).await;

    let environment = std::fs::read(format!("/proc/{process}/environ"));
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();

    // A process that is not dumpable shows its environment to the administrator alone.
    assert!(environment.is_err() || environment.is_ok_and(|environment| environment.is_empty()));
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    assert_eq!(field("NoNewPrivs:"), Some("1"));
    assert_eq!(field("Seccomp:"), Some("2"));
    if let Ok(descriptors) = std::fs::read_dir(format!("/proc/{process}/fd")) {
        let open: Vec<String> = descriptors
            .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
            .map(|target| target.to_string_lossy().into_owned())
            .collect();
        let is_needed = |target: &String| {
            ["socket:", "anon_inode:", "/dev/null", "/proc/", "/memfd:", "pipe:"]
                .iter()
                .any(|kind| target.starts_with(kind))
                || target.contains("/sandbox/")
        };
        assert!(open.iter().all(is_needed), "{open:?}");
    }
}

#[tokio::test]
async fn workers_end_with_their_sandbox() {
    let sandbox = isolated(|_| ()).await;
    let [(_, process), _] = two_groups(&sandbox).await;
    // The kernel says "not found" or "no such process", as far as the process has come.
    let is_there = || std::fs::exists(format!("/proc/{process}/stat")).is_ok_and(|exists| exists);
    assert!(is_there());

    drop(sandbox);

    until("the end of the worker", async || (!is_there()).then_some(())).await;
}

#[tokio::test]
async fn killing_a_worker_fails_the_runs_of_its_group_and_no_others() {
    let sandbox = isolated(|_| ()).await;
    let [(killed, process), (other, _)] = two_groups(&sandbox).await;
    // It asks the host for something first, so that it is under way when its worker is killed.
    let waiting =
        image(&sandbox, "this.db.get('begun'); await new Promise((done) => setTimeout(done, 300)); console.log('end')")
            .await;
    let stages: [Arc<Stage>; 2] = std::array::from_fn(|_| Arc::new(Stage::default()));
    let kill = async {
        for stage in &stages {
            stage.asked.notified().await;
        }
        signal(process, "-KILL");
    };

    let (of_killed, of_other, ()) =
        tokio::join!(run(&sandbox, &killed, &waiting, &stages[0]), run(&sandbox, &other, &waiting, &stages[1]), kill);

    assert!(matches!(of_killed, Err(Error::Worker(_))), "{of_killed:?}");
    assert_eq!(logs(&of_other.unwrap()), ["end"]);
    let again = run(&sandbox, &killed, &waiting, &Arc::default()).await.unwrap();
    assert_eq!(logs(&again), ["end"], "in a worker that was started instead");
    assert_ne!(sandbox.worker_process(&killed), Some(process));
    assert_eq!(sandbox.worker_failures(), 1);
}

#[tokio::test]
async fn a_worker_that_does_not_answer_is_killed_after_the_deadline() {
    let sandbox = isolated(|processes| processes.margin = Duration::from_millis(100)).await;
    let [(stopped, process), (other, _)] = two_groups(&sandbox).await;
    let trivial = image(&sandbox, "console.log('end')").await;
    signal(process, "-STOP");

    let limits = Limits { wall_clock: Duration::from_millis(200), ..Limits::default() };
    let task = Task { tenant: &stopped, call: CALL, limits, is_urgent: false, replay: None };
    let overdue = sandbox.run(&trivial, task, Arc::new(Stage::default())).await;

    assert!(matches!(overdue, Err(Error::Worker(sandbox::WorkerEnded::Overdue))), "{overdue:?}");
    assert_eq!(logs(&run(&sandbox, &other, &trivial, &Arc::default()).await.unwrap()), ["end"]);
    assert_eq!(logs(&run(&sandbox, &stopped, &trivial, &Arc::default()).await.unwrap()), ["end"]);
}

/// A worker has less memory than its runs may use together: they fail, and the server goes on.
#[tokio::test]
async fn a_worker_without_memory_fails_its_own_runs() {
    let sandbox = isolated(|processes| processes.memory_bytes = 1 << 30).await;
    let [(greedy, _), (other, _)] = two_groups(&sandbox).await;
    let greed = image(
        &sandbox,
        "const kept = []; for (let i = 0; i < 90; i++) kept.push(new Uint8Array(1 << 20).fill(1));
         this.db.get('begun'); await new Promise((done) => setTimeout(done, 200)); console.log(kept.length)",
    )
    .await;
    let modest = image(&sandbox, "console.log('end')").await;

    let greeds = (0..24).map(|_| async { run(&sandbox, &greedy, &greed, &Arc::default()).await });
    let stage = Arc::default();
    let (greeds, of_other) =
        tokio::join!(futures_util::future::join_all(greeds), run(&sandbox, &other, &modest, &stage));

    let went_well = |ran: &Result<Outcome, Error>| ran.as_ref().is_ok_and(|outcome| outcome.fault.is_none());
    assert!(greeds.iter().any(|ran| !went_well(ran)), "more than a worker has was had");
    assert_eq!(logs(&of_other.unwrap()), ["end"]);
    assert_eq!(logs(&run(&sandbox, &greedy, &modest, &Arc::default()).await.unwrap()), ["end"]);
}

#[tokio::test]
async fn a_program_that_is_no_worker_is_an_error_and_no_hang() {
    for script in ["exit 3", "printf 'not a frame at all, but long enough' >&0; sleep 60"] {
        let opened = Sandbox::open(Config {
            isolation: Isolation::Process(Processes {
                program: "/bin/sh".into(),
                arguments: ["-c".into(), script.into()].into(),
                groups: std::num::NonZeroUsize::MIN,
                threads: 1,
                memory_bytes: 1 << 30,
                margin: Duration::from_secs(1),
            }),
            ..config()
        });

        let Err(error) = opened.await else { panic!("{script} is no worker") };

        assert!(matches!(error, Error::Worker(_)), "{error}");
    }
}

#[tokio::test]
async fn a_server_with_workers_deploys_answers_and_keeps_state() {
    const COUNTER: &str = "module.exports = {name: 'counter', version: '1',
        props: {http: {type: '$.interface.http', customResponse: true}, db: '$.service.db'},
        run() {
          const count = (this.db.get('count') || 0) + 1;
          this.db.set('count', count);
          this.http.respond({status: 200, body: String(count)});
          this.$emit({count});
        }}";
    let place = DataFolder::new();
    let options = ["--isolate", "process", "--isolate-groups", "2"].map(str::to_owned);
    let served = place.start_with(&options).await;
    let client = served.client();
    let source = client.post("/v1/sources", &json!({"component_code": COUNTER})).await.unwrap().data();
    let endpoint = source["configured_props"]["http"]["endpoint_url"].as_str().unwrap();

    for count in 1..=3 {
        let reply = client.trigger(endpoint, &json!({})).await.unwrap();
        assert_eq!((reply.status, reply.text()), (200, count.to_string()));
    }

    let events = client.list(&format!("/v1/sources/{}/event_summaries", source["id"].as_str().unwrap())).await.unwrap();
    assert_eq!(events.len(), 3);
    assert!(served.stop().await.success());
}

#[test]
fn a_doctor_tells_what_workers_are_locked_by() {
    let place = DataFolder::new();
    let data = place.data();

    let arguments = ["doctor", "--offline", "--json", "--isolate", "process", "--listen", "127.0.0.1:0"];
    let output = command(&arguments).args(["--data", text(&data)]).output().unwrap();

    let findings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let isolation = findings.iter().find(|finding| finding["about"] == "isolation").expect("it is looked at");
    assert!(
        isolation["says"].as_str().unwrap().contains("system calls") || isolation["level"] == "warn",
        "{isolation}"
    );
}
