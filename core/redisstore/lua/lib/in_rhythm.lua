-- When the next action of a rate is due, µs: as recorded, but no further ahead than possible,
-- unless Redis' clock was set back since. This, too_early and next_arrival are the generic cell
-- rate algorithm of ITU-T I.371 and of the ATM Forum's Traffic Management 4.0, in its form of
-- virtual scheduling.
local function in_rhythm(arrival, every, burst, us)
  return math.min(arrival, us + burst * every)
end
