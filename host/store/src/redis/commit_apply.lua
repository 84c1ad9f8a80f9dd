-- Second half of a commit: from here on everything succeeds.
local COUNTER_END = 9007199254740991
local LAST_SEQUENCE = 1048575
local versions, entries, counters, jobs, removed = {}, {}, {}, {}, {}
-- When the earliest of the heads that the batch made is due: told once, at the end. The same of its timers.
local earliest, earliest_timer
-- What the batch adds to the queue of its tenant, and takes from it.
local queued_jobs, queued_bytes
-- The same, as it was told for tenants of the group so far.
local told
-- What is left to do for the whole group: jobs to delete, and by the key of their tenant's heads, heads to add and to
-- remove. A step for many costs little more than a step for one.
local gone, heads_added, heads_removed
-- The same of emitters, streams and counters that the group has written once already: the last id of an emitter, in
-- parts, and whether it is still to be written; how many entries a stream keeps, and whether it has more by now; what is
-- still to be added to a counter.
local last_ms, last_sequence, is_last_unwritten, kept, has_more, owed
-- Lua hands over only so many arguments at once.
local PIECE = 1000

local function add(list, item) list[#list + 1] = item end

local function last_key(emitter) return P .. ':last:' .. tenant .. ':' .. emitter end
local function streams_key(emitter) return P .. ':streams:' .. tenant .. ':' .. emitter end
local function stream_key(emitter, stream) return P .. ':stream:' .. tenant .. ':' .. emitter .. ':' .. stream end

local function set_alias(kind, id, before, alias)
  if before and before ~= alias then call('HDEL', alias_key(kind), before) end
  if alias ~= '' then
    call('HSET', alias_key(kind), alias, id)
    call('HSET', record_key(kind, id), 'alias', alias)
  else
    call('HDEL', record_key(kind, id), 'alias')
  end
end

local function entry_id(ms, sequence) return digits(ms) .. '-' .. digits(sequence) end

-- An id after the emitter's last one, also when the clock has stepped back, and the last one. Mostly the clock has not,
-- and one step is enough.
local function next_entry(emitter)
  local key = last_key(emitter)
  local ms, sequence, last = last_ms[key], last_sequence[key], ''
  local is_first = not ms
  if is_first then
    last = call('SET', key, now .. '-0', 'GET') or ''
    local split = string.find(last, '-', 1, true)
    ms, sequence = 0, 0
    if split then ms, sequence = tonumber(string.sub(last, 1, split - 1)), tonumber(string.sub(last, split + 1)) end
  else
    last = entry_id(ms, sequence)
  end
  local is_ahead = now_ms > ms
  if is_ahead then
    ms, sequence = now_ms, 0
  elseif sequence < LAST_SEQUENCE then
    sequence = sequence + 1
  else
    ms, sequence = ms + 1, 0
  end
  last_ms[key], last_sequence[key] = ms, sequence
  if not (is_first and is_ahead) then is_last_unwritten[key] = true end
  return entry_id(ms, sequence), last
end

-- The streams have no more entries than they keep.
local function trim()
  for key in pairs(has_more) do call('XTRIM', key, 'MAXLEN', '=', kept[key]) end
  has_more = {}
end

-- Trimmed with its first entry of the group, and for those after it at the end. Noted when it is written: a step that
-- fails is its batch's alone, and must not be met again at the end of the group.
local function append(key, id, value, keep)
  local is_known = kept[key] == keep
  if not is_known and has_more[key] then trim() end
  local added
  if is_known then
    added = call('XADD', key, 'NOMKSTREAM', id, 'v', value)
    has_more[key] = true
  else
    added = call('XADD', key, 'NOMKSTREAM', 'MAXLEN', '=', keep, id, 'v', value)
    kept[key] = keep
  end
  return added
end

local function pay(key)
  local amount = owed[key]
  owed[key] = nil
  if amount and amount ~= 0 then call('INCRBY', key, digits(amount)) end
end

local function delete_oldest(key, first, last, most)
  if most <= 0 then return 0 end
  local found = call('XRANGE', key, first, last, 'COUNT', most)
  for _, entry in ipairs(found) do call('XDEL', key, entry[1]) end
  return #found
end

local function wait_for(due)
  local at = tonumber(due)
  if not earliest or at < earliest then earliest = at end
end

local function list_of(lists, key)
  local found = lists[key]
  if not found then
    found = {}
    lists[key] = found
  end
  return found
end

local function in_pieces(items, act)
  for first = 1, #items, PIECE do act(unpack(items, first, math.min(first + PIECE - 1, #items))) end
end

local function finish_group()
  in_pieces(gone, function(...) call('DEL', ...) end)
  for key, items in pairs(heads_added) do in_pieces(items, function(...) call('ZADD', key, ...) end) end
  for key, items in pairs(heads_removed) do in_pieces(items, function(...) call('ZREM', key, ...) end) end
  for key in pairs(is_last_unwritten) do call('SET', key, entry_id(last_ms[key], last_sequence[key])) end
  trim()
  for key in pairs(owed) do pay(key) end
end

local function leave_lane(job)
  local due = advance_lane(tenant, settled[job].lane)
  if due then wait_for(due) end
end

local function set_timer(timer, due, schedule)
  earliest_timer = math.min(earliest_timer or tonumber(due), tonumber(due))
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
  put = function(kind, id, alias, value)
    local key = record_key(kind, id)
    local before = call('HMGET', key, 'alias', 'position')
    if not before[2] then
      local position = call('INCR', P .. ':position')
      call('HSET', key, 'position', position)
      call('ZADD', records_key(kind), position, id)
      lists[records_key(kind)] = nil
      call('SADD', P .. ':kinds:' .. tenant, kind)
    end
    call('HSET', key, 'value', value)
    set_alias(kind, id, before[1], alias)
    add(versions, digits(call('HINCRBY', key, 'version', 1)))
  end,
  delete = function(kind, id)
    local alias = call('HGET', record_key(kind, id), 'alias')
    if alias then call('HDEL', alias_key(kind), alias) end
    call('DEL', record_key(kind, id))
    call('ZREM', records_key(kind), id)
    lists[records_key(kind)] = nil
  end,
  append = function(emitter, stream, value, keep)
    local key, id, before = stream_key(emitter, stream), next_entry(emitter)
    if not append(key, id, value, keep) then
      call('ZADD', streams_key(emitter), '0', stream)
      call('SADD', P .. ':emitters:' .. tenant, emitter)
      call('XADD', key, 'MAXLEN', '=', keep, id, 'v', value)
    end
    if is_followed(emitter) then note(emitter, before, id, stream, value) end
    add(entries, id)
  end,
  delete_entries = function(emitter, stream, first, last, most)
    trim()
    add(removed, delete_oldest(stream_key(emitter, stream), first, last, tonumber(most)))
  end,
  drop_emitter = function(emitter, max)
    trim()
    local most, count, left, keys = tonumber(max), 0, 0, {streams_key(emitter), last_key(emitter)}
    for _, name in ipairs(call('ZRANGE', keys[1], 0, -1)) do
      local key = stream_key(emitter, name)
      count = count + delete_oldest(key, '-', '+', most - count)
      left = left + call('XLEN', key)
      add(keys, key)
    end
    if left == 0 then
      for _, key in ipairs(keys) do call('DEL', key) end
      last_ms[keys[2]], is_last_unwritten[keys[2]] = nil, nil
      call('SREM', P .. ':emitters:' .. tenant, emitter)
    end
    add(removed, count)
  end,
  set = function(scope, key, value)
    resize_scope(scope, #key + #value - bytes_of(scope, key))
    call('HSET', state_key(scope), key, value)
  end,
  remove = function(scope, key)
    resize_scope(scope, -bytes_of(scope, key))
    call('HDEL', state_key(scope), key)
  end,
  clear = function(scope, max)
    local keys = call('HRANDFIELD', state_key(scope), max)
    for _, key in ipairs(keys) do
      resize_scope(scope, -bytes_of(scope, key))
      call('HDEL', state_key(scope), key)
    end
    add(removed, #keys)
  end,
  -- The key goes by itself soon after its last lock has ended; clocks of hosts may differ by as much.
  lock = function(scope, key, until_ms)
    local lives_ms = math.max(tonumber(until_ms) - now_ms, 0) + 60000
    call('HSET', locks_key(scope), key, until_ms .. ' ' .. lock_owner)
    if call('PTTL', locks_key(scope)) < lives_ms then call('PEXPIRE', locks_key(scope), digits(lives_ms)) end
  end,
  unlock = function(scope)
    local fields = call('HGETALL', locks_key(scope))
    for at = 1, #fields, 2 do
      local lock = fields[at + 1]
      local owner = string.sub(lock, string.find(lock, ' ', 1, true) + 1)
      if owner == lock_owner then call('HDEL', locks_key(scope), fields[at]) end
    end
  end,
  count = function(counter, amount, lives_ms)
    local key = counter_key(counter)
    local before = totals[key]
    if before and before ~= 0 then
      local clamped = math.max(-COUNTER_END, math.min(COUNTER_END, before + tonumber(amount)))
      owed[key] = (owed[key] or 0) + clamped - before
      totals[key] = clamped
      return add(counters, digits(clamped))
    end
    pay(key)
    local total = call('INCRBY', key, amount)
    -- A counter that was not there begins with this amount.
    if lives_ms ~= '' and total == tonumber(amount) then call('PEXPIRE', key, lives_ms) end
    local clamped = math.max(-COUNTER_END, math.min(COUNTER_END, total))
    if clamped ~= total then call('SET', key, digits(clamped), 'KEEPTTL') end
    totals[key] = clamped
    add(counters, digits(clamped))
  end,
  enqueue = function(lane, due, available, entry, payload)
    if string.byte(entry) == 35 then entry = entries[tonumber(string.sub(entry, 2)) + 1] end
    local number = call('INCR', P .. ':jobs')
    local job, is_head = string.format('%016d', number), true
    local key = job_key(job)
    if lane == '' then
      call('HSET', key, 'tenant', tenant, 'due', due, 'attempt', '0', 'entry', entry, 'payload', payload)
    else
      call('HSET', key, 'tenant', tenant, 'due', due, 'attempt', '0', 'entry', entry, 'payload', payload, 'lane', lane)
      is_head = call('RPUSH', P .. ':lane:' .. tenant .. ':' .. lane, job) == 1
    end
    if is_head then
      local heads = list_of(heads_added, heads_key(tenant))
      add(heads, available)
      add(heads, job)
      wait_for(available)
    end
    queued_jobs, queued_bytes = queued_jobs + 1, queued_bytes + #payload
    add(jobs, job)
  end,
  acknowledge = function(job)
    local key = job_key(job)
    queued_jobs, queued_bytes = queued_jobs - 1, queued_bytes - call('HSTRLEN', key, 'payload')
    add(gone, key)
    is_gone[key] = true
    add(list_of(heads_removed, heads_key(tenant)), job)
    leave_lane(job)
  end,
  reschedule = function(job, _, due, place, has_payload, payload)
    local key = job_key(job)
    call('HSET', key, 'due', due)
    call('HINCRBY', key, 'attempt', 1)
    call('HDEL', key, 'token')
    if has_payload == '1' then
      queued_bytes = queued_bytes + #payload - call('HSTRLEN', key, 'payload')
      call('HSET', key, 'payload', payload)
    end
    call('ZADD', heads_key(tenant), due, job)
    wait_for(due)
    if place == 'leave' then
      call('HDEL', key, 'lane')
      leave_lane(job)
    end
  end,
  set_timer = set_timer,
  clear_timer = clear_timer,
  finish = function(timer, _, due)
    if due == '' then return clear_timer(timer) end
    set_timer(timer, due, call('HGET', timer_key(timer), 'schedule'))
  end,
}

-- Jobs of an earlier version were not counted when they came: below zero is nothing.
local function resize_queue()
  if queued_jobs ~= 0 and call('HINCRBY', queued_key(), 'jobs', digits(queued_jobs)) <= 0 then
    call('DEL', queued_key())
  elseif queued_bytes ~= 0 then
    call('HINCRBY', queued_key(), 'bytes', digits(queued_bytes))
  end
end

local function list(items) return #items < 2 and items[1] or table.concat(items, ',') end

-- Answers 'ok', a list each of versions, entries, counters, jobs and how many were removed, and when the earliest of the
-- work that it made is due, or nothing; and that time as a number.
local function apply(at, operations)
  versions, entries, counters = emptied(versions), emptied(entries), emptied(counters)
  jobs, removed, earliest, earliest_timer = emptied(jobs), emptied(removed), nil, nil
  queued_jobs, queued_bytes = 0, 0
  for _ = 1, operations do
    local name = ARGV[at]
    applies[name](ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], ARGV[at + 6])
    at = at + SIZE[name]
  end
  resize_queue()
  local before = told[tenant]
  if earliest and (not before or earliest < before) then
    told[tenant] = earliest
    wait_until(tenant, digits(earliest))
  end
  local due = earliest or earliest_timer
  if earliest_timer and earliest_timer < due then due = earliest_timer end
  local told_due = due and digits(due) or ''
  return table.concat({'ok', list(versions), list(entries), list(counters), list(jobs), list(removed), told_due}, ' '), due
end
