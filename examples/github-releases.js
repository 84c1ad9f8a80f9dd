// New releases of a GitHub repository, by polling its API: no account and no webhook is needed.
module.exports = {
  key: "example-github-releases",
  name: "GitHub releases",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    repository: { type: "string", label: "Repository", description: "As `owner/name`" },
    timer: { type: "$.interface.timer", default: { intervalSeconds: 15 * 60 } },
    db: "$.service.db",
  },
  async run() {
    const headers = { accept: "application/vnd.github+json", "user-agent": "wellspring" };
    // An unchanged list costs nothing of the rate limit.
    const etag = this.db.get("etag");
    if (etag) headers["if-none-match"] = etag;
    const response = await fetch(`https://api.github.com/repos/${this.repository}/releases?per_page=20`, { headers });
    if (response.status === 304) return;
    if (!response.ok) throw new Error(`GitHub answered ${response.status}: ${await response.text()}`);
    for (const release of (await response.json()).reverse()) {
      this.$emit(release, { id: release.id, summary: `${release.name || release.tag_name}`, ts: Date.parse(release.published_at) });
    }
    this.db.set("etag", response.headers.get("etag"));
  },
};
