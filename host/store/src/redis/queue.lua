-- The order of work of one partition, step for step as in queue.rs.
-- P is the prefix of every key of the partition: KEYS[1].
local P = KEYS[1]
local call = redis.call

-- Lua would write large numbers as 1e+15.
local function digits(number) return string.format('%.0f', number) end

local function job_key(job) return P .. ':job:' .. job end
local function heads_key(tenant) return P .. ':heads:' .. tenant end

-- Puts a tenant that is not on the ring where its earliest head says.
local function settle(tenant)
  if call('ZSCORE', P .. ':ring', tenant) then return end
  local first = call('ZRANGE', heads_key(tenant), 0, 0, 'WITHSCORES')
  if first[1] then
    call('ZADD', P .. ':waiting', first[2], tenant)
  else
    call('ZREM', P .. ':waiting', tenant)
  end
end

-- The first of the lane is done or has left: the next becomes a head.
local function advance_lane(tenant, lane)
  if not lane then return end
  local line = P .. ':lane:' .. tenant .. ':' .. lane
  call('LPOP', line)
  local next_job = call('LINDEX', line, 0)
  if next_job then
    call('ZADD', heads_key(tenant), call('HGET', job_key(next_job), 'due'), next_job)
  end
end

local function holds_job(tenant, job, token)
  local held = call('HMGET', job_key(job), 'tenant', 'token')
  return held[1] == tenant and held[2] == token
end

local function holds_timer(tenant, timer, token)
  return call('HGET', P .. ':timer:' .. tenant .. ':' .. timer, 'token') == token
end
