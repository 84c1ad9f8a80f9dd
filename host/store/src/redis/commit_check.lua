-- First half of a commit: judges a batch. Nothing is written here, because a script cannot take back what it wrote.
-- Operations that depend on earlier ones of the same batch are judged against what those will have done.
-- A refusal is text: what it is, and where.
local tenant, now, now_ms, lock_owner
-- Keys of jobs that an earlier batch of the group acknowledged: they are deleted at its end.
local is_gone
-- What the group knows already, by key: how many records a list has and its newest, what a counter stands at.
local lists, totals

-- How many arguments each precondition and operation has, its name included.
local SIZE = {
  version = 4, absent = 3, alias = 3, list = 4, below = 3, room = 3, job = 3, timer = 3, value = 5,
  put = 5, delete = 3, append = 5, delete_entries = 6, drop_emitter = 3,
  set = 5, remove = 3, clear = 3, count = 4, lock = 4, unlock = 2,
  enqueue = 6, acknowledge = 3, reschedule = 7, set_timer = 4, clear_timer = 2, finish = 4,
}

local function record_key(kind, id) return P .. ':record:' .. tenant .. ':' .. kind .. ':' .. id end
local function records_key(kind) return P .. ':records:' .. tenant .. ':' .. kind end
local function alias_key(kind) return P .. ':alias:' .. tenant .. ':' .. kind end
local function state_key(scope) return P .. ':state:' .. tenant .. ':' .. scope end
local function locks_key(scope) return P .. ':locks:' .. tenant .. ':' .. scope end
local function sizes_key() return P .. ':sizes:' .. tenant end
local function counter_key(counter) return P .. ':counter:' .. tenant .. ':' .. counter end
local function queued_key() return P .. ':queued:' .. tenant end
local function timer_key(timer) return P .. ':timer:' .. tenant .. ':' .. timer end

local holds = {
  version = function(kind, id, version) return call('HGET', record_key(kind, id), 'version') == version end,
  absent = function(kind, id) return call('EXISTS', record_key(kind, id)) == 0 end,
  alias = function(kind, alias) return call('HEXISTS', alias_key(kind), alias) == 0 end,
  list = function(kind, newest, total)
    local key = records_key(kind)
    local list = lists[key]
    if not list then
      list = {total = call('ZCARD', key)}
      lists[key] = list
    end
    if list.total ~= tonumber(total) then return false end
    if newest == '' then return true end
    list.newest = list.newest or call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]
    return list.newest == newest
  end,
  below = function(counter, limit)
    local key = counter_key(counter)
    return (totals[key] or tonumber(call('GET', key) or '0')) < tonumber(limit)
  end,
  room = function(jobs, bytes)
    local queued = call('HMGET', queued_key(), 'jobs', 'bytes')
    return tonumber(queued[1] or '0') <= tonumber(jobs) and tonumber(queued[2] or '0') <= tonumber(bytes)
  end,
  job = function(job, token) return not is_gone[job_key(job)] and (holds_job(tenant, job, token)) end,
  timer = function(timer, token) return holds_timer(tenant, timer, token) end,
  value = function(scope, key, exists, value)
    return call('HGET', state_key(scope), key) == (exists == '1' and value)
  end,
}

-- What earlier operations will have done: alias of a record, owner of an alias ('' is none), bytes of a value and of
-- a scope; leases that are settled, with the lane of the job.
local alias_of, owner_of, value_size, scope_size, settled = {}, {}, {}, {}, {}

-- The table, or a new one where something is in it: most batches leave most of them empty.
local function emptied(items)
  if next(items) == nil then return items end
  return {}
end

local function current_alias(kind, id)
  local name = kind .. ':' .. id
  if not alias_of[name] then alias_of[name] = call('HGET', record_key(kind, id), 'alias') or '' end
  return alias_of[name]
end

local function current_owner(kind, alias)
  local name = kind .. ':' .. alias
  if not owner_of[name] then owner_of[name] = call('HGET', alias_key(kind), alias) or '' end
  return owner_of[name]
end

