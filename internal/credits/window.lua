-- The part that all scripts share: it loads a workspace's window, moves it to the
-- present and drops what is too old. doc.go describes the layout of the hash.
--
-- KEYS[1]  the workspace's hash
-- ARGV[1]  the time in ms, or '' for the clock of Redis
-- ARGV[2]  the latest time in ms that the caller's own clock permits

local key = KEYS[1]
local MINUTE = 60000
local WINDOW = 1440       -- minutes
local LAPSE = 60000       -- ms after which an open reservation no longer counts
local FORGET = 660000     -- ms after which it is deleted and cannot be settled
local STEPS = 1000        -- queue positions examined per call, which bounds its duration
local IDLE = 72 * 3600000 -- ms without a write after which the hash expires

-- Without a format Lua prints a large number as 1e+15.
local function int(n) return string.format('%.0f', n) end

-- The operations with their totals. A bucket refers to them by position.
local function load_ops(w)
  if w.ops then return end
  w.ops = {}
  for name, total in string.gmatch(redis.call('HGET', key, 'b') or '', '(%S+):(%d+)') do
    w.ops[#w.ops + 1] = { name = name, total = tonumber(total) }
  end
end

local function load_bucket(minute)
  local counts = {}
  for op, n in string.gmatch(redis.call('HGET', key, int(minute)) or '', '(%d+):(%d+)') do
    counts[#counts + 1] = { op = tonumber(op), n = tonumber(n) }
  end
  return counts
end

local function charge(w, minute, name, amount)
  load_ops(w)
  local op
  for i, o in ipairs(w.ops) do
    if o.name == name then op = i break end
  end
  if not op then
    op = #w.ops + 1
    w.ops[op] = { name = name, total = 0 }
  end
  w.ops[op].total = w.ops[op].total + amount
  w.ops_changed = true
  w.used = w.used + amount

  local text, found = {}, false
  for _, c in ipairs(load_bucket(minute)) do
    if c.op == op then
      c.n = c.n + amount
      found = true
    end
    text[#text + 1] = int(c.op) .. ':' .. int(c.n)
  end
  if not found then text[#text + 1] = int(op) .. ':' .. int(amount) end
  redis.call('HSET', key, int(minute), table.concat(text, ' '))
  if w.oldest < 0 or minute < w.oldest then w.oldest = minute end
end

-- "seq amount created operation"
local function load_reservation(id)
  local text = redis.call('HGET', key, 'r' .. id)
  if not text then return nil end
  local seq, amount, created, op = string.match(text, '^(%d+) (%d+) (%d+) (%S+)$')
  return { id = id, seq = tonumber(seq), amount = tonumber(amount), created = tonumber(created), op = op }
end

local function drop_reservation(r)
  redis.call('HDEL', key, 'r' .. r.id, 'q' .. int(r.seq))
end

local function queued(seq)
  local id = redis.call('HGET', key, 'q' .. int(seq))
  return id and load_reservation(id)
end

local function trim(w)
  local first = w.minute - WINDOW -- the oldest minute still in the window
  if w.oldest < 0 or w.oldest >= first then return end
  load_ops(w)
  for minute = w.oldest, first - 1 do
    local counts = load_bucket(minute)
    for _, c in ipairs(counts) do
      w.ops[c.op].total = w.ops[c.op].total - c.n
      w.used = w.used - c.n
      w.ops_changed = true
    end
    if #counts > 0 then redis.call('HDEL', key, int(minute)) end
  end
  w.oldest = first
end

-- The queue has reservations in the order of creation, so those to lapse and to delete
-- are at its head. The reservation at an empty position was settled.
local function lapse(w)
  local last = math.min(w.next, w.lapsed + STEPS)
  while w.lapsed < last do
    local r = queued(w.lapsed)
    if r then
      if r.created + LAPSE > w.now then break end
      w.held = w.held - r.amount
    end
    w.lapsed = w.lapsed + 1
  end
  last = math.min(w.lapsed, w.forgotten + STEPS)
  while w.forgotten < last do
    local r = queued(w.forgotten)
    if r then
      if r.created + FORGET > w.now then break end
      drop_reservation(r)
    end
    w.forgotten = w.forgotten + 1
  end
end

local function load_window()
  local now
  if ARGV[1] == '' then
    local clock = redis.call('TIME')
    now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
  else
    now = tonumber(ARGV[1])
  end
  -- Forward at most to the caller's limit, backward never.
  local ahead = math.max(0, now - tonumber(ARGV[2]))
  now = now - ahead

  local w = { used = 0, held = 0, oldest = -1, next = 0, lapsed = 0, forgotten = 0, epoch = '', ahead = ahead }
  local text = redis.call('HGET', key, 'w')
  if text then
    w.exists = true
    local t, used, held, oldest, seq, lapsed, forgotten, epoch =
      string.match(text, '^(%d+) (%d+) (%d+) (%-?%d+) (%d+) (%d+) (%d+) (%S+)$')
    w.used, w.held, w.oldest = tonumber(used), tonumber(held), tonumber(oldest)
    w.next, w.lapsed, w.forgotten, w.epoch = tonumber(seq), tonumber(lapsed), tonumber(forgotten), epoch
    w.before = tonumber(t)
    now = math.max(now, w.before)
  end
  w.now = now
  w.minute = math.floor(now / MINUTE)
  if not w.exists then return w end

  if math.floor(w.before / MINUTE) < w.minute - WINDOW then
    -- Not used for longer than the window: everything in it is too old, reservations
    -- too. One DEL replaces a loop over a day of minutes. The time and the positions
    -- of the queue stay.
    local ttl = redis.call('PTTL', key)
    redis.call('DEL', key)
    w.used, w.held, w.oldest, w.lapsed, w.forgotten = 0, 0, -1, w.next, w.next
    w.ops = {}
    w.ttl = ttl
    return w
  end
  trim(w)
  lapse(w)
  return w
end

-- Stores the window. Only reserve and settle extend the expiry of the hash.
local function save(w, extend)
  redis.call('HSET', key, 'w', table.concat({
    int(w.now), int(w.used), int(w.held), int(w.oldest),
    int(w.next), int(w.lapsed), int(w.forgotten), w.epoch }, ' '))
  if w.ops_changed then
    local text = {}
    for _, o in ipairs(w.ops) do text[#text + 1] = o.name .. ':' .. int(o.total) end
    redis.call('HSET', key, 'b', table.concat(text, ' '))
  end
  if extend then
    redis.call('PEXPIRE', key, IDLE)
  elseif w.ttl and w.ttl > 0 then
    redis.call('PEXPIRE', key, w.ttl)
  end
end
