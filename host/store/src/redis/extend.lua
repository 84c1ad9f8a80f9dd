-- ARGV: 'job' or 'timer', tenant, its id, token, new end of the lease. Answers 1 while the lease holds.
local tenant, id, token, until_ms = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if ARGV[1] == 'job' then
  if not holds_job(tenant, id, token) then return 0 end
  call('ZADD', heads_key(tenant), until_ms, id)
  wait_until(tenant, until_ms)
  return 1
end
if not holds_timer(tenant, id, token) then return 0 end
call('ZADD', P .. ':timers', until_ms, tenant .. ':' .. id)
return 1
