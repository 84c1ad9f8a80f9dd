//! The bytes of a recording before they are sealed. Most are short and alike, so a dictionary does most of the compressing:
//! what takes up more than a kilobyte takes up another page of the store.

use domain::replay::{Deeds, Told};
use lz4_flex::block::{compress_into_with_dict, decompress_with_dict, get_maximum_output_size};
use serde::{Deserialize, Serialize};

use super::{Content, FIELD};
use crate::Error;
use crate::records::RecordError;
use crate::vault::{TAG_BYTES, at_once};

/// Against content that is damaged; far above what is recorded.
const UNPACKED_MAXIMUM: u32 = 256 << 20;
/// What an ordinary run did, so that it is not moved while it is written.
const DEEDS_BYTES: usize = 1024;
const SIZE_BYTES: usize = size_of::<u32>();
/// Set in the size when the dictionary was used. Recordings made before there was one do not have it.
const WITH_DICTIONARY: u32 = 1 << 31;
/// Since when there is a dictionary.
const DICTIONARY_LAYOUT: u32 = 2;
/// Set in the size when what the run did are texts as they were. It was JSON before.
const TEXTS: u32 = 1 << 30;
const TEXTS_LAYOUT: u32 = 3;
/// Set in the size when it is a list, with an element for each run.
const JOINED: u32 = 1 << 29;
pub(super) const JOINED_LAYOUT: u32 = 4;
/// How calls and deeds look. A change here makes recordings unreadable: another text needs another mark.
const DICTIONARY: &[u8] = br#"application/x-www-form-urlencodedmultipart/form-data; boundary=text/plain; charset=utf-8{"kind":"action","steps":{"trigger":{"event":{"$return_value":{"kind":"hook","hook":"activate","props":{},"env":{"PD_COMPONENT":"dc_"authProvisionId":"apn_","timestamp":17,"interval_seconds":900,"cron":null,"level":"error","message":"TypeError: Cannot read properties of undefined","stack":"GET https://api."status":200,"name":"created_at":"updated_at":"title":"description":"html_url":"https://"user":"email":"type":"data":{"x-forwarded-for":"x-forwarded-proto":"https","x-real-ip":"x-hub-signature-256":"sha256=x-request-id":"accept":"*/*","accept-encoding":"gzip, deflate, br","accept-language":"connection":"keep-alive","user-agent":"Mozilla/5.0 (curl/8.{"kind":"run","event":{"method":"POST","path":"/","query":{},"headers":{"host":"localhost:8400127.0.0.1:","content-type":"application/json","content-length":"2"},"bodyRaw":"{\"id\":\"\",\"type\":\"\",\"name\":\"},"body":{"id":"url":"http://","client_ip":"127.0.0.1","interface":"http"},"props":{"http":{"endpoint":"http://"}},"env":{"PD_COMPONENT":"dc_"}}{"emits":[{"channel":null,"event":{"id":"metadata":{"id":"summary":"ts":"dedupe":null}}],"writes":[],"logs":[],"effects":[],"requests":[],"returned":null,"reply":{"status":200,"headers":[],"body":""},"error":null,"fuel":,"was_cut_off":false}"#;

/// A [`Content`] on its way into or out of its bytes, with deeds in the form of its layout.
#[derive(Serialize, Deserialize)]
pub(super) struct Packed<'a, Form> {
    pub(super) call: &'a str,
    #[serde(serialize_with = "at_once")]
    pub(super) answers: &'a [u8],
    pub(super) fuel_limit: u64,
    pub(super) memory_bytes: usize,
    pub(super) deeds: Form,
}

/// In the form of a layout, after so many bytes that are free.
pub(super) fn pack(content: &Packed<'_, Told<'_>>, free: usize, layout: u32) -> Result<Vec<u8>, Error> {
    if layout >= TEXTS_LAYOUT {
        return compress(content, free, TEXTS | WITH_DICTIONARY);
    }
    let Packed { call, answers, fuel_limit, memory_bytes, ref deeds } = *content;
    let deeds = &deeds.deeds().and_then(|deeds| serde_json::to_string(&deeds)).map_err(super::unwritable)?;
    let marks = if layout < DICTIONARY_LAYOUT { 0 } else { WITH_DICTIONARY };
    compress(&Packed { call, answers, fuel_limit, memory_bytes, deeds: deeds.as_str() }, free, marks)
}