local function rename(kind, id, alias)
  local before = current_alias(kind, id)
  if before ~= '' then owner_of[kind .. ':' .. before] = '' end
  if alias ~= '' then owner_of[kind .. ':' .. alias] = id end
  alias_of[kind .. ':' .. id] = alias
end

local function resize(scope, key, bytes)
  local sizes = value_size[scope]
  if not sizes then
    sizes = {}
    value_size[scope] = sizes
    scope_size[scope] = tonumber(call('HGET', sizes_key(), scope) or '0')
  end
  if not sizes[key] then
    local length = call('HSTRLEN', state_key(scope), key)
    local exists = length > 0 or call('HEXISTS', state_key(scope), key) == 1
    sizes[key] = exists and length + #key or 0
  end
  local before = scope_size[scope]
  scope_size[scope] = before - sizes[key] + bytes
  sizes[key] = bytes
  return before, scope_size[scope]
end

local function settle_job(job, token)
  if settled[job] or is_gone[job_key(job)] then return 'lost' end
  local is_held, lane = holds_job(tenant, job, token)
  if not is_held then return 'lost' end
  settled[job] = {lane = lane}
end

local function replace_timer(timer) settled['timer ' .. timer] = true end

local judge_leases = {
  acknowledge = settle_job,
  reschedule = settle_job,
  set_timer = replace_timer,
  clear_timer = replace_timer,
  finish = function(timer, token)
    if settled['timer ' .. timer] or not holds_timer(tenant, timer, token) then return 'lost' end
    replace_timer(timer)
  end,
}

-- A lock is kept as '<until> <owner>'. Which scopes have any is asked once in a batch.
local has_locks = {}

local function judge_lock(scope, key)
  if has_locks[scope] == nil then has_locks[scope] = call('EXISTS', locks_key(scope)) == 1 end
  if not has_locks[scope] then return end
  local lock = call('HGET', locks_key(scope), key)
  if not lock then return end
  local split = string.find(lock, ' ', 1, true)
  local is_live = tonumber(string.sub(lock, 1, split - 1)) > now_ms
  if is_live and string.sub(lock, split + 1) ~= lock_owner then return 'locked' end
end

local judge_locks = {set = judge_lock, remove = judge_lock, lock = judge_lock}

local judge_values = {
  put = function(kind, id, alias)
    local owner = alias ~= '' and current_owner(kind, alias) or ''
    if owner ~= '' and owner ~= id then return 'operation' end
    rename(kind, id, alias)
  end,
  delete = function(kind, id) rename(kind, id, '') end,
  set = function(scope, key, value, cap)
    local before, after = resize(scope, key, #key + #value)
    if after > tonumber(cap) and after > before then return 'cap', ' ' .. digits(after) end
  end,
  remove = function(scope, key) resize(scope, key, 0) end,
}

-- Whether there is anything to judge about one of the operations: mostly a batch only adds to streams and counters.
local function is_judged(at, count)
  for _ = 1, count do
    local name = ARGV[at]
    if judge_leases[name] or judge_locks[name] or judge_values[name] then return true end
    at = at + SIZE[name]
  end
  return false
end

local function judge_operations(judges, at, count)
  for index = 0, count - 1 do
    local name = ARGV[at]
    local judge = judges[name]
    if judge then
      local refusal, detail = judge(ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
      if refusal then return refusal .. ' ' .. index .. (detail or '') end
    end
    at = at + SIZE[name]
  end
end

-- Answers a refusal, or nothing and where the operations begin.
local function judge(at, preconditions, operations)
  for index = 0, preconditions - 1 do
    local name = ARGV[at]
    if not holds[name](ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]) then
      return (name == 'job' or name == 'timer') and 'lost' or 'precondition ' .. index
    end
    at = at + SIZE[name]
  end
  if not is_judged(at, operations) then return nil, at end
  alias_of, owner_of, value_size = emptied(alias_of), emptied(owner_of), emptied(value_size)
  scope_size, settled, has_locks = emptied(scope_size), emptied(settled), emptied(has_locks)
  -- Leases first, as in every engine: a lost lease is the error to report, whatever else is wrong.
  local refusal = judge_operations(judge_leases, at, operations) or judge_operations(judge_locks, at, operations)
    or judge_operations(judge_values, at, operations)
  return refusal, at
end
