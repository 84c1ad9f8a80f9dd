// Commits that are pushed to a GitLab project, one event for each. GitLab sends the secret token as a header.
module.exports = {
  key: "example-gitlab-push",
  name: "GitLab push",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    http: { type: "$.interface.http", customResponse: true },
    token: { type: "string", secret: true, label: "Secret token" },
    branch: { type: "string", optional: true, label: "Branch", description: "All when empty" },
  },
  async run({ headers, body }) {
    if (headers["x-gitlab-token"] !== this.token) return this.http.respond({ status: 401 });
    this.http.respond({ status: 200 });
    if (body.object_kind !== "push" || (this.branch && body.ref !== `refs/heads/${this.branch}`)) return;
    for (const commit of body.commits) {
      const summary = `${body.project.path_with_namespace}: ${commit.title}`;
      this.$emit({ ...commit, ref: body.ref, project: body.project }, { id: commit.id, summary, ts: Date.parse(commit.timestamp) });
    }
  },
};
