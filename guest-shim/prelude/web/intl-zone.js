'use strict';
// Time zones: their local time, and what English calls them.
const METAZONES = `
America_Eastern|Eastern Standard Time|Eastern Daylight Time|Eastern Time|EST|EDT|ET
America_Central|Central Standard Time|Central Daylight Time|Central Time|CST|CDT|CT
America_Mountain|Mountain Standard Time|Mountain Daylight Time|Mountain Time|MST|MDT|MT
America_Pacific|Pacific Standard Time|Pacific Daylight Time|Pacific Time|PST|PDT|PT
Alaska|Alaska Standard Time|Alaska Daylight Time|Alaska Time|AKST|AKDT|AKT
Atlantic|Atlantic Standard Time|Atlantic Daylight Time|Atlantic Time|AST|ADT|AT
`.trim().split('\n').map((line) => line.split('|').slice(1));
// By the abbreviations of the database, for zones in America.
const AMERICAN = {};
for (const [standard, daylight, generic, short, shortDaylight, shortGeneric] of METAZONES) {
  AMERICAN[short] = { long: standard, short, generic, shortGeneric };
  AMERICAN[shortDaylight] = { long: daylight, short: shortDaylight, generic, shortGeneric };
}
const NOT_AMERICAN = new Set(['America/Havana']);

// standard | daylight | zones
const NAMES = `
Greenwich Mean Time|British Summer Time|Europe/London
Greenwich Mean Time|Irish Standard Time|Europe/Dublin
Greenwich Mean Time||Africa/Abidjan Africa/Accra Africa/Dakar Atlantic/Reykjavik
Central European Standard Time|Central European Summer Time|Europe/Paris Europe/Berlin Europe/Madrid Europe/Rome Europe/Amsterdam Europe/Brussels Europe/Vienna Europe/Zurich Europe/Stockholm Europe/Oslo Europe/Copenhagen Europe/Prague Europe/Warsaw Europe/Budapest Europe/Belgrade Europe/Zagreb Europe/Ljubljana Europe/Bratislava Europe/Luxembourg Europe/Monaco Europe/Malta Europe/Andorra Europe/Vaduz Europe/Tirane Europe/Sarajevo Europe/Skopje Europe/Podgorica Europe/San_Marino Europe/Vatican Africa/Algiers Africa/Tunis
Eastern European Standard Time|Eastern European Summer Time|Europe/Athens Europe/Helsinki Europe/Bucharest Europe/Sofia Europe/Kiev Europe/Kyiv Europe/Riga Europe/Tallinn Europe/Vilnius Europe/Chisinau Europe/Kaliningrad Asia/Beirut Asia/Nicosia Africa/Cairo Africa/Tripoli
Western European Standard Time|Western European Summer Time|Europe/Lisbon Atlantic/Canary Atlantic/Madeira Atlantic/Faroe
Moscow Standard Time|Moscow Summer Time|Europe/Moscow Europe/Minsk Europe/Simferopol
Japan Standard Time|Japan Daylight Time|Asia/Tokyo
Korean Standard Time|Korean Daylight Time|Asia/Seoul
China Standard Time|China Daylight Time|Asia/Shanghai Asia/Macau
Taipei Standard Time|Taipei Daylight Time|Asia/Taipei
Hong Kong Standard Time|Hong Kong Summer Time|Asia/Hong_Kong
Singapore Standard Time||Asia/Singapore
India Standard Time||Asia/Kolkata Asia/Calcutta Asia/Colombo
Indochina Time||Asia/Bangkok Asia/Ho_Chi_Minh Asia/Saigon
Western Indonesia Time||Asia/Jakarta
Philippine Standard Time|Philippine Summer Time|Asia/Manila
Pakistan Standard Time|Pakistan Summer Time|Asia/Karachi
Bangladesh Standard Time|Bangladesh Summer Time|Asia/Dhaka
Nepal Time||Asia/Kathmandu Asia/Katmandu
Gulf Standard Time||Asia/Dubai Asia/Muscat
Arabian Standard Time|Arabian Daylight Time|Asia/Riyadh Asia/Qatar Asia/Kuwait Asia/Baghdad Asia/Bahrain
Israel Standard Time|Israel Daylight Time|Asia/Jerusalem Asia/Tel_Aviv
Iran Standard Time|Iran Daylight Time|Asia/Tehran
Türkiye Standard Time|Türkiye Summer Time|Europe/Istanbul
Australian Eastern Standard Time|Australian Eastern Daylight Time|Australia/Sydney Australia/Melbourne Australia/Brisbane Australia/Hobart
Australian Central Standard Time|Australian Central Daylight Time|Australia/Adelaide Australia/Darwin
Australian Western Standard Time|Australian Western Daylight Time|Australia/Perth
New Zealand Standard Time|New Zealand Daylight Time|Pacific/Auckland
Hawaii-Aleutian Standard Time|Hawaii-Aleutian Daylight Time|Pacific/Honolulu America/Adak
Newfoundland Standard Time|Newfoundland Daylight Time|America/St_Johns
Brasilia Standard Time|Brasilia Summer Time|America/Sao_Paulo America/Bahia America/Fortaleza
Argentina Standard Time|Argentina Summer Time|America/Argentina/Buenos_Aires America/Buenos_Aires
Colombia Standard Time|Colombia Summer Time|America/Bogota
Chile Standard Time|Chile Summer Time|America/Santiago
Peru Standard Time|Peru Summer Time|America/Lima
Venezuela Time||America/Caracas
South Africa Standard Time||Africa/Johannesburg
West Africa Time||Africa/Lagos
East Africa Time||Africa/Nairobi Africa/Addis_Ababa
Line Islands Time||Pacific/Kiritimati
Central Africa Time||Africa/Maputo Africa/Harare Africa/Lusaka
`.trim().split('\n');
const named = new Map();
for (const line of NAMES) {
  const [standard, daylight, zones] = line.split('|');
  for (const zone of zones.split(' ')) named.set(zone, { standard, daylight: daylight || standard });
}

