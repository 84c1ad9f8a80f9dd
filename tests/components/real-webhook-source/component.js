const { createHmac, timingSafeEqual } = require('crypto');
const axios = { // What the npm package does, as far as it is used here.
  async request({ method, url, headers, data }) {
    const https = require('https');
    return new Promise((resolve, reject) => {
      const request = https.request(url, { method, headers }, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode >= 400) reject(Object.assign(new Error(`Request failed with status code ${response.statusCode}`), { response: { status: response.statusCode, data: text } }));
          else resolve({ status: response.statusCode, data: text === '' ? undefined : JSON.parse(text) });
        });
      });
      request.on('error', reject);
      if (data !== undefined) request.write(JSON.stringify(data));
      request.end();
    });
  },
};

module.exports = {
  name: 'Issues',
  version: '1.0.0',
  dedupe: 'unique',
  props: {
    tracker: { type: 'app', app: 'tracker' },
    http: { type: '$.interface.http', customResponse: true },
    db: '$.service.db',
    secret: { type: 'string', secret: true },
  },
  methods: {
    call(method, path, data) {
      return axios.request({ method, url: `https://api.tracker.example${path}`, headers: { 'X-Token': this.tracker.$auth.token, 'Content-Type': 'application/json' }, data });
    },
    isGenuine({ headers, bodyRaw }) {
      const expected = Buffer.from(`sha256=${createHmac('sha256', this.secret).update(bodyRaw).digest('hex')}`);
      const given = Buffer.from(headers['x-signature'] ?? '');
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  },
  hooks: {
    async activate() {
      const { data } = await this.call('POST', '/hooks', { url: this.http.endpoint, events: ['issues'] });
      this.db.set('hookId', data.id);
    },
    async deactivate() {
      try {
        await this.call('DELETE', `/hooks/${this.db.get('hookId')}`);
      } catch (error) {
        if (error.response?.status !== 404) throw error;
        console.warn('the hook was gone already');
      }
      this.db.set('hookId', undefined);
    },
  },
  async run(event) {
    if (!this.isGenuine(event)) return this.http.respond({ status: 401 });
    this.http.respond({ status: 200, headers: { 'content-type': 'text/plain' }, body: 'ok' });
    const { action, issue } = event.body;
    this.$emit({ action, ...issue }, { id: `${issue.number}-${action}`, summary: issue.title, name: action });
  },
};
