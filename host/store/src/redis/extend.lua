-- Moves the ends of leases. KEYS: for each lease the prefix of its partition. ARGV: for each lease 'job', 'timer' or 'hold',
-- tenant, its id, token, new end. A hold is that of a job which was enqueued for its own host and never leased.
-- Answers for each 1 while the lease holds, else 0.
local function extend(kind, tenant, id, token, until_ms)
  if kind == 'timer' then
    if not holds_timer(tenant, id, token) then return 0 end
    call('ZADD', P .. ':timers', until_ms, tenant .. ':' .. id)
    return 1
  end
  if kind == 'hold' then
    local held = call('HMGET', job_key(id), 'tenant', 'token')
    if held[1] ~= tenant or held[2] then return 0 end
  elseif not holds_job(tenant, id, token) then
    return 0
  end
  call('ZADD', heads_key(tenant), until_ms, id)
  wait_until(tenant, until_ms)
  return 1
end

local answers = {}
for index = 1, #KEYS do
  P = KEYS[index]
  local at = (index - 1) * 5
  answers[index] = extend(ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5])
end
return answers
