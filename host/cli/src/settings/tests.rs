//! Tests of settings.

use clap::{Args, Command};
use domain::limits::{EVENT_BYTES_MAXIMUM, event_bytes_for};
use toml::Table;

use super::check::MAXIMA;
use super::{DataSettings, Settings, Tuning, without_password};

fn data_settings(text: &str) -> (tempfile::TempDir, DataSettings) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wellspring.toml");
    std::fs::write(&path, text).unwrap();
    (folder, DataSettings { config: Some(path), ..DataSettings::default() })
}

fn refusal(text: &str) -> String {
    let (_folder, data) = data_settings(text);
    format!("{:#}", Settings::decide(&data, &Tuning::default()).unwrap_err())
}

#[test]
fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
    let (_folder, data) = data_settings("keep_events = 7\nkeep_logs = 8\ndata = \"elsewhere\"");
    let mut tuning = Tuning::default();
    tuning.limits.keep_events = Some(9);

    let settings = Settings::decide(&data, &tuning).unwrap();

    assert_eq!((settings.keep_events, settings.keep_logs), (9, 8));
    assert_eq!(settings.data.to_str(), Some("elsewhere"));
    assert_eq!(settings.listen, Settings::default().listen);
}

#[test]
fn every_setting_has_a_flag_and_an_environment_variable_of_its_name() {
    let command = Tuning::augment_args(DataSettings::augment_args(Command::new("settings")));
    let settings = Settings {
        store: Some("redis://here".into()),
        public_url: Some("http://here".into()),
        wildcard_domain: Some("here".into()),
        isolate_groups: Some(1),
        otlp_endpoint: Some("http://here".into()),
        ..Settings::default()
    };

    for name in Table::try_from(settings).unwrap().keys() {
        let flag = command.get_arguments().find(|argument| argument.get_id() == name).expect(name);
        assert_eq!(flag.get_long(), Some(name.replace('_', "-").as_str()));
        assert_eq!(flag.get_env().unwrap().to_str(), Some(format!("WELLSPRING_{}", name.to_uppercase()).as_str()));
    }
}

#[test]
fn what_is_printed_reads_back_as_the_same_settings() {
    let settings = Settings { trusted_proxy: vec!["10.0.0.0/8".into()], ..Settings::default() };
    let (_folder, data) = data_settings(&settings.to_toml().unwrap());

    assert_eq!(Settings::decide(&data, &Tuning::default()).unwrap(), settings);
}

#[test]
fn a_file_that_is_wrong_is_named_with_what_is_wrong_in_it() {
    assert!(refusal("keep_events = ").contains("line 1"));
    assert!(refusal("keep_event = 1").contains("unknown field `keep_event`"));
    assert!(refusal("keep_events = \"many\"").contains("keep_events"));
    assert!(refusal("listen = \"nowhere\"").contains("listen"));
}

#[test]
fn a_limit_is_at_least_one_and_a_quota_at_least_zero() {
    assert!(refusal("keep_events = 0").contains("`keep_events` must be at least 1"));
    assert!(refusal("daily_invocations_quota = -1").contains("must be at least 0"));
    let (_folder, data) =
        data_settings("keep_events = 1\ndaily_invocations_quota = 0\nkeep_runs = 0\nkeep_recordings = 0");
    assert_eq!(Settings::decide(&data, &Tuning::default()).unwrap().quotas().daily_invocations, 0);
}

#[test]
fn a_limit_is_at_most_what_can_be_kept() {
    for (name, maximum) in MAXIMA {
        let (_folder, data) = data_settings(&format!("{name} = {maximum}"));
        assert!(Settings::decide(&data, &Tuning::default()).is_ok(), "{name}");
        let over = refusal(&format!("{name} = {}", maximum + 1));
        assert!(over.contains(&format!("`{name}` must be at most {maximum}")), "{over}");
    }
}

#[test]
fn the_limit_on_events_follows_that_on_bodies_unless_it_is_given() {
    let decided = |text: &str| {
        let (_folder, data) = data_settings(text);
        Settings::decide(&data, &Tuning::default()).unwrap().limits().event_bytes
    };

    assert_eq!(decided(""), event_bytes_for(512 << 10));
    assert_eq!(decided("body_bytes = 1000"), event_bytes_for(1000));
    assert_eq!(decided("body_bytes = 1000\nevent_bytes = 7"), 7);
    assert_eq!(decided("body_bytes = 1000000000"), EVENT_BYTES_MAXIMUM);
}

#[test]
fn a_password_in_an_address_is_not_shown() {
    assert_eq!(without_password("redis://me:secret@host:6379/1"), "redis://…@host:6379/1");
    assert_eq!(without_password("redis://host"), "redis://host");
}
