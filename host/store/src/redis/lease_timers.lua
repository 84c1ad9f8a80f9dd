-- ARGV: now, end of the leases, most ticks. Answers {ticks, next due time or false}.
local timers = P .. ':timers'
local leased = {}
for _, name in ipairs(call('ZRANGE', timers, '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[3])) do
  local split = string.find(name, ':', 1, true)
  local token = digits(call('INCR', P .. ':token'))
  local timer = P .. ':timer:' .. name
  call('ZADD', timers, ARGV[2], name)
  call('HSET', timer, 'token', token)
  local row = call('HMGET', timer, 'due', 'schedule')
  leased[#leased + 1] = {string.sub(name, 1, split - 1), string.sub(name, split + 1), token, row[1], row[2]}
end
return {leased, call('ZRANGE', timers, 0, 0, 'WITHSCORES')[2] or false}