/// The same of several runs, each as postcard has it. One is packed as if it was alone.
pub(super) fn join(contents: &[&[u8]], free: usize) -> Result<Vec<u8>, Error> {
    match contents {
        [content] => compress_bytes(content, free, TEXTS | WITH_DICTIONARY),
        contents => {
            let room = Vec::with_capacity(contents.iter().map(|content| content.len() + SIZE_BYTES).sum());
            let bytes = contents.iter().try_fold(room, |bytes, content| {
                let mut bytes = postcard::to_extend(&content.len(), bytes)?;
                bytes.extend_from_slice(content);
                Ok::<_, postcard::Error>(bytes)
            });
            compress_bytes(&bytes.map_err(unwritable)?, free, TEXTS | WITH_DICTIONARY | JOINED)
        }
    }
}

fn compress<Form: Serialize>(content: &Packed<'_, Form>, free: usize, marks: u32) -> Result<Vec<u8>, Error> {
    let room = Vec::with_capacity(content.size_estimate());
    let bytes = postcard::to_extend(content, room).map_err(unwritable)?;
    compress_bytes(&bytes, free, marks)
}

fn compress_bytes(bytes: &[u8], free: usize, marks: u32) -> Result<Vec<u8>, Error> {
    let size = u32::try_from(bytes.len()).map_err(unwritable)?;
    let mut packed = vec![0; free + SIZE_BYTES + get_maximum_output_size(bytes.len()) + TAG_BYTES];
    let room = packed.get_mut(free..).and_then(|room| room.split_first_chunk_mut::<SIZE_BYTES>());
    let (head, compressed) = room.ok_or_else(|| unwritable("it has no room"))?;
    *head = (size | marks).to_le_bytes();
    let length = compress_into_with_dict(bytes, compressed, dictionary(marks)).map_err(unwritable)?;
    packed.truncate(free + SIZE_BYTES + length);
    Ok(packed)
}

fn dictionary(marks: u32) -> &'static [u8] {
    if marks & WITH_DICTIONARY == 0 { &[] } else { DICTIONARY }
}

/// The run at this place, as a version does that reads up to this layout.
pub(super) fn unpack(packed: &[u8], at: usize, reads: u32) -> Result<Content, Error> {
    let (head, packed) = packed.split_first_chunk().ok_or_else(|| malformed("it is empty"))?;
    let head = u32::from_le_bytes(*head);
    let marks = [(WITH_DICTIONARY, DICTIONARY_LAYOUT), (TEXTS, TEXTS_LAYOUT), (JOINED, JOINED_LAYOUT)];
    for (mark, since) in marks {
        if head & mark != 0 && reads < since {
            return Err(RecordError::Newer { kind: FIELD, found: since, known: reads }.into());
        }
    }
    let size = head & !(WITH_DICTIONARY | TEXTS | JOINED);
    if size > UNPACKED_MAXIMUM {
        return Err(malformed("it is too large").into());
    }
    let bytes = decompress_with_dict(packed, size as usize, dictionary(head)).map_err(malformed)?;
    let mut bytes = bytes.as_slice();
    if head & JOINED != 0 {
        bytes = element(bytes, at)?;
    } else if at > 0 {
        return Err(malformed("it is of one run").into());
    }
    if head & TEXTS == 0 {
        let packed: Packed<'_, &str> = postcard::from_bytes(bytes).map_err(malformed)?;
        return packed.to_content(|deeds| serde_json::from_str(deeds));
    }
    let packed: Packed<'_, Told<'_>> = postcard::from_bytes(bytes).map_err(malformed)?;
    packed.to_content(Told::deeds)
}

/// Of a list of bytes.
fn element(mut list: &[u8], at: usize) -> Result<&[u8], RecordError> {
    for _ in 0..at {
        (_, list) = postcard::take_from_bytes::<&[u8]>(list).map_err(malformed)?;
    }
    postcard::take_from_bytes(list).map(|(element, _)| element).map_err(malformed)
}

// === impl Packed ===

