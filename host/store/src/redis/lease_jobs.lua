-- ARGV: now, end of the leases, most jobs. Answers {jobs, next due time or false}.
local now, until_ms, most = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local ring, waiting = P .. ':ring', P .. ':waiting'

for _, tenant in ipairs(call('ZRANGE', waiting, '-inf', ARGV[1], 'BYSCORE')) do
  call('ZREM', waiting, tenant)
  call('ZADD', ring, call('INCR', P .. ':turn'), tenant)
end

local function due_head(tenant)
  local first = call('ZRANGE', heads_key(tenant), 0, 0, 'WITHSCORES')
  if first[1] and tonumber(first[2]) <= now then return first[1] end
end

local leased = {}
while #leased < most do
  local tenant = call('ZPOPMIN', ring)[1]
  if not tenant then break end
  local job = due_head(tenant)
  if job then
    local token = digits(call('INCR', P .. ':token'))
    call('ZADD', heads_key(tenant), until_ms, job)
    call('HSET', job_key(job), 'token', token)
    local row = call('HMGET', job_key(job), 'lane', 'due', 'attempt', 'entry', 'payload')
    leased[#leased + 1] = {tenant, job, token, row[1], row[2], row[3], row[4], row[5]}
  end
  if due_head(tenant) then
    call('ZADD', ring, call('INCR', P .. ':turn'), tenant)
  else
    settle(tenant)
  end
end

if call('EXISTS', ring) == 1 then return {leased, ARGV[1]} end
return {leased, call('ZRANGE', waiting, 0, 0, 'WITHSCORES')[2] or false}
