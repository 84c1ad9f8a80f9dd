-- KEYS: the prefix of each partition. ARGV: now, most tenants of each that are looked at.
-- Answers of each {jobs, since when the oldest could be worked on or false, timers, the most overdue tick or false}.
local now, most, call = tonumber(ARGV[1]), tonumber(ARGV[2]), redis.call

local function load_of(P)
  local jobs, oldest, seen = 0, false, {}
  local function look_at(tenants)
    for _, tenant in ipairs(tenants) do
      if not seen[tenant] then
        seen[tenant] = true
        jobs = jobs + tonumber(call('HGET', P .. ':queued:' .. tenant, 'jobs') or '0')
        local first = call('ZRANGE', P .. ':heads:' .. tenant, 0, 0, 'WITHSCORES')[2]
        local at = first and tonumber(first)
        if at and at <= now and (not oldest or at < oldest) then oldest = at end
      end
    end
  end
  look_at(call('ZRANGE', P .. ':ring', 0, most - 1))
  look_at(call('ZRANGE', P .. ':waiting', 0, most - 1))
  local tick = call('ZRANGE', P .. ':timers', 0, 0, 'WITHSCORES')[2]
  local late = tick and tonumber(tick) <= now
  local timers = call('ZCARD', P .. ':timers')
  return {jobs, oldest and string.format('%.0f', oldest), timers, late and string.format('%.0f', tick) or false}
end

local answers = {}
for index = 1, #KEYS do answers[index] = load_of(KEYS[index]) end
return answers