const UTC = new Set(['UTC', 'GMT', 'Etc/UTC', 'Etc/GMT', 'Etc/UCT', 'Etc/Zulu', 'Etc/Universal', 'Etc/Greenwich', 'UCT', 'Zulu', 'Universal', 'GMT0', 'Etc/GMT0', 'Etc/GMT+0', 'Etc/GMT-0', 'Greenwich']);
const OFFSET = /^([+-])(\d{2}):?(\d{2})?$/;

// The name as `resolvedOptions` tells it, or undefined for one that does not exist.
const canonicalZone = (name) => {
  const given = String(name);
  const offset = OFFSET.exec(given);
  if (offset !== null) return Number(offset[2]) < 24 && Number(offset[3] ?? 0) < 60 ? `${offset[1]}${offset[2]}:${offset[3] ?? '00'}` : undefined;
  const found = host.timeZoneName(internal.text(given));
  if (found === undefined || found === null) return undefined;
  return UTC.has(found) ? 'UTC' : found;
};

const fixed = (zone, ms) => {
  const [, sign, hours, minutes] = OFFSET.exec(zone);
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  const parts = host.timeZoneParts('UTC', ms + offset * 60_000);
  parts[7] = offset;
  return parts;
};

// {year, month, day, hour, minute, second, weekday, offset (minutes), abbreviation, isDaylight}
const localTime = (zone, ms) => {
  const parts = OFFSET.test(zone) ? fixed(zone, ms) : host.timeZoneParts(zone, ms);
  const [year, month, day, hour, minute, second, weekday, offset, abbreviation, isDaylight] = parts;
  return { year, month, day, hour, minute, second, weekday, offset, abbreviation, isDaylight };
};

const offsetName = (offset, isLong) => {
  const total = Math.round(Math.abs(offset));
  const sign = offset < 0 ? '-' : '+';
  const minutes = total % 60;
  if (isLong) return `GMT${sign}${String(Math.floor(total / 60)).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
  return `GMT${sign}${Math.floor(total / 60)}${minutes === 0 ? '' : `:${String(minutes).padStart(2, '0')}`}`;
};

const american = (zone, abbreviation) => (/^(America|US|Canada)\//.test(zone) && !NOT_AMERICAN.has(zone) ? AMERICAN[abbreviation] : undefined);

const generic = (name) => name.replace(/ (Standard|Daylight|Summer) Time$/, ' Time');

const zoneName = (zone, style, { offset, abbreviation, isDaylight }) => {
  if (style === 'shortOffset') return offsetName(offset, false);
  if (style === 'longOffset') return offsetName(offset, true);
  if (zone === 'UTC') return style === 'short' ? 'UTC' : style === 'long' ? 'Coordinated Universal Time' : offsetName(0, style === 'longGeneric');
  const us = american(zone, abbreviation);
  if (us !== undefined) return { short: us.short, long: us.long, shortGeneric: us.shortGeneric, longGeneric: us.generic }[style];
  if (zone === 'Pacific/Honolulu' && style.startsWith('short')) return abbreviation;
  if (style.startsWith('short')) return offset === 0 ? 'GMT' : offsetName(offset, false);
  const names = named.get(zone);
  // London kept summer time all year around 1970.
  const isMisnamed = names?.standard === 'Greenwich Mean Time' && !isDaylight && offset !== 0;
  if (names === undefined || isMisnamed) return offsetName(offset, true);
  return style === 'long' ? (isDaylight ? names.daylight : names.standard) : generic(names.standard);
};

return { canonicalZone, localTime, zoneName };
