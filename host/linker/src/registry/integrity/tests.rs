//! Digests.

use super::is_met;

#[test]
fn the_strongest_digest_decides() {
    let sha1 = "sha1-qZk+NkcGgWq6PiVxeFDCbJzQ2J0=";
    let sha512 = "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==";
    let wrong = sha512.replace("3a81", "3a82");
    let cases = [
        (sha1.to_owned(), true),
        (sha512.to_owned(), true),
        (format!("{sha512}?option {sha1}"), true),
        (wrong.clone(), false),
        (format!("{sha1} {wrong}"), false),
        (format!("{wrong} {sha512}"), true),
        (String::new(), false),
        ("sha1-".to_owned(), false),
        ("md5-kAFQmDzST7DWlj99KOF/cg==".to_owned(), false),
        ("nonsense".to_owned(), false),
    ];
    for (integrity, expected) in cases {
        assert_eq!(is_met(&integrity, b"abc"), expected, "{integrity}");
    }
}
