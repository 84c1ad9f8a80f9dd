module.exports = {
  type: 'app',
  app: 'github',
  propDefinitions: {
    repo: {
      type: 'string',
      label: 'Repository',
      async options({ page, query, prevContext, org }) {
        return { options: (await this.listRepos(org)).map((repo) => `${repo}:${page}:${query ?? ''}:${prevContext.token ?? ''}`), context: { token: 'next' } };
      },
    },
    anyRepo: { propDefinition: undefined, type: 'string', optional: true },
    db: { type: '$.service.db' },
    timer: { type: '$.interface.timer', default: { intervalSeconds: 900 } },
    http: { type: '$.interface.http', customResponse: true },
  },
  methods: {
    token() { return this.$auth.oauth_access_token; },
    authorization() { return `Bearer ${this.token()}`; },
    async listRepos(org) { return [`${org}/one`, `${org}/two`]; },
  },
};
