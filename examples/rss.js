// New items of an RSS or Atom feed. The parser is small and made for feeds; `rss-parser` works as well.
module.exports = {
  key: "example-rss",
  name: "RSS and Atom",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    url: { type: "string", label: "Address of the feed" },
    timer: { type: "$.interface.timer", default: { intervalSeconds: 15 * 60 } },
  },
  methods: {
    text(item, tag) {
      const [, raw] = item.match(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`)) ?? [];
      const plain = raw?.replace(/<!\[CDATA\[([\s\S]*?)\]\]>/g, "$1").trim();
      const named = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
      return plain?.replace(/&(amp|lt|gt|quot|apos);/g, (_, name) => named[name]);
    },
    parse(feed) {
      const items = feed.match(/<(item|entry)[\s>][\s\S]*?<\/\1>/g) ?? [];
      return items.map((item) => {
        const link = this.text(item, "link") || item.match(/<link[^>]*href="([^"]*)"/)?.[1];
        const id = this.text(item, "guid") ?? this.text(item, "id") ?? link;
        const date = this.text(item, "pubDate") ?? this.text(item, "updated") ?? this.text(item, "published");
        return { id, link, title: this.text(item, "title"), date, description: this.text(item, "description") ?? this.text(item, "summary") };
      });
    },
  },
  async run() {
    const response = await fetch(this.url);
    if (!response.ok) throw new Error(`${this.url} answered ${response.status}`);
    for (const item of this.parse(await response.text()).reverse()) {
      this.$emit(item, { id: item.id, summary: item.title, ts: Date.parse(item.date) || undefined });
    }
  },
};