impl<Form> Packed<'_, Form> {
    pub(super) fn size_estimate(&self) -> usize {
        self.call.len() + self.answers.len() + DEEDS_BYTES
    }

    fn to_content(&self, read: impl FnOnce(&Form) -> Result<Deeds, serde_json::Error>) -> Result<Content, Error> {
        let Self { call, answers, fuel_limit, memory_bytes, ref deeds } = *self;
        let deeds = read(deeds).map_err(malformed)?;
        Ok(Content { call: call.to_owned(), answers: answers.to_vec(), fuel_limit, memory_bytes, deeds })
    }
}

pub(super) fn unwritable(error: impl std::fmt::Display) -> RecordError {
    super::unwritable(serde::ser::Error::custom(error))
}

fn malformed(error: impl std::fmt::Display) -> RecordError {
    RecordError::Malformed { kind: FIELD, source: serde::de::Error::custom(error) }
}

#[cfg(test)]
mod tests {
    use domain::outcome::{Emit, Outcome, Usage};
    use domain::replay::{Deeds, Told};
    use serde_json::json;
    use serde_json::value::RawValue;
    use sha2::Digest;

    use super::{DICTIONARY, JOINED_LAYOUT, Packed, TAG_BYTES, join, unpack};
    use crate::Error;
    use crate::records::LAYOUT;

    struct Example {
        call: String,
        outcome: Outcome,
    }

    const ANSWERS: &[u8] = &[7; 40];

    fn pack(Example { call, outcome }: &Example, layout: u32) -> Result<Vec<u8>, Error> {
        let deeds = Told::of(outcome, Some(&json!({"status": 200}))).unwrap();
        super::pack(&Packed { call, answers: ANSWERS, fuel_limit: 1 << 40, memory_bytes: 1 << 27, deeds }, 0, layout)
    }

    impl Example {
        fn deeds(&self) -> Deeds {
            Deeds::of(&self.outcome, Some(&json!({"status": 200}))).unwrap()
        }
    }

