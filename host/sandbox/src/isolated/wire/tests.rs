//! Frames and files over a real pair of sockets.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;

use super::{Inbox, Received, memory_file_of, pair, read_only, send};
use crate::isolated::codec::{Encoder, MAX_FRAME_BYTES, Malformed};
use crate::isolated::protocol::Frame;

fn frame(kind: u8, run: u64, text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    Encoder::frame(&mut bytes, kind, run).text(text);
    bytes
}

fn text(frame: &Frame) -> String {
    frame.reader().text().unwrap()
}

#[test]
fn frames_come_whole_however_they_were_cut() {
    let (host, worker) = pair().unwrap();
    let sent = [frame(1, 7, "one"), frame(2, 8, ""), frame(3, 9, &"x".repeat(100_000))].concat();
    let mut inbox = Inbox::default();
    let mut seen = Vec::new();

    let mut rest = sent.as_slice();
    while !rest.is_empty() {
        let piece = rest.len().min(if rest.len() % 2 == 0 { 1000 } else { 7 });
        let (now, later) = rest.split_at(piece);
        assert_eq!(send(host.as_raw_fd(), now, &[]).unwrap(), piece);
        rest = later;
        inbox.receive(worker.as_raw_fd(), true).unwrap();
        while let Some(frame) = inbox.next_frame().unwrap() {
            seen.push((frame.kind, frame.run, text(&frame).len()));
        }
    }

    assert_eq!(seen, [(1, 7, 3), (2, 8, 0), (3, 9, 100_000)]);
}

#[test]
fn a_frame_that_is_too_short_or_too_long_is_refused_before_it_has_come() {
    for length in [0, 8, u32::try_from(MAX_FRAME_BYTES).unwrap(), u32::MAX] {
        let (host, worker) = pair().unwrap();
        send(worker.as_raw_fd(), &[&length.to_le_bytes(), [0; 5].as_slice()].concat(), &[]).unwrap();
        let mut inbox = Inbox::default();
        inbox.receive(host.as_raw_fd(), false).unwrap();

        assert_eq!(inbox.next_frame().unwrap_err(), Malformed("a frame of an impossible length"), "{length}");
    }
}

#[test]
fn files_come_with_the_frame_they_were_sent_with() {
    let (host, worker) = pair().unwrap();
    let files = ["first", "second"].map(|text| memory_file_of("test", text.as_bytes()).unwrap().into());
    send(host.as_raw_fd(), &frame(1, 0, "a"), &[]).unwrap();
    send(host.as_raw_fd(), &frame(2, 0, "b"), &files).unwrap();
    send(host.as_raw_fd(), &frame(3, 0, "c"), &[]).unwrap();
    let mut inbox = Inbox::default();

    // What came with files ends a read, and must not be taken for all there is.
    assert!(matches!(inbox.receive(worker.as_raw_fd(), true).unwrap(), Received::More));
    inbox.receive(worker.as_raw_fd(), true).unwrap();

    let kinds: Vec<u8> = std::iter::from_fn(|| inbox.next_frame().unwrap()).map(|frame| frame.kind).collect();
    let mut contents = [String::new(), String::new()];
    for content in &mut contents {
        inbox.take_file().unwrap().read_to_string(content).unwrap();
    }
    assert_eq!(kinds, [1, 2, 3]);
    assert_eq!(contents, ["first", "second"]);
    assert!(inbox.take_file().is_err());
}

#[test]
fn the_host_takes_no_files_from_a_worker() {
    let (host, worker) = pair().unwrap();
    send(worker.as_raw_fd(), &frame(1, 0, "a"), &[memory_file_of("test", b"x").unwrap().into()]).unwrap();
    let mut inbox = Inbox::default();

    inbox.receive(host.as_raw_fd(), false).unwrap();

    assert!(inbox.next_frame().unwrap().is_some());
    assert!(inbox.take_file().is_err());
}

#[test]
fn what_was_opened_to_be_read_cannot_be_written() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"image").unwrap();

    let mut given = read_only(&file).unwrap();

    let mut content = String::new();
    given.read_to_string(&mut content).unwrap();
    assert_eq!(content, "image");
    assert!(given.write_all(b"other").is_err());
    assert!(given.set_len(0).is_err());
}
