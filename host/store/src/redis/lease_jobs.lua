-- ARGV: now, end of the leases, most jobs, how many a tenant may have; then each tenant that has some, and how many.
-- Answers {jobs, next due time or false}.
local now, until_ms, most = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local ring, waiting = P .. ':ring', P .. ':waiting'

-- Puts a tenant where its earliest head says.
local function settle(tenant, at)
  if at then
    call('ZADD', waiting, at, tenant)
  else
    call('ZREM', waiting, tenant)
  end
end

-- The tenant whose head is the earliest of all, and its time: what waits too early is put right on the way.
local function earliest_waiting()
  while true do
    local first = call('ZRANGE', waiting, 0, 0, 'WITHSCORES')
    if not first[1] then return end
    local _, at = first_head(first[1])
    if at == first[2] then return first[1], at end
    settle(first[1], at)
  end
end

local function join_ring(tenant) call('ZADD', ring, 'NX', call('INCR', P .. ':turn'), tenant) end

while true do
  local tenant, at = earliest_waiting()
  if not tenant or tonumber(at) > now then break end
  call('ZREM', waiting, tenant)
  join_ring(tenant)
end

local each, under_way, full = tonumber(ARGV[4]), {}, {}
for at = 5, #ARGV, 2 do under_way[ARGV[at]] = tonumber(ARGV[at + 1]) end
local function count_of(tenant) return under_way[tenant] or 0 end

local function is_due(at) return at and tonumber(at) <= now end

local leased = {}
while #leased < most do
  local tenant = call('ZPOPMIN', ring)[1]
  if not tenant then break end
  local has_room, job, at = count_of(tenant) < each, first_head(tenant)
  if has_room and is_due(at) then
    local token = digits(call('INCR', P .. ':token'))
    call('ZADD', heads_key(tenant), until_ms, job)
    call('HSET', job_key(job), 'token', token)
    local row = call('HMGET', job_key(job), 'lane', 'due', 'attempt', 'entry', 'payload')
    leased[#leased + 1] = {tenant, job, token, row[1], row[2], row[3], row[4], row[5]}
    under_way[tenant] = count_of(tenant) + 1
    job, at = first_head(tenant)
  end
  if not has_room then
    -- It goes back to the ring, and the time of its heads says nothing about when to ask again.
    full[#full + 1] = tenant
    call('ZREM', waiting, tenant)
  elseif is_due(at) then
    join_ring(tenant)
  else
    settle(tenant, at)
  end
end

local next_due = ARGV[1]
if call('EXISTS', ring) == 0 then next_due = select(2, earliest_waiting()) end
for _, tenant in ipairs(full) do join_ring(tenant) end
return {leased, next_due or false}
