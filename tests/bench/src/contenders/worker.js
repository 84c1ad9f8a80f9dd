// The handler of `component.js`, for workerd: a warm isolate that stores nothing.
export default {
  async fetch(request) {
    const body = await request.json();
    const event = {
      event: {id: body.id, type: body.type, title: body.issue.title, labels: body.issue.labels, actor: body.actor},
      metadata: {id: body.id, summary: `${body.type} #${body.issue.number}`, ts: body.created},
    };
    if (JSON.stringify(event).length === 0) throw new Error("an event has a text");
    return Response.json({success: true});
  },
};
