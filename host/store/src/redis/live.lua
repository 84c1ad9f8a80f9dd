-- What hosts with readers are told. A host that follows an emitter keeps the key live_of(emitter) alive, which is the name
-- of the channel as well, and the key LIVE of all. A group of commits looks at LIVE once: without readers that is all it
-- costs. A message says which entry came before, so that a host notices when it missed one.
local LIVE, has_readers, followed, news
-- A message ends with the entry that reaches this many bytes.
local PIECE_BYTES = 65536
-- More of one batch is not sent, only that it was: Redis would cut off a host that it has to hold 32 MiB for.
local NEWS_BYTES = 16777216

local function live_of(emitter) return P .. ':live:' .. tenant .. ':' .. emitter end

local function is_followed(emitter)
  if has_readers == nil then has_readers = call('EXISTS', LIVE) == 1 end
  if not has_readers then return false end
  local key = live_of(emitter)
  if followed[key] == nil then followed[key] = call('EXISTS', key) == 1 end
  return followed[key]
end

local function note(emitter, before, id, stream, value)
  local channel = live_of(emitter)
  news = news or {}
  local found = news[channel]
  if not found then
    found = {before = before, bytes = 0}
    news[channel] = found
  end
  found.last = id
  found.bytes = found.bytes + #value
  found[#found + 1] = {id, stream, value}
end

-- BEFORE '\n', then of each entry ID ' ' LENGTH ' ' LENGTH '\n' STREAM VALUE; or '!' ID for entries that are not sent.
local function publish(channel, found)
  if found.bytes > NEWS_BYTES then
    call('PUBLISH', channel, found.before .. '\n!' .. found.last)
    return
  end
  local before, piece, bytes = found.before, {}, 0
  for index, entry in ipairs(found) do
    local id, stream, value = entry[1], entry[2], entry[3]
    piece[#piece + 1] = id .. ' ' .. #stream .. ' ' .. #value .. '\n'
    piece[#piece + 1] = stream
    piece[#piece + 1] = value
    bytes = bytes + #value + #stream + 40
    if bytes >= PIECE_BYTES or index == #found then
      call('PUBLISH', channel, before .. '\n' .. table.concat(piece))
      before, piece, bytes = id, {}, 0
    end
  end
end

local function publish_news()
  if not news then return end
  for channel, found in pairs(news) do publish(channel, found) end
end
