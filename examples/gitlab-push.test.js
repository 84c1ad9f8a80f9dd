const assert = require("assert");

const push = (token, props = {}) => {
  const commit = (id, title) => ({ id, title, timestamp: "2024-05-01T10:00:00Z" });
  const project = { path_with_namespace: "acme/rocket" };
  const body = { object_kind: "push", ref: "refs/heads/main", project, commits: [commit("a", "One"), commit("b", "Two")] };
  return run({ event: { headers: { "x-gitlab-token": token }, body }, props: { token: "right", ...props } });
};

test("each commit is an event", async () => {
  const { emits } = await push("right");
  assert.deepEqual(emits.map((emit) => emit.metadata.summary), ["acme/rocket: One", "acme/rocket: Two"]);
});

test("other branches and wrong tokens emit nothing", async () => {
  assert.deepEqual((await push("right", { branch: "release" })).emits, []);
  assert.equal((await push("wrong")).reply.status, 401);
});
