//! Slugs.

use proptest::prelude::*;

use super::*;

#[test]
fn a_slug_is_lower_case_with_single_dashes() {
    let cases = [
        ("New Commit (Instant)", "new-commit-instant"),
        ("  RSS -- Feed!! ", "rss-feed"),
        ("GitHub", "github"),
        ("été 2026", "t-2026"),
        ("日本", "source"),
        ("", "source"),
    ];

    for (name, slug) in cases {
        assert_eq!(slugify(name), slug, "{name}");
    }
}

#[test]
fn a_taken_slug_gets_the_next_number() {
    assert_eq!(unique_slug("RSS", |_| false), "rss");
    assert_eq!(unique_slug("RSS", |slug| slug == "rss"), "rss-2");
    assert_eq!(unique_slug("RSS", |slug| ["rss", "rss-2"].contains(&slug)), "rss-3");
}

proptest! {
    #[test]
    fn a_slug_is_its_own_slug(name in ".{0,40}") {
        let slug = slugify(&name);

        prop_assert_eq!(slugify(&slug), slug);
    }
}
