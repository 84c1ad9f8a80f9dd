-- Leases due ticks and jobs of some partitions, which are all on this server.
--
-- KEYS: the prefix of each partition. ARGV: now, end of the leases, most of both, most ticks, most jobs, which come first
-- ('ticks' or 'jobs'), how many jobs a tenant may have; then each tenant that has some, and how many.
-- Answers of each partition {jobs, ticks, next due time or false}; of those after the last that was asked, nothing.
local now, until_ms, left = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local left_of = {ticks = tonumber(ARGV[4]), jobs = tonumber(ARGV[5])}
local each, under_way = tonumber(ARGV[7]), {}
for at = 8, #ARGV, 2 do under_way[ARGV[at]] = tonumber(ARGV[at + 1]) end

local function count_of(tenant) return under_way[tenant] or 0 end
local function is_due(at) return at and tonumber(at) <= now end

-- Puts a tenant where its earliest head says.
local function settle(tenant, at)
  if at then
    call('ZADD', P .. ':waiting', at, tenant)
  else
    call('ZREM', P .. ':waiting', tenant)
  end
end

-- The tenant whose head is the earliest of all, and its time: what waits too early is put right on the way.
local function earliest_waiting()
  while true do
    local first = call('ZRANGE', P .. ':waiting', 0, 0, 'WITHSCORES')
    if not first[1] then return end
    local _, at = first_head(first[1])
    if at == first[2] then return first[1], at end
    settle(first[1], at)
  end
end

local function join_ring(tenant) call('ZADD', P .. ':ring', 'NX', call('INCR', P .. ':turn'), tenant) end

local function lease_job(tenant, job)
  local token = digits(call('INCR', P .. ':token'))
  call('ZADD', heads_key(tenant), until_ms, job)
  call('HSET', job_key(job), 'token', token)
  local row = call('HMGET', job_key(job), 'lane', 'due', 'attempt', 'entry', 'payload')
  under_way[tenant] = count_of(tenant) + 1
  return {tenant, job, token, row[1], row[2], row[3], row[4], row[5]}
end

-- Answers the jobs, and when the next is due or nil.
local function lease_jobs(most)
  while true do
    local tenant, at = earliest_waiting()
    if not tenant or not is_due(at) then break end
    call('ZREM', P .. ':waiting', tenant)
    join_ring(tenant)
  end
  local leased, full = {}, {}
  while #leased < most do
    local tenant = call('ZPOPMIN', P .. ':ring')[1]
    if not tenant then break end
    local has_room, job, at = count_of(tenant) < each, first_head(tenant)
    if has_room and is_due(at) then
      leased[#leased + 1] = lease_job(tenant, job)
      job, at = first_head(tenant)
    end
    if not has_room then
      -- It goes back to the ring, and the time of its heads says nothing about when to ask again.
      full[#full + 1] = tenant
      call('ZREM', P .. ':waiting', tenant)
    elseif is_due(at) then
      join_ring(tenant)
    else
      settle(tenant, at)
    end
  end
  local next_due = ARGV[1]
  if call('EXISTS', P .. ':ring') == 0 then next_due = select(2, earliest_waiting()) end
  for _, tenant in ipairs(full) do join_ring(tenant) end
  return leased, next_due
end

local function lease_ticks(most)
  local timers, leased = P .. ':timers', {}
  for _, name in ipairs(call('ZRANGE', timers, '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, digits(most))) do
    local split = string.find(name, ':', 1, true)
    local token = digits(call('INCR', P .. ':token'))
    local timer = P .. ':timer:' .. name
    call('ZADD', timers, until_ms, name)
    call('HSET', timer, 'token', token)
    local row = call('HMGET', timer, 'due', 'schedule')
    leased[#leased + 1] = {string.sub(name, 1, split - 1), string.sub(name, split + 1), token, row[1], row[2]}
  end
  return leased, call('ZRANGE', timers, 0, 0, 'WITHSCORES')[2]
end

local lease = {jobs = lease_jobs, ticks = lease_ticks}
-- A kind of which none is wanted at all is not looked at.
local kinds, is_wanted = ARGV[6] == 'ticks' and {'ticks', 'jobs'} or {'jobs', 'ticks'}, {}
for _, kind in ipairs(kinds) do is_wanted[kind] = left_of[kind] >= 0 end

local answers, has_leased = {}, false
for index = 1, #KEYS do
  if left == 0 and has_leased then break end
  P = KEYS[index]
  local found, earliest = {jobs = {}, ticks = {}}, nil
  for _, kind in ipairs(kinds) do
    if is_wanted[kind] then
      local leased, due = lease[kind](math.min(left, left_of[kind]))
      found[kind] = leased
      left, left_of[kind] = left - #leased, left_of[kind] - #leased
      has_leased = has_leased or #leased > 0
      if due and (not earliest or tonumber(due) < tonumber(earliest)) then earliest = due end
    end
  end
  answers[index] = {found.jobs, found.ticks, earliest or false}
end
return answers
