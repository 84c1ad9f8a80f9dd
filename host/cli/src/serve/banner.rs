//! The output of a start: the address of the server, the key, and a command to try.

use platform::manage::first_start::Started;

use crate::logging;

/// Talk goes to standard error; a key that was made is shown on the first start and never again, one that was given never.
pub(crate) fn print(url: &str, started: &Started, is_key_given: bool, shows_example: bool, console: &str) {
    // An example is for people, and of no use in a log.
    let shows_example = shows_example && !logging::is_json();
    logging::say(&format!("Wellspring is at {url}"));
    logging::say(&format!("  Console        {console}"));
    logging::say(&format!("  API reference  {url}/docs"));
    match started {
        Started::First(_) if is_key_given => {
            logging::say("  API key        the one that was given");
            if shows_example {
                logging::say(&format!("\nTry it:\n\n{}", example(url, "$WELLSPRING_API_KEY")));
            }
        }
        Started::First(key) => {
            let key = key.key.expose();
            logging::say(&format!("  API key        {key}   (shown only now; keep it)"));
            if shows_example {
                logging::say(&format!("\nTry it:\n\n{}", example(url, key)));
            }
        }
        Started::Again => logging::say("  API key        the one shown on the first start"),
    }
}

fn example(url: &str, key: &str) -> String {
    let code = "module.exports = {name: \\\"hello\\\", version: \\\"1\\\", props: {http: \\\"$.interface.http\\\"}, \
                run(event) { this.$emit(event.body); }}";
    format!(
        "curl -s {url}/v1/sources -H \"Authorization: Bearer {key}\" -H 'Content-Type: application/json' \\\n  \
         -d '{{\"component_code\": \"{code}\"}}'"
    )
}
