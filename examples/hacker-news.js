// Stories of Hacker News above a number of points, each once.
module.exports = {
  key: "example-hacker-news",
  name: "Hacker News",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    points: { type: "integer", default: 200, min: 1, label: "Points at least" },
    timer: { type: "$.interface.timer", default: { intervalSeconds: 30 * 60 } },
  },
  async run() {
    const url = `https://hn.algolia.com/api/v1/search_by_date?tags=story&numericFilters=points>=${this.points}`;
    const response = await fetch(url);
    if (!response.ok) throw new Error(`Hacker News answered ${response.status}`);
    for (const story of (await response.json()).hits.reverse()) {
      this.$emit(story, { id: story.objectID, summary: `${story.points}: ${story.title}`, ts: story.created_at_i * 1000 });
    }
  },
};
