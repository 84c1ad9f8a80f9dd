-- The order of work of one partition, as in queue.rs.
-- P is the prefix of every key of the partition.
--
-- A tenant waits under the time of its earliest head, or under an earlier one: a commit only ever lowers it, because
-- that is one step and needs no look at the heads. A lease call checks the heads before it relies on it (earliest_waiting). A tenant
-- on the ring may wait as well; the ring is what counts.

-- Lua would write large numbers as 1e+15. All are whole, and below 2^53.
local function digits(number) return string.format('%d', number) end

local function job_key(job) return P .. ':job:' .. job end
local function heads_key(tenant) return P .. ':heads:' .. tenant end

-- Its job and its time.
local function first_head(tenant)
  local first = call('ZRANGE', heads_key(tenant), 0, 0, 'WITHSCORES')
  return first[1], first[2]
end

-- There is a head that is due then.
local function wait_until(tenant, due)
  call('ZADD', P .. ':waiting', 'LT', due, tenant)
end

-- The first of the lane is done or has left: the next becomes a head. Answers when it is due.
local function advance_lane(tenant, lane)
  if not lane then return end
  local line = P .. ':lane:' .. tenant .. ':' .. lane
  call('LPOP', line)
  local next_job = call('LINDEX', line, 0)
  if not next_job then return end
  local due = call('HGET', job_key(next_job), 'due')
  call('ZADD', heads_key(tenant), due, next_job)
  return due
end

-- Answers the lane as well.
local function holds_job(tenant, job, token)
  local held = call('HMGET', job_key(job), 'tenant', 'token', 'lane')
  return held[1] == tenant and held[2] == token, held[3]
end

local function holds_timer(tenant, timer, token)
  return call('HGET', P .. ':timer:' .. tenant .. ':' .. timer, 'token') == token
end
