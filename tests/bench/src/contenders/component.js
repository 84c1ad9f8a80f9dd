// What every contender of `bench flow` does with a request: parse it, build an event, answer 200.
module.exports = {
  name: "Issues",
  version: "0.0.1",
  props: {http: "$.interface.http"},
  run({body}) {
    this.$emit(
      {id: body.id, type: body.type, title: body.issue.title, labels: body.issue.labels, actor: body.actor},
      {id: body.id, summary: `${body.type} #${body.issue.number}`, ts: body.created},
    );
  },
};
