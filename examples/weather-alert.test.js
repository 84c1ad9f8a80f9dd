const assert = require("assert");

const url = "https://api.open-meteo.com/v1/forecast?latitude=52.5&longitude=13.4&daily=temperature_2m_min,temperature_2m_max,precipitation_sum&timezone=UTC&forecast_days=2";
const forecast = (low, high, rain) => {
  const daily = { time: ["2024-05-01", "2024-05-02"], temperature_2m_min: [5, low], temperature_2m_max: [15, high], precipitation_sum: [0, rain] };
  return run({ props: { latitude: "52.5", longitude: "13.4" }, fetch: { [url]: { body: { daily } } } });
};

test("frost and rain are told, for the day they are forecast for", async () => {
  const { emits } = await forecast(-3, 4, 25);
  assert.deepEqual(emits[0].metadata, { id: "2024-05-02", summary: "2024-05-02: frost, -3 °C; rain, 25 mm" });
});

test("a mild day is no event", async () => {
  assert.deepEqual((await forecast(8, 20, 1)).emits, []);
});
