module.exports = {
  type: 'app',
  app: 'shop',
  propDefinitions: {
    status: { type: 'string', label: 'Status', options: ['open', 'closed'] },
  },
  methods: {
    _headers() { return { Authorization: `Bearer ${this.$auth.oauth_access_token}`, Accept: 'application/json' }; },
    async _request(path, params = {}) {
      const url = new URL(path, `https://${this.$auth.domain}`);
      for (const [name, value] of Object.entries(params)) if (value !== undefined) url.searchParams.append(name, value);
      const response = await fetch(url, { headers: this._headers() });
      if (!response.ok) throw new Error(`${response.status} from ${url.pathname}: ${await response.text()}`);
      return response.json();
    },
    async *orders({ since, status }) {
      let cursor;
      do {
        const { orders, next } = await this._request('/orders', { since, status, cursor });
        yield* orders;
        cursor = next ?? undefined;
      } while (cursor);
    },
  },
};
