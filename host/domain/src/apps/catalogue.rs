//! The apps that ship with the binary: `host/domain/apps/*.json`, written from the public documentation of each service.

use std::sync::LazyLock;

use super::Provider;

macro_rules! files {
    ($($slug:literal,)*) => {
        [$(($slug, include_str!(concat!("../../apps/", $slug, ".json")))),*]
    };
}

/// By slug, in their order; a test compares them with the folder.
pub(super) static FILES: [(&str, &str); 77] = files![
    "activecampaign",
    "airtable_oauth",
    "anthropic",
    "asana",
    "bitbucket",
    "box",
    "calendly_v2",
    "clickup",
    "coda",
    "confluence",
    "datadog",
    "discord",
    "discord_bot",
    "docusign",
    "dropbox",
    "facebook_pages",
    "figma",
    "freshdesk",
    "github",
    "gitlab",
    "gmail",
    "google_analytics",
    "google_calendar",
    "google_contacts",
    "google_docs",
    "google_drive",
    "google_forms",
    "google_sheets",
    "google_tasks",
    "http",
    "hubspot",
    "intercom",
    "jira",
    "jotform",
    "klaviyo",
    "line_messaging_api",
    "linear",
    "linkedin",
    "mailchimp",
    "mailgun",
    "microsoft_excel",
    "microsoft_onedrive",
    "microsoft_outlook",
    "microsoft_outlook_calendar",
    "microsoft_teams",
    "monday",
    "notion",
    "openai",
    "pagerduty",
    "paypal",
    "pipedrive",
    "quickbooks",
    "reddit",
    "salesforce_rest_api",
    "sendgrid",
    "sentry",
    "sharepoint",
    "shopify",
    "slack",
    "slack_bot",
    "spotify",
    "strava",
    "stripe",
    "telegram_bot_api",
    "todoist",
    "trello",
    "tumblr",
    "twilio",
    "twitter",
    "typeform",
    "webflow",
    "woocommerce",
    "xero_accounting_api",
    "youtube_data_api",
    "zendesk",
    "zoho_crm",
    "zoom",
];

/// Parsed once. A file that is not valid is left out, and a test sees to it that there is none.
static CATALOGUE: LazyLock<Vec<Provider>> = LazyLock::new(|| {
    let parse = |(_, text): &(&str, &str)| Provider::parse(&serde_json::from_str(text).ok()?).ok();
    FILES.iter().filter_map(parse).collect()
});

/// Every app that ships, by slug.
pub fn catalogue() -> &'static [Provider] {
    &CATALOGUE
}

/// The one of this slug.
pub fn shipped(slug: &str) -> Option<&'static Provider> {
    let position = CATALOGUE.binary_search_by(|provider| provider.slug.as_str().cmp(slug)).ok()?;
    CATALOGUE.get(position)
}
