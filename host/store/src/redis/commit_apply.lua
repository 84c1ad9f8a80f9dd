-- Second half of a commit: from here on everything succeeds.
local COUNTER_END = 9007199254740991
local LAST_SEQUENCE = 1048575
local versions, entries, counters, jobs, removed = {}, {}, {}, {}, {}
-- The tenant's jobs changed: where it waits is seen to once, at the end.
local has_moved = false
local function add(list, item) list[#list + 1] = item end

local function set_alias(kind, id, before, alias)
  if before and before ~= alias then call('HDEL', alias_key(kind), before) end
  if alias ~= '' then
    call('HSET', alias_key(kind), alias, id)
    call('HSET', record_key(kind, id), 'alias', alias)
  else
    call('HDEL', record_key(kind, id), 'alias')
  end
end

-- An id after the emitter's last one, also when the clock has stepped back.
local function next_entry(emitter)
  local key = P .. ':last:' .. tenant .. ':' .. emitter
  local ms, sequence = now, 0
  local last = call('GET', key)
  if last then
    local split = string.find(last, '-', 1, true)
    local last_ms, last_sequence = tonumber(string.sub(last, 1, split - 1)), tonumber(string.sub(last, split + 1))
    if now <= last_ms then ms, sequence = last_ms, last_sequence + 1 end
    if sequence > LAST_SEQUENCE then ms, sequence = ms + 1, 0 end
  end
  local id = digits(ms) .. '-' .. digits(sequence)
  call('SET', key, id)
  return id
end

local function stream_key(emitter, stream) return P .. ':stream:' .. tenant .. ':' .. emitter .. ':' .. stream end

local function delete_oldest(key, first, last, most)
  if most <= 0 then return 0 end
  local found = call('XRANGE', key, first, last, 'COUNT', most)
  for _, entry in ipairs(found) do call('XDEL', key, entry[1]) end
  return #found
end

local function set_timer(timer, due, schedule)
  call('HSET', timer_key(timer), 'due', due, 'schedule', schedule)
  call('HDEL', timer_key(timer), 'token')
  call('ZADD', P .. ':timers', due, tenant .. ':' .. timer)
end

local function clear_timer(timer)
  call('DEL', timer_key(timer))
  call('ZREM', P .. ':timers', tenant .. ':' .. timer)
end

local function resize_scope(scope, bytes)
  if bytes == 0 then return end
  if call('HINCRBY', sizes_key(), scope, digits(bytes)) == 0 then call('HDEL', sizes_key(), scope) end
end

local function bytes_of(scope, key)
  local value = call('HGET', state_key(scope), key)
  return value and #value + #key or 0
end

local applies = {
  put = function(one)
    local kind, id, key = one[2], one[3], record_key(one[2], one[3])
    local before = call('HMGET', key, 'alias', 'position')
    if not before[2] then
      local position = call('INCR', P .. ':position')
      call('HSET', key, 'position', position)
      call('ZADD', P .. ':records:' .. tenant .. ':' .. kind, position, id)
    end
    call('HSET', key, 'value', one[5])
    set_alias(kind, id, before[1], one[4])
    add(versions, call('HINCRBY', key, 'version', 1))
  end,
  delete = function(one)
    local kind, id = one[2], one[3]
    local alias = call('HGET', record_key(kind, id), 'alias')
    if alias then call('HDEL', alias_key(kind), alias) end
    call('DEL', record_key(kind, id))
    call('ZREM', P .. ':records:' .. tenant .. ':' .. kind, id)
  end,
  append = function(one)
    local emitter, stream = one[2], one[3]
    local id = next_entry(emitter)
    call('XADD', stream_key(emitter, stream), 'MAXLEN', '=', one[5], id, 'v', one[4])
    call('ZADD', P .. ':streams:' .. tenant .. ':' .. emitter, 0, stream)
    add(entries, id)
  end,
  delete_entries = function(one)
    add(removed, delete_oldest(stream_key(one[2], one[3]), one[4], one[5], tonumber(one[6])))
  end,
  drop_emitter = function(one)
    local names, most, count, left = P .. ':streams:' .. tenant .. ':' .. one[2], tonumber(one[3]), 0, 0
    for _, name in ipairs(call('ZRANGE', names, 0, -1)) do
      local key = stream_key(one[2], name)
      count = count + delete_oldest(key, '-', '+', most - count)
      left = left + call('XLEN', key)
    end
    if left == 0 then
      for _, name in ipairs(call('ZRANGE', names, 0, -1)) do call('DEL', stream_key(one[2], name)) end
      call('DEL', names, P .. ':last:' .. tenant .. ':' .. one[2])
    end
    add(removed, count)
  end,
  set = function(one)
    local scope, key, value = one[2], one[3], one[4]
    resize_scope(scope, #key + #value - bytes_of(scope, key))
    call('HSET', state_key(scope), key, value)
  end,
  remove = function(one)
    resize_scope(one[2], -bytes_of(one[2], one[3]))
    call('HDEL', state_key(one[2]), one[3])
  end,
  clear = function(one)
    local keys = call('HRANDFIELD', state_key(one[2]), one[3])
    for _, key in ipairs(keys) do
      resize_scope(one[2], -bytes_of(one[2], key))
      call('HDEL', state_key(one[2]), key)
    end
    add(removed, #keys)
  end,
  count = function(one)
    local key = counter_key(one[2])
    local total = tonumber(call('GET', key) or '0') + tonumber(one[3])
    total = math.max(-COUNTER_END, math.min(COUNTER_END, total))
    if one[4] == '' then
      call('SET', key, digits(total))
    else
      call('SET', key, digits(total), 'PX', one[4])
    end
    add(counters, total)
  end,
  enqueue = function(one)
    local lane, due, entry = one[2], one[3], one[4]
    if string.sub(entry, 1, 1) == '#' then entry = entries[tonumber(string.sub(entry, 2)) + 1] end
    local number = call('INCR', P .. ':jobs')
    local job = string.format('%016.0f', number)
    local row = {'tenant', tenant, 'due', due, 'attempt', 0, 'payload', one[5]}
    local is_head = true
    if entry ~= '' then row[9], row[10] = 'entry', entry end
    if lane ~= '' then
      row[#row + 1] = 'lane'
      row[#row + 1] = lane
      is_head = call('RPUSH', P .. ':lane:' .. tenant .. ':' .. lane, job) == 1
    end
    call('HSET', job_key(job), unpack(row))
    if is_head then call('ZADD', heads_key(tenant), due, job) end
    has_moved = true
    add(jobs, number)
  end,
  acknowledge = function(one)
    local lane = call('HGET', job_key(one[2]), 'lane')
    call('DEL', job_key(one[2]))
    call('ZREM', heads_key(tenant), one[2])
    advance_lane(tenant, lane)
    has_moved = true
  end,
  reschedule = function(one)
    local job, key = one[2], job_key(one[2])
    call('HSET', key, 'due', one[4])
    call('HINCRBY', key, 'attempt', 1)
    call('HDEL', key, 'token')
    if one[6] then call('HSET', key, 'payload', one[6]) end
    call('ZADD', heads_key(tenant), one[4], job)
    if one[5] == 'leave' then
      local lane = call('HGET', key, 'lane')
      call('HDEL', key, 'lane')
      advance_lane(tenant, lane)
    end
    has_moved = true
  end,
  set_timer = function(one) set_timer(one[2], one[3], one[4]) end,
  clear_timer = function(one) clear_timer(one[2]) end,
  finish = function(one)
    if one[4] == '' then return clear_timer(one[2]) end
    set_timer(one[2], one[4], call('HGET', timer_key(one[2]), 'schedule'))
  end,
}

for _, one in ipairs(operations) do applies[one[1]](one) end
if has_moved then settle(tenant) end
for _, one in ipairs(pulses) do call('PUBLISH', ARGV[4], one[1]) end

-- Remembered for twice as long as a client tries: a retry after a lost connection gets this answer and changes nothing.
local answer = {'ok', versions, entries, counters, jobs, removed}
call('SET', commit_key, cmsgpack.pack(answer), 'PX', 120000)
return answer