    /// What a run leaves that parses a request and emits an event.
    fn example() -> Example {
        let body = r#"{"id":"evt_8DZ1sX2","type":"issue.opened","actor":{"id":7,"name":"ada"},"issue":{"number":42,"title":"The answer","labels":["question","life"]}}"#;
        let event = json!({"method": "POST", "path": "/", "query": {}, "headers": {"host": "127.0.0.1:39815",
            "content-type": "application/json", "content-length": "142"}, "bodyRaw": body,
            "body": serde_json::from_str::<serde_json::Value>(body).unwrap(), "url": "http://127.0.0.1:39815/e/abcdef",
            "client_ip": "127.0.0.1", "interface": "http"});
        let call = json!({"kind": "run", "event": event, "props": {}, "env": {"PD_COMPONENT": "dc_QsyFl84uoTGQ"}});
        let event = RawValue::from_string(r#"{"id":"evt_8DZ1sX2","title":"The answer"}"#.to_owned()).unwrap();
        let emits = vec![Emit { event: event.into(), metadata: json!({"summary": "#42"}) }];
        let usage = Usage { fuel: 123_456, ..Usage::default() };
        Example { call: call.to_string(), outcome: Outcome { emits, usage, ..Outcome::default() } }
    }

    #[test]
    fn what_is_packed_is_unpacked_the_same_and_an_ordinary_run_takes_half_a_kilobyte() {
        let example = example();

        let packed = pack(&example, LAYOUT).unwrap();
        let unpacked = unpack(&packed, 0, LAYOUT).unwrap();

        assert_eq!((unpacked.deeds, unpacked.fuel_limit), (example.deeds(), 1 << 40));
        assert_eq!((unpacked.call, &unpacked.answers[..]), (example.call, ANSWERS));
        assert!(packed.len() < 560, "{} bytes", packed.len());
    }

    #[test]
    fn what_is_joined_is_unpacked_one_by_one_and_takes_a_quarter_of_the_bytes() {
        let example = example();
        let content = |fuel_limit: u64| {
            let (call, deeds) =
                (example.call.as_str(), Told::of(&example.outcome, Some(&json!({"status": 200}))).unwrap());
            let content = Packed { call, answers: ANSWERS, fuel_limit, memory_bytes: 1, deeds };
            postcard::to_extend(&content, Vec::new()).unwrap()
        };
        let contents: Vec<Vec<u8>> = (0..32).map(content).collect();
        let contents: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();

        let packed = join(&contents, 0).unwrap();

        for at in [0, 1, 31] {
            let unpacked = unpack(&packed, at, LAYOUT).unwrap();
            assert_eq!((unpacked.call, unpacked.deeds), (example.call.clone(), example.deeds()));
            assert_eq!(unpacked.fuel_limit, at as u64);
        }
        assert!(unpack(&packed, 32, LAYOUT).is_err() && unpack(&packed, 0, LAYOUT - 1).is_err());
        assert!(packed.len() < 32 * 140, "{} bytes", packed.len());
        let alone = pack(&example, LAYOUT).unwrap();
        assert!(unpack(&alone, 1, LAYOUT).is_err(), "it is of one run");
    }

    #[test]
    fn recordings_from_before_the_dictionary_are_read() {
        let (deeds, call) = (example().deeds(), example().call);
        let text = serde_json::to_string(&deeds).unwrap();
        // A list of bytes, as it was declared then.
        let packed = (&call, ANSWERS.to_vec(), 1_u64 << 40, 1_usize << 27, &text);
        let packed = lz4_flex::block::compress_prepend_size(&postcard::to_extend(&packed, Vec::new()).unwrap());

        let unpacked = unpack(&packed, 0, LAYOUT).unwrap();

        assert_eq!((unpacked.call, unpacked.deeds), (call, deeds));
        assert_eq!(pack(&example(), 1).unwrap(), packed, "and written as long as a host needs it");
    }

    #[test]
    fn every_layout_is_read_and_refused_by_what_knows_only_earlier_ones() {
        for layout in 1..=LAYOUT {
            let packed = pack(&example(), layout).unwrap();

            let unpacked = unpack(&packed, 0, layout).unwrap();

            assert_eq!((unpacked.call, unpacked.deeds), (example().call, example().deeds()), "{layout}");
            let older = unpack(&packed, 0, layout - 1);
            assert_eq!(older.is_ok(), [1, JOINED_LAYOUT].contains(&layout), "{layout}");
        }
    }

    #[test]
    fn damaged_content_is_refused() {
        let packed = pack(&example(), LAYOUT).unwrap();

        assert!(unpack(&[], 0, LAYOUT).is_err() && unpack(&packed[..packed.len() / 2], 0, LAYOUT).is_err());
        assert!(unpack(&u32::MAX.to_le_bytes(), 0, LAYOUT).is_err());
    }

    #[test]
    fn levels_and_kinds_of_effects_keep_the_numbers_that_recordings_have_of_them() {
        use domain::outcome::EffectKind::{Exit, Export, Respond, SendEmail, SendEmit, SendHttp, SendS3, SendSse};
        use domain::outcome::Level::{Debug, Error, Info, Warn};
        let number = |bytes: Vec<u8>| bytes.first().copied();

        for (at, level) in (0..).zip([Debug, Info, Warn, Error]) {
            assert_eq!(number(postcard::to_stdvec(&level).unwrap()), Some(at), "{level:?}");
        }
        let kinds = [Export, Respond, Exit, SendHttp, SendEmail, SendS3, SendEmit, SendSse];
        for (at, kind) in (0..).zip(kinds) {
            assert_eq!(number(postcard::to_stdvec(&kind).unwrap()), Some(at), "{kind:?}");
        }
    }

    #[test]
    fn what_is_left_free_is_before_what_is_packed() {
        let example = example();
        let deeds = || Told::of(&example.outcome, None::<&()>).unwrap();
        let packed = |free: usize| {
            let content =
                Packed { call: &example.call, answers: ANSWERS, fuel_limit: 1, memory_bytes: 1, deeds: deeds() };
            super::pack(&content, free, LAYOUT).unwrap()
        };

        let (plain, roomy) = (packed(0), packed(12));

        assert_eq!(roomy.split_at(12), (&[0; 12][..], &plain[..]));
        assert!(roomy.capacity() - roomy.len() >= TAG_BYTES, "a seal does not move it");
    }

    /// A text that changes makes what was recorded with it unreadable.
    #[test]
    fn the_dictionary_stays_as_it_is() {
        let digest = sha2::Sha256::digest(DICTIONARY);
        assert_eq!(hex::encode(digest)[..16], *"ecfd3f195fd437ff");
    }
}
