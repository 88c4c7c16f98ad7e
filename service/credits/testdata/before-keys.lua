-- Applies operations to the windows of workspaces. doc.go describes the layout of a hash.
-- Each operation can be repeated: a repetition changes nothing and returns the same.
--
-- It avoids tables, functions and commands of Redis where it can: they are most of what a
-- call costs.
--
-- KEYS     the hashes, each once
-- ARGV[1]  the time in ms, or '' for the clock of Redis
-- ARGV[2]  the latest time in ms that the caller's own clock permits
-- ARGV[3]  and following: for each key the number of its operations, then five arguments
--          for each of them. The ids of one call differ.
--
--          reserve  id  amount     ceiling  operation
--          settle   id  delivered  seq      epoch
--          read     -   -          ceiling  -
--          usage    -   -          ceiling  -
--
-- returns  { ms the clock was ahead, a reply for each operation }. A reply is
--          { status, used, seq, epoch } of reserve, { status, used } of settle, and
--          { '', used, "operation:total operation:total", back } of read; usage adds
--          "hour:total hour:total". A window that is used up has no seq but back: the
--          time in ms from which less than the ceiling is used, 0 if the ceiling is 0. Of
--          read it is 0 for any other window. If the hash of a key cannot be used, the
--          replies of all its operations are the error.

local call, format, match, floor = redis.call, string.format, string.match, math.floor
local MINUTE = 60000
local WINDOW = 1440      -- minutes
local LAPSE = 60000      -- ms after which an open reservation no longer counts
local FORGET = 660000    -- ms after which it is deleted and cannot be settled
local CHUNK = 120        -- minutes read by one call
local STEPS = 1000       -- queue positions examined per call, which bounds its duration
local IDLE = '259200000' -- ms without a call after which the hash expires: 72 hours

-- Numbers go up to 2^53. They are formatted, because Lua prints a large one as 1e+15.

local time = tonumber(ARGV[1])
if not time then
  local t = call('TIME')
  time = t[1] * 1000 + floor(t[2] / 1000)
end
-- Forward at most to the caller's limit.
local ahead = math.max(0, time - ARGV[2])
time = time - ahead

-- Adds to an entry of a list "name:total name:total". Returns the list and the index of
-- the entry's first character.
local function add(list, name, amount)
  local from, to, total = string.find(' ' .. list, ' ' .. name .. ':(%d+)')
  if not from then
    if list ~= '' then list = list .. ' ' end
    return format('%s%s:%d', list, name, amount), #list + 1
  end
  return format('%s%s:%d%s', string.sub(list, 1, from - 1), name, total + amount, string.sub(list, to)), from
end

local replies = { ahead }

