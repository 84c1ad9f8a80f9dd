// The handler of `component.js` as a plain Node server that appends to Redis and answers when Redis has.
import {createServer} from "node:http";
import {connect} from "node:net";

const [port, redisPort] = process.argv.slice(2).map(Number);
const redis = connect({port: redisPort, host: "127.0.0.1", noDelay: true});
const waiting = [];
let unread = "";
redis.setEncoding("utf8").on("data", (chunk) => {
  const lines = (unread + chunk).split("\r\n");
  unread = lines.pop();
  for (const line of lines) {
    // An id comes as a length and a text; only the text ends an answer.
    if (!line.startsWith("$")) waiting.shift()(line.startsWith("-"));
  }
});

const append = (text) => new Promise((resolve, reject) => {
  waiting.push((isError) => (isError ? reject(new Error("Redis refused")) : resolve()));
  const parts = ["XADD", "events", "MAXLEN", "~", "100", "*", "event", text];
  redis.write(`*${parts.length}\r\n` + parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join(""));
});

createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", async () => {
    const body = JSON.parse(Buffer.concat(chunks).toString());
    await append(JSON.stringify({
      event: {id: body.id, type: body.type, title: body.issue.title, labels: body.issue.labels, actor: body.actor},
      metadata: {id: body.id, summary: `${body.type} #${body.issue.number}`, ts: body.created},
    }));
    response.writeHead(200, {"content-type": "application/json"}).end('{"success":true}');
  });
}).listen(port, "127.0.0.1");
