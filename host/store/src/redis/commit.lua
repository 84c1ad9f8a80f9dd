-- A group of commits, each judged and applied on what the ones before it left; a refused one changes nothing.
--
-- KEYS: where the last group of this call is remembered; then for each batch the prefix of its partition.
-- ARGV: number of the group, channel, who sends it, LIVE, '1' if its host has no room for more work; then for each batch:
-- how many arguments it has (this one included), tenant, now, count of preconditions, count of operations, number of its
-- partition, who owns its locks; then each precondition and operation: its name, its arguments.
-- Answers one line for each batch.

-- A host works on what it commits itself, so other hosts are told only of what is due later than this, and of
-- everything when it has no room. What a host leaves behind that dies, others find when they look for themselves.
local LATER_MS = 1000

local function commit(at)
  tenant, now, lock_owner, news = ARGV[at + 1], ARGV[at + 2], ARGV[at + 6], nil
  now_ms = tonumber(now)
  local operations = tonumber(ARGV[at + 4])
  local refusal, first = judge(at + 7, tonumber(ARGV[at + 3]), operations)
  if refusal then return refusal end
  local answer, due = apply(first, operations)
  publish_news()
  return answer, due
end

-- Tells other hosts which partitions have work, and from when on.
local function publish_work(work)
  local parts = {}
  for partition, due in pairs(work) do parts[#parts + 1] = partition .. '=' .. digits(due) end
  if #parts > 0 then call('PUBLISH', ARGV[2], ARGV[3] .. ':' .. ARGV[5] .. ':' .. table.concat(parts, ',')) end
end

-- Answers the lines.
local function commit_each()
  local answers, work, at = {}, {}, 6
  has_readers, followed = nil, {}
  told, gone, is_gone, heads_added, heads_removed, lists, totals = {}, {}, {}, {}, {}, {}, {}
  last_ms, last_sequence, is_last_unwritten, kept, has_more, owed = {}, {}, {}, {}, {}, {}
  for index = 1, #KEYS - 1 do
    P = KEYS[index + 1]
    local is_whole, answer, due = pcall(commit, at)
    -- Our mistake, and only this batch's.
    if not is_whole then answer = 'failed ' .. string.gsub(answer.err or tostring(answer), '%s', ' ') end
    if is_whole and due and (ARGV[5] == '1' or due > tonumber(ARGV[at + 2]) + LATER_MS) then
      local partition = ARGV[at + 5]
      work[partition] = math.min(work[partition] or due, due)
    end
    answers[index] = answer
    at = at + tonumber(ARGV[at])
  end
  finish_group()
  publish_work(work)
  return table.concat(answers, '\n')
end

-- Remembered for twice as long as a client tries.
local function remember(text, ...) return call('SET', KEYS[1], text, 'PX', '120000', ...) end

-- A group that is sent again, because the answer was lost, gets the old answer and changes nothing; neither does one
-- that arrives after a later one. A server that takes no writes refuses the first step: then nothing has happened.
local function commit_group(keys, arguments)
  call, KEYS, ARGV, LIVE = redis.call, keys, arguments, arguments[4]
  local last = remember(ARGV[1] .. '\n', 'GET')
  if last then
    local split = string.find(last, '\n', 1, true)
    local number = string.sub(last, 1, split - 1)
    if tonumber(number) >= tonumber(ARGV[1]) then
      remember(last)
      return number == ARGV[1] and string.sub(last, split + 1) or 'late'
    end
  end
  local answer = commit_each()
  remember(ARGV[1] .. '\n' .. answer)
  return answer
end
