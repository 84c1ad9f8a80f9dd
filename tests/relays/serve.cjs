// A mail server and an object store, as real as they come from npm, for tests.
const { SMTPServer } = require("smtp-server");
const S3rver = require("s3rver");

const USER = "wellspring";
const PASSWORD = "p:ss/w@rd";
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const read = async (stream) => {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

// `busy@…` is turned away the first time, `nobody@…` always.
let wasBusy = false;
const mail = new SMTPServer({
  authOptional: false,
  allowInsecureAuth: true,
  disabledCommands: ["STARTTLS"],
  disableReverseLookup: true,
  onAuth({ username, password }, session, done) {
    const isKnown = username === USER && password === PASSWORD;
    done(isKnown ? null : new Error("wrong login"), { user: username });
  },
  onRcptTo({ address }, session, done) {
    if (address.startsWith("nobody@")) return done(Object.assign(new Error("no such user"), { responseCode: 550 }));
    if (address.startsWith("busy@") && !wasBusy) {
      wasBusy = true;
      return done(Object.assign(new Error("come again later"), { responseCode: 451 }));
    }
    return done();
  },
  async onData(stream, { envelope }, done) {
    const message = await read(stream);
    say({ from: envelope.mailFrom.address, to: envelope.rcptTo.map(({ address }) => address), message });
    done();
  },
});

// A client that dies breaks off: its connection fails, and not the server.
mail.on("error", () => {});

const store = new S3rver({
  address: "127.0.0.1",
  port: 0,
  silent: true,
  directory: process.argv[2],
  configureBuckets: [{ name: "lake", configs: [] }],
});

const start = async () => {
  const { port } = await store.run();
  await new Promise((done) => mail.listen(0, "127.0.0.1", done));
  say({ smtp: mail.server.address().port, s3: port, user: USER, password: PASSWORD });
};

process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
start();