-- Applies the operations of one window, whose arguments begin at first and end at last.
local function apply(key, first, last)
  local fields = { 'w', 'b' }
  for i = first, last, 5 do fields[#fields + 1] = 'r' .. ARGV[i + 1] end
  local stored = call('HMGET', key, unpack(fields))

  local exists, clear, extend = stored[1], false, true
  local now, used, held, oldest = time, 0, 0, -1
  local next, lapsed, forgotten, epoch = 0, 0, 0, ''
  local totals, buckets = stored[2] or '', nil -- buckets: the changed ones
  local set, deleted = { 'w', '' }, {}         -- fields
  local settled = {}                           -- positions of the queue
  local before
  if exists then
    before, used, held, oldest, next, lapsed, forgotten, epoch =
      match(stored[1], '^(%d+) (%d+) (%d+) (%-?%d+) (%d+) (%d+) (%d+) (%S+)$')
    before, used, held, oldest = tonumber(before), tonumber(used), tonumber(held), tonumber(oldest)
    next, lapsed, forgotten = tonumber(next), tonumber(lapsed), tonumber(forgotten)
    now = math.max(time, before) -- backward never
  end
  local minute = floor(now / MINUTE)
  local start = minute - WINDOW -- the oldest minute still in the window
  if exists then
    before = floor(before / MINUTE)
    extend = before < minute
    if before < start then
      -- Not used for longer than the window: everything in it is too old, reservations
      -- too. One DEL replaces a loop over a day of minutes. The time and the positions
      -- of the queue stay.
      clear, totals, stored = true, '', {}
      used, held, oldest, lapsed, forgotten = 0, 0, -1, next, next
    elseif oldest >= 0 and oldest < start then
      -- Drop the buckets that are too old.
      local dropped = {} -- by position in the totals
      for m = oldest, start - 1 do
        local field = format('%d', m)
        local counts = call('HGET', key, field)
        if counts then
          deleted[#deleted + 1] = field
          for position, n in string.gmatch(counts, '(%d+):(%d+)') do
            dropped[position] = (dropped[position] or 0) + n
            used = used - n
          end
        end
      end
      local position = 0
      totals = string.gsub(totals, '(%S+):(%d+)', function(name, total)
        position = position + 1
        return format('%s:%d', name, total - (dropped[format('%d', position)] or 0))
      end)
      oldest, buckets = start, {}
    end
  end

  -- Calls f with each minute of the window that has a bucket, and with its total, until
  -- f returns true: from the oldest on with a step of 1, from the newest with -1.
  local function each(step, f)
    if oldest < 0 then return end
    local from, to = oldest, minute
    if step < 0 then from, to = to, from end
    for m = from, to, step * CHUNK do
      local minutes = {}
      for n = 0, math.min(CHUNK - 1, (to - m) * step) do minutes[n + 1] = format('%d', m + n * step) end
      local values = call('HMGET', key, unpack(minutes))
      for n, bucket in ipairs(minutes) do
        local counts, total = buckets and buckets[bucket] or values[n], 0
        if counts then
          for amount in string.gmatch(counts, ':(%d+)') do total = total + amount end
          if f(tonumber(bucket), total) then return end
        end
      end
    end
  end

  -- What is used becomes lower than the ceiling with the minute up to which the credits
  -- are more than used - ceiling, and from which on they are at least the ceiling.
  local function back(ceiling)
    local step, rest, at = 1, used - ceiling + 1, 0
    if rest <= 0 or ceiling == 0 then return 0 end
    if ceiling < rest then step, rest = -1, ceiling end
    each(step, function(m, total)
      rest, at = rest - total, (m + WINDOW + 1) * MINUTE
      return rest <= 0
    end)
    return at
  end

  local advanced = clear
  for i = first, last, 5 do
    local kind, id = ARGV[i], ARGV[i + 1]
    -- The stored reservation with this id, unless it is too old.
    local known, seq, amount, created, operation = stored[3 + (i - first) / 5], nil, nil, nil, nil
    if known then
      seq, amount, created, operation = match(known, '^(%d+) (%d+) (%d+) (%S+)$')
      known = created + FORGET > now
    end

    if kind ~= 'settle' and not advanced then
      -- The queue has reservations in the order of creation, so those to lapse and to
      -- delete are at its head. The reservation at an empty position was settled.
      advanced = true
      local limit = math.min(next, lapsed + STEPS)
      while lapsed < limit do
        local head = not settled[lapsed] and call('HGET', key, format('q%d', lapsed))
        if head then
          local reserved, at = match(call('HGET', key, 'r' .. head), '^%d+ (%d+) (%d+)')
          if at + LAPSE > now then break end
          held = held - reserved
        end
        lapsed = lapsed + 1
      end
      limit = math.min(lapsed, forgotten + STEPS)
      while forgotten < limit do
        local head = not settled[forgotten] and call('HGET', key, format('q%d', forgotten))
        if head then
          local at = match(call('HGET', key, 'r' .. head), '^%d+ %d+ (%d+)')
          if at + FORGET > now then break end
          local n = #deleted
          deleted[n + 1], deleted[n + 2] = 'r' .. head, format('q%d', forgotten)
        end
        forgotten = forgotten + 1
      end
    end

    local reply
    if kind == 'reserve' then
      -- Reserves an amount for one request, or returns why it cannot.
      local ceiling = tonumber(ARGV[i + 3])
      amount = ARGV[i + 2]
      if known then
        reply = { 'granted', used, tonumber(seq), epoch }
      elseif used >= ceiling then
        reply = { 'used_up', used, back(ceiling), epoch }
      elseif used + held >= ceiling then
        reply = { 'full', used, 0, epoch }
      else
        if epoch == '' then epoch = id end
        local n = #set
        set[n + 1], set[n + 2] = 'r' .. id, format('%d %s %d %s', next, amount, now, ARGV[i + 4])
        set[n + 3], set[n + 4] = format('q%d', next), id
        reply = { 'granted', used, next, epoch }
        exists, next, held = true, next + 1, held + amount
      end

    elseif kind == 'settle' then
      -- Charges what a reservation delivered and deletes the reservation. A lapsed one is
      -- charged too. A missing one is charged nothing: 'gone' when it was settled before,
      -- 'lost' when this hash never had it or was restored to a time before it.
      if not known then
        local seen = exists and epoch == ARGV[i + 4] and tonumber(ARGV[i + 3]) < next
        reply = { seen and 'gone' or 'lost', used }
      else
        local n = #deleted
        deleted[n + 1], deleted[n + 2] = 'r' .. id, 'q' .. seq
        seq = tonumber(seq)
        settled[seq] = true
        if seq >= lapsed then held = held - amount end
        if seq == lapsed then lapsed = seq + 1 end
        if seq == forgotten then forgotten = seq + 1 end
        local delivered = tonumber(ARGV[i + 2])
        if delivered > 0 then
          -- The minute in which the reservation was made. A bucket refers to an
          -- operation by its position in the totals.
          local m = math.max(floor(created / MINUTE), start)
          if oldest < 0 or m < oldest then oldest = m end
          m = format('%d', m)
          used = used + delivered
          local from
          totals, from = add(totals, operation, delivered)
          local _, position = string.gsub(string.sub(totals, 1, from - 1), ' ', '')
          buckets = buckets or {}
          buckets[m] = add(buckets[m] or call('HGET', key, m) or '', position + 1, delivered)
        end
        reply = { 'settled', used }
      end

    else
      reply = { '', used, totals, back(tonumber(ARGV[i + 3])) }
      if kind == 'usage' then
        local hours, list = {}, {}
        each(1, function(m, total)
          local hour = floor(m / 60)
          if #hours == 0 or hours[#hours] ~= hour then
            hours[#hours + 1], list[#list + 1] = hour, 0
          end
          list[#list] = list[#list] + total
        end)
        for n, hour in ipairs(hours) do list[n] = format('%d:%d', hour, list[n]) end
        reply[5] = table.concat(list, ' ')
      end
    end
    replies[#replies + 1] = reply
  end

  if not exists then return end
  if clear then call('DEL', key) end
  set[2] = format('%d %d %d %d %d %d %d %s', now, used, held, oldest, next, lapsed, forgotten, epoch)
  if buckets then
    local n = #set
    set[n + 1], set[n + 2] = 'b', totals
    for m, counts in pairs(buckets) do
      n = n + 2
      set[n + 1], set[n + 2] = m, counts
    end
  end
  -- A Redis without memory refuses HSET, except after another write: what was reserved
  -- can still be settled.
  if deleted[1] then call('HDEL', key, unpack(deleted)) end
  call('HSET', key, unpack(set))
  if extend then call('PEXPIRE', key, IDLE) end -- once a minute
end

-- The windows are independent of each other: an unusable hash fails its own operations.
local at = 3
for i = 1, #KEYS do
  local n, first, done = ARGV[at], at + 1, #replies
  at = first + 5 * n
  local ok, failure = pcall(apply, KEYS[i], first, at - 1)
  if not ok then
    for k = 1, n do
      replies[done + k] = redis.error_reply(type(failure) == 'table' and failure.err or tostring(failure))
    end
  end
end
return replies
