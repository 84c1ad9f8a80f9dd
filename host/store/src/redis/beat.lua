-- KEYS: the prefix of what is kept about hosts. ARGV: host, what it says of itself, the version it knows, after how many
-- milliseconds a host is gone, the newest layout it reads; or host and 'leave'; or 'list' and within how many milliseconds
-- hosts were seen.
-- Answers {microseconds since 1970, version, layout, {host, when it was seen, what it says}... or false}.
local call, P = redis.call, KEYS[1]
local seen, about, version_key = P .. ':seen', P .. ':about', P .. ':version'
local reads, layout_key = P .. ':reads', P .. ':layout'
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function remove(host)
  call('HDEL', about, host)
  call('HDEL', reads, host)
  return call('ZREM', seen, host)
end

-- The newest layout that all hosts read is what they write. It rises when the last host is there that reads a newer one, and
-- never falls: then a host that does not read what is written is refused. A host that says nothing reads the first.
local layout = tonumber(call('GET', layout_key) or '0')

local function least_read()
  local least = tonumber(ARGV[5])
  for _, host in ipairs(call('ZRANGE', seen, 0, -1)) do
    least = math.min(least, tonumber(call('HGET', reads, host) or '1'))
  end
  return least
end

local has_changed = false
if ARGV[2] == 'leave' then
  has_changed = remove(ARGV[1]) == 1
elseif #ARGV == 5 then
  for _, host in ipairs(call('ZRANGE', seen, '-inf', now - tonumber(ARGV[4]), 'BYSCORE')) do
    if host ~= ARGV[1] then
      remove(host)
      has_changed = true
    end
  end
  if layout > tonumber(ARGV[5]) then
    has_changed = remove(ARGV[1]) == 1 or has_changed
  else
    has_changed = call('ZADD', seen, now, ARGV[1]) == 1 or has_changed
    call('HSET', about, ARGV[1], ARGV[2])
    call('HSET', reads, ARGV[1], ARGV[5])
    if tonumber(ARGV[5]) > layout then
      local least = least_read()
      if least > layout then
        layout = least
        call('SET', layout_key, layout)
      end
    end
  end
end
local version = has_changed and call('INCR', version_key) or tonumber(call('GET', version_key) or '0')

local rows = false
if ARGV[1] == 'list' or tostring(version) ~= ARGV[3] then
  rows = {}
  local since = ARGV[1] == 'list' and now - tonumber(ARGV[2]) or '-inf'
  local hosts = call('ZRANGE', seen, since, '+inf', 'BYSCORE', 'WITHSCORES')
  for at = 1, #hosts, 2 do
    rows[#rows + 1] = {hosts[at], string.format('%.0f', hosts[at + 1]), call('HGET', about, hosts[at]) or ''}
  end
  table.sort(rows, function(one, other) return one[1] < other[1] end)
end
return {string.format('%.0f', time[1] * 1000000 + time[2]), version, layout, rows}
