-- Rows of a move from another store, each applied once: the count of those that are in goes with them.
-- KEYS: prefix of the partition. ARGV: how many rows are in then, then each row: its name, its arguments.
local sizes = {record = 7, stream = 5, entry = 6, value = 5, counter = 5, job = 7, timer = 5}

local applies = {
  record = function(tenant, kind, id, alias, version, value)
    local owner = tenant .. ':' .. kind
    local position = call('INCR', P .. ':position')
    call('HSET', P .. ':record:' .. owner .. ':' .. id, 'value', value, 'version', version, 'position', position)
    call('ZADD', P .. ':records:' .. owner, position, id)
    call('SADD', P .. ':kinds:' .. tenant, kind)
    if alias ~= '' then
      alias = string.sub(alias, 2)
      call('HSET', P .. ':record:' .. owner .. ':' .. id, 'alias', alias)
      call('HSET', P .. ':alias:' .. owner, alias, id)
    end
  end,
  stream = function(tenant, emitter, name, last)
    call('ZADD', P .. ':streams:' .. tenant .. ':' .. emitter, '0', name)
    call('SADD', P .. ':emitters:' .. tenant, emitter)
    call('SET', P .. ':last:' .. tenant .. ':' .. emitter, last)
  end,
  entry = function(tenant, emitter, stream, id, value)
    call('XADD', P .. ':stream:' .. tenant .. ':' .. emitter .. ':' .. stream, id, 'v', value)
  end,
  value = function(tenant, scope, key, value)
    call('HSET', P .. ':state:' .. tenant .. ':' .. scope, key, value)
    call('HINCRBY', P .. ':sizes:' .. tenant, scope, digits(#key + #value))
  end,
  counter = function(tenant, name, value, expires)
    call('SET', P .. ':counter:' .. tenant .. ':' .. name, value)
    if expires ~= '' then call('PEXPIREAT', P .. ':counter:' .. tenant .. ':' .. name, expires) end
  end,
  job = function(tenant, lane, due, attempt, entry, payload)
    local job = string.format('%016.0f', call('INCR', P .. ':jobs'))
    local is_head = true
    call('HSET', job_key(job), 'tenant', tenant, 'due', due, 'attempt', attempt, 'entry', entry, 'payload', payload)
    if lane ~= '' then
      lane = string.sub(lane, 2)
      call('HSET', job_key(job), 'lane', lane)
      is_head = call('RPUSH', P .. ':lane:' .. tenant .. ':' .. lane, job) == 1
    end
    if is_head then
      call('ZADD', heads_key(tenant), due, job)
      wait_until(tenant, due)
    end
    call('HINCRBY', P .. ':queued:' .. tenant, 'jobs', 1)
    call('HINCRBY', P .. ':queued:' .. tenant, 'bytes', digits(#payload))
  end,
  timer = function(tenant, timer, due, schedule)
    call('HSET', P .. ':timer:' .. tenant .. ':' .. timer, 'due', due, 'schedule', schedule)
    call('ZADD', P .. ':timers', due, tenant .. ':' .. timer)
  end,
}

local at = 2
while at <= #ARGV do
  local name = ARGV[at]
  applies[name](ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], ARGV[at + 6])
  at = at + sizes[name]
end
call('SET', P .. ':transfer', ARGV[1])
return #ARGV
