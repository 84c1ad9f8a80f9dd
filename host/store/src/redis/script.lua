local P, call = KEYS[1], redis.call
